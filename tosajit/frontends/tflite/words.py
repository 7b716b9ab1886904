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
_FACTORS = ((-2, 25520), (-1, 19875), (0, 12055), (1, 4435), (2, 600), (3, 11))
"""15 bits of exp(-2 ** exponent); from 16 on nothing is left of the exponential."""


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
    halves = _half_of_one_plus(_exponential(3))
    table = _raised(_reciprocal(halves), 1)
    table[0] = 16384
    return _cut(table)


@cache
def tangents(integer_bits: int) -> Array:
    """The hyperbolic tangent of 0, 1, 2, …, up to where it stays the same."""
    halves = _half_of_one_plus(_exponential(integer_bits + 1))
    table = _raised(_reciprocal(halves) - 8192, 2)
    table[0] = 0
    return _cut(table)


def _cut(table: Array) -> Array:
    last = np.flatnonzero(table != table.max())[-1]
    return table[: last + 2].astype(np.int16)


def _exponential(integer_bits: int) -> Array:
    """The exponential of 0, -1, -2, …, in 15 bits of fraction, but for that of 0 itself."""
    below = -np.arange(1 << 15)
    fraction = 15 - integer_bits
    quarter = 1 << (fraction - 2)
    part = (below & (quarter - 1)) - quarter
    result = _on_last_quarter(_raised(part, integer_bits))
    rest = part - below
    for exponent, factor in _FACTORS:
        has = rest & (1 << (fraction + exponent)) != 0
        result = np.where(has, _times(result, factor), result)
    return np.where(rest >> (fraction + 4), 0, result)


def _on_last_quarter(number: Array) -> Array:
    """The exponential from -1/4 to 0: its series around -1/8."""
    middle, third = 28918, 10923
    x = number + (1 << 12)
    square = _times(x, x)
    fourth = _divided(_times(square, square), 2)
    more = _divided(_times(fourth + _times(square, x), third) + square, 1)
    return middle + _times(x + more, middle)


def _half_of_one_plus(number: Array) -> Array:
    found: Array = (number + _MOST + 1) >> 1
    return found


def _reciprocal(half: Array) -> Array:
    """One over the double of numbers from one half to one, with 2 integer bits: by Newton's method."""
    guess = 23130 + _times(half, -15420)
    for _ in range(3):
        error = 8192 - _times(half, guess)
        guess = guess + _raised(_times(guess, error), 2)
    return guess


def _times(value: Array, other: Array | int) -> Array:
    return _divided(value * other, 15)


def _raised(value: Array, bits: int) -> Array:
    found: Array = np.minimum(value << bits, _MOST)
    return found


def _divided(value: Array, bits: int) -> Array:
    """Over a power of two, halves up."""
    found: Array = (value + (1 << bits >> 1)) >> bits
    return found
