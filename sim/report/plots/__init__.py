"""Plots of reports, one module for each; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sim.report.values import Account
    from tiling.program import Program


@dataclass(frozen=True, slots=True)
class Plots:
    """What can be drawn of a report: each method returns a matplotlib Figure, which notebooks show."""

    report: Account

    def roofline(self) -> Figure:
        """Operators below the roof of peak and bandwidth."""
        from sim.report.plots.roofline import roofline

        return roofline(self.report)

    def timeline(self, first: int = 0, last: int | None = None) -> Figure:
        """What each unit does when, with occupancy and bandwidth; `first` and `last` are cycles."""
        from sim.report.plots.timeline import timeline

        return timeline(self.report, first, last)

    def scratchpad(self, program: Program) -> Figure:
        """Which addresses of the scratchpad hold what, and when."""
        from sim.report.plots.scratchpad import scratchpad

        return scratchpad(self.report, program)

    def stalls(self, operators: int = 24) -> Figure:
        """Cycles of the slowest operators, by cause."""
        from sim.report.plots.stalls import stalls

        return stalls(self.report, operators)
