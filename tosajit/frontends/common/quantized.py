"""Arithmetic of integers that stand for real numbers: `(integer - zero_point) * scale`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from math import inf
from typing import Protocol

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, INT32, DType
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.scale import (
    allowed,
    kept_near,
    multiplier_of,
    rescale,
    rounded_twice,
    scaled,
    wide,
)
from tosajit.frontends.common.tables import byte_table, interpolated, sampled
from tosajit.frontends.frame import Refused
from tosajit.operators import RoundingMode
from tosajit.tracing.tensor import Tensor

_HEADROOM = {INT16: 15}
"""Bits by which operands are moved up before they are scaled: 20 for those of 8 bits."""

ACTIVATIONS = {"none": (-inf, inf), "relu": (0.0, inf), "relu6": (0.0, 6.0), "relu_n1_to_1": (-1.0, 1.0)}
"""The real numbers that activations leave, which are done where sums are scaled."""

Function = Callable[[float], float]
"""Of real numbers; infinite where the result is as large as it can be."""


class Quantization(Protocol):
    """What the integers of a tensor stand for."""

    @property
    def dtype(self) -> DType:
        """Their type."""

    @property
    def scale(self) -> float:
        """The real number that one more stands for."""

    @property
    def zero_point(self) -> int:
        """The integer that stands for 0."""

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest of them."""

    @property
    def rounding(self) -> RoundingMode:
        """How numbers are rounded to them."""


class Integers(Quantization, Protocol):
    """A tensor of such integers."""

    @property
    def tensor(self) -> Tensor:
        """The tensor in the graph."""


def quantize(number: float, result: Quantization) -> int:
    """A real number as an integer of a tensor, in float32 as TFLite does it."""
    ratio = float(np.float32(number) / np.float32(result.scale))
    return result.zero_point + int(np.copysign(np.floor(abs(ratio) + 0.5), ratio))


def quantized_bounds(result: Quantization, low: float, high: float) -> tuple[int, int]:
    """The integers of a tensor that are within real numbers."""
    least, most = result.bounds
    return (
        least if low == -inf else max(least, quantize(low, result)),
        most if high == inf else min(most, quantize(high, result)),
    )


def integers_of(value: Tensor, scales: Array, zero_point: int, dtype: DType) -> Tensor:
    """Real numbers over scales, rounded to the nearest integers.

    TFLite divides, and rounds halves away from zero; TOSA has no division, and its CAST rounds halves to even
    ones. So the factor is the next number above one over the scale: products that are a half get beyond it.
    """
    inverse = np.nextafter(np.float32(1) / scales, np.float32(np.inf))
    places = ops.mul(value, inverse)
    if zero_point == 0:
        return ops.cast(places, dtype=dtype)
    return scaled(ops.cast(places, dtype=INT16), [(1 << 30, 30)], dtype, output_zp=zero_point)


def ratio(value: Quantization, result: Quantization, factor: float = 1.0) -> float:
    """The scale of an operand, times a factor, over that of a result: TFLite computes it in float32."""
    with np.errstate(all="ignore"):
        return float(np.float32(value.scale) * np.float32(factor) / np.float32(result.scale))


def moved(value: Integers, result: Quantization) -> Tensor:
    """The numbers of an operand with the scale and the zero point of a result."""
    if (value.scale, value.zero_point) == (result.scale, result.zero_point):
        return value.tensor
    scale, points = ratio(value, result), (value.zero_point, result.zero_point)
    return rescale(
        value.tensor, scale, result.dtype,
        input_zp=points[0], output_zp=points[1], rounding=result.rounding,
    )  # fmt: skip


def finished(
    total: Tensor,
    scales: float | Sequence[float] | Array,
    result: Quantization,
    rounding: RoundingMode | None = None,
) -> Tensor:
    """Sums as integers of a result: scaled, moved by its zero point and saturated."""
    chosen = result.rounding if rounding is None else rounding
    return rescale(total, scales, result.dtype, output_zp=result.zero_point, rounding=chosen)


def centred(operand: Integers) -> Tensor:
    """The numbers of an operand less its zero point, in 32 bits."""
    return wide(operand.tensor, operand.zero_point)


def combined(
    terms: Sequence[Integers], result: Quantization, combine: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """The sum or the difference of operands."""
    spare = (len(terms) - 1).bit_length()
    bits = _HEADROOM.get(terms[0].dtype, 21 - spare)
    unit = 2.0**spare * max(one.scale for one in terms)
    whole = aligned(*(raised(one, one.scale / unit, bits) for one in terms))
    return finished(reduce(combine, whole), unit / ((1 << bits) * result.scale), result)


def raised(operand: Integers, scale: float, bits: int) -> Tensor:
    """The numbers of an operand in 32 bits, moved up before they are scaled, so that little is lost.

    One RESCALE does both where rounding once gives the same for every number that there is.
    """
    multiplier, shift = multiplier_of(scale)
    rounding = operand.rounding
    least, most = (bound - operand.zero_point for bound in operand.bounds)
    if _at_once(least, most, multiplier, shift, bits, rounding is RoundingMode.DOUBLE_ROUND):
        return scaled(
            operand.tensor, [(multiplier, shift - bits)], INT32,
            input_zp=operand.zero_point, rounding=rounding,
        )  # fmt: skip
    return rescale(wide(operand.tensor, operand.zero_point, bits), scale, INT32, rounding=rounding)


@lru_cache(maxsize=1 << 10)
def _at_once(least: int, most: int, multiplier: int, shift: int, bits: int, twice: bool) -> bool:
    """Whether RESCALE gives the same for numbers that it moves up by bits as for those that have been."""
    values = np.arange(least, most + 1)
    exact = not twice or np.array_equal(
        rounded_twice(values, multiplier, max(shift - bits, 1)),
        rounded_twice(values << bits, multiplier, shift),
    )
    return exact and allowed(values, shift - bits)


def multiplied(first: Integers, second: Integers, result: Quantization) -> Tensor:
    """The product of two operands."""
    terms = aligned(*(centred(operand) for operand in (first, second)))
    scale = ratio(first, result, second.scale)
    product = kept_near(ops.mul(*terms), scale, _farthest(first) * _farthest(second))
    return finished(product, scale, result)


def _farthest(operand: Integers) -> int:
    """How far from its zero point the numbers of an operand may be."""
    return max(abs(bound - operand.zero_point) for bound in operand.bounds)


def tabled(operand: Integers, result: Quantization, function: Function) -> Tensor:
    """A function of one operand, counted in float32 as TFLite fills its tables.

    Bytes are looked up one by one, numbers of 16 bits between samples.
    """
    if operand.dtype is INT8:
        return ops.table(operand.tensor, bytes_of(operand, result, function))
    if operand.zero_point or result.zero_point:
        raise Refused("its operand or result is int16 with a zero point")
    least, most = (np.float32(result.scale) * np.float32(end) for end in result.bounds)

    def bounded(number: np.float32) -> float:
        found = function(float(number))
        return found if -inf < found < inf else float(most if found > 0 else least)

    table = sampled(bounded, operand.scale, 0, result.scale, np.float32)
    return interpolated(operand.tensor, table, result.dtype)


def bytes_of(operand: Quantization, result: Quantization, function: Function) -> Array:
    """The results of all 256 bytes."""
    inverse = np.float32(1) / np.float32(result.scale)

    def looked_up(numbers: Array) -> Array:
        reals = (numbers - operand.zero_point).astype(np.float32) * np.float32(operand.scale)
        values = np.array([function(float(real)) for real in reals]).astype(np.float32) * inverse
        rounded: Array = np.copysign(np.floor(np.abs(values) + np.float32(0.5)), values)
        return rounded + result.zero_point

    return byte_table(looked_up)
