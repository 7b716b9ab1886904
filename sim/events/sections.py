"""Sections one after another: what the first tile of each has to wait for, and what each leaves behind.

The first loads of a section are issued before the last tile of the section in front computes if they have
nothing to do with it: that is how weights come early. Loads into addresses that the last tile uses wait for
it, loads of what it writes for its stores.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim.events.body import Body, Events, transfer
from sim.events.memory import Scratchpad
from sim.events.model import Model, Rates, Slot
from sim.events.state import CAUSES, DEPEND, FRONT, LOAD, LOCAL, OUTPUT, SINCE, STORE
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

    model: Model
    body: Body
    starts: dict[int, int]
    """When the first load of each slot started."""
    computed: int
    """When its first tile started."""

    def holds(self, slot: Slot) -> bool:
        """Whether a load fills addresses that the section uses, or reads what it writes."""
        return self.stores_hold(slot) or _overlap(slot, self.model.used)

    def stores_hold(self, slot: Slot) -> bool:
        """Whether a load has to wait for what the section stores."""
        return slot.access.operand in self.model.written or _overlap(slot, self.model.stored)


class Run:
    """A program that runs: its sections so far, the scratchpad, and when each operand is written."""

    def __init__(self, program: Program, rates: Rates, launch: int) -> None:
        self.program, self.rates, self.launch = program, rates, launch if program.sections else 0
        self.state = [self.launch] * (FRONT + 1) + [0] * (LOCAL - FRONT - 1)
        self.pad = Scratchpad()
        self.written: dict[str, int] = {}
        self.ran: list[Ran] = []
        self.last: Last | None = None
        self.cycles = 0
        for operand in program.operands.values():
            if operand.place == "scratchpad" and operand.kind in ("input", "constant"):
                self.pad.write(operand.offset, operand.offset + operand.bytes, operand.name, 0, 0)

    def section(self, number: int, model: Model, fold: bool) -> None:
        """Run all tiles of a section but the last, which is pending then."""
        last = self.last
        events: Events = []
        starts: dict[int, int] = {}
        filled: dict[int, int] = {}
        since = 0
        left = list(range(len(model.loads)))
        for stage in range(3):
            held = [number for number in left if last is not None and _held(last, model.loads[number], stage)]
            for number in left:
                if number not in held:
                    since = max(since, self._first_load(model, number, events, starts, filled, stage))
            left = held
            if last is not None and stage == 0:
                last.body.compute()
            elif last is not None and stage == 1:
                last.body.finish()
                self._leave(last)
        body = Body(model, self._entry(model, filled, since, last), fold)
        body.events = events
        computed = self._first_start(model, body)
        self.state = body.state
        self.ran.append(Ran(min((computed, *starts.values())), 0, [], events))
        self.last = Last(model, body, starts, computed)
        body.run()

    def finish(self) -> None:
        """Run the last tile; what is still on its way then is output of its section."""
        last = self.last
        if last is None:
            return
        last.body.compute()
        last.body.finish()
        state = last.body.state
        self.cycles = max(state[FRONT], state[LOAD], state[STORE])
        state[OUTPUT] += self.cycles - state[FRONT]
        self._leave(last)

    def _first_load(
        self,
        model: Model,
        number: int,
        events: Events,
        starts: dict[int, int],
        filled: dict[int, int],
        stage: int,
    ) -> int:
        """Issue the first load of a slot; until when it waits for what it reads to be written."""
        state, slot, last = self.state, model.loads[number], self.last
        move = model.moved(slot, model.tiles.first)
        low, high = slot.ranges[0]
        free = max(state[LOAD], self.pad.free(low, high))
        if last is not None and stage == 1:
            free = max(free, last.body.state[last.model.unit])
        written = self.written.get(slot.access.operand, 0)
        start = max(free, written)
        floor = min(state[LOAD], state[last.model.unit]) if last is not None else state[LOAD]
        end = transfer(state, start, move, floor)
        state[LOAD] = filled[number] = end
        starts[number] = start
        if move.bytes:
            events.append((1, start, end - start, move.bytes))
        return written if written > free else 0

    def _entry(self, model: Model, filled: dict[int, int], since: int, last: Last | None) -> list[int]:
        """The state in which the first tile of a section is pending."""
        state = self.state[: FRONT + 1] + [0] * (model.size - FRONT - 1)
        state[SINCE] = since
        state[DEPEND] = max(self._depends(model), last.body.started if last is not None else self.launch)
        for number, slot in enumerate(model.slots):
            load = number < len(model.loads)
            for copy, (low, high) in enumerate(slot.ranges):
                if not load:
                    state[slot.ready + copy] = self.pad.free(low, high)
                elif copy:
                    state[slot.used + copy] = self.pad.free(low, high)
                else:
                    state[slot.ready] = filled[number]
        return state

    def _depends(self, model: Model) -> int:
        """When everything that is used in place is written, and the places of results are free."""
        time = 0
        for name in model.read_in_place:
            time = max(time, self.written.get(name, 0))
        for low, high in model.pad_reads:
            time = max(time, self.pad.written(low, high))
        for low, high, _ in model.pad_writes:
            time = max(time, self.pad.free(low, high))
        return time

    @staticmethod
    def _first_start(model: Model, body: Body) -> int:
        state = body.state
        return max(state[model.unit], state[DEPEND], *(state[slot.ready] for slot in model.slots))

    def _leave(self, last: Last) -> None:
        """Note what a section has written and used, and its cycles."""
        model, state = last.model, last.body.state
        ended = state[model.unit]
        end = ended
        for number, slot in enumerate(model.slots):
            load = number < len(model.loads)
            for copy, (low, high) in enumerate(slot.ranges):
                time = state[slot.ready + copy]
                if load:
                    time = max(time, state[slot.used + copy])
                end = max(end, time)
                self.pad.write(low, high, "", last.starts.get(number, last.computed), time)
            if not load:
                name = slot.access.operand
                times = state[slot.ready : slot.ready + slot.image.copies]
                self.written[name] = max(self.written.get(name, 0), *times)
        for low, high in model.pad_reads:
            self.pad.read(low, high, ended)
        for low, high, owner in model.pad_writes:
            self.pad.write(low, high, owner, last.computed, ended)
        for name in model.written_in_place:
            self.written[name] = max(self.written.get(name, 0), ended)
        ran = self.ran[-1]
        ran.end, ran.cycles = end, [state[place] for place in CAUSES.values()]


def _held(last: Last, slot: Slot, stage: int) -> bool:
    return stage < 2 and (last.holds(slot) if stage == 0 else last.stores_hold(slot))


def _overlap(slot: Slot, ranges: list[tuple[int, int]]) -> bool:
    low, high = slot.ranges[0]
    return any(low < end and begin < high for begin, end in ranges)
