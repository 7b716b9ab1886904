"""Machines as text and as HTML: a line, or a table of figures with units and sources."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from sim.machine.paths import leaves
from tiling.words import isolated, plain

if TYPE_CHECKING:
    from sim.machine.machine import Machine

_HZ = (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3))
_BYTES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_RATE = (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3))
_UNITS = {"cycles": "cycles", "lanes": "elements/cycle", "rates": "× full rate", "watts": "W"}


def line(machine: Machine) -> str:
    """The machine in a line."""
    figures = (
        plain(machine.name),
        value_text("clock_hz", machine.clock_hz),
        array_text(machine),
        f"{value_text('bytes', machine.scratchpad.bytes)} scratchpad",
        offchip_text(machine),
        mode_text(machine),
    )
    return ", ".join(figures)


def array_text(machine: Machine) -> str:
    """The array in a few words."""
    if machine.array is None:
        return "no array"
    times = f"{machine.cores} × " if machine.cores > 1 else ""
    return times + machine.array.describe()


def offchip_text(machine: Machine) -> str:
    """The off-chip memory in a few words."""
    rate = machine.offchip.bandwidth_bytes_per_second
    return f"{machine.offchip.kind} {value_text('bytes_per_second', rate)}"


def mode_text(machine: Machine) -> str:
    """What lives in the scratchpad all the time."""
    memory = machine.memory
    places = {
        "weights": memory.weights,
        "constants": memory.constants,
        "activations": memory.activations,
    }
    inside = [name for name, place in places.items() if place == "scratchpad"]
    if len(inside) == len(places):
        return "all in scratchpad"
    return f"{' and '.join(inside)} in scratchpad" if inside else "all off-chip"


def rows(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Field, figure with its unit, and source."""
    for path, value, default in leaves(machine):
        name = path.rpartition(".")[2]
        source = "default" if value == default and path not in machine.sources else machine.source(path)
        if isinstance(value, dict):
            for key, one in value.items():
                yield f"{path}.{key}", value_text(name, one), machine.source(f"{path}.{key}") or source
        else:
            yield path, value_text(name, value), source


def text(machine: Machine) -> str:
    """A table for a terminal."""
    table = list(rows(machine))
    widths = [max(len(row[column]) for row in table) for column in range(2)]
    lines = [
        f"{path.ljust(widths[0])}  {figure.rjust(widths[1])}  {source}" for path, figure, source in table
    ]
    name, description = plain(machine.name), plain(machine.description, None)
    head = f"{name}: {description}" if description else name
    return "\n".join([head, *(one.rstrip() for one in lines)])


def html(machine: Machine) -> str:
    """A table for a notebook."""
    left, right = "<td style='text-align:left'>", "<td style='text-align:right'>"
    cells = "".join(
        f"<tr>{left}{escape(path)}</td>{right}{escape(figure)}</td>{left}{escape(source)}</td></tr>"
        for path, figure, source in rows(machine)
    )
    head = "<tr><th>field</th><th>figure</th><th>source</th></tr>"
    caption = f"<b>{isolated(machine.name)}</b> {escape(plain(machine.description, None))}"
    return f"<table><caption>{caption}</caption><thead>{head}</thead><tbody>{cells}</tbody></table>"


def value_text(name: str, value: Any) -> str:
    """A figure with its unit, which the name of its field says."""
    if value is None:
        return "unlimited"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if name.endswith("_hz"):
        return _scaled(value, _HZ, "Hz")
    if name.endswith("bytes_per_second"):
        return _scaled(value, _RATE, "B/s")
    if name.endswith("bytes_per_cycle"):
        return f"{value:g} B/cycle"
    if name.endswith("bytes"):
        return _scaled(value, _BYTES, "B")
    if name.startswith("picojoules"):
        return f"{value:g} pJ"
    return f"{value:g} {_UNITS.get(name.rpartition('_')[2], '')}".rstrip()


def _scaled(value: float, units: tuple[tuple[str, float], ...], base: str) -> str:
    for unit, factor in units:
        if value >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value:g} {base}"
