"""Reductions of few points, such as those of pooling, as maps: partial results need no memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod

from tiling.expr import Expr, call, const, read, rewrite
from tiling.nest import Access, Affine, Nest, Reduction, along, fixed, result_exprs, rewrite_write
from tiling.normal import share_reads

MOST = 9
"""Points that are few: those of a window of 3 × 3."""
TYPES = frozenset({"i8", "i16", "i32"})
"""Of numbers that may be combined in any order."""


def unrolled(nest: Nest) -> Nest:
    """A reduction of few integers to each result as a map, if neighbouring results are made of neighbours."""
    reduction, outer = nest.reduction, nest.outer
    extents = [axis.extent for axis in nest.axes[outer:]]
    if reduction is None or nest.verb != "reduce" or reduction.type not in TYPES or prod(extents) > MOST:
        return nest
    reduced = any(
        leaf.op == "axis" and leaf.number >= outer for expr in result_exprs(nest) for leaf in expr.leaves
    )
    if reduced or not outer or not all(_plain(access, nest) for access in nest.reads):
        return nest
    points = list(product(*map(range, extents)))
    reads = tuple(_at(access, outer, point) for point in points for access in nest.reads)
    total = _total(reduction, len(nest.reads), len(points))

    def leaf(expr: Expr) -> Expr:
        return total if expr.op == "acc" else expr

    writes = [rewrite_write(write, leaf) for write in nest.writes]
    kept = tuple(replace(write, access=_at(write.access, outer, points[0])) for write in writes)
    made = replace(nest, verb="map", axes=nest.axes[:outer], reads=reads, writes=kept, reduction=None)
    return share_reads(made)


def _plain(access: Access, nest: Nest) -> bool:
    """Whether it is always inside, and meets neighbours or one element along the last axis that is kept."""
    steps = access.steps(len(nest.axes))
    return access.fill is None and not access.indirect and steps[nest.outer - 1] in (0, 1)


def _at(access: Access, outer: int, point: Sequence[int]) -> Access:
    """An access over the kept axes, at a point of the others."""
    old = [*(along(axis, outer) for axis in range(outer)), *(fixed(place, outer) for place in point)]
    index = tuple(item.compose(old, outer) if isinstance(item, Affine) else item for item in access.index)
    return replace(access, index=index)


def _total(reduction: Reduction, reads: int, points: int) -> Expr:
    """All values combined; each point has `reads` of its own."""
    total = const(reduction.initial, reduction.type)
    for point in range(points):

        def leaf(expr: Expr, first: int = point * reads) -> Expr:
            return read(first + expr.number, expr.type) if expr.op == "read" else expr

        total = call(f"{reduction.op}_{reduction.type}", total, rewrite(reduction.value, leaf))
    return total
