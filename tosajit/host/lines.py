"""Tables of bytes that are the greatest or the least of two lines, which integers of 16 bits compute.

Those of leaky, clipped and parametric units and of changes of scale are. A line of a byte x is
`((256 x + low) slope >> 16) + offset >> SHIFT`. Slopes to try follow from pairs of entries; a table is
taken for lines only if all of its entries are theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tosajit.arrays import Array
from tosajit.kernels.contract.agreed import SHIFT

X = np.arange(-128, 128)
LEAST, GREATEST = -128, 127
WITHIN = (0, 4, 12)
"""Entries from the end of a line that may belong to the other one."""
SLOPES = 48
"""Slopes that are tried of each of these."""
LOWS = range(0, 256, 16)
ROOM = 1 << 15


class Line(NamedTuple):
    """One of two."""

    slope: int
    offset: int


class Lines(NamedTuple):
    """A table as two lines."""

    low: int
    first: Line
    second: Line
    greatest: bool

    @property
    def table(self) -> Array:
        """All entries."""
        lines = [((256 * X + self.low) * slope >> 16) + offset for slope, offset in self[1:3]]
        chosen = (np.maximum if self.greatest else np.minimum)(*lines) >> SHIFT
        entries: Array = chosen.clip(LEAST, GREATEST).astype(np.int8)
        return entries


@lru_cache(maxsize=256)
def lines_of(table: bytes) -> Lines | None:
    """The lines that a table is; its entries are in the order of their bytes from -128."""
    entries = np.frombuffer(table, np.int8).astype(np.int64)
    slopes = _slopes(entries)
    if slopes is None:
        return None
    for greatest in (True, False):
        for low in LOWS:
            found = _found(entries, slopes, low, greatest)
            if found is not None and np.array_equal(found.table, entries):
                return found
    return None


def _slopes(entries: Array) -> list[Array] | None:
    """Slopes that the lines on the right and on the left may have; None if two do not reach."""
    inner = (entries > LEAST) & (entries < GREATEST)
    apart, pairs = X - X[:, None], inner & inner[:, None] & (X > X[:, None])
    rise, apart = entries - entries[:, None], np.where(pairs, apart, 1)
    low, high = np.where(pairs, (rise - 1) / apart, -np.inf), np.where(pairs, (rise + 1) / apart, np.inf)
    right = np.maximum.accumulate(low.max(1)[::-1])[::-1], np.minimum.accumulate(high.min(1)[::-1])[::-1]
    left = np.maximum.accumulate(low.max(0)), np.minimum.accumulate(high.min(0))
    starts, ends = (np.flatnonzero(some[0] < some[1]) for some in (right, left))
    if not starts.size or not ends.size or ends[-1] < starts[0] - 1:
        return None
    edges = [starts[0] + np.array(WITHIN), ends[-1] - np.array(WITHIN)]
    # Not np.unique, which imports all of numpy.ma.
    found = ({*_between(*some, edge)} for some, edge in zip((right, left), edges, strict=True))
    return [np.array(sorted(some)) for some in found]


def _between(low: Array, high: Array, edges: Array) -> Iterator[int]:
    """Some slopes of the intervals at some places, and that of a level."""
    yield 0
    for edge in edges[(edges >= 0) & (edges < X.size)]:
        if np.isfinite(low[edge]) and np.isfinite(high[edge]):
            first, last = (int(end[edge] * (256 << SHIFT)) for end in (low, high))
            slopes = np.linspace(first, last, SLOPES).astype(int)
            yield from (int(slope) for slope in slopes[abs(slopes) < ROOM])


def _found(entries: Array, slopes: list[Array], low: int, greatest: bool) -> Lines | None:
    """Two lines of these slopes of which one meets each entry, and the other one is not beyond it."""
    options = [_lines(entries, some, low, greatest) for some in slopes]
    if not all(some[0].size for some in options):
        return None
    (first, first_offset, first_met), (second, second_offset, second_met) = options
    missed = (~first_met).astype(np.float32) @ (~second_met).T.astype(np.float32)
    i, j = np.unravel_index(int(missed.argmin()), missed.shape)
    if missed[i, j]:
        return None
    lines = Line(int(first[i]), int(first_offset[i])), Line(int(second[j]), int(second_offset[j]))
    return Lines(low, *lines, greatest)


def _lines(entries: Array, slopes: Array, low: int, greatest: bool) -> tuple[Array, Array, Array]:
    """The lines that are as near to entries as they may be: slopes, offsets, and which entries they meet."""
    rises = (256 * X + low) * slopes[:, None] >> 16
    above, below = (entries + 1) << SHIFT, entries << SHIFT
    if greatest:
        offsets = np.where(entries < GREATEST, above - 1 - rises, ROOM).min(1)
        met = (rises + offsets[:, None] >= below) | (entries == LEAST)
    else:
        offsets = np.where(entries > LEAST, below - rises, -ROOM).max(1)
        met = (rises + offsets[:, None] < above) | (entries == GREATEST)
    fits = (abs(rises + offsets[:, None]) < ROOM).all(1) & (abs(offsets) < ROOM)
    return slopes[fits], offsets[fits], met[fits]
