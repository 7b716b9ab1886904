"""Wide constants that are narrow numbers, scaled: what an operation takes narrow as its other operand is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from tiling.nest import Access, Nest
from tiling.records import replace
from tosajit.arrays import Array

WIDTHS = (8, 16)
LARGEST = 1 << 12
"""Values that are looked at: longer constants are taken as they are."""
LEAST = 1 << 7
"""The smallest scale: what is rounded to whole numbers is not to be a multiple of it by chance."""


def with_bits(nest: Nest, constants: Mapping[str, Array]) -> Nest:
    """The nest, which says of its wide constants how many bits their values have but for one scale."""

    def told(access: Access) -> Access:
        array = constants.get(access.operand)
        if array is None or access.type != "i32" or not 1 < array.size <= LARGEST:
            return access
        bits = _bits(array.tobytes())
        return replace(access, bits=bits) if bits else access

    return replace(nest, reads=tuple([told(access) for access in nest.reads]))


@lru_cache(maxsize=1 << 10)
def _bits(content: bytes) -> int:
    return bits_of(np.frombuffer(content, np.int32))


def bits_of(array: Array) -> int:
    """The bits of whole numbers that, with one scale and rounded, are these values; 0 if there are none."""
    values = np.unique(np.abs(array.astype(np.int64))).astype(np.float64)
    if values[-1] == 0:
        return WIDTHS[0]
    for bits in WIDTHS:
        # The largest value is some number between 1 and the range of a difference of two narrow ones.
        scales = values[-1] / np.arange(1, min(1 << bits, int(values[-1]) // LEAST) + 1)
        for value in values[::-1]:
            scales = scales[np.abs(value - np.round(value / scales) * scales) <= 1]
        if scales.size:
            return bits
    return 0
