"""Values of fields and objectives as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

from sim.report.words import scaled, short, size
from tiling.words import plain

PREFIXED = ("s", "J", "J s", "W", "Hz", "B/s")
"""Units that take a prefix, such as ms."""
UNITS = {"hz": "Hz", "bytes_per_second": "B/s", "bytes": "bytes", "watts": "W"}
"""Units of fields, by the end of their path."""
WIDTH = 40
"""Characters of a value, at most."""


def unit_of(path: str) -> str:
    """The unit that the name of a field ends with; empty for a plain number."""
    last = path.rpartition(".")[2]
    for end, unit in sorted(UNITS.items(), key=lambda pair: -len(pair[0])):
        if last == end or last.endswith(f"_{end}"):
            return unit
    return ""


def heading(path: str) -> tuple[str, str]:
    """A part, and a field of it without the unit, which its values have: `offchip`, `bandwidth`."""
    part, _, last = path.rpartition(".")
    for end in sorted(UNITS, key=len, reverse=True):
        last = last.removesuffix(f"_{end}")
    return part, last


def with_unit(value: float, unit: str) -> str:
    """A number with its unit: `1.25 ms`, `64 KiB`, `3.14 mm²`."""
    if isnan(value):
        return "unknown"
    if unit == "bytes":
        return size(value).replace(".0 ", " ")
    if unit in PREFIXED:
        return scaled(value, unit)
    number = f"{value:,.0f}" if abs(value) >= 1000 and float(value).is_integer() else f"{value:.4g}"
    return f"{number} {unit}".strip()


def value_text(path: str, value: Any) -> str:
    """The value of a field."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return tight(with_unit(value, unit_of(path)))
        case None:
            return "unlimited" if unit_of(path) else "none"
        case Mapping():
            return short(part_text(value), WIDTH)
        case _:
            return short(plain(str(value)), WIDTH)


def part_text(part: Mapping[str, Any]) -> str:
    """A part in a line: its kind, then its figures."""
    words = [str(part["kind"])] if "kind" in part else []
    words += [
        f"{name} {value}" for name, value in part.items() if name != "kind" and not isinstance(value, Mapping)
    ]
    return plain(", ".join(words)) or "{}"


def values_text(values: Mapping[str, Any]) -> str:
    """A machine by the fields that a space varies."""
    return ", ".join(f"{path} {value_text(path, value)}" for path, value in values.items())


def percentage(value: float) -> str:
    """A relative difference with its sign: `+1.2 %`."""
    return f"{100 * value:+.1f} %" if abs(value) >= 5e-4 else "0 %"


def tight(text: str) -> str:
    """A number with a unit, without zeros behind the point: `4 GB/s`, not `4.00 GB/s`."""
    number, gap, unit = text.partition(" ")
    return (number.rstrip("0").rstrip(".") if "." in number else number) + gap + unit
