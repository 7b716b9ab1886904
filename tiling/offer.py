"""Offering: which rows of a menu may be best.

Each offer is good in one way or another, such as in bytes moved: nothing that needs less room is better by a
step. What is offered so does not depend on the room there is: with more of it, there are more offers, and
all that were there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from tiling.making import Flags, Maker
from tiling.menu import Menu, Numbers
from tiling.program import Section

LEAST_TILES = (2.0, 4.0, 8.0, 16.0, 64.0)
"""Offers with at least so many tiles are looked for: more tiles let transfers hide behind work."""
MANY_TILES = 4096.0
"""Offers are looked for that move least if every tile costs as much as so many bytes."""
RUN_BYTES = 64
"""… and those that move least if every stretch of contiguous bytes costs as much as so many more."""
SPLIT, FEWER = 1e-3, 1e-6
"""Of rows that move the same, ones without accumulators, and with fewer tiles, are preferred."""
UNAVOIDABLE = 0.8
"""Steps are parts of what is beyond so much of the least that any row moves: near that, they are small."""
STEP, COARSE = 14, 3
"""So many steps double it; in long programs fewer."""
MANTISSA = 1 << 52
"""From a power of two to the next, the bits of a number count so far: in each of these steps equally."""
LONG = 250
"""More nests are a long program."""


@dataclass(frozen=True)
class Way:
    """The offers of one choice of boxes, those that need least room first."""

    boxed: Flags
    rows: NDArray[np.intp]
    needs: Numbers
    """Bytes of the scratchpad."""
    copies: NDArray[np.intp]
    moved: Numbers
    """Bytes that come and go in boxes."""
    early: Numbers
    """Bytes of the boxes of constants."""


class Offers(Sequence[Section]):
    """Offers that fit the room, as sections, which are made when they are looked at."""

    def __init__(self, maker: Maker, ways: Sequence[Way], room: int) -> None:
        self.maker, self.made = maker, dict[int, Section]()
        some = [(way, int(way.needs.searchsorted(room, "right"))) for way in ways]
        self.counts = tuple([end for _, end in some])
        """How many of each way fit, which decides what is offered."""
        self.boxed = [way.boxed for way, end in some for _ in range(end)]
        self.rows = [row for way, end in some for row in way.rows[:end].tolist()]
        self.copies = [copies for way, end in some for copies in way.copies[:end].tolist()]
        self.needs = [need for way, end in some for need in way.needs[:end].tolist()]
        self.moved = [moved for way, end in some for moved in way.moved[:end].tolist()]
        self.early = [early for way, end in some for early in way.early[:end].tolist()]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, number: int) -> Section: ...
    @overload
    def __getitem__(self, number: slice) -> list[Section]: ...
    def __getitem__(self, number: int | slice) -> Section | list[Section]:
        if isinstance(number, slice):
            return [self[one] for one in range(len(self))[number]]
        if number not in self.made:
            row, boxed, copies = self.rows[number], self.boxed[number], self.copies[number]
            self.made[number] = self.maker.section(row, boxed, copies)
        return self.made[number]


@dataclass(frozen=True, slots=True)
class Case:
    """What offers depend on beside the menu: which accesses have boxes, and what the others cost."""

    boxed: tuple[bool, ...]
    inside: tuple[bool, ...]
    constant: tuple[bool, ...]
    scale: tuple[float, ...]
    double: bool
    """Whether boxes may have second copies."""
    steps: int
    """How many make twice as much."""


@lru_cache(maxsize=1 << 11)
def offered(menu: Menu, case: Case) -> Way:
    """The offers of one choice of boxes, for all rooms."""
    boxed = np.array(case.boxed, bool)
    need, cost = measured(menu, boxed, case.inside, case.scale)
    order = np.lexsort((menu.counts, cost, need))
    tiles = menu.counts[order]
    floors = np.array((1.0, *LEAST_TILES))[:, None]
    few = [cost[order] + MANY_TILES * tiles]
    if boxed.any():
        runs = (menu.runs @ boxed.astype(float))[order]
        few += list(np.where(tiles >= floors, cost[order], np.inf))
        few += list(np.where(tiles >= floors, cost[order] + RUN_BYTES * runs, np.inf))
    rows = order[_steps_down(np.array(few), case.steps)]
    moving = (menu.moves[rows] & boxed).any(1) & case.double
    second = menu.seconds[rows] @ boxed.astype(float)
    needs = np.concatenate([need[rows], (need[rows] + second)[moving]])
    rows, copies = np.concatenate([rows, rows[moving]]), np.repeat([1, 2], [len(rows), moving.sum()])
    order = np.argsort(needs, kind="stable")
    rows = rows[order]
    scale = np.array(case.scale) * boxed
    early = menu.rooms[rows] @ (scale * np.array(case.constant, bool))
    return Way(boxed, rows, needs[order], copies[order], menu.moved[rows] @ scale, early)


def measured(
    menu: Menu, boxed: Flags, inside: tuple[bool, ...], scale: tuple[float, ...]
) -> tuple[Numbers, Numbers]:
    """Bytes of the scratchpad that each row of the menu needs, and bytes that it moves."""
    own, parts = boxed.astype(float), np.array(scale)
    cost = menu.moved @ (parts * own) + menu.touched @ (parts * ~(boxed | np.array(inside, bool)))
    cost += SPLIT * menu.accumulators + FEWER * menu.counts
    return menu.rooms @ own + menu.accumulators, cost


def _steps_down(measures: Numbers, steps: int) -> NDArray[np.intp]:
    """Where one of the measures (rows) goes down by a step from left to right, or is least.

    Steps are read off the bits, as logarithms may differ from one CPU to another.
    """
    least = measures.min(1)
    measures, least = measures[least < np.inf], least[least < np.inf]
    levels = (measures - UNAVOIDABLE * least[:, None]).view(np.int64) // (MANTISSA // steps)
    levels = np.minimum.accumulate(levels, 1)
    first = np.isfinite(measures)
    first[:, 1:] &= levels[:, 1:] < levels[:, :-1]
    first[np.arange(len(first)), measures.argmin(1)] = True
    return np.flatnonzero(first.any(0))
