"""What is wrong with an expression whatever its names stand for (NNEF 2.0 section 2.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tiling.records import replace
from tosajit.frontends.nnef.compose.checker.kinds import (
    ANY,
    BOOL,
    INT,
    STR,
    UNKNOWN,
    Generics,
    Kind,
    same,
)  # fmt: skip
from tosajit.frontends.nnef.compose.suggest import suggestion
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.depth import chain
from tosajit.frontends.nnef.syntax.source import Faults
from tosajit.frontends.nnef.values.arithmetic import FUNCTIONS
from tosajit.frontends.nnef.values.value import type_of

_LOGICAL = ("&&", "||", "^", "=>")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "is")
_MIXED = "write 1.0, or cast it: real(x)"


class Expressions:
    """Finds the types of expressions, and tells of what they break."""

    def __init__(self, faults: Faults, generics: Generics, names: Mapping[str, Kind]) -> None:
        self.faults, self.generics = faults, generics
        self.names = dict(names)
        self.elements = False
        """Whether tensors are read element by element, as `@lower` does."""

    def tell(self, where: tree.Tree, message: str, section: str = "2.4", remedy: str = "") -> Kind:
        """Note a fault; what is wrong has no type that could be wrong again."""
        self.faults.add(where.span, message, section, remedy)
        return ANY

    @contextmanager
    def promoted(self, condition: tree.Expression, *, holds: bool = True) -> Iterator[None]:
        """Names that a condition has found not to be null."""
        names = self.names
        self.names = dict(names)
        for name in _present(condition, holds=holds):
            if name in names:
                self.names[name] = names[name].resolved
        try:
            yield
        finally:
            self.names = names

    def kind(self, expression: tree.Expression | None) -> Kind:
        """The type of an expression."""
        match expression:
            case None:
                return ANY
            case tree.Literal(value=value):
                return Kind(type_of(value))
            case tree.Name() | tree.Member():
                return self._named(expression)
            case tree.Parenthesised(expression=inner):
                return self.kind(inner)
            case tree.Format(parts=parts):
                for part in parts:
                    if not isinstance(part, str):
                        self.kind(part)
                return STR
            case tree.Call():
                return self._call(expression)
        return self._compound(expression)

    def _compound(self, expression: tree.Expression) -> Kind:
        match expression:
            case tree.Unary() | tree.Binary():
                return self._operation(expression)
            case tree.Select():
                return self._select(expression)
            case tree.Coalesce():
                return self._coalesce(expression)
            case tree.Fold():
                return self._fold(expression)
            case tree.List(items=items):
                return self._list(expression, items)
            case tree.Subscript() | tree.Substitute() | tree.Access():
                return self._indexed(expression)
            case tree.Bounded(index=index, low=low, high=high):
                for one in (index, low, high):
                    self.typed(one, "int")
                return INT
        return self.item(expression)

    def same(self, left: str, right: str) -> bool:
        """Whether two types may be one: different generic types can stand for the same."""
        return same(left, right) or {left, right} <= set(self.generics.bases)

    def typed(self, expression: tree.Expression | None, *types: str, section: str = "2.4") -> Kind:
        """The type of an expression that must be one of some."""
        kind = self.kind(expression)
        if expression is not None and kind.type not in (*types, UNKNOWN):
            return self.tell(expression, f"this is {kind}, but must be {' or '.join(types)}", section)
        return kind

    def value(self, expression: tree.Expression | None, *types: str, section: str = "2.4") -> Kind:
        """The type of an expression that has a value before the model runs."""
        kind = self.typed(expression, *types, section=section) if types else self.kind(expression)
        if expression is not None and kind.tensor:
            return self.tell(expression, "a tensor has no value before the model runs", section)
        return kind

    def _named(self, expression: tree.Name | tree.Member) -> Kind:
        found = self.names.get(expression.name)
        if found is None:
            remedy = suggestion(expression.name, self.names) if self.names else ""
            known = remedy if remedy.startswith("did") else ""
            return self.tell(expression, f"there is no `{expression.name}` here", "2.4", known)
        if isinstance(expression, tree.Name):
            return found
        if found.type and not (found.tensor and found.packed == (expression.member == "size")):
            what = "pack of tensors" if expression.member == "size" else "tensor"
            message = f"`{expression.name}` is {found}, not a {what}, so it has no {expression.member}"
            return self.tell(expression, message)
        return Kind("int", expression.member == "shape", found.optional)

    def _call(self, call: tree.Call) -> Kind:
        """A built-in function, a cast, or the default value of a type."""
        kind = self.kind(call.argument)
        if call.function in FUNCTIONS or (self.elements and call.function == "erf"):
            either = call.function in ("abs", "sign")
            if call.argument is None:
                return self.tell(call, f"`{call.function}` takes an argument")
            if either and not self.generics.numeric(kind.type):
                return self.tell(call, f"`{call.function}` takes int or real, not {kind}")
            if (
                not either
                and kind.type not in ("real", UNKNOWN)
                and self.generics.bases.get(kind.type) != "num"
            ):
                return self.tell(call, f"`{call.function}` takes real, not {kind}", "2.4", _MIXED)
            return replace(kind, tensor=False)
        if not self.generics.known(call.function):
            names = [*FUNCTIONS, *self.generics.bases, "int", "real", "bool", "str"]
            remedy = suggestion(call.function, sorted(names))
            return self.tell(call, f"there is no function or type `{call.function}`", "2.4", remedy)
        if call.argument is None:
            return Kind(call.function)
        if not (self.generics.castable(kind.type) and self.generics.castable(call.function)):
            if kind.type != call.function:
                return self.tell(call, f"{kind} cannot be cast to {call.function}")
        return replace(kind, type=call.function, tensor=False)

    def _operation(self, expression: tree.Unary | tree.Binary) -> Kind:
        if isinstance(expression, tree.Binary):
            return self._binary(expression)
        kind = self.kind(expression.operand)
        match expression.operator:
            case "?":
                return BOOL
            case "!":
                return kind if self._is(expression, kind, "bool") else ANY
        return self._calculated(expression, expression.operator, kind)

    def _calculated(self, where: tree.Tree, operator: str, kind: Kind) -> Kind:
        if kind.tensor:
            remedy = "call an operator, such as math.add"
            return self.tell(where, "tensors are computed by operators, not by expressions", "2.10", remedy)
        if self.generics.numeric(kind.type):
            return kind
        return self.tell(where, f"`{operator}` takes int or real, not {kind}")

    def _is(self, where: tree.Tree, kind: Kind, type: str) -> bool:
        if same(kind.type, type):
            return True
        self.tell(where, f"this takes {type}, not {kind}")
        return False

    def _binary(self, expression: tree.Binary) -> Kind:
        first, *others = chain(expression)
        found = self._joined(first, self.kind(first.left))
        for one in others:
            found = self._joined(one, found)
        return found

    def _joined(self, expression: tree.Binary, left: Kind) -> Kind:
        operator = expression.operator
        if operator == "&&":
            with self.promoted(expression.left):
                right = self.kind(expression.right)
        else:
            right = self.kind(expression.right)
        packed, optional = left.packed or right.packed, left.optional or right.optional
        if operator == "in":
            return self._contained(expression, left, right)
        if not self.same(left.type, right.type):
            mixed = {left.type, right.type} == {"int", "real"}
            message = f"`{operator}` takes operands of one type, not {left} and {right}"
            return self.tell(expression, message, "2.4", _MIXED if mixed else "")
        if operator in _LOGICAL:
            good = self._is(expression.left, left, "bool") and self._is(expression.right, right, "bool")
            tensor = left.tensor or right.tensor
            return Kind("bool", packed, optional, tensor) if good else ANY
        if operator in _COMPARISONS:
            if operator != "is" and (left.tensor or right.tensor):
                return self._calculated(expression, operator, replace(left, tensor=True))
            return Kind("bool", packed, optional)
        kind = Kind(left.type or right.type, packed, optional, left.tensor or right.tensor)
        if operator == "%" and kind.type == "real":
            return self.tell(expression, "`%` takes int, not real")
        return self._calculated(expression, operator, kind)

    def _contained(self, expression: tree.Binary, left: Kind, right: Kind) -> Kind:
        if not right.packed and right.type:
            return self.tell(expression.right, f"`in` takes a pack on its right, not {right}")
        if not self.same(left.type, right.type):
            return self.tell(expression, f"{left} is never in {right}")
        return Kind("bool", left.packed, left.optional or right.optional)

    def _select(self, expression: tree.Select) -> Kind:
        condition = self.kind(expression.condition)
        self._is(expression.condition, condition, "bool")
        with self.promoted(expression.condition):
            then = self.kind(expression.then)
        with self.promoted(expression.condition, holds=False):
            other = self.kind(expression.otherwise)
        if not self.same(then.type, other.type):
            message = f"`?:` chooses among values of one type, not {then} and {other}"
            mixed = {then.type, other.type} == {"int", "real"}
            return self.tell(expression, message, "2.4", _MIXED if mixed else "")
        optional = condition.optional or then.optional or other.optional or expression.otherwise is None
        packed = condition.packed or then.packed or other.packed
        return Kind(then.type or other.type, packed, optional, then.tensor or other.tensor)

    def _coalesce(self, expression: tree.Coalesce) -> Kind:
        value, other = self.kind(expression.value), self.kind(expression.otherwise)
        if not self.same(value.type, other.type):
            return self.tell(expression, f"`??` takes values of one type, not {value} and {other}")
        if value.type and not value.optional:
            message = f"what stands before `??` is never null: it is {value}"
            return self.tell(expression.value, message, "2.4", "leave `??` out")
        return Kind(value.type or other.type, value.packed or other.packed, other.optional,
                    value.tensor or other.tensor)  # fmt: skip

    def _fold(self, expression: tree.Fold) -> Kind:
        pack, operator = self.kind(expression.pack), expression.operator
        if pack.type and not pack.packed:
            return self.tell(expression, f"`{operator} ..` folds a pack, not {pack}")
        if operator in ("&&", "||"):
            self._is(expression, pack, "bool")
        elif operator not in ("==", "!=", ":="):
            self._calculated(expression, operator, pack)
        if operator in ("<", "<=", ">", ">=", "==", "!="):
            return Kind("bool", False, pack.optional)
        return Kind(pack.type, expression.cumulative, pack.optional or operator == ":=", pack.tensor)

    def _list(self, where: tree.Tree, items: tuple[tree.Expression, ...]) -> Kind:
        found = [self.item(one) for one in items]
        types = list(dict.fromkeys(one.type for one in found if one.type))
        if len(types) > 1:
            remedy = _MIXED if set(types) == {"int", "real"} else ""
            return self.tell(
                where, f"the items of a list have one type, not {' and '.join(types)}", "2.4", remedy
            )
        type = types[0] if types else UNKNOWN
        return Kind(type, True, any(one.optional for one in found), any(one.tensor for one in found))

    def item(self, item: tree.Expression) -> Kind:
        """The type of an item of a list, or of an index."""
        match item:
            case tree.Range(first=first, last=last, stride=stride):
                ends = [self.typed(one, "int") for one in (first, last, stride) if one is not None]
                return Kind("int", False, any(one.optional for one in ends))
            case tree.Expand(item=tree.Zip(items=zipped)):
                return self._zip(item, zipped)
            case tree.Expand(item=inner, count=count):
                kind = self.item(inner) if isinstance(inner, tree.Range) else self.kind(inner)
                if count is not None:
                    self.typed(count, "int", "bool")
                elif kind.type and not (kind.packed or isinstance(inner, tree.Range | tree.Bounded)):
                    return self.tell(
                        inner, f"`..` expands a pack, not {kind}", "2.4", "say how often: `..(n)`"
                    )
                return kind.item
            case tree.Zip():
                return self.tell(item, "a zip expression must be expanded", "2.4", "write [(a, b)..]")
        kind = self.kind(item)
        if kind.packed and not self.elements:
            return self.tell(item, "packs cannot be nested", "2.4", "expand it with `..`")
        return kind

    def _zip(self, where: tree.Tree, zipped: tuple[tree.Expression, ...]) -> Kind:
        kinds = [self.kind(one) for one in zipped]
        for one, kind in zip(zipped, kinds, strict=True):
            if kind.type and not kind.packed:
                self.tell(one, f"a zip expression takes packs, not {kind}")
        types = list(dict.fromkeys(kind.type for kind in kinds if kind.type))
        if len(types) > 1:
            return self.tell(where, f"packs of one type can be zipped, not {' and '.join(types)}")
        optional, tensor = (any(getattr(one, field) for one in kinds) for field in ("optional", "tensor"))
        return Kind(types[0] if types else UNKNOWN, False, optional, tensor)

    def _indexed(self, expression: tree.Subscript | tree.Substitute | tree.Access) -> Kind:
        if isinstance(expression, tree.Access):
            return self._element(expression, expression.base, expression.indices)
        base = self.kind(expression.base if isinstance(expression, tree.Subscript) else expression.pack)
        if isinstance(expression, tree.Subscript) and base.tensor and not base.packed:
            return self._element(expression, expression.base, (expression.index,))
        if base.type and not (base.packed or base.type == "str"):
            return self.tell(expression, f"this takes a pack, not {base}")
        index = self._index(expression.index)
        if isinstance(expression, tree.Substitute):
            value = self.kind(expression.value)
            if not self.same(base.type, value.type):
                return self.tell(expression, f"items of {base} are not replaced by {value}")
            return replace(base, optional=base.optional or index.optional or value.optional)
        whole = isinstance(expression.index, tree.Range) or index.packed
        packed = base.packed and whole
        return Kind(base.type, packed, base.optional or index.optional, base.tensor)

    def _index(self, index: tree.Expression) -> Kind:
        if isinstance(index, tree.Range):
            return self.item(index)
        kind = self.kind(index)
        if kind.type not in ("int", "bool", UNKNOWN) or (kind.type == "bool" and not kind.packed):
            return self.tell(index, f"an index is int, or a mask of bool.., not {kind}")
        return kind

    def _element(self, where: tree.Tree, base: tree.Expression, indices: tuple[tree.Expression, ...]) -> Kind:
        """An element of a tensor, or of all tensors in a pack."""
        kind = self.kind(base)
        if not self.elements:
            return self.tell(where, "elements of tensors can be read in @lower only", "2.4")
        if kind.type and not kind.tensor:
            return self.tell(base, f"this is {kind}, not a tensor", "2.12")
        packed, optional = kind.packed, kind.optional
        for index in indices:
            found = self.item(index)
            expanded = isinstance(index, tree.Expand)
            packed = packed or (not expanded and (found.packed or isinstance(index, tree.Range)))
            optional = optional or found.optional
            if found.type not in ("int", UNKNOWN):
                self.tell(index, f"an index is int, not {found}", "2.12")
        return Kind(kind.type, packed, optional)


def _present(condition: tree.Expression, *, holds: bool) -> Iterator[str]:
    """The names that are not null where a condition holds, or where it does not."""
    match condition:
        case tree.Parenthesised(expression=inner):
            yield from _present(inner, holds=holds)
        case tree.Unary(operator="!", operand=inner):
            yield from _present(inner, holds=not holds)
        case tree.Unary(operator="?", operand=tree.Name(name=name)) if holds:
            yield name
        case tree.Binary(operator="&&", left=left, right=right) if holds:
            yield from _present(left, holds=True)
            yield from _present(right, holds=True)
        case tree.Binary(operator="||", left=left, right=right) if not holds:
            yield from _present(left, holds=False)
            yield from _present(right, holds=False)
