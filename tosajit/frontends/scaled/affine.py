"""Integers of a type that stand for real numbers: `(integer - zero_point) * scale`."""

from __future__ import annotations

from math import inf

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT8, INT16, INT32, INT48, DType
from tosajit.frontends.common.division import divided
from tosajit.frontends.common.numbers import number, typed
from tosajit.frontends.common.scale import kept_near, multipliers_of, rescale, scaled, zero_point
from tosajit.operators import RoundingMode
from tosajit.tracing.tensor import Tensor

_MOST_BITS = 30
"""Of sums, beside their sign."""
FARTHEST = 1 << 20
"""How many steps numbers may be away for their quotients to be computed: they are saturated much earlier."""


@dataclass(frozen=True, slots=True)
class Affine:
    """What the integers of a tensor stand for. They are rounded as PyTorch and ONNX do: halves to even."""

    dtype: DType
    """INT8, INT16 or INT32."""
    scale: float
    zero_point: int
    bounds: tuple[int, int]
    """The least and the greatest of them."""

    @classmethod
    def of(cls, bounds: tuple[int, int], scale: float, point: int, offset: int = 0) -> Affine:
        """Integers of a source; an offset makes signed ones of those without sign."""
        low, high = (bound - offset for bound in bounds)
        narrow = (one for one in (INT8, INT16) if one.minimum <= low and high <= one.maximum)
        return cls(next(narrow, INT32), float(np.float32(scale)), int(point) - offset, (low, high))

    @property
    def rounding(self) -> RoundingMode:
        """How sums are rounded to them, but for halves."""
        return RoundingMode.SINGLE_ROUND

    @property
    def reals(self) -> Array:
        """What all 256 bytes stand for, in float32."""
        centred = np.arange(-128, 128) - self.zero_point
        found: Array = centred.astype(np.float32) * np.float32(self.scale)
        return found

    def nearest(self, reals: Array | float) -> Array:
        """The integers that are nearest to real numbers, as the sources of models count them in float32."""
        with np.errstate(all="ignore"):
            steps = np.rint(np.asarray(reals, np.float32) / np.float32(self.scale)).astype(np.float64)
        found: Array = np.clip(np.nan_to_num(steps) + self.zero_point, *self.bounds).astype(np.int64)
        return found

    def within(self, low: float, high: float) -> tuple[int, int]:
        """The integers of real numbers inside of bounds."""
        least = self.bounds[0] if low == -inf else int(self.nearest(low))
        return least, self.bounds[1] if high == inf else int(self.nearest(high))


def clamped(value: Tensor, affine: Affine, low: float = -inf, high: float = inf) -> Tensor:
    """Integers inside of the bounds of their grid, and of real numbers."""
    least, most = affine.within(low, high)
    if least <= value.dtype.minimum and most >= value.dtype.maximum:
        return value
    if value.dtype is INT32:
        return ops.minimum(ops.maximum(value, number(value, least)), number(value, most))
    return ops.clamp(value, min_val=least, max_val=most)


def quantized(value: Tensor, affine: Affine, divides: bool = False) -> Tensor:
    """Real numbers as the nearest integers: times one over the scale, or over it as a division rounds."""
    steps = (_divided if divides else _multiplied)(typed(value, FP32), affine)
    if not affine.zero_point:
        return clamped(ops.cast(steps, dtype=affine.dtype), affine)
    whole = ops.cast(steps, dtype=INT16 if affine.dtype is INT8 else INT32)
    if affine.dtype is INT8:
        return clamped(scaled(whole, [(1 << 30, 30)], INT8, output_zp=affine.zero_point), affine)
    return clamped(_moved(whole, affine), affine)


def _multiplied(value: Tensor, affine: Affine) -> Tensor:
    inverse = float(np.float32(1) / np.float32(affine.scale))
    return value if inverse == 1 else ops.mul(value, number(value, inverse))


def _divided(value: Tensor, affine: Affine) -> Tensor:
    if affine.dtype is INT32 or affine.scale == 1:
        return _multiplied(value, affine)
    farthest = affine.scale * FARTHEST
    near = ops.clamp(value, min_val=-farthest, max_val=farthest)
    return divided(near, ops.const(number(value, affine.scale)))


def _moved(whole: Tensor, affine: Affine) -> Tensor:
    """INT32 numbers of steps more by a zero point, which RESCALE has for bytes alone."""
    point = affine.zero_point
    low, high = INT32.minimum - min(point, 0), INT32.maximum - max(point, 0)
    near = ops.minimum(ops.maximum(whole, number(whole, low)), number(whole, high))
    found = ops.add(near, number(near, point))
    return found if affine.dtype is INT32 else scaled(found, [(1 << 30, 30)], affine.dtype)


def dequantized(value: Tensor, affine: Affine) -> Tensor:
    """The real numbers that integers stand for."""
    if affine.zero_point and value.dtype is not INT8:
        value = ops.cast(value, dtype=INT32) if value.dtype is not INT32 else value
        value = ops.sub(value, number(value, affine.zero_point))
    real = ops.cast(value, dtype=FP32)
    if affine.zero_point and value.dtype is INT8:
        real = ops.sub(real, number(real, affine.zero_point))
    return real if affine.scale == 1 else ops.mul(real, number(real, affine.scale))


def finished(total: Tensor, scales: Array, result: Affine, most: int, has_halves: bool = True) -> Tensor:
    """Sums up to some size as integers of a result: scaled, rounded with halves to even, and saturated.

    RESCALE rounds halves up. There are such where sums are exact, and a scale has few bits, as powers of two
    have.
    """
    if total.dtype is INT48:
        spare = max(most.bit_length() - 31, 0)
        return finished(_narrowed(total, spare), scales * 2.0**spare, result, most >> spare)
    ratios = np.atleast_1d(scales) / result.scale
    total = kept_near(total, ratios, most)
    masks, halves = _ties(ratios, most)
    if not (has_halves and masks.any()):
        return clamped(_rescaled(total, ratios, result), result)
    wide = rescale(total, ratios, INT32, rounding=RoundingMode.SINGLE_ROUND)
    row = (*(1,) * (total.ndim - 1), -1)
    is_half = ops.equal(ops.bitwise_and(total, masks.reshape(row)), halves.reshape(row))
    odd = ops.bitwise_and(wide, number(wide, 1))
    even = ops.sub(wide, ops.select(is_half, odd, number(odd, 0)))
    if result.dtype is INT32:
        return even
    return clamped(_rescaled(even, np.ones(1), result), result)


def _narrowed(total: Tensor, bits: int) -> Tensor:
    """Sums of 48 bits in 32, for which RESCALE has multipliers of 31 bits, not of 15."""
    return scaled(total, [(1 << 14, 14 + bits)], INT32)


def _rescaled(total: Tensor, ratios: Array, result: Affine) -> Tensor:
    if result.zero_point and result.dtype is not INT8:
        wide = rescale(total, ratios, INT32, rounding=RoundingMode.SINGLE_ROUND)
        return _moved(wide, result)
    return rescale(
        total, ratios, result.dtype, output_zp=result.zero_point, rounding=RoundingMode.SINGLE_ROUND
    )


def _ties(ratios: Array, most: int) -> tuple[Array, Array]:
    """For each ratio the bits of a sum that say whether it is at a half, and what they are there.

    A ratio is an odd number over a power of two: its halves are at odd multiples of the half of that.
    """
    multipliers, shifts = multipliers_of(ratios)
    masks, halves = np.zeros(len(ratios), np.int32), np.ones(len(ratios), np.int32)
    for place, (multiplier, shift) in enumerate(zip(multipliers.tolist(), shifts.tolist(), strict=True)):
        zeros = (multiplier & -multiplier).bit_length() - 1
        bits = shift - max(zeros, 0)
        if multiplier and 1 <= bits <= _MOST_BITS and 1 << (bits - 1) <= most:
            masks[place], halves[place] = (1 << bits) - 1, 1 << (bits - 1)
    return masks, halves


def point_of(affine: Affine) -> Array:
    """The zero point as an operand."""
    return zero_point(affine.zero_point, affine.dtype)
