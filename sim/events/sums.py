"""What estimates add up: transfers of boxes, and tiles by their extents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from sim.events.tiles import rows_and_run, span_of
from tiling.expr import BYTES
from tiling.nest import Access
from tiling.program import Image, Operand, Section

Classes = list[tuple[tuple[int, ...], int]]
"""Tiles that are alike, and how many there are."""


class Box(NamedTuple):
    """A transfer of a full box: times of the channel and the memories, and how much of it may come early."""

    cycles: float
    far: float
    pad: float
    early: float
    bytes: int
    part: float
    """What of a full box is surely moved for a tile, on the average, as boxes end at borders."""
    outer: float
    """Cycles of the channel before the first tile, or behind the last one."""


class Moves(NamedTuple):
    """The transfers of a section."""

    dma: float
    """Cycles of the channels."""
    loads: float
    """Cycles of the channel of loads, which may also be what computes."""
    offchip: float
    level2: float
    pad: float
    """Cycles of the memories."""
    early: float
    """Cycles of the first boxes of constants, which may come beside what is in front."""
    apart: float
    """Cycles of the channels that no tile works beside."""
    bytes: float
    of_level2: float
    """Bytes, and those of level 2."""


class Work(NamedTuple):
    """Tiles: the unit, its cycles if nothing else uses the memories, cycles and bytes of the memories."""

    unit: str = "vector"
    alone: float = 0.0
    offchip: float = 0.0
    level2: float = 0.0
    pad: float = 0.0
    far: float = 0.0
    between: float = 0.0
    near: float = 0.0
    longest: float = 0.0
    """Cycles of one tile at most."""


IDLE = Work()
"""Before any tile is known."""


def classes_of(section: Section) -> Classes:
    """Extents of tiles, full ones first, then cut ones, with how many there are of each."""
    loops = section.loops
    choices: list[Sequence[tuple[int, int]]] = []
    for loop in loops:
        rest = section.nest.axes[loop.axis].extent - loop.step * (loop.count - 1)
        cut = rest != loop.step
        choices.append([(loop.step, loop.count - cut), (rest, 1)] if cut else [(loop.step, loop.count)])
    tile = list(section.nest.extents)
    found = []
    for picked in product(*choices):
        for loop, (steps, _) in zip(loops, picked, strict=True):
            tile[loop.axis] = steps
        count = prod(count for _, count in picked)
        if count:
            found.append((tuple(tile), count))
    return found


def transfer_of(
    access: Access, image: Image, box: Sequence[int], operand: Operand
) -> tuple[int, int, int, int]:
    """Rows and bytes of a row of a box in the memory, its bytes, and those that it spans."""
    element = BYTES[access.type]
    if operand.stored_bytes is not None and operand.kind == "constant":
        size = operand.stored(prod(box) * element)
        return 1, size, size, size
    rows, run = rows_and_run(access, image, box)
    return rows, run * element, rows * run * element, span_of(access, image, box) * element
