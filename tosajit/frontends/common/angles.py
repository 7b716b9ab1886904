"""Angles: TOSA has sines and cosines, but not what is inverse to them."""

from __future__ import annotations

from math import pi

from tosajit import ops
from tosajit.frontends.common.numbers import number
from tosajit.tracing.tensor import Tensor

_ARC_TANGENT = (
    0.999999997,
    -0.333332763,
    0.199980753,
    -0.142600161,
    0.109323415,
    -0.083497250,
    0.057089556,
    -0.030351865,
    0.010487649,
    -0.001701170,
)
"""The arc tangent of a number from 0 to 1 over that number: factors of powers of its square."""


def angle(y: Tensor, x: Tensor) -> Tensor:
    """The angle of points by their ordinates and abscissae, of one rank, in float32."""
    zero, height, width = number(y, 0.0), ops.abs(y), ops.abs(x)
    large = ops.maximum(height, width)
    divisor = ops.select(ops.equal(large, zero), number(y, 1.0), large)
    slope = ops.mul(ops.minimum(height, width), ops.reciprocal(divisor))
    square = ops.mul(slope, slope)
    series: Tensor = ops.const(number(y, _ARC_TANGENT[-1]))
    for factor in reversed(_ARC_TANGENT[:-1]):
        series = ops.add(ops.mul(series, square), number(y, factor))
    found = ops.mul(slope, series)
    found = ops.select(ops.greater(height, width), ops.sub(ops.const(number(y, pi / 2)), found), found)
    found = ops.select(ops.greater(ops.const(zero), x), ops.sub(ops.const(number(y, pi)), found), found)
    below: Tensor = ops.greater(ops.const(zero), y)
    return ops.select(below, ops.negate(found), found)
