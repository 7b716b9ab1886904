"""How much each parameter of a space matters to an objective.

The measure is the share of the objective's variance that the parameter explains on its own (the correlation
ratio η², which estimates the first-order index of Sobol): points are grouped by the parameter's value, and
the variance of the groups' means is divided by the variance of all points. Many different numbers are
grouped by size, into groups with as many points each. Of points that are not all combinations of their
values, what groups explain by chance is taken off (ε² of T. L. Kelley, PNAS 21 (1935) 554), so that a
parameter without influence has about zero. Shares of independent parameters sum to at most one; the rest is
interplay of several, and what grouping hides.

Objectives that are positive everywhere are taken by their logarithm: it is ratios that count. Only points
with a finite objective are looked at; where constraints or failures leave out many, parameters depend on
each other, and shares may overlap.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
Places = NDArray[np.intp]
Values = Sequence[Any] | NDArray[Any]

GROUPS = 32
"""Different numbers that are a group each; more are grouped by size."""
MEMBERS = 10
"""Points that a group of different numbers has, at least."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What one parameter does to one objective."""

    field: str
    objective: str
    share: float
    """Of the variance that it explains on its own, from 0 to 1; nan where nothing can be said."""
    direction: float | None
    """Rank correlation, from −1 (more of it lowers the objective) to 1; None where values have no order."""
    lowest: Any
    """The value, or middle of a group of values, whose mean objective is lowest; None without points."""
    highest: Any
    groups: int
    """Of how many values, or groups of them."""
    points: int
    """How many had a finite objective."""


def sensitivities(
    fields: Mapping[str, Values], objectives: Mapping[str, ArrayLike]
) -> tuple[Sensitivity, ...]:
    """What each parameter does to each objective, from their values at the same points."""
    made, before = [], None
    for objective, results in objectives.items():
        numbers = np.asarray(results, np.float64)
        kept = np.flatnonzero(np.isfinite(numbers))
        found = numbers[kept]
        if len(found) and (found > 0).all():
            found = np.log(found)
        if before is None or not np.array_equal(before, kept):
            chosen = {name: _Column.of(values, kept) for name, values in fields.items()}
            whole, before = _all_combinations(list(chosen.values()), len(kept)), kept
        made += [_sensitivity(name, column, objective, found, whole) for name, column in chosen.items()]
    return tuple(made)


def explained(place: Places, results: Numbers, whole: bool = False) -> tuple[float, Numbers]:
    """The share of the variance that groups explain, and their means.

    What they would explain by chance is taken off, unless the points are the whole of what there is.
    """
    if not len(results):
        return np.nan, np.empty(0)
    sizes = np.bincount(place)
    centred = results - results.mean()
    means = np.bincount(place, centred) / sizes
    total, within = float(centred @ centred), float(((centred - means[place]) ** 2).sum())
    if total <= 1e-20 * float(results @ results):  # constant, up to rounding
        return 0.0, means
    count, groups = len(results), len(sizes)
    if groups == 1:
        return 0.0, means
    if count <= groups and not whole:
        return np.nan, means
    chance = 1.0 if whole else (count - 1) / (count - groups)
    return min(max(1 - within / total * chance, 0.0), 1.0), means


def rank_correlation(one: ArrayLike, other: ArrayLike) -> float:
    """Spearman's: of ranks, equal values having their mean one; nan where either does not vary."""
    first, second = (_ranks(np.asarray(values, np.float64)) for values in (one, other))
    size = float(np.sqrt((first @ first) * (second @ second)))
    return min(max(float(first @ second) / size, -1.0), 1.0) if size else np.nan


def numbers_of(values: Values) -> Numbers | None:
    """Numbers and truth values as numbers; None where some value is neither."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if all(isinstance(value, (bool, int, float)) for value in values):
        return np.asarray(values, np.float64)
    return None


def level_of(value: Any) -> str:
    """What tells values apart that are no numbers: how JSON writes them."""
    return json.dumps(value, sort_keys=True)


@dataclass(frozen=True, slots=True)
class _Column:
    """The values of a parameter, in groups."""

    place: Places
    """The group of each point."""
    middles: tuple[Any, ...]
    """A value of each group, from its middle."""
    numbers: Numbers | None
    """None where values have no order."""
    different: int

    @staticmethod
    def of(values: Values, kept: Places) -> _Column:
        """The values at some of the points."""
        every = numbers_of(values)
        if every is None:
            levels: dict[str, int] = {}
            names = [level_of(values[number]) for number in kept]
            place = np.array([levels.setdefault(name, len(levels)) for name in names], np.intp)
            different, numbers = len(levels), None
        else:
            numbers = every[kept]
            unique, place = np.unique(numbers, return_inverse=True)
            different = len(unique)
            if different > GROUPS:
                place = _by_size(numbers)
        order = np.argsort(place, kind="stable") if numbers is None else np.lexsort((numbers, place))
        ends = np.cumsum(np.bincount(place)) if len(place) else np.empty(0, np.intp)
        starts = np.r_[0, ends[:-1]] if len(ends) else ends
        middles = [values[kept[order[middle]]] for middle in (starts + ends - 1) // 2]
        plain = tuple(one.item() if isinstance(one, np.generic) else one for one in middles)
        return _Column(place, plain, numbers, different)


def _by_size(numbers: Numbers) -> Places:
    """Groups with about as many points each; equal numbers are in one group."""
    count = min(max(len(numbers) // MEMBERS, 2), GROUPS)
    edges = np.quantile(numbers, np.linspace(0, 1, count + 1)[1:-1])
    place = np.searchsorted(edges, numbers, side="right")
    return np.unique(place, return_inverse=True)[1]


def _all_combinations(columns: Sequence[_Column], count: int) -> bool:
    """Whether the points are all combinations of the values of all parameters, each as often."""
    cells = prod(column.different for column in columns)
    if not count or count % cells or any(column.different > GROUPS for column in columns):
        return False
    shape = tuple(column.different for column in columns)
    used = np.bincount(np.ravel_multi_index([column.place for column in columns], shape), minlength=cells)
    return bool((used == count // cells).all())


def _sensitivity(field: str, column: _Column, objective: str, found: Numbers, whole: bool) -> Sensitivity:
    share, means = explained(column.place, found, whole)
    return Sensitivity(
        field,
        objective,
        share,
        direction=None if column.numbers is None else rank_correlation(column.numbers, found),
        lowest=column.middles[int(np.argmin(means))] if column.middles else None,
        highest=column.middles[int(np.argmax(means))] if column.middles else None,
        groups=len(column.middles),
        points=len(found),
    )


def _ranks(values: Numbers) -> Numbers:
    """From the middle rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place]) - (len(values) + 1) / 2
