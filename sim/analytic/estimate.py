"""What a program takes, as a closed form of each section.

Units, channels and memories of a section work beside each other, so that it takes as long as the busiest
of them. What that leaves out is added: transfers into buffers that are in use, the first loads that nothing
hides, and the last stores that the next section waits for. The first constants of a section come while
sections in front work, from when the channel has nothing else to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sim.events.model import Model
from sim.events.reporting import report_of
from sim.events.sections import Ran, Run
from sim.events.simulate import Simulator
from sim.events.state import CAUSES, INPUT, OUTPUT, WEIGHTS
from sim.machine.machine import Machine
from sim.report.report import Report
from tiling.program import Program

_NAMES = {place: cause for cause, place in CAUSES.items()}


@dataclass(slots=True)
class Time:
    """Cycles of a section, before it is known what stands in front of it."""

    work: int = 0
    """Of the unit."""
    fill: int = 0
    alone: int = 0
    """Of the unit, with what the memories make of each tile."""
    slowed: Counter[int] = field(default_factory=Counter)
    """Cycles beyond the unit's, by cause."""
    offchip: int = 0
    """Of the memory, without first loads and last stores, which are added to all that is beside them."""
    pad: int = 0
    behind: Counter[int] = field(default_factory=Counter)
    """Transfers that tiles wait for each time, by cause."""
    loads: Counter[int] = field(default_factory=Counter)
    stores: int = 0
    first_values: int = 0
    """First loads of values computed before."""
    first_constants: int = 0
    last: int = 0
    """The last stores."""

    @staticmethod
    def of(model: Model) -> Time:
        """Sums over the tiles of a section."""
        time = Time()
        for classes, count in model.tiles.combinations(model.depth):
            tile = model.computed(classes)
            time.work += count * tile.cycles
            time.fill += count * tile.fill
            time.alone += count * tile.alone
            time.slowed[tile.cause] += count * (tile.alone - tile.cycles)
            time.offchip += count * tile.offchip
            time.pad += count * tile.pad
        for number, slot in enumerate(model.slots):
            cycles = boxes = 0
            for classes, count in model.tiles.combinations(slot.image.level):
                moved = model.moved(slot, classes)
                cycles, boxes = cycles + count * moved.cycles, boxes + count
                time.offchip += count * moved.offchip
                time.pad += count * moved.pad
            first = model.moved(slot, model.tiles.first)
            once = first.cycles
            time.offchip -= first.offchip
            time.pad -= first.pad
            if slot.image.copies == 1 and boxes > 1:
                time.behind[slot.cause] += cycles - once
            if number >= len(model.loads):
                time.stores += cycles
                time.last += once
            else:
                time.loads[slot.cause] += cycles
                if model.kinds[slot.number] == "activations":
                    time.first_values += once
                else:
                    time.first_constants += once
        return time

    def cycles(self, channels: int) -> tuple[int, Counter[int]]:
        """Cycles from the first tile on, and those that are waiting, by cause."""
        loads = sum(self.loads.values())
        dma = max(loads, self.stores) if channels > 1 else loads + self.stores
        busy = self.alone + sum(self.behind.values())
        total = max(busy, dma - self.first_values - self.first_constants, self.offchip, self.pad)
        waits = self.slowed + self.behind
        if total > busy:
            waits[self._slowest()] += total - busy
        return total, waits

    def _slowest(self) -> int:
        """What is waited for where transfers take longer than work."""
        return max((*((n, cause) for cause, n in self.loads.items()), (self.stores, OUTPUT)))[1]


@dataclass(slots=True)
class Front:
    """How far the sections so far have come."""

    now: int
    idle: int
    """From when the channel of loads has nothing to do."""
    written: frozenset[str] = frozenset()
    last: int = 0
    """The last stores of the section in front."""

    def advance(self, model: Model, time: Time, channels: int) -> Counter[int]:
        """Run a section; what it waits for, by cause."""
        total, waits = time.cycles(channels)
        if any(slot.access.operand in self.written for slot in model.loads):
            self._until(self.now + self.last, waits, OUTPUT)
            self.idle = max(self.idle, self.now)
        self.idle += time.first_constants
        if time.first_constants:
            self._until(self.idle, waits, WEIGHTS)
        self.idle += time.first_values
        if time.first_values:
            self._until(self.idle, waits, INPUT)
        self.now += total
        later = sum(time.loads.values()) - time.first_constants - time.first_values
        if later:
            self.idle = max(self.idle + later, self.now - total // model.section.tiles)
        if channels == 1 and time.stores:
            self.idle = max(self.idle, self.now)
        self.written, self.last = model.written, time.last
        return waits

    def _until(self, cycle: int, waits: Counter[int], cause: int) -> None:
        if cycle > self.now:
            waits[cause] += cycle - self.now
            self.now = cycle


def estimate(program: Program, machine: Machine, labels: Mapping[str, str] | None = None) -> Report:
    """What a program takes on a machine; `labels` are names of operators by those of the nodes."""
    simulator = _simulator(machine.model_copy(update={"launch_overhead_cycles": 0}))
    summary, rates = simulator.summary(program), simulator.rates
    run = Run(program, rates, machine.launch_overhead_cycles)
    front = Front(run.launch, run.launch)
    for model in summary.models:
        start, time = front.now, Time.of(model)
        waits = front.advance(model, time, rates.channels)
        run.ran.append(Ran(start, front.now, _by_cause(time, waits), []))
        _occupy(run, model, start, front.now)
    run.cycles = front.now + front.last
    if run.ran:
        run.ran[-1].cycles[list(CAUSES).index("output")] += front.last
    return replace(report_of(machine, summary, run, labels or {}), mode="analytic")


def _by_cause(time: Time, waits: Counter[int]) -> list[int]:
    """Cycles in the order of the causes."""
    cycles = {"compute": time.work - time.fill, "fill": time.fill}
    for place, count in waits.items():
        name = _NAMES[place]
        cycles[name] = cycles.get(name, 0) + count
    return [cycles.get(cause, 0) for cause in CAUSES]


def _occupy(run: Run, model: Model, start: int, end: int) -> None:
    """What a section has in the scratchpad while it runs."""
    for slot in model.slots:
        for low, high in slot.ranges:
            run.pad.write(low, high, "", start, end)
    for low, high in model.pad_reads:
        run.pad.read(low, high, end)
    for low, high, owner in model.pad_writes:
        run.pad.write(low, high, owner, start, end)


@lru_cache(maxsize=16)
def _simulator(machine: Machine) -> Simulator:
    return Simulator(machine)
