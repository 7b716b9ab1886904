"""The page: tables of figures, their marks, and what is known where they miss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from validating.figures import Figure, Table, closing

NAMED = {
    "`ethos-u55-…`": ("U55",),
    "`ethos-u65-…`": ("U65", "i.MX 93"),
    "`ethos-u85-…`": ("U85",),
    "`systolic-…`, `gemmini-16`: the array alone": ("systolic",),
    "`tpu-v1`": ("systolic, TPU v1",),
    "`eyeriss-v1`: the array alone": ("row-stationary",),
    "`nvdla-…`": ("dot-product",),
    "machines with `cores`: how they wait for each other": ("several cores",),
}
"""Named machines, and the kinds of machine that figures for them have."""
BEGIN, END = "<!-- trust: written by make validate -->", "<!-- end of trust -->"


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
        far = sorted(figure.off for figure in table.figures if figure.off is not None)
        if table.judged and far:
            cells = [
                f"[{table.title}](#{anchor(table.title)})",
                f"{len(far)}",
                f"{median(far):.1%}",
                f"{_ninth(far):.1%}",
                table.fitted,
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines + kinds(tables))


def kinds(tables: Sequence[Table]) -> list[str]:
    """How far kinds of networks are off on kinds of machines, by the median."""
    found: dict[tuple[str, str], list[float]] = {}
    for table in (table for table in tables if table.judged):
        for figure in table.figures:
            if figure.network and figure.off is not None:
                machine = figure.machine if table.fitted == "nothing" else f"{figure.machine} (fitted)"
                found.setdefault((figure.network, machine), []).append(figure.off)
    if not found:
        return []
    machines = sorted({machine for _, machine in found})
    lines = [
        "",
        "By kind of network and of machine: the median, and of how many figures.",
        "",
        f"| | {' | '.join(machines)} |",
        f"|---|{'--:|' * len(machines)}",
    ]
    for network in sorted({network for network, _ in found}):
        cells = [found.get((network, machine)) for machine in machines]
        shown = [f"{median(some):.1%} ({len(some)})" if some else "" for some in cells]
        lines.append(f"| {network} | {' | '.join(shown)} |")
    return lines


def write_trust(path: Path, tables: Sequence[Table]) -> None:
    """Write how far named machines are to be trusted between the marks of their page."""
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, found, tail = rest.partition(END)
    if found:
        path.write_text(head + "\n".join([BEGIN, "", *trust(tables), "", END]) + tail, encoding="utf-8")


def trust(tables: Sequence[Table]) -> list[str]:
    """How far figures for named machines are off."""
    lines = [
        "| machine | held against figures | median off | 9 of 10 are within |",
        "|---|--:|--:|--:|",
    ]
    figures = [figure for table in tables if table.judged for figure in table.figures]
    for name, kinds in NAMED.items():
        far = sorted(one.off for one in figures if one.off is not None and _family(one.machine) in kinds)
        if far:
            lines.append(f"| {name} | {len(far)} | {median(far):.1%} | {_ninth(far):.1%} |")
    return lines


def _family(machine: str) -> str:
    """A kind of machine, whatever its memory mode; with Vela's schedule it is none of these."""
    return machine.removesuffix(", dedicated SRAM").removesuffix(", virtual platform")


def _ninth(far: Sequence[float]) -> float:
    """What nine of ten keep within."""
    return far[min(len(far) * 9 // 10, len(far) - 1)]


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
        "".join([f"| {case} | {predicted} | {reference} | | ratio | bound | |", *_cells(table.more)]),
        "|---|--:|--:|---|--:|---|---|" + "--:|" * len(table.more),
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
    return "".join([f"| {' | '.join(cells)} |", *_cells(figure.more)])


def _cells(more: Sequence[str]) -> list[str]:
    return [f" {cell} |" for cell in more]


def bound(figure: Figure) -> str:
    """What is asked."""
    match figure.relation:
        case "exact":
            return "="
        case "at most":
            return "≤" if figure.bound is None else f"≤ +{figure.bound:.0%}"
        case "at least":
            return "≥"
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
