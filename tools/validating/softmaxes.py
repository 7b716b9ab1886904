"""What a softmax of Vela's waits for on the U85: maps of 32 bits that our groups do not have in the DRAM.

Its operations look for the inverse of a sum in three steps, on maps that it numbers, and that may live there.
What an operation reads of them comes over the channel of streamed maps, whose rate bounds it; of what is
written, nothing is counted in a chain. Our model of the machine times both the work and the reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from sim.cost.ethos.cycles import CHANNELS
from sim.cost.ethos.parts import Part85, up
from sim.cost.ethos.passes import Core
from sim.cost.transfer import port_rate
from sim.machine.machine import Machine
from validating.charges import STREAMED, rate
from validating.lowered import KINDS, passes, stage
from validating.schedules import MEMORY, Operation

NUMBERED = re.compile(r"(.*)_softmax_(\d+)$")
STORED = re.compile(r"^ *\d+ - +\d+: .*: (\w+) +: (?:.*;)?([^;]+)$")
EXPONENTIALS, HALF, FIRST, LAST = 2, 8, 10, 25
"""Numbers of maps: of exponentials; of half the sum; of the first guess and the last."""
STEP = 5
"""Maps of a step: a product with half the sum, its complement, the correction, scaled, and the next guess."""


class Stored(NamedTuple):
    """Where a map is, and whether it is in bricks of channels."""

    far: bool
    bricks: bool


def softmaxes(found: Sequence[Operation], log: str, core: Core, machine: Machine) -> int:
    """Cycles that operations of softmaxes wait for what they read."""
    if not isinstance(core.hardware, Part85):
        return 0
    known, total = stored(log), 0
    for one in found:
        if one.source == "Softmax" and one.kind in KINDS and one.made and NUMBERED.match(one.made[-1]):
            total += waits(one, known, core) + repeated(one, known, core, machine)
    return total


def stored(log: str) -> dict[str, Stored]:
    """Each map by the last of its names."""
    known, memory = dict[str, Stored](), ""
    for line in log.splitlines():
        if match := MEMORY.match(line):
            memory = match[1]
        elif line.startswith("Tensor Allocation"):
            memory = ""
        elif memory and (match := STORED.match(line)):
            known[match[2].strip()] = Stored(memory != "Sram", match[1] != "NHWC")
    return known


def waits(one: Operation, known: Mapping[str, Stored], core: Core) -> int:
    """Cycles of reads of maps of 32 bits in DRAM, beyond the work."""
    numbers = [int(match[2]) for name in one.made if (match := NUMBERED.match(name))]
    base = one.made[-1].rpartition("_")[0]
    read = [operand for number in numbers for operand in operands(number) if operand not in numbers]
    far = [operand for operand in read if (place := known.get(f"{base}_{operand}")) and place.far]
    work = passes(core, [stage(KINDS[one.kind], "i32", "i32")] * (1 + one.behind), one)
    return max(0, int(len(far) * 4 * prod(one.shape) / rate(core, STREAMED)) - work)


def operands(number: int) -> tuple[int, ...]:
    """The maps that the one of such a number is made of, as far as they are for the inverse."""
    if not HALF < number <= LAST:
        return ()
    if number <= FIRST:
        return (number - 1,)
    step, place = divmod(number - FIRST - 1, STEP)
    guess = FIRST + STEP * step
    return ((guess, HALF), (number - 1,), (number - 1, guess), (number - 1,), (guess, number - 1))[place]


def repeated(one: Operation, known: Mapping[str, Stored], core: Core, machine: Machine) -> int:
    """Cycles beyond the work of a difference with the largest values, each for several channels.

    Where the other map is in bricks, Vela counts as many channels of these, in bursts of their own.
    """
    match, near = NUMBERED.match(one.made[-1]), port_rate(machine)
    if match is None or int(match[2]) != EXPONENTIALS or not one.block or near is None:
        return 0
    if not known.get(match[1], Stored(False, False)).bricks:
        return 0
    positions = prod(one.shape[:-1])
    size = positions * up(one.shape[-1], CHANNELS)
    burst = core.memory.burst
    moved = size + positions * CHANNELS * burst // min(burst, one.block[-1])
    return max(0, int(moved / near) - passes(core, [stage(KINDS[one.kind], "i8", "i32")], one))
