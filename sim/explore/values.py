"""What a field may be: lists and ranges, and both as numbered values and as places between 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import ceil, floor, isfinite, log
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sim.explore.errors import SpaceError
from sim.machine.errors import shown
from sim.machine.figures import plain

Value = Any  # numbers, strings, booleans, None, dictionaries: what JSON has
Numbers = NDArray[np.float64]
Scale = Literal["linear", "log", "power_of_two"]
SCALES: tuple[Scale, ...] = ("linear", "log", "power_of_two")
MOST_STEPS = 100_000
"""More values than this one by one are a slip; a range with a step can have more."""


class Axis(Protocol):
    """The values of one field."""

    @property
    def size(self) -> int | None:
        """How many values there are; None where any number between two is one."""

    @property
    def ordered(self) -> bool:
        """Whether neighbours are alike."""

    def value(self, number: int) -> Value:
        """A value by its number."""

    def at(self, places: Numbers) -> list[Value]:
        """Values by their places, from 0 up to but not 1, which are equally likely."""


@dataclass(frozen=True)
class Choices:
    """Values one by one."""

    options: tuple[Value, ...]

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.options)

    @property
    def ordered(self) -> bool:
        """Whether they are numbers that rise or fall."""
        numbers = [one for one in self.options if isinstance(one, int | float) and not isinstance(one, bool)]
        return len(numbers) == len(self.options) and numbers in (sorted(numbers), sorted(numbers)[::-1])

    def value(self, number: int) -> Value:
        """A value by its number."""
        return self.options[number]

    def at(self, places: Numbers) -> list[Value]:
        """Values by their places."""
        return [self.options[number] for number in _numbers(places, self.size)]


@dataclass(frozen=True)
class Lattice:
    """`low + number * step`, never above `high`; with `logarithmic` places, each octave is as likely."""

    low: float
    step: float
    size: int
    high: float
    logarithmic: bool = False
    ordered: bool = True

    def value(self, number: int) -> Value:
        """A value by its number."""
        return min(self.low + number * self.step, self.high)

    def at(self, places: Numbers) -> list[Value]:
        """Values by their places."""
        numbers = _numbers(places, self.size)
        if self.logarithmic:
            reached = _between(self.low, self.high, places, True)
            numbers = [round(one) for one in ((reached - self.low) / self.step).tolist()]
        return [self.value(min(max(number, 0), self.size - 1)) for number in numbers]


@dataclass(frozen=True)
class Continuous:
    """Any number from low to high."""

    low: float
    high: float
    logarithmic: bool = False
    size: None = None
    ordered: bool = True

    def value(self, number: int) -> Value:
        """There are no numbers of values."""
        fault = f"{plain(self.low)} to {plain(self.high)} is continuous"
        raise SpaceError(f"{fault}; give the range a step or a number of steps")

    def at(self, places: Numbers) -> list[Value]:
        """Values by their places."""
        found: list[Value] = _between(self.low, self.high, places, self.logarithmic).tolist()
        return found


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, on a linear or logarithmic scale or the powers of two among them.

    `steps` is the number of values, including both ends; `step` is the distance between neighbours (their
    ratio on a logarithmic scale). Without either, all numbers are meant, whole ones for a whole-number field.
    """

    low: float
    high: float
    scale: Scale = "linear"
    steps: int | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        fault = self._fault()
        if fault:
            raise SpaceError(fault)

    def axis(self, whole: bool) -> Axis:
        """The values, for a field of whole numbers or of others."""
        if self.scale == "power_of_two":
            return Choices(tuple(_kept(2.0**power, whole) for power in self._powers()))
        if self.steps is not None or (self.step is not None and self.scale == "log"):
            return self._listed(whole)
        if self.step is not None:
            if whole and not (_is_whole(self.low) and _is_whole(self.step)):
                raise SpaceError(f"{self} has values that are not whole; low and step must be whole")
            low, step = (int(self.low), int(self.step)) if whole else (self.low, self.step)
            high = floor(self.high) if whole else self.high
            return Lattice(low, step, self._count(), high)
        if whole:
            low, high = ceil(self.low), floor(self.high)
            if high < low:
                raise SpaceError(f"{self} has no whole number")
            return Lattice(low, 1, high - low + 1, high, self.scale == "log")
        return Continuous(self.low, self.high, self.scale == "log")

    def to_dict(self) -> dict[str, Any]:
        """The range as in a file."""
        return {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if getattr(self, one.name) != one.default
        }

    @staticmethod
    def from_dict(tree: Mapping[str, Any]) -> Range:
        """The range from a file's table: `{low: 1, high: 64, scale: log, steps: 7}`."""
        known = [one.name for one in fields(Range)]
        strange = [name for name in tree if name not in known]
        if strange:
            raise SpaceError(f"{shown(strange[0])} is not a key of a range; keys are {', '.join(known)}")
        if "low" not in tree or "high" not in tree:
            raise SpaceError("a range has low and high, e.g. {low: 8, high: 64, scale: log, steps: 4}")
        return Range(**tree)

    @property
    def manner(self) -> str:
        """The scale and the steps in words, if there is anything to say."""
        scale = "" if self.scale == "linear" else f", {self.scale.replace('_', ' ')}"
        steps = f", {self.steps} steps" if self.steps is not None else ""
        return scale + steps + (f", step {plain(self.step)}" if self.step is not None else "")

    def __str__(self) -> str:
        return f"{plain(self.low)} to {plain(self.high)}{self.manner}"

    def _fault(self) -> str:
        for name in ("low", "high", "step"):
            value = getattr(self, name)
            if value is not None or name != "step":
                if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
                    return f"{name}: {shown(value)} is not a number, such as 8 or 1e9"
        if self.scale not in SCALES:
            return f"scale: {shown(self.scale)} is not one of {', '.join(SCALES)}"
        return self._disorder() or self._fault_of_steps()

    def _disorder(self) -> str:
        if self.low >= self.high:
            return (
                f"low is {plain(self.low)}, but must be below high, {plain(self.high)}; one value is a list"
            )
        if self.scale != "linear" and self.low <= 0:
            return f"low is {plain(self.low)}, but a scale that is {self.scale} begins above 0"
        span = self.high / self.low if self.scale == "log" else self.high - self.low
        if not isfinite(span):
            return f"{plain(self.low)} and {plain(self.high)} are too far apart; take a smaller range"
        return ""

    def _fault_of_steps(self) -> str:
        if self.steps is not None and self.step is not None:
            return "steps and step are both given; take one of them"
        if self.scale == "power_of_two":
            if self.steps is not None or self.step is not None:
                return "powers of two have no steps and no step; leave them out"
            return "" if len(self._powers()) else f"{self} has no power of two"
        if self.steps is not None and not _is_count(self.steps):
            return f"steps: {shown(self.steps)} is not a number of values; 2 to {MOST_STEPS}"
        if self.step is None:
            return ""
        least = 1 if self.scale == "log" else 0
        if self.step <= least:
            return f"step is {plain(self.step)}, but must be above {least}"
        if self.scale == "linear" and not isfinite((self.high - self.low) / self.step):
            ends = f"{plain(self.low)} to {plain(self.high)}"
            return f"step is {plain(self.step)}, too small for {ends}; take a larger one"
        if self.scale == "log" and self._count() > MOST_STEPS:
            return (
                f"step {self.step!r} gives {self._count()} values, more than {MOST_STEPS}; take a larger one"
            )
        return ""

    def _powers(self) -> range:
        first, last = ceil(log(self.low, 2) - 1e-9), floor(log(self.high, 2) + 1e-9)
        return range(first, last + 1)

    def _count(self) -> int:
        assert self.step is not None
        if self.scale == "log":
            return floor(log(self.high / self.low) / log(self.step) + 1e-9) + 1
        return floor((self.high - self.low) / self.step + 1e-9) + 1

    def _listed(self, whole: bool) -> Choices:
        if self.steps is not None:
            places = np.arange(self.steps) / (self.steps - 1)
            found = _between(self.low, self.high, places, self.scale == "log").tolist()
            found[0], found[-1] = self.low, self.high
        else:
            assert self.step is not None
            found = [min(self.low * self.step**number, self.high) for number in range(self._count())]
        return Choices(tuple(dict.fromkeys(_kept(one, whole) for one in found)))


def _kept(value: float, whole: bool) -> float:
    return floor(value + 0.5) if whole else float(value)


def _between(low: float, high: float, places: Numbers, logarithmic: bool) -> Numbers:
    if logarithmic:
        found = low * np.exp(places * log(high / low))
    else:
        found = low + (high - low) * places
    return np.clip(found, low, high)


def _numbers(places: Numbers, size: int) -> list[int]:
    """The numbers of values at places, also of more values than 64 bits count."""
    if size < 1 << 52:
        found: list[int] = np.minimum((places * size).astype(np.int64), size - 1).tolist()
        return found
    return [min(int(place * size), size - 1) for place in places.tolist()]


def _is_whole(value: float) -> bool:
    return value == int(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 2 <= value <= MOST_STEPS


def _finite(value: float) -> bool:
    return isfinite(value) if isinstance(value, float) else -1e300 < value < 1e300
