"""The points that no other point beats.

All objectives are minimised. A point beats another if it is at least as good in every objective and better
in one; equal points do not beat each other, so that all of them are on the front, or none is. A point with
nan or +∞ in an objective is no result: it is not on the front, and beats nothing. −∞ is a value like others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]

SMALL = 128
"""Points of which every one is held against every other."""
PAIRS = 1 << 14
"""Pairs of points that are compared at once."""


def front(values: ArrayLike) -> Mask:
    """Which of n points × k objectives are on the Pareto front."""
    table = _table(values)
    usable = (table < np.inf).all(axis=1)  # false for nan, too
    rows, place = _distinct(table[usable])
    best = np.zeros(len(rows), np.bool_)
    best[_best(rows)] = True
    found = np.zeros(len(table), np.bool_)
    found[usable] = best[place]
    return found


def hypervolume(values: ArrayLike, reference: ArrayLike) -> float:
    """How much of the space up to the reference the points beat, for one to three objectives."""
    table, corner = _table(values), np.asarray(reference, np.float64)
    if corner.shape != table.shape[1:] or not 1 <= corner.size <= 3:
        raise ValueError(
            f"a hypervolume needs a reference of 1 to 3 numbers, one for each objective; "
            f"there are {table.shape[1]} objectives and a reference of shape {corner.shape}"
        )
    inside = table[(table < corner).all(axis=1)]
    rows, _ = _distinct(inside)
    return _volume(rows[_best(rows)], corner)


def _table(values: ArrayLike) -> Values:
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or not table.shape[1]:
        raise ValueError(f"points are rows of one or more objectives, not an array of shape {table.shape}")
    return table


def _distinct(table: Values) -> tuple[Values, NDArray[np.intp]]:
    """Different points, sorted by the first objective, then the second …; and where each point went."""
    order = np.lexsort(table.T[::-1])
    rows = table[order]
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    place = np.empty(len(rows), np.intp)
    place[order] = np.cumsum(fresh) - 1
    return rows[fresh], place


def _best(rows: Values) -> NDArray[np.intp]:
    """Numbers of the sorted, different points that no other point dominates: only earlier ones can.

    Divide and conquer of H. T. Kung, F. Luccio, F. P. Preparata, J. ACM 22 (1975) 469.
    """
    count, objectives = rows.shape
    if objectives == 1:
        return np.arange(min(count, 1))
    if objectives == 2:
        least = np.minimum.accumulate(rows[:, 1])
        better = np.ones(count, np.bool_)
        better[1:] = rows[1:, 1] < least[:-1]
        return np.flatnonzero(better)
    if count <= SMALL:
        beaten = _no_worse(rows, rows) & ~np.eye(count, dtype=np.bool_)
        return np.flatnonzero(~beaten.any(axis=0))
    middle = count // 2
    first, second = _best(rows[:middle]), _best(rows[middle:]) + middle
    return np.concatenate([first, second[~_beaten(rows[first, 1:], rows[second, 1:])]])


def _no_worse(ours: Values, theirs: Values) -> Mask:
    """For each pair whether one of ours is at least as good as one of theirs."""
    found: Mask = ours[:, None, 0] <= theirs[None, :, 0]
    for objective in range(1, ours.shape[1]):
        found &= ours[:, None, objective] <= theirs[None, :, objective]
    return found


def _beaten(ours: Values, theirs: Values) -> Mask:
    """Which of theirs are no better in any of two or more objectives than some one of ours."""
    if not len(ours) or not len(theirs):
        return np.zeros(len(theirs), np.bool_)
    if ours.shape[1] == 2:
        return _beaten_in_two(ours, theirs)
    if len(ours) * len(theirs) <= PAIRS:
        return np.asarray(_no_worse(ours, theirs).any(axis=0))
    if ours[:, 0].max() <= theirs[:, 0].min():
        return _beaten(ours[:, 1:], theirs[:, 1:])
    middle = _between(np.r_[ours[:, 0], theirs[:, 0]])
    low, lower = ours[:, 0] <= middle, theirs[:, 0] <= middle
    found = np.empty(len(theirs), np.bool_)
    found[lower] = _beaten(ours[low], theirs[lower])
    higher = np.flatnonzero(~lower)
    found[higher] = _beaten(ours[low][:, 1:], theirs[higher][:, 1:])
    rest = higher[~found[higher]]
    found[rest] = _beaten(ours[~low], theirs[rest])
    return found


def _beaten_in_two(ours: Values, theirs: Values) -> Mask:
    """The same for two objectives: the least second one of all whose first one is no worse."""
    order = np.argsort(ours[:, 0], kind="stable")
    least = np.r_[np.inf, np.minimum.accumulate(ours[order, 1])]
    return np.asarray(theirs[:, 1] >= least[np.searchsorted(ours[order, 0], theirs[:, 0], side="right")])


def _between(values: Values) -> float:
    """A value that some are not above, and others are: the middle one, or the largest below the largest."""
    middle, largest = np.partition(values, len(values) // 2)[len(values) // 2], values.max()
    return float(middle if middle < largest else values[values < largest].max())


def _volume(rows: Values, corner: Values) -> float:
    """Of points on a front, sorted by their first objective."""
    if not len(rows):
        return 0.0
    if corner.size == 1:
        return float(corner[0] - rows[0, 0])
    widths = np.diff(np.r_[rows[:, 0], corner[0]])
    if corner.size == 2:
        return float(widths @ (corner[1] - rows[:, 1]))
    total = 0.0
    for count, width in enumerate(widths, 1):
        if width:
            seen, _ = _distinct(rows[:count, 1:])
            total += float(width) * _volume(seen[_best(seen)], corner[1:])
    return total
