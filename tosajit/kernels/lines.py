"""Memory that begins at a cache line."""

from __future__ import annotations

import numpy as np

from tosajit.arrays import Array

LINE = 64
"""Bytes."""


def aligned(size: int) -> Array:
    """Uninitialised memory that begins at a cache line."""
    raw = np.empty(size + LINE, np.uint8)
    shift = -address_of(raw) % LINE
    return raw[shift : shift + size]


def address_of(array: Array) -> int:
    """Where an array's data are."""
    return int(array.__array_interface__["data"][0])
