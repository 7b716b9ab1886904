"""Elementwise work on the Ethos-U: passes of the output stage, or operations chained behind one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, gcd, prod
from typing import NamedTuple

from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import CHANNELS, Map, Maps, Memory, layer_cycles, read_run, written_run
from sim.cost.ethos.parts import BEAT, PLACES, Layer, Part55, Part85, Shape, part, up
from sim.cost.ethos.stages import NARROW, Stage, stages_of
from sim.cost.geometry import by_nest, squarest
from sim.cost.reach import reaches
from sim.cost.sites import NEAR, Site, Sites, Stream
from sim.cost.work import Command, Work
from sim.machine.arrays import Block
from sim.machine.machine import Machine
from tiling.expr import BYTES, Expr
from tiling.nest import Indirect, Nest

ENTRIES, WORDS = 256, 512
"""Entries of a table for 8 bits, and for 16 bits: values and slopes. Its memory takes a byte a cycle."""
PLAIN = 4
"""Bytes of results that are not kept in bricks of channels: sums and factors, which are read as rows."""
CHAIN = 4
"""Operations that the U85 does in one go, results going on through a buffer."""


class Core(NamedTuple):
    """What costs look at: Arm's part, and the scratchpad that blocks are read from and written to."""

    hardware: Part55 | Part85
    memory: Memory
    far: Memory
    """The off-chip memory."""
    between: Memory
    """Level 2; the off-chip memory where there is none."""
    constants: tuple[float | None, int]
    """Bytes a cycle and latency of the memory that tables are in."""
    home: Memory
    """The memory in which maps live, where Vela sees them when it says what transfers a command hides."""
    written: float
    """Bytes of results under way to the off-chip memory, of which four of five are of use."""

    @staticmethod
    def of(array: Block, machine: Machine) -> Core:
        """The core of a machine; two of a U65 are one that is twice as fast."""
        pad, mode = machine.scratchpad, machine.memory
        figures = pad.bytes_per_cycle, pad.read_latency_cycles, pad.write_latency_cycles, pad.burst_bytes
        off, rate = machine.offchip, machine.offchip_bytes_per_cycle
        far = Memory(rate, off.read_latency_cycles, off.write_latency_cycles, off.burst_bytes)
        between = far if machine.beside_level2 is None else Core.of(array, machine.beside_level2).far
        there = rate, off.read_latency_cycles
        constants = there if mode.constants == "offchip" else (pad.bytes_per_cycle, pad.read_latency_cycles)
        hardware = part(array.family, array.macs_per_cycle, machine.cores)
        near = Memory(*figures)
        home = near if mode.activations == "scratchpad" else far
        writes = float("inf") if off.outstanding_writes is None else off.outstanding_writes * off.ports
        return Core(hardware, near, far, between, constants, home, 0.64 * writes * off.burst_bytes)

    def at(self, site: Site) -> Map:
        """A feature map that is there."""
        match site.place:
            case "scratchpad":
                return Map(self.memory, site.plain)
            case "level2":
                return Map(self.between, site.plain)
        return Map(self.far, site.plain)

    def bytes_under_way(self, stream: Stream) -> float | None:
        """Bytes of a stream that has a channel of its own; four of five beats, or requests, are of use."""
        if isinstance(self.hardware, Part55):
            return None
        if stream == "results":
            return self.written
        return 0.8 * self.hardware.outstanding[PLACES[stream]] * BEAT


def work(core: Core, nest: Nest, tile: tuple[int, ...], sites: Sites = ()) -> Work | None:
    """The cost of a tile of a `map` or a `move`; None for types that the hardware has not."""
    if not integer(nest):
        return None
    hardware, memory = core.hardware, core.memory
    stages, sites = stages_of(nest).after, where(nest, sites)
    passes = chains(core, stages, tile, sites=passed(nest, sites))
    turned = transposed(hardware, memory, nest, tile)
    cycles = sum(one.cycles for one in passes) + turned
    operations = sum(points(stage, tile) * stage.times for stage in stages)
    return Work(
        "vector",
        cycles,
        0,
        0,
        operations,
        tuple(
            0 if number in commanded(nest) else _moved(core, nest, number, tile, site)
            for number, site in enumerate(sites[: len(nest.accesses)])
        ),
        (("passes", len(passes)),),
        table_cycles(core, stages[0]) if stages else 0,
        passes[-1].hides if passes else 0,
        pays_latencies=True,
        commands=commands(nest, turned, (), None, passes),
    )


def _moved(core: Core, nest: Nest, number: int, tile: tuple[int, ...], site: Site) -> int:
    """Bytes that move for an access: results in rows have runs of a brick, however few channels there are."""
    reach, burst = reaches(nest)[number], core.at(site).memory.burst
    moved = reach.spread(tile, burst)
    if number < len(nest.reads) or not site.plain:
        return moved
    brick = min(burst, CHANNELS * reach.element)
    return min(moved, reach.touched(tile) * burst // brick)


def where(nest: Nest, sites: Sites) -> Sites:
    """Where operands are; if nothing is said, in the scratchpad."""
    return sites or (NEAR,) * len(nest.accesses)


def passed(nest: Nest, sites: Sites) -> Sites:
    """Where passes find what they go over: tables, which they look up, have a memory of their own."""
    looked_up = tables(nest)
    return tuple(NEAR if number in looked_up else site for number, site in enumerate(sites))


@by_nest
def integer(nest: Nest) -> bool:
    """Whether all operands are integers; numbers that only tables are made of need not be."""
    floats = [access for access in nest.accesses if access.type[0] not in "iu" and access.type != "bool"]
    if any(access.bytes > BYTES[access.type] for access in floats):
        return False
    if not floats:
        return True
    stages = stages_of(nest)
    made = [*stages.before, *stages.after]
    types = [stage.type for stage in made] + [one.type for stage in made for one in stage.operands]
    return all(type[0] in "iu" or type == "bool" for type in types)


def points(stage: Stage, tile: Sequence[int]) -> int:
    """Results of a stage."""
    return prod(tile[axis] for axis in stage.axes)


def stored(stage: Stage, tile: Sequence[int], plain: bool = False) -> int:
    """Results of a pass with those that fill up the last brick of channels, if they are kept in bricks."""
    if plain:
        return points(stage, tile)
    inner = max(stage.axes, default=None)
    return prod(up(tile[axis], CHANNELS) if axis == inner else tile[axis] for axis in stage.axes)


@by_nest
def tables(nest: Nest) -> frozenset[int]:
    """Reads that look up values of tables, which have a memory of their own."""
    return frozenset(
        number
        for number, access in enumerate(nest.reads)
        for index in access.index
        if isinstance(index, Indirect) and _looks_up(index.value)
    )


@by_nest
def commanded(nest: Nest) -> frozenset[int]:
    """Reads that come with the command: single numbers, and tables, which are loaded ahead of it."""
    single = (number for number, reach in enumerate(reaches(nest)) if reach.bytes == reach.element)
    return tables(nest) | {number for number in single if number < len(nest.reads)}


def _looks_up(place: Expr) -> bool:
    """Whether a place is a narrow value's, or the one next to it."""
    parts = [place, *place.operands]
    return any(part.scalar.family == "index" for part in parts)


def table_cycles(core: Core, stage: Stage) -> int:
    """Cycles until the table of a pass is loaded; with the results of an array, it comes along with them.

    The U55 and U65 compute functions of 16 bits themselves.
    """
    if not pooled(stage):
        return 0
    wide = BYTES[stage.operands[0].type] > 1
    if wide and isinstance(core.hardware, Part55):
        return 0
    size = WORDS * 4 if wide else ENTRIES * BYTES[stage.type]
    rate, latency = core.constants
    return max(size, latency + (0 if rate is None else int(size / rate)))


class Pass(NamedTuple):
    """A pass over the points of some stages, with the reads that are their operands."""

    cycles: int
    reads: frozenset[int]
    hides: int
    """Cycles in which a table of the next pass comes."""


def chains(
    core: Core,
    stages: Sequence[Stage],
    tile: Sequence[int],
    chained: int = 0,
    before: int | None = None,
    map: Shape | None = None,
    plain: bool = False,
    sites: Sites = (),
) -> list[Pass]:
    """The passes of stages one after the other; `chained` are another pass's.

    A table is loaded while the pass in front works, which hides `before` of it; None: that is another nest's.
    `map` is what they go over, if that is known; `plain` are results that are not in bricks. `sites` are
    those of the nest's accesses, the result's last; if nothing is said, all is in the scratchpad, in bricks.
    """
    made = list[Pass]()
    last = stages[-1] if stages else None
    for some in runs(core.hardware, stages[chained:]):
        waiting = 0 if before is None else max(table_cycles(core, some[0]) - before, 0)
        read = next((one.read for one in some[0].operands), None)
        result = sites[-1] if sites and some[-1] is last else NEAR
        ends = core.at(NEAR if read is None or not sites else sites[read]).memory, core.at(result).memory
        rows = plain or result.plain
        cycles = before = _pass(core.hardware, core.memory, ends, some, tile, map, rows)
        if core.home is not core.memory:
            before = _pass(core.hardware, core.memory, (core.home, core.home), some, tile, map, rows)
        reads = frozenset(one.read for stage in some for one in stage.operands if one.read is not None)
        made.append(Pass(waiting + cycles, reads, before))
    return made


def runs(hardware: Part55 | Part85, stages: Sequence[Stage]) -> Iterator[Sequence[Stage]]:
    """The stages of each pass."""
    place = 0
    while place < len(stages):
        length = 1 if isinstance(hardware, Part55) else chain_length(stages[place:], CHAIN)
        yield stages[place : place + length]
        place += length


def _pass(
    hardware: Part55 | Part85,
    memory: Memory,
    ends: tuple[Memory, Memory],
    stages: Sequence[Stage],
    tile: Sequence[int],
    map: Shape | None,
    plain: bool,
) -> int:
    """Cycles of a pass; poolings pay the latencies of where they read from and write to."""
    if copied(stages[0]):
        behind = chained_rate(hardware, stages[1:])
        return pool_cycles(hardware, ends, stages[0], tile, behind, map)
    if isinstance(hardware, Part85):
        return _chained(hardware, memory, stages, tile, plain)
    if stages[0].grid:
        return _interpolated(hardware, memory, stages[0], tile)
    return _single(hardware, memory, stages[0], tile, plain)


def commands(
    nest: Nest, turned: int, before: Sequence[Pass], primary: int | None, after: Sequence[Pass]
) -> tuple[Command, ...]:
    """Passes and the work between them as commands: what no other reads is for the longest one."""
    found = [*before, *(() if primary is None else (Pass(primary, frozenset(), 0),)), *after]
    if len(found) < 2:
        return ()
    main = len(before) if primary is not None else max(range(len(found)), key=lambda n: found[n].cycles)
    mine, taken = list[set[int]](), set[int]()
    for one in found:
        mine.append(set(one.reads) - taken)
        taken |= one.reads
    reads = len(nest.reads)
    mine[main] |= set(range(reads)) - taken
    mine[-1] |= set(range(reads, reads + len(nest.writes)))
    waiting = [one.cycles for one in found]
    waiting[-1] += turned
    return tuple(Command(cycles, frozenset(some)) for cycles, some in zip(waiting, mine, strict=True))


def chain_length(stages: Sequence[Stage], limit: int) -> int:
    """How many stages make one chain: over the same points, and without copies into other forms."""
    length = 0
    for stage in stages[:limit]:
        if length and (stage.axes != stages[0].axes or copied(stage)):
            break
        length += 1
    return length


def _interpolated(hardware: Part55, memory: Memory, stage: Stage, tile: Sequence[int]) -> int:
    """Cycles of a bilinear resize: a depthwise convolution of 2 × 2 for each place between elements.

    Each goes over all rows and columns between its first and last, of which it writes some.
    """
    (y, down), (x, right) = stage.grid
    high, wide, deep = tile[y], tile[x], points(stage, tile) // (tile[y] * tile[x])
    output = Shape(max(1, high - down + 1), max(1, wide - right + 1), deep)
    source = Shape(-(-high // down) + 1, -(-wide // right) + 1, deep)
    bits, made = (8 * BYTES[type] for type in (stage.operands[0].type, stage.type))
    layer = Layer("depthwise", output, source, kernel=(2, 2), bits=bits, output_bits=made)
    choice, map = chosen(hardware, layer), Map(memory, plain=True)
    blocks = output.over(choice.output.within(output)).area
    read = choice.input.within(source).area * deep * blocks * bits // 8
    moved = map.moved(read, read_run(layer, choice, plain=True))
    moved += map.moved(output.elements * made // 8, written_run(hardware, layer, choice, plain=True))
    cycles = layer_cycles(hardware, layer, choice, Maps(map, map, memory.read_latency)).total
    return down * right * max(cycles, ceil(_per_cycle(memory, moved)))


def _single(hardware: Part55, memory: Memory, stage: Stage, tile: Sequence[int], plain: bool) -> int:
    """Cycles of one pass on its own."""
    results = stored(stage, tile, plain or BYTES[stage.type] >= PLAIN)
    # Operands that are repeated are read for every result.
    moved = sum(BYTES[source.type] for source in stage.operands) + BYTES[stage.type]
    rate = max(stage_rate(hardware, stage), _per_cycle(memory, moved))
    return ceil(rate * results) * stage.times


def _chained(
    hardware: Part85, memory: Memory, stages: Sequence[Stage], tile: Sequence[int], plain: bool
) -> int:
    """Cycles of a chain: the output stage takes each operation in turn, only its ends touch memory."""
    results = stored(stages[0], tile, plain or BYTES[stages[-1].type] >= PLAIN)
    rate = chained_rate(hardware, stages)
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


def copied(stage: Stage) -> bool:
    """Whether a stage is a pooling: a copy of narrow numbers, a new scale for them, or a table."""
    narrow = all(type in NARROW for type in (stage.type, *(source.type for source in stage.operands)))
    return pooled(stage) or (stage.kind == "copy" and bool(stage.operands) and narrow)


def pool_cycles(
    hardware: Part55 | Part85,
    ends: tuple[Memory, Memory],
    stage: Stage,
    tile: Sequence[int],
    behind: float = 0.0,
    map: Shape | None = None,
) -> int:
    """Cycles of a pooling of single elements, which is how what the array leaves as it is goes through it."""
    layer = pool_layer(stage, tile, map)
    source, result = ends
    maps = Maps(Map(source), Map(result), source.read_latency)
    return layer_cycles(hardware, layer, chosen(hardware, layer), maps, behind).total * stage.times


def pool_layer(stage: Stage, tile: Sequence[int], map: Shape | None = None) -> Layer:
    """Such a pooling.

    Nests do not know channels where these are one axis with columns: such maps are taken to be square.
    """
    (source,) = stage.operands
    bits, results = 8 * BYTES[source.type], points(stage, tile)
    flat = map is not None and map.depth == 1 and stage.table
    if map is None or map.elements != results or flat:
        deep = _channels(stage, tile) or gcd(results, CHANNELS)
        map = Shape(*squarest(results // deep), deep)
    pairs = max(1, bits // 16)  # wider elements go as pairs of 16 bits
    shape = map._replace(depth=map.depth * pairs)
    return Layer("pool", shape, shape, bits=min(bits, 16), output_bits=8 * BYTES[stage.type])


def _channels(stage: Stage, tile: Sequence[int]) -> int | None:
    """Channels of a map whose positions do not follow each other, so that they are an axis of their own."""
    extents = [tile[axis] for axis in sorted(stage.axes) if tile[axis] > 1]
    return extents[-1] if len(extents) > 1 else None


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


def chained_rate(hardware: Part55 | Part85, stages: Sequence[Stage]) -> float:
    """Cycles an element of operations in a chain; the U55 and U65 have none."""
    if isinstance(hardware, Part55):
        return 0.0
    # The U85 has an operation for bilinear means.
    times = [1 if stage.kind == "resize" else stage.times for stage in stages]
    rates = [chain_rate(hardware, stage, last=stage is stages[-1]) for stage in stages]
    return sum(rate * count for rate, count in zip(rates, times, strict=True))


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
