"""An exploration from its question to its answer, of any workloads."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.explore.exploration import Exploration
from sim.explore.objectives import Objective
from sim.explore.progress import Watch, display_for
from sim.explore.run import Setup, run
from sim.explore.space import Space
from sim.explore.store import Store
from sim.explore.strategies import USUAL
from sim.explore.strategies import strategy as strategy_of
from sim.explore.work import Evaluator, Mode, Work
from sim.explore.workers import Pool

if TYPE_CHECKING:
    from sim.report.report import Report

Goal = str | Objective | Callable[["Report"], float]


@dataclass(frozen=True)
class Question:
    """What to explore, and how."""

    space: Space
    works: tuple[Work, ...]
    objectives: tuple[Objective, ...]
    strategy: str = "sobol"
    points: int | None = None
    seed: int = 0
    mode: Mode = "analytic"
    confirm: int = 0
    version: str = ""
    """Of the package; another one may give other figures."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What else the store and the answer say, such as where models are."""

    @property
    def about(self) -> dict[str, Any]:
        """All that points depend on, as the store has it."""
        return {
            "space": self.space.to_dict(),
            "machines": self.space.digest,
            "models": {one.name: {"digest": one.digest, "weight": one.weight} for one in self.works},
            "objectives": [objective_dict(one) for one in self.objectives],
            "strategy": self.strategy,
            "seed": self.seed,
            "mode": self.mode,
            "version": self.version,
        }

    @property
    def settings(self) -> dict[str, Any]:
        """What the answer says of how it came about."""
        about = {key: value for key, value in self.about.items() if key not in ("space", "machines")}
        versions = {"python": platform.python_version(), "numpy": np.__version__}
        return {**about, "points": self.points, "confirm": self.confirm, "versions": versions, **self.notes}


def explore(
    question: Question,
    pool: Pool,
    store: str | Path | None = None,
    progress: Watch | bool | None = None,
) -> Exploration:
    """Evaluate the points that a strategy asks for; ends with what there is after Ctrl-C."""
    started = time.monotonic()
    kept: Store | None = None
    try:
        evaluator = Evaluator(question.space, question.works, question.objectives)
        chosen = strategy_of(
            question.strategy, question.space, question.points, question.seed, len(question.objectives)
        )
        if store is not None:
            kept = Store.open(store, question.about, evaluator.names)
            _note(kept, question)
        total = _total(question)
        setup = Setup(
            evaluator, chosen, pool, display_for(progress), total, question.mode, kept, question.confirm
        )
        found = run(setup)
        seconds = time.monotonic() - started
        if kept:
            seconds += kept.about.get("seconds", 0.0)
            kept.note("seconds", seconds)
            kept.note("finished", found.finished)
    finally:
        pool.close(at_once=True)
        if kept:
            kept.close()
    return Exploration(
        question.space,
        question.objectives,
        found.candidates,
        found.outcomes,
        found.confirmed,
        question.settings,
        found.finished,
        seconds,
    )


def objective_dict(objective: Objective) -> dict[str, str]:
    """What tells objectives apart."""
    return {"name": objective.name, "unit": objective.unit, "goal": objective.goal}


def _note(store: Store, question: Question) -> None:
    store.note("points asked for", question.points)
    store.note("confirm", question.confirm)
    for key, value in question.notes.items():
        store.note(key, value)


def _total(question: Question) -> int:
    """How many points there will be; fewer, if constraints leave fewer."""
    size, points = question.space.size, question.points or USUAL
    if size is None:
        return points
    return size if question.strategy == "grid" else min(size, points)
