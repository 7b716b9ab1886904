"""The event simulator once more, as plainly as it can be said: every command in order, nothing folded.

Written from the rules alone: which command is issued when, what it waits for, and how long it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from sim.cost.ethos.stages import scales
from sim.cost.sites import STREAMS, Stream, sites_of
from sim.cost.ticks import TICKS, cycles_in, ticks_of
from sim.cost.transfer import Transfers, far_rate, port_rate, scratchpad_rate
from sim.machine.machine import Machine
from tests.planning.tiles import Box, operand_box, tiles
from tests.sim.programs import SimpleCosts
from tiling.choose import weights_of
from tiling.expr import BYTES
from tiling.nest import Access
from tiling.program import Image, Operand, Program, Section

Span = tuple[int, int]


@dataclass
class Use:
    """A box in the scratchpad, or an operand there: until when it is needed, and when it is whole."""

    span: Span
    used: int = 0
    written: int = 0


@dataclass
class Tile:
    """A tile of a section, with the boxes that it uses."""

    section: Section
    number: int
    box: Box
    uses: dict[int, Use] = field(default_factory=dict)
    end: int = 0


class Follower:
    """Follows a program."""

    def __init__(self, program: Program, machine: Machine, costs: SimpleCosts) -> None:
        self.program, self.machine, self.costs = program, machine, costs
        self.behind = {"offchip": machine, "level2": in_place_of_offchip(machine)}
        self.dma = {home: Transfers(one) for home, one in self.behind.items()}
        launch = TICKS * machine.launch_overhead_cycles
        self.free = {unit: launch for unit in ("array", "vector", "reduction", "load", "store")}
        self.far = dict.fromkeys(self.behind, launch)
        self.pad = launch
        self.issued = launch
        self.front = launch
        self.uses: list[Use] = []
        self.operands: dict[str, int] = {}
        self.buffers: dict[tuple[int, int, int], Use] = {}

    def cycles(self) -> int:
        """When everything is done."""
        if not self.program.sections:
            return 0
        pending: Tile | None = None
        for position, section in enumerate(self.program.sections):
            if pending is None:
                self.first_loads(position, section, None, tile := Tile(section, 0, first_box(section)))
            else:
                self.first_loads(position, section, pending, tile := Tile(section, 0, first_box(section)))
            pending = self.rest(position, section, tile)
        assert pending is not None
        self.compute(pending)
        self.stores(pending, lambda image: True)
        return cycles_in(max(self.front, self.free["load"], self.free["store"]))

    def first_loads(self, position: int, section: Section, last: Tile | None, tile: Tile) -> None:
        """Loads that have nothing to do with the pending tile, those beside it, those behind its stores."""
        self.position = position
        loads = [n for n, image in enumerate(section.images[: reads(section)]) if image is not None]
        floors = self.floor(last)
        held = {n: 0 for n in loads}
        if last is not None:
            for n in loads:
                image = section.images[n]
                assert image is not None
                span = (image.address, image.address + image.bytes)
                if any(clash(span, other) for other in used(last.section, self.program)):
                    held[n] = 1
                if section.nest.reads[n].operand in {
                    w.access.operand for w in last.section.nest.writes
                } or any(clash(span, other) for other in copies_of(last.section, stores_only=True)):
                    held[n] = 2
        for stage in range(3):
            for n in loads:
                if held[n] == stage:
                    self.load(position, tile, n, 0, self.floor(last))
            if last is not None and stage == 0:
                self.compute(last)
            elif last is not None and stage == 1:
                self.stores(last, lambda image: True)
        del floors
        tile.uses |= {n: self.buffers[position, n, 0] for n in loads}
        self.attach(position, tile)

    def rest(self, position: int, section: Section, pending: Tile) -> Tile:
        """All further tiles; the last one is pending then."""
        every = list(tiles(section))
        for number, (counts, box) in list(enumerate(every))[1:]:
            before = every[number - 1][0]
            depth = next(d for d, (a, b) in enumerate(zip(before, counts, strict=True)) if a != b)
            tile = Tile(section, number, box, dict(pending.uses))
            moved = [
                n for n, image in enumerate(section.images[: reads(section)])
                if image is not None and image.level > depth
            ]  # fmt: skip
            for several in (True, False):
                for n in moved:
                    image = section.images[n]
                    assert image is not None
                    if (image.copies > 1) == several:
                        turn = number_of_load(section, image, number) % image.copies
                        self.load(position, tile, n, turn, self.floor(pending))
                        tile.uses[n] = self.buffers[position, n, turn]
                if several:
                    self.compute(pending)
            self.stores(pending, lambda image, depth=depth: image.level > depth)
            self.attach(position, tile)
            pending = tile
        return pending

    def attach(self, position: int, tile: Tile) -> None:
        """The buffers of results that a tile writes."""
        section = tile.section
        for n in range(reads(section), len(section.images)):
            image = section.images[n]
            if image is not None:
                turn = number_of_load(section, image, tile.number) % image.copies
                tile.uses[n] = self.buffer(position, n, turn, image)

    def buffer(self, position: int, n: int, turn: int, image: Image) -> Use:
        """A copy of a buffer; what was there before is remembered as its first use."""
        key = (position, n, turn)
        if key not in self.buffers:
            start = image.address + turn * image.pitch
            span = (start, start + image.bytes)
            old = max((use.used for use in self.uses if clash(use.span, span)), default=0)
            self.buffers[key] = Use(span, old, old)
            self.uses.append(self.buffers[key])
        return self.buffers[key]

    def load(self, position: int, tile: Tile, n: int, turn: int, floor: int) -> None:
        section = tile.section
        image, access = section.images[n], section.nest.accesses[n]
        assert image is not None
        use = self.buffer(position, n, turn, image)
        start = max(self.free["load"], use.used, self.operands.get(access.operand, 0))
        end = self.transfer(start, access, image, tile.box, section, write=False, floor=floor)
        self.free["load"] = use.used = use.written = end

    def compute(self, tile: Tile) -> None:
        section, nest = tile.section, tile.section.nest
        operands = [self.program.operands[access.operand] for access in nest.accesses]
        copied = [image is not None for image in section.images]
        sites = sites_of(operands[: reads(section) + len(nest.writes)], copied)
        work = self.costs.work(nest, tuple(end - first for first, end in tile.box), sites)
        latency = 0 if work.pays_latencies else 1
        unit = "load" if work.unit == "dma" else work.unit
        start = max(self.free[unit], self.issued, *(use.written for use in tile.uses.values()))
        if tile.number == 0:
            start = max(start, self.depends(section))
        near = widest = 0
        far = dict.fromkeys(self.behind, 0)
        streams = {home: dict.fromkeys(STREAMS, 0) for home in self.behind}
        for n, size in enumerate(work.traffic):
            operand = self.program.operands[nest.accesses[n].operand]
            size = stored(size, operand)
            if section.images[n] is None and operand.place != "scratchpad":
                there, written = streams[operand.place], n >= len(nest.reads)
                factor = n in weights_of(nest, self.program.operands)
                read: Stream = "scales" if n in scales(nest) else "weights" if factor else "maps"
                stream: Stream = "results" if written else read
                far[operand.place] += size
                there[stream] = size + there[stream] if stream == "scales" else max(there[stream], size)
            else:
                near, widest = near + size, max(widest, size)
        end = start + TICKS * work.cycles
        floor = min(self.free["load"], self.free[unit])
        for home in [one for one in far if far[one]]:
            machine = self.behind[home]
            waits = 0 if work.pays_latencies and home == "offchip" else 1
            rates = (far_rate(machine, stream) for stream in streams[home])
            time = self.time(far[home], self.dma[home].rate)
            one = max(map(self.time, streams[home].values(), rates))
            end = max(end, start + max(time, one) + waits * TICKS * machine.offchip.read_latency_cycles)
            if time:
                self.far[home] = max(self.far[home], floor) + time
                end = max(end, self.far[home])
        if near:
            time, one = (
                self.time(near, scratchpad_rate(self.machine)),
                self.time(widest, port_rate(self.machine)),
            )
            pad_latency = latency * TICKS * self.machine.scratchpad.read_latency_cycles
            end = max(end, start + max(time, one) + pad_latency)
            if time:
                self.pad = max(self.pad, floor) + time
                end = max(end, self.pad)
        self.free[unit] = tile.end = end
        self.issued, self.front = start, max(self.front, end)
        for n, use in tile.uses.items():
            if n < reads(section):
                use.used = end
        self.leave(tile)

    def leave(self, tile: Tile) -> None:
        """What the tile uses where it is."""
        section = tile.section
        own = section.accumulator
        if own is not None:
            self.uses.append(Use((own.address, own.address + own.bytes), tile.end, tile.end))
        for n, span, operand in in_place(section, self.program):
            writes = n >= reads(section)
            if span is not None:
                self.uses.append(Use(span, tile.end, tile.end if writes else 0))
            if writes:
                self.operands[operand] = max(self.operands.get(operand, 0), tile.end)

    def depends(self, section: Section) -> int:
        times = [0]
        own = section.accumulator
        if own is not None:
            span = (own.address, own.address + own.bytes)
            times += [use.used for use in self.before(section) if clash(use.span, span)]
        for n, place, operand in in_place(section, self.program):
            if n < reads(section):
                times.append(self.operands.get(operand, 0))
            if place is not None:
                uses = [use for use in self.before(section) if clash(use.span, place)]
                times += [use.written if n < reads(section) else use.used for use in uses]
        return max(times)

    def before(self, section: Section) -> list[Use]:
        """What other sections have used: not this section's own buffers."""
        own = {id(use) for (position, _, _), use in self.buffers.items() if position == self.position}
        return [use for use in self.uses if id(use) not in own]

    def stores(self, tile: Tile, wanted: object) -> None:
        section = tile.section
        channel = "store" if self.machine.dma.channels > 1 else "load"
        unit = self.costs.work(section.nest, (1,) * len(section.nest.axes)).unit
        for n in range(reads(section), len(section.images)):
            image = section.images[n]
            if image is None or not wanted(image):  # type: ignore[operator]
                continue
            access, use = section.nest.accesses[n], tile.uses[n]
            start = max(self.free[channel], self.free["load" if unit == "dma" else unit])
            end = self.transfer(start, access, image, tile.box, section, write=True, floor=self.floor(tile))
            self.free[channel] = use.used = use.written = end
            self.operands[access.operand] = max(self.operands.get(access.operand, 0), end)

    def floor(self, tile: Tile | None) -> int:
        if tile is None:
            return self.free["load"]
        unit = self.costs.work(tile.section.nest, (1,) * len(tile.box)).unit
        return min(self.free["load"], self.free["load" if unit == "dma" else unit])

    def transfer(
        self, start: int, access: Access, image: Image, box: Box, section: Section, write: bool, floor: int
    ) -> int:
        moved = dict(enumerate(box))
        for loop in section.loops[image.level :]:
            moved[loop.axis] = (0, section.nest.axes[loop.axis].extent)
        shape = [max(end - first, 0) for first, end in operand_box(access, tuple(moved.values()))]
        run, rows = BYTES[access.type], prod(shape)
        for length, extent in reversed(list(zip(shape, access.shape, strict=True))):
            run, rows = run * length, rows // length if length else 0
            if length != extent:
                break
        size = prod(shape) * BYTES[access.type]
        operand = self.program.operands[access.operand]
        if operand.stored_bytes is not None and operand.kind == "constant":
            size = stored(size, operand)
            rows, run = (1, size) if size else (0, 0)
        home = operand.place
        end = start + self.dma[home].ticks(rows, run, write)
        if (far := self.dma[home].port_ticks(rows, run)) > 0:
            self.far[home] = max(self.far[home], floor) + far
            end = max(end, self.far[home])
        if (near := self.time(size, scratchpad_rate(self.machine))) > 0:
            self.pad = max(self.pad, floor) + near
            end = max(end, self.pad)
        return end

    @staticmethod
    def time(size: int, rate: float | None) -> int:
        return ticks_of(size, rate)


def in_place_of_offchip(machine: Machine) -> Machine:
    """A machine with its level 2 as off-chip memory."""
    if machine.level2 is None:
        return machine
    figures = machine.level2.model_dump(exclude={"kind", "bytes", "holds", "picojoules_per_byte"})
    return machine.replace({"level2": None, "offchip": {**figures, "kind": "sram"}})


def reads(section: Section) -> int:
    return len(section.nest.reads)


def first_box(section: Section) -> Box:
    return next(iter(tiles(section)))[1]


def number_of_load(section: Section, image: Image, tile: int) -> int:
    return tile // prod(loop.count for loop in section.loops[image.level :])


def clash(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def stored(size: int, operand: Operand) -> int:
    if operand.stored_bytes is None or operand.kind != "constant":
        return size
    return -(-size * operand.stored_bytes // operand.bytes)


def copies_of(section: Section, stores_only: bool) -> Iterator[Span]:
    for n, image in enumerate(section.images):
        if image is not None and (not stores_only or n >= reads(section)):
            for turn in range(image.copies):
                yield image.address + turn * image.pitch, image.address + turn * image.pitch + image.bytes


def in_place(section: Section, program: Program) -> Iterator[tuple[int, Span | None, str]]:
    for n, (access, image) in enumerate(zip(section.nest.accesses, section.images, strict=True)):
        if image is None:
            operand = program.operands[access.operand]
            span = (operand.offset, operand.offset + operand.bytes)
            yield n, span if operand.place == "scratchpad" else None, access.operand


def used(section: Section, program: Program) -> Iterator[Span]:
    yield from copies_of(section, stores_only=False)
    if section.accumulator is not None:
        yield section.accumulator.address, section.accumulator.address + section.accumulator.bytes
    for _, span, _ in in_place(section, program):
        if span is not None:
            yield span
