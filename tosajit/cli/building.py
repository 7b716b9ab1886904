"""Compiling a model as the options say."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiling.target import HOST, TINY
from tosajit.cli.loading import loaded
from tosajit.compiling import compile
from tosajit.errors import InputError
from tosajit.runtime.executable import Executable

if TYPE_CHECKING:
    from sim import Machine

_TARGETS = {"host": HOST, "tiny": TINY}


def machine_named(name: str) -> Machine:
    """A machine by its name or from its file."""
    from sim import MachineError, machine

    try:
        return machine(name)
    except MachineError as error:
        raise InputError(str(error)) from None


def limits(options: Namespace) -> dict[str, Any]:
    """Profiles, extensions and level of the options, as `validate` and `compile` take them."""
    found: dict[str, Any] = {"level": options.level}
    if options.profile:
        found["profiles"] = tuple(options.profile)
    if options.extension:
        found["extensions"] = tuple(name for name in options.extension if name != "none")
    return found


def built(path: Path, options: Namespace) -> Executable:
    """Load and compile a model."""
    name = getattr(options, "machine", None)
    machine = None if name is None else machine_named(name)
    return compile(
        loaded(path, options),
        threads=options.threads,
        target=None if machine and options.target == HOST.name else _TARGETS[options.target],
        machine=machine,
        checked=getattr(options, "checked", False),
        plan=getattr(options, "plan", None),
        **(limits(options) if hasattr(options, "level") else {}),
    )
