"""Elements over a norm of their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.frontends.common.layout import reshaped, small
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.pooling import means
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor


def normalized(value: Tensor, axes: Sequence[int], eps: float) -> Tensor:
    """Elements less their mean along dimensions, over the root of their variance."""
    centred = ops.sub(value, means(value, axes, True))
    variance = means(ops.mul(centred, centred), axes, True)
    return ops.mul(centred, ops.rsqrt(ops.add(variance, number(variance, eps))))


def response_normalized(value: Tensor, radius: int, bias: float, alpha: float, beta: float) -> Tensor:
    """Elements over a power of the sum of squares of neighbouring channels."""
    shape, radius = value.shape, min(radius, value.shape[-1] - 1)
    if not small((2 * radius + 1,)):
        raise Refused(f"its windows of {2 * radius + 1} channels are too large")
    columns = (prod(shape[:-1]), shape[-1], 1, 1)
    squares = reshaped(ops.mul(value, value), columns)
    window = np.full((1, 2 * radius + 1, 1, 1), 1, value.dtype.storage)
    sums = reshaped(ops.conv2d(squares, window, pad=(radius, radius, 0, 0)), shape)
    base = ops.add(ops.mul(sums, number(value, alpha)), number(value, bias))
    return ops.mul(value, ops.pow(base, number(value, -beta)))
