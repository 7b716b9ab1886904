"""Normalisation by statistics that are known, or of neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.channels import convolved
from tosajit.frontends.common.norms import response_normalized
from tosajit.frontends.common.numbers import number
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.images import Images
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import REAL, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class BatchNormAttributes(Attributes):
    """What is added to variances, and where channels are."""

    epsilon: float = 1e-4
    data_format: str = "NHWC"
    is_training: bool = True


@operator("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", BatchNormAttributes, types=REAL)
def batch_norm(node: Node, options: BatchNormAttributes) -> Tensor:
    """Elements less a mean, over the root of a variance, times a scale, more by an offset, by channels."""
    if options.is_training:
        raise Refused("it computes the statistics of its operand, as in training", "export it for inference")
    images = Images.of(node[0].tensor, options.data_format)
    if all(one.is_constant for one in node.operands[1:]):
        scale, offset, mean, variance = (one.raw.astype(np.float64) for one in node.operands[1:5])
        factors = scale / np.sqrt(variance + options.epsilon)
        return images.back(_affine(images.value, factors, offset - mean * factors, node[0].uses == 1))
    scale_, offset_, mean_, variance_ = (aligned(images.value, one)[1] for one in node.tensors[1:5])
    inverse = ops.rsqrt(ops.add(variance_, number(variance_, options.epsilon)))
    centred = _typed(images.value, mean_)
    scaled = ops.mul(ops.mul(ops.sub(images.value, centred), inverse), scale_)
    return images.back(ops.add(scaled, offset_))


@dataclass(frozen=True, slots=True)
class GlobalNormAttributes(Attributes):
    """What is added to variances, and whether there is a scale."""

    variance_epsilon: float
    scale_after_normalization: bool


@operator("BatchNormWithGlobalNormalization", GlobalNormAttributes, types=REAL)
def global_batch_norm(node: Node, options: GlobalNormAttributes) -> Tensor:
    """Elements less a mean, over the root of a variance, more by an offset, by channels."""
    value, mean, variance, offset, scale = node.tensors
    factors = ops.rsqrt(ops.add(variance, number(variance, options.variance_epsilon)))
    if options.scale_after_normalization:
        factors = ops.mul(factors, scale)
    factors, mean, offset = (aligned(value, one)[1] for one in (factors, mean, offset))
    return ops.add(ops.mul(ops.sub(value, mean), factors), offset)


def _typed(value: Tensor, statistic: Tensor) -> Tensor:
    if value.dtype is not statistic.dtype:
        raise Refused(f"its statistics are {statistic.dtype}, but its operand {value.dtype}")
    return statistic


def _affine(value: Tensor, factors: Array, bias: Array, is_alone: bool) -> Tensor:
    """Elements times a factor, more by a bias, for each channel: the convolution before takes them in."""
    found = convolved(value, factors, bias) if is_alone else None
    if found is not None:
        return found
    row = (*(1,) * (value.ndim - 1), -1)
    scaled = ops.mul(value, factors.reshape(row).astype(value.dtype.storage))
    return ops.add(scaled, bias.reshape(row).astype(value.dtype.storage))


@dataclass(frozen=True, slots=True)
class ResponseAttributes(Attributes):
    """The neighbours, and the power of the sum of their squares."""

    depth_radius: int = 5
    bias: float = 1.0
    alpha: float = 1.0
    beta: float = 0.5


@operator("LRN", ResponseAttributes, types=REAL)
def lrn(node: Node, options: ResponseAttributes) -> Tensor:
    """Elements over a power of the sum of squares of neighbouring channels."""
    value, given = node[0].tensor, options
    return response_normalized(value, given.depth_radius, given.bias, given.alpha, given.beta)
