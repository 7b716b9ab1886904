"""What an exploration makes small (or large)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from sim.explore.errors import SpaceError
from sim.machine.errors import shown
from sim.machine.machine import Machine

if TYPE_CHECKING:
    from sim.explore.work import Figures
    from sim.report.report import Report

Numbers = NDArray[np.float64]
Measure = Callable[[Mapping[str, "Figures"], Sequence[Machine], Mapping[str, float]], Numbers]


@dataclass(frozen=True)
class Objective:
    """A figure of each machine, with its unit; the least is the best, or with `goal="max"` the most."""

    name: str
    unit: str
    measure: Measure = field(repr=False, compare=False)
    goal: Literal["min", "max"] = "min"

    def values(
        self, figures: Mapping[str, Figures], machines: Sequence[Machine], weights: Mapping[str, float]
    ) -> Numbers:
        """A figure for each machine, from those of each workload."""
        return self.measure(figures, machines, weights)


@dataclass(frozen=True)
class Total:
    """The sum of a figure over workloads, by their weights."""

    figure: str

    def __call__(
        self, figures: Mapping[str, Figures], machines: Sequence[Machine], weights: Mapping[str, float]
    ) -> Numbers:
        total = np.zeros(len(machines))
        for name, one in figures.items():
            total += weights[name] * np.asarray(getattr(one, self.figure), np.float64)
        return total


def _energy_delay(
    figures: Mapping[str, Figures], machines: Sequence[Machine], weights: Mapping[str, float]
) -> Numbers:
    joules, seconds = Total("joules"), Total("seconds")
    return joules(figures, machines, weights) * seconds(figures, machines, weights)


def _scratchpad(
    figures: Mapping[str, Figures], machines: Sequence[Machine], weights: Mapping[str, float]
) -> Numbers:
    return np.array([one.scratchpad.bytes for one in machines], np.float64)


LATENCY = Objective("latency", "s", Total("seconds"))
ENERGY = Objective("energy", "J", Total("joules"))
ENERGY_DELAY = Objective("energy_delay", "Js", _energy_delay)
CYCLES = Objective("cycles", "cycles", Total("cycles"))
OFFCHIP_BYTES = Objective("offchip_bytes", "bytes", Total("offchip_bytes"))
SCRATCHPAD_BYTES = Objective("scratchpad_bytes", "bytes", _scratchpad)
OBJECTIVES = {
    one.name: one for one in (LATENCY, ENERGY, ENERGY_DELAY, CYCLES, OFFCHIP_BYTES, SCRATCHPAD_BYTES)
}


def objectives(given: Sequence[str | Objective | Callable[[Report], float]]) -> tuple[Objective, ...]:
    """Objectives by name, or as they are."""
    found = []
    for one in given:
        if isinstance(one, Objective):
            found.append(one)
        elif isinstance(one, str) and one in OBJECTIVES:
            found.append(OBJECTIVES[one])
        else:
            raise SpaceError(f"{shown(one)} is no objective; there are {', '.join(OBJECTIVES)}")
    return tuple(found)
