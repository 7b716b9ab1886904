"""Functions of real numbers by those that TOSA has, exact also where terms nearly cancel."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, pi, sqrt

from tosajit import ops
from tosajit.dtypes import FP16
from tosajit.frontends.common.division import quotient_of
from tosajit.frontends.common.numbers import constant, is_negative, is_not_zero, number
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor

_HUGE = 1e9
"""From here on, one more is nothing beside a square."""
_ARC_TANGENT = (0.9999999994, -0.3333330749, 0.199982108, -0.1423998292, 0.1057281447, -0.06033241686)
"""Factors of odd powers, interpolated at Chebyshev's points: the error is 6e-10 up to tan(pi / 8)."""
_ARC_SINE = (0.9999999957, 0.1666678701, 0.07494534269, 0.04553900971, 0.02390936358, 0.04255359912)
"""The same for the arc sine: 5e-9 up to one half."""

_ERROR_LEFT = (
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806,
    0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277,
)  # fmt: skip
_MISH_AT_MOST = 20.0
"""From here on, the tangent in mish is 1."""
_MISH_AT_MOST_FP16 = 4.5
"""The same in float16, to half a step: one over the square's like keeps all of its bits up to here."""


def log_of_more(value: Tensor) -> Tensor:
    """The natural logarithm of one more: what rounding takes from the sum is made good."""
    more = ops.add(value, number(value, 1))
    rounded = ops.sub(more, number(value, 1))
    exact = ops.mul(ops.log(more), quotient_of(value, rounded))
    exact = ops.select(is_not_zero(rounded), exact, value)
    return ops.select(ops.equal(more, number(value, inf)), more, exact)


def exponential_less_one(value: Tensor) -> Tensor:
    """The exponential less one, exact also near zero."""
    half = ops.tanh(ops.mul(value, number(value, 0.5)))
    near = quotient_of(ops.add(half, half), ops.sub(constant(value, 1), half))
    far = ops.sub(ops.exp(value), number(value, 1))
    return ops.select(ops.greater(constant(value, 0.5), ops.abs(value)), near, far)


def error_left(value: Tensor) -> Tensor:
    """One less the error function, exact also where little is left: by a fit of what is left of a size.

    The fit is the one of Numerical Recipes, section 6.2; its relative error is 1.2e-7.
    """
    size = ops.abs(value)
    place = ops.reciprocal(ops.add(ops.mul(size, number(value, 0.5)), number(value, 1)))
    total = constant(value, _ERROR_LEFT[-1])
    for factor in reversed(_ERROR_LEFT[:-1]):
        total = ops.add(ops.mul(total, place), number(value, factor))
    left = ops.mul(place, ops.exp(ops.sub(total, ops.mul(size, size))))
    return ops.select(is_negative(value), ops.sub(constant(value, 2), left), left)


def soft_plus(value: Tensor) -> Tensor:
    """The logarithm of one more than the exponential."""
    rest = log_of_more(ops.exp(-ops.abs(value)))
    return ops.add(ops.maximum(value, number(value, 0)), rest)


def mish(value: Tensor) -> Tensor:
    """Elements times the hyperbolic tangent of their softplus: a quotient of what their exponential makes."""
    bound = _MISH_AT_MOST_FP16 if value.dtype is FP16 else _MISH_AT_MOST
    power = ops.exp(ops.minimum(value, number(value, bound)))
    square = ops.mul(power, ops.add(power, number(value, 2)))
    return ops.mul(value, quotient_of(square, ops.add(square, number(value, 2))))


def gelu(value: Tensor, approximate: str) -> Tensor:
    """Elements times how probable smaller ones are; `tanh` is an approximation of that, `none` is not."""
    half = ops.mul(value, number(value, 0.5))
    if approximate == "tanh":
        cube = ops.mul(ops.mul(value, value), value)
        inner = ops.add(value, ops.mul(cube, number(value, 0.044715)))
        share = ops.tanh(ops.mul(inner, number(value, sqrt(2 / pi))))
    elif approximate == "none":
        share = ops.erf(ops.mul(value, number(value, 1 / sqrt(2))))
    else:
        raise Refused(f"its approximation {approximate!r} is not known")
    return ops.mul(half, ops.add(share, number(value, 1)))


def square_root(value: Tensor) -> Tensor:
    """The square root: one over one over it."""
    return ops.reciprocal(ops.rsqrt(value))


def sinh(value: Tensor) -> Tensor:
    """The hyperbolic sine, by the tangent of the half near zero."""
    half = ops.tanh(ops.mul(value, number(value, 0.5)))
    near = quotient_of(ops.add(half, half), ops.sub(constant(value, 1), ops.mul(half, half)))
    powers = ops.exp(value), ops.exp(-value)
    far = ops.mul(ops.sub(*powers), number(value, 0.5))
    return ops.select(ops.greater(constant(value, 1), ops.abs(value)), near, far)


def cosh(value: Tensor) -> Tensor:
    """The hyperbolic cosine."""
    return ops.mul(ops.add(ops.exp(value), ops.exp(-value)), number(value, 0.5))


def asinh(value: Tensor) -> Tensor:
    """The inverse of the hyperbolic sine."""
    size = ops.abs(value)
    some = ops.minimum(size, number(value, _HUGE))
    root = square_root(ops.add(ops.mul(some, some), number(value, 1)))
    more = ops.add(ops.maximum(root, size), number(value, 1))
    found = log_of_more(ops.add(size, ops.mul(size, quotient_of(size, more))))
    return _signed(value, found)


def acosh(value: Tensor) -> Tensor:
    """The inverse of the hyperbolic cosine of numbers from 0."""
    above = ops.sub(value, number(value, 1))
    roots = square_root(above), square_root(ops.add(above, number(value, 2)))
    return log_of_more(ops.add(above, ops.mul(*roots)))


def atanh(value: Tensor) -> Tensor:
    """The inverse of the hyperbolic tangent."""
    ratio = quotient_of(ops.add(value, value), ops.sub(constant(value, 1), value))
    return ops.mul(log_of_more(ratio), number(value, 0.5))


def log2(value: Tensor) -> Tensor:
    """The logarithm to the base 2."""
    return ops.mul(ops.log(value), number(value, 1 / log(2)))


def atan(value: Tensor) -> Tensor:
    """The arc tangent: a polynomial near zero, and differences of angles elsewhere."""
    size, one = ops.abs(value), number(value, 1)
    large, middle = (ops.greater(size, number(value, edge)) for edge in (2.414213562, 0.4142135624))
    turned = quotient_of(ops.sub(size, one), ops.add(size, one))
    place = ops.select(large, -ops.reciprocal(size), ops.select(middle, turned, size))
    start = ops.select(middle, number(value, pi / 4), number(value, 0))
    start = ops.select(large, number(value, pi / 2), start)
    return _signed(value, ops.add(start, _odd(place, _ARC_TANGENT)))


def asin(value: Tensor) -> Tensor:
    """The arc sine."""
    angle, is_large = _near_arc_sine(value)
    far = ops.sub(constant(value, pi / 2), ops.add(angle, angle))
    return _signed(value, ops.select(is_large, far, angle))


def acos(value: Tensor) -> Tensor:
    """The arc cosine."""
    angle, is_large = _near_arc_sine(value)
    double = ops.add(angle, angle)
    far = ops.select(is_negative(value), ops.sub(constant(value, pi), double), double)
    near = ops.sub(constant(value, pi / 2), _signed(value, angle))
    return ops.select(is_large, far, near)


def _near_arc_sine(value: Tensor) -> tuple[Tensor, Tensor]:
    """The arc sine of a size up to one half, or that of the root of half of what is missing to one."""
    size, half = ops.abs(value), number(value, 0.5)
    is_large = ops.greater(size, half)
    missing = ops.mul(ops.sub(constant(value, 1), size), half)
    return _odd(ops.select(is_large, square_root(missing), size), _ARC_SINE), is_large


def _odd(value: Tensor, factors: Sequence[float]) -> Tensor:
    """A polynomial of odd powers."""
    square = ops.mul(value, value)
    total = constant(value, factors[-1])
    for factor in reversed(factors[:-1]):
        total = ops.add(ops.mul(total, square), number(value, factor))
    return ops.mul(value, total)


def _signed(like: Tensor, size: Tensor) -> Tensor:
    """A size with the sign of another number."""
    return ops.select(is_negative(like), -size, size)
