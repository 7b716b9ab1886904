"""Fixed-point functions of INT32 numbers, by the arithmetic that gemmlowp, and so TFLite, has for them.

A number of `n` integer bits is said to be Qn: it has 31 - n bits of fraction.
"""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.frontends.common.scale import number_like
from tosajit.tracing.tensor import Tensor

_MOST = (1 << 31) - 1
_ROOT_OF_HALF = 1518500250
"""The root of one half in Q0; its own root is the middle of the interval that logarithms are taken of."""
_MIDDLE = 1805811301
_LOG_OF_TWO = 1488522236


def times(value: Tensor, other: Tensor | int) -> Tensor:
    """The product of a number in Qn and one in Qm, in Q(n + m)."""
    factor = number_like(value, other) if isinstance(other, int) else other
    return ops.mul(value, factor, [31])


def less(value: Tensor, number: int) -> Tensor:
    """A number less a tensor."""
    difference: Tensor = ops.const(number_like(value, number)) - value
    return difference


def plus(value: Tensor, number: int) -> Tensor:
    """A tensor and a number."""
    return ops.add(value, number_like(value, number))


def raised(value: Tensor, bits: int) -> Tensor:
    """Numbers from 0 times a power of two, or the greatest number."""
    fits: Tensor = ops.const(number_like(value, (_MOST >> bits) + 1))
    moved: Tensor = ops.logical_left_shift(value, number_like(value, bits))
    return ops.select(ops.greater(fits, value), moved, number_like(value, _MOST))


def divided(value: Tensor, bits: Tensor | int) -> Tensor:
    """Numbers over a power of two, halves away from zero."""
    below = ops.arithmetic_right_shift(value, number_like(value, 31), round=False)
    if isinstance(bits, int):
        return ops.arithmetic_right_shift(ops.add(value, below), number_like(value, bits), round=True)
    some = ops.minimum(bits, number_like(bits, 1))
    return ops.arithmetic_right_shift(ops.add(value, ops.mul(below, some)), bits, round=True)


def normal(value: Tensor, zeros: Tensor) -> Tensor:
    """Numbers moved up, so that the bit below that of the sign is set."""
    return ops.logical_left_shift(value, plus(zeros, -1))


def reciprocal(half: Tensor) -> Tensor:
    """One over the double of numbers from one half to one, in Q0, as a number in Q1: by Newton's method."""
    guess = plus(times(half, -1010580540), 1515870810)
    for _ in range(3):
        error = less(times(half, guess), 1 << 29)
        step = ops.logical_left_shift(times(guess, error), number_like(half, 2))
        guess = ops.add(guess, step)
    return guess


def logarithm(value: Tensor, integer_bits: int, result_bits: int) -> Tensor:
    """The natural logarithm of numbers from 1, by a rational function around the middle of an interval."""
    zeros = ops.clz(value)
    high = normal(value, zeros)
    lower = times(value, _ROOT_OF_HALF)
    is_high = ops.equal(ops.clz(lower), zeros)  # the number is at least the root of two times a power of two
    moved = raised(times(high, _ROOT_OF_HALF), 1)
    place = ops.select(is_high, ops.minimum(moved, high), moved)
    unit = 1 << (30 - result_bits)
    whole = ops.mul(less(zeros, integer_bits), number_like(value, unit))
    power = ops.select(is_high, plus(whole, 3 * unit // 4), plus(whole, unit // 4))
    top, bottom = _rational(place)
    fraction = ops.mul(divided(top, result_bits + 1), bottom, [30])
    return ops.logical_left_shift(ops.add(times(power, _LOG_OF_TWO), fraction), number_like(value, 1))


def _rational(place: Tensor) -> tuple[Tensor, Tensor]:
    """The numerator, and one over the denominator in Q1, of a logarithm less that of the middle."""
    mean = plus(ops.arithmetic_right_shift(place, number_like(place, 1), round=False), (_MIDDLE + 1) // 2)
    apart = plus(place, -_MIDDLE)
    apart = ops.add(apart, apart)
    square = times(apart, apart)
    top = ops.add(times(apart, place), times(times(apart, square), 117049297))
    inner = ops.add(plus(apart, 1057819769), times(square, 127690142))
    excess = ops.add(times(mean, inner), times(apart, 638450708))
    half = plus(ops.arithmetic_right_shift(excess, number_like(excess, 1), round=False), 1 << 30)
    return top, reciprocal(half)


def inverse_root(value: Tensor) -> tuple[Tensor, Tensor]:
    """One over the root of numbers from 0: multipliers in Q0, and the bits by which products are divided."""
    large = ops.greater_equal(value, number_like(value, 1 << 29))
    fourth = ops.arithmetic_right_shift(value, number_like(value, 2), round=False)
    small = ops.maximum(ops.select(large, fourth, value), number_like(value, 2))
    spare = plus(ops.clz(small), -1)
    pairs = plus(ops.arithmetic_right_shift(spare, number_like(spare, 1), round=False), -1)
    moved = ops.logical_left_shift(small, ops.add(pairs, pairs))
    number = ops.arithmetic_right_shift(moved, number_like(moved, 1), round=False)
    root = times(_newton_root(number), _ROOT_OF_HALF)
    shift = less(pairs, 11)
    shift = ops.select(large, plus(shift, 1), shift)
    left = ops.maximum(less(shift, 0), number_like(shift, 0))
    tiny = ops.greater(ops.const(number_like(value, 2)), value)
    found = ops.select(tiny, number_like(value, _MOST), ops.logical_left_shift(root, left))
    bits = ops.select(tiny, number_like(value, 0), ops.maximum(shift, number_like(shift, 0)))
    return found, bits


def _newton_root(number: Tensor) -> Tensor:
    """One over the root of numbers from one quarter to one, in Q3."""
    half = ops.arithmetic_right_shift(number, number_like(number, 1), round=True)
    root: Tensor = ops.const(np.full(number.shape, 1 << 28, np.int32))
    for _ in range(5):
        cube = raised(times(times(root, root), root), 6)
        root = raised(ops.sub(times(root, 3 << 27), times(half, cube)), 3)
    return root
