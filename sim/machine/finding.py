"""Machines by name or from files, whichever they are called by."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sim.machine.catalog import known

if TYPE_CHECKING:
    from sim.machine.machine import Machine


def machine(name: str | Path) -> Machine:
    """A machine by name, such as `ethos-u55-128` or `ethos-u85-256/sys-dram-mid/sram-only`, or from a file.

    A configuration or a memory mode can be left out, and Vela's spellings are understood. Behind either may
    stand an operating point: `eyeriss-v1@low`, `mine.yaml@low`. Raises `UnknownMachineError` with the nearest
    names, and what `load_machine` and `Machine.at` raise.
    """
    from sim.machine.formats import SUFFIXES  # late: `sim.files` alone needs no json

    if isinstance(name, str) and not name.lower().endswith(SUFFIXES):
        base, at, point = name.rpartition("@")
        if at:
            return machine(base).at(point)
    if isinstance(name, Path) or name.lower().endswith(SUFFIXES):
        from sim.machine.files import load_machine

        return load_machine(name)
    return known(name)
