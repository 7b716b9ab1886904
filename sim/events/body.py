"""The tiles of one section, in order, with equal ones folded.

A tile's loads are issued before the tile in front of it computes, so that they come meanwhile wherever there
is room; its stores behind the loads of the next. So a tile is `pending` from its loads on until the next
tile's loads are issued.

All times are in ticks, and follow from earlier ones by sums and maxima. When
a step of a loop leaves the state as an earlier step left it, apart from a shift in time, what lies between
repeats exactly, and is counted instead of run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.cost.ticks import TICKS
from sim.events.model import Classes, Moved, SectionModel, Slot
from sim.events.stalls import attribute, wait
from sim.events.state import (
    CAUSES,
    DEPEND,
    FRONT,
    LATER,
    LEVEL2,
    LOAD,
    OFFCHIP,
    PAD,
    REPEAT,
)

Events = list[Any]
"""(kind, start, duration, bytes), or a mark, a list of events, and two numbers; times are in cycles."""

REMEMBERED = 1 << 12
"""Runs of loops that a section remembers."""
SUMS = frozenset((OFFCHIP, LEVEL2, PAD, *CAUSES.values()))


class SectionRun:
    """A section that runs: the state, which copy of each buffer is in use, and what has happened."""

    __slots__ = ("current", "ended", "events", "fold", "model", "started", "state", "turns")

    def __init__(self, model: SectionModel, state: list[int], fold: bool = True) -> None:
        self.model, self.state, self.fold = model, state, fold
        self.turns = [0] * len(model.slots)
        self.current = list(model.tiles.first)
        self.events: Events = []
        self.started = self.ended = 0
        """When the last tile started and ended."""

    # Commands.

    def load(self, number: int, copy: int, classes: Classes) -> None:
        """Bring the box of an access for a tile into a copy of its buffer."""
        slot, state = self.model.slots[number], self.state
        move = slot.cache.get(classes[: slot.image.level]) or self.model.moved(slot, classes)
        start = max(state[LOAD], state[slot.used + copy])
        self.loaded(slot, copy, start, transfer(state, start, move, self.floor), move)

    def loaded(self, slot: Slot, copy: int, start: int, end: int, move: Moved) -> None:
        """A load has been issued."""
        self.state[LOAD] = self.state[slot.ready + copy] = end
        if move.bytes:
            outside = 0 if slot.number in self.model.followed else move.outside
            self.events.append(event(1, start, end, outside))

    @property
    def floor(self) -> int:
        """Before which no command can start any more."""
        loaded, done = self.state[LOAD], self.state[self.model.unit]
        return loaded if loaded < done else done

    def compute(self) -> None:
        """Do the pending tile."""
        model, state, turns = self.model, self.state, self.turns
        classes = tuple(self.current)
        tile = model.computes.get(classes) or model.computed(classes)
        unit = model.unit
        start = max(state[unit], state[DEPEND])
        for slot, copy in zip(model.slots, turns, strict=True):
            if state[slot.ready + copy] > start:
                start = state[slot.ready + copy]
        if start > state[FRONT]:
            ready = [(state[s.ready + copy], s.cause) for s, copy in zip(model.slots, turns, strict=True)]
            wait(state, start, ready)
        end, cause = start + tile.alone, tile.cause
        floor = self.floor
        for asked in tile.asked:
            state[asked.memory] = reach = max(state[asked.memory], floor) + asked.ticks
            if reach > end:
                end, cause = reach, asked.cause
        attribute(state, start, end, tile, cause)
        state[unit] = end
        for slot, copy in zip(model.loads, turns, strict=False):
            state[slot.used + copy] = end
        self.started, self.ended = start, end
        self.events.append(event(0, start, end, 0))

    def store(self, number: int, classes: Classes) -> None:
        """Bring the box of a result back, after the tile that has just been done."""
        model, state, turns = self.model, self.state, self.turns
        slot, channel = model.slots[number], model.rates.store
        move = slot.cache.get(classes[: slot.image.level]) or model.moved(slot, classes)
        start = max(state[channel], state[model.unit])
        end = transfer(state, start, move, self.floor)
        state[channel] = state[slot.ready + turns[number]] = end
        turns[number] = (turns[number] + 1) % slot.image.copies
        if move.bytes:
            self.events.append(event(2, start, end, move.outside))

    # Loops.

    def advance(self, depth: int, step: int) -> None:
        """Issue the loads of the next tile along a loop, do the pending one, and store its results."""
        for number, copy, classes in self.advancing(depth, step):
            self.load(number, copy, classes)

    def advancing(self, depth: int, step: int) -> Iterator[tuple[int, int, Classes]]:
        """The same, but for the loads: what is due, into which copy, and for which tile."""
        model, turns, slots = self.model, self.turns, self.model.slots
        early, late, stores = model.moves[depth]
        old = tuple(self.current)
        new = (*old[:depth], step, *model.tiles.first[depth + 1 :])
        for number in early:
            yield number, (turns[number] + 1) % slots[number].image.copies, new
        self.compute()
        for number in early:
            turns[number] = (turns[number] + 1) % slots[number].image.copies
        for number in late:
            yield number, 0, new
        for number in stores:
            self.store(number, old)
        self.current[:] = new

    def finish(self) -> None:
        """Store what the last tile has left."""
        classes = tuple(self.current)
        for number in range(len(self.model.loads), len(self.model.slots)):
            self.store(number, classes)

    def run(self, depth: int = 0) -> None:
        """Go through the loops from `depth` on; the first tile is pending, and the last one then."""
        model = self.model
        if depth == model.depth:
            return
        if not self.fold:
            self._steps(depth)
            return
        state, outside = self.state, self.events
        begin = state[model.unit]
        key = (depth, model.inner(tuple(self.current[:depth])), self.relative(depth))
        known: Any = model.results.get(key)
        if known is None:
            before = state[:]
            self.events = []
            self._steps(depth)
            if len(model.results) >= REMEMBERED:
                model.results.clear()
            known = model.results[key] = self._result(depth, before)
        else:
            shifted, added, self.turns, self.current[depth:] = known[0], known[1], [*known[2]], known[3]
            for place, value in shifted:
                state[place] = begin + value
            for place, value in added:
                state[place] += value
        outside.append((LATER, known[4], (begin - known[5]) // TICKS, 0))
        self.events = outside

    def relative(self, depth: int) -> tuple[int, ...]:
        """The state as a loop sees it, with times relative to when the unit becomes free.

        What is past is alike: no tile starts before the unit is free, and no load before its channel.
        Where in a cycle the unit becomes free matters to reports alone, whose repetitions are cycles apart.
        """
        model, state = self.model, self.state
        changed, waited, used = model.keys[depth]
        now, loaded = state[model.unit], state[LOAD]
        floor = min(loaded, now)
        for memory in model.rates.memories:
            if state[memory] < floor:
                state[memory] = floor
        return (
            now % TICKS,
            *self.turns,
            *[state[place] - now for place in changed],
            *[time - now if (time := state[place]) > now else 0 for place in waited],
            *[(time if (time := state[place]) > loaded else loaded) - now for place in used],
        )

    def _result(self, depth: int, before: list[int]) -> tuple[Any, ...]:
        """What the loop did: new times, growth of sums, copies in use, last tile, events, their beginning."""
        begin, places = before[self.model.unit], list(enumerate(zip(self.state, before, strict=True)))
        return (
            tuple(
                [(place, time - begin) for place, (time, old) in places if time != old and place not in SUMS]
            ),
            tuple([(place, total - old) for place, (total, old) in places if total != old and place in SUMS]),
            tuple(self.turns),
            tuple(self.current[depth:]),
            self.events,
            begin,
        )

    def _steps(self, depth: int) -> None:
        """All steps of a loop; runs of equal ones as long as they have not repeated, and then at once."""
        first = True
        for step, count in self.model.tiles.walks[depth].runs:
            seen: dict[tuple[int, ...], tuple[int, list[int], int]] = {}
            done = 0
            while done < count:
                if not first:
                    self.advance(depth, step)
                first = False
                self.run(depth + 1)
                done += 1
                if self.fold and count - done > 1:
                    done += self._skipped(depth, count - done, done, seen)

    def _skipped(
        self, depth: int, left: int, done: int, seen: dict[tuple[int, ...], tuple[int, list[int], int]]
    ) -> int:
        """How many of the steps that are left have been counted as repetitions of earlier ones."""
        state, events = self.state, self.events
        key = self.relative(depth)
        if key not in seen:
            seen[key] = (done, state[:], len(events))
            return 0
        when, before, mark = seen[key]
        period = done - when
        times = left // period
        if times:
            unit = self.model.unit
            shift = state[unit] - before[unit]
            for place, value in enumerate(before):
                if grown := state[place] - value:
                    state[place] += times * (grown if place in SUMS else shift)
            body = events[mark:]
            events[mark:] = [(REPEAT, body, shift // TICKS, times + 1)]
            seen.clear()
        return times * period


def event(kind: int, start: int, end: int, size: int) -> tuple[int, int, int, int]:
    """Something that happens from one tick to another, in cycles."""
    first = start // TICKS
    return kind, first, end // TICKS - first, size


def transfer(state: list[int], start: int, move: Any, floor: int) -> int:
    """When a transfer ends that shares the memories with all that was asked of them before.

    A memory does its work without pauses from `floor` on, before which nothing can start any more.
    """
    end: int = start + move.ticks
    if move.far:
        reach = state[move.memory]
        state[move.memory] = reach = (reach if reach > floor else floor) + move.far
        end = reach if reach > end else end
    if move.pad:
        reach = state[PAD]
        state[PAD] = reach = (reach if reach > floor else floor) + move.pad
        end = reach if reach > end else end
    return end
