"""Sections one after another: what the first tile of each has to wait for, and what each leaves behind.

The first loads of a section are issued before the last tile of the section in front computes if they have
nothing to do with it: that is how weights come early. Loads into addresses that the last tile uses wait for
it, loads of what it writes for its stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from weakref import ref

from sim.cost.ticks import TICKS, cycles_in
from sim.events.body import Events, SectionRun, event, transfer
from sim.events.memory import Scratchpad
from sim.events.model import Moved, Order, Rates, SectionModel, Slot
from sim.events.state import COMPUTE, DEPEND, DEPENDENCY, FRONT, LOAD, LOCAL, OUTPUT, SINCE, STORE
from tiling.program import Program


@dataclass(slots=True)
class Ran:
    """What came of a section."""

    start: int
    end: int
    cycles: list[int]
    """By cause, in the order of `CAUSES`."""
    events: Events


@dataclass(slots=True)
class Last:
    """The section whose last tile is pending."""

    model: SectionModel
    body: SectionRun
    starts: dict[int, int]
    """When the first load of each slot started."""
    computed: int
    """When its first tile started."""


@dataclass(slots=True)
class First:
    """The first loads of a section."""

    events: Events
    starts: dict[int, int]
    filled: dict[int, int]
    since: int
    """Until when they wait for what they read to be written."""


class Run:
    """A program that runs: its sections so far, the scratchpad, and when each operand is written."""

    def __init__(self, program: Program, rates: Rates, launch: int) -> None:
        self.program, self.rates, self.launch = program, rates, launch if program.sections else 0
        self.state = [TICKS * self.launch] * (FRONT + 1) + [0] * (LOCAL - FRONT - 1)
        self.pad = Scratchpad()
        self.written: dict[str, int] = {}
        self.ran: list[Ran] = []
        self.last: Last | None = None
        self.ticks = 0
        """When everything is done."""
        self.counted = TICKS * self.launch
        """Up to when cycles have been given to sections."""
        for operand in program.operands.values():
            if operand.place == "scratchpad" and operand.kind in ("input", "constant"):
                size = operand.bytes if operand.stored_bytes is None else operand.stored_bytes
                self.pad.write(operand.offset, operand.offset + min(size, operand.bytes), operand.name, 0, 0)

    @property
    def cycles(self) -> int:
        """The same in cycles."""
        return cycles_in(self.ticks)

    def section(self, model: SectionModel, fold: bool) -> None:
        """Run all tiles of a section but the last, which is pending then."""
        order = order_of(None if self.last is None else self.last.model, model)
        first = First([], {}, {}, 0)
        for number in chain(self.approach(order), order[2]):
            self.first_load(model, number, first)
        self.enter(model, first, fold).run()

    def approach(self, order: Order) -> Iterator[int]:
        """Finish the section in front, beside first loads of the next: their numbers, when they are due."""
        early, beside, _ = order
        yield from early
        last = self.last
        if last is not None:
            last.body.compute()
            self._leave(last)
            yield from beside
            self._store(last)

    def enter(self, model: SectionModel, first: First, fold: bool) -> SectionRun:
        """A section whose first tile is pending, after all of its first loads."""
        body = SectionRun(model, self._entry(model, first), fold)
        body.events = first.events
        computed = self._first_start(model, body)
        self.state = body.state
        self.ran.append(Ran(min((computed, *first.starts.values())) // TICKS, 0, [], body.events))
        self.last = Last(model, body, first.starts, computed)
        return body

    def finish(self) -> None:
        """Run the last tile; what is still on its way then is output of its section."""
        last = self.last
        if last is None:
            return
        last.body.compute()
        self._leave(last)
        self._store(last)
        state = last.body.state
        self.ticks = max(state[FRONT], state[LOAD], state[STORE])
        self.ran[-1].cycles[OUTPUT - COMPUTE] += self.cycles - cycles_in(state[FRONT])

    def first_load(self, model: SectionModel, number: int, first: First, part: Moved | None = None) -> None:
        """Issue the first load of a slot, or a part of it."""
        start, move = self.due(model, number, first), part or model.loads[number].first
        self.loaded(model, number, first, start, transfer(self.state, start, move, self.floor), move)

    def loaded(
        self, model: SectionModel, number: int, first: First, start: int, end: int, move: Moved
    ) -> None:
        """A first load has been issued."""
        slot = model.loads[number]
        self.state[LOAD] = first.filled[number] = end
        first.starts.setdefault(number, start)
        if move.bytes:
            outside = 0 if slot.number in model.followed else move.outside
            first.events.append(event(1, start, end, outside))

    def due(self, model: SectionModel, number: int, first: First) -> int:
        """When the first load of a slot may start."""
        slot = model.loads[number]
        start = max(self.state[LOAD], self.pad.free(*slot.ranges[0]))
        written = self.written.get(slot.access.operand, 0)
        if written > start:
            start = first.since = written
        return start

    @property
    def floor(self) -> int:
        """Before which no command can start any more."""
        return self.state[LOAD] if self.last is None else self.last.body.floor

    def _entry(self, model: SectionModel, first: First) -> list[int]:
        """The state in which the first tile of a section is pending."""
        state = self.state[: FRONT + 1] + [0] * (model.size - FRONT - 1)
        launch, last = TICKS * self.launch, self.last
        issued = launch if last is None else last.body.started
        began = launch if last is None else last.body.ended - TICKS * last.model.hides
        state[SINCE] = first.since
        state[DEPEND] = max(self._depends(model), issued, began + TICKS * model.ahead if model.ahead else 0)
        for number, slot in enumerate(model.loads):
            state[slot.ready] = first.filled[number]
            for copy, (low, high) in enumerate(slot.ranges[1:], 1):
                state[slot.used + copy] = self.pad.free(low, high)
        for slot in model.stores:
            for copy, (low, high) in enumerate(slot.ranges):
                state[slot.ready + copy] = self.pad.free(low, high)
        return state

    def _depends(self, model: SectionModel) -> int:
        """When everything that is used in place is written, and the places of results are free."""
        times = [self.written.get(name, 0) for name in model.read_in_place]
        times += [self.pad.written(low, high) for low, high in model.pad_reads]
        times += [self.pad.free(low, high) for low, high, _ in model.pad_writes]
        return max(times, default=0)

    @staticmethod
    def _first_start(model: SectionModel, body: SectionRun) -> int:
        state = body.state
        return max(state[model.unit], state[DEPEND], *(state[slot.ready] for slot in model.slots))

    def _leave(self, last: Last) -> None:
        """Note what a section has used, and what it has written where it is."""
        model, state, pad, written = last.model, last.body.state, self.pad, self.written
        ended = last.body.ended
        for number, slot in enumerate(model.loads):
            for copy, (low, high) in enumerate(slot.ranges):
                time = max(state[slot.ready + copy], state[slot.used + copy])
                pad.write(low, high, "", last.starts[number], time)
        for low, high in model.pad_reads:
            pad.read(low, high, ended)
        for low, high, owner in model.pad_writes:
            pad.write(low, high, owner, last.computed, ended)
        for name in model.written_in_place:
            written[name] = max(written.get(name, 0), ended)

    def _store(self, last: Last) -> None:
        """Store what the last tile of a section has left; note that, and the section's cycles."""
        model, state, written = last.model, last.body.state, self.written
        last.body.finish()
        end = last.body.ended
        for slot in model.stores:
            times = state[slot.ready : slot.ready + len(slot.ranges)]
            for (low, high), time in zip(slot.ranges, times, strict=True):
                self.pad.write(low, high, "", last.computed, time)
            name = slot.access.operand
            written[name] = max(written.get(name, 0), *times)
            end = max(end, *times)
        self.ran[-1].end = cycles_in(end)
        self.ran[-1].cycles = self.counted_in(state[COMPUTE : DEPENDENCY + 1])

    def counted_in(self, parts: Iterable[int]) -> list[int]:
        """Ticks that follow all that have been counted, in cycles that sum to those which have begun."""
        found = []
        for ticks in parts:
            before, self.counted = self.counted, self.counted + ticks
            found.append(cycles_in(self.counted) - cycles_in(before))
        return found


def order_of(last: SectionModel | None, model: SectionModel) -> Order:
    """First loads that the last section does not hold up, that its last tile does, and that its stores do."""
    if last is None:
        return [], [], list(range(len(model.loads)))
    known = model.orders.get(id(last))
    if known is None or known[0]() is not last:
        loads = model.loads
        behind = [
            number
            for number, slot in enumerate(loads)
            if slot.access.operand in last.written or _overlap(slot, last.stored)
        ]
        held = [number for number, slot in enumerate(loads) if _overlap(slot, last.used)]
        beside = [number for number in held if number not in behind]
        early = [number for number in range(len(loads)) if number not in behind and number not in held]
        known = model.orders[id(last)] = ref(last), (early, beside, behind)
    return known[1]


def _overlap(slot: Slot, ranges: list[tuple[int, int]]) -> bool:
    low, high = slot.ranges[0]
    return any(low < end and begin < high for begin, end in ranges)
