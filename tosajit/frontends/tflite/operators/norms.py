"""Elements over a norm of their neighbours."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT8
from tosajit.frontends.common.fixed import divided, inverse_root, less, plus, times
from tosajit.frontends.common.norms import response_normalized
from tosajit.frontends.common.quantized import centred
from tosajit.frontends.common.scale import number_like
from tosajit.frontends.common.tables import saturated
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
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
    return response_normalized(
        node[0].tensor, options.radius, float(options.bias), float(options.alpha), float(options.beta)
    )
