"""Blocks of the Ethos-U55 and U65: what fits into the banks of their shared buffer, at the least traffic."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sim.cost.ethos.parts import Choice, Layer, Part55, Shape, up
from sim.cost.ethos.search import FLOAT, Candidates, Read, best, depths, grid, rounded, traffic

BANK = 1024
"""Bytes of a bank."""
LARGEST = Shape(32, 64, 128)
LEAST_ROWS = 4
"""Of parts of products."""
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
    # A single row takes no more room than it has.
    flat = micro.height if layer.output.height == 1 and layer.kernel[0] == 1 else 1
    deep = None if equal else _input_depth(layer, partly)
    read = Read.of(layer, micro)
    buffers = Buffers(layer.bits, layer.wide, layer.table, deep, flat)
    split = depths(start, micro.depth, space.depth, layer.output.depth)
    blocks = _fitting(part, read, buffers, split).within(space)
    cost = traffic(layer, blocks, equal, joint=False, flat=flat)
    held = blocks.area * (blocks.depth if deep is None else deep)
    cost = np.where(layer.input.elements < held * 2, cost / FLOAT(2), cost)
    found = best(layer, read, blocks, cost)
    if found is None:
        return None
    block = blocks.at(found)
    high, wide = layer.needed(block)
    depth = block.depth if deep is None else deep
    source = Shape(up(high, micro.height), up(wide, micro.width), depth)
    return Choice(block, source, micro, partly)


def parted(shape: Shape) -> Shape:
    """What blocks of products and of their sums are chosen for: a half or a third of rows, if not too few.

    So there are several blocks, and the sums begin before all products are there.
    """
    if shape.height > LARGEST.height or shape.width > LARGEST.width:
        return shape
    parts = next((parts for parts in (3, 2) if shape.width >= LEAST_ROWS * parts), 1)
    return shape._replace(width=-(-shape.width // parts))


@lru_cache(maxsize=1 << 9)
def products_block(part: Part55, shape: Shape, bits: int) -> Shape:
    """The largest block of an elementwise product, of which the banks hold two of each map."""
    space, micro = shape.within(LARGEST).rounded(part.microblock), part.microblock
    read = Read((1, 1), (1, 1), (micro.height, micro.width))
    extents = (range(size, end + 1, size) for size, end in zip(micro[:2], space[:2], strict=True))
    blocks = grid(read, range(micro.depth, space.depth + 1, micro.depth), *extents)
    granule = part.granules[{8: 0, 16: 1, 32: 2}[bits]]
    channels = rounded(blocks.depth.astype(int) * (bits // 8), 8)
    source = rounded(-(-(blocks.area.astype(int) * channels) // BANK) * 2, granule)
    fitting = blocks.some(2 * source <= part.banks - RESERVED - (2 if part.banks > 16 else 0))
    size = fitting.height * fitting.width * fitting.depth
    return fitting.at(int(size.argmax())) if len(size) else micro


def _input_depth(layer: Layer, partly: bool) -> int:
    """Channels of the map that are held at a time."""
    if layer.bits == 16:
        return up(min(layer.input.depth, 16), 4)
    # All parts take channels of the map in eights, also where results come in fours.
    return up(min(layer.input.depth, 16 if partly else 32), 8)


def _room(part: Part55, layer: Layer) -> int:
    """Banks for maps and sums."""
    return part.banks - RESERVED - max(1 if layer.table else 0, 2 if part.banks > 16 else 0)


class Buffers(NamedTuple):
    """What a layer keeps in the banks."""

    bits: int
    """Of an element of the map."""
    wide: bool
    """Whether sums have 40 bits."""
    table: bool
    deep: int | None
    """Channels of the map, if they are not those of the result."""
    flat: int
    """So many rows of a block have one of results."""


@lru_cache(maxsize=1 << 9)
def _fitting(part: Part55, read: Read, buffers: Buffers, depths: tuple[int, ...]) -> Candidates:
    """The blocks of which two copies of the map's block and of the sums fit into the banks."""
    micro = part.microblock
    heights = range(micro.height, (LARGEST.height if buffers.flat == 1 else micro.height) + 1, micro.height)
    blocks = grid(read, depths, heights, range(micro.width, LARGEST.width + 1, micro.width))
    height, width, depth, area = (one.astype(int) for one in blocks)
    deep = depth if buffers.deep is None else buffers.deep
    granule = part.granules[{8: 0, 16: 1, 32: 2}[buffers.bits]]
    source = rounded(-(-(area * (-(-(deep * buffers.bits // 8) // 8) * 8)) // BANK) * 2, granule)
    kept = max(1 if buffers.table else 0, 2 if part.banks > 16 else 0)
    bits, granule = (40, part.granules[4]) if buffers.wide else (32, part.granules[3])
    results = height // buffers.flat * width * rounded(depth, 8)
    sums = rounded(-(-(results * bits // 8) // BANK) * 2, granule)
    return blocks.some(source + sums <= part.banks - RESERVED - kept)
