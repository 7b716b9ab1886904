"""What all that is kept in the user's cache has in common: limits, and what it is made by."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import tiling
from tosajit import version

MOST_BYTES = 1 << 31
"""Of all that is kept whole in the cache; what has not been used for longest goes first."""
MOST_SHARE = 4
"""The part of it that one file may take: a quarter."""
EXPLAINED = ("TOSAJIT_VERIFY", "TOSAJIT_DUMP")
"""Variables that ask for a look at every stage, so that none may be left out."""


def is_explained() -> bool:
    """Whether somebody wants to see every stage."""
    return any(os.environ.get(variable, "") not in ("", "0") for variable in EXPLAINED)


@functools.cache
def sources() -> str:
    """What the modules are that read models and compile them: names, sizes and times."""
    folders = [Path(package.__file__ or "").parent for package in (tiling, version)]
    found = sorted(one for folder in folders for one in _files(str(folder)))
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            elif entry.name.endswith(".py"):
                about = entry.stat()
                yield entry.path, about.st_size, about.st_mtime_ns
