"""The sigmoid and the hyperbolic tangent of 16 bits in the arithmetic of gemmlowp, which recurrent cells use.

Each is looked up, from 0 on, in what that arithmetic gives; numbers below 0 follow from those above.
A number of `n` integer bits has 15 - n bits of fraction; results have 15.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT32
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.scale import number_like
from tosajit.tracing.tensor import Tensor

_MOST = 32767
_FACTORS = (
    (-2, 1672461947),
    (-1, 1302514674),
    (0, 790015084),
    (1, 290630308),
    (2, 39332535),
    (3, 720401),
    (4, 242),
)
"""The exponential of less than nothing, by powers of two: 31 bits of exp(-2 ** exponent)."""


def sigmoid(value: Tensor) -> Tensor:
    """The sigmoid of INT16 numbers with 3 integer bits, as INT32."""
    wide = ops.cast(value, dtype=INT32)
    above = _looked_up(wide, sigmoids())
    below = ops.sub(ops.const(number_like(wide, _MOST)), above)
    return ops.select(ops.greater_equal(wide, number_like(wide, 0)), above, below)


def tangent(value: Tensor, integer_bits: int) -> Tensor:
    """The hyperbolic tangent of INT16 numbers, as INT32."""
    wide = ops.cast(value, dtype=INT32)
    size = _looked_up(wide, tangents(integer_bits))
    return ops.select(ops.greater_equal(wide, number_like(wide, 0)), size, ops.negate(size))


def _looked_up(wide: Tensor, table: Array) -> Tensor:
    """The elements of a table at the sizes of numbers; the last one for all beyond it."""
    place = ops.minimum(ops.abs(wide), number_like(wide, len(table) - 1))
    found = ops.gather(ops.const(table.reshape(1, -1, 1)), reshaped(place, (1, -1)))
    return ops.cast(reshaped(found, wide.shape), dtype=INT32)


@cache
def sigmoids() -> Array:
    """The sigmoid of 0, 1, 2, …, up to where it stays the same."""
    below = -np.arange(32769)
    halves = _half_of_one_plus(_exponential(below, 3))
    table = _raised(_reciprocal(halves), 1)
    table[0] = 16384
    return _cut(table)


@cache
def tangents(integer_bits: int) -> Array:
    """The hyperbolic tangent of 0, 1, 2, …, up to where it stays the same."""
    below = -np.arange(32769)
    halves = _half_of_one_plus(_exponential(below, integer_bits + 1))
    table = _raised(_reciprocal(halves) - 8192, 2)
    table[0] = 0
    return _cut(table)


def _cut(table: Array) -> Array:
    last = np.flatnonzero(table != table[-1])
    return table[: (last[-1] if last.size else 0) + 2].astype(np.int16)


def _exponential(below: Array, integer_bits: int) -> Array:
    """The exponential of numbers up to 0, in 15 bits of fraction."""
    fraction = 15 - integer_bits
    quarter = 1 << (fraction - 2)
    part = (below & (quarter - 1)) - quarter
    result = _on_last_quarter(_raised(part, integer_bits))
    rest = part - below
    for exponent, factor in _FACTORS:
        if exponent < integer_bits:
            has = rest & (1 << (fraction + exponent)) != 0
            result = np.where(has, _times(result, _divided(np.array(factor), 16)), result)
    if integer_bits > 5:
        result = np.where(below < -(1 << (20 - integer_bits)), 0, result)
    return np.where(below == 0, _MOST, result)


def _on_last_quarter(number: Array) -> Array:
    """The exponential from -1/4 to 0: its series around -1/8."""
    middle, third = 28918, 10923
    x = number + (1 << 12)
    square = _times(x, x)
    fourth = _divided(_times(square, square), 2)
    more = _divided(_times(fourth + _times(square, x), third) + square, 1)
    found: Array = np.minimum(middle + _times(x + more, middle), _MOST)
    return found


def _half_of_one_plus(number: Array) -> Array:
    found: Array = (number + _MOST + 1) >> 1
    return found


def _reciprocal(half: Array) -> Array:
    """One over the double of numbers from one half to one, with 2 integer bits: by Newton's method."""
    guess = _divided(np.array(1515870810), 16) + _times(half, _divided(np.array(-1010580540), 16))
    for _ in range(3):
        error = 8192 - _times(half, guess)
        guess = guess + _raised(_times(guess, error), 2)
    return guess


def _times(value: Array, other: Array | int) -> Array:
    double: Array = value * other + (1 << 14)
    return double >> 15


def _raised(value: Array, bits: int) -> Array:
    found: Array = np.clip(value << bits, -32768, _MOST)
    return found


def _divided(value: Array, bits: int) -> Array:
    """Over a power of two, halves away from zero."""
    size: Array = np.abs(value) + (1 << bits >> 1)
    return np.where(value < 0, -(size >> bits), size >> bits)
