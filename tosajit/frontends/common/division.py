"""Quotients: TOSA has one over a number, and whole quotients of integers."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.layout import constant_of, small
from tosajit.frontends.common.numbers import is_negative, is_not_zero, number, towards_zero
from tosajit.tracing.tensor import Tensor


def quotient(first: Tensor, second: Tensor) -> Tensor:
    """Real numbers over others: times one over them."""
    data = constant_of(second)
    if data is not None and small(data.shape):
        return ops.mul(first, np.asarray(1 / data, data.dtype))
    return ops.mul(first, ops.reciprocal(second))


def floored(first: Tensor, second: Tensor) -> Tensor:
    """The greatest whole numbers that are not above a quotient."""
    if first.dtype is INT32:
        whole = ops.intdiv(first, second)
        rest = ops.sub(first, ops.mul(whole, second))
        apart = ops.logical_xor(is_negative(rest), is_negative(second))
        below = ops.logical_and(apart, is_not_zero(rest))
        return ops.select(below, ops.sub(whole, number(whole, 1)), whole)
    turned, size = ops.select(is_negative(second), -first, first), ops.abs(second)
    whole = ops.floor(quotient(turned, size))
    over = ops.greater(ops.mul(whole, size), turned)
    whole = ops.select(over, ops.sub(whole, number(whole, 1)), whole)
    above = ops.add(whole, number(whole, 1))  # what a rounded reciprocal makes a little too small
    return ops.select(ops.greater_equal(turned, ops.mul(above, size)), above, whole)


def truncated(first: Tensor, second: Tensor) -> Tensor:
    """A quotient without its fraction."""
    return ops.intdiv(first, second) if first.dtype is INT32 else towards_zero(quotient(first, second))
