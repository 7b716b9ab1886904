"""Normalisation by statistics that are known, that are computed, or of neighbours; softmax."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.dtypes import FP32
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.channels import convolved
from tosajit.frontends.common.functions import square_root
from tosajit.frontends.common.layout import part, reshaped
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.reduce import axes_of, reduced
from tosajit.frontends.common.softmax import log_softmax, softmax
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import REAL, operator
from tosajit.tracing.tensor import Tensor


def _sum(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_sum(value, axis=axis)


def _mean(value: Tensor, axes: Sequence[int]) -> Tensor:
    """The mean along dimensions, which are kept."""
    total = reduced(_sum, value, tuple(axes), True)
    return ops.mul(total, number(total, 1 / prod(value.shape[axis] for axis in axes)))


def _inverse(value: Tensor, epsilon: float) -> Tensor:
    """One over the root of numbers that are more by a little."""
    return ops.rsqrt(ops.add(value, number(value, epsilon)))


def _by_channel(value: Tensor, like: Tensor) -> Tensor:
    """A number for each channel, the second dimension."""
    return reshaped(value, (1, *value.shape, *(1,) * (like.ndim - 2)))


@dataclass(frozen=True, slots=True)
class EpsilonAttributes(Attributes):
    """What is added to variances."""

    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True)
class BatchNormAttributes(EpsilonAttributes):
    """Whether statistics are those of the operand."""

    training_mode: bool = False
    momentum: float = 0.9


@operator("BatchNormalization", BatchNormAttributes, types=REAL)
def batch_norm(node: Node, options: BatchNormAttributes) -> tuple[Tensor, ...]:
    """Elements less a mean, over the root of a variance, times a scale, more by an offset, by channels."""
    value = node[0].tensor
    if options.training_mode:
        return _trained(node, options)
    if all(one.is_constant for one in node.given[1:5]):
        scale, offset, mean, variance = (one.raw.astype(np.float64) for one in node.given[1:5])
        factors = scale / np.sqrt(variance + options.epsilon)
        bias = offset - mean * factors
        if node[0].uses == 1 and value.dtype.is_float:
            folded = convolved(value, factors, bias, axis=1)
            if folded is not None:
                return (folded,)
        row = (1, -1, *(1,) * (value.ndim - 2))
        storage = value.dtype.storage
        scaled = ops.mul(value, factors.reshape(row).astype(storage))
        return (ops.add(scaled, bias.reshape(row).astype(storage)),)
    scale_, offset_, mean_, variance_ = (_by_channel(one.tensor, value) for one in node.given[1:5])
    return (_affine(value, mean_, _inverse(variance_, options.epsilon), scale_, offset_),)


def _trained(node: Node, options: BatchNormAttributes) -> tuple[Tensor, ...]:
    """The same by the statistics of the operand, and the running ones after it."""
    value = node[0].tensor
    scale, offset, old_mean, old_variance = (_by_channel(one.tensor, value) for one in node.given[1:5])
    axes = (0, *range(2, value.ndim))
    mean = _mean(value, axes)
    centred = ops.sub(value, mean)
    variance = _mean(ops.mul(centred, centred), axes)
    found = _affine(value, mean, _inverse(variance, options.epsilon), scale, offset)
    running = [
        reshaped(_mixed(old, new, options.momentum), (-1,))
        for old, new in ((old_mean, mean), (old_variance, variance))
    ]
    return found, *running


def _mixed(old: Tensor, new: Tensor, share: float) -> Tensor:
    return ops.add(ops.mul(old, number(old, share)), ops.mul(new, number(new, 1 - share)))


def _affine(value: Tensor, mean: Tensor, inverse: Tensor, scale: Tensor, offset: Tensor | None) -> Tensor:
    found = ops.mul(ops.mul(ops.sub(value, mean), inverse), scale)
    return found if offset is None else ops.add(found, offset)


@operator("InstanceNormalization", EpsilonAttributes, types=REAL)
def instance_norm(node: Node, options: EpsilonAttributes) -> Tensor:
    """Elements normalised by the statistics of each channel of each image."""
    value, scale, offset = node.tensors
    axes = tuple(range(2, value.ndim))
    mean = _mean(value, axes)
    centred = ops.sub(value, mean)
    variance = _mean(ops.mul(centred, centred), axes)
    return _affine(
        value,
        mean,
        _inverse(variance, options.epsilon),
        _by_channel(scale, value),
        _by_channel(offset, value),
    )


@dataclass(frozen=True, slots=True)
class GroupNormAttributes(EpsilonAttributes):
    """How many groups of channels there are."""

    num_groups: int = 1
    stash_type: int = 1


@operator("GroupNormalization", GroupNormAttributes, types=REAL)
def group_norm(node: Node, options: GroupNormAttributes) -> Tensor:
    """Elements normalised by the statistics of groups of channels."""
    value, scale, offset = node.tensors
    groups, channels = options.num_groups, value.shape[1]
    if channels % groups:
        raise Refused(f"its {channels} channels are not in {groups} equal groups")
    rows = reshaped(value, (value.shape[0], groups, -1))
    centred = ops.sub(rows, _mean(rows, (2,)))
    variance = _mean(ops.mul(centred, centred), (2,))
    found = reshaped(ops.mul(centred, _inverse(variance, options.epsilon)), value.shape)
    if scale.shape[0] == groups != channels:
        scale, offset = (_repeated(one, channels // groups) for one in (scale, offset))
    return ops.add(ops.mul(found, _by_channel(scale, value)), _by_channel(offset, value))


def _repeated(value: Tensor, times: int) -> Tensor:
    return reshaped(ops.tile(reshaped(value, (-1, 1)), (1, times)), (-1,))


@dataclass(frozen=True, slots=True)
class LayerNormAttributes(EpsilonAttributes):
    """The first dimension of layers."""

    axis: int = -1
    stash_type: int = 1


@operator("LayerNormalization", LayerNormAttributes, types=REAL)
def layer_norm(node: Node, options: LayerNormAttributes) -> tuple[Tensor, ...]:
    """Elements normalised by the statistics of layers, which are given as well."""
    value, scale, offset = node[0].tensor, node[1].tensor, node.optional(2)
    (start,) = axes_of([options.axis], value.ndim)
    axes = range(start, value.ndim)
    stashed = ops.cast(value, dtype=FP32) if value.dtype is not FP32 else value
    mean = _mean(stashed, axes)
    centred = ops.sub(stashed, mean)
    inverse = _inverse(_mean(ops.mul(centred, centred), axes), options.epsilon)
    found = ops.mul(centred, inverse)
    found = found if found.dtype is value.dtype else ops.cast(found, dtype=value.dtype)
    found = ops.mul(found, _raised(scale, value.ndim))
    if offset is not None:
        found = ops.add(found, _raised(offset.tensor, value.ndim))
    return found, mean, inverse


def _raised(value: Tensor, rank: int) -> Tensor:
    return reshaped(value, (*(1,) * (rank - value.ndim), *value.shape))


@operator("RMSNormalization SimplifiedLayerNormalization", LayerNormAttributes, types=REAL)
def rms_norm(node: Node, options: LayerNormAttributes) -> Tensor:
    """Elements over the root of the mean of their squares, times a scale."""
    value, scale = node[0].tensor, node[1].tensor
    (start,) = axes_of([options.axis], value.ndim)
    stashed = ops.cast(value, dtype=FP32) if value.dtype is not FP32 else value
    squares = _mean(ops.mul(stashed, stashed), range(start, value.ndim))
    found = ops.mul(stashed, _inverse(squares, options.epsilon))
    found = found if found.dtype is value.dtype else ops.cast(found, dtype=value.dtype)
    return ops.mul(found, _raised(scale, value.ndim))


@dataclass(frozen=True, slots=True)
class ResponseAttributes(Attributes):
    """The neighbours, and the power of the sum of their squares."""

    size: int
    alpha: float = 0.0001
    beta: float = 0.75
    bias: float = 1.0


@operator("LRN", ResponseAttributes, types=REAL)
def lrn(node: Node, options: ResponseAttributes) -> Tensor:
    """Elements over a power of the sum of squares of neighbouring channels."""
    value = node[0].tensor
    before = (options.size - 1) // 2
    squares = ops.mul(value, value)
    borders = [(0, 0)] * value.ndim
    borders[1] = before, options.size - 1 - before
    wide = padded(squares, borders)
    total = part(wide, 1, 0, value.shape[1])
    for place in range(1, min(options.size, wide.shape[1])):
        total = ops.add(total, part(wide, 1, place, value.shape[1]))
    base = ops.add(ops.mul(total, number(total, options.alpha / options.size)), number(total, options.bias))
    return ops.mul(value, ops.pow(base, number(base, -options.beta)))


@dataclass(frozen=True, slots=True)
class NormAttributes(Attributes):
    """The dimension, and the norm."""

    axis: int = -1
    p: int = 2


@operator("LpNormalization", NormAttributes, types=REAL)
def lp_normalization(node: Node, options: NormAttributes) -> Tensor:
    """Elements over a norm along a dimension; zero where that is."""
    value = node[0].tensor
    axes = axes_of([options.axis], value.ndim)
    size = ops.abs(value) if options.p == 1 else ops.mul(value, value)
    norm = reduced(_sum, size, axes, True)
    norm = norm if options.p == 1 else square_root(norm)
    nothing = ops.equal(norm, number(norm, 0))
    inverse = ops.reciprocal(ops.select(nothing, number(norm, 1), norm))
    return ops.mul(value, inverse)


@dataclass(frozen=True, slots=True)
class MeanVarianceAttributes(Attributes):
    """The dimensions."""

    axes: tuple[int, ...] = (0, 2, 3)


@operator("MeanVarianceNormalization", MeanVarianceAttributes, types=REAL)
def mean_variance(node: Node, options: MeanVarianceAttributes) -> Tensor:
    """Elements less their mean, over their deviation."""
    value = node[0].tensor
    axes = axes_of(options.axes, value.ndim)
    centred = ops.sub(value, _mean(value, axes))
    deviation = square_root(_mean(ops.mul(centred, centred), axes))
    return ops.mul(centred, ops.reciprocal(ops.add(deviation, number(deviation, 1e-9))))


@dataclass(frozen=True, slots=True)
class SoftmaxAttributes(Attributes):
    """The dimension; the last one in later versions."""

    axis: int | None = None


def _rows(node: Node, options: SoftmaxAttributes) -> tuple[Tensor, int]:
    """The tensor and the dimension of sums: before version 13 all behind a place are one."""
    value = node[0].tensor
    if node.opset >= 13:
        return value, axes_of([-1 if options.axis is None else options.axis], value.ndim)[0]
    (place,) = axes_of([1 if options.axis is None else options.axis], value.ndim)
    return reshaped(value, (prod(value.shape[:place]), prod(value.shape[place:]))), 1


@operator("Softmax", SoftmaxAttributes, types=REAL)
def soft_max(node: Node, options: SoftmaxAttributes) -> Tensor:
    """Exponentials over their sum."""
    return reshaped(softmax(*_rows(node, options)), node[0].shape)


@operator("LogSoftmax", SoftmaxAttributes, types=REAL)
def log_soft_max(node: Node, options: SoftmaxAttributes) -> Tensor:
    """The logarithm of exponentials over their sum."""
    return reshaped(log_softmax(*_rows(node, options)), node[0].shape)
