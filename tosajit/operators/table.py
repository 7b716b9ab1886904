"""The table of operators, as the declarations have it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tosajit.operators import OPERATORS


@dataclass(frozen=True, slots=True)
class Row:
    """An operator with the profiles and extensions that have a mode of it, or add to it."""

    operator: str
    section: str
    summary: str
    profiles: tuple[str, ...]
    extensions: tuple[str, ...]
    modes: int


def rows() -> tuple[Row, ...]:
    """All operators in the order of the specification."""
    return tuple(_rows())


def markdown() -> str:
    """The table for a page."""
    lines = ["| operator | section | profiles | extensions | modes |", "|---|---|---|---|---|"]
    for row in rows():
        cells = (
            row.operator,
            row.section,
            ", ".join(row.profiles),
            ", ".join(row.extensions),
            str(row.modes),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def text() -> str:
    """The table for a terminal."""
    cells = [
        (row.operator, row.section, " ".join((*row.profiles, *row.extensions)), row.summary) for row in rows()
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in cells
    )


def _rows() -> Iterator[Row]:
    for name, operator in OPERATORS.items():
        needed = sorted({one for mode in operator.modes for group in mode.requirement for one in group})
        profiles = tuple(one for one in needed if one.startswith("PRO-"))
        dynamic = ["EXT-DYNAMIC"] if any(operand.constant_in for operand in operator.operands_read) else []
        added = {*(one for one in needed if one.startswith("EXT-")), *operator.optional, *dynamic}
        extensions = tuple(sorted(added))
        summary = (operator.__doc__ or "").splitlines()[0]
        yield Row(name, operator.section, summary, profiles, extensions, len(operator.modes))
