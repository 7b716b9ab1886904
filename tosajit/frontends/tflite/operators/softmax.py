"""Softmax."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.frontends.common.softmax import (
    log_softmax,
    log_softmax_bytes,
    softmax,
    softmax_bytes,
    softmax_words,
)
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import SoftmaxOptions
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor


@operator("SOFTMAX", SoftmaxOptions, types="float32 int8 uint8 int16", versions=3)
def soft_max(node: Node, options: SoftmaxOptions) -> Tensor:
    """Exponentials over their sum, along the last dimension."""
    value = node[0]
    axis = value.rank - 1
    if value.type is Type.FLOAT32:
        tensor = value.tensor
        if options.beta != 1.0:
            tensor = ops.mul(tensor, np.full((1,) * value.rank, options.beta, np.float32))
        return softmax(tensor, axis)
    scale = float(value.scale) * float(options.beta)
    if value.type is Type.INT16:
        return softmax_words(value.tensor, axis, scale)
    return softmax_bytes(value.tensor, axis, scale, node.result.dtype)


@operator("LOG_SOFTMAX", types="float32 int8 uint8", versions=2)
def log_soft_max(node: Node) -> Tensor:
    """The logarithm of exponentials over their sum, along the last dimension."""
    value = node[0]
    if value.type is Type.FLOAT32:
        return log_softmax(value.tensor, value.rank - 1)
    return log_softmax_bytes(value.tensor, value.rank - 1, float(value.scale))
