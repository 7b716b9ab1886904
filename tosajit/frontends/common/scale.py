"""Scaling integers by real numbers: multipliers with shifts, and RESCALE."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, frexp

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT32, INT48, DType
from tosajit.operators import RoundingMode
from tosajit.tracing.tensor import Tensor

_LEAST_SHIFT, _GREATEST_SHIFT = 2, 62
_ALLOWED = 1 << 29
"""RESCALE by `1 << 30` takes what stays below this."""


def multiplier_of(scale: float) -> tuple[int, int]:
    """`multiplier * 2 ** -shift` for a scale from 0, with 31 bits of it."""
    mantissa, exponent = frexp(scale)
    multiplier = floor(mantissa * 2**31 + 0.5)
    if multiplier == 1 << 31:
        multiplier, exponent = multiplier // 2, exponent + 1
    shift = 31 - exponent
    if shift > _GREATEST_SHIFT:
        return 0, 31
    if shift < _LEAST_SHIFT:
        return (1 << 31) - 1, _LEAST_SHIFT
    return multiplier, shift


def narrow_multiplier_of(scale: float) -> tuple[int, int]:
    """The same with 15 bits of the scale, rounded from those of `multiplier_of`."""
    multiplier, shift = multiplier_of(scale)
    reduced = 0x7FFF if multiplier >= 0x7FFF0000 else (multiplier + (1 << 15)) >> 16
    return reduced, shift - 16


def rescale(
    value: Tensor,
    scale: float | Sequence[float],
    dtype: DType,
    *,
    input_zp: int = 0,
    output_zp: int = 0,
    rounding: RoundingMode = RoundingMode.DOUBLE_ROUND,
) -> Tensor:
    """`(value - input_zp) * scale + output_zp`, saturated to a type; a scale for each channel, or one."""
    scales = [scale] if isinstance(scale, int | float) else list(scale)
    if len(set(scales)) == 1:
        scales = scales[:1]
    narrow = value.dtype is INT48
    pairs = [(narrow_multiplier_of if narrow else multiplier_of)(one) for one in scales]
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
    multipliers: Array = np.array([one for one, _ in pairs], np.int16 if narrow else np.int32)
    shifts = np.array([shift for _, shift in pairs], np.int8)
    return ops.rescale(
        value,
        multipliers,
        shifts,
        zero_point(input_zp, value.dtype),
        zero_point(output_zp, dtype),
        dtype=dtype,
        rounding_mode=RoundingMode.SINGLE_ROUND if narrow else rounding,
        scale32=not narrow,
        per_channel=len(pairs) > 1,
    )


def zero_point(number: int, dtype: DType) -> Array:
    """A zero point as an operand."""
    return np.array([number], dtype.storage)


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
