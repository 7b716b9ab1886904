"""The value of an expression in a formula: terms, and packs of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tosajit.frontends.nnef.compose.mentions import mentioned
from tosajit.frontends.nnef.model import Argument, Open, Opened, Operation, Tensor
from tosajit.frontends.nnef.nests import terms
from tosajit.frontends.nnef.nests.assignment import Assignment, extent_term
from tosajit.frontends.nnef.nests.indexing import Indexer
from tosajit.frontends.nnef.nests.packed import chosen, folded, known_items, mapped
from tosajit.frontends.nnef.nests.terms import Checked, Element, Loop, Packed, Term
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.depth import chain
from tosajit.frontends.nnef.values import packs
from tosajit.frontends.nnef.values.arithmetic import NoValue
from tosajit.frontends.nnef.values.evaluate import Scope, branch, evaluate
from tosajit.frontends.nnef.values.value import Value, ValueFault

_TYPES = ("int", "real", "bool", "str")
_BETWEEN = range
_MOST_COUNTED = 1 << 31


@dataclass
class Resolver:
    """What knows the names of an operation, and of the formula that is read."""

    operation: Operation
    symbols: dict[str, Packed] = field(default_factory=dict)
    """Of the formula: its loops and local values."""

    def __post_init__(self) -> None:
        operation = self.operation
        null = {one.name: None for one in operation.definition.operator.inputs}
        self.tensors: Mapping[str, Argument] = {**null, **operation.parameters}
        shapes = {name: _shape(one) for name, one in self.tensors.items()}
        sizes = {name: len(one) for name, one in self.tensors.items() if isinstance(one, tuple)}
        self.scope = Scope(operation.symbols, operation.types, shapes, sizes)
        self._indexer = Indexer(self)
        self._opened = {name: _opened(one, operation.symbols[name]) for name, one in operation.opened.items()}
        self._counters = {name: Loop(name, _MOST_COUNTED) for name in _counted(operation)}

    def counts(self) -> Iterator[Assignment]:
        """How large outputs are that grow with each place that is counted."""
        operator = self.operation.definition.operator
        used = {name for lowering in operator.lowerings or () for name in mentioned(lowering.left)}
        for output in operator.outputs:
            argument = self.tensors[output.name]
            for place, name in _places(output):
                if (
                    isinstance(argument, Tensor)
                    and argument.extents
                    and name in self._counters
                    and name in used
                ):
                    target = Element(argument.extents, (place % argument.rank,))
                    yield Assignment(output.span, (), (target,), "=", (self._counters[name],), is_count=True)

    def known(self, expression: tree.Expression) -> int:
        """An int that cannot depend on loops or data."""
        value = self.value(expression)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueFault(expression.span, "this has to be an int that is known", "2.12")
        return value

    def term(self, expression: tree.Expression) -> Term:
        """The value of an expression that is a single one."""
        value = self.value(expression)
        if value is None or isinstance(value, tuple | Checked):
            what = "null" if value is None else "a pack" if isinstance(value, tuple) else "a checked index"
            raise ValueFault(expression.span, f"expected a single value, but this is {what}", "2.12")
        return value

    def value(self, expression: tree.Expression) -> Packed:
        """The value of an expression."""
        try:
            return self._value(expression)
        except NoValue as fault:
            raise ValueFault(expression.span, str(fault), "2.12") from None

    def _value(self, expression: tree.Expression) -> Packed:
        match expression:
            case tree.Name():
                return self._named(expression)
            case tree.Member():
                return self._member(expression)
            case tree.Literal() | tree.Format():
                return evaluate(expression, self.scope)
            case tree.Parenthesised(expression=inner):
                return self.value(inner)
            case tree.Call():
                return self._call(expression)
            case tree.Unary() | tree.Binary() | tree.Select() | tree.Coalesce():
                return self._operation(expression)
        return self._of_packs(expression)

    def _member(self, member: tree.Member) -> Packed:
        tensor = self.tensors.get(member.name)
        if member.member == "shape" and isinstance(tensor, Tensor) and tensor.extents is not None:
            return tuple(extent_term(tensor, place) for place in range(tensor.rank))
        return evaluate(member, self.scope)

    def _named(self, name: tree.Name) -> Packed:
        if name.name in self.symbols:
            return self.symbols[name.name]
        if name.name in self._counters:
            return self._counters[name.name]
        if name.name in self._opened:
            return self._opened[name.name]
        if name.name not in self.tensors or name.name in self.operation.symbols:
            return evaluate(name, self.scope)
        if self.tensors[name.name] is None:
            return None
        remedy = f"say which element: `{name.name}[…]`"
        raise ValueFault(name.span, f"`{name.name}` is a tensor", "2.12", remedy)

    def _of_packs(self, expression: tree.Expression) -> Packed:
        match expression:
            case tree.Bounded():
                return self._bounded(expression)
            case tree.List(items=items):
                return tuple(one for item in items for one in self.items(item, None))
            case tree.Subscript() | tree.Access():
                return self._indexer.value(expression)
            case tree.Substitute():
                return self._substituted(expression)
            case tree.Fold():
                return self._fold(expression)
        raise ValueFault(expression.span, "this stands only where tensors are indexed", "2.12")

    def _operation(self, expression: tree.Unary | tree.Binary | tree.Select | tree.Coalesce) -> Packed:
        match expression:
            case tree.Unary(operator="?", operand=tree.Name(name=name)) if name in self.tensors:
                return self.tensors[name] is not None
            case tree.Unary(operator="?", operand=operand):
                return self.value(operand) is not None
            case tree.Unary(operator=operator, operand=operand):
                return mapped(lambda one: terms.unary(operator, one), self.value(operand))
            case tree.Binary(operator="in"):
                return evaluate(expression, self.scope)
            case tree.Binary():
                first, *others = chain(expression)
                found = self._binary(first.operator, self.value(first.left), first.right)
                for one in others:
                    found = self._binary(one.operator, found, one.right)
                return found
            case tree.Select():
                return self._selected(expression)
            case tree.Coalesce(value=value, otherwise=otherwise):
                found = self.value(value)
                return self.value(otherwise) if found is None else found

    def _binary(self, operator: str, one: Packed, right: tree.Expression) -> Packed:
        """Two operands; the right one may lack a value where the left decides."""
        try:
            other = self.value(right)
        except ValueFault:
            if operator not in ("&&", "||", "=>") or one is not (operator == "||"):
                raise
            return operator != "&&"
        return mapped(lambda a, b: terms.binary(operator, a, b), one, other)

    def _selected(self, expression: tree.Select) -> Packed:
        condition = self.value(expression.condition)
        if condition is None or isinstance(condition, bool):
            taken = branch(expression, condition)
            return None if taken is None else self.value(taken)
        if expression.otherwise is None:
            raise NoValue("a choice that data decide needs a value behind `:`")
        branches = self.value(expression.then), self.value(expression.otherwise)
        return mapped(chosen, condition, *branches)

    def _bounded(self, expression: tree.Bounded) -> Packed:
        index = self.value(expression.index)
        if expression.low is None or expression.high is None:
            return mapped(Checked, index)
        return mapped(Checked, index, self.value(expression.low), self.value(expression.high))

    def _substituted(self, expression: tree.Substitute) -> Packed:
        pack, value = self.value(expression.pack), self.value(expression.value)
        index = self.value(expression.index)
        if pack is None or value is None or index is None:
            return None
        if not isinstance(pack, tuple):
            raise ValueFault(expression.pack.span, "this takes a pack", "2.4")
        places = list(packs.places(len(pack), known_items(index)))
        return tuple(packs.put(pack, places, value))

    def _call(self, expression: tree.Call) -> Packed:
        if expression.argument is None:
            return evaluate(expression, self.scope)
        name = expression.function
        value = self.value(expression.argument)
        if name in terms.FUNCTIONS:
            return mapped(lambda one: terms.function(name, one), value)
        type = self.operation.types.get(name, name)
        if type not in _TYPES:
            raise ValueFault(expression.span, f"`{name}` is neither a type nor a built-in function", "2.4")
        return mapped(lambda one: terms.converted(type, one), value)

    def _fold(self, expression: tree.Fold) -> Packed:
        pack = self.value(expression.pack)
        if pack is None:
            return None
        if not isinstance(pack, tuple) or any(isinstance(one, Checked) for one in pack):
            raise ValueFault(expression.pack.span, "this takes a pack", "2.4")
        items = tuple(one for one in pack if not isinstance(one, Checked))
        return folded(expression.operator, items, expression.cumulative)

    def items(self, item: tree.Expression, extent: int | None) -> Iterator[Term | Checked]:
        """What an item of a list stands for, or an index that is expanded."""
        match item:
            case tree.Expand(item=tree.Zip(items=zipped)):
                columns = [self._pack(one) for one in zipped]
                for row in zip(*columns, strict=True):
                    yield from row
            case tree.Expand(item=tree.Range() as inner) | (tree.Range() as inner):
                yield from self.range(inner, extent)
            case tree.Expand(item=inner, count=None):
                yield from self._pack(inner)
            case tree.Expand(item=inner, count=count) if count is not None:
                times = int(self._known_count(count))
                value = self.value(inner)
                items = value if isinstance(value, tuple) else (value,) * packs.bounded(times)
                if len(items) != times or None in items:
                    raise ValueFault(item.span, f"{len(items)} items are said to be {times}", "2.4")
                yield from (one for one in items if one is not None)
            case _:
                value = self.value(item)
                if value is None or isinstance(value, tuple):
                    text = "null" if value is None else "a pack"
                    raise ValueFault(item.span, f"expected a single item, but this is {text}", "2.4")
                yield value

    def _known_count(self, count: tree.Expression) -> int:
        value = self.value(count)
        return int(value) if isinstance(value, bool) else self.known(count)

    def _pack(self, expression: tree.Expression) -> tuple[Term | Checked, ...]:
        value = self.value(expression)
        if not isinstance(value, tuple):
            raise ValueFault(expression.span, "`..` expands a pack", "2.4")
        return value

    def range(self, range_: tree.Range, extent: int | None) -> Iterator[int]:
        """The indices of a range, whose ends may be left out where a dimension has an extent."""
        ends = [
            None if one is None else self.known(one) for one in (range_.first, range_.last, range_.stride)
        ]
        if ends[2] == 0:
            raise ValueFault(range_.span, "the stride of a range must not be 0", "2.4")
        if extent is None:
            if ends[0] is None or ends[1] is None:
                raise ValueFault(range_.span, "the ends of this range must be given", "2.4")
            found = packs.spread(ends[0], ends[1], ends[2] or 1)
            yield from (one for one in found if isinstance(one, int))
        else:
            yield from _BETWEEN(*slice(*ends).indices(extent))


def _opened(one: Opened, bound: Value) -> Packed:
    """A symbol that data decide, as formulas see it."""
    if not isinstance(bound, tuple):
        return Element(one.tensor, ())
    items = enumerate(zip(bound, one.items, strict=True))
    return tuple(Element(one.tensor, (place,)) if opened else item for place, (item, opened) in items)


def _counted(operation: Operation) -> Iterator[str]:
    """Extents that data decide: in formulas each stands for the next place along it."""
    for output in operation.definition.operator.outputs:
        yield from (name for _, name in _places(output) if name not in operation.symbols)


def _places(output: tree.Parameter) -> Iterator[tuple[int, str]]:
    """The dimensions of an output that have a name and a bound; from the end behind what may be several."""
    extents = output.type.shape.extents if output.type.shape else ()
    for place, extent in enumerate(extents):
        if isinstance(extent.expression, tree.Name) and extent.bound is not None and extent.pack is None:
            several = any(one.pack is not None for one in extents[:place])
            yield place - len(extents) if several else place, extent.expression.name


def _shape(argument: Argument) -> tuple[int, ...] | None:
    """The shape of a tensor, that of the first one of a pack."""
    tensor = argument[0] if isinstance(argument, tuple) and argument else argument
    if not isinstance(tensor, Tensor):
        return None
    return tuple(one.bound if isinstance(one, Open) else one for one in tensor.shape)
