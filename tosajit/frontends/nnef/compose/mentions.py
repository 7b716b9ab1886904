"""Which names an expression mentions, and whether it is affine in one of them (NNEF 2.0 section 2.6)."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tiling.records import replace
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.depth import children
from tosajit.frontends.nnef.values.evaluate import Scope, evaluate
from tosajit.frontends.nnef.values.value import ValueFault


def parts(node: tree.Tree) -> Iterator[tree.Tree]:
    """Everything within a node of a tree, and itself."""
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        stack.extend(reversed(list(children(found))))


def mentioned(node: tree.Tree | None) -> frozenset[str]:
    """The names in an expression; `x.shape` is a name of its own."""
    if node is None:
        return frozenset()
    names = set()
    for one in parts(node):
        match one:
            case tree.Name(name=name):
                names.add(name)
            case tree.Member(name=name, member=member):
                names.add(f"{name}.{member}")
    return frozenset(names)


def substituted(expression: tree.Expression, values: Mapping[str, tree.Expression]) -> tree.Expression:
    """An expression with others in place of some names."""
    if not values or mentioned(expression).isdisjoint(values):
        return expression
    found: tree.Expression = _substituted(expression, values)
    return found


def _substituted(part: Any, values: Mapping[str, tree.Expression]) -> Any:
    match part:
        case tree.Name(name=name):
            return tree.Parenthesised(part.span, values[name]) if name in values else part
        case tuple():
            return tuple(_substituted(one, values) for one in part)
        case tree.Tree():
            own = {one.name: getattr(part, one.name) for one in fields(part) if one.name != "span"}
            return replace(part, **{name: _substituted(one, values) for name, one in own.items()})
    return part


def known(names: frozenset[str], symbols: Container[str], tensors: Container[str]) -> bool:
    """Whether all names have values: symbols, and shapes of tensors that are bound."""
    return all(
        name in symbols or name in tensors or ("." in name and name.split(".")[0] in tensors)
        for name in names
    )


@dataclass(frozen=True, slots=True)
class Affine:
    """`scale * name + offset`."""

    name: str
    scale: int
    offset: int

    def solved(self, value: int) -> int | None:
        """What the name is where the whole has a value; None where no integer fits."""
        quotient, rest = divmod(value - self.offset, self.scale)
        return None if rest else quotient


@dataclass(frozen=True, slots=True)
class _Sum:
    """An expression as a multiple of a name, if it has one, and a number."""

    name: str | None
    scale: int
    offset: int


def affine(expression: tree.Expression) -> Affine | None:
    """An expression as affine in its only name, with integers for everything else; None where it is not."""
    found = _sum(expression)
    if found is None or found.name is None or found.scale == 0:
        return None
    return Affine(found.name, found.scale, found.offset)


def _sum(expression: tree.Expression) -> _Sum | None:
    match expression:
        case tree.Name(name=name):
            return _Sum(name, 1, 0)
        case tree.Parenthesised(expression=inner):
            return _sum(inner)
        case _ if not mentioned(expression):
            return _number(expression)
        case tree.Unary(operator="+" | "-" as operator, operand=operand):
            found = _sum(operand)
            return found if operator == "+" or found is None else _times(found, -1)
        case tree.Binary(operator="+" | "-" | "*" as operator, left=left, right=right):
            both = _sum(left), _sum(right)
            return None if both[0] is None or both[1] is None else _combined(operator, both[0], both[1])
    return None


def _number(expression: tree.Expression) -> _Sum | None:
    try:
        value = evaluate(expression, Scope())
    except ValueFault:
        return None
    return _Sum(None, 0, value) if isinstance(value, int) and not isinstance(value, bool) else None


def _times(of: _Sum, factor: int) -> _Sum:
    return _Sum(of.name, of.scale * factor, of.offset * factor)


def _combined(operator: str, left: _Sum, right: _Sum) -> _Sum | None:
    if operator == "*":
        if left.name is not None and right.name is not None:
            return None
        return _times(left, right.offset) if right.name is None else _times(right, left.offset)
    if left.name is not None and right.name not in (None, left.name):
        return None
    other = right if operator == "+" else _times(right, -1)
    return _Sum(left.name or right.name, left.scale + other.scale, left.offset + other.offset)
