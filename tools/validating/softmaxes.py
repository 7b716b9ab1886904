"""What softmaxes of Vela's take beside ours: maps of 32 bits are in bricks of channels, or in the DRAM (U85).

Its operations look for the inverse of a sum in three steps, on maps that it numbers. One that is in bricks
has all their channels, 16 for a single one, where ours are rows. What an operation of the U85 reads in DRAM
comes over the channel of streamed maps, whose rate bounds it; of what is written, nothing is counted in a
chain. Our model of the machine times both the work and the reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from sim.cost.ethos.cycles import CHANNELS
from sim.cost.ethos.parts import Part85, up
from sim.cost.ethos.passes import Core
from sim.cost.ethos.stages import Source, Stage, StageKind
from sim.cost.transfer import port_rate
from sim.machine.machine import Machine
from validating.charges import STREAMED, rate
from validating.lowered import AXES, KINDS, passes
from validating.schedules import MEMORY, Operation

NUMBERED = re.compile(r"(.*)_softmax_(\d+)$")
STORED = re.compile(r"^ *\d+ - +\d+: .*: (\w+) +: (?:.*;)?([^;]+)$")
EXPONENTIALS, HALF, FIRST, LAST, PRODUCTS = 2, 8, 10, 25, 26
"""Numbers of maps: of exponentials; of half the sum; of the first guess and the last; of what they scale."""
ALL: Mapping[str, StageKind] = {**KINDS, "CLZ": "other", "SHL": "other"}
"""Kinds of operations on these, as stages."""
LEADING = 5
"""That of leading zeros, which are counted of one map alone."""
STEP = 5
"""Maps of a step: a product with half the sum, its complement, the correction, scaled, and the next guess."""
PAIRS = frozenset({EXPONENTIALS, HALF, PRODUCTS})
"""Maps that are made of two others, beside those of steps."""


class Stored(NamedTuple):
    """Where a map is, and whether it is in bricks of channels."""

    far: bool
    bricks: bool


def softmaxes(found: Sequence[Operation], log: str, core: Core, machine: Machine) -> int:
    """Cycles of what fills up bricks, and that operations wait for what they read."""
    known, total = stored(log), 0
    for one in found:
        if one.source == "Softmax" and one.kind in ALL and one.made and NUMBERED.match(one.made[-1]):
            total += filled(one, known, core)
            if isinstance(core.hardware, Part85):
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


def filled(one: Operation, known: Mapping[str, Stored], core: Core) -> int:
    """Cycles of the channels that fill up bricks of 32 bits."""
    return work(one, core, bricks(one, known)) - work(one, core)


def bricks(one: Operation, known: Mapping[str, Stored]) -> bool:
    """Whether what an operation makes last is in bricks."""
    return (place := known.get(one.made[-1])) is not None and place.bricks


def work(one: Operation, core: Core, bricks: bool = False) -> int:
    """Cycles of the operation and of those behind it, from where they are in memory."""
    numbers = [int(match[2]) for name in one.made if (match := NUMBERED.match(name))]
    read = "i8" if EXPONENTIALS in numbers else "i32"
    made = [
        Stage(
            ALL.get(kind, "other"),
            (Source(None, None, AXES, read),) * (2 if (pair := paired(number)) else 1),
            AXES,
            "i32",
            table="LUT" in one.along,
            scalar=not pair and number != LEADING,
        )
        for kind, number in zip((one.kind, *one.along), dict.fromkeys(numbers), strict=False)
    ]
    return passes(core, made, one, bricks)


def paired(number: int) -> bool:
    """Whether a map is made of two others."""
    return number in PAIRS or len(operands(number)) == 2


def waits(one: Operation, known: Mapping[str, Stored], core: Core) -> int:
    """Cycles of reads of maps of 32 bits in DRAM, beyond the work."""
    numbers = [int(match[2]) for name in one.made if (match := NUMBERED.match(name))]
    base = one.made[-1].rpartition("_")[0]
    read = [operand for number in numbers for operand in operands(number) if operand not in numbers]
    far = [operand for operand in read if (place := known.get(f"{base}_{operand}")) and place.far]
    return max(
        0,
        int(len(far) * 4 * prod(one.shape) / rate(core, STREAMED)) - work(one, core, bricks(one, known)),
    )


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
    return max(0, int(moved / near) - work(one, core, bricks(one, known)))
