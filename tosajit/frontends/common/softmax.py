"""Softmax, in floating point, and of integers by the fixed-point arithmetic that TFLite has for it."""

from __future__ import annotations

from functools import cache
from math import exp

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, INT32, DType
from tosajit.frontends.common.fixed import divided, less, logarithm, normal, plus, reciprocal
from tosajit.frontends.common.scale import multiplier_of, number_like, rescale, scaled, wide
from tosajit.frontends.common.tables import interpolated, looked_up, sampled, saturated
from tosajit.tracing.tensor import Tensor

_DIFFERENCE_BITS, _SUM_BITS = 5, 12
"""Integer bits of a difference from the maximum, and of a sum of exponentials."""
_RANGE = 65535
_FACTORS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""e to the powers of -1/4, -1/2, -1, -2, -4, -8 and -16, with 31 bits of fraction."""


def softmax(value: Tensor, axis: int) -> Tensor:
    """Exponentials over their sum, of floating-point numbers."""
    powers = ops.exp(ops.sub(value, ops.reduce_max(value, axis=axis)))
    return ops.mul(powers, ops.reciprocal(ops.reduce_sum(powers, axis=axis)))


def softmax_bytes(value: Tensor, axis: int, scale: float, dtype: DType) -> Tensor:
    """Softmax of INT8 numbers of a scale: probabilities in all bits of a type, from its least number on."""
    below = ops.sub(wide(value), wide(ops.reduce_max(value, axis=axis)))
    powers = looked_up(scaled(below, [(1 << 30, 30)], INT8, output_zp=127), _exponentials(scale))
    terms = ops.arithmetic_right_shift(powers, number_like(powers, _SUM_BITS), round=True)
    total = ops.reduce_sum(terms, axis=axis)
    zeros = ops.clz(total)
    parts = ops.mul(powers, reciprocal(normal(total, zeros)), [30])
    shift = less(zeros, _SUM_BITS + 31 - dtype.bits)
    if value.shape[axis] >= 512:  # only then can it be more than TOSA shifts by: what is beyond comes first
        beyond = ops.maximum(plus(shift, -31), number_like(shift, 0))
        parts = ops.arithmetic_right_shift(parts, beyond, round=False)
        shift = ops.minimum(shift, number_like(shift, 31))
    rounded = ops.arithmetic_right_shift(parts, shift, round=True)
    if dtype is INT8:
        return scaled(rounded, [(1 << 30, 30)], INT8, output_zp=-128)
    return saturated(ops.sub(rounded, number_like(rounded, 32768)), dtype)


def softmax_words(value: Tensor, axis: int, scale: float) -> Tensor:
    """Softmax of INT16 numbers of a scale: probabilities with 15 bits of fraction."""
    below = ops.sub(wide(value), wide(ops.reduce_max(value, axis=axis)))
    places = rescale(below, scale / (10.0 / _RANGE), INT32)
    powers = interpolated(saturated(ops.add(places, number_like(places, 32767))), _word_tables()[0])
    total = ops.reduce_sum(powers, axis=axis)
    zeros = ops.clz(total)
    place = ops.arithmetic_right_shift(normal(total, zeros), number_like(total, 14), round=True)
    index = saturated(ops.sub(place, number_like(place, (1 << 15) + (1 << 16))))
    parts = ops.mul(powers, interpolated(index, _word_tables()[1]))
    rounded = ops.arithmetic_right_shift(parts, less(zeros, 31), round=True)
    return saturated(rounded, INT16)


def log_softmax(value: Tensor, axis: int) -> Tensor:
    """Differences from the logarithm of the sum of exponentials, of floating-point numbers."""
    below = ops.sub(value, ops.reduce_max(value, axis=axis))
    return ops.sub(below, ops.log(ops.reduce_sum(ops.exp(below), axis=axis)))


def log_softmax_bytes(value: Tensor, axis: int, scale: float) -> Tensor:
    """The same of INT8 numbers of a scale: in sixteenths, from -128 to 127 for zero."""
    multiplier, left, least = _differences(scale)
    below = ops.sub(wide(value), wide(ops.reduce_max(value, axis=axis)))
    powers = looked_up(scaled(below, [(1 << 30, 30)], INT8, output_zp=127), _exponentials(scale))
    terms = ops.arithmetic_right_shift(powers, number_like(powers, _SUM_BITS), round=True)
    logs = logarithm(ops.reduce_sum(terms, axis=axis), _SUM_BITS, _DIFFERENCE_BITS)
    reverse = 2.0 ** (31 - left) / multiplier
    limit = rescale(plus(logs, -(1 << 31)), reverse, INT32)
    limit = ops.maximum(limit, number_like(limit, least - 1))
    inside = ops.maximum(below, plus(limit, 1))
    places = ops.mul(inside, number_like(inside, multiplier), [31 - left])
    found = divided(ops.sub(places, logs), 31 - _DIFFERENCE_BITS - 4)
    least_ones = np.full((1,) * value.ndim, -128, np.int8)
    return ops.select(
        ops.greater(below, limit), scaled(found, [(1 << 30, 30)], INT8, output_zp=127), least_ones
    )


def _differences(scale: float) -> tuple[int, int, int]:
    """The multiplier of differences, the bits that they are moved up by before, and the least that counts."""
    bits = 31 - _DIFFERENCE_BITS
    multiplier, shift = multiplier_of(min(scale * (1 << bits), (1 << 31) - 1.0))
    left = 31 - shift
    return multiplier, left, -int((((1 << _DIFFERENCE_BITS) - 1) * (1 << bits)) / 2.0**left)


@cache
def _exponentials(scale: float) -> Array:
    """The exponentials of the differences -255, …, 0, with 31 bits of fraction."""
    multiplier, left, least = _differences(scale)
    differences = range(-255, 1)
    return np.array(
        [_exponential(_product(one << left, multiplier)) if one >= least else 0 for one in differences],
        np.int64,
    )


def _exponential(raw: int) -> int:
    """The exponential of a number up to 0 that has 5 integer bits, by a polynomial and products of powers."""
    if raw == 0:
        return (1 << 31) - 1
    quarter = 1 << 24
    rest = (raw & (quarter - 1)) - quarter
    place = (rest << _DIFFERENCE_BITS) + (1 << 28)
    square = _product(place, place)
    cube, fourth = _product(square, place), _product(square, square)
    terms = _product(_halved(fourth, 2) + cube, 715827883) + square
    result = 1895147668 + _product(1895147668, place + _halved(terms, 1))
    for bit, factor in enumerate(_FACTORS, 24):
        if (rest - raw) >> bit & 1:
            result = _product(result, factor)
    return result


def _product(one: int, other: int) -> int:
    """The product of fractions of 31 bits."""
    return (one * other + (1 << 30)) >> 31


def _halved(number: int, times: int) -> int:
    """A number over a power of two, halves away from zero."""
    half = 1 << (times - 1)
    return (number + half) >> times if number >= 0 else -((-number + half) >> times)


@cache
def _word_tables() -> tuple[Array, Array]:
    """The exponential on the interval from -10 to 0, and one over one plus x on that from 0 to 1."""
    return (
        sampled(exp, 10.0 / _RANGE, 32767, 2.0 / _RANGE),
        sampled(lambda number: 1.0 / (1.0 + number), 1.0 / _RANGE, -32768, 2.0 / _RANGE),
    )
