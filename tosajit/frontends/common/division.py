"""Quotients: TOSA has one over a number, and whole quotients of integers."""

from __future__ import annotations

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.layout import constant_of, small
from tosajit.frontends.common.numbers import is_negative, is_not_zero, number, towards_zero
from tosajit.tracing.tensor import Tensor


def quotient_of(first: Tensor, second: Tensor) -> Tensor:
    """Real numbers over others: times one over them."""
    data = constant_of(second)
    if data is not None and small(data.shape):
        return ops.mul(first, np.asarray(1 / data, data.dtype))
    return ops.mul(first, ops.reciprocal(second))


def divided(first: Tensor, second: Tensor) -> Tensor:
    """float32 numbers over others as a division rounds them, where quotients times 4097 are finite."""
    data = constant_of(second)
    if data is not None and np.all(np.abs(np.frexp(data)[0]) == 0.5):
        return quotient_of(first, second)
    return Divisor.of(second).under(first)


@dataclass(frozen=True, slots=True)
class Divisor:
    """float32 numbers by which others are divided as a division rounds quotients.

    What the product with one over the divisor leaves of the dividend is computed without an error: by
    halves of the bits of its factors, after T. J. Dekker, "A floating-point technique for extending the
    available precision", Numerische Mathematik 18 (1971).
    """

    value: Tensor
    inverse: Tensor
    coarse: Tensor
    fine: Tensor | None
    """What the coarse half leaves; none if that is nothing."""

    @classmethod
    def of(cls, value: Tensor) -> Divisor:
        """What is needed of a divisor, once for all dividends."""
        data = constant_of(value)
        if data is None:
            return cls(value, ops.reciprocal(value), *_halves(value))
        far = data * np.float32(4097)
        coarse = far - (far - data)
        fine = data - coarse
        inverse = ops.const(np.asarray(1 / data, data.dtype))
        return cls(value, inverse, ops.const(coarse), ops.const(fine) if fine.any() else None)

    def under(self, first: Tensor) -> Tensor:
        """The quotients of dividends."""
        near = ops.mul(first, self.inverse)
        product = ops.mul(near, self.value)
        high, low = _halves(near)
        pairs = [(high, self.fine), (low, self.coarse), (low, self.fine)]
        error = ops.sub(ops.mul(high, self.coarse), product)
        for one, other in pairs:
            error = error if other is None else ops.add(error, ops.mul(one, other))
        rest = ops.sub(ops.sub(first, product), error)
        return ops.add(near, ops.mul(rest, self.inverse))


def _halves(value: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers of 12 bits that add up to numbers of 24."""
    far = ops.mul(value, number(value, 4097))
    high = ops.sub(far, ops.sub(far, value))
    return high, ops.sub(value, high)


def floored(value: Tensor, divisor: Tensor) -> tuple[Tensor, Tensor]:
    """Whole quotients below or at the real ones, and what is left."""
    if value.dtype is INT32:
        quotient: Tensor = ops.intdiv(value, divisor)
    else:
        quotient = ops.floor(quotient_of(value, divisor))
    one = number(value, 1)
    rest = ops.sub(value, ops.mul(quotient, divisor))
    wrong = ops.logical_xor(is_negative(rest), is_negative(divisor))
    over = ops.logical_and(wrong, is_not_zero(rest))
    quotient, rest = (
        ops.select(over, ops.sub(quotient, one), quotient),
        ops.select(over, ops.add(rest, divisor), rest),
    )
    if value.dtype is INT32:
        return quotient, rest
    # One over the divisor is rounded: the quotient of multiples may be one too small.
    whole = ops.greater_equal(ops.abs(rest), ops.abs(divisor))
    return (
        ops.select(whole, ops.add(quotient, one), quotient),
        ops.select(whole, ops.sub(rest, divisor), rest),
    )


def truncated(first: Tensor, second: Tensor) -> Tensor:
    """A quotient without its fraction."""
    return ops.intdiv(first, second) if first.dtype is INT32 else towards_zero(quotient_of(first, second))


def remainder(value: Tensor, divisor: Tensor) -> Tensor:
    """What is left of a quotient without its fraction: it has the sign of the dividend, as in C."""
    if value.dtype is INT32:
        return ops.sub(value, ops.mul(ops.intdiv(value, divisor), divisor))
    _, rest = floored(ops.abs(value), ops.abs(divisor))
    return ops.select(is_negative(value), -rest, rest)
