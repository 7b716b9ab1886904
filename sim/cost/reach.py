"""What a tile reaches of each operand: bytes, and how many of them follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sim.cost.geometry import by_nest
from tiling.expr import BYTES
from tiling.nest import Access, Affine, Nest


class Reach:
    """An access as numbers: what the axes of its nest do to each of its dimensions."""

    __slots__ = ("_dimensions", "_followed", "_free", "_moving", "bytes", "element", "indirect", "steps")

    def __init__(self, access: Access, axes: int) -> None:
        self.bytes, self.element, self.indirect = access.bytes, BYTES[access.type], access.indirect
        self.steps = access.steps(axes)
        self._dimensions: list[tuple[tuple[tuple[int, int], ...], int]] = []
        followed: set[int] = set()
        for index, extent in zip(access.index, access.shape, strict=True):
            if isinstance(index, Affine):
                pairs = tuple((axis, abs(c)) for axis, c in enumerate(index.coefficients) if c)
                followed.update(axis for axis, _ in pairs)
                if pairs:
                    self._dimensions.append((pairs, extent))
        self._free = tuple(axis for axis in range(axes) if axis not in followed)
        self._moving = sorted((abs(step), axis) for axis, step in enumerate(self.steps) if step)

    def touched(self, tile: Sequence[int]) -> int:
        """Bytes that a tile reaches, each once; where data say which, as many as it has points."""
        size = self.element
        for pairs, extent in self._dimensions:
            if len(pairs) == 1:
                axis, _ = pairs[0]
                size *= min(tile[axis], extent)
                continue
            reach, points = 1, 1
            for axis, coefficient in pairs:
                reach += coefficient * (tile[axis] - 1)
                points *= tile[axis]
            size *= min(reach, points, extent)
        return size * prod(tile[axis] for axis in self._free) if self.indirect else size

    def run(self, tile: Sequence[int]) -> int:
        """Bytes that follow each other."""
        run = 1
        for step, axis in self._moving:
            if tile[axis] == 1:
                continue
            if step != run:
                break
            run = step * tile[axis]
        return run * self.element

    def spread(self, tile: Sequence[int], burst: int) -> int:
        """Bytes that move for what a tile reaches: runs shorter than a burst take one."""
        size, run = self.touched(tile), self.run(tile)
        if self.indirect:
            return min(size * max(1, burst // max(run, 1)), self.bytes)
        return size if run >= burst or size < burst else size * burst // run


@by_nest
def reaches(nest: Nest) -> tuple[Reach, ...]:
    """The accesses of a nest."""
    return tuple(Reach(access, len(nest.axes)) for access in nest.accesses)
