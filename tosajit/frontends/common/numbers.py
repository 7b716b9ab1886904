"""Numbers beside tensors, and how real numbers become other ones."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BF16, FP16, FP32, DType
from tosajit.tracing.tensor import Tensor


def number(value: Tensor, like: float) -> Array:
    """A number that can be an operand beside a tensor, in its type."""
    return np.full((1,) * value.ndim, like, value.dtype.storage)


def constant(value: Tensor, like: float) -> Tensor:
    """The same as a tensor of the graph."""
    found: Tensor = ops.const(number(value, like))
    return found


def typed(value: Tensor, dtype: DType) -> Tensor:
    """Numbers in a type, which they may have already."""
    return value if value.dtype is dtype else ops.cast(value, dtype=dtype)


def towards_zero(value: Tensor) -> Tensor:
    """Real numbers without their fractions."""
    return ops.select(ops.greater_equal(value, number(value, 0)), ops.floor(value), ops.ceil(value))


def is_not_zero(value: Tensor) -> Tensor:
    """Whether numbers are not zero."""
    return ops.logical_not(ops.equal(value, number(value, 0)))


def is_negative(value: Tensor) -> Tensor:
    """Whether numbers are less than zero."""
    return ops.greater(constant(value, 0), value)


def sign(value: Tensor) -> Tensor:
    """1, 0 or -1."""
    zero, below = number(value, 0), ops.select(is_negative(value), number(value, -1), number(value, 0))
    return ops.select(ops.greater(value, zero), number(value, 1), below)


def nearest_away(value: Tensor) -> Tensor:
    """The nearest whole numbers, those farther from zero of two."""
    size = ops.abs(value)
    below = ops.floor(size)
    is_up = ops.greater_equal(ops.sub(size, below), number(value, 0.5))
    nearest = ops.select(is_up, ops.add(below, number(value, 1)), below)
    return ops.select(is_negative(value), -nearest, nearest)


def nearest_even(value: Tensor, small: bool = False) -> Tensor:
    """The nearest whole numbers, the even ones of two: by a number so great that it leaves no fractions.

    `small` values are known to be less than a quarter of that number.
    """
    bits = {FP32: 23, FP16: 10, BF16: 7}[value.dtype]
    great = number(value, 1.5 * 2**bits)
    whole: Tensor = ops.sub(ops.add(value, great), great)
    if small:
        return whole
    return ops.select(ops.greater(constant(value, 2.0 ** (bits - 1)), ops.abs(value)), whole, value)
