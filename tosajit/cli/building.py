"""Compiling a model as the options say."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from tiling.target import HOST, TINY
from tosajit.cli.loading import loaded
from tosajit.compiling import compile
from tosajit.runtime.executable import Executable

_TARGETS = {"host": HOST, "tiny": TINY}


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
    machine = getattr(options, "machine", None)
    return compile(
        loaded(path, options),
        threads=options.threads,
        target=None if machine and options.target == HOST.name else _TARGETS[options.target],
        machine=machine,
        checked=getattr(options, "checked", False),
        plan=getattr(options, "plan", None),
        **(limits(options) if hasattr(options, "level") else {}),
    )
