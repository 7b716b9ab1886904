"""What a program takes, as a closed form of each section.

Units, channels and memories of a section work beside each other, so that it takes as long as the busiest of
them, and transfers into buffers that are in use besides. Sections follow one another as far as they depend on
each other: a section starts when its unit is free, what it reads in place is written, and its first boxes are
there; these are loaded as soon as their addresses are free and the channel has nothing else to do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sim.cost.ticks import TICKS, cycles_in
from sim.events.model import SectionModel, Slot
from sim.events.reporting import report_of
from sim.events.sections import Ran, Run
from sim.events.simulate import Simulator
from sim.events.state import CAUSES, COMPUTE, DEPENDENCY, FILL, OFFCHIP, OUTPUT, PAD
from sim.machine.machine import Machine
from sim.report.report import Report
from tiling.program import Program


@dataclass(slots=True)
class Time:
    """Ticks of a section, before it is known what stands in front of it."""

    work: int = 0
    """Of the unit."""
    fill: int = 0
    alone: int = 0
    """Of the unit, with what the memories make of each tile."""
    slowed: Counter[int] = field(default_factory=Counter)
    """Beyond the unit's, by cause."""
    reached: Counter[int] = field(default_factory=Counter)
    """Of the memories for tiles, by what would wait for them."""
    memories: Counter[int] = field(default_factory=lambda: Counter({OFFCHIP: 0, PAD: 0}))
    """Of each memory, without first loads and last stores, which are added to all that is beside them."""
    behind: Counter[int] = field(default_factory=Counter)
    """Transfers that tiles wait for each time, by cause."""
    loads: Counter[int] = field(default_factory=Counter)
    stores: int = 0
    first: int = 0
    """The first loads."""
    last: int = 0
    """The last stores."""
    leaving: Counter[int] = field(default_factory=Counter)
    """Of each memory behind the DMA, for the last stores."""

    @staticmethod
    def of(model: SectionModel) -> Time:
        """Sums over the tiles of a section."""
        time = Time()
        for classes, count in model.tiles.combinations(model.depth):
            tile = model.computed(classes)
            time.work += count * TICKS * tile.cycles
            time.fill += count * TICKS * tile.fill
            time.alone += count * tile.alone
            time.slowed[tile.cause] += count * (tile.alone - TICKS * tile.cycles)
            for asked in tile.asked:
                time.reached[asked.cause] += count * asked.ticks
                time.memories[asked.memory] += count * asked.ticks
        for number, slot in enumerate(model.slots):
            time._moves(model, slot, number < len(model.loads))
        return time

    def _moves(self, model: SectionModel, slot: Slot, load: bool) -> None:
        ticks = boxes = 0
        for classes, count in model.tiles.combinations(slot.image.level):
            moved = model.moved(slot, classes)
            ticks, boxes = ticks + count * moved.ticks, boxes + count
            self.memories[moved.memory] += count * moved.far
            self.memories[PAD] += count * moved.pad
        once = model.moved(slot, model.tiles.first)
        self.memories[once.memory] -= once.far
        self.memories[PAD] -= once.pad
        if slot.image.copies == 1 and boxes > 1:
            self.behind[slot.cause] += ticks - once.ticks
        if load:
            self.loads[slot.cause] += ticks - once.ticks
            self.first += once.ticks
        else:
            self.stores += ticks - once.ticks
            self.last += once.ticks
            self.leaving[once.memory] += once.far

    def ticks(self, channels: int) -> tuple[int, Counter[int]]:
        """Those between the first loads and the last stores, and those that are waiting, by cause."""
        loads = sum(self.loads.values())
        dma = max(loads, self.stores) if channels > 1 else loads + self.stores
        busy = self.alone + sum(self.behind.values())
        total = max(busy, dma, *self.memories.values())
        waits = self.slowed + self.behind
        if total > busy:
            waits[self.slowest()] += total - busy
        return total, waits

    def slowest(self) -> int:
        """What is waited for where memories take longer than work."""
        tiles = ((count, cause) for cause, count in self.reached.items())
        return max((*((n, cause) for cause, n in self.loads.items()), (self.stores, OUTPUT), *tiles))[1]


class Front:
    """How far the sections so far have come, in ticks."""

    def __init__(self, run: Run, channels: int) -> None:
        self.run, self.channels = run, channels
        self.now = self.began = self.loading = self.storing = self.launch = TICKS * run.launch
        self.free: dict[int, int] = {}
        """When each unit has done all that was given to it."""
        self.written: dict[str, int] = {}
        self.memories: defaultdict[int, int] = defaultdict(lambda: self.launch)
        """By when each memory could have moved all bytes that were asked for."""

    def advance(self, model: SectionModel) -> None:
        """Run a section; every cycle by which the front moves gets a cause."""
        time, causes = Time.of(model), Counter[int]()
        total, waits = time.ticks(self.channels)
        start = max(self.began, self.free.get(model.unit, self.launch), self._depends(model))
        self._wait(start, DEPENDENCY, causes)
        issued = max(self.loading, self.launch)
        for slot in model.loads:
            written = self.written.get(slot.access.operand, 0)
            begin = max(self.loading, written, self.run.pad.free(*slot.ranges[0]))
            moved = model.moved(slot, model.tiles.first)
            self.loading = max(begin + moved.ticks, self._reach(moved.memory, begin, moved.far))
            self._wait(min(written, self.loading), DEPENDENCY, causes)
            self._wait(self.loading, slot.cause, causes)
            start = max(start, self.loading)
        if model.unit_name == "dma":
            start = max(start, self.loading)
        self._wait(start, OUTPUT, causes)
        reached = [self._reach(memory, start, count) for memory, count in time.memories.items()]
        end = max(start + total, *reached)
        waits[time.slowest()] += end - start - total
        seen = max(0, end - max(self.now, start))
        self.now, self.began = max(self.now, end), start
        self._spend(time, waits, seen, causes)
        spent = self.run.counted_in([causes[place] for place in CAUSES.values()])
        self.run.ran.append(Ran(min(start, issued) // TICKS, cycles_in(end), spent, []))
        self._leave(model, time, end, total)

    def _leave(self, model: SectionModel, time: Time, end: int, total: int) -> None:
        """Note when units and channels are free, and what is written when."""
        self.free[model.unit] = end
        if sum(time.loads.values()):
            self.loading = max(self.loading + sum(time.loads.values()), end - total // model.section.tiles)
        if model.stores:
            left = [self._reach(memory, end, count) for memory, count in time.leaving.items()]
            self.storing = max(max(self.storing, end) + time.last, *left)
        if model.unit_name == "dma" or (self.channels == 1 and model.stores):
            self.loading = max(self.loading, end, self.storing if self.channels == 1 else 0)
        for slot in model.loads:
            self._occupy(slot.ranges, "", end)
        for slot in model.stores:
            self._occupy(slot.ranges, "", self.storing)
            self.written[slot.access.operand] = self.storing
        for name in model.written_in_place:
            self.written[name] = end
        for low, high in model.pad_reads:
            self.run.pad.read(low, high, end)
        for low, high, owner in model.pad_writes:
            self.run.pad.write(low, high, owner, self.began, end)

    def _reach(self, memory: int, start: int, ticks: int) -> int:
        """By when a memory has moved so much more, which is asked for from a tick on."""
        self.memories[memory] = max(self.memories[memory], start) + ticks
        return self.memories[memory]

    def _occupy(self, ranges: Iterable[tuple[int, int]], owner: str, end: int) -> None:
        for low, high in ranges:
            self.run.pad.write(low, high, owner, self.began, end)

    def _depends(self, model: SectionModel) -> int:
        """When everything that is used in place is written, and the places of results are free."""
        pad = self.run.pad
        times = [self.written.get(name, 0) for name in model.read_in_place]
        times += [pad.written(low, high) for low, high in model.pad_reads]
        times += [pad.free(low, high) for low, high, _ in model.pad_writes]
        times += [pad.free(low, high) for slot in model.stores for low, high in slot.ranges]
        return max(times, default=0)

    def _wait(self, until: int, cause: int, causes: Counter[int]) -> None:
        if until > self.now:
            causes[cause] += until - self.now
            self.now = until

    def _spend(self, time: Time, waits: Counter[int], seen: int, causes: Counter[int]) -> None:
        """Give the ticks of a section that no other covers their causes: waiting, then work, then fill."""
        for place, count in waits.items():
            causes[place] += min(count, seen)
            seen -= min(count, seen)
        work = min(time.work - time.fill, seen)
        causes[COMPUTE] += work
        causes[FILL] += seen - work


def estimate(program: Program, machine: Machine, labels: Mapping[str, str] | None = None) -> Report:
    """What a program takes on a machine; `labels` are names of operators by those of the nodes."""
    simulator = _simulator(machine.model_copy(update={"launch_overhead_cycles": 0}))
    summary, rates = simulator.summary(program), simulator.rates
    run = Run(program, rates, machine.launch_overhead_cycles)
    front = Front(run, rates.channels)
    for model in summary.models:
        front.advance(model)
    run.ticks = max(front.now, front.storing, front.loading)
    if run.ran:
        run.ran[-1].cycles[list(CAUSES).index("output")] += run.cycles - cycles_in(front.now)
    return replace(report_of(machine, summary, run, labels or {}), mode="analytic")


@lru_cache(maxsize=16)
def _simulator(machine: Machine) -> Simulator:
    return Simulator(machine)
