"""One nest: a value over loops, its reads, the reduction, and where the result goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tiling.expr import Expr, acc, axis, call, const, read
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Verb, Write
from tosajit.arrays import Array
from tosajit.errors import CompileError
from tosajit.frontends.nnef.model import Tensor
from tosajit.frontends.nnef.nests import meaning, tables, terms
from tosajit.frontends.nnef.nests.assignment import Unfit, extent_of
from tosajit.frontends.nnef.nests.linear import linear
from tosajit.frontends.nnef.nests.places import Place
from tosajit.frontends.nnef.nests.terms import Apply, Element, Loop, Term
from tosajit.operators.lowering import convert

FARTHEST = 1 << 31
"""Indices have 32 bits."""
_CHEAP = frozenset(
    {"+", "-", "*", "-.", "!.", "<", "<=", ">", ">=", "==", "!=", "is", "&&", "||", "^", "=>", "?"}
)
"""What costs less at each point than to look it up."""
_STORED = {"real": np.float32, "int": np.int32, "bool": np.bool_}


class Known(Protocol):
    """What is known of the tensors of an operation."""

    def place(self, tensor: Tensor) -> Place:
        """Where a tensor is read."""

    def table(self, array: Array) -> Place:
        """Where a constant of our own is."""


@dataclass
class Body:
    """What a nest computes, while it is written."""

    known: Known
    loops: tuple[Loop, ...]
    kept: int
    fills: Mapping[Element, float] = field(default_factory=dict)
    """What is found outside of tensors, but for 0."""
    free: frozenset[Element] = frozenset()
    """Elements that are used only where they are inside."""
    reads: dict[Access, int] = field(default_factory=dict)

    def value(self, term: Term) -> Expr:
        """A term as an expression over the reads."""
        return meaning.expression(term, self._leaf)

    def _leaf(self, term: Term) -> Expr | None:
        match term:
            case Loop():
                return convert(axis(self.loops.index(term)), "i32") if term in self.loops else const(0, "i32")
            case Element():
                return self._element(term)
            case Apply() if _is_dear(term) and tables.is_table(term):
                return self._table(term)
        return None

    def _element(self, element: Element) -> Expr:
        value = element.tensor.value
        if value is not None and value.size == 1:
            return _literal(value, element.type)
        place = self.known.place(element.tensor)
        index = [self.index(one) for one in element.indices]
        fill = self._fill(element, place, index)
        number = self.read(Access(place.name, place.type, place.shape, tuple(index), fill))
        return convert(read(number, place.type), meaning.COMPUTED[element.type])

    def index(self, term: Term) -> Affine | Indirect:
        """An index as a nest has it."""
        found = linear(term)
        if found is not None and not all(-FARTHEST <= end < FARTHEST for end in found.span):
            raise Unfit(f"an index goes from {found.span[0]} to {found.span[1]}")
        return Indirect(self.value(term)) if found is None else found.affine(self.loops)

    def _fill(self, element: Element, place: Place, index: Sequence[Affine | Indirect]) -> Expr | None:
        """What a read finds outside of its tensor, if it leaves it."""
        extents = [loop.steps for loop in self.loops]
        for number, (one, extent) in enumerate(zip(index, place.shape, strict=True)):
            if isinstance(one, Affine):
                low, high = one.span([0] * len(extents), extents)
                if low >= 0 and high < extent:
                    continue
                if element not in self.free and number not in element.checked:
                    raise outside(element, number, (low, high))
                fill = self.fills.get(element, 0)
                return const(
                    float(fill) if place.type[0] in "fb" and place.type != "bool" else int(fill), place.type
                )
        return None

    def _table(self, term: Apply) -> Expr:
        """A term over loops alone, computed before anything runs."""
        inside = terms.loops_of(term)
        loops = [loop for loop in self.loops if loop in inside]
        single = inside.difference(loops)
        array = tables.tabulated(term, [*loops, *single]).reshape([loop.steps for loop in loops])
        place = self.known.table(np.array(array, _STORED[term.type], order="C"))
        index = tuple(Affine(tuple(int(one is loop) for one in self.loops)) for loop in loops)
        return read(self.read(Access(place.name, place.type, place.shape, index)), place.type)

    def read(self, access: Access) -> int:
        """The number of a read."""
        return self.reads.setdefault(access, len(self.reads))

    def nest(self, name: str, target: Access, result: Expr, reduction: Reduction | None) -> Nest:
        """All of it."""
        count = enumerate(self.loops)
        axes = tuple(Axis(f"{loop.name}", loop.steps, number >= self.kept) for number, loop in count)
        write = Write(target, convert(result, target.type))
        verb: Verb = "move" if write.value.op == "read" else "map"
        if reduction is not None:
            verb = "contract" if _is_product(reduction) else "reduce"
        return Nest(verb, axes, tuple(self.reads), (write,), reduction, (name,))


def outside(element: Element, number: int, span: tuple[int, int]) -> CompileError:
    """What to say of an index that leaves its tensor."""
    name, (low, high), extent = element.tensor.name, span, extent_of(element, number)
    text = f"{name}: index {number} goes from {low} to {high}, but the extent is {extent}"
    return CompileError(f"{text} [NNEF 2.0 section 2.12]; write `|…|` around it to skip what is outside")


def _is_product(reduction: Reduction) -> bool:
    """Whether products of two operands are added up."""
    value = reduction.value
    if reduction.op != "add" or value.scalar.base != "mul":
        return False
    sides = [one.operands[0] if one.scalar.family == "cast" else one for one in value.operands]
    return all(side.op == "read" for side in sides) and sides[0] is not sides[1]


def _is_dear(term: Apply) -> bool:
    """Whether a term is worth a table."""
    if term.type not in _STORED:
        return False
    return any(isinstance(one, Apply) and (one.operator not in _CHEAP) for one in terms.walk(term))


def _literal(value: Array, type: str) -> Expr:
    item = value.reshape(-1)[0].item()
    number = {"real": float, "int": int, "bool": int}[type](item)
    if type == "int" and not -(2**31) <= number < 2**31:
        raise Unfit(f"{number} has more than 32 bits")
    return const(number, meaning.COMPUTED[type])


def chosen(condition: Expr | None, then: Expr, otherwise: Expr) -> Expr:
    """One of two values; the first one, where there is no condition."""
    return then if condition is None else call(f"select_{then.type}", condition, then, otherwise)


def reduction_of(operator: str, type: str, value: Expr) -> Reduction:
    """The reduction that an assignment is."""
    return Reduction(meaning.COMBINING[operator], meaning.neutral(operator, type), type, value)


def combined(operator: str, start: Expr | None, value: Expr) -> Expr:
    """What is there and what comes to it."""
    return value if start is None else call(f"{meaning.COMBINING[operator]}_{value.type}", start, value)


def total(type: str) -> Expr:
    """What a reduction gives."""
    return acc(type)
