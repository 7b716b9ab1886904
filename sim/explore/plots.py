"""Pictures of explorations; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sim.explore.errors import ExplorationError
from sim.explore.scales import axis_ticks, is_wide, scale_of
from sim.explore.wording import heading, with_unit
from sim.report.plots.figure import clean, figure, tidy
from sim.report.words import percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sim.explore.explored import Explored
    from sim.explore.objectives import Objective

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Of Okabe and Ito, as in reports."""
FRONT, OTHERS, EVENTS = "#D55E00", "#56B4E9", "black"
BESIDE: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 8}
BEHIND = {"fc": "white", "ec": "none", "alpha": 0.75, "pad": 0.6}
LINES, THICK = 400, 60
"""Points that parallel coordinates show: others, and those of the front."""
WRITTEN = 120
"""Cells of a heat map whose value is written into them, at most."""


@dataclass(frozen=True, slots=True)
class Plots:
    """What can be drawn of an exploration: each method returns a matplotlib Figure, which notebooks show."""

    exploration: Explored

    def pareto(self, x: str | None = None, y: str | None = None) -> Figure:
        """All points by two objectives (the first two), with the front and what was confirmed."""
        names = [one.name for one in self.exploration.objectives]
        if len(names) < 2:
            raise ExplorationError(
                f"a front needs two objectives, and there is only {names[0]}; see heat_map()"
            )
        x = self.exploration.objective(x or next(name for name in names if name != y)).name
        y = self.exploration.objective(y or next(name for name in names if name != x)).name
        return _pareto(self.exploration, self.exploration.objective(x), self.exploration.objective(y))

    def parallel(self, objective: str | None = None) -> Figure:
        """Each point as a line over all fields and objectives; the colour is that of an objective."""
        return _parallel(self.exploration, self.exploration.objective(objective))

    def heat_map(
        self,
        x: str | None = None,
        y: str | None = None,
        objective: str | None = None,
        over: Literal["best", "median"] = "best",
    ) -> Figure:
        """An objective by two fields (those that matter most): the best or median one over all others."""
        chosen = self.exploration.objective(objective)
        fields = _fields(self.exploration, (x, y), chosen)
        return _heat_map(self.exploration, fields, chosen, over)

    def sensitivity(self) -> Figure:
        """How much of each objective's variance each field explains on its own."""
        return _sensitivity(self.exploration)


def _pareto(exploration: Explored, x: Objective, y: Objective) -> Figure:
    made = figure(9, 5.4)
    axes = made.subplots()
    columns = [exploration.outcomes.columns[one.name] for one in (x, y)]
    others = np.flatnonzero(_feasible(exploration) & ~exploration.on_front)
    size = float(np.clip(9000 / max(len(others), 1), 3, 22))
    axes.scatter(columns[0][others], columns[1][others], s=size, color=OTHERS, alpha=0.55, lw=0,
                 rasterized=len(others) > 5000, label=f"{len(others):,} other points")  # fmt: skip
    numbers = exploration.distinct_numbers
    numbers = numbers[np.argsort(columns[0][numbers], kind="stable")]
    two = len(exploration.objectives) == 2
    if two and x.goal == y.goal:
        where: Literal["post", "pre"] = "post" if x.goal == "min" else "pre"
        axes.step(*(column[numbers] for column in columns), where=where, color=FRONT, lw=1.2, alpha=0.7)
    once = ", equal ones once" if len(numbers) < len(exploration.front_numbers) else ""
    label = f"{len(numbers):,} on the front{once}"
    if not two:
        label += f" of {', '.join(short(one.name, 20) for one in exploration.objectives)}"
    few = len(numbers) <= 100
    look: dict[str, Any] = {"ms": 5.5, "mec": "white", "mew": 0.6} if few else {"ms": 3, "mew": 0}
    axes.plot(*(column[numbers] for column in columns), "o", color=FRONT, label=clean(label), **look)
    _events(exploration, axes, (x, y), columns)
    for objective, column, axis in zip((x, y), columns, (axes.xaxis, axes.yaxis), strict=True):
        axis_ticks(axis, column[_feasible(exploration)], objective.unit)
        axis.set_label_text(_title(objective))
    tidy(axes)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    made.suptitle(_headline(exploration), fontsize=10)
    return made


def _events(
    exploration: Explored,
    axes: Axes,
    objectives: Sequence[Objective],
    columns: Sequence[NDArray[np.float64]],
) -> None:
    """Where the event simulator puts the points that it confirmed, with a line from where they are."""
    numbers = [number for number, one in exploration.confirmed.items() if not one.reasons[0]]
    if not numbers:
        return
    found = [[exploration.confirmed[n].columns[one.name][0] for n in numbers] for one in objectives]
    for place, number in enumerate(numbers):
        ends = [(column[number], values[place]) for column, values in zip(columns, found, strict=True)]
        axes.plot(*ends, color=EVENTS, lw=0.7, alpha=0.7)
    axes.plot(*found, "x", ms=5.5, mew=1.2, color=EVENTS, label="the same, by events")


def _parallel(exploration: Explored, objective: Objective) -> Figure:
    numbers = _shown(exploration)
    fields = [
        (name, scale_of(name, [values[n] for n in numbers])) for name, values in exploration.fields.items()
    ]
    figures = [(one, exploration.outcomes.columns[one.name][numbers]) for one in exploration.objectives]
    scales = [scale for _, scale in fields]
    scales += [scale_of(one.name, values.tolist(), one.unit) for one, values in figures]
    made = figure(1.8 + 1.15 * len(scales), 5.2)
    axes = made.subplots()
    heights = np.stack([scale.places for scale in scales], axis=1)
    chosen = exploration.outcomes.columns[objective.name][numbers]
    _lines(made, axes, heights, exploration.on_front[numbers], chosen, objective)
    heads = [_stacked(heading(name)) for name, _ in fields] + [_stacked(("", one.name)) for one, _ in figures]
    for place, scale in enumerate(scales):
        axes.axvline(place, color="black", lw=0.8)
        for height, text in scale.ticks:
            axes.annotate(clean(text), (place, height), (4, 0), **BESIDE, bbox=BEHIND)
    axes.set_xticks(range(len(scales)), heads, fontsize=9)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_yticks([])
    axes.set_xlim(-0.15, len(scales) - 0.5)
    axes.set_ylim(-0.04, 1.04)
    axes.spines[:].set_visible(False)
    made.suptitle(_headline(exploration), fontsize=10)
    return made


def _lines(
    made: Figure,
    axes: Axes,
    heights: NDArray[np.float64],
    front: NDArray[np.bool_],
    values: Any,
    objective: Objective,
) -> None:
    """A line for each point, those of the front above all others."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LogNorm, Normalize

    norm = (LogNorm if is_wide(values) else Normalize)(values.min(), values.max())
    lines = [list(enumerate(row)) for row in heights.tolist()]
    for chosen, width, alpha in ((False, 0.6, 0.3), (True, 1.8, 1.0)):
        numbers = np.flatnonzero(front == chosen)
        some = [lines[number] for number in numbers]
        drawn = LineCollection(some, cmap=_colours(objective, True), norm=norm, lw=width, alpha=alpha)
        drawn.set_array(values[numbers])
        axes.add_collection(drawn)
    bar = made.colorbar(drawn, ax=axes, pad=0.01, fraction=0.05)
    axis_ticks(bar.ax.yaxis, values, objective.unit)
    bar.set_label(f"{_title(objective)}; thick: on the front")


def _heat_map(
    exploration: Explored, fields: Sequence[str], objective: Objective, over: Literal["best", "median"]
) -> Figure:
    from sim.explore.cells import cells, groups

    numbers = np.flatnonzero(_feasible(exploration))
    x, y = (groups(name, exploration.fields[name]) for name in fields)
    results = exploration.outcomes.columns[objective.name][numbers]
    take = "median" if over == "median" else objective.goal
    table = cells(y.place[numbers], x.place[numbers], results, (len(y), len(x)), take)
    made = figure(3.2 + 0.62 * max(len(x), 6), 1.9 + 0.42 * max(len(y), 5))
    axes = made.subplots()
    _mesh(made, axes, table, objective, over)
    for axis, found, name in zip((axes.xaxis, axes.yaxis), (x, y), fields, strict=True):
        axis.set_ticks(found.ticks, [clean(text) for text in found.labels], fontsize=9)
        axis.set_label_text(clean(name))
    if sum(map(len, x.labels)) > 9 * len(x):
        axes.tick_params(axis="x", labelrotation=30)
    axes.spines[:].set_visible(False)
    made.suptitle(_headline(exploration), fontsize=10)
    return made


def _mesh(made: Figure, axes: Axes, table: NDArray[np.float64], objective: Objective, over: str) -> None:
    """Coloured cells with their values; grey where no point can be."""
    from matplotlib.colors import LogNorm, Normalize

    known = table[np.isfinite(table)]
    norm = (LogNorm if is_wide(known) else Normalize)(known.min(), known.max())
    axes.set_facecolor("#d9d9d9")
    colours = _colours(objective, False)
    drawn = axes.pcolormesh(np.ma.masked_invalid(table), cmap=colours, norm=norm, edgecolors="white", lw=0.8)
    bar = made.colorbar(drawn, ax=axes, pad=0.02)
    axis_ticks(bar.ax.yaxis, known, objective.unit)
    note = "" if len(known) == table.size else "; grey: infeasible"
    bar.set_label(f"{over} {_title(objective)}{note}")
    if table.size <= WRITTEN:
        for (row, column), value in np.ndenumerate(table):
            if np.isfinite(value):
                red, green, blue, _ = drawn.cmap(norm(value))
                dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
                text, colour = (
                    with_unit(value, objective.unit).replace(" ", "\n"),
                    "white" if dark else "black",
                )
                axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7, color=colour)


def _sensitivity(exploration: Explored) -> Figure:
    found = exploration.sensitivity()
    names = [one.name for one in exploration.objectives]
    shares = {(one.field, one.objective): one for one in found}
    fields = sorted(exploration.space.names, key=lambda name: -max(
        np.nan_to_num(shares[name, one].share) for one in names))  # fmt: skip
    made = figure(9, 1.6 + (0.18 + 0.22 * len(names)) * len(fields))
    axes = made.subplots()
    thick = 0.8 / len(names)
    for number, name in enumerate(names):
        ones = [shares[field, name] for field in fields]
        places = [place + (number - (len(names) - 1) / 2) * thick for place in range(len(fields))]
        widths = [float(np.nan_to_num(one.share)) for one in ones]
        axes.barh(
            places, widths, 0.92 * thick, color=COLOURS[number % len(COLOURS)], label=clean(short(name, 30))
        )
        for place, width, one in zip(places, widths, ones, strict=True):
            axes.annotate(f"{percent(width)}{_arrow(one.direction, width)}", (width, place), (4, 0), **BESIDE)
    axes.set_yticks(range(len(fields)), [clean(name) for name in fields], fontsize=9)
    axes.set_ylim(len(fields) - 0.4, -0.6)
    axes.set_xlim(0, min(1.0, 0.1 + 1.05 * axes.dataLim.x1))
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.set_xlabel(
        "share of the variance that the field explains alone (↑ ↓: a larger value increases, decreases)"
    )
    tidy(axes, "x")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    made.suptitle(_headline(exploration), fontsize=10)
    return made


def _feasible(exploration: Explored) -> NDArray[np.bool_]:
    """Which points can be drawn; an error if none can."""
    if not exploration.feasible.any():
        exploration.best()  # says why
    return exploration.feasible


def _shown(exploration: Explored) -> NDArray[np.intp]:
    """Points of the front and others: all, or some that are spread evenly."""
    others = np.flatnonzero(_feasible(exploration) & ~exploration.on_front)
    return np.sort(np.concatenate([_spread(others, LINES), _spread(exploration.distinct_numbers, THICK)]))


def _spread(numbers: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """At most so many of them, evenly, the first and the last among them."""
    count = min(most, len(numbers))
    return numbers[np.arange(count) * (len(numbers) - 1) // max(count - 1, 1)]


def _fields(exploration: Explored, given: Sequence[str | None], objective: Objective) -> list[str]:
    """Two fields: those given, then those that matter most to the objective."""
    names = exploration.space.names
    for name in given:
        if name is not None and name not in names:
            raise ExplorationError(
                f"{name!r} is not a field of this exploration; fields are {', '.join(names)}"
            )
    if (given[0] == given[1] and given[0] is not None) or len(names) < 2:
        raise ExplorationError(f"a heat map needs two fields; there are {', '.join(names)}")
    found = [one for one in exploration.sensitivity() if one.objective == objective.name]
    found.sort(key=lambda one: -np.nan_to_num(one.share))
    rest = iter([one.field for one in found if one.field not in given])
    return [name or next(rest) for name in given]


def _title(objective: Objective) -> str:
    return clean(short(objective.name, 40).replace("_", " ")) + (
        " (more is better)" if objective.goal == "max" else ""
    )


def _colours(objective: Objective, dark: bool) -> str:
    """Colours that all people tell apart; the best is dark, or bright."""
    return "viridis" if dark == (objective.goal == "min") else "viridis_r"


def _stacked(head: tuple[str, str]) -> str:
    return clean("\n".join(short(part, 16) for part in head))


def _arrow(direction: float | None, share: float) -> str:
    if direction is None or not abs(direction) >= 0.05 or share < 0.005:
        return ""
    return " ↑" if direction > 0 else " ↓"


def _headline(exploration: Explored) -> str:
    from sim.explore.summary import exploration_line

    return clean(exploration_line(exploration))
