"""Sharing: which axes of a group are cut, so that several cores finish it together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heapreplace
from math import prod

from tiling.expr import BYTES
from tiling.nest import Access, Nest
from tiling.program import Loop, box_bytes, box_shape
from tiling.target import Target

ARRAY_SPEED = 48
"""How many products an array unit adds while other units do one point."""
ARRAY_RESULTS = 2
"""How many results it finishes in that time."""
BYTES_ONCE = 32
"""How many bytes that are used once, in order, come to it in that time from a cache that all cores share."""
BYTES_PER_POINT = 6
"""Bytes that come from there otherwise."""
TILE_OVERHEAD = 600
"""Points for beginning a tile."""
GAP_OVERHEAD = 100
"""Points for each gap in what a tile writes: what its core fetches there ahead of need, another one has to
fetch back."""
LINE = 64
"""Bytes of a cache line."""
TILES_PER_CORE = 4


def shared_loops(nest: Nest, target: Target) -> tuple[tuple[Loop, ...], bool]:
    """Loops over tiles of a group that is used where it is, and whether cores share them.

    Loops that an array unit asks for stand anyway. Little work is not worth waiting for each other.
    """
    loops = tuple(
        Loop(number, 1, nest.axes[number].extent)
        for number, grain in enumerate(nest.grain)
        if grain == 0 and nest.axes[number].extent > 1
    )
    tiles = prod(loop.count for loop in loops)
    parts = work(nest) // target.tile_points
    if target.cores == 1 or parts < 2 or nest.scatters:
        return loops, False
    if tiles < TILES_PER_CORE * target.cores:
        options = [loops, *((*loops, extra) for extra in _cuts(nest, target, -(-parts // tiles)))]
        loops = min(options, key=lambda option: _finish(nest, option, target.cores))
    return tuple(sorted(loops, key=lambda loop: loop.axis)), prod(loop.count for loop in loops) > 1


def work(nest: Nest) -> int:
    """An estimate of a group's work, in points of a simple one."""
    if nest.prepared and nest.verb == "contract":
        computed = nest.points // ARRAY_SPEED + prod(nest.extents[: nest.outer]) // ARRAY_RESULTS
        return max(computed, sum(access.bytes for access in nest.reads) // BYTES_ONCE)
    return nest.points


def _cuts(nest: Nest, target: Target, parts: int) -> Iterator[Loop]:
    """The ways to cut one axis into up to so many parts."""
    for number, axis in enumerate(nest.axes[: nest.outer]):
        grain = nest.grain[number] if nest.grain else _grain(nest, number)
        for count in range(2, min(parts, TILES_PER_CORE * target.cores, axis.extent) + 1 if grain else 0):
            step = -(-axis.extent // (count * grain)) * grain
            if step < axis.extent:
                yield Loop(number, step, -(-axis.extent // step))


def _grain(nest: Nest, number: int) -> int:
    """Whole cache lines of the innermost axis, so that cores do not write to the same one."""
    return LINE // min(BYTES[write.access.type] for write in nest.writes) if number == nest.outer - 1 else 1


def _finish(nest: Nest, loops: Sequence[Loop], cores: int) -> float:
    """When the last core is done, in points."""
    extents = nest.extents
    sizes = [1.0]
    for loop in loops:
        full = min(loop.step, extents[loop.axis])
        pieces = [full] * (loop.count - 1) + [extents[loop.axis] - full * (loop.count - 1)]
        sizes = [size * piece / extents[loop.axis] for size in sizes for piece in pieces]
    ends = [0.0] * cores
    heapify(ends)
    for size in sizes:
        heapreplace(ends, ends[0] + size * work(nest) + TILE_OVERHEAD)
    tile = list(extents)
    for loop in loops:
        tile[loop.axis] = min(extents[loop.axis], loop.step * -(-loop.count // cores))
    box = tuple(tile)
    come = sum(box_bytes(access, box) for access in nest.reads) / BYTES_PER_POINT
    return max(ends) + come + GAP_OVERHEAD * sum(_gaps(write.access, box) for write in nest.writes)


def _gaps(access: Access, tile: tuple[int, ...]) -> int:
    """How often what a tile touches of an operand is interrupted."""
    box = box_shape(access, tile)
    for dimension in reversed(range(len(box))):
        if box[dimension] < access.shape[dimension]:
            return prod(box[:dimension]) - 1
    return 0
