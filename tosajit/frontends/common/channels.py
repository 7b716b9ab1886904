"""Factors and biases of channels behind a convolution, whose own weights and biases take them in."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array, frozen
from tosajit.frontends.common.layout import constant_of, reshaped
from tosajit.graph import Node
from tosajit.operators import CONCAT, CONV2D, CONV3D, DEPTHWISE_CONV2D, RESHAPE, TRANSPOSE, TRANSPOSE_CONV2D
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor

_CONVOLUTIONS = (CONV2D, CONV3D, DEPTHWISE_CONV2D, TRANSPOSE_CONV2D)


def convolved(value: Tensor, factors: Array | None, bias: Array, axis: int = -1) -> Tensor | None:
    """The results of a convolution times factors, and more by a bias; None where there is no such one.

    The convolution is written anew: what nobody uses of the one before is dropped. `axis` is the dimension of
    channels, which other sources than TOSA have elsewhere than last.
    """
    trace = current_trace()
    assert trace is not None
    made = trace.builder.producer(value.name)
    if made is not None and isinstance(made.operator, RESHAPE | TRANSPOSE | CONCAT):
        return _moved(value, made, factors, bias, axis % value.ndim)
    if axis % value.ndim != value.ndim - 1:
        return None
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


def _moved(value: Tensor, made: Node, factors: Array | None, bias: Array, axis: int) -> Tensor | None:
    """The same behind what moves the results of convolutions."""
    trace = current_trace()
    assert trace is not None
    parts = [Tensor(trace, trace.builder.value(name)) for name in made.inputs]
    match made.operator:
        case TRANSPOSE(perms=perms):
            found = convolved(parts[0], factors, bias, perms[axis])
            return None if found is None else ops.transpose(found, perms=perms)
        case CONCAT(axis=joint) if joint == axis:
            return _joined(parts, factors, bias, axis)
        case RESHAPE():
            inner, alone = parts[0], prod(value.shape[axis + 1 :]) == 1
            if inner.ndim == 0 or not alone or inner.shape[-1] != value.shape[axis]:
                return None
            found = convolved(inner, factors, bias)
            return None if found is None else reshaped(found, value.shape)
    return None


def _joined(parts: Sequence[Tensor], factors: Array | None, bias: Array, axis: int) -> Tensor | None:
    """The same of convolutions by groups."""
    results, start = [], 0
    for part in parts:
        some = slice(start, start := start + part.shape[axis])
        found = convolved(part, None if factors is None else factors[some], bias[some], axis)
        if found is None:
            return None
        results.append(found)
    return ops.concat(results, axis=axis)


def _scaled(made: Node, weights: Array, factors: Array) -> Array:
    """Weights times a factor for each channel of the result."""
    if isinstance(made.operator, DEPTHWISE_CONV2D):
        shape: tuple[int, ...] = weights.shape[2:]
    else:
        shape = (-1, *(1,) * (weights.ndim - 1))
    scaled = np.empty_like(weights)
    np.multiply(weights, factors.reshape(shape), out=scaled, dtype=np.float64, casting="unsafe")
    return frozen(scaled)
