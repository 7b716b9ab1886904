"""Tables for terminals."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Lines with cells below each other; numbers of columns in `right` are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_cells(row, widths, right)).rstrip() for row in rows]


def _cells(row: Sequence[str], widths: Sequence[int], right: Collection[int]) -> list[str]:
    pairs = enumerate(zip(row, widths, strict=True))
    return [cell.rjust(width) if number in right else cell.ljust(width) for number, (cell, width) in pairs]
