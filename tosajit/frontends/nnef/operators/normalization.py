"""Elements over norms, means and sums of others (NNEF 2.0 section 4.4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.frontends.common.channels import convolved
from tosajit.frontends.common.division import quotient_of
from tosajit.frontends.common.functions import square_root
from tosajit.frontends.common.layout import constant_of, reshaped, transposed
from tosajit.frontends.common.norms import response_normalized
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.reduce import axes_of, reduced
from tosajit.frontends.common.softmax import softmax as soft_max
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.node import Attributes, Node
from tosajit.frontends.nnef.operators import operator
from tosajit.operators import TRANSPOSE
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Axes(Attributes):
    """Dimensions."""

    axes: tuple[int, ...]


@operator("nn.softmax", Axes)
def softmax(node: Node, options: Axes) -> Tensor:
    """Exponentials over their sum."""
    value = node["input"]
    axes = axes_of(options.axes, value.ndim)
    if len(axes) == 1:
        return soft_max(value, axes[0])
    most = reduced(lambda one, axis: ops.reduce_max(one, axis=axis), value, axes, keep=True)
    powers = ops.exp(ops.sub(value, most))
    return quotient_of(
        powers, reduced(lambda one, axis: ops.reduce_sum(one, axis=axis), powers, axes, keep=True)
    )


@dataclass(frozen=True, slots=True)
class Normalization(Attributes):
    """What is added to the variance, and the dimension of the channels."""

    epsilon: float
    channel_axis: int


@operator("nn.batch_norm", Normalization)
def batch_norm(node: Node, options: Normalization) -> Tensor:
    """Elements less a mean, over a deviation, for each channel; known ones go into a convolution before."""
    value = node["input"]
    axis = options.channel_axis % value.ndim
    known = _known(node, options.epsilon)
    order = [*(place for place in range(value.ndim) if place != axis), axis]
    back = [order.index(place) for place in range(value.ndim)]
    if known is not None:
        factors, bias = known
        found = convolved(_before(value, order), factors, bias)
        if found is not None:
            return transposed(found, back)
        shape = [-1 if place == axis else 1 for place in range(value.ndim)]
        scaled = ops.mul(value, factors.astype(np.float32).reshape(shape))
        return ops.add(scaled, bias.astype(np.float32).reshape(shape))
    return _normalized(node, value, axis, options.epsilon)


def _before(value: Tensor, order: Sequence[int]) -> Tensor:
    """A tensor in another order, and what has been transposed as it was before."""
    trace = current_trace()
    assert trace is not None
    made = trace.builder.producer(value.name)
    if made is None or not isinstance(made.operator, TRANSPOSE):
        return transposed(value, order)
    perms = made.operator.perms
    return transposed(Tensor(trace, trace.builder.value(made.inputs[0])), [perms[place] for place in order])


def _known(
    node: Node, epsilon: float
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.float64]], ...] | None:
    """The factors and biases of channels, where all operands are constants."""
    given = [node["mean"], node["variance"], node.optional("scale"), node.optional("bias")]
    numbers = [None if one is None else constant_of(one) for one in given]
    if any(number is None and one is not None for number, one in zip(numbers, given, strict=True)):
        return None
    mean, variance, scale, bias = (None if one is None else one.astype(np.float64) for one in numbers)
    assert mean is not None
    assert variance is not None
    factors = 1 / np.sqrt(variance + epsilon)
    factors = factors if scale is None else factors * scale
    return factors, (0 if bias is None else bias) - mean * factors


def _normalized(node: Node, value: Tensor, axis: int, epsilon: float) -> Tensor:
    shape = [-1 if place == axis else 1 for place in range(value.ndim)]
    variance = reshaped(node["variance"], shape)
    root = ops.rsqrt(ops.add(variance, number(variance, epsilon)))
    result = ops.mul(ops.sub(value, reshaped(node["mean"], shape)), root)
    scale, bias = node.optional("scale"), node.optional("bias")
    result = result if scale is None else ops.mul(result, reshaped(scale, shape))
    return result if bias is None else ops.add(result, reshaped(bias, shape))


@dataclass(frozen=True, slots=True)
class Response(Axes):
    """Which neighbours count, and how."""

    size: tuple[int, ...]
    alpha: float
    beta: float
    bias: float


@operator("nn.local_response_norm", Response)
def local_response_norm(node: Node, options: Response) -> Tensor:
    """Elements over a power of the mean of squares of neighbours along a dimension."""
    value = node["input"]
    if len(options.axes) != 1 or options.size[0] % 2 == 0:
        raise Refused(
            f"its windows of {list(options.size)} along {list(options.axes)} are not around a channel"
        )
    (axis,), (size,) = axes_of(options.axes, value.ndim), options.size
    order = [*(place for place in range(value.ndim) if place != axis), axis]
    turned = transposed(value, order)
    found = response_normalized(turned, size // 2, options.bias, options.alpha / size, options.beta)
    return transposed(found, [order.index(place) for place in range(value.ndim)])


@dataclass(frozen=True, slots=True)
class Norm(Axes):
    """What is added to the norm, and the least that it is."""

    bias: float | None
    epsilon: float | None


@operator("nn.l1_norm", Norm)
def l1_norm(node: Node, options: Norm) -> Tensor:
    """Elements over the sum of their sizes."""
    return _over(node["input"], _sum(ops.abs(node["input"]), options), options)


@operator("nn.l2_norm", Norm)
def l2_norm(node: Node, options: Norm) -> Tensor:
    """Elements over the root of the sum of their squares."""
    value = node["input"]
    return _over(value, square_root(_sum(ops.mul(value, value), options)), options)


def _sum(value: Tensor, options: Norm) -> Tensor:
    axes = axes_of(options.axes, value.ndim)
    return reduced(lambda one, axis: ops.reduce_sum(one, axis=axis), value, axes, keep=True)


def _over(value: Tensor, norm: Tensor, options: Norm) -> Tensor:
    norm = norm if options.bias is None else ops.add(norm, number(norm, options.bias))
    norm = norm if options.epsilon is None else ops.maximum(norm, number(norm, options.epsilon))
    return quotient_of(value, norm)
