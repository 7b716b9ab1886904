"""How far an exploration is: a bar on a terminal, a line in a notebook, or whatever a caller makes of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from sim.bar import bar_text, in_notebook
from sim.explore.work import Outcomes
from tiling.words import plain

EVERY = 0.2
"""Seconds between two times that somebody is told."""


@dataclass(frozen=True)
class Progress:
    """How far an exploration is."""

    done: int
    """Points that are known, infeasible ones and those of the store among them."""
    total: int | None
    """How many there will be, if that is known."""
    rate: float
    """Points a second, without those of the store."""
    infeasible: int
    best: Mapping[str, float]
    """The best value so far of each objective that has one."""
    seconds: float
    phase: Literal["points", "confirm"] = "points"

    @property
    def seconds_left(self) -> float | None:
        """The time that is left, if that can be said."""
        if self.total is None or not self.rate:
            return None
        return (self.total - self.done) / self.rate

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        words = [f"{self.done:,}{of} {'points' if self.phase == 'points' else 'confirmed'}"]
        words += [f"{self.rate:,.0f} a second" if self.rate >= 10 else f"{self.rate:.2g} a second"]
        left = self.seconds_left
        words += [f"{_time(left)} left"] if left is not None else []
        words += [f"{self.infeasible:,} infeasible"] if self.infeasible else []
        best = ", ".join(f"{plain(name)} {value:.4g}" for name, value in self.best.items())
        return ", ".join(words) + (f"; best {best}" if best else "")


Watch = Callable[[Progress], object]


class Display(Protocol):
    """Shows progress, and cleans up behind itself."""

    def __call__(self, progress: Progress) -> None:
        """Show it."""

    def close(self) -> None:
        """Nothing more comes."""


class Terminal:
    """A bar with what is known, on the last line of a terminal."""

    drawn = False

    def __call__(self, progress: Progress) -> None:
        """Draw over what was there."""
        bar = f"{bar_text(progress.done, progress.total)} " if progress.total else ""
        print(f"\r{bar}{progress}\033[K", end="", file=sys.stderr, flush=True)
        self.drawn = True

    def close(self) -> None:
        """Wipe it away."""
        if self.drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Notebook:
    """A line of text below a cell."""

    handle: Any = None

    def __call__(self, progress: Progress) -> None:
        """Write over what was there."""
        from IPython.display import display

        data = {"text/plain": str(progress)}
        if self.handle is None:
            self.handle = display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)

    def close(self) -> None:
        """The last line stays."""


class Silent:
    """Nobody looks."""

    def __call__(self, progress: Progress) -> None:
        """Nothing is shown."""

    def close(self) -> None:
        """Nothing is left."""


@dataclass
class Told:
    """A caller's function."""

    watch: Watch

    def __call__(self, progress: Progress) -> None:
        """Tell the caller."""
        self.watch(progress)

    def close(self) -> None:
        """Nothing is left."""


def display_for(progress: Watch | bool | None) -> Display:
    """What shows progress: a caller's function, nothing (False), or what suits where we are."""
    if callable(progress):
        return Told(progress)
    if progress is False:
        return Silent()
    if in_notebook():
        return Notebook()
    return Terminal() if sys.stderr.isatty() else Silent()


@dataclass
class Tally:
    """Counts points as they come, and tells the display now and then."""

    display: Display
    total: int | None
    goals: Mapping[str, Literal["min", "max"]]
    phase: Literal["points", "confirm"] = "points"
    done: int = 0
    fresh: int = 0
    infeasible: int = 0
    best: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    told: float = 0.0

    def add(self, outcomes: Outcomes, fresh: bool = True) -> None:
        """Count points; `fresh` ones were evaluated now."""
        self.done += len(outcomes)
        self.fresh += len(outcomes) if fresh else 0
        self.infeasible += sum(1 for reason in outcomes.reasons if reason)
        for name, goal in self.goals.items():
            values = outcomes.columns[name]
            values = values[~np.isnan(values)]
            if len(values):
                better = min if goal == "min" else max
                found = float(better(values))
                self.best[name] = better(self.best.get(name, found), found)
        self.tell()

    def tell(self, last: bool = False) -> None:
        """Show how far it is, if that was not done just now."""
        now = time.monotonic()
        if last or now - self.told >= EVERY:
            self.told = now
            self.display(self.progress)

    @property
    def progress(self) -> Progress:
        """How far it is."""
        seconds = time.monotonic() - self.started
        rate = self.fresh / seconds if seconds else 0.0
        return Progress(self.done, self.total, rate, self.infeasible, dict(self.best), seconds, self.phase)


def _time(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
