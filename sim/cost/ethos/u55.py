"""Blocks of the Ethos-U55 and U65: what fits into the banks of their shared buffer, at the least traffic."""

from __future__ import annotations

import numpy as np

from sim.arrays import Array
from sim.cost.ethos.parts import Choice, Layer, Part55, Shape, up
from sim.cost.ethos.search import FLOAT, Candidates, best, depths, rounded, traffic

BANK = 1024
"""Bytes of a bank."""
LARGEST = Shape(32, 64, 128)
RESERVED = 2
"""Banks for results on their way out."""


def part_kernel(layer: Layer) -> bool:
    """Whether the elements of the kernel fill the array better than channels do."""
    deep, window = layer.input.depth, layer.kernel[0] * layer.kernel[1]
    if deep <= 8:
        return True
    group, taps = (32, 4) if layer.bits == 8 else (16, 2)
    return deep / up(deep, 8) * (window / up(window, taps)) >= deep / up(deep, group)


def choose(part: Part55, layer: Layer) -> Choice | None:
    """The block that Vela's criterion prefers, or None if none fits."""
    equal = layer.op in ("pool", "depthwise")
    partly = layer.op == "convolution" and part_kernel(layer)
    micro = part.microblock
    space = layer.output.within(LARGEST).rounded(micro)
    start = max(micro.depth, min(space.depth, 16))
    blocks = Candidates(
        layer,
        depths(start, micro.depth, space.depth, layer.output.depth),
        range(micro.height, space.height + 1, micro.height),
        range(micro.width, space.width + 1, micro.width),
    )
    rows, columns = rounded(blocks.rows, micro.height), rounded(blocks.columns, micro.width)
    deep = blocks.depth if equal else np.array([[[_input_depth(layer, partly)]]])
    flat = layer.output.height == 1 and layer.kernel[0] == 1 and micro.height == 2
    height = np.minimum(blocks.height, 1) if flat else blocks.height
    fits = _fits(part, layer, rows * columns, deep, height * blocks.width, blocks.depth)
    cost = traffic(layer, blocks, (rows, columns), height, equal, joint=False)
    whole = layer.input.elements < rows * columns * deep * 2
    cost = np.where(whole, cost / FLOAT(2), cost)
    small = (blocks.height <= 4) & (blocks.width <= 4)
    area = np.minimum(rows, layer.input.height) * np.minimum(columns, layer.input.width)
    found = best(np.broadcast_to(cost, fits.shape), fits, small, area)
    if found is None:
        return None
    block = blocks.at(found)
    high, wide = layer.needed(block)
    depth = block.depth if equal else int(deep[0, 0, 0])
    source = Shape(up(high, micro.height), up(wide, micro.width), depth)
    return Choice(block, source, micro, partly)


def _input_depth(layer: Layer, partly: bool) -> int:
    """Channels of the map that are held at a time."""
    if layer.bits == 16:
        return up(min(layer.input.depth, 16), 4)
    # All parts take channels of the map in eights, also where results come in fours.
    return up(min(layer.input.depth, 16 if partly else 32), 8)


def _fits(part: Part55, layer: Layer, area: Array, deep: Array, results: Array, depth: Array) -> Array:
    """Whether two copies of the map's block and of the sums fit into the banks."""
    granule = part.granules[{8: 0, 16: 1, 32: 2}[layer.bits]]
    source = rounded(-(-(area * rounded(deep * layer.bits // 8, 8)) // BANK) * 2, granule)
    kept = max(1 if layer.table else 0, 2 if part.banks > 16 else 0)
    room = part.banks - RESERVED - kept
    bits, granule = (40, part.granules[4]) if layer.wide else (32, part.granules[3])
    sums = rounded(-(-(results * rounded(depth, 8) * bits // 8) // BANK) * 2, granule)
    fits: Array = source + sums <= room
    return fits
