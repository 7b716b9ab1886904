"""Cycles of an array that works block by block: products, results and commands overlap.

The formulas are those of Vela 5.2.0 (`ethos_u55_performance.cpp` and `ethos_u85_performance.cpp`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from sim.cost.ethos.parts import Choice, Job, Part55, Part85, Shape

TAPS = 8
"""Rows and columns of a kernel that are done at once."""
SCALE_BYTES = 10
"""Of a channel's bias, multiplier and shift."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What blocks are read from and written to; `bias_latency` is of the memory with biases and scales."""

    bytes_per_cycle: float | None
    read_latency: int
    write_latency: int
    burst: int
    bias_latency: int

    def cycles(self, amount: float, latency: int) -> int:
        """The time that a transfer takes."""
        return latency + (0 if self.bytes_per_cycle is None else int(amount / self.bytes_per_cycle))


@dataclass(frozen=True, slots=True)
class Cycles:
    """Cycles of a job. Each of `products` and `results` is what it would take with the other hidden."""

    total: int
    fill: int
    products: int
    results: int
    commands: int


def job_cycles(
    part: Part55 | Part85, job: Job, choice: Choice, memory: Memory, chained: float = 0.0
) -> Cycles:
    """Cycles of a job on the array; `chained` are output cycles an element of operations behind it."""
    block = choice.output.within(job.output)
    micro = microblock(part, job, choice)
    inside = block.over(micro).elements
    blocks = job.output.over(micro).elements / inside
    element = output_cycles(part, job) + chained
    results = float(ceil(element * block.elements))
    longest = results
    if job.op in ("convolution", "depthwise") and not job.dynamic:
        longest = max(results, SCALE_BYTES * block.depth * memory.bias_latency / 256)
    products = float(products_of(part, job, choice, micro))
    first, last = block_transfer(job, choice, memory)
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


def microblock(part: Part55 | Part85, job: Job, choice: Choice) -> Shape:
    """The microblock, which parts with two rows use as one row of four for a row of even width."""
    micro = choice.microblock
    row = job.op == "convolution" and job.output.height == 1 and job.output.width % 2 == 0
    if row and micro.height == 2 and job.kernel[0] == 1 and isinstance(part, Part55):
        return Shape(1, 4, micro.depth)
    return micro


def products_of(part: Part55 | Part85, job: Job, choice: Choice, micro: Shape) -> int:
    """Cycles of the products of a block."""
    source = choice.input.within(job.input)
    units = choice.output.within(job.output).over(micro)
    high, wide = job.kernel
    total = 0
    for x in range(0, wide, TAPS):
        for y in range(0, high, TAPS):
            taps = min(high - y, TAPS) * min(wide - x, TAPS)
            total += _taps(part, job, choice, units, source, taps, micro)
    if job.op in ("convolution", "sum"):
        total *= -(-job.input.depth // source.depth)
    return total // part.cores if isinstance(part, Part55) else total


def _taps(
    part: Part55 | Part85, job: Job, choice: Choice, units: Shape, source: Shape, taps: int, micro: Shape
) -> int:
    """Cycles of up to 8 × 8 elements of the kernel, for the channels that are held."""
    new = isinstance(part, Part85)
    decode = 32 * micro.depth // (8 * part.decoders) if isinstance(part, Part85) else 32 * micro.depth // 8
    eights = -(-source.depth // 8)
    if job.op == "pool":
        steps = 1
        cycles = max(4, taps) * units.elements * (1 if part.macs == 32 else job.bits // 2)
    elif job.op == "depthwise":
        steps = -(-taps // 4)
        cycles = max(decode, 4 * units.area * (job.bits // 8)) * steps * units.depth
    elif job.op == "convolution" and choice.part_kernel:
        steps = -(-taps // (2 if job.bits == 16 else 4))
        cycles = max(decode, 4 * units.area) * steps * units.depth * eights
    else:
        steps = taps
        work = source.depth // 8 * units.area if new else 4 * units.area
        cycles = max(decode, work) * steps * units.depth * (job.bits // 8 if new else 1)
    if new and job.sparse:
        cycles //= 2
    delay = _delay(part, job, units, steps)
    return cycles + delay * (eights if job.op == "convolution" and choice.part_kernel else 1)


def _delay(part: Part55 | Part85, job: Job, units: Shape, steps: int) -> int:
    """Cycles lost where a sum is needed again before it is there."""
    smallest = part.macs == 32
    cycles = (7 if job.wide else 3) if smallest else 3 if job.wide and part.macs <= 128 else 2
    lost = 0
    if units.area == 1:
        lost = cycles * steps if units.depth == 1 else cycles * (steps - 1) * units.depth
    if smallest and job.wide and units.depth > 1 and 1 in (units.width, units.height):
        lost += cycles * units.depth
    return lost


def output_cycles(part: Part55 | Part85, job: Job) -> float:
    """Cycles that each element of the result takes on its way out."""
    if isinstance(part, Part85):
        bits = {8: 0, 16: 1, 32: 2, 64: 3}[job.output_bits]
        return max(part.output_cycles[bits], part.table_cycles if job.table else 0.0)
    kind = 3 if job.wide else 6 if job.op == "pool" and job.maximum else 7
    return max(part.output_cycles[kind], part.table_cycles if job.table else 0.0)


def block_transfer(job: Job, choice: Choice, memory: Memory) -> tuple[int, int]:
    """Cycles to read the first block of the map and to write the last one of the result."""
    read = bursts(choice.input.within(job.input).elements, job.bits, choice.input.width, memory.burst)
    written = bursts(
        choice.output.within(job.output).elements, job.output_bits, choice.output.width, memory.burst
    )
    return memory.cycles(read, memory.read_latency), memory.cycles(written, memory.write_latency)


def bursts(elements: int, bits: int, width: int, burst: int) -> int:
    """Bytes that move for elements in bricks of 16 channels: rows of a block may be shorter than a burst."""
    return elements * bits // 8 * burst // min(burst, 2 * bits * width)
