"""Parts of tensors at indices, by the numbers that StableHLO and JAX give dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from tiling.records import dataclass
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.common.parts import Parts
from tosajit.frontends.common.scatter import Combine
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Addresses:
    """Which dimensions of a tensor, of indices, and of what is gathered or scattered belong together."""

    of_parts: tuple[int, ...]
    """Those of what is gathered or scattered that parts have; others are those of indices."""
    left_out: tuple[int, ...]
    """Those of the tensor that parts have one element of, and no dimension."""
    along: tuple[int, ...]
    """Those of the tensor that indices speak of."""
    vector: int
    """That of indices whose elements speak of these; there may be none."""


def gathered_parts(value: Tensor, indices: Tensor, at: Addresses, sizes: tuple[int, ...]) -> Tensor:
    """Parts of one size that begin at indices."""
    parts = Parts(value.shape, sizes, at.along)
    places = places_of(indices.shape, at.vector)
    kept = [size for axis, size in enumerate(sizes) if axis not in at.left_out]
    found = reshaped(parts.gathered(value, _starts(indices, at.vector)), (*places, *kept))
    return transposed(found, _order(at.of_parts, len(places), len(kept)))


def scattered_parts(
    value: Tensor, indices: Tensor, updates: Tensor, at: Addresses, combine: Combine
) -> Tensor:
    """A tensor with parts that begin at indices replaced, or combined with others."""
    places = places_of(indices.shape, at.vector)
    order = _order(at.of_parts, len(places), updates.ndim - len(places))
    windows = [axis for axis in range(value.ndim) if axis not in at.left_out]
    parts = Parts(value.shape, part_sizes(value.shape, updates.shape, at), at.along)
    whole = [*range(len(places)), *(len(places) + axis for axis in windows)]
    order = [*(len(places) + axis for axis in at.left_out), *(whole[one] for one in order)]
    given = reshaped(updates, (*(1 for _ in at.left_out), *updates.shape))
    return parts.scattered(value, _starts(indices, at.vector), given, order, combine)


def part_sizes(shape: Sequence[int], updates: Sequence[int], at: Addresses) -> tuple[int, ...]:
    """The extents of parts that are scattered."""
    windows = [axis for axis in range(len(shape)) if axis not in at.left_out]
    extents = dict(zip(windows, (updates[axis] for axis in at.of_parts), strict=True))
    return tuple(extents.get(axis, 1) for axis in range(len(shape)))


def places_of(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """The extents of indices that say which part is meant."""
    return (*shape[:axis], *shape[axis + 1 :])


def _starts(indices: Tensor, axis: int) -> Tensor:
    """Indices as rows with one for each dimension that parts move along."""
    rank = indices.ndim
    if axis == rank:
        return reshaped(indices, (-1, 1))
    order = [*(place for place in range(rank) if place != axis), axis]
    return reshaped(transposed(indices, order), (-1, indices.shape[axis]))


def _order(of_parts: Sequence[int], places: int, extents: int) -> list[int]:
    """For each dimension of a result, that of parts behind each other, where their places are first."""
    if len(of_parts) != extents:
        raise Refused(f"its parts have {extents} dimensions, but {list(of_parts)} are said to be theirs")
    inner, outer = iter(range(places, places + extents)), iter(range(places))
    return [next(inner) if axis in of_parts else next(outer) for axis in range(places + extents)]
