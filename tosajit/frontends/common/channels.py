"""Factors and biases of channels behind a convolution, whose own weights and biases take them in."""

from __future__ import annotations

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.common.layout import constant_of, reshaped
from tosajit.graph import Node
from tosajit.operators import CONV2D, CONV3D, DEPTHWISE_CONV2D, RESHAPE, TRANSPOSE_CONV2D
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor

_CONVOLUTIONS = (CONV2D, CONV3D, DEPTHWISE_CONV2D, TRANSPOSE_CONV2D)


def convolved(value: Tensor, factors: Array | None, bias: Array) -> Tensor | None:
    """The results of a convolution times factors, and more by a bias; None where there is no such one.

    The convolution is written anew: what nobody uses of the one before is dropped.
    """
    trace = current_trace()
    assert trace is not None
    made = trace.builder.producer(value.name)
    if made is not None and isinstance(made.operator, RESHAPE):
        inner = Tensor(trace, trace.builder.value(made.inputs[0]))
        if inner.ndim == 0 or inner.shape[-1:] != value.shape[-1:]:
            return None
        found = convolved(inner, factors, bias)
        return None if found is None else reshaped(found, value.shape)
    if made is None or not isinstance(made.operator, _CONVOLUTIONS) or made.outputs != (value.name,):
        return None
    image, weight, own, *points = (Tensor(trace, trace.builder.value(name)) for name in made.inputs)
    weights, known = constant_of(weight), constant_of(own)
    if known is None or bias.shape != value.shape[-1:]:
        return None
    total = known.astype(np.float64)
    if factors is not None:
        if weights is None:
            return None
        weight = trace.constant(_scaled(made, weights, factors), weight.dtype, weight.name)
        total = total * factors
    summed = (total + bias).astype(known.dtype)
    return trace.add(made.operator, [image, weight, trace.constant(summed, own.dtype), *points])


def _scaled(made: Node, weights: Array, factors: Array) -> Array:
    """Weights times a factor for each channel of the result."""
    if isinstance(made.operator, DEPTHWISE_CONV2D):
        shape: tuple[int, ...] = weights.shape[2:]
    else:
        shape = (-1, *(1,) * (weights.ndim - 1))
    scaled: Array = (weights.astype(np.float64) * factors.reshape(shape)).astype(weights.dtype)
    return scaled
