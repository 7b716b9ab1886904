"""The search for the block with the least traffic, over all sizes at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sim.arrays import Array
from sim.cost.ethos.parts import Layer, Shape

FLOAT = np.float32


class Candidates(NamedTuple):
    """Blocks of the result: deep ones last, of the same depth high ones, and of the same height wide ones."""

    height: Array
    width: Array
    depth: Array
    area: Array
    """Positions of the maps that they read."""

    def at(self, index: int) -> Shape:
        """One of the blocks."""
        return Shape(int(self.height[index]), int(self.width[index]), int(self.depth[index]))

    def some(self, kept: Array) -> Candidates:
        """Those that are kept."""
        found = np.flatnonzero(kept)
        return self if len(found) == len(kept) else Candidates(*[one[found] for one in self])

    def within(self, limit: Shape) -> Candidates:
        """Those of no more rows and columns."""
        return self.some((self.height <= limit.height) & (self.width <= limit.width))


class Read(NamedTuple):
    """The rows and columns of a map that blocks read, stored in units of so many."""

    spread: tuple[int, int]
    """Of the kernel, as far as it is done at once."""
    stride: tuple[int, int]
    unit: tuple[int, int]

    @staticmethod
    def of(layer: Layer, unit: Shape) -> Read:
        """Those of a layer."""
        high, wide = layer.spread
        return Read((min(high, 8), min(wide, 8)), layer.stride, (unit.height, unit.width))

    def side(self, number: int, size: Array) -> Array:
        """Rows or columns for so many of a block."""
        return rounded((size - 1) * self.stride[number] + self.spread[number], self.unit[number])


def grid(read: Read, depths: Sequence[int], heights: range, widths: range) -> Candidates:
    """Blocks of all combinations of extents."""
    sizes = np.meshgrid(depths, np.array(heights), np.array(widths), indexing="ij")
    depth, height, width = [one.ravel() for one in sizes]
    area = read.side(0, height) * read.side(1, width)
    return Candidates(height.astype(FLOAT), width.astype(FLOAT), depth.astype(FLOAT), area)


def traffic(layer: Layer, blocks: Candidates, equal: bool, joint: bool, flat: int = 1) -> Array:
    """Elements of map and weights that are fetched for each element of the result.

    In single precision and in Vela's order (`joint`: rows × columns first), so that ties are found where Vela
    finds them. Of so many rows of a block one has results if it is `flat`.
    """
    out, source = layer.output, layer.input
    height: Array = blocks.height if flat == 1 else blocks.height // FLOAT(flat)
    down: Array = FLOAT(out.height) / height
    across: Array = FLOAT(out.width) / blocks.width
    deep: Array = FLOAT(out.depth) / blocks.depth
    window = layer.kernel[0] * layer.kernel[1] if layer.op in ("convolution", "depthwise") else 0
    weights: Array = FLOAT(window * source.depth) * (np.ceil(down) * np.ceil(across))
    if layer.op != "depthwise":
        weights = weights * (deep * blocks.depth)
    repeats = -(-layer.spread[0] // 8) * -(-layer.spread[1] // 8)
    maps: Array = (blocks.area * (source.depth * repeats)).astype(FLOAT)
    maps = maps * (across * down) if joint else maps * across * down
    if not equal:
        maps = maps * np.ceil(deep)
    found: Array = (maps + weights) / FLOAT(out.elements)
    return found


def best(layer: Layer, read: Read, blocks: Candidates, cost: Array, small: int | None = 4) -> int | None:
    """The first of the cheapest; of equally cheap small blocks the last that sees most of the map."""
    if not cost.size:
        return None
    first = int(cost.argmin())
    ties = np.flatnonzero(cost == cost[first])[1:]
    if ties.size and small is not None:
        ties = ties[(blocks.height[ties] <= small) & (blocks.width[ties] <= small)]
    if not ties.size:
        return first
    rows, columns = read.side(0, blocks.height[ties]), read.side(1, blocks.width[ties])
    seen = np.minimum(rows, layer.input.height) * np.minimum(columns, layer.input.width)
    return int(ties[np.flatnonzero(seen == seen.max())[-1]])


def rounded(values: Array, granule: int) -> Array:
    """The next multiples."""
    found: Array = -(-values // granule) * granule
    return found


@lru_cache(maxsize=1 << 10)
def depths(start: int, step: int, end: int, whole: int, split: int = 16) -> tuple[int, ...]:
    """Depths of blocks: multiples of the split, unless a block has all of the depth."""
    found: list[int] = []
    depth = start
    while True:
        if depth < whole:
            depth = -(-depth // split) * split
        if depth > end:
            return tuple(found)
        found.append(depth)
        depth += step
