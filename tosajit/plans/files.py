"""Files of plans and mappings: JSON, and YAML where PyYAML is installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim.machine import formats
from sim.machine.errors import MachineError
from tosajit.errors import FileError
from tosajit.plans.writing import text_of

MOST_JSON, MOST_YAML = 64 << 20, 2 << 20
"""Bytes of a file; YAML is read slowly."""
MOST_VALUES = 4_000_000


def read(path: Path, what: str, words: str) -> dict[str, Any]:
    """The tree in a file that is said to be a plan or the like; raises `FileError`."""
    try:
        most = MOST_JSON if formats.is_json(path, what) else MOST_YAML
        return formats.parsed(path, what, words, most, MOST_VALUES)
    except MachineError as error:
        raise FileError(str(error)) from None


def yaml(tree: Mapping[str, Any]) -> str:
    """A tree as YAML; raises `FileError` without PyYAML."""
    try:
        return formats.yaml_text(tree)
    except MachineError as error:
        raise FileError(str(error)) from None


def write(path: Path, tree: Mapping[str, Any], what: str) -> None:
    """Write a tree to a file, all of it or nothing; raises `FileError`."""
    try:
        formats.write(path, text_of(tree) if formats.is_json(path, what) else formats.yaml_text(tree))
    except MachineError as error:
        raise FileError(str(error)) from None
