"""Elementwise work on the Ethos-U: passes of the output stage, or operations chained behind one."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, gcd, prod
from typing import NamedTuple

from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import Memory, layer_cycles
from sim.cost.ethos.parts import BEAT, SCALES, WEIGHTS, Layer, Part55, Part85, Shape, part
from sim.cost.ethos.stages import Stage, stages_of
from sim.cost.geometry import by_nest, squarest
from sim.cost.reach import reaches
from sim.cost.work import Work
from sim.machine.arrays import Block
from sim.machine.machine import Machine
from tiling.expr import BYTES
from tiling.nest import Nest

CHANNELS = 16
"""Of the bricks that feature maps are stored in."""
CHAIN = 4
"""Operations that the U85 does in one go, results going on through a buffer."""


class Core(NamedTuple):
    """What costs look at: Arm's part, and the scratchpad that blocks are read from and written to."""

    hardware: Part55 | Part85
    memory: Memory
    direct: Memory
    """Where weights are used once, and biases with them: if they may be used where they are, it is there."""

    @staticmethod
    def of(array: Block, machine: Machine) -> Core:
        """The core of a machine; two of a U65 are one that is twice as fast."""
        pad, mode = machine.scratchpad, machine.memory
        figures = pad.bytes_per_cycle, pad.read_latency_cycles, pad.write_latency_cycles, pad.burst_bytes
        near = Memory(*figures, pad.read_latency_cycles)
        far = mode.direct and mode.weights == "offchip"
        direct = Memory(*figures, machine.offchip.read_latency_cycles) if far else near
        return Core(part(array.family, array.macs_per_cycle, machine.cores), near, direct)

    def bytes_under_way(self, scales: bool) -> float | None:
        """Bytes of weights, or of scales, that have a channel of their own; four of five beats are of use."""
        if isinstance(self.hardware, Part55):
            return None
        return 0.8 * self.hardware.outstanding[SCALES if scales else WEIGHTS] * BEAT


def work(core: Core, nest: Nest, tile: tuple[int, ...]) -> Work | None:
    """The cost of a tile of a `map` or a `move`; None for types that the hardware has not."""
    if not integer(nest):
        return None
    hardware, memory = core.hardware, core.memory
    stages = stages_of(nest).after
    cycles, counts = chains(hardware, memory, stages, tile, 0)
    cycles += transposed(hardware, memory, nest, tile)
    operations = sum(points(stage, tile) * stage.times for stage in stages)
    return Work(
        "vector",
        cycles,
        0,
        0,
        operations,
        tuple(reach.spread(tile, memory.burst) for reach in reaches(nest)),
        (("passes", counts),),
    )


@by_nest
def integer(nest: Nest) -> bool:
    """Whether all operands are integers."""
    return all(access.type[0] in "iu" or access.type == "bool" for access in nest.accesses)


def points(stage: Stage, tile: Sequence[int]) -> int:
    """Results of a stage."""
    return prod(tile[axis] for axis in stage.axes)


def chains(
    hardware: Part55 | Part85, memory: Memory, stages: Sequence[Stage], tile: Sequence[int], chained: int
) -> tuple[int, int]:
    """Cycles of stages one after the other, and passes; the first `chained` are another pass's."""
    if isinstance(hardware, Part55):
        return sum(_single(hardware, memory, stage, tile) for stage in stages), len(stages)
    total, count, place = 0, 0, chained
    while place < len(stages):
        length = chain_length(stages[place:], CHAIN)
        total += _chained(hardware, memory, stages[place : place + length], tile)
        place, count = place + length, count + 1
    return total, count


def chain_length(stages: Sequence[Stage], limit: int) -> int:
    """How many stages make one chain: over the same points, and without copies into other forms."""
    length = 0
    for stage in stages[:limit]:
        if length and (stage.axes != stages[0].axes or pooled(stage)):
            break
        length += 1
    return length


def _single(hardware: Part55, memory: Memory, stage: Stage, tile: Sequence[int]) -> int:
    """Cycles of one pass on its own."""
    if pooled(stage):
        return pool_cycles(hardware, memory, stage, tile)
    results = points(stage, tile)
    # Operands that are repeated are read for every result.
    moved = sum(BYTES[source.type] for source in stage.operands) + BYTES[stage.type]
    rate = max(stage_rate(hardware, stage), _per_cycle(memory, moved))
    return ceil(rate * results) * stage.times


def _chained(hardware: Part85, memory: Memory, stages: Sequence[Stage], tile: Sequence[int]) -> int:
    """Cycles of a chain: the output stage takes each operation in turn, only its ends touch memory."""
    results = points(stages[0], tile)
    if pooled(stages[0]):
        behind = sum(chain_rate(hardware, s, last=s is stages[-1]) * s.times for s in stages[1:])
        return pool_cycles(hardware, memory, stages[0], tile, behind)
    rate = sum(chain_rate(hardware, s, last=s is stages[-1]) * s.times for s in stages)
    moved = 0
    for stage in stages:
        moved += sum(_size(s.type, s.axes, tile) for s in stage.operands if s.read is not None)
    moved += _size(stages[-1].type, stages[-1].axes, tile)
    first = stages[0].operands
    moved += sum(_size(s.type, s.axes, tile) for s in first if s.stage is not None)
    return max(ceil(rate * results), ceil(_per_cycle(memory, moved)))


def pooled(stage: Stage) -> bool:
    """Whether a stage sends what it reads through a table and does nothing else."""
    return stage.kind == "copy" and stage.table and bool(stage.operands)


def pool_cycles(
    hardware: Part55 | Part85, memory: Memory, stage: Stage, tile: Sequence[int], behind: float = 0.0
) -> int:
    """Cycles of a pooling of single elements, which is how what the array leaves as it is goes through it.

    Nests do not know channels where these are one axis with columns: maps are taken to be square.
    """
    (source,) = stage.operands
    bits, results = 8 * BYTES[source.type], points(stage, tile)
    deep = gcd(results, CHANNELS)
    pairs = max(1, bits // 16)  # wider elements go as pairs of 16 bits
    shape = Shape(*squarest(results // deep), deep * pairs)
    layer = Layer("pool", shape, shape, bits=min(bits, 16), output_bits=8 * BYTES[stage.type])
    return layer_cycles(hardware, layer, chosen(hardware, layer), memory, behind).total * stage.times


def _size(type: str, axes: frozenset[int], tile: Sequence[int]) -> int:
    return BYTES[type] * prod(tile[axis] for axis in axes)


def _per_cycle(memory: Memory, amount: float) -> float:
    return 0.0 if memory.bytes_per_cycle is None else amount / memory.bytes_per_cycle


def stage_rate(hardware: Part55, stage: Stage) -> float:
    """Cycles an element of a pass on the U55 and U65."""
    rates, bits = hardware.output_cycles, 8 * BYTES[stage.type]
    wide = max((BYTES[source.type] for source in stage.operands), default=1) >= 4
    if stage.kind == "copy":
        # Copies are poolings of one element; to 32 bits they go as pairs of 16 bits.
        depth = hardware.microblock.elements * hardware.cores
        rate = 4 * (8 if bits >= 32 or wide else 4) / depth
    elif wide:
        binary = len(stage.operands) > 1 or stage.scalar
        rate = rates[1 if binary else 0]
    elif stage.kind == "multiply":
        rate = rates[2 if bits >= 32 else 3]
    else:
        rate = rates[5 if stage.kind == "add" else 7]
    return max(rate, hardware.table_cycles if stage.table else 0.0)


def chain_rate(hardware: Part85, stage: Stage, last: bool = True) -> float:
    """Cycles an element of an operation on the U85."""
    rates, bits = hardware.output_cycles, 8 * BYTES[stage.type]
    wide = stage.wide
    if not last and (bits == 32 or wide):
        rate = rates[4]
    elif bits >= 64:
        rate = rates[3]
    elif stage.kind != "copy" and wide and (len(stage.operands) > 1 or stage.scalar):
        rate = rates[5 if bits == 32 else 4]
    else:
        rate = rates[{8: 0, 16: 1, 32: 2}[bits]]
    return max(rate, hardware.table_cycles if stage.table else 0.0)


def transposed(hardware: Part55 | Part85, memory: Memory, nest: Nest, tile: Sequence[int]) -> int:
    """Cycles of passes that turn what is not written along channels; the U85 turns it on its way out."""
    if isinstance(hardware, Part85):
        return 0
    total = 0
    first = len(nest.reads)
    for reach in reaches(nest)[first : first + len(nest.writes)]:
        walking = [axis for axis in range(nest.outer) if tile[axis] > 1 and reach.steps[axis]]
        if walking and not reach.indirect and abs(reach.steps[walking[-1]]) != 1:
            # Each element is read once, and written in halves of what the memory takes at a time.
            total += ceil(_per_cycle(memory, 3 * reach.touched(tile)))
    return total
