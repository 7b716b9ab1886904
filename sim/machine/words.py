"""Figures as people write them, with the units that the names of their fields say."""

from __future__ import annotations

from typing import Any

_HZ = (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3))
_BYTES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_RATE = (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3))
NOTHING = {
    **dict.fromkeys(("array", "topology", "columns", "pages", "level2"), "none"),
    "operating_point": "as stated",
    "volts": "not stated",
}
"""What is said of fields without a figure; others are unlimited."""
_UNITS = {"cycles": "cycles", "lanes": "elements/cycle", "rates": "× full rate", "watts": "W", "volts": "V"}


def value_text(name: str, value: Any) -> str:
    """A figure with its unit, which the name of its field says."""
    if value is None:
        return NOTHING.get(name, "unlimited")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "; ".join(map(str, value)) or "none"
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
