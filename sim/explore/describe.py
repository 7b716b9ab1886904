"""Spaces as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from sim.explore.values import Axis, Choices, Range
from sim.explore.varied import Varied
from sim.machine.words import value_text

SHOWN = 8
"""Values of a list that are shown."""


def line(space: Varied) -> str:
    """The space in a line."""
    names = ", ".join(space.names)
    held = f", {len(space.constraints)} constraints" if space.constraints else ""
    return f"{count(space.size)} around {' or '.join(one.name for one in space.bases)}: {names}{held}"


def count(size: int | None) -> str:
    """How many machines there are, in words."""
    if size is None:
        return "infinitely many machines"
    return f"{size:,} machine{'s' if size != 1 else ''}" if size < 10**15 else f"about {size:.2g} machines"


def rows(space: Varied) -> Iterator[tuple[str, str, str]]:
    """Name, values and how many they are."""
    for name, axis, given in zip(space.names, space.axes, space.ranges, strict=True):
        yield name, _values(name, axis, given), "continuous" if axis.size is None else f"{axis.size:,}"


def text(space: Varied) -> str:
    """A table for a terminal."""
    table = [("field", "values", "number"), *rows(space)]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    lines = [f"{a.ljust(widths[0])}  {b.ljust(widths[1])}  {c.rjust(widths[2])}" for a, b, c in table]
    lines += [f"constraint  {one.text}" for one in space.constraints]
    return "\n".join([_head(space), *lines])


def html(space: Varied) -> str:
    """A table for a notebook."""
    left, right = "<td style='text-align:left'>", "<td style='text-align:right'>"
    cells = "".join(
        f"<tr>{left}{escape(a)}</td>{left}{escape(b)}</td>{right}{escape(c)}</td></tr>"
        for a, b, c in rows(space)
    )
    cells += "".join(
        f"<tr>{left}constraint</td>{left}<code>{escape(one.text)}</code></td><td></td></tr>"
        for one in space.constraints
    )
    head = "<tr><th>field</th><th>values</th><th>number</th></tr>"
    return (
        f"<table><caption>{escape(_head(space))}</caption><thead>{head}</thead><tbody>{cells}</tbody></table>"
    )


def _head(space: Varied) -> str:
    return f"{count(space.size)} around {' or '.join(one.name for one in space.bases)}"


def _values(name: str, axis: Axis, given: Range | None) -> str:
    field = name.rpartition(".")[2]
    if given is not None:
        low, high, rest = value_text(field, given.low), value_text(field, given.high), given.manner
        return f"{low} to {high}{rest}"
    options: tuple[Any, ...] = axis.options if isinstance(axis, Choices) else ()
    shown = [_short(field, one) for one in options[:SHOWN]]
    return ", ".join(shown + ["…"] * (len(options) > SHOWN))


def _short(field: str, value: Any) -> str:
    if not isinstance(value, dict):
        return value_text(field, value)
    kind = value.get("kind", field)
    figures = [f"{one:g}" for one in value.values() if isinstance(one, int | float)][:2]
    return f"{kind} {' × '.join(figures)}".strip()
