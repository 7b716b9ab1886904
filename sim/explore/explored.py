"""What came of an exploration, as values: points with their objectives, the best ones, and what matters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from sim.explore import pareto
from sim.explore.errors import ExplorationError
from sim.explore.sensitivity import Sensitivity, rank_correlation, sensitivities
from sim.explore.wording import values_text, with_unit
from sim.machine.errors import shown
from tiling.words import plain

if TYPE_CHECKING:
    from sim.explore.candidates import Candidate
    from sim.explore.objectives import Objective
    from sim.explore.space import Space
    from sim.explore.work import Outcomes
    from sim.machine.machine import Machine

Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]
COMMON = 3
"""Reasons that an error names."""


@dataclass(frozen=True, repr=False)
class Point:
    """One machine of an exploration, and what it takes."""

    number: int
    values: Mapping[str, Any]
    """By field of the space."""
    objectives: Mapping[str, float]
    """By name; nan where the point cannot be."""
    reason: str
    """Why it cannot be; empty where it can."""
    confirmed: Mapping[str, float] | None
    """The objectives as the event simulator has them, if it was asked."""
    figures: Mapping[str, float]
    """What else is known, such as the seconds of each workload."""
    space: Space
    units: Mapping[str, str]

    @property
    def machine(self) -> Machine:
        """The machine of the point, for `tj.simulate` and `tj.compile`."""
        return self.space.machine(tuple(self.values.values()))

    def __repr__(self) -> str:
        takes = [f"{name} {with_unit(value, self.units[name])}" for name, value in self.objectives.items()]
        end = f"infeasible: {plain(self.reason)}" if self.reason else ", ".join(takes)
        return f"<Point {self.number}: {values_text(self.values)}; {end}>"


@dataclass(frozen=True, slots=True)
class Difference:
    """How far the event simulator is from what was explored, in one objective."""

    objective: str
    points: int
    """How many were confirmed."""
    median: float
    """Of the differences without their signs, relative to what was explored."""
    worst: float
    """The largest difference, with its sign: positive where the event simulator finds more."""
    worst_point: int
    spearman: float
    """Correlation of the ranks: 1 where both put the machines in the same order; nan for fewer than two."""


@dataclass(frozen=True, repr=False, eq=False)
class Explored:
    """The points of an exploration, in the order in which the strategy chose them.

    Infeasible points are included, with the reason. A point is on the Pareto front if no other is at least as
    good in all objectives and better in one; equal points are all on it. Points are ranked by the figures of
    the exploration; `differences` compares these with the event simulator.
    """

    space: Space
    objectives: tuple[Objective, ...]
    candidates: tuple[Candidate, ...]
    outcomes: Outcomes
    confirmed: Mapping[int, Outcomes] = field(default_factory=dict)
    """What the event simulator says of some points, by number; each is the outcome of one point."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How it was explored: strategy, seed, points, mode, models, versions."""
    finished: bool = True
    """Whether all points were evaluated that were to be."""
    seconds: float = 0.0
    """How long it took, where results of a store took none."""

    def __post_init__(self) -> None:
        if len(self.candidates) != len(self.outcomes):
            raise ExplorationError(
                f"{len(self.candidates)} points have {len(self.outcomes)} outcomes; each has one"
            )
        strange = [number for number in self.confirmed if not 0 <= number < len(self)]
        if strange:
            raise ExplorationError(
                f"point {strange[0]} is confirmed, but there are {len(self)} points, from 0"
            )

    def __len__(self) -> int:
        return len(self.candidates)

    # Points.

    def point(self, number: int) -> Point:
        """A point by its number; the first one is 0."""
        if not 0 <= number < len(self):
            raise ExplorationError(f"there is no point {number}; there are {len(self)}, numbered from 0")
        own = {one.name for one in self.objectives}
        row = {name: float(column[number]) for name, column in self.outcomes.columns.items()}
        events = self.confirmed.get(number)
        return Point(
            number,
            dict(zip(self.space.names, self.candidates[number], strict=True)),
            {name: row[name] for name in (one.name for one in self.objectives)},
            self.reason_of[number],
            None if events is None else {name: float(events.columns[name][0]) for name in row if name in own},
            {name: value for name, value in row.items() if name not in own},
            self.space,
            {one.name: one.unit for one in self.objectives},
        )

    def machine(self, number: int) -> Machine:
        """The machine of a point."""
        return self.point(number).machine

    def front(self, distinct: bool = False) -> tuple[Point, ...]:
        """The points of the Pareto front, the first objective's best first; `distinct`: one of equal ones."""
        numbers = self.distinct_numbers if distinct else self.front_numbers
        return tuple(self.point(int(number)) for number in numbers)

    @overload
    def best(self, objective: str | None = None) -> Point: ...
    @overload
    def best(self, objective: str | None = None, *, count: int) -> tuple[Point, ...]: ...
    def best(self, objective: str | None = None, *, count: int | None = None) -> Point | tuple[Point, ...]:
        """The best point of an objective (of the first one, if none is named), or the `count` best ones."""
        ranked = self._ranked(self.objective(objective))
        if count is not None:
            return tuple(self.point(int(number)) for number in ranked[: max(count, 0)])
        if not len(ranked):
            raise ExplorationError(self._nothing())
        return self.point(int(ranked[0]))

    def objective(self, name: str | None = None) -> Objective:
        """An objective by its name; the first one, if none is given."""
        for one in self.objectives:
            if name is None or one.name == name:
                return one
        known = ", ".join(one.name for one in self.objectives)
        raise ExplorationError(
            f"{shown(name)} is not an objective of this exploration; objectives are {known}"
        )

    def reasons(self) -> dict[str, int]:
        """Why points cannot be, and how many for each reason, the most frequent first."""
        return dict(Counter(filter(None, self.reason_of)).most_common())

    # Columns: a value for each point.

    @cached_property
    def fields(self) -> dict[str, Sequence[Any]]:
        """The values of each field of the space."""
        columns = zip(*self.candidates, strict=True) if self.candidates else [()] * len(self.space.names)
        return dict(zip(self.space.names, columns, strict=True))

    @cached_property
    def values(self) -> Numbers:
        """Points × objectives; nan where a point cannot be."""
        return self.outcomes.matrix([one.name for one in self.objectives])

    @cached_property
    def reason_of(self) -> tuple[str, ...]:
        """Why each point cannot be; empty where it can. Without finite objectives it cannot."""
        reasons = list(self.outcomes.reasons)
        for number, place in np.argwhere(~np.isfinite(self.values)).tolist():
            name, value = self.objectives[place].name, self.values[number, place]
            reasons[number] = reasons[number] or f"{name} is {value:g}, which is not a finite number"
        return tuple(reasons)

    @cached_property
    def feasible(self) -> Mask:
        """Which points can be."""
        return np.array([not reason for reason in self.reason_of], np.bool_)

    @cached_property
    def on_front(self) -> Mask:
        """Which points are on the Pareto front."""
        return pareto.front(np.where(self.feasible[:, None], self._signs * self.values, np.nan))

    @cached_property
    def front_numbers(self) -> NDArray[np.intp]:
        """Numbers of the points on the front, the first objective's best first; equal ones by number."""
        numbers = np.flatnonzero(self.on_front)
        return numbers[np.lexsort((self._signs * self.values[numbers]).T[::-1])]

    @cached_property
    def distinct_numbers(self) -> NDArray[np.intp]:
        """The same without those that equal another one, of which the first is there."""
        rows = self.values[self.front_numbers]
        fresh = np.ones(len(rows), np.bool_)
        fresh[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        return self.front_numbers[fresh]

    # What follows from them.

    def sensitivity(self) -> tuple[Sensitivity, ...]:
        """How much each field matters to each objective, on its own; see `sim.explore.sensitivity`."""
        return self._sensitivity

    @cached_property
    def _sensitivity(self) -> tuple[Sensitivity, ...]:
        results = {
            one.name: np.where(self.feasible, self.values[:, place], np.nan)
            for place, one in enumerate(self.objectives)
        }
        return sensitivities(self.fields, results)

    def hypervolume(self, reference: Mapping[str, float]) -> float:
        """How much better than a reference the front is: the volume between them, of 1 to 3 objectives.

        It grows when a search finds better points, and can be compared between explorations of one reference.
        """
        missing = [one.name for one in self.objectives if one.name not in reference]
        if missing:
            raise ExplorationError(f"the reference has no {missing[0]}; it needs a value for each objective")
        corner = np.array([reference[one.name] for one in self.objectives], np.float64)
        front = self.values[self.distinct_numbers]
        try:
            return pareto.hypervolume(self._signs * front, self._signs * corner)
        except ValueError as error:
            raise ExplorationError(str(error)) from None

    def differences(self) -> tuple[Difference, ...]:
        """How far the event simulator is from what was explored, on the points that both could do."""
        return tuple(one for one in map(self._difference, self.objectives) if one is not None)

    def refused(self) -> dict[int, str]:
        """Points that were explored, but that the event simulator cannot do, with the reason."""
        return {number: one.reasons[0] for number, one in self.confirmed.items() if one.reasons[0]}

    @cached_property
    def _signs(self) -> Numbers:
        """Of objectives, so that less is better."""
        return np.array([-1.0 if one.goal == "max" else 1.0 for one in self.objectives])

    def _ranked(self, objective: Objective) -> NDArray[np.intp]:
        """Numbers of the feasible points, the best of an objective first; equal ones by number."""
        numbers = np.flatnonzero(self.feasible)
        column = self.outcomes.columns[objective.name][numbers]
        return numbers[np.argsort(-column if objective.goal == "max" else column, kind="stable")]

    def _nothing(self) -> str:
        if not len(self):
            return "there is no best point: nothing was explored"
        reasons = [f"{count:,} × {reason}" for reason, count in list(self.reasons().items())[:COMMON]]
        because = "; ".join(reasons) or "objectives are not finite"
        return f"there is no best point: none of {len(self):,} points is feasible; {because}"

    def _difference(self, objective: Objective) -> Difference | None:
        numbers = [number for number, one in self.confirmed.items() if not one.reasons[0]]
        column = self.outcomes.columns[objective.name]
        ours = column[np.array(numbers, np.intp)]
        theirs = np.array([self.confirmed[number].columns[objective.name][0] for number in numbers])
        usable = np.isfinite(ours) & np.isfinite(theirs) & ((ours != 0) | (theirs == 0))
        if not usable.any():
            return None
        ours, theirs, numbers = ours[usable], theirs[usable], np.array(numbers)[usable].tolist()
        off = np.where(ours == theirs, 0.0, theirs / np.where(ours == 0, 1.0, ours) - 1)
        worst = int(np.argmax(np.abs(off)))
        return Difference(
            objective.name,
            len(ours),
            float(np.median(np.abs(off))),
            float(off[worst]),
            numbers[worst],
            rank_correlation(ours, theirs),
        )
