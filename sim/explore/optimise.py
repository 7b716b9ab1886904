"""Search that learns, by optuna: NSGA-II and TPE, in generations that do not depend on who evaluates them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.explore.candidates import PATIENCE, Candidate, key_of
from sim.explore.errors import SpaceError
from sim.explore.values import Axis, Numbers

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

    from sim.explore.space import Space

GENERATION = 50
"""Candidates that are asked for at once; half as many for TPE, which learns from each."""
FEWEST, GENERATIONS = 8, 10
"""There are smaller generations of at least so many, so that there are so many of them."""
DRAWN = 64
"""Candidates that are drawn at once when a new one is looked for."""
BROKEN = "broken"
"""Whether a candidate cannot be, as optuna's constraint: more than nought is broken."""


class Search:
    """Asks optuna for generations of candidates, each asked for once, and tells it what came of them."""

    learns = True

    def __init__(self, name: str, space: Space, points: int, seed: int, objectives: int) -> None:
        self.name, self.space, self.left, self.objectives = name, space, points, objectives
        most = GENERATION if name == "nsga2" else GENERATION // 2
        self.generation = max(FEWEST, min(most, points // GENERATIONS))
        self.distributions = {
            one: _distribution(axis) for one, axis in zip(space.names, space.axes, strict=True)
        }
        with _quiet():
            self.study = _study(name, self.generation, seed, objectives)
        self.random = np.random.default_rng(seed)
        self.trials: dict[object, Trial] = {}
        """Those of the candidates that were asked for."""

    def ask(self) -> list[Candidate]:
        """The next generation; none at the end, or when nothing new is found."""
        batch: list[Candidate] = []
        with _quiet():
            while len(batch) < min(self.generation, self.left):
                found = self._next()
                if found is None:
                    break
                batch.append(found)
        self.left -= len(batch)
        return batch

    def tell(self, candidates: Sequence[Candidate], values: Numbers) -> None:
        """What came of a generation; of what cannot be only that, as constraints go before values."""
        with _quiet():
            for candidate, row in zip(candidates, values, strict=True):
                fine = bool(np.isfinite(row).all())
                trial = self.trials[key_of(candidate)]
                trial.set_user_attr(BROKEN, 0.0 if fine else 1.0)
                self.study.tell(trial, row.tolist() if fine else [0.0] * self.objectives)

    def _next(self) -> Candidate | None:
        """What optuna thinks of, or in the place of what was asked for before a new one at random."""
        trial = self.study.ask(self.distributions)
        candidate = self._candidate([trial.params[name] for name in self.space.names])
        if key_of(candidate) in self.trials:
            self.study.tell(trial, state=_failed())
            fresh = self._fresh()
            if fresh is None:
                return None
            self.study.enqueue_trial(dict(zip(self.space.names, fresh, strict=True)))
            trial, candidate = self.study.ask(self.distributions), self._candidate(fresh)
        self.trials[key_of(candidate)] = trial
        return candidate

    def _fresh(self) -> Sequence[float] | None:
        """What optuna would call a candidate that was not asked for and violates nothing."""
        axes = self.space.axes
        for _ in range(PATIENCE):
            places = self.random.random((DRAWN, len(axes)))
            sizes = np.array([axis.size or 1 for axis in axes], np.float64)
            whole = np.array([axis.size is not None for axis in axes])
            rows = np.where(whole, np.floor(places * sizes), places).tolist()
            candidates = [self._candidate(row) for row in rows]
            reasons = self.space.violations(candidates)
            for candidate, row, reason in zip(candidates, rows, reasons, strict=True):
                if not reason and key_of(candidate) not in self.trials:
                    return [int(one) if axis.size else one for one, axis in zip(row, axes, strict=True)]
        return None

    def _candidate(self, numbers: Sequence[float]) -> Candidate:
        """The values that optuna knows as numbers, or as places where there are no numbers of values."""
        pairs = zip(numbers, self.space.axes, strict=True)
        return tuple(
            axis.at(np.array([one]))[0] if axis.size is None else axis.value(int(one)) for one, axis in pairs
        )


def _distribution(axis: Axis) -> Any:
    """Numbers of values where neighbours are alike, else one of them, else places."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if axis.size is None:
        return FloatDistribution(0.0, float(np.nextafter(1.0, 0.0)))
    if axis.ordered:
        return IntDistribution(0, axis.size - 1)
    return CategoricalDistribution(tuple(range(axis.size)))


def _failed() -> Any:
    from optuna.trial import TrialState

    return TrialState.FAIL


def _study(name: str, generation: int, seed: int, objectives: int) -> Study:
    import optuna

    if name == "nsga2":
        sampler: Any = optuna.samplers.NSGAIISampler(
            population_size=generation, seed=seed, constraints_func=_constraints
        )
    else:
        sampler = optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=generation, multivariate=True, constraints_func=_constraints
        )
    return optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)


def _constraints(trial: FrozenTrial) -> Sequence[float]:
    return (trial.user_attrs[BROKEN],)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what optuna logs, and without its warnings of what is experimental there."""
    try:
        from optuna import logging
    except ImportError:
        raise SpaceError("nsga2 and tpe need optuna: pip install 'tosajit[explore]'") from None
    level = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
