"""Which machines of a space are looked at, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sim.explore.errors import SpaceError
from sim.explore.space import Candidate, Space
from sim.machine.errors import shown

Numbers = NDArray[np.float64]
BATCH = 2048
"""Candidates that are asked for at once, where nothing is learnt from them."""


class Strategy(Protocol):
    """Asks for candidates and is told what came of them; two of the same space and seed ask the same."""

    name: str

    def ask(self) -> list[Candidate]:
        """The next candidates; none at the end."""

    def tell(self, candidates: Sequence[Candidate], values: Numbers) -> None:
        """What came of candidates: a row each, small is good, infinite where one cannot be."""


def strategy(name: str, space: Space, points: int | None, seed: int, objectives: int) -> Strategy:
    """A strategy by name."""
    if name == "grid":
        return Grid(space, points)
    if name == "random":
        return Random(space, points or 1000, seed)
    raise SpaceError(f"{shown(name)} is no strategy; there are grid, random")


class Grid:
    """Every machine of a finite space once, the last name changing first."""

    name = "grid"

    def __init__(self, space: Space, points: int | None) -> None:
        assert space.size is not None
        self.space, self.asked, self.size = space, 0, space.size

    def ask(self) -> list[Candidate]:
        """The next candidates."""
        first, self.asked = self.asked, min(self.asked + BATCH, self.size)
        return [self.space.number(number) for number in range(first, self.asked)]

    def tell(self, candidates: Sequence[Candidate], values: Numbers) -> None:
        """Nothing is learnt."""


class Random:
    """Machines at random."""

    name = "random"

    def __init__(self, space: Space, points: int, seed: int) -> None:
        self.space, self.left = space, points
        self.random = np.random.default_rng(seed)

    def ask(self) -> list[Candidate]:
        """The next candidates."""
        count = min(BATCH, self.left)
        self.left -= count
        return self.space.at(self.random.random((count, len(self.space.names))))

    def tell(self, candidates: Sequence[Candidate], values: Numbers) -> None:
        """Nothing is learnt."""
