"""Bilinear interpolation of integers along y, and then along x: what a column is along y is computed once.

Each column of the input is one of two for several columns of the result, and along y its rows are long.
Integers that wrap around may be added up in any order.
"""

from __future__ import annotations

from tiling.expr import Expr, apply, read, replaced, walk
from tiling.nest import Access, Affine, Indirect, Nest, Write, along, identity
from tiling.normal import normalise
from tiling.records import replace
from tosajit.host.by_rows import LEAST_ROWS

BLEND = "resize_blend_i32"


def blended(nest: Nest, number: int) -> tuple[list[Nest], dict[str, Access]]:
    """The nests that interpolate along each axis, and the lines that only these know."""
    blends = {node for write in nest.writes for node in walk(write.value) if node.op == BLEND}
    if nest.verb != "map" or len(blends) != 1:
        return [nest], {}
    (blend,) = blends
    if any(operand.op != "read" for operand in blend.operands):
        return [nest], {}
    corners, count = [nest.reads[corner.number] for corner in blend.operands[:4]], len(nest.axes)
    upright, across = _apart(nest, corners[0], corners[2]), _apart(nest, corners[0], corners[1])
    if upright is None or across is None or upright[1] != 0 or nest.axes[0].extent < LEAST_ROWS:
        return [nest], {}
    place, column = across
    width = corners[0].shape[place]
    if column == 0 or width > nest.axes[column].extent:  # more columns than results have no use of theirs
        return [nest], {}
    axes = tuple(replace(one, extent=width) if axis == column else one for axis, one in enumerate(nest.axes))
    extents, name = tuple(axis.extent for axis in axes), f"{nest.writes[0].access.operand}.{number}.lines"
    lines = Access(name, "i32", extents, identity(count))
    below, beside, unit_y, unit_x = blend.operands[4:]
    rows = tuple(_at(corners[corner], place, along(column, count)) for corner in (0, 2))
    columns = tuple(_at(lines, column, corners[corner].index[place]) for corner in (0, 1))
    first, second = _added(nest, rows), _added(nest, columns)
    line = Write(lines, _mean(first, len(nest.reads), below, unit_y))
    whole = {blend: _mean(second, len(nest.reads), beside, unit_x)}
    results = tuple(Write(write.access, replaced(write.value, whole)) for write in nest.writes)
    nests = [
        replace(first, axes=axes, writes=(line,), members=nest.members[:1]),
        replace(second, writes=results),
    ]
    return [*map(normalise, nests)], {name: lines}


def _apart(nest: Nest, one: Access, other: Access) -> tuple[int, int] | None:
    """The dimension along which two accesses differ by tables, and the axis of these; None if otherwise."""
    pairs = zip(one.index, other.index, strict=True)
    places = [place for place, (here, there) in enumerate(pairs) if here != there]
    if len(places) != 1 or one.fill is not None:
        return None
    axes = set[int]()
    for index in (one.index[places[0]], other.index[places[0]]):
        if not isinstance(index, Indirect) or index.value.op != "read":
            return None
        steps = nest.reads[index.value.number].steps(len(nest.axes))
        axes |= {axis for axis, step in enumerate(steps) if step}
    return (places[0], axes.pop()) if len(axes) == 1 else None


def _at(access: Access, place: int, index: Affine | Indirect) -> Access:
    """The access with another index along a dimension."""
    return replace(access, index=(*access.index[:place], index, *access.index[place + 1 :]))


def _added(nest: Nest, reads: tuple[Access, ...]) -> Nest:
    """The nest with more reads behind its own."""
    return replace(nest, reads=(*nest.reads, *reads))


def _mean(nest: Nest, first: int, part: Expr, unit: Expr) -> Expr:
    """The sum of two reads from `first` on, by what the second one has of a unit."""
    one, other = (read(number, nest.reads[number].type) for number in (first, first + 1))
    return apply("add", apply("mul", apply("sub", unit, part), one), apply("mul", part, other))
