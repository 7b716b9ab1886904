"""Normalisation by statistics that are known or computed; softmax."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.channels import convolved
from tosajit.frontends.common.functions import square_root
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.common.norms import normalized
from tosajit.frontends.common.numbers import number, typed
from tosajit.frontends.common.pooling import means
from tosajit.frontends.common.reduce import summed
from tosajit.frontends.common.softmax import log_softmax, softmax
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import NUMBERS, REAL, operator
from tosajit.frontends.torch.operators.convolution import first
from tosajit.frontends.torch.records import Type
from tosajit.operators import TRANSPOSE
from tosajit.tracing.tensor import Tensor


@operator("aten.softmax.int", types=NUMBERS)
@operator("aten._softmax.default", types=REAL, ignored="half_to_float")
def soft_max(node: Node, self: Operand, dim: int, dtype: Type | None = None) -> Tensor:
    """Exponentials over their sum."""
    return softmax(self.typed(node.type).tensor, dim % max(self.rank, 1))


@operator("aten.log_softmax.int", types=NUMBERS)
@operator("aten._log_softmax.default", types=REAL, ignored="half_to_float")
def log_soft_max(node: Node, self: Operand, dim: int, dtype: Type | None = None) -> Tensor:
    """The logarithm of exponentials over their sum."""
    return log_softmax(self.typed(node.type).tensor, dim % max(self.rank, 1))


@operator("aten.batch_norm.default", types=REAL, ignored="momentum cudnn_enabled")
def batch_norm(
    node: Node,
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    running_mean: Operand | None,
    running_var: Operand | None,
    training: bool = False,
    eps: float = 1e-5,
) -> Tensor:
    """Elements less a mean, over the root of a variance, times a scale, more by an offset, by channels."""
    if training or running_mean is None or running_var is None:
        raise Refused("it normalises by the statistics of its operand, as in training", "module.eval()")
    value = input.tensor
    given = [one for one in (weight, bias, running_mean, running_var) if one is not None]
    if not all(one.is_constant for one in given):
        return _by_channels(value, weight, bias, running_mean, running_var, eps)
    mean, variance = (one.raw.astype(np.float64) for one in (running_mean, running_var))
    factors = (1 if weight is None else weight.raw.astype(np.float64)) / np.sqrt(variance + eps)
    offsets = (0 if bias is None else bias.raw.astype(np.float64)) - mean * factors
    folded = _folded(
        input, np.broadcast_to(factors, value.shape[1]), np.broadcast_to(offsets, value.shape[1])
    )
    if folded is not None:
        return folded
    row = (1, -1, *(1,) * (value.ndim - 2))
    scale, offset = (one.reshape(row).astype(value.dtype.storage) for one in (factors, offsets))
    return ops.add(ops.mul(value, scale), offset)


def _by_channels(
    value: Tensor, scale: Operand | None, offset: Operand | None, mean: Operand, variance: Operand, eps: float
) -> Tensor:
    """The same by statistics that are computed."""
    shape = (value.shape[1], *(1,) * (value.ndim - 2))
    middle, spread = (reshaped(one.tensor, (1, *shape)) for one in (mean, variance))
    inverse = ops.rsqrt(ops.add(spread, number(spread, eps)))
    return affine(ops.mul(ops.sub(value, middle), inverse), scale, offset, shape)


def _folded(input: Operand, factors: Array, offsets: Array) -> Tensor | None:
    """The convolution before, which nothing else uses, whose weights take it in; None without one."""
    if input.uses != 1 or input.is_constant:
        return None
    value = input.tensor
    if value.ndim == 2:
        return convolved(value, factors, offsets)
    made = value.trace.builder.producer(value.name)
    order = first(value.ndim)
    if made is None or not isinstance(made.operator, TRANSPOSE) or tuple(made.operator.perms) != order:
        return None
    inner = Tensor(value.trace, value.trace.builder.value(made.inputs[0]))
    found = convolved(inner, factors, offsets)
    return None if found is None else transposed(found, order)


@operator("aten.layer_norm.default", types=REAL, ignored="cudnn_enable")
def layer_norm(
    node: Node,
    input: Operand,
    normalized_shape: Sequence[int],
    weight: Operand | None = None,
    bias: Operand | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Elements normalised by the statistics of the last dimensions."""
    value = input.tensor
    axes = range(value.ndim - len(normalized_shape), value.ndim)
    found = normalized(typed(value, FP32), axes, eps)
    return affine(typed(found, value.dtype), weight, bias, normalized_shape)


def affine(value: Tensor, scale: Operand | None, offset: Operand | None, shape: Sequence[int]) -> Tensor:
    """Elements times a scale, more by an offset, which have the last dimensions of a shape."""
    raised = (*(1,) * (value.ndim - len(shape)), *shape)
    if scale is not None:
        value = ops.mul(value, reshaped(scale.tensor, raised))
    return value if offset is None else ops.add(value, reshaped(offset.tensor, raised))


@operator("aten.group_norm.default", types=REAL, ignored="cudnn_enabled")
def group_norm(
    node: Node,
    input: Operand,
    num_groups: int,
    weight: Operand | None = None,
    bias: Operand | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Elements normalised by the statistics of groups of channels."""
    value = input.tensor
    rows = reshaped(typed(value, FP32), (value.shape[0], num_groups, -1))
    found = reshaped(typed(normalized(rows, (2,), eps), value.dtype), value.shape)
    return affine(found, weight, bias, (value.shape[1], *(1,) * (value.ndim - 2)))


@operator("aten.native_layer_norm.default", types=REAL)
def native_layer_norm(
    node: Node,
    input: Operand,
    normalized_shape: Sequence[int],
    weight: Operand | None,
    bias: Operand | None,
    eps: float,
) -> tuple[Tensor]:
    """The same, for one who does not ask for the statistics."""
    return (layer_norm(node, input, normalized_shape, weight, bias, eps),)


@operator("aten.native_group_norm.default", types=REAL, ignored="N C HxW")
def native_group_norm(
    node: Node, input: Operand, weight: Operand | None, bias: Operand | None, group: int, eps: float
) -> tuple[Tensor]:
    """Elements normalised by the statistics of groups of channels."""
    return (group_norm(node, input, group, weight, bias, eps),)


@operator("aten._native_batch_norm_legit_no_training.default", types=REAL, ignored="momentum")
def native_batch_norm(
    node: Node,
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    running_mean: Operand,
    running_var: Operand,
    eps: float,
) -> tuple[Tensor]:
    """Elements normalised by known statistics of channels."""
    return (batch_norm(node, input, weight, bias, running_mean, running_var, False, eps),)


@operator("aten.instance_norm.default", types=REAL, ignored="momentum cudnn_enabled")
def instance_norm(
    node: Node,
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    running_mean: Operand | None,
    running_var: Operand | None,
    use_input_stats: bool,
    eps: float,
) -> Tensor:
    """Elements normalised by the statistics of each channel of each image, or by known ones."""
    if not use_input_stats:
        return batch_norm(node, input, weight, bias, running_mean, running_var, False, eps)
    value = input.tensor
    found = typed(normalized(typed(value, FP32), range(2, value.ndim), eps), value.dtype)
    return affine(found, weight, bias, (value.shape[1], *(1,) * (value.ndim - 2)))


@operator("aten.rms_norm.default", types=REAL)
def rms_norm(
    node: Node,
    input: Operand,
    normalized_shape: Sequence[int],
    weight: Operand | None = None,
    eps: float | None = None,
) -> Tensor:
    """Elements over the root of the mean of their squares, times a scale."""
    value = typed(input.tensor, FP32)
    axes = range(value.ndim - len(normalized_shape), value.ndim)
    little = float(np.finfo(np.float32).eps) if eps is None else eps
    squares = means(ops.mul(value, value), axes, True)
    found = ops.mul(value, ops.rsqrt(ops.add(squares, number(squares, little))))
    return affine(typed(found, input.dtype), weight, None, normalized_shape)


@operator("aten._weight_norm.default", types=REAL)
def weight_norm(node: Node, v: Operand, g: Operand, dim: int = 0) -> Tensor:
    """Directions times sizes."""
    axes = [place for place in range(v.rank) if place != dim % v.rank]
    squares = summed(ops.mul(v.tensor, v.tensor), axes, True)
    return ops.mul(ops.mul(v.tensor, ops.rsqrt(squares)), g.tensor)


@operator("aten.cosine_similarity.default", types=REAL)
def cosine_similarity(node: Node, x1: Operand, x2: Operand, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
    first, second = aligned(x1.tensor, x2.tensor)
    axis = dim % first.ndim
    dot = summed(ops.mul(first, second), [axis], False)
    sizes = (square_root(summed(ops.mul(one, one), [axis], False)) for one in (first, second))
    over = ops.mul(*(ops.maximum(one, number(one, eps)) for one in sizes))
    return ops.mul(dot, ops.reciprocal(over))
