"""Tables of an objective by two fields: what heat maps show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sim.explore.scales import is_wide
from sim.explore.sensitivity import level_of, numbers_of
from sim.explore.wording import tight, unit_of, value_text, with_unit

MOST = 16
"""Different values of a field that have a row or a column each."""
GROUPS = 10
"""Rows or columns of fields with more."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows or columns: which one each point is in, and what is written beside them."""

    place: NDArray[np.intp]
    ticks: tuple[float, ...]
    """In the middle of a value, or between groups of values."""
    labels: tuple[str, ...]
    count: int

    def __len__(self) -> int:
        return self.count


def groups(name: str, values: Sequence[Any]) -> Groups:
    """Each different value a group or, of many numbers, groups of equal width."""
    numbers = numbers_of(values)
    keys = [level_of(value) for value in values] if numbers is None else numbers.tolist()
    known = dict(zip(keys, values, strict=True))
    if numbers is not None and len(known) > MOST:
        return _ranges(name, numbers)
    order = {key: place for place, key in enumerate(sorted(known))}
    labels = tuple(value_text(name, known[key]) for key in order)
    ticks = tuple(place + 0.5 for place in range(len(order)))
    return Groups(np.array([order[key] for key in keys], np.intp), ticks, labels, len(order))


def cells(
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    results: NDArray[np.float64],
    shape: tuple[int, int],
    take: Literal["min", "max", "median"],
) -> NDArray[np.float64]:
    """The least, largest or middle result of the points in each cell; nan where there are none."""
    place = np.ravel_multi_index((rows, columns), shape)
    order = np.lexsort((results, place))
    counts = np.bincount(place, minlength=shape[0] * shape[1])
    ends = np.cumsum(counts)
    starts = ends - counts
    used = counts > 0
    table = np.full(len(counts), np.nan)
    at = {"min": (starts, starts), "max": (ends - 1, ends - 1)}
    low, high = at.get(take, ((starts + ends - 1) // 2, (starts + ends) // 2))
    table[used] = (results[order[low[used]]] + results[order[high[used]]]) / 2
    return table.reshape(shape)


def _ranges(name: str, numbers: NDArray[np.float64]) -> Groups:
    """Equal on a logarithmic scale, if the numbers differ much."""
    low, high = float(numbers.min()), float(numbers.max())
    space = np.geomspace if is_wide(numbers) else np.linspace
    edges = space(low, high, GROUPS + 1)
    place = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, GROUPS - 1)
    labels = tuple(tight(with_unit(float(edge), unit_of(name))) for edge in edges)
    return Groups(place, tuple(map(float, range(GROUPS + 1))), labels, GROUPS)
