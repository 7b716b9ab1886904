"""Powers and angles."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.angles import angle
from tosajit.frontends.common.broadcast import aligned, expanded
from tosajit.frontends.common.numbers import number
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.operators.elementwise import in_float32
from tosajit.tracing.tensor import Tensor

_EXPONENT_BITS = 5
"""Greater exponents leave 32 bits, but for powers of -1, 0 and 1, which only evenness counts for."""
_SMALL = 16
"""Up to this exponent, powers are written as products."""


@operator("POW", types="float32 int32")
def pow_(node: Node) -> Tensor:
    """The elements of one tensor to the power of those of another."""
    value, exponent = node[0], node[1]
    single = _single(exponent)
    if single is not None and single == int(single) and 0 <= single <= _SMALL:
        return _product(aligned(value.tensor, exponent.tensor)[0], int(single))
    base, power = aligned(value.tensor, exponent.tensor)
    return _integer_power(base, power) if base.dtype is INT32 else _real_power(base, power)


def _single(operand: Operand) -> float | None:
    """The number that all elements of a constant are."""
    if not operand.is_constant or operand.raw.size != 1:
        return None
    found = float(operand.raw.reshape(-1)[0])
    return found if np.isfinite(found) else None


def _product(value: Tensor, exponent: int) -> Tensor:
    """A power by as few products as its bits ask for."""
    result: Tensor | None = None
    while exponent:
        if exponent & 1:
            result = value if result is None else ops.mul(result, value)
        exponent >>= 1
        value = ops.mul(value, value) if exponent else value
    if result is not None:
        return result
    return expanded(ops.const(number(value, 1)), value.shape)


def _integer_power(base: Tensor, exponent: Tensor) -> Tensor:
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


def _real_power(base: Tensor, exponent: Tensor) -> Tensor:
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


@operator("ATAN2", types="float32 float16")
def atan2(node: Node) -> Tensor:
    """The angle of points whose ordinates are in the first tensor and abscissae in the second."""
    y, x = aligned(node[0].tensor, node[1].tensor)
    return in_float32(angle, y, x)
