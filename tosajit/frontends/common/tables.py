"""TABLE from functions: bytes looked up one by one, and 16 bits by interpolation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT16, INT32, DType
from tosajit.frontends.common.scale import scaled, wide
from tosajit.tracing.tensor import Tensor

_STEPS = 512


def looked_up(index: Tensor, words: Array) -> Tensor:
    """Words of 32 bits, from 0, of INT8 indices: 256 of them, from that of -128 on, byte for byte."""
    total: Tensor | None = None
    for shift in (0, 8, 16, 24):
        part = (words >> shift) & 0xFF
        if not part.any():
            continue
        top = int(part.max()) > 127
        offset = -128 if top else 0
        bytes_ = ops.table(index, (part + offset).astype(np.int8))
        moved = wide(bytes_, offset, shift)
        total = moved if total is None else ops.add(total, moved)
    assert total is not None
    return total


def interpolated(index: Tensor, table: Array, dtype: DType = INT32) -> Tensor:
    """Numbers of 16 bits of INT16 indices: on a line between two of the 513 of a table, rounded."""
    found = ops.table(index, table.astype(np.int16))
    return scaled(found, [(1 << 30, 37)], dtype)


def saturated(value: Tensor, dtype: DType = INT16) -> Tensor:
    """INT32 numbers in a narrower type, those that it does not hold as the nearest that it does."""
    return scaled(value, [(1 << 30, 30)], dtype)


def byte_table(function: Callable[[Array], Array]) -> Array:
    """A table of INT8: the function of -128, …, 127, as integers that it saturates."""
    return np.clip(function(np.arange(-128, 128)), -128, 127).astype(np.int8)


def sampled(
    function: Callable[[Any], Any],
    input_scale: float,
    input_zp: int,
    output_scale: float,
    kind: type[np.float32] | type[np.float64] = np.float64,
) -> Array:
    """A table of 513 samples of a function of INT16 numbers, moved so that the lines between them fit best.

    This is how TFLite fills its tables, rounding after each step; `kind` is the type that it counts in.
    """
    least, most = (kind(input_scale) * kind(end - input_zp) for end in (-32768, 32767))
    step = (most - least) / kind(_STEPS)
    low, high = kind(output_scale) * kind(-32768), kind(output_scale) * kind(32767)
    inverse = kind(65536) / (high - low)
    table = []
    for number in range(_STEPS):
        here, half, there = (
            kind(function(place)) * inverse
            for place in (
                least + kind(number) * step,
                least + kind(number) * step + step / kind(2),
                least + kind(number + 1) * step,
            )
        )
        sample = _rounded(here)
        error = _rounded((there + sample) / kind(2)) - _rounded(half)
        table.append(sample - _rounded(error / kind(2)))
    table.append(_rounded(kind(function(most)) * inverse))
    found: Array = np.clip(np.array(table), -32768, 32767).astype(np.int16)
    return found


def _rounded(number: Any) -> Any:
    """The nearest integer, halves away from zero."""
    return np.copysign(np.floor(np.abs(number) + number.dtype.type(0.5)), number)
