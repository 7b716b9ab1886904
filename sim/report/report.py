"""Reports: what a program takes on a machine, shown, compared, written and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.report.files import written
from sim.report.values import Account

if TYPE_CHECKING:
    from sim.report.compare import Comparison
    from sim.report.why import Findings


@dataclass(frozen=True, slots=True)
class Report(Account):
    """The cost of a program on a machine: time, traffic, memory and energy, by operator and cause."""

    @staticmethod
    def joined(reports: Sequence[Report | tuple[Report, int]], program: str | None = None) -> Report:
        """One report for programs that run one after another, each any number of times."""
        from sim.report.joining import joined

        return joined(reports, program)

    def whole(self) -> Report:
        """The report without what it says of cores."""
        return self

    def compare(self, *others: Report) -> Comparison:
        """A comparison of this report with others."""
        from sim.report.compare import Comparison

        return Comparison((self, *others))

    def why(self, count: int | None = 10, remedies: bool = True) -> Findings:
        """Why it is slow: so many operators, by the cycles that they lose, with what would help (None: all).

        Remedies are tried, by planning and timing the program again; a report from a file has none.
        """
        from sim.report.why import why

        return why(self, count, remedies)

    # How it looks.

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, operators: int | None = None) -> str:
        """The totals, and a line for each operator, or for so many of the slowest ones."""
        from sim.report.text import report_text

        return report_text(self, operators)

    def __repr__(self) -> str:
        from sim.report.text import report_line

        return f"<Report: {report_line(self)}>"

    def _repr_html_(self) -> str:
        from sim.report.html import report_html

        return report_html(self)

    # To files and back.

    def to_dict(self) -> dict[str, Any]:
        """Plain data: every field, and the figures derived from them."""
        from sim.report.data import to_dict

        return to_dict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Report:
        """The report from the result of `to_dict`."""
        from sim.report.data import from_dict

        return from_dict(Report, data)

    def to_json(self, path: str | Path | None = None) -> str:
        """The report as JSON, also written to a file if one is named."""
        from sim.report.data import to_json

        return written(to_json(self), path)

    @staticmethod
    def from_json(source: str | Path) -> Report:
        """The report from JSON text or a JSON file."""
        from sim.report.data import from_json

        return from_json(Report, source)

    def to_csv(self, path: str | Path | None = None) -> str:
        """The operators as CSV, also written to a file if one is named."""
        from sim.report.data import to_csv

        return written(to_csv(self), path)

    def to_pandas(self) -> Any:
        """The operators as a `pandas.DataFrame`, without totals; it needs pandas."""
        from sim.report.data import to_pandas

        return to_pandas(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """A self-contained interactive page, also written to a file if one is named."""
        from sim.report.page import reports_page

        return written(reports_page([self]), path)

    def trace(self) -> dict[str, Any]:
        """Trace events, for Perfetto."""
        from sim.report.trace import trace

        return trace(self)

    def write_trace(self, path: str | Path) -> None:
        """Write a file that https://ui.perfetto.dev opens."""
        from sim.report.trace import write_trace

        write_trace(path, self)

    @property
    def plot(self) -> Any:
        """Plots of the report; they need matplotlib."""
        from sim.report.plots import Plots

        return Plots(self)
