"""Reports side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from sim.report.data import to_csv, to_dict
from sim.report.files import written
from sim.report.html import bar, framed, key, row
from sim.report.text import HEADS, WIDTH, named, names, tenths
from sim.report.trace import write_trace
from sim.report.values import SPENT, Account, OperatorReport
from sim.report.words import aligned, scaled, short, size, title, titles
from tiling.words import plain

COLUMNS = 5
"""Reports whose operators fit beside each other."""

NAMES = 30
"""Columns for the names of operators, at least."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Reports of several machines or programs; the first is what the others are held against."""

    reports: tuple[Account, ...]

    def __str__(self) -> str:
        lines = _totals(self.reports)
        if _alike(self.reports):
            lines += ["", *_operators(self.reports)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Comparison: {', '.join(map(named, self.reports))}>"

    def _repr_html_(self) -> str:
        parts = [_html_totals(self.reports)]
        if _alike(self.reports):
            parts.append(_html_operators(self.reports))
        return framed(parts)

    def to_dict(self) -> dict[str, Any]:
        """All reports, and the cycles of each operator on each."""
        return {
            "reports": [to_dict(report) for report in self.reports],
            "operators": [
                {"operator": one.label, "cycles": list(cycles)}
                for one, cycles in operator_cycles(self.reports)
            ],
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """The dictionary as JSON, also written to a file if one is named."""
        return written(json.dumps(self.to_dict(), allow_nan=False, indent=1) + "\n", path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """The operators of all reports as CSV, also written to a file if one is named."""
        return written(to_csv(*self.reports), path)

    def to_pandas(self) -> Any:
        """The operators as a `pandas.DataFrame`, without totals; it needs pandas."""
        from sim.report.data import to_pandas

        return to_pandas(*self.reports)

    def to_html(self, path: str | Path | None = None) -> str:
        """A self-contained interactive page, also written to a file if one is named."""
        from sim.report.page import reports_page

        beside = operator_cycles(self.reports) if _alike(self.reports) else []
        return written(reports_page(self.reports, [(one.label, cycles) for one, cycles in beside]), path)

    def write_trace(self, path: str | Path) -> None:
        """Write the timelines of all reports to one file, a process for each."""
        write_trace(path, *self.reports)

    def plot(self) -> Any:
        """Where the time goes in each, as a picture; it needs matplotlib."""
        from sim.report.plots.comparing import comparing

        return comparing(self.reports)


def operator_cycles(reports: Sequence[Account]) -> list[tuple[OperatorReport, tuple[int | None, ...]]]:
    """Groups with their cycles on each, in the order of their first appearance; None for no such group.

    Machines may fuse differently: groups are the same that begin with the same node.
    """
    groups: dict[str, OperatorReport] = {}
    columns: list[dict[str, int]] = []
    for report in reports:
        column: dict[str, int] = {}
        for one in report.operators:
            key = one.members[0] if one.members else one.label
            groups.setdefault(key, one)
            column[key] = column.get(key, 0) + one.total
        columns.append(column)
    return [(one, tuple(column.get(key) for column in columns)) for key, one in groups.items()]


def _alike(reports: Sequence[Account]) -> bool:
    """Whether operators are worth showing side by side: few columns, and most groups in all of them."""
    if not 1 < len(reports) <= COLUMNS:
        return False
    found = operator_cycles(reports)
    return 2 * sum(None not in cycles for _, cycles in found) >= len(found)


def _totals(reports: Sequence[Account]) -> list[str]:
    """A line for each report, and one with where its cycles go."""
    head = ["clock", "latency", "ratio", "cycles", "of MACs", "off-chip", "peak", "energy"]
    cells = [head, *(_line(report, reports) for report in reports)]
    room = WIDTH - sum(2 + max(map(len, column)) for column in zip(*cells, strict=True))
    shown = [short(name, max(room, 12)) for name in names(reports)]
    table = _ruled([[name, *row] for name, row in zip(["", *shown], cells, strict=True)])
    causes = [cause for cause in SPENT if any(report.spent.get(cause) for report in reports)]
    spent = [["% of cycles", *(HEADS.get(cause, cause) for cause in causes)]]
    spent += [[name, *_shares(report, causes)] for name, report in zip(shown, reports, strict=True)]
    programs = {report.program for report in reports}
    heading = [short(programs.pop(), WIDTH), ""] if len(programs) == 1 else []
    return [*heading, *table, "", *_ruled(spent)]


def _ruled(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table with a line below its head."""
    lines = aligned(rows, right=range(1, len(rows[0])))
    return [lines[0], "─" * max(map(len, lines)), *lines[1:]]


def _shares(report: Account, causes: list[str]) -> list[str]:
    return [tenths(report.spent[c] / report.cycles) if report.spent.get(c) else "" for c in causes]


def _line(report: Account, reports: Sequence[Account]) -> list[str]:
    return [
        scaled(report.clock_hz, "Hz"),
        scaled(report.latency_seconds, "s"),
        _ratio(report, reports),
        f"{report.cycles:,}",
        f"{tenths(report.mac_utilisation)} %",
        size(report.offchip_bytes),
        size(report.peak_scratchpad_bytes),
        scaled(report.joules, "J") if report.joules else "",
    ]


def _ratio(report: Account, reports: Sequence[Account]) -> str:
    """Latency relative to the first report of the same program."""
    first = next(other for other in reports if other.program == report.program)
    if not first.latency_seconds:
        return ""
    return f"{report.latency_seconds / first.latency_seconds:.2f}×"


def _operators(reports: Sequence[Account]) -> list[str]:
    """Cycles of each group on each."""
    width = (WIDTH - NAMES) // len(reports) - 2
    heads = [short(name, width) for name in names(reports)]
    room = WIDTH - sum(max(len(head), 13) + 2 for head in heads)
    rows = [["operator", *heads]]
    found = operator_cycles(reports)
    named = titles([(one.label, len(one.members)) for one, _ in found], room)
    for name, (_, cycles) in zip(named, found, strict=True):
        rows.append([name, *("" if n is None else f"{n:,}" for n in cycles)])
    rows.append(["total cycles", *(f"{report.cycles:,}" for report in reports)])
    *lines, total = _ruled(rows)
    return [*lines, lines[1], total]


def _html_totals(reports: Sequence[Account]) -> str:
    heads = ["", "clock", "latency", "ratio", "inferences/s", "cycles", "where the time goes", "of MACs"]
    heads += ["off-chip", "peak scratchpad", "energy"]
    longest = max(report.latency_seconds for report in reports)
    causes = [cause for cause in SPENT if any(report.spent.get(cause) for report in reports)]
    rows = []
    for name, report in zip(names(reports), reports, strict=True):
        within = int(report.cycles * longest / report.latency_seconds) if report.cycles else 1
        cells = [
            escape(name),
            scaled(report.clock_hz, "Hz"),
            scaled(report.latency_seconds, "s"),
            _ratio(report, reports),
            f"{report.inferences_per_second:,.1f}",
            f"{report.cycles:,}",
            bar(report.spent, within),
            f"{tenths(report.mac_utilisation)} %",
            size(report.offchip_bytes),
            size(report.peak_scratchpad_bytes),
            scaled(report.joules, "J") if report.joules else "",
        ]
        rows.append(row(cells))
    programs = {report.program for report in reports}
    heading = f"<h3>{escape(plain(programs.pop()))}</h3>" if len(programs) == 1 else ""
    return f"{heading}{key(causes)}<table>{row(heads, 1, 'th')}{''.join(rows)}</table>"


def _html_operators(reports: Sequence[Account]) -> str:
    return (
        f"<details><summary>cycles of each group</summary><table>{''.join(_rows(reports))}</table></details>"
    )


def _rows(reports: Sequence[Account]) -> Iterator[str]:
    yield row(["operator", *map(escape, names(reports))], 1, "th")
    for one, cycles in operator_cycles(reports):
        yield row(
            [escape(title(one.label, len(one.members), 60)), *("" if n is None else f"{n:,}" for n in cycles)]
        )
    yield row(["total", *(f"{report.cycles:,}" for report in reports)], kind="total")
