"""What softmaxes of Vela's take beside ours: maps of 32 bits are in bricks of channels, or in the DRAM.

Its operations look for the inverse of a sum in three steps, on maps that it numbers. One that is in bricks
has all their channels, 16 for a single one, where ours are rows. What an operation of the U85 reads in DRAM
comes over the channel of streamed maps, whose rate bounds it; reads and writes of the U55 and U65 share one
rate. Sums may be written to DRAM block by block, and so is, as Vela counts, the last product, although that
only goes on in a chain (U85). Our model of the machine times work, reads and writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, prod
from typing import NamedTuple

from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import CHANNELS, Map, Maps, layer_cycles
from sim.cost.ethos.parts import Layer, Part55, Part85, Shape, up
from sim.cost.ethos.passes import Core
from sim.cost.ethos.stages import Source, Stage, StageKind
from sim.cost.transfer import port_rate
from sim.machine.machine import Machine
from validating.charges import STREAMED, rate
from validating.lowered import AXES, KINDS, passes, stage
from validating.schedules import MEMORY, Operation

NUMBERED = re.compile(r"(.*)_softmax_(\d+)$")
STORED = re.compile(r"^ *\d+ - +\d+: .*: (\w+) +: (?:.*;)?([^;]+)$")
EXPONENTIALS, SUM, ZEROS, SHIFT, HALF, FIRST, LAST, PRODUCTS = 2, 4, 5, 7, 8, 10, 25, 26
"""Numbers of maps: of exponentials; of their sum, its leading zeros, and how far it is shifted to be what is
called its half; of the first guess and the last; of what they scale."""
BEFORE = {ZEROS: (SUM,), SHIFT: (ZEROS,), HALF: (SUM, SHIFT), FIRST - 1: (HALF,), FIRST: (FIRST - 1,)}
"""What maps up to the first guess are made of."""
ALL: Mapping[str, StageKind] = {**KINDS, "CLZ": "other", "SHL": "other"}
"""Kinds of operations on these, as stages."""
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
        if one.source != "Softmax" or not one.made:
            continue
        if one.kind in ALL and NUMBERED.match(one.made[-1]):
            total += filled(one, known, core) + waits(one, known, core)
            if isinstance(core.hardware, Part85):
                total += repeated(one, known, core, machine)
        elif one.kind == "ReduceSum":
            total += summed(one, known, core)
        elif one.along and one.kind in ALL:
            total += issued(one, core)
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
            scalar=not pair and number != ZEROS,
        )
        for kind, number in zip((one.kind, *one.along), dict.fromkeys(numbers), strict=False)
    ]
    return passes(core, made, one, bricks)


def paired(number: int) -> bool:
    """Whether a map is made of two others."""
    return number in PAIRS or len(operands(number)) == 2


def waits(one: Operation, known: Mapping[str, Stored], core: Core) -> int:
    """Cycles of maps of 32 bits in DRAM beyond the work."""
    numbers = [int(match[2]) for name in one.made if (match := NUMBERED.match(name))]
    base = one.made[-1].rpartition("_")[0]
    moved = [operand for number in numbers for operand in operands(number) if operand not in numbers]
    if isinstance(core.hardware, Part55):  # of a difference from a number, Vela counts what is written
        moved = [*(moved if one.kind != "Sub" else ()), *numbers[-1:]]
    size, far = 4 * prod(one.shape), Map(core.far)
    places = [known[name] for number in moved if (name := f"{base}_{number}") in known]
    runs = [core.far.burst if place.bricks else 4 * one.block[-1] for place in places if place.far]
    taken = int(sum(far.moved(size, run) for run in runs) / rate(core, STREAMED))
    return max(0, taken - work(one, core, bricks(one, known)))


def operands(number: int) -> tuple[int, ...]:
    """The maps that the one of such a number is made of, as far as they are for the inverse."""
    if number in BEFORE:
        return BEFORE[number]
    if not FIRST < number <= LAST:
        return ()
    step, place = divmod(number - FIRST - 1, STEP)
    guess = FIRST + STEP * step
    return ((guess, HALF), (number - 1,), (number - 1, guess), (number - 1,), (guess, number - 1))[place]


def summed(one: Operation, known: Mapping[str, Stored], core: Core) -> int:
    """Cycles of sums that are written to DRAM, beyond those of sums that stay in the SRAM."""
    if not one.block or not known.get(one.made[-1], Stored(False, False)).far:
        return 0
    output, source = Shape(*one.shape[-3:]), Shape(*one.read[-3:])
    layer = Layer("sum", output, source, bits=32, output_bits=32)
    choice = replace(chosen(core.hardware, layer), output=Shape(*one.block[-3:]))
    near = Map(core.memory, plain=True)
    far, own = (
        layer_cycles(core.hardware, layer, choice, Maps(near, place, core.memory.read_latency)).total
        for place in (Map(core.home, plain=True), near)
    )
    return far - own


def issued(one: Operation, core: Core) -> int:
    """Cycles that the last product waits for commands, as if its blocks of 32 bits went where maps live."""
    work = passes(core, [stage("multiply", "i32", "i32"), stage("other", "i32", "i8")], one, bricks=True)
    *positions, deep = one.shape
    block = Shape(*one.block[-3:]).within(Shape(*one.shape[-3:]))
    written = core.home.cycles(4 * block.elements, core.home.write_latency)
    blocks = prod(positions) * up(deep, CHANNELS) / prod(one.block)
    return max(0, ceil((written * blocks + work) / 4) - work)


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
