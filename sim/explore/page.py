"""An exploration as data for its page, of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sim.explore.summary import summary
from sim.explore.wording import part_text
from tiling.words import plain

if TYPE_CHECKING:
    from sim.explore.explored import Explored

POINTS = 10_000
"""Points of a page; those of the front, the confirmed and the best ones are on it in any case."""


def to_html(exploration: Explored) -> str:
    """A page of its own."""
    from sim.report.page import exploration_page

    return exploration_page(page_data(exploration))


def page_data(exploration: Explored, most: int = POINTS) -> dict[str, Any]:
    """What the page shows: columns of the points that are chosen, and what is known of all."""
    numbers = chosen(exploration, most)
    objectives = exploration.objectives
    columns: dict[str, Any] = {"number": numbers.tolist()}
    for name, values in exploration.fields.items():
        columns[name] = [_shown(values[number]) for number in numbers]
    for objective in objectives:
        columns[objective.name] = list(_known(exploration.outcomes.columns[objective.name][numbers]))
    columns["reason"] = [exploration.reason_of[number] for number in numbers]
    columns["front"] = exploration.on_front[numbers].tolist()
    columns["confirmed"] = {one.name: list(_events(exploration, one.name, numbers)) for one in objectives}
    feasible = bool(exploration.feasible.any())
    return {
        "title": f"Exploration of {', '.join(plain(one.name) for one in exploration.space.bases)}",
        "fields": list(exploration.space.names),
        "objectives": [{"name": one.name, "unit": one.unit, "goal": one.goal} for one in objectives],
        "points": columns,
        "sensitivity": [
            {"field": one.field, "objective": one.objective, "value": one.share}
            for one in exploration.sensitivity()
            if isfinite(one.share)
        ],
        "summary": [[name, text] for name, text in _summary(exploration, len(numbers))],
        "base": exploration.space.base.name,
        "best": {one.name: exploration.best(one.name).number for one in objectives} if feasible else {},
    }


def chosen(exploration: Explored, most: int) -> NDArray[np.intp]:
    """Numbers of the points that are shown: those that matter, and others spread evenly over all."""
    matters = np.zeros(len(exploration), np.bool_)
    matters[exploration.distinct_numbers] = True
    matters[list(exploration.confirmed)] = True
    if exploration.feasible.any():
        matters[[exploration.best(one.name).number for one in exploration.objectives]] = True
    others = np.flatnonzero(~matters)
    room = min(max(most - int(matters.sum()), 0), len(others))
    matters[others[np.arange(room) * len(others) // max(room, 1)]] = True
    return np.flatnonzero(matters)


def _summary(exploration: Explored, count: int) -> Iterator[tuple[str, str]]:
    yield from summary(exploration)
    if count < len(exploration):
        yield (
            "on this page",
            f"{count:,} of {len(exploration):,} points: the front (one of equal points), the confirmed and "
            f"the best ones, and others spread evenly; to_csv() has all",
        )


def _events(
    exploration: Explored, objective: str, numbers: Sequence[int] | NDArray[np.intp]
) -> Iterator[Any]:
    """Values of the event simulator."""
    for number in numbers:
        one = exploration.confirmed.get(int(number))
        yield None if one is None else next(_known(one.columns[objective]))


def _known(values: NDArray[np.float64]) -> Iterator[float | None]:
    return (value if isfinite(value) else None for value in values.tolist())


def _shown(value: Any) -> Any:
    """A value in one cell."""
    return part_text(value) if isinstance(value, dict) else value
