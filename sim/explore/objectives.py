"""What an exploration makes small, or large."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isnan, nan
from typing import TYPE_CHECKING, Literal

import numpy as np

from sim.explore.area import AREA, Area
from sim.explore.errors import SpaceError
from sim.explore.figures import Figures
from sim.explore.values import Numbers
from sim.machine.errors import shown
from sim.machine.machine import Machine
from tiling.words import plain

if TYPE_CHECKING:
    from sim.report.report import Report

Goal = Literal["min", "max"]
Weights = Mapping[str, float]
Measure = Callable[[Mapping[str, "Figures"], Sequence[Machine], Weights], Numbers]
"""Figures of workloads by name, the machines, and the weights of workloads, to a figure for each machine."""


LONGEST = 40
"""Characters of an objective's name: it heads a column and a line."""


@dataclass(frozen=True)
class Objective:
    """A figure of each machine, with its unit; to be minimised, or with `goal="max"` maximised."""

    name: str
    unit: str
    measure: Measure = field(repr=False, compare=False)
    goal: Goal = "min"

    def values(
        self, figures: Mapping[str, Figures], machines: Sequence[Machine], weights: Weights
    ) -> Numbers:
        """A figure for each machine, nan where a workload is infeasible."""
        return self.measure(figures, machines, weights)


def objectives(
    given: Sequence[str | Objective | Callable[[Report], float]] | str, area: Area = AREA
) -> tuple[Objective, ...]:
    """Objectives by name, as they are, or from functions of a report, which are called as the function is."""
    found = [_objective(one, area) for one in ([given] if isinstance(given, str) else given)]
    names = [one.name for one in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice or not found:
        text = (
            f"{twice[0]} is given twice" if twice else f"none is given; choose from {', '.join(OBJECTIVES)}"
        )
        raise SpaceError(f"objectives: {text}")
    return tuple(found)


def of_report(
    function: Callable[[Report], float], name: str = "", unit: str = "", goal: Goal = "min"
) -> Objective:
    """An objective that a function says of the report of each workload; of several, the sum by weights.

    Reports are the event simulator's: `mode="events"`. What the function raises, the exploration raises.
    """
    name = name or getattr(function, "__name__", "")
    if not name.replace("_", "").isalnum() or plain(name, LONGEST) != name:
        raise SpaceError(
            f"{shown(name)} cannot name an objective; use up to {LONGEST} letters, digits and underscores, "
            "as in of_report(function, 'name')"
        )
    return Objective(name, unit, _OfReport(function, name), goal)


@dataclass(frozen=True)
class _Total:
    """The sum of a figure over workloads, by their weights."""

    figure: str

    def __call__(
        self, figures: Mapping[str, Figures], machines: Sequence[Machine], weights: Weights
    ) -> Numbers:
        total = np.zeros(len(machines))
        for name, one in figures.items():
            total += weights[name] * np.asarray(getattr(one, self.figure), np.float64)
        return total


@dataclass(frozen=True)
class _Area:
    """mm² of machines."""

    area: Area

    def __call__(
        self, figures: Mapping[str, Figures], machines: Sequence[Machine], weights: Weights
    ) -> Numbers:
        return self.area.of(machines)


@dataclass(frozen=True)
class _OfReport:
    """The sum of what a function says of reports."""

    function: Callable[[Report], float]
    name: str

    def __call__(
        self, figures: Mapping[str, Figures], machines: Sequence[Machine], weights: Weights
    ) -> Numbers:
        total = np.zeros(len(machines))
        for name, one in figures.items():
            if len(one.reports) != len(machines):
                text = f"{self.name} needs the reports of the event simulator; explore with mode='events'"
                raise SpaceError(text)
            total += weights[name] * np.array([self._of(report) for report in one.reports])
        return total

    def _of(self, report: Report | None) -> float:
        if report is None:
            return nan
        value = self.function(report)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = nan
        if isnan(number):
            raise SpaceError(
                f"{self.name} returned {shown(value)} for {report.program}, but an objective must be a number"
            )
        return number


def _energy_delay(figures: Mapping[str, Figures], machines: Sequence[Machine], weights: Weights) -> Numbers:
    joules, seconds = _Total("joules"), _Total("seconds")
    return joules(figures, machines, weights) * seconds(figures, machines, weights)


def _scratchpad(figures: Mapping[str, Figures], machines: Sequence[Machine], weights: Weights) -> Numbers:
    return np.array([one.scratchpad.bytes for one in machines], np.float64)


OBJECTIVES = {
    one.name: one
    for one in (
        Objective("latency", "s", _Total("seconds")),
        Objective("energy", "J", _Total("joules")),
        Objective("energy_delay", "J s", _energy_delay),
        Objective("cycles", "cycles", _Total("cycles")),
        Objective("offchip_bytes", "bytes", _Total("offchip_bytes")),
        Objective("scratchpad_bytes", "bytes", _scratchpad),
        Objective("area", "mm²", _Area(AREA)),
    )
}
"""By name; those of workloads are sums by weights, energy-delay is of the sums."""


def _objective(given: str | Objective | Callable[[Report], float], area: Area) -> Objective:
    if isinstance(given, Objective):
        return given
    if callable(given):
        return of_report(given)
    if given == "area":
        return Objective("area", "mm²", _Area(area))
    if isinstance(given, str) and given in OBJECTIVES:
        return OBJECTIVES[given]
    near = get_close_matches(str(given).replace("-", "_"), OBJECTIVES, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(OBJECTIVES)}"
    raise SpaceError(f"{shown(given)} is not an objective; {hint}")
