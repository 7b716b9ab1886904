"""Where the time goes on several machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sim.report.plots.figure import clean, figure, time_axis
from sim.report.plots.stalls import stacked
from sim.report.text import names
from sim.report.values import Account
from sim.report.words import scaled, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def comparing(reports: Sequence[Account]) -> Figure:
    """A bar of time for each report, by cause."""
    longest = max(report.latency_seconds for report in reports)
    factor, unit = time_axis(longest)
    made = figure(10, 1.5 + 0.42 * max(len(reports), 2))
    axes = made.subplots()
    seconds = [1 / report.clock_hz / factor for report in reports]
    rows = [
        (short(name, 40), {cause: count * second for cause, count in report.spent.items()})
        for name, report, second in zip(names(reports), reports, seconds, strict=True)
    ]
    stacked(axes, rows)
    for place, report in enumerate(reports):
        end = report.latency_seconds / factor
        axes.annotate(
            scaled(report.latency_seconds, "s"), (end, place), (4, 0), textcoords="offset points", va="center"
        )
    axes.set_xlim(0, longest / factor * 1.12 or 1)
    axes.set_xlabel(f"time in {unit}")
    programs = {report.program for report in reports}
    if len(programs) == 1:
        made.suptitle(clean(short(programs.pop(), 80)), fontsize=10)
    legend = axes.get_legend()
    if legend:
        legend.set_title("time spent on")
    return made
