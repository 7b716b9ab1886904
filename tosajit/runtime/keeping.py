"""What all that is kept in the user's cache has in common: limits, and what it is made by."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

import tiling
from tosajit import version
from tosajit.arrays import Array
from tosajit.kernels import cache
from tosajit.kernels.lines import address_of
from tosajit.runtime.archive import packed

if TYPE_CHECKING:
    from tosajit.files.cursor import Bytes

MOST_BYTES = 1 << 31
"""Of all that is kept whole in the cache; what has not been used for longest goes first."""
MOST_SHARE = 4
"""The part of it that one file may take: a quarter."""
EXPLAINED = ("TOSAJIT_VERIFY", "TOSAJIT_DUMP")
"""Variables that ask for a look at every stage, so that none may be left out."""


def is_explained() -> bool:
    """Whether somebody wants to see every stage."""
    return any(os.environ.get(variable, "") not in ("", "0") for variable in EXPLAINED)


def put(file: str, header: dict[str, Any], blobs: Sequence[memoryview]) -> bool:
    """Write an archive into the cache unless it would take too much of it; return whether it was written."""
    if sum(blob.nbytes for blob in blobs) > MOST_BYTES // MOST_SHARE:
        return False
    cache.write(file, packed(header, blobs))
    cache.trim(MOST_BYTES)
    return True


@functools.cache
def sources() -> str:
    """What the modules are that read models and compile them: names, sizes and times."""
    folders = [Path(package.__file__ or "").parent for package in (tiling, version)]
    found = sorted(one for folder in folders for one in _files(str(folder)))
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _files(folder: str) -> list[tuple[str, int, int]]:
    found, folders = [], [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    about = entry.stat()
                    found.append((entry.path, about.st_size, about.st_mtime_ns))
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    return found


_digests: dict[int, tuple[ref[Array], str]] = {}
"""What all the elements of memory that nobody can change depend on, by its `id` as long as it lives."""


def frozen(data: Bytes, digest: str) -> Array:
    """Memory that nobody can change; a digest stands for it, so that its views need none of their own.

    The digest is of the memory itself, or of all that it has been made of.
    """
    made = np.frombuffer(data, np.uint8)
    assert not made.flags.writeable
    name = id(made)
    _digests[name] = ref(made, lambda _: _digests.pop(name, None)), digest
    return made


def place(array: Array) -> tuple[str, int] | None:
    """What says which elements a dense array has: the digest of memory that it is a view of, and where."""
    memory, digest = _digests.get(id(array.base), (None, ""))
    base = memory() if memory is not None else None
    if base is None or base is not array.base or not array.flags.c_contiguous:
        return None
    return digest, address_of(array) - address_of(base)
