"""Powers: TOSA has those of positive real numbers."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.frontends.common.layout import constant_of
from tosajit.frontends.common.numbers import is_negative, number
from tosajit.tracing.tensor import Tensor

_EXPONENT_BITS = 5
"""Greater exponents leave 32 bits, but for powers of -1, 0 and 1, which only evenness counts for."""


def integer_power(base: Tensor, exponent: Tensor) -> Tensor:
    """By squaring, as far as the exponent has bits: what is beyond them stays 1."""
    one, most = number(base, 1), number(base, (1 << _EXPONENT_BITS) - 2)
    even = ops.add(ops.bitwise_and(exponent, one), most)
    rest = ops.select(ops.greater(exponent, number(base, (1 << _EXPONENT_BITS) - 1)), even, exponent)
    result = ops.select(ops.equal(ops.bitwise_and(rest, one), one), base, one)
    for _ in range(_EXPONENT_BITS - 1):
        rest = ops.arithmetic_right_shift(rest, one)
        base = ops.select(ops.greater(rest, number(base, 0)), base, one)
        base = ops.mul(base, base)
        odd = ops.equal(ops.bitwise_and(rest, one), one)
        result = ops.mul(result, ops.select(odd, base, one))
    return result


def real_power(base: Tensor, exponent: Tensor) -> Tensor:
    """The power of a size; below zero it has a sign where the exponent is whole, else there is none."""
    zero, unit = number(base, 0.0), number(base, 1.0)
    positive = ops.greater(exponent, zero)
    nothing, size = ops.equal(base, zero), ops.abs(base)
    power = ops.pow(ops.select(nothing, unit, size), exponent)
    at_zero = ops.select(positive, zero, ops.select(ops.equal(exponent, zero), unit, number(base, np.inf)))
    power = ops.select(nothing, at_zero, power)
    half = ops.mul(exponent, number(exponent, 0.5))
    whole, even = (ops.equal(one, ops.floor(one)) for one in (exponent, half))
    turned = ops.select(even, power, ops.negate(power))
    below = ops.select(whole, turned, number(base, np.nan))
    return ops.select(ops.greater_equal(base, zero), power, below)


def power_of(base: Tensor, exponent: Tensor) -> Tensor:
    """The power of real numbers: by one of sizes alone where the exponents are known to be whole."""
    data = constant_of(exponent)
    if data is None or not np.all(data == np.round(data.astype(np.float64))):
        return real_power(base, exponent)
    size = ops.pow(ops.abs(base), exponent)
    odd = np.asarray(data.astype(np.float64) % 2 == 1)
    if not odd.any():
        return size
    return ops.select(ops.logical_and(is_negative(base), ops.const(odd)), -size, size)
