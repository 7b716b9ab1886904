"""What is evaluated at a point: workloads, their figures, and the outcomes that are kept of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sim.cost.support import UnsupportedError
from sim.explore.candidates import Candidate
from sim.explore.figures import FIGURES, Figures
from sim.machine.arrays import ARRAYS, MacArray
from sim.machine.errors import MachineError
from sim.machine.machine import Machine

if TYPE_CHECKING:
    from sim.explore.objectives import Objective
    from sim.explore.space import Space
    from sim.report.report import Report

Numbers = NDArray[np.float64]
Mode = Literal["analytic", "events"]


class Impossible(Exception):
    """A workload cannot be done by a machine; says why."""


class Work(Protocol):
    """A workload; goes to each worker once."""

    @property
    def name(self) -> str:
        """What its columns are called by."""

    @property
    def weight(self) -> float:
        """Its share in sums over workloads."""

    @property
    def digest(self) -> str:
        """Of all that its figures depend on."""

    def analytic(self, machines: Sequence[Machine]) -> Figures:
        """The closed form on many machines at once."""

    def events(self, machine: Machine) -> Report:
        """The event simulator; raises `Impossible` or a `MachineError` where it cannot be."""


@dataclass(frozen=True)
class Outcomes:
    """What is known of points: columns of numbers, nan where a point cannot be, and the reasons for that."""

    columns: Mapping[str, Numbers]
    """Objectives by name; `<work>.seconds` and the like of each workload; `scratchpad_bytes`, `macs`."""
    reasons: tuple[str, ...]
    """Empty where a point is feasible."""

    def __len__(self) -> int:
        return len(self.reasons)

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Which points can be."""
        return np.array([not reason for reason in self.reasons], bool)

    @staticmethod
    def failed(names: Sequence[str], reasons: Sequence[str]) -> Outcomes:
        """Points of which nothing is known but why."""
        return Outcomes({name: np.full(len(reasons), np.nan) for name in names}, tuple(reasons))

    @staticmethod
    def joined(names: Sequence[str], parts: Sequence[Outcomes]) -> Outcomes:
        """Points one behind the other."""
        none = np.zeros(0)
        columns = {name: np.concatenate([none, *(part.columns[name] for part in parts)]) for name in names}
        return Outcomes(columns, tuple(reason for part in parts for reason in part.reasons))

    def matrix(self, names: Sequence[str]) -> Numbers:
        """Points × columns."""
        rows = np.stack([self.columns[name] for name in names], axis=1) if names else np.zeros((len(self), 0))
        return np.ascontiguousarray(rows, np.float64)


MACHINE_COLUMNS = ("scratchpad_bytes", "macs")
"""What is kept of the machine itself."""


@dataclass(frozen=True)
class Evaluator:
    """Candidates to outcomes: what a worker holds."""

    space: Space
    works: tuple[Work, ...]
    objectives: tuple[Objective, ...]
    kinds: tuple[type[MacArray], ...] = field(default_factory=lambda: tuple(_importable()))
    """Kinds of array, those that users define too: workers import their modules."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of outcomes, in order."""
        own = (f"{work.name}.{figure}" for work in self.works for figure in FIGURES)
        return tuple(dict.fromkeys((*(one.name for one in self.objectives), *own, *MACHINE_COLUMNS)))

    def __call__(self, candidates: Sequence[Candidate], mode: Mode) -> Outcomes:
        """Evaluate points; those that cannot be have the reason."""
        made = self.space.machines(candidates)
        reasons = [one if isinstance(one, str) else "" for one in made]
        places = [number for number, one in enumerate(made) if not isinstance(one, str)]
        machines = [one for one in made if not isinstance(one, str)]
        columns = {name: np.full(len(made), np.nan) for name in self.names}
        if machines:
            found = self._on(machines, mode)
            for name, values in found.columns.items():
                columns[name][places] = values
            for place, reason in zip(places, found.reasons, strict=True):
                reasons[place] = reason
        return Outcomes(columns, tuple(reasons))

    def _on(self, machines: Sequence[Machine], mode: Mode) -> Outcomes:
        figures = {work.name: self._figures(work, machines, mode) for work in self.works}
        columns = {
            f"{work}.{name}": getattr(found, name) for work, found in figures.items() for name in FIGURES
        }
        columns["scratchpad_bytes"] = np.array([one.scratchpad.bytes for one in machines], np.float64)
        columns["macs"] = np.array([one.macs_per_cycle for one in machines], np.float64)
        weights = {work.name: work.weight for work in self.works}
        for objective in self.objectives:
            columns[objective.name] = np.asarray(objective.values(figures, machines, weights), np.float64)
        reasons = [self._reason(figures, place) for place in range(len(machines))]
        lost = np.array([bool(reason) for reason in reasons])
        return Outcomes({name: np.where(lost, np.nan, one) for name, one in columns.items()}, tuple(reasons))

    def _figures(self, work: Work, machines: Sequence[Machine], mode: Mode) -> Figures:
        if mode == "analytic":
            return work.analytic(machines)
        return Figures.of([self._report(work, machine) for machine in machines])

    def _report(self, work: Work, machine: Machine) -> Report | str:
        try:
            return work.events(machine)
        except (Impossible, MachineError, UnsupportedError) as error:
            return str(error)

    def _reason(self, figures: Mapping[str, Figures], place: int) -> str:
        """Why a point cannot be: of several workloads, which one says so."""
        for name, found in figures.items():
            if found.reasons[place]:
                return f"{name}: {found.reasons[place]}" if len(figures) > 1 else found.reasons[place]
        return ""


def _importable() -> Iterator[type[MacArray]]:
    yield from (part for part in ARRAYS.values() if part.__module__ != "__main__")
