"""Making: rows of a menu as sections, with their loops and images."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from tiling.expr import BYTES
from tiling.menu import Menu
from tiling.nest import Affine, Nest
from tiling.program import Image, Loop, Section, box_shape, box_steps
from tiling.target import Target

Flags = NDArray[np.bool_]


class Maker:
    """Makes sections of rows of a menu, each once, and boxes that they have in common once."""

    def __init__(self, nest: Nest, menu: Menu, target: Target) -> None:
        self.nest, self.menu, self.target = nest, menu, target
        self.extents = nest.extents
        self.images: dict[object, Image] = {}
        self.loops: dict[tuple[int, int], Loop] = {}
        self.sections: dict[tuple[int, int, bytes], Section] = {}
        self.steps = [box_steps(a, nest.extents) if target.strided else () for a in nest.accesses]
        self.moving = [
            tuple(
                number
                for number in range(len(nest.axes))
                if any(isinstance(i, Affine) and i.coefficients[number] for i in access.index)
            )
            for access in nest.accesses
        ]

    def section(self, row: int, boxed: Flags, copies: int) -> Section:
        """A row of the menu as loops and images."""
        key = row, copies, boxed.tobytes()
        found = self.sections.get(key)
        if found is None:
            found = self.sections[key] = self._section(row, boxed, copies)
        return found

    def _section(self, row: int, boxed: Flags, copies: int) -> Section:
        target, nest, menu = self.target, self.nest, self.menu
        tile = tuple(map(int, menu.tiles[row].tolist()))
        order = menu.orders[menu.order[row]]
        loops = tuple([self._loop(axis, tile[axis]) for axis in order if tile[axis] < self.extents[axis]])
        depths = {loop.axis: depth for depth, loop in enumerate(loops, 1)}
        pairs = zip(boxed.tolist(), menu.rooms[row].tolist(), strict=True)
        images = tuple(
            [
                self._image(number, tile, depths, copies) if box and room else None
                for number, (box, room) in enumerate(pairs)
            ]
        )
        accumulator = None
        if nest.reduction is not None and menu.accumulators[row]:
            size = prod(tile[: nest.outer]) * BYTES[nest.reduction.type]
            accumulator = Image(0, tile[: nest.outer], size, len(loops), 1, aligned(size, target))
        several = any(not nest.axes[loop.axis].reduced for loop in loops)
        shared = target.cores > 1 and several and not nest.scatters
        return Section(nest, loops, images, accumulator, shared)

    def _loop(self, axis: int, step: int) -> Loop:
        found = self.loops.get((axis, step))
        if found is None:
            found = self.loops[axis, step] = Loop(axis, step, -(-self.extents[axis] // step))
        return found

    def _image(self, number: int, tile: tuple[int, ...], depths: Mapping[int, int], copies: int) -> Image:
        moving = self.moving[number]
        level = max([depths.get(axis, 0) for axis in moving], default=0)
        copies = copies if level else 1
        key = number, level, copies, *[tile[axis] for axis in moving]
        if key not in self.images:
            access, steps = self.nest.accesses[number], self.steps[number]
            steps = () if all(step == 1 for step in steps) else steps
            shape = box_shape(access, tile, steps)
            size = prod(shape) * BYTES[access.type]
            self.images[key] = Image(0, shape, size, level, copies, aligned(size, self.target), steps)
        return self.images[key]


def aligned(size: int, target: Target) -> int:
    """A size with the gap behind it."""
    return -(-size // target.alignment) * target.alignment
