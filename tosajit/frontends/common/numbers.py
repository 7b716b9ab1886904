"""Numbers beside tensors, and how real numbers become other ones."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.tracing.tensor import Tensor


def number(value: Tensor, like: float) -> Array:
    """A number that can be an operand beside a tensor, in its type."""
    return np.full((1,) * value.ndim, like, value.dtype.storage)


def towards_zero(value: Tensor) -> Tensor:
    """Real numbers without their fractions."""
    return ops.select(ops.greater_equal(value, number(value, 0)), ops.floor(value), ops.ceil(value))


def is_not_zero(value: Tensor) -> Tensor:
    """Whether numbers are not zero."""
    return ops.logical_not(ops.equal(value, number(value, 0)))
