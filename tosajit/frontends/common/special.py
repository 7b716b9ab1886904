"""Functions of statistics and physics, by polynomials and quotients of numbers that TOSA has."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, nan, pi

from tosajit import ops
from tosajit.frontends.common.division import quotient_of
from tosajit.frontends.common.functions import log_of_more, square_root
from tosajit.frontends.common.numbers import constant, is_negative, number
from tosajit.tracing.tensor import Tensor

_NEAR = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087,
    -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
_FAR = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773,
    -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257,
)  # fmt: skip
"""M. Giles, Approximating the erfinv function: single precision, both branches."""

_LANCZOS = (
    676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip
_FIRST, _SHIFT = 0.99999999999980993, 7.0
"""Lanczos' sum for the gamma function with 7 and 9 terms, as Numerical Recipes, section 6.1, explains it."""

_I0_NEAR = (
    -1.30002501e-8, 6.04699502e-8, -2.67079385e-7, 1.11738754e-6, -4.41673836e-6, 1.64484481e-5,
    -5.75419501e-5, 1.88502885e-4, -5.76375575e-4, 1.63947562e-3, -4.32431000e-3, 1.05464604e-2,
    -2.37374148e-2, 4.93052842e-2, -9.49010970e-2, 1.71620902e-1, -3.04682672e-1, 6.76795274e-1,
)  # fmt: skip
_I0_FAR = (
    3.39623203e-9, 2.26666899e-8, 2.04891859e-7, 2.89137052e-6, 6.88975835e-5, 3.36911648e-3,
    8.04490411e-1,
)  # fmt: skip
_I1_NEAR = (
    9.38153739e-9, -4.44505913e-8, 2.00329475e-7, -8.56872026e-7, 3.47025131e-6, -1.32731637e-5,
    4.78156511e-5, -1.61760816e-4, 5.12285956e-4, -1.51357245e-3, 4.15642294e-3, -1.05640849e-2,
    2.47264490e-2, -5.29459812e-2, 1.02643659e-1, -1.76416518e-1, 2.52587186e-1,
)  # fmt: skip
_I1_FAR = (
    -3.83538039e-9, -2.63146885e-8, -2.51223624e-7, -3.88256480e-6, -1.10588939e-4, -9.76109749e-3,
    7.78576235e-1,
)  # fmt: skip
"""Chebyshev's series of the modified Bessel functions, as Cephes has them: up to 8, and beyond."""


def inverse_error(value: Tensor) -> Tensor:
    """The inverse of the error function."""
    size = -log_of_more(-ops.mul(value, value))
    near = _polynomial(ops.sub(size, number(value, 2.5)), _NEAR)
    far = _polynomial(ops.sub(square_root(size), number(value, 3)), _FAR)
    factor = ops.select(ops.greater(number(value, 5), size), near, far)
    is_end = ops.equal(ops.abs(value), number(value, 1))
    return ops.mul(value, ops.select(is_end, number(value, inf), factor))


def log_gamma(value: Tensor) -> Tensor:
    """The logarithm of the size of the gamma function."""
    place, reflects = _reflected(value)
    total = constant(value, _FIRST)
    for step, factor in enumerate(_LANCZOS, 1):
        one = ops.reciprocal(ops.add(place, number(value, step)))
        total = ops.add(total, ops.mul(one, number(value, factor)))
    end, log_end = _end(place)
    half = ops.add(place, number(value, 0.5))
    power = ops.mul(ops.sub(half, quotient_of(end, log_end)), log_end)
    found = ops.add(ops.add(power, number(value, log(2 * pi) / 2)), ops.log(total))
    size = ops.abs(value)
    part = ops.sub(size, ops.floor(size))
    angle = ops.mul(ops.minimum(part, ops.sub(constant(value, 1), part)), number(value, pi))
    mirrored = ops.sub(ops.sub(constant(value, log(pi)), ops.log(ops.sin(angle))), found)
    found = ops.select(reflects, mirrored, found)
    return ops.select(ops.equal(size, number(value, inf)), size, found)


def digamma(value: Tensor) -> Tensor:
    """The derivative of the logarithm of the gamma function."""
    place, reflects = _reflected(value)
    above, below = constant(value, 0), constant(value, _FIRST)
    for step, factor in enumerate(_LANCZOS, 1):
        one = ops.reciprocal(ops.add(place, number(value, step)))
        term = ops.mul(one, number(value, factor))
        above, below = ops.sub(above, ops.mul(term, one)), ops.add(below, term)
    end, log_end = _end(place)
    rest = ops.mul(ops.reciprocal(end), number(value, _SHIFT))
    found = ops.sub(ops.add(log_end, quotient_of(above, below)), rest)
    whole = ops.floor(value)
    near = ops.sub(value, ops.floor(ops.add(value, number(value, 0.5))))
    angle = ops.mul(near, number(value, pi))
    slope = ops.mul(quotient_of(ops.cos(angle), ops.sin(angle)), number(value, pi))
    found = ops.select(reflects, ops.sub(found, slope), found)
    is_pole = ops.logical_and(ops.equal(value, whole), ops.greater_equal(number(value, 0), value))
    return ops.select(is_pole, number(value, nan), found)


def bessel_zero(value: Tensor) -> Tensor:
    """The modified Bessel function of order 0, times the exponential of the opposite of the size."""
    size = ops.abs(value)
    return _bessel(size, _I0_NEAR, _I0_FAR)


def bessel_one(value: Tensor) -> Tensor:
    """The same of order 1."""
    size = ops.abs(value)
    found = _bessel(size, _I1_NEAR, _I1_FAR, size)
    return ops.select(is_negative(value), -found, found)


def _bessel(
    size: Tensor, near: Sequence[float], far: Sequence[float], factor: Tensor | None = None
) -> Tensor:
    inner = _chebyshev(ops.sub(ops.mul(size, number(size, 0.5)), number(size, 2)), near)
    inner = inner if factor is None else ops.mul(inner, factor)
    place = ops.sub(ops.mul(ops.reciprocal(size), number(size, 32)), number(size, 2))
    outer = ops.mul(_chebyshev(place, far), ops.rsqrt(size))
    return ops.select(ops.greater(size, number(size, 8)), outer, inner)


def _reflected(value: Tensor) -> tuple[Tensor, Tensor]:
    """How far a number is above 1, or one less it is, and whether that is so: the sums are for such ones."""
    reflects: Tensor = ops.greater(constant(value, 0.5), value)
    place: Tensor = ops.select(reflects, -value, ops.sub(value, number(value, 1)))
    return place, reflects


def _end(place: Tensor) -> tuple[Tensor, Tensor]:
    """A number more by the shift and one half, and its logarithm."""
    shift = _SHIFT + 0.5
    more = log_of_more(ops.mul(place, number(place, 1 / shift)))
    end: Tensor = ops.add(place, number(place, shift))
    log_end: Tensor = ops.add(more, number(place, log(shift)))
    return end, log_end


def _polynomial(value: Tensor, factors: Sequence[float]) -> Tensor:
    """A polynomial, the factor of the lowest power first."""
    total = constant(value, factors[-1])
    for factor in reversed(factors[:-1]):
        total = ops.add(ops.mul(total, value), number(value, factor))
    return total


def _chebyshev(value: Tensor, factors: Sequence[float]) -> Tensor:
    """A series of Chebyshev's polynomials of half a number, by Clenshaw's recurrence."""
    first, second, third = constant(value, factors[0]), constant(value, 0), constant(value, 0)
    for factor in factors[1:]:
        second, third = first, second
        first = ops.add(ops.sub(ops.mul(value, second), third), number(value, factor))
    return ops.mul(ops.sub(first, third), number(value, 0.5))
