"""Elements over a norm of their neighbours."""

from __future__ import annotations

from math import prod

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT8
from tosajit.frontends.common.fixed import divided, inverse_root, less, plus, times
from tosajit.frontends.common.layout import reshaped, small
from tosajit.frontends.common.scale import number_like
from tosajit.frontends.common.tables import saturated
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.operators.arithmetic import centred
from tosajit.frontends.tflite.options import FusedOptions, LocalResponseNormalizationOptions
from tosajit.frontends.tflite.quantized import activated
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor

_RESULT_BITS = 7
"""Quantised results are in parts of 128."""


@operator("L2_NORMALIZATION", FusedOptions, types="float32 int8 uint8", versions=2)
def l2_normalization(node: Node, options: FusedOptions) -> Tensor:
    """Elements over the root of the sum of squares along the last dimension."""
    value, axis = node[0], node[0].rank - 1
    if value.type is Type.FLOAT32:
        total = ops.reduce_sum(ops.mul(value.tensor, value.tensor), axis=axis)
        inverse = ops.rsqrt(ops.maximum(total, np.full((1,) * value.rank, 1e-12, np.float32)))
        return activated(ops.mul(value.tensor, inverse), options.fused_activation_function)
    numbers = centred(value)
    factor, bits = inverse_root(ops.reduce_sum(ops.mul(numbers, numbers), axis=axis))
    if value.type is Type.UINT8:
        moved = ops.logical_left_shift(numbers, number_like(numbers, _RESULT_BITS))
    else:  # as few bits as possible, up or down
        left = ops.maximum(less(bits, _RESULT_BITS), number_like(bits, 0))
        moved = ops.logical_left_shift(numbers, left)
        bits = ops.maximum(plus(bits, -_RESULT_BITS), number_like(bits, 0))
    return saturated(divided(times(moved, factor), bits), INT8)


@operator("LOCAL_RESPONSE_NORMALIZATION", LocalResponseNormalizationOptions, types="float32")
def local_response_normalization(node: Node, options: LocalResponseNormalizationOptions) -> Tensor:
    """Elements over a power of the sum of squares of neighbouring channels."""
    value = node[0].tensor
    shape, radius = value.shape, min(options.radius, value.shape[-1] - 1)
    if not small((2 * radius + 1,)):
        raise Refused(f"its windows of {2 * radius + 1} channels are too large")
    columns = (prod(shape[:-1]), shape[-1], 1, 1)
    squares = reshaped(ops.mul(value, value), columns)
    window = np.full((1, 2 * radius + 1, 1, 1), 1, np.float32)
    sums = reshaped(ops.conv2d(squares, window, pad=(radius, radius, 0, 0)), shape)
    ones = np.ones((1,) * value.ndim, np.float32)
    base = ops.add(ops.mul(sums, ones * np.float32(options.alpha)), ones * np.float32(options.bias))
    return ops.mul(value, ops.pow(base, ones * np.float32(-options.beta)))
