"""Where tensors of an operation are: operands of nests, and how indices go over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from tosajit.frontends.nnef.nests.linear import Linear
from tosajit.frontends.nnef.nests.terms import Loop


@dataclass(frozen=True, slots=True)
class Place:
    """An operand of a nest: its name, the type of its elements, its extents."""

    name: str
    type: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


Indices = tuple[Linear, ...]
"""An index for each dimension of a tensor."""


def ordered(indices: Indices) -> tuple[Loop, ...]:
    """The loops of indices, as they go over the tensor row by row."""
    found: dict[Loop, None] = {}
    for index in indices:
        found |= dict.fromkeys(sorted(index.factors, key=lambda loop: -abs(index.factors[loop])))
    return tuple(found)


def is_injective(indices: Indices) -> bool:
    """Whether no two points of the loops meet the same element."""
    unknown = set(ordered(indices))
    while unknown:
        found = {loop for index in indices if _tells(index, unknown) for loop in index.factors}
        if not found & unknown:
            return False
        unknown -= found
    return True


def _tells(index: Linear, unknown: set[Loop]) -> bool:
    """Whether an index tells its loops apart, as digits do."""
    reach = 0
    for loop in sorted(index.factors, key=lambda loop: abs(index.factors[loop])):
        if loop in unknown:
            factor = abs(index.factors[loop])
            if factor <= reach:
                return False
            reach += factor * (loop.steps - 1)
    return True


def is_inside(indices: Indices, shape: Sequence[int]) -> bool:
    """Whether no index leaves its dimension."""
    spans = (index.span for index in indices)
    return all(low >= 0 and high < extent for (low, high), extent in zip(spans, shape, strict=True))


def points(indices: Indices) -> int:
    """How many points the loops of indices have."""
    return prod(loop.steps for loop in ordered(indices))


def are_disjoint(one: Indices, other: Indices) -> bool:
    """Whether two writes meet no element both: they are apart, or like the teeth of two combs."""
    return any(_apart(left, right) for left, right in zip(one, other, strict=True))


def _apart(one: Linear, other: Linear) -> bool:
    (low, high), (least, most) = one.span, other.span
    if high < least or most < low:
        return True
    step = gcd(*one.factors.values(), *other.factors.values())
    return step > 1 and (one.offset - other.offset) % step != 0


def cover(writes: Sequence[Indices], shape: Sequence[int]) -> bool:
    """Whether writes meet each element once."""
    if not all(is_injective(one) and is_inside(one, shape) for one in writes):
        return False
    pairs = ((one, other) for place, one in enumerate(writes) for other in writes[:place])
    return sum(map(points, writes)) == prod(shape) and all(are_disjoint(*pair) for pair in pairs)
