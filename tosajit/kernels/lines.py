"""Memory that begins at a cache line."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tosajit.arrays import Array
from tosajit.storage import file_errors

LINE = 64
"""Bytes."""


def aligned(size: int) -> Array:
    """Uninitialised memory that begins at a cache line."""
    raw = np.empty(size + LINE, np.uint8)
    shift = -address_of(raw) % LINE
    return raw[shift : shift + size]


def read_aligned(path: str | Path) -> memoryview:
    """The bytes of a regular file in such memory, which nobody can change.

    NumPy has it in huge pages: a large file takes half of the time that it takes as bytes of Python.
    """
    from sim.files import open_regular

    with file_errors(path), open_regular(path) as file:
        data = aligned(os.fstat(file.fileno()).st_size)
        count: int = file.readinto(data.data)  # type: ignore[attr-defined]
    return data[:count].data.toreadonly()


def address_of(array: Array) -> int:
    """Where an array's data are."""
    return int(array.__array_interface__["data"][0])
