"""Cycles of an array that works block by block: products, results and commands overlap.

The formulas are those of Vela 5.2.0 (`ethos_u55_performance.cpp` and `ethos_u85_performance.cpp`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from sim.cost.ethos.parts import Choice, Layer, Part55, Part85, Shape

TAPS = 8
"""Rows and columns of a kernel that are done at once."""
CHANNELS = 16
"""Of the bricks that feature maps are stored in."""
SCALE_BYTES = 10
"""Of a channel's bias, multiplier and shift."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What blocks are read from and written to."""

    bytes_per_cycle: float | None
    read_latency: int
    write_latency: int
    burst: int

    def cycles(self, amount: float, latency: int) -> int:
        """The time that a transfer takes."""
        return latency + (0 if self.bytes_per_cycle is None else int(amount / self.bytes_per_cycle))


class Map(NamedTuple):
    """Where a feature map is, and in which order: plain, or in bricks of 16 channels."""

    memory: Memory
    plain: bool = False

    def moved(self, size: int, run: int) -> int:
        """Bytes that move for so many in runs: those shorter than a burst take a whole one."""
        return size * self.memory.burst // min(self.memory.burst, run)


class Maps(NamedTuple):
    """The feature maps of a layer, and the latency of the memory with its biases and scales."""

    source: Map
    result: Map
    bias_latency: int


class Cycles(NamedTuple):
    """Cycles of a layer. Each of `products` and `results` is what it would take with the other hidden."""

    total: int
    fill: int
    products: int
    results: int
    commands: int


def layer_cycles(
    part: Part55 | Part85, layer: Layer, choice: Choice, maps: Maps, chained: float = 0.0
) -> Cycles:
    """Cycles of a layer on the array; `chained` are output cycles an element of operations behind it."""
    block = choice.output.within(layer.output)
    micro = microblock(part, layer, choice)
    inside = block.over(micro).elements
    blocks = layer.output.over(micro).elements / inside
    element = output_cycles(part, layer) + chained
    results = float(ceil(element * block.elements))
    longest = results
    if layer.op in ("convolution", "depthwise") and not layer.dynamic:
        longest = max(results, SCALE_BYTES * block.depth * maps.bias_latency / 256)
    products = float(products_of(part, layer, choice, micro))
    first, last = block_transfer(part, layer, choice, maps)
    waiting = abs(last - first) if blocks > 1 else 0
    commands = (waiting + products + longest) / 4
    slow, fast = max(products, commands), max(longest, commands)
    if slow > fast:
        steady = int(slow * blocks)
        total = steady + int(fast)
    else:
        steady = int(fast * blocks)
        total = int(fast * blocks + slow)
    return Cycles(
        total + first + last,
        total - steady + first + last,
        int(products * blocks + longest),
        int(results * blocks + products),
        int(commands),
    )


def microblock(part: Part55 | Part85, layer: Layer, choice: Choice) -> Shape:
    """The microblock, which parts with two rows use as one row of four for a row of even width."""
    micro = choice.microblock
    row = layer.op == "convolution" and layer.output.height == 1 and layer.output.width % 2 == 0
    if row and micro.height == 2 and layer.kernel[0] == 1 and isinstance(part, Part55):
        return Shape(1, 4, micro.depth)
    return micro


def products_of(
    part: Part55 | Part85, layer: Layer, choice: Choice, micro: Shape, waiting: bool = True
) -> int:
    """Cycles of the products of a block, with those that wait for decoded weights and for sums."""
    source = choice.input.within(layer.input)
    units = choice.output.within(layer.output).over(micro)
    high, wide = layer.kernel
    total = 0
    for x in range(0, wide, TAPS):
        for y in range(0, high, TAPS):
            taps = min(high - y, TAPS) * min(wide - x, TAPS)
            total += _taps(part, layer, choice, units, source, taps, micro, waiting)
    if layer.op in ("convolution", "sum"):
        total *= -(-layer.input.depth // source.depth)
    return total // part.cores if isinstance(part, Part55) else total


def _taps(
    part: Part55 | Part85,
    layer: Layer,
    choice: Choice,
    units: Shape,
    source: Shape,
    taps: int,
    micro: Shape,
    waiting: bool,
) -> int:
    """Cycles of up to 8 × 8 elements of the kernel, for the channels that are held."""
    new = isinstance(part, Part85)
    decode = (
        0
        if not waiting
        else 32 * micro.depth // (8 * part.decoders)
        if isinstance(part, Part85)
        else 32 * micro.depth // 8
    )
    eights = -(-source.depth // 8)
    if layer.op == "pool":
        steps = 1
        cycles = max(4, taps) * units.elements * (1 if part.macs == 32 else layer.bits // 2)
    elif layer.op == "depthwise":
        steps = -(-taps // 4)
        cycles = max(decode, 4 * units.area * (layer.bits // 8)) * steps * units.depth
    elif layer.op == "convolution" and choice.part_kernel:
        steps = -(-taps // (2 if layer.bits == 16 else 4))
        cycles = max(decode, 4 * units.area) * steps * units.depth * eights
    else:
        steps = taps
        work = source.depth // 8 * units.area if new else 4 * units.area
        cycles = max(decode, work) * steps * units.depth * (layer.bits // 8 if new else 1)
    if new and layer.sparse:
        cycles //= 2
    delay = _delay(part, layer, units, steps) if waiting else 0
    return cycles + delay * (eights if layer.op == "convolution" and choice.part_kernel else 1)


def _delay(part: Part55 | Part85, layer: Layer, units: Shape, steps: int) -> int:
    """Cycles lost where a sum is needed again before it is there."""
    smallest = part.macs == 32
    cycles = (7 if layer.wide else 3) if smallest else 3 if layer.wide and part.macs <= 128 else 2
    lost = 0
    if units.area == 1:
        lost = cycles * steps if units.depth == 1 else cycles * (steps - 1) * units.depth
    if smallest and layer.wide and units.depth > 1 and 1 in (units.width, units.height):
        lost += cycles * units.depth
    return lost


def output_cycles(part: Part55 | Part85, layer: Layer) -> float:
    """Cycles that each element of the result takes on its way out."""
    if isinstance(part, Part85):
        bits = {8: 0, 16: 1, 32: 2, 64: 3}[layer.output_bits]
        return max(part.output_cycles[bits], part.table_cycles if layer.table else 0.0)
    kind = 3 if layer.wide else 6 if layer.op == "pool" and layer.maximum else 7
    return max(part.output_cycles[kind], part.table_cycles if layer.table else 0.0)


def block_transfer(part: Part55 | Part85, layer: Layer, choice: Choice, maps: Maps) -> tuple[int, int]:
    """Cycles to read the first block of the map and to write the last one of the result."""
    source, result = maps.source, maps.result
    read = choice.input.within(layer.input).elements * layer.bits // 8
    written = choice.output.within(layer.output).elements * layer.output_bits // 8
    first = source.moved(read, read_run(layer, choice, source.plain))
    last = result.moved(written, written_run(part, layer, choice, result.plain))
    return (
        source.memory.cycles(first, source.memory.read_latency),
        result.memory.cycles(last, result.memory.write_latency),
    )


def read_run(layer: Layer, choice: Choice, plain: bool) -> int:
    """Bytes of a block of the map that follow each other: bricks of 16 channels in a row, or channels."""
    block = choice.input
    if not plain:
        return CHANNELS * layer.bits * block.width // 8
    whole = layer.input.depth * layer.bits // 8 == block.depth
    return layer.bits * block.depth * (block.width if whole else 1) // 8


def written_run(part: Part55 | Part85, layer: Layer, choice: Choice, plain: bool) -> int:
    """Bytes of a block of the result that follow each other; each core writes bricks of its own."""
    block, bits = choice.output, layer.output_bits
    cores = part.cores if isinstance(part, Part55) else 1
    if not plain:
        return CHANNELS * bits * block.width * cores // 8
    if block.depth <= CHANNELS and layer.output.depth * bits // 8 == block.depth:
        return bits * block.width * block.depth // 8
    return min(64, CHANNELS * bits * cores // 8, block.depth * bits // 8)
