"""Places that a constant says, as indices of axes: frames of a signal, every other row, rows backwards."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tiling.nest import Access, Affine, Indirect, Nest
from tiling.normal import normalise, share_reads
from tiling.records import replace
from tosajit.arrays import Array
from tosajit.host.unit import arranged


def direct(nest: Nest, constants: Mapping[str, Array]) -> Nest:
    """The nest without tables whose entries grow by the same with each step along an axis."""
    reads = tuple(_direct(nest, access, constants) if access.indirect else access for access in nest.reads)
    if reads == nest.reads:
        return nest
    changed = replace(nest, reads=reads)
    return normalise(changed) if nest.reduction is None else share_reads(changed)


def _direct(nest: Nest, access: Access, constants: Mapping[str, Array]) -> Access:
    pairs = zip(access.index, access.shape, strict=True)
    index = tuple(
        _affine(nest, item, extent, constants) if isinstance(item, Indirect) else item
        for item, extent in pairs
    )
    return replace(access, index=index)


def _affine(nest: Nest, index: Indirect, extent: int, constants: Mapping[str, Array]) -> Affine | Indirect:
    """The index as a sum of steps along axes, if it is one and always inside."""
    table = nest.reads[index.value.number] if index.value.op == "read" else None
    if table is None or table.operand not in constants or table.indirect or table.fill is not None:
        return index
    steps = table.steps(len(nest.axes))
    axes = [axis for axis, step in enumerate(steps) if step]
    places = arranged(constants[table.operand], table, nest, axes).astype(np.int64)
    first, grids = int(places.flat[0]), np.ogrid[tuple(map(slice, places.shape))]
    each = [
        int(np.take(places, min(1, size - 1), number).flat[0]) - first
        for number, size in enumerate(places.shape)
    ]
    grown = first + sum(step * grid for step, grid in zip(each, grids, strict=True))
    if places.min() < 0 or places.max() >= extent or not np.array_equal(places, grown):
        return index
    found = dict(zip(axes, each, strict=True))
    return Affine(tuple(found.get(axis, 0) for axis in range(len(nest.axes))), first)
