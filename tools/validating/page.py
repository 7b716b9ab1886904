"""The page: tables of figures, their marks, and what is known where they miss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from validating.figures import Figure, Table, closing


def write_page(path: Path, heading: str, tables: Sequence[Table], ending: Sequence[str] = ()) -> None:
    """Write the page."""
    parts = [heading, f"**{closing(tables)}**", overview(tables), *map(section, tables), *ending]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(parts) + "\n")


def overview(tables: Sequence[Table]) -> str:
    """The pictures, and how far each table is off by the median."""
    lines = [
        "## At a glance",
        "",
        *(f"![{table.title}](validation/{table.picture}.png)" for table in tables if table.picture),
        "",
        "| held against | figures | median off | 9 of 10 are within | fitted |",
        "|---|--:|--:|--:|---|",
    ]
    for table in tables:
        far = sorted(
            abs(figure.ratio - 1)
            for figure in table.figures
            if figure.ratio is not None and figure.relation != "at most"
        )
        if table.judged and far:
            ninth = far[min(len(far) * 9 // 10, len(far) - 1)]
            cells = [
                f"[{table.title}](#{anchor(table.title)})",
                f"{len(far)}",
                f"{median(far):.1%}",
                f"{ninth:.1%}",
                table.fitted,
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def anchor(title: str) -> str:
    """What a heading is called in links."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower().replace(".", "")).strip("-")


def section(table: Table) -> str:
    """A heading, text, a table, and the misses."""
    case, predicted, reference = table.columns
    lines = [
        f"## {table.title}",
        "",
        table.text,
        "",
        f"| {case} | {predicted} | {reference} | | ratio | bound | |",
        "|---|--:|--:|---|--:|---|---|",
        *map(row, table.figures),
    ]
    if table.known:
        lines += ["", "What is known of the misses:", "", *_causes(table)]
    return "\n".join(lines)


def row(figure: Figure) -> str:
    """A line of the table."""
    ratio = "" if figure.ratio is None else f"{figure.ratio:.3f}"
    cells = [
        figure.case + (f" ({figure.note})" if figure.note else ""),
        "–" if figure.predicted is None else number(figure.predicted),
        number(figure.reference),
        figure.unit,
        ratio,
        bound(figure),
        figure.mark,
    ]
    return f"| {' | '.join(cells)} |"


def bound(figure: Figure) -> str:
    """What is asked."""
    match figure.relation:
        case "exact":
            return "="
        case "at most":
            return "≤"
        case _:
            return "" if figure.bound is None else f"±{figure.bound:.0%}"


def number(value: float) -> str:
    """Integers with separators, others with four digits."""
    if value == int(value) and abs(value) >= 1:
        return f"{int(value):,}"
    return f"{value:.4g}"


def _causes(table: Table) -> list[str]:
    """The misses by cause."""
    by_cause: dict[str, list[str]] = {}
    for figure, text in table.known:
        by_cause.setdefault(text, []).append(figure.case)
    return [f"* {'; '.join(cases)}: {text}" for text, cases in by_cause.items()]
