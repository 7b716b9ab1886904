"""The search for the block with the least traffic, over all sizes at once."""

from __future__ import annotations

import numpy as np

from sim.arrays import Array
from sim.cost.ethos.parts import Layer, Shape

FLOAT = np.float32


class Candidates:
    """Blocks of the result, as arrays over depth × height × width, and the maps that they read."""

    def __init__(self, layer: Layer, depths: list[int], heights: range, widths: range) -> None:
        self.depth = np.array(depths)[:, None, None]
        self.height = np.array(heights)[None, :, None]
        self.width = np.array(widths)[None, None, :]
        high, wide = (min(covered, 8) for covered in layer.spread)
        self.rows: Array = (self.height - 1) * layer.stride[0] + high
        self.columns: Array = (self.width - 1) * layer.stride[1] + wide
        self.shape = len(depths), len(heights), len(widths)

    def at(self, index: int) -> Shape:
        """One of the blocks."""
        depth, height, width = np.unravel_index(index, self.shape)
        return Shape(
            int(self.height[0, height, 0]), int(self.width[0, 0, width]), int(self.depth[depth, 0, 0])
        )


def traffic(
    layer: Layer, blocks: Candidates, read: tuple[Array, Array], height: Array, equal: bool, joint: bool
) -> Array:
    """Elements of map and weights that are fetched for each element of the result.

    In single precision and in Vela's order (`joint`: rows × columns first), so that ties are found where Vela
    finds them. `read` has rows and columns of the map's blocks, `height` that of the result's.
    """
    out, source = layer.output, layer.input
    down, across, deep = (
        FLOAT(whole) / part.astype(FLOAT)
        for whole, part in zip(out, (height, blocks.width, blocks.depth), strict=True)
    )
    window = layer.kernel[0] * layer.kernel[1] if layer.op in ("convolution", "depthwise") else 0
    weights = FLOAT(window * source.depth) * (np.ceil(down) * np.ceil(across))
    if layer.op != "depthwise":
        weights = weights * (deep * blocks.depth.astype(FLOAT))
    repeats = -(-layer.spread[0] // 8) * -(-layer.spread[1] // 8)
    maps = (read[0] * read[1] * (source.depth * repeats)).astype(FLOAT)
    maps = maps * (across * down) if joint else maps * across * down
    if not equal:
        maps = maps * np.ceil(deep)
    found: Array = (maps + weights) / FLOAT(out.elements)
    return found


def best(cost: Array, fits: Array, small: Array, area: Array) -> int | None:
    """The first of the cheapest; of equally cheap small blocks the last that sees most of the map."""
    cost = np.where(fits, cost, np.inf).ravel()
    first = int(cost.argmin())
    if cost[first] == np.inf:
        return None
    ties = np.flatnonzero((cost == cost[first]) & np.broadcast_to(small, fits.shape).ravel())
    ties = ties[ties > first]
    if not ties.size:
        return first
    seen = np.broadcast_to(area, fits.shape).ravel()[ties]
    return int(ties[np.flatnonzero(seen == seen.max())[-1]])


def rounded(values: Array, granule: int) -> Array:
    """The next multiples."""
    found: Array = -(-values // granule) * granule
    return found


def depths(start: int, step: int, end: int, whole: int, split: int = 16) -> list[int]:
    """Depths of blocks: multiples of the split, unless a block has all of the depth."""
    found: list[int] = []
    depth = start
    while True:
        if depth < whole:
            depth = -(-depth // split) * split
        if depth > end:
            return found
        found.append(depth)
        depth += step
