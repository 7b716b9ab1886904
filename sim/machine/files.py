"""Machines from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sim.machine.catalog import known
from sim.machine.errors import MachineError, MachineFileError, UnknownMachineError, shown
from sim.machine.formats import SUFFIXES, parsed
from sim.machine.machine import Machine
from sim.machine.paths import merged

MOST_BASES = 8


def load_machine(path: str | Path) -> Machine:
    """The machine of a file: .json, .yaml or .yml.

    `base: ethos-u55-128` in it takes what the file does not say from there. Raises `MachineError` with every
    fault, its field and a remedy, `MachineFileError` if the file cannot be read.
    """
    where = Path(path)
    tree = _tree(where, MOST_BASES)
    try:
        return Machine(**tree)
    except MachineError as error:
        raise MachineFileError(error.faults, str(where)) from None


def _tree(path: Path, bases: int) -> dict[str, Any]:
    """What a file says, with what its bases say."""
    tree = parsed(path)
    base = tree.pop("base", None)
    if base is None:
        return tree
    if not isinstance(base, str):
        raise MachineFileError(f"base: {shown(base)} is not the name of a machine", str(path))
    if not bases:
        raise MachineFileError(f"base: more than {MOST_BASES} files, each the base of another", str(path))
    found = merged(_base(base, path, bases), tree, f"given in {path.name}")
    if "name" not in tree:
        found["name"] = path.stem
    return found


def _base(base: str, path: Path, bases: int) -> dict[str, Any]:
    if base.lower().endswith(SUFFIXES):
        return _tree(path.parent / base, bases - 1)
    try:
        return known(base).to_dict()
    except UnknownMachineError as error:
        raise MachineFileError(f"base: {error}", str(path)) from None
