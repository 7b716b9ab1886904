"""The value of an expression, given those of its names (NNEF 2.0 section 2.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.depth import chain
from tosajit.frontends.nnef.syntax.source import Span
from tosajit.frontends.nnef.values import arithmetic, packs
from tosajit.frontends.nnef.values.arithmetic import NoValue
from tosajit.frontends.nnef.values.value import (
    LONGEST_TEXT,
    Item,
    Value,
    ValueFault,
    described,
    text_of,
    type_of,
)

MOST_WORK = 10_000_000
"""Items of packs that are computed: each expression of a text could ask for a million."""

_DECIDING = {"&&": False, "||": True, "=>": False}
_DEFAULTS: dict[str, Item] = {"int": 0, "real": 0.0, "bool": False, "str": ""}


class Work:
    """Items of packs that a text may still ask for, all expressions together."""

    def __init__(self, left: int = MOST_WORK) -> None:
        self.left = left

    def spend(self, items: int) -> None:
        """Note items that are computed; `NoValue` where it is too many."""
        self.left -= items
        if self.left < 0:
            raise NoValue(f"packs, constants and unrolled steps have more than {MOST_WORK} items in all")


@dataclass(frozen=True, slots=True)
class Scope:
    """What names stand for."""

    symbols: Mapping[str, Value] = field(default_factory=dict)
    """Attributes, extents, ranks, helper symbols; a null value is one that was left out."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Generic types, as concrete ones."""
    shapes: Mapping[str, tuple[int, ...] | None] = field(default_factory=dict)
    """The shapes of tensors, for `.shape` and `.rank`; None where an optional tensor was left out."""
    sizes: Mapping[str, int | None] = field(default_factory=dict)
    """How many tensors the packs of tensors have, for `.size`."""
    work: Work = field(default_factory=Work)


def evaluate(expression: tree.Expression, scope: Scope) -> Value:
    """The value of an expression; `ValueFault` where it has none."""
    try:
        value = _evaluate(expression, scope)
        if type(value) is tuple:
            scope.work.spend(len(value))
        return value
    except NoValue as fault:
        raise ValueFault(expression.span, str(fault)) from None


def _evaluate(expression: tree.Expression, scope: Scope) -> Value:
    match expression:
        case tree.Literal(value=value):
            return value
        case tree.Name() | tree.Member() | tree.Call() | tree.Format():
            return _atom(expression, scope)
        case tree.Parenthesised(expression=inner):
            return evaluate(inner, scope)
        case tree.List() | tree.Subscript() | tree.Substitute() | tree.Fold():
            return _of_packs(expression, scope)
        case tree.Unary() | tree.Binary() | tree.Select() | tree.Coalesce():
            return _operation(expression, scope)
    raise ValueFault(expression.span, "this has a value only where tensors are indexed", "2.12")


def _atom(expression: tree.Name | tree.Member | tree.Call | tree.Format, scope: Scope) -> Value:
    match expression:
        case tree.Name(span=span, name=name):
            if name not in scope.symbols:
                raise ValueFault(span, f"`{name}` has no value here")
            return scope.symbols[name]
        case tree.Member():
            return _member(expression, scope)
        case tree.Format(parts=parts):
            return _formatted(parts, scope)
        case tree.Call():
            return _call(expression, scope)


def _formatted(parts: tuple[str | tree.Expression, ...], scope: Scope) -> str:
    """A string with values in it."""
    found: list[str] = []
    for part in parts:
        value = part if isinstance(part, str) else evaluate(part, scope)
        items = value if isinstance(value, tuple) else (value,)
        if sum(map(len, found)) + sum(len(str(item)) for item in items) > LONGEST_TEXT:
            raise NoValue(f"a string has at most {LONGEST_TEXT} characters")
        found.append(text_of(value))
    return "".join(found)


def _call(expression: tree.Call, scope: Scope) -> Value:
    """A built-in function, a cast, or the default value of a type."""
    name = expression.function
    if expression.argument is None:
        return _DEFAULTS[_type(expression.span, name, scope)]
    value = evaluate(expression.argument, scope)
    if name in arithmetic.FUNCTIONS:
        return packs.mapped(partial(arithmetic.function, name), value)
    type = _type(expression.span, name, scope)
    return packs.mapped(partial(arithmetic.converted, type), value)


def _type(span: Span, name: str, scope: Scope) -> str:
    """The concrete type of a name."""
    found = scope.types.get(name, name)
    if found not in _DEFAULTS:
        raise ValueFault(span, f"`{name}` is neither a type nor a built-in function")
    return found


def _member(expression: tree.Member, scope: Scope) -> Value:
    """`x.shape`, `x.rank` or `x.size`."""
    name, member = expression.name, expression.member
    if member == "size" and name in scope.sizes:
        return scope.sizes[name]
    if member != "size" and name in scope.shapes:
        shape = scope.shapes[name]
        if shape is None:
            return None
        return shape if member == "shape" else len(shape)
    what = "a pack of tensors" if member == "size" else "a tensor"
    raise ValueFault(expression.span, f"`{name}` is not {what}, so `{name}.{member}` has no value")


def _operation(expression: tree.Unary | tree.Binary | tree.Select | tree.Coalesce, scope: Scope) -> Value:
    match expression:
        case tree.Unary(operator="?", operand=operand):
            return _present(operand, scope)
        case tree.Unary(operator=operator, operand=operand):
            return packs.mapped(partial(arithmetic.unary, operator), evaluate(operand, scope))
        case tree.Binary(operator="in", left=left, right=right):
            return _contained(evaluate(left, scope), evaluate(right, scope))
        case tree.Binary():
            return _binary(expression, scope)
        case tree.Select():
            return _selected(expression, scope)
        case tree.Coalesce(value=value, otherwise=otherwise):
            found = evaluate(value, scope)
            return evaluate(otherwise, scope) if found is None else found


def _present(expression: tree.Expression, scope: Scope) -> bool:
    """Whether an expression is not null; a name may be that of a tensor."""
    match expression:
        case tree.Parenthesised(expression=inner):
            return _present(inner, scope)
        case tree.Name(name=name) if name not in scope.symbols:
            for tensors in (scope.shapes, scope.sizes):
                if name in tensors:
                    return tensors[name] is not None
    return evaluate(expression, scope) is not None


def _binary(expression: tree.Binary, scope: Scope) -> Value:
    """A chain of operators, from the left."""
    first, *others = chain(expression)
    found = _joined(first, evaluate(first.left, scope), scope)
    for one in others:
        scope.work.spend(len(found) if isinstance(found, tuple) else 0)
        found = _joined(one, found, scope)
    return found


def _joined(expression: tree.Binary, left: Value, scope: Scope) -> Value:
    """Two operands; the right one may lack a value where the left decides, as in `b != 0 && a / b > 1`."""
    operator = expression.operator
    try:
        right = evaluate(expression.right, scope)
    except ValueFault:
        if left is not _DECIDING.get(operator):
            raise
        return operator != "&&"
    return packs.mapped(partial(arithmetic.binary, operator), left, right)


def _contained(item: Value, pack: Value) -> Value:
    if item is None or pack is None:
        return None
    if not isinstance(pack, tuple):
        raise NoValue(f"`in` takes a pack on its right, not {described(pack)}")
    items = frozenset(pack)
    return packs.mapped(lambda one: one in items and type_of(one) == type_of(pack[0]), item)


def _selected(expression: tree.Select, scope: Scope) -> Value:
    """One of two values, or of their items; only the branch that is taken need have a value."""
    condition = evaluate(expression.condition, scope)
    if condition is None or isinstance(condition, bool):
        taken = branch(expression, condition)
        return None if taken is None else evaluate(taken, scope)
    if not isinstance(condition, tuple):
        raise NoValue(f"the condition of `?` is a bool, not {described(condition)}")
    if expression.otherwise is None:
        raise NoValue("a select by a pack of conditions needs a value behind `:`")
    branches = evaluate(expression.then, scope), evaluate(expression.otherwise, scope)
    return packs.mapped(_chosen, condition, *branches)


def branch(expression: tree.Select, condition: bool | None) -> tree.Expression | None:
    """What `?:` takes where its condition is known; None where that is null."""
    if condition is None:
        return None
    return expression.then if condition else expression.otherwise


def _chosen(condition: Item, then: Item, otherwise: Item) -> Item:
    if not isinstance(condition, bool):
        raise NoValue(f"the condition of `?` is a bool, not {type_of(condition)}")
    if type_of(then) != type_of(otherwise):
        raise NoValue(f"`?` chooses among values of one type, not {type_of(then)} and {type_of(otherwise)}")
    return then if condition else otherwise


def _of_packs(expression: tree.List | tree.Subscript | tree.Substitute | tree.Fold, scope: Scope) -> Value:
    match expression:
        case tree.List(items=items):
            return _list(items, scope)
        case tree.Subscript(base=base, index=index):
            return _subscript(_sequence(base, scope), index, scope)
        case tree.Substitute():
            return _substitute(expression, scope)
        case tree.Fold(operator=operator, pack=pack, cumulative=cumulative):
            found = _sequence(pack, scope)
            if found is None:
                return None
            if isinstance(found, str):
                raise NoValue("a string cannot be folded")
            return packs.cumulated(operator, found) if cumulative else packs.folded(operator, found)


def _substitute(expression: tree.Substitute, scope: Scope) -> Value:
    pack = _sequence(expression.pack, scope)
    index, value = evaluate(expression.index, scope), evaluate(expression.value, scope)
    if pack is None or index is None or value is None:
        return None
    if isinstance(pack, str):
        raise NoValue("a string has no items to replace")
    return packs.replaced(pack, index, value)


def _sequence(expression: tree.Expression, scope: Scope) -> packs.Pack | str | None:
    """A pack or a string."""
    value = evaluate(expression, scope)
    if value is None or isinstance(value, tuple | str):
        return value
    raise ValueFault(expression.span, f"this takes a pack, not {described(value)}")


def _subscript(base: packs.Pack | str | None, index: tree.Expression, scope: Scope) -> Value:
    if base is None:
        return None
    if isinstance(index, tree.Range):
        ends = (index.first, index.last, index.stride)
        values = [None if one is None else evaluate(one, scope) for one in ends]
        if any(one is not None and value is None for one, value in zip(ends, values, strict=True)):
            return None
        return packs.part(base, *values)
    where = evaluate(index, scope)
    return None if where is None else packs.item_at(base, where)


def _list(items: tuple[tree.Expression, ...], scope: Scope) -> Value:
    """A list; null where an item is."""
    found: list[Item] = []
    for item in items:
        for value in _items(item, scope):
            if value is None:
                return None
            found.append(value)
        packs.bounded(len(found))
    return packs.uniform(found)


def _items(item: tree.Expression, scope: Scope) -> Iterator[Item | None]:
    """What an item of a list stands for."""
    match item:
        case tree.Range(first=first, last=last, stride=stride) if first is not None and last is not None:
            ends = [
                evaluate(first, scope),
                evaluate(last, scope),
                1 if stride is None else evaluate(stride, scope),
            ]
            yield from (None,) if None in ends else packs.spread(*ends)
        case tree.Expand(item=tree.Zip(items=zipped)):
            yield from _zipped([evaluate(one, scope) for one in zipped])
        case tree.Expand(item=tree.Range() as inner, count=None):
            yield from _items(inner, scope)
        case tree.Expand(item=inner, count=None):
            value = evaluate(inner, scope)
            if value is not None and not isinstance(value, tuple):
                raise ValueFault(
                    inner.span,
                    f"`..` expands a pack, not {described(value)}",
                    "2.4",
                    "say how often: `..(n)`",
                )
            yield from (None,) if value is None else value
        case tree.Expand(item=inner, count=count) if count is not None:
            yield from _repeated(evaluate(inner, scope), evaluate(count, scope))
        case _:
            value = evaluate(item, scope)
            if isinstance(value, tuple):
                raise ValueFault(item.span, "packs cannot be nested", "2.4", "expand it with `..`")
            yield value


def _zipped(values: list[Value]) -> Iterator[Item | None]:
    """The items of packs in turns."""
    if None in values:
        yield None
        return
    columns = [value for value in values if isinstance(value, tuple)]
    if len(columns) != len(values) or len({len(column) for column in columns}) > 1:
        raise NoValue("a zip expression takes packs of one length")
    for row in zip(*columns, strict=True):
        yield from row


def _repeated(value: Value, count: Value) -> Iterator[Item | None]:
    """An item some times; a pack, where the length of it is given again."""
    if value is None or count is None:
        yield None
        return
    times = int(count) if isinstance(count, bool) else packs.whole_number(count, "the count behind `..`")
    if isinstance(value, tuple):
        if len(value) != times:
            raise NoValue(f"a pack of {len(value)} items is said to have {times}")
        yield from value
        return
    if times < 0:
        raise NoValue(f"an item cannot be repeated {times} times")
    yield from (value,) * packs.bounded(times)
