"""Layer normalisation of 16 bits, as LiteRT's integer LSTM has it: rows less their mean over their deviation.

Squares of whole rows and means have up to 50 bits. They are numbers in digits of 10 bits, the lowest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import sqrt

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT16, INT32
from tosajit.frontends.common.fixed import divided, inverse_root, times
from tosajit.frontends.common.scale import number_like, rescale
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.operand import Operand
from tosajit.tracing.tensor import Tensor

_BITS = 10
"""Of a digit, and of the fraction that means and normal numbers have."""
_MASK = (1 << _BITS) - 1
_DIGITS = 6
_WIDEST = 1 << 12
"""How many numbers a row may have, so that all sums fit in 32 bits."""


def normal(value: Tensor, factor: Operand, bias: Operand) -> Tensor:
    """Rows of INT16 numbers made normal, times a factor, with a bias: with 12 bits of fraction."""
    count = value.shape[-1]
    _check(count, factor, bias)
    wide = ops.cast(value, dtype=INT32)
    mean = _mean(wide, count)
    variance = _variance(wide, mean, count)
    guard = max(1, int(10000 * np.float32(factor.scale)))
    variance = ops.select(
        ops.greater(variance, number_like(variance, 0)), variance, number_like(variance, guard)
    )
    root, bits = inverse_root(variance)
    apart = ops.sub(_up(wide, _BITS), mean)
    normal = divided(times(apart, root), bits)
    product = ops.mul(normal, factor.array.astype(np.int32).reshape(1, -1))
    total = divided(ops.add(product, bias.array.reshape(1, -1)), _BITS)
    return rescale(total, float(np.float32(factor.scale)) * 2.0**12, INT16)


def _check(count: int, factor: Operand, bias: Operand) -> None:
    """Refuse what would leave 32 bits."""
    if count > _WIDEST:
        raise Refused(f"{count} numbers are made normal together, but may at most {_WIDEST}")
    greatest = [int(np.abs(one.array.astype(np.int64)).max(initial=0)) for one in (factor, bias)]
    reach = (1 << _BITS) * sqrt(count) * greatest[0] + greatest[1]
    if reach >= 1 << 31:
        raise Refused(f"numbers that are made normal may be {reach:.0f}, which does not fit in 32 bits")


def _mean(value: Tensor, count: int) -> Tensor:
    """The mean with 10 bits of fraction, towards zero."""
    total = ops.reduce_sum(value, axis=1)
    number = number_like(total, count)
    whole = ops.intdiv(total, number)
    rest = ops.sub(total, ops.mul(whole, number))
    return ops.add(_up(whole, _BITS), ops.intdiv(_up(rest, _BITS), number))


def _variance(value: Tensor, mean: Tensor, count: int) -> Tensor:
    """The mean of squares less the square of the mean, with no bits of fraction."""
    square = ops.mul(value, value)
    low, middle = _low(square), _low(_down(square, _BITS))
    parts = [ops.reduce_sum(one, axis=1) for one in (low, middle, _down(square, 2 * _BITS))]
    share = (1 << 2 * _BITS) // count
    factors = [share >> place * _BITS & _MASK for place in range(3) if share >> place * _BITS]
    squares = _products(_carried(parts, 5), factors)
    size = _carried([ops.abs(mean)], 3)
    means = _products(size, size)
    digits = _carried([ops.sub(one, other) for one, other in zip(squares, means, strict=True)], _DIGITS)
    raised = (_up(digit, place * _BITS) for place, digit in enumerate(digits[2:]))
    return reduce(ops.add, raised)


def _products(digits: Sequence[Tensor], others: Sequence[Tensor | int]) -> list[Tensor]:
    """The digits of a product, each perhaps too great."""
    found = [ops.const(number_like(digits[0], 0)) for _ in range(_DIGITS)]
    for place, one in enumerate(digits):
        for number, other in enumerate(others):
            factor = number_like(one, other) if isinstance(other, int) else other
            if place + number < _DIGITS:  # what is behind is zero
                found[place + number] = ops.add(found[place + number], ops.mul(one, factor))
    return found


def _carried(digits: Sequence[Tensor], count: int) -> list[Tensor]:
    """Digits that are too great, or below zero, as so many that are not; the last one has the rest."""
    found, rest = [], digits[0]
    for place in range(1, count):
        found.append(_low(rest))
        carry = _down(rest, _BITS)
        rest = ops.add(digits[place], carry) if place < len(digits) else carry
    return [*found, rest]


def _low(value: Tensor) -> Tensor:
    return ops.bitwise_and(value, number_like(value, _MASK))


def _down(value: Tensor, bits: int) -> Tensor:
    return ops.arithmetic_right_shift(value, number_like(value, bits), round=False)


def _up(value: Tensor, bits: int) -> Tensor:
    return ops.logical_left_shift(value, number_like(value, bits))
