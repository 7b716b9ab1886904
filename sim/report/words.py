"""Numbers and names as people read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import isfinite

from tiling.words import plain

_PREFIXES = (
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
)


def scaled(value: float, unit: str) -> str:
    """A number of three digits with a prefix and a unit: `1.25 ms`."""
    if value == 0 or not isfinite(value):
        return f"{value:.0f} {unit}".replace("inf", "∞").strip()
    for factor, prefix in _PREFIXES:
        if abs(value) >= factor * 0.9995:
            return f"{_digits(value / factor)} {prefix}{unit}".strip()
    return f"{_digits(value / 1e-12)} p{unit}"


def _digits(value: float) -> str:
    """Three digits or, of larger numbers, the whole ones."""
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


def size(count: float) -> str:
    """Bytes with a unit."""
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f} bytes" if count != 1 else "1 byte"


def percent(share: float) -> str:
    """A share of one in percent, with a digit behind the point for small ones."""
    value = 100 * share
    if value == 0 or value >= 9.95:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 0.05 else "<0.1 %"


def short(name: str, width: int) -> str:
    """A name that takes no more characters: beginning and end, where it is longer."""
    text = plain(name, None)
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def title(label: str, members: int, width: int) -> str:
    """The label of a group or, where there is no room, its first member and how many are left out."""
    text = plain(label, None)
    return text if len(text) <= width else _brief(label, members, width)


def titles(groups: Sequence[tuple[str, int]], width: int) -> list[str]:
    """Labels of groups with their numbers of members: all in full, or all by their first members."""
    texts = [plain(label, None) for label, _ in groups]
    if all(len(text) <= width for text in texts):
        return texts
    return [_brief(label, members, width) for label, members in groups]


def _brief(label: str, members: int, width: int) -> str:
    first, plus, _ = plain(label, None).partition(" + ")
    more = f" +{members - 1}" if plus and members > 1 else ""
    return short(first, max(width - len(more), 1)) + more


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = (), gap: str = "  ") -> list[str]:
    """Lines with cells below each other; numbers of columns in `right` are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        gap.join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
