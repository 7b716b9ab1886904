"""Blocks of the Ethos-U85: what fits into its buffers for maps and sums."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sim.cost.ethos.area import GRANULE, LARGEST, area_block
from sim.cost.ethos.parts import Choice, Layer, Part85, Shape, up
from sim.cost.ethos.search import FLOAT, Candidates, Read, best, depths, grid, traffic


def part_kernel(layer: Layer) -> bool:
    """Whether the elements of the kernel fill the array better than channels do."""
    deep, window = layer.input.depth, layer.kernel[0] * layer.kernel[1]
    fives = 10 if layer.sparse else 5
    taps = window // fives * fives + max(window % fives, 4 if layer.sparse else 2)
    return deep / up(deep, 16) * (window / taps) >= deep / up(deep, 128 if layer.sparse else 64)


def choose(part: Part85, layer: Layer) -> Choice | None:
    """The block that Vela's criteria prefer, or None if none fits."""
    partly = layer.op == "convolution" and not layer.dynamic and part_kernel(layer)
    micro = microblock(part, layer, partly)
    if micro is None:
        return None
    deep = input_depth(part, layer, partly, micro)
    if layer.op == "convolution":
        return _convolution(part, layer, micro, partly, deep)
    output, source = area_block(part, layer, micro, deep if layer.op == "sum" else 0)
    return Choice(output, source, micro, False)


def input_depth(part: Part85, layer: Layer, partly: bool, micro: Shape) -> int:
    """Channels of the map that are held at a time."""
    if partly:
        return 16
    if layer.bits == 32 or (part.macs <= 256 and micro.depth == 16 and not layer.sparse):
        return 32
    return 128 if layer.sparse and layer.bits == 8 else 64


def microblock(part: Part85, layer: Layer, partly: bool) -> Shape | None:
    """Of the microblocks that can do the layer, the first of those that waste least."""
    allowed = [micro for micro in part.microblocks if _able(part, layer, micro, partly)]
    return min(allowed, key=lambda micro: layer.output.rounded(micro).elements, default=None)


def _able(part: Part85, layer: Layer, micro: Shape, partly: bool) -> bool:
    """Whether a microblock can do the layer: a table of the part, after its size and the map's bits."""
    if part.macs >= 512:
        if layer.bits == 32:
            return layer.op == "sum" and micro.depth == 16
        return layer.op == "convolution" or part.macs == 512 or micro.depth == 16
    deep = micro.depth == 16
    if layer.op == "convolution":
        single = layer.kernel == (1, 1) and not partly and layer.bits == 16 and not layer.dynamic
        return single if deep else True
    if layer.op == "sum" or layer.bits == 32:
        return not deep and layer.op == "sum"
    return deep if layer.bits == 8 else not deep


def _convolution(part: Part85, layer: Layer, micro: Shape, partly: bool, deep: int) -> Choice | None:
    """The block with the least traffic, or the largest where nothing is read twice."""
    step = Shape(micro.height, micro.width, max(micro.depth, GRANULE))
    limits = layer.output.within(LARGEST)
    end = Shape(*map(max, limits, step)).rounded(micro)
    start = max(micro.depth, min(end.depth, GRANULE))
    unit = part.unit(deep, layer.bits, micro)
    held = up(min(deep, layer.input.depth), unit.depth) * (layer.bits // 8)
    read = Read.of(layer, unit)
    most = part.sum_bytes * 8 // (64 if layer.wide else 32)
    for copies in (2, 1):
        room = most // copies // GRANULE
        split = depths(start, micro.depth, min(end.depth, room // micro.area * GRANULE), layer.output.depth)
        extents = (
            range(step.height, min(end.height, room // micro.width) + 1, step.height),
            range(step.width, min(end.width, room // micro.height) + 1, step.width),
        )
        blocks = _fitting(read, split, *extents, room, part.input_bytes // (held * copies))
        found = _cheapest(layer, read, blocks, deep)
        if found is not None:
            block = blocks.at(found)
            high, wide = layer.needed(block)
            return Choice(block, Shape(up(high, unit.height), up(wide, unit.width), deep), micro, partly)
    return None


@lru_cache(maxsize=1 << 9)
def _fitting(
    read: Read, depths: tuple[int, ...], heights: range, widths: range, sums: int, area: int
) -> Candidates:
    """The blocks with so many sums of 16 channels at most, and such an area of the map."""
    blocks = grid(read, depths, heights, widths)
    bricks = blocks.height * blocks.width * np.ceil(blocks.depth / GRANULE)
    return blocks.some((bricks <= sums) & (blocks.area <= area))


def _cheapest(layer: Layer, read: Read, blocks: Candidates, deep: int) -> int | None:
    one = layer.spread == (layer.input.height, layer.input.width) and layer.output.area == 1
    if one or layer.dynamic:
        sizes = [size.astype(float) for size in (blocks.height, blocks.width, blocks.depth)]
        cost = FLOAT(layer.output.elements) / (sizes[0] * sizes[1] * sizes[2])
    else:
        cost = traffic(layer, blocks, equal=False, joint=True)
    cost = np.where(layer.input.elements < blocks.area * (deep * 2), cost / FLOAT(2), cost)
    return best(layer, read, blocks, cost, None if layer.dynamic else 4)
