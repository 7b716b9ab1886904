"""Cycles of operators by cause, stacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sim.report.plots.figure import clean, figure, scaled_by, tidy, time_axis
from sim.report.style import CAUSE_COLOURS
from sim.report.text import headline, slowest
from sim.report.values import SPENT, Account
from sim.report.words import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def stalls(report: Account, operators: int = 24) -> Figure:
    """A bar for each of the slowest operators, in the order of the program, and one for all others."""
    rows = [(title(one.label, len(one.members), 36), one.spent) for one in slowest(report, operators)]
    made = figure(10, 1.6 + 0.27 * max(len(rows), 4))
    axes = made.subplots()
    stacked(axes, rows)
    axes.set_xlabel("cycles")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.locator_params(axis="x", nbins=6)
    factor, unit = time_axis(axes.get_xlim()[1] / report.clock_hz)
    rate = 1 / report.clock_hz / factor
    second = axes.secondary_xaxis("top", functions=scaled_by(rate))
    second.set_xlabel(f"time in {unit}")
    made.suptitle(clean(headline(report)), fontsize=10)
    return made


def stacked(axes: Axes, rows: Sequence[tuple[str, Mapping[str, float]]]) -> None:
    """Bars of causes one below the other, with the causes beside them."""
    places = range(len(rows))
    left = [0.0] * len(rows)
    for cause in SPENT:
        widths = [cycles.get(cause, 0) for _, cycles in rows]
        if any(widths):
            axes.barh(places, widths, 0.78, left, color=CAUSE_COLOURS[cause], label=cause)
            left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(places, [clean(name) for name, _ in rows], fontsize=9)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, max([*left, 0.0]) * 1.02 or 1)
    tidy(axes, "x")
    if any(left):
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, title="cycles spent on")
