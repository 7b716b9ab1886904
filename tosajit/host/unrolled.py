"""Reductions of few points, such as those of pooling, as maps: partial results need no memory.

A padded one is done in parts, each of which has the same points inside: the middle, where there is no
padding, its sides and its corners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from math import prod

import numpy as np

from tiling.expr import Expr, call, const, read, reads_of, rewrite
from tiling.nest import (
    Access,
    Affine,
    Axis,
    Nest,
    Reduction,
    along,
    fixed,
    result_exprs,
    rewrite_write,
    with_axes,
)
from tiling.normal import normalise
from tiling.records import replace
from tosajit.arrays import Array

MOST = 9
"""Points that are few: those of a window of 3 × 3."""
NEAR = 8
"""Elements between neighbours that vectors are still loaded with: less work than short rows of their own."""
PARTS = 9
"""Parts that are few: those of an image with padding on all sides."""
TYPES = frozenset({"i8", "i16", "i32", "f32"})
"""Of numbers that are combined one after the other, as in a reduction."""


def unrolled(nest: Nest, constants: Mapping[str, Array]) -> list[Nest]:
    """A reduction of few numbers to each result as maps, if neighbouring results are made of neighbours."""
    reduction, outer = nest.reduction, nest.outer
    extents = [axis.extent for axis in nest.axes[outer:]]
    if reduction is None or nest.verb != "reduce" or reduction.type not in TYPES or prod(extents) > MOST:
        return [nest]
    reduced = any(
        leaf.op == "axis" and leaf.number >= outer for expr in result_exprs(nest) for leaf in expr.leaves
    )
    if reduced or not outer or not all(_plain(access, nest) for access in nest.reads):
        return [nest]
    cuts = [_cuts(nest, axis) for axis in range(outer)]
    if prod(len(ends) - 1 for ends in cuts) > PARTS:
        return [nest]
    parts = [_part(nest, box, constants) for box in product(*map(pairwise, cuts))]
    if 2 * max(prod(part.extents[:outer]) for part in parts) < prod(nest.extents[:outer]):
        return [nest]
    maps = [one for part in parts if (one := _as_map(part)) is not None]
    return maps if len(maps) == len(parts) else [nest]


def _plain(access: Access, nest: Nest) -> bool:
    """Whether it meets neighbours or one element along the last axis that is kept; bytes have to be dense."""
    step = access.steps(len(nest.axes))[nest.outer - 1]
    return not access.indirect and 0 <= step <= (NEAR if access.type == "f32" else 1)


def _cuts(nest: Nest, axis: int) -> list[int]:
    """Where along a kept axis a point of the reduction comes inside or goes outside, and both ends."""
    extent, points = nest.axes[axis].extent, list(product(*map(range, nest.extents[nest.outer :])))
    ends = {0, extent}
    for access in nest.reads:
        for item, limit in zip(access.index, access.shape, strict=True):
            if access.fill is None or not isinstance(item, Affine) or item.coefficients[axis] <= 0:
                continue
            step = item.coefficients[axis]
            for point in points:
                first = item.offset + sum(map(int.__mul__, item.coefficients[nest.outer :], point))
                ends |= {-(first // step), -((first - limit) // step)}
    return sorted(end for end in ends if 0 <= end <= extent)


def _part(nest: Nest, box: Sequence[tuple[int, int]], constants: Mapping[str, Array]) -> Nest:
    """The nest on a part of its kept axes; of a constant that is one number there, that number is read."""
    count = len(nest.axes)
    bounds = [*box, *((0, axis.extent) for axis in nest.axes[nest.outer :])]
    if all(nest.axes[axis].extent == end - low for axis, (low, end) in enumerate(bounds)):
        return nest
    axes = tuple(Axis(a.name, end - low, a.reduced) for a, (low, end) in zip(nest.axes, bounds, strict=True))
    moved = with_axes(nest, axes, [along(axis, count, offset=low) for axis, (low, _) in enumerate(bounds)])
    return replace(moved, reads=tuple(_as_number(access, moved, constants) for access in moved.reads))


def _as_number(access: Access, nest: Nest, constants: Mapping[str, Array]) -> Access:
    """The access, at one place if it meets equal elements of a constant everywhere."""
    values, count = constants.get(access.operand), len(nest.axes)
    if values is None or access.fill is not None or access.indirect or len(access.shape) != 1:
        return access
    (index,) = access.index
    assert isinstance(index, Affine)
    low, high = index.span((0,) * count, nest.extents)
    met = values.reshape(-1)[low : high + 1]
    return replace(access, index=(fixed(low, count),)) if bool(np.all(met == met[0])) else access


def _as_map(nest: Nest) -> Nest | None:
    """The reduction as a map; None if a point is inside for some of the results and outside for others."""
    reduction, outer = nest.reduction, nest.outer
    assert reduction is not None
    points = list(product(*map(range, nest.extents[outer:])))
    reads = [at_point(access, outer, point) for point in points for access in nest.reads]
    inside = [_is_inside(access, nest.extents[:outer]) for access in reads]
    results = {number for write in nest.writes for number in reads_of(write.value)}
    if None in inside or not all(inside[number] for number in results):
        return None
    total, count = const(reduction.initial, reduction.type), len(nest.reads)
    for first in range(0, len(reads), count):
        value = _value(nest, inside[first : first + count])
        if not _adds_nothing(reduction, value):
            total = call(f"{reduction.op}_{reduction.type}", total, _from(first, value))

    def leaf(expr: Expr) -> Expr:
        return total if expr.op == "acc" else expr

    writes = [rewrite_write(write, leaf) for write in nest.writes]
    kept = tuple(replace(write, access=at_point(write.access, outer, points[0])) for write in writes)
    found = tuple(
        replace(access, fill=None) if ok else access for access, ok in zip(reads, inside, strict=True)
    )
    return normalise(
        replace(nest, verb="map", axes=nest.axes[:outer], reads=found, writes=kept, reduction=None)
    )


def at_point(access: Access, outer: int, point: Sequence[int]) -> Access:
    """An access over the kept axes, at a point of the others."""
    old = [*(along(axis, outer) for axis in range(outer)), *(fixed(place, outer) for place in point)]
    index = tuple(item.compose(old, outer) if isinstance(item, Affine) else item for item in access.index)
    return replace(access, index=index)


def _is_inside(access: Access, extents: Sequence[int]) -> bool | None:
    """Whether all that an access meets is there; None if only some of it is."""
    if access.fill is None:
        return True
    low = (0,) * len(extents)
    spans = [index.span(low, extents) for index in access.index if isinstance(index, Affine)]
    if all(first >= 0 and last < limit for (first, last), limit in zip(spans, access.shape, strict=True)):
        return True
    outside = any(
        last < 0 or first >= limit for (first, last), limit in zip(spans, access.shape, strict=True)
    )
    return False if outside else None


def _value(nest: Nest, inside: Sequence[bool | None]) -> Expr:
    """What is combined at a point, with fills for what is outside."""
    assert nest.reduction is not None

    def leaf(expr: Expr) -> Expr:
        fill = nest.reads[expr.number].fill if expr.op == "read" and not inside[expr.number] else None
        return expr if fill is None else fill

    return rewrite(nest.reduction.value, leaf)


def _adds_nothing(reduction: Reduction, value: Expr) -> bool:
    """Whether a value leaves every total as it is."""
    if value == const(reduction.initial, reduction.type):
        return True
    is_zero = value.scalar.base == "sub" and value.type != "f32" and len(set(value.operands)) == 1
    return reduction.op == "add" and is_zero


def _from(first: int, value: Expr) -> Expr:
    """A value whose reads are counted from a number."""

    def leaf(expr: Expr) -> Expr:
        return read(first + expr.number, expr.type) if expr.op == "read" else expr

    return rewrite(value, leaf)
