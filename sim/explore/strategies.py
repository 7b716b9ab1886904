"""Which machines of a space are looked at, in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import count as numbers
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sim.explore.candidates import PATIENCE, Candidate, key_of
from sim.explore.errors import SpaceError
from sim.explore.values import Numbers
from sim.machine.errors import shown

if TYPE_CHECKING:
    from sim.explore.space import Space

BATCH = 2048
"""Candidates that are drawn and asked for at once, where nothing is learnt from them; a power of two."""
SHUFFLED = 1 << 20
"""Spaces of up to so many machines are put in a random order as a whole."""
STRATEGIES = ("grid", "random", "latin", "sobol", "nsga2", "tpe")
MOST_UNASKED = 100_000
"""A grid of more machines is explored only if their number is given: a range without a step is a slip."""
USUAL = 1000
"""Points, where nobody says how many."""


class Strategy(Protocol):
    """Asks for candidates and is told what came of them; two of the same space and seed ask the same."""

    name: str
    learns: bool
    """Whether it needs to be told of a batch before it asks for the next."""

    def ask(self) -> list[Candidate]:
        """The next candidates; none at the end."""

    def tell(self, candidates: Sequence[Candidate], values: Numbers) -> None:
        """What came of candidates: a row each, small is good, infinite where one cannot be."""


def strategy(name: str, space: Space, points: int | None, seed: int, objectives: int) -> Strategy:
    """A strategy by name.

    * `grid`: every machine of a finite space, the last name changing first; `points` must not be fewer, and
      must be given for more than 100,000.
    * `random`, `sobol`: sequences that go on until there are so many points, each machine once. What violates
      a constraint is passed over, as it costs nothing to know.
    * `latin`: as many places as points, each field's evenly spread. It is drawn as a whole, so that what
      violates a constraint is a point without figures; machines that are drawn twice are looked at once.
    * `nsga2`, `tpe`: generations of a search by optuna, which is told what cannot be, also by constraints.

    With all of them there are fewer points where the space has fewer machines.
    """
    _check(name, space, points, seed)
    count = points or USUAL
    match name:
        case "grid":
            return Sequences(name, _grid(space))
        case "latin":
            return Sequences(name, _batches(_distinct(iter([space.at(_latin(space, count, seed))])), count))
        case "random":
            blocks = _orders(space, seed) if _is_small(space) else _uniform(space, seed)
            return Sequences(name, _batches(_fitting(space, blocks), count))
        case "sobol":
            return Sequences(name, _batches(_fitting(space, _sobol(space, seed)), count))
    from sim.explore.optimise import Search

    return Search(name, space, count, seed, objectives)


class Sequences:
    """Candidates whose order does not depend on what came of earlier ones."""

    learns = False

    def __init__(self, name: str, batches: Iterator[list[Candidate]]) -> None:
        self.name = name
        self.batches = batches

    def ask(self) -> list[Candidate]:
        """The next candidates; none at the end."""
        return next(self.batches, [])

    def tell(self, candidates: Sequence[Candidate], values: Numbers) -> None:
        """Nothing is learnt."""


def _check(name: str, space: Space, points: int | None, seed: int) -> None:
    if name not in STRATEGIES:
        near = get_close_matches(str(name), STRATEGIES, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(STRATEGIES)}"
        raise SpaceError(f"{shown(name)} is not a strategy; {hint}")
    if points is not None and not _is_count(points, 1):
        raise SpaceError(f"points: {shown(points)} is not a number of points, such as 1000")
    if not _is_count(seed, 0):
        raise SpaceError(f"seed: {shown(seed)} is not a seed, such as 0")
    if name == "grid":
        _check_grid(space, points)


def _check_grid(space: Space, points: int | None) -> None:
    endless = [one for one, axis in zip(space.names, space.axes, strict=True) if axis.size is None]
    if endless:
        fault = f"a grid needs separate values, but {endless[0]} is continuous"
        raise SpaceError(f"{fault}; give its range a step or a number of steps")
    size = space.size or 0
    few = size <= MOST_UNASKED
    if size <= points if points is not None else few:
        return
    limit = f"{MOST_UNASKED:,} that are taken by default" if points is None else f"{points:,} points"
    every = "points=None" if few else f"points={size}"
    raise SpaceError(
        f"the grid has {size:,} machines, more than the {limit}; {every} takes all of them, random and sobol "
        f"draw some, and ranges with larger steps have fewer"
    )


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_small(space: Space) -> bool:
    return space.size is not None and space.size <= SHUFFLED


def _grid(space: Space) -> Iterator[list[Candidate]]:
    size = space.size or 0
    for first in range(0, size, BATCH):
        yield [space.number(number) for number in range(first, min(first + BATCH, size))]


def _batches(candidates: Iterator[Candidate], points: int) -> Iterator[list[Candidate]]:
    left = points
    while left and (batch := list(islice(candidates, min(BATCH, left)))):
        left -= len(batch)
        yield batch


def _distinct(blocks: Iterator[list[Candidate]]) -> Iterator[Candidate]:
    """Each candidate once."""
    seen: set[object] = set()
    for block in blocks:
        for one in block:
            key = key_of(one)
            if key not in seen:
                seen.add(key)
                yield one


def _fitting(space: Space, blocks: Iterator[list[Candidate]]) -> Iterator[Candidate]:
    """Candidates that violate nothing, each once, until many blocks have had nothing new."""
    seen: set[object] = set()
    patience, why = PATIENCE, ""
    for block in blocks:
        patience -= 1
        reasons = space.violations(block)
        for one, reason in zip(block, reasons, strict=True):
            key = key_of(one)
            if not reason and key not in seen:
                seen.add(key)
                patience = PATIENCE
                yield one
            why = why or reason
        if not patience:
            break
    if not seen:
        raise SpaceError(f"no feasible machine was found; of the first, {why}; relax it, or widen the space")


def _orders(space: Space, seed: int) -> Iterator[list[Candidate]]:
    """All machines of a small space in random order."""
    order = np.random.default_rng(seed).permutation(space.size or 0).tolist()
    for first in range(0, len(order), BATCH):
        yield [space.number(number) for number in order[first : first + BATCH]]


def _uniform(space: Space, seed: int) -> Iterator[list[Candidate]]:
    random = np.random.default_rng(seed)
    while True:
        yield space.at(random.random((BATCH, len(space.names))))


def _sobol(space: Space, seed: int) -> Iterator[list[Candidate]]:
    sequence = _scipy().Sobol(len(space.names), scramble=True, rng=seed)
    return (space.at(sequence.random(BATCH)) for _ in numbers())


def _latin(space: Space, points: int, seed: int) -> Numbers:
    found: Numbers = _scipy().LatinHypercube(len(space.names), rng=seed).random(points)
    return found


def _scipy() -> ModuleType:
    try:
        from scipy.stats import qmc
    except ImportError:
        raise SpaceError(
            "latin and sobol need scipy: pip install 'tosajit[explore]'; random does not"
        ) from None
    found: ModuleType = qmc
    return found
