"""The driver: asks a strategy for points, has them evaluated, keeps what comes, tells the strategy.

A point's number is its place in the order of asking. Chunks are cut from what the strategy asks, whoever
evaluates them, so that everything that follows is the same for any number of workers.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from sim.explore import pareto
from sim.explore.candidates import Candidate
from sim.explore.errors import StoreError
from sim.explore.objectives import Objective
from sim.explore.progress import Display, Tally
from sim.explore.store import Known, Store, candidate_text
from sim.explore.strategies import Strategy
from sim.explore.work import Evaluator, Mode, Numbers, Outcomes
from sim.explore.workers import Pool

CHUNK = 256
"""Points of a chunk; fewer cost more each. Chunks of a sequence are the same however long it is."""
LEAST, SHARE = 32, 8
"""Of a strategy that learns, an eighth of what it asks at once, but not fewer than so many."""
FEW = 4
"""The same for the event simulator, of which a point takes long."""
POLL = 0.2
"""Seconds after which somebody looks whether Ctrl-C was pressed."""


@dataclass
class Setup:
    """What an exploration is of, and who does it."""

    evaluator: Evaluator
    strategy: Strategy
    pool: Pool
    display: Display
    total: int | None
    mode: Mode = "analytic"
    store: Store | None = None
    confirm: int = 0


@dataclass
class Found:
    """What came of an exploration."""

    candidates: tuple[Candidate, ...]
    outcomes: Outcomes
    confirmed: dict[int, Outcomes]
    finished: bool


def run(setup: Setup) -> Found:
    """Explore until the strategy asks no more, or until Ctrl-C."""
    setup.pool.begin(setup.evaluator)
    at_once = True
    try:
        with Stop() as stop:
            driver = _Driver(setup, stop)
            driver.points()
            found = driver.found()
            if setup.confirm and not stop.asked:
                found.confirmed = driver.confirm(found)
            found.finished = not stop.asked
        at_once = False
    finally:
        setup.display.close()
        setup.pool.close(at_once)
    return found


class Stop:
    """Ctrl-C: the first one asks for an end, the second one is an end."""

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if sys.stderr.isatty():
            print("\nstopping when what is under way is done; Ctrl-C again stops at once", file=sys.stderr)


@dataclass(frozen=True)
class _Chunk:
    first: int
    candidates: Sequence[Candidate]

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + len(self.candidates))


@dataclass
class _Driver:
    setup: Setup
    stop: Stop
    candidates: list[Candidate] = field(default_factory=list)
    parts: dict[int, Outcomes] = field(default_factory=dict)
    """By the number of their first point."""
    under_way: dict[Future[Outcomes], _Chunk] = field(default_factory=dict)

    def __post_init__(self) -> None:
        setup = self.setup
        self.names = setup.evaluator.names
        self.known = setup.store.read() if setup.store else Known()
        self.tally = Tally(
            setup.display, setup.total, {one.name: one.goal for one in setup.evaluator.objectives}
        )

    def points(self) -> None:
        """Ask and evaluate; chunks are given out in order, so that what is there has no holes."""
        chunks = self._chunks()
        more = True
        while True:
            while more and not self.stop.asked and len(self.under_way) < self.setup.pool.ahead:
                chunk = next(chunks, None)
                more = chunk is not None
                if chunk is None or not chunk.candidates:
                    break
                self.under_way[self.setup.pool.submit(chunk.candidates, self.setup.mode)] = chunk
            if not self.under_way and (not more or self.stop.asked):
                break
            self._collect()
        self.tally.tell(last=True)

    def _chunks(self) -> Iterator[_Chunk]:
        """What is not known yet; an empty chunk where the strategy has to be told first."""
        strategy = self.setup.strategy
        while batch := strategy.ask():
            low = len(self.candidates)
            self.candidates += batch
            size = self._size(len(batch))
            for first in range(low, len(self.candidates), size):
                chunk = _Chunk(first, self.candidates[first : first + size])
                self._compare(chunk)
                if self.known.has(chunk.numbers):
                    self._recall(chunk)
                else:
                    yield chunk
            if strategy.learns:
                while self.under_way:
                    yield _Chunk(low, ())
                strategy.tell(batch, self._values(low))

    def _size(self, count: int) -> int:
        if self.setup.mode == "events":
            return FEW
        return min(CHUNK, max(LEAST, -(-count // SHARE))) if self.setup.strategy.learns else CHUNK

    def _recall(self, chunk: _Chunk) -> None:
        """Take what the store has."""
        self.parts[chunk.first] = found = self.known.outcomes(self.names, chunk.numbers)
        self.tally.add(found, fresh=False)

    def _compare(self, chunk: _Chunk) -> None:
        """What the store has must be of the points that are asked for."""
        for number, candidate in zip(chunk.numbers, chunk.candidates, strict=True):
            kept = self.known.candidates.pop(number, None)
            if kept is not None and kept != (asked := candidate_text(candidate)):
                where = self.setup.store.path if self.setup.store else ""
                raise StoreError(
                    f"{where}: point {number} is {kept}, but {self.setup.strategy.name} asks for {asked}; "
                    f"take the number of points that it was made with, or another store"
                )

    def _collect(self) -> None:
        """Wait for a chunk and keep it."""
        done, _ = wait(self.under_way, timeout=POLL, return_when=FIRST_COMPLETED)
        for future in done:
            chunk = self.under_way.pop(future)
            found = future.result()
            self.parts[chunk.first] = found
            if self.setup.store:
                texts = [candidate_text(one) for one in chunk.candidates]
                self.setup.store.write(chunk.first, texts, found)
            self.tally.add(found)
        if not done:
            self.tally.tell()

    def _values(self, low: int) -> Numbers:
        """What the strategy is told of the points from one on."""
        parts = [self.parts[first] for first in sorted(self.parts) if first >= low]
        return told(Outcomes.joined(self.names, parts), self.setup.evaluator.objectives)

    def found(self) -> Found:
        """All points, in order."""
        parts = [self.parts.pop(first) for first in sorted(self.parts)]
        outcomes = Outcomes.joined(self.names, parts)
        del self.candidates[len(outcomes) :]
        return Found(tuple(self.candidates), outcomes, {}, True)

    def confirm(self, found: Found) -> dict[int, Outcomes]:
        """The best points by the event simulator; what the store has of them is not done again."""
        setup = self.setup
        known = setup.store.confirmed() if setup.store else {}
        numbers = best(told(found.outcomes, setup.evaluator.objectives), setup.confirm)
        confirmed = {number: known[number] for number in numbers if number in known}
        goals = {one.name: one.goal for one in setup.evaluator.objectives}
        tally = Tally(setup.display, len(numbers), goals, "confirm")
        for outcome in confirmed.values():
            tally.add(outcome, fresh=False)
        waiting = [number for number in numbers if number not in confirmed]
        under_way: dict[Future[Outcomes], int] = {}
        while under_way or (waiting and not self.stop.asked):
            while waiting and len(under_way) < setup.pool.ahead and not self.stop.asked:
                number = waiting.pop(0)
                under_way[setup.pool.submit([found.candidates[number]], "events")] = number
            done, _ = wait(under_way, timeout=POLL, return_when=FIRST_COMPLETED)
            for future in done:
                number, outcome = under_way.pop(future), future.result()
                confirmed[number] = outcome
                if setup.store:
                    setup.store.confirm(number, outcome)
                tally.add(outcome)
        tally.tell(last=True)
        return {number: confirmed[number] for number in numbers if number in confirmed}


def told(outcomes: Outcomes, objectives: Sequence[Objective]) -> Numbers:
    """Points × objectives, where small is good and what cannot be is infinite."""
    signs = np.array([1.0 if one.goal == "min" else -1.0 for one in objectives])
    values: Numbers = outcomes.matrix([one.name for one in objectives]) * signs
    values[~outcomes.feasible | np.isnan(values).any(axis=1)] = np.inf
    return values


def best(values: Numbers, count: int) -> list[int]:
    """Numbers of the best points: the Pareto front first, each objective's best in turn, then all others."""
    usable = np.isfinite(values).all(axis=1)
    front = pareto.front(values) & usable
    picked: dict[int, None] = {}
    for among in (front, usable & ~front):
        places = np.flatnonzero(among)
        orders = [places[np.argsort(values[places, k], kind="stable")] for k in range(values.shape[1])]
        for row in zip(*(order.tolist() for order in orders), strict=True):
            picked.update(dict.fromkeys(row))
    return list(picked)[:count]
