"""Scaling integers by real numbers: multipliers with shifts, and RESCALE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT32, INT48, DType
from tosajit.operators import RoundingMode
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor

_LEAST_SHIFT, _GREATEST_SHIFT = 2, 62
_ALLOWED = 1 << 29
"""RESCALE by `1 << 30` takes what stays below this."""
_MOST_FOLDED = 1 << 10
"""Elements of constants that may become larger ones."""


def multipliers_of(scales: float | Sequence[float] | Array, bits: int = 32) -> tuple[Array, Array]:
    """`multiplier * 2.0 ** -shift` for scales from 0, with 31 bits of them, or 15 of those."""
    mantissas, exponents = np.frexp(np.atleast_1d(np.array(scales, np.float64)))
    multipliers = np.floor(mantissas * 2.0**31 + 0.5).astype(np.int64)
    full = multipliers == 1 << 31
    multipliers, shifts = np.where(full, 1 << 30, multipliers), 31 - exponents - full
    small, large = shifts > _GREATEST_SHIFT, shifts < _LEAST_SHIFT
    multipliers = np.where(small, 0, np.where(large, (1 << 31) - 1, multipliers))
    shifts = np.where(small, 31, np.where(large, _LEAST_SHIFT, shifts))
    if bits == 16:
        multipliers, shifts = np.minimum((multipliers + (1 << 15)) >> 16, 0x7FFF), shifts - 16
    return multipliers, shifts


@lru_cache(maxsize=1 << 10)
def multiplier_of(scale: float, bits: int = 32) -> tuple[int, int]:
    """The same for one scale."""
    multipliers, shifts = multipliers_of(scale, bits)
    return int(multipliers[0]), int(shifts[0])


def rescale(
    value: Tensor,
    scale: float | Sequence[float] | Array,
    dtype: DType,
    *,
    input_zp: int = 0,
    output_zp: int = 0,
    rounding: RoundingMode = RoundingMode.DOUBLE_ROUND,
) -> Tensor:
    """`(value - input_zp) * scale + output_zp`, saturated to a type; a scale for each channel, or one."""
    bits = 16 if value.dtype is INT48 else 32
    if isinstance(scale, float):
        pairs = [multiplier_of(scale, bits)]
    else:
        pairs = [*zip(*(numbers.tolist() for numbers in multipliers_of(scale, bits)), strict=True)]
    pairs = pairs[:1] if len({*pairs}) == 1 else pairs
    return scaled(value, pairs, dtype, input_zp=input_zp, output_zp=output_zp, rounding=rounding)


def scaled(
    value: Tensor,
    pairs: Sequence[tuple[int, int]],
    dtype: DType,
    *,
    input_zp: int = 0,
    output_zp: int = 0,
    rounding: RoundingMode = RoundingMode.SINGLE_ROUND,
) -> Tensor:
    """RESCALE by multipliers with shifts; those of INT48 have 16 bits."""
    narrow = value.dtype is INT48
    multipliers, shifts = np.array(pairs).T
    is_single = rounding is RoundingMode.SINGLE_ROUND and len(pairs) == 1 and not narrow
    known = value.value.data if is_single else None
    if known is not None and known.size <= _MOST_FOLDED:
        centred = known.astype(np.int64) - input_zp
        if allowed(centred, int(shifts[0])):
            return _folded((centred * multipliers + (1 << (shifts - 1)) >> shifts) + output_zp, value, dtype)
    return ops.rescale(
        value,
        multipliers.astype(np.int16 if narrow else np.int32),
        shifts.astype(np.int8),
        zero_point(input_zp, value.dtype),
        zero_point(output_zp, dtype),
        dtype=dtype,
        rounding_mode=RoundingMode.SINGLE_ROUND if narrow else rounding,
        scale32=not narrow,
        per_channel=len(pairs) > 1,
    )


def _folded(numbers: Array, value: Tensor, dtype: DType) -> Tensor:
    """What RESCALE makes of a constant."""
    saturated = np.clip(numbers, dtype.minimum, dtype.maximum).astype(dtype.storage)
    trace = current_trace()
    assert trace is not None
    return trace.constant(saturated, dtype, value.name)


def zero_point(number: int, dtype: DType) -> Array:
    """A zero point as an operand."""
    return np.array([number], dtype.storage)


def kept_near(value: Tensor, scale: float | Array, most: int) -> Tensor:
    """INT32 numbers up to some size as RESCALE takes them: those that would be too great stay great."""
    bounds = 1 << (multipliers_of(scale)[1].astype(np.int64) - 1)
    if most < bounds.min():
        return value
    shape = (*(1,) * (value.ndim - 1), -1)
    low, high = (
        np.clip(ends, INT32.minimum, INT32.maximum).astype(np.int32).reshape(shape)
        for ends in (-bounds, bounds - 1)
    )
    return ops.minimum(ops.maximum(value, low), high)


def wide(value: Tensor, zp: int = 0, bits: int = 0) -> Tensor:
    """`(value - zp) << bits` as INT32."""
    reach = (1 << value.dtype.bits) << bits
    moved = bits if reach <= _ALLOWED else 0
    found = scaled(value, [(1 << 30, 30 - moved)], INT32, input_zp=zp)
    return found if moved == bits else ops.logical_left_shift(found, number_like(found, bits))


def number_like(value: Tensor, number: int) -> Array:
    """A number that can be an operand beside a tensor of INT32."""
    return np.full((1,) * value.ndim, number, np.int32)


def allowed(values: Array, shift: int) -> bool:
    """Whether RESCALE takes integers with a shift (TOSA 1.0.1 section 1.10.2)."""
    bound = 1 << (shift - 1)
    return bool(shift >= _LEAST_SHIFT and np.all(values >= -bound) and np.all(values < bound))


def rounded_twice(values: Array, multiplier: int, shift: int) -> Array:
    """What RESCALE with DOUBLE_ROUND gives for integers, before it saturates."""
    values = values.astype(np.int64)
    rounding = np.full(values.shape, 1 << (shift - 1), np.int64)
    if shift > 31:
        rounding += np.where(values >= 0, 1 << 30, -(1 << 30))
    return (values * multiplier + rounding) >> shift
