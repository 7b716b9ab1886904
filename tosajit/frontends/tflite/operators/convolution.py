"""Convolutions and fully connected layers."""

from __future__ import annotations

from math import prod

import numpy as np

from tosajit import ops
from tosajit.dtypes import FP32, INT4, INT8, INT16, INT32, INT48
from tosajit.frontends.common.layout import joined, reshaped, split
from tosajit.frontends.common.scale import scaled
from tosajit.frontends.common.windows import padding, spans, trimmed
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.fields import Activation, Padding
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import (
    Conv2DOptions,
    DepthwiseConv2DOptions,
    FullyConnectedOptions,
)
from tosajit.frontends.tflite.quantized import activated, finished
from tosajit.frontends.tflite.schema import Type
from tosajit.operators import RoundingMode
from tosajit.tracing.tensor import Tensor

_TYPES = "float32 int8 uint8 int16"


@operator("CONV_2D", Conv2DOptions, types=_TYPES, versions=8)
def conv_2d(node: Node, options: Conv2DOptions) -> Tensor:
    """Convolution of images, also by groups of channels."""
    value, weight = node[0], node[1]
    _, height, width, channels = value.shape
    count, *kernel, depth = weight.shape
    stride = options.stride_h, options.stride_w
    dilation = options.dilation_h_factor, options.dilation_w_factor
    found = spans((height, width), kernel, stride, dilation, options.padding is Padding.SAME)
    groups = _groups(channels, depth, count)
    image = trimmed(value.tensor, found)
    parts = zip(
        split(image, 3, groups),
        split(weights_of(node, 1), 0, groups),
        split(bias_of(node, 2), 0, groups),
        strict=True,
    )
    results = [
        scaled_sums(
            node,
            ops.conv2d(
                images,
                weights,
                bias,
                input_zp_of(value),
                weight_zp_of(value, weight),
                pad=padding(found),
                stride=stride,
                dilation=dilation,
            ),
            options.fused_activation_function,
            slice(group * count // groups, (group + 1) * count // groups),
        )
        for group, (images, weights, bias) in enumerate(parts)
    ]
    return joined(results, 3)


@operator("DEPTHWISE_CONV_2D", DepthwiseConv2DOptions, types=_TYPES, versions=7)
def depthwise_conv_2d(node: Node, options: DepthwiseConv2DOptions) -> Tensor:
    """Convolution of each channel on its own."""
    value, weight = node[0], node[1]
    _, height, width, channels = value.shape
    _, *kernel, count = weight.shape
    stride = options.stride_h, options.stride_w
    dilation = options.dilation_h_factor, options.dilation_w_factor
    found = spans((height, width), kernel, stride, dilation, options.padding is Padding.SAME)
    if channels == 0 or count % channels:
        raise Refused(f"it has {count} output channels, which {channels} input channels do not divide")
    weights = weights_of(node, 1)
    total = ops.depthwise_conv2d(
        trimmed(value.tensor, found),
        reshaped(weights, (*kernel, channels, count // channels)),
        bias_of(node, 2),
        input_zp_of(value),
        weight_zp_of(value, weight),
        pad=padding(found),
        stride=stride,
        dilation=dilation,
    )
    return scaled_sums(node, total, options.fused_activation_function)


@operator("FULLY_CONNECTED", FullyConnectedOptions, types=_TYPES, versions=14)
def fully_connected(node: Node, options: FullyConnectedOptions) -> Tensor:
    """Rows times a matrix of weights."""
    value, weight = node[0], node[1]
    if options.weights_format:
        raise Refused(f"its weights are {options.weights_format.name}", "convert the model without shuffling")
    if weight.rank != 2:
        raise Refused(f"its weights have {weight.rank} dimensions, but must have 2")
    count, depth = weight.shape
    rows = prod(value.shape) // max(depth, 1)
    if rows * depth != prod(value.shape):
        raise Refused(f"its input {list(value.shape)} does not consist of rows of {depth}")
    total = ops.conv2d(
        reshaped(value.tensor, (rows, 1, 1, depth)),
        reshaped(weights_of(node, 1), (count, 1, 1, depth)),
        bias_of(node, 2),
        input_zp_of(value),
        weight_zp_of(value, weight),
    )
    result = scaled_sums(node, total, options.fused_activation_function)
    keep = options.keep_num_dims and value.shape[-1:] == (depth,)
    return reshaped(result, (*value.shape[:-1], count) if keep else (rows, count))


def weights_of(node: Node, number: int) -> Tensor:
    """Weights as TOSA's convolutions take them; those of a floating-point input become float32."""
    weight = node[number]
    if node[0].type is Type.FLOAT32 and weight.type is not Type.FLOAT32:
        return node.trace.constant(weight.real, FP32, weight.name)
    if weight.dtype is INT4 and (node[0].type is not Type.INT8 or np.any(weight.array < INT4.minimum)):
        return node.trace.constant(weight.array, INT8, weight.name)  # TOSA's INT4 begins at -7
    return weight.tensor


def bias_of(node: Node, number: int) -> Tensor:
    """The bias in the type of the sums; zero if it is left out."""
    found, value = node.optional(number), node[0]
    sums = FP32 if value.type is Type.FLOAT32 else INT48 if value.dtype is INT16 else INT32
    if found is None or (found.is_constant and not np.any(found.raw)):
        return node.trace.constant(np.zeros(1, sums.storage), sums)
    if sums is INT48:
        return node.trace.constant(found.raw.astype(sums.storage), sums, found.name)
    return found.tensor


def input_zp_of(value: Operand) -> int:
    """The zero point of an input, which floating-point numbers do not have."""
    return value.zero_point if value.quantized else 0


def weight_zp_of(value: Operand, weight: Operand) -> int:
    """The zero point of weights."""
    return weight.zero_point if value.quantized else 0


def scaled_sums(node: Node, total: Tensor, activation: Activation, channels: slice = slice(None)) -> Tensor:
    """The sums of products for channels as results: activated, and of integers scaled before."""
    value, weight, result = node[0], node[1], node.result
    if not value.quantized:
        return activated(total, activation)
    own = weight.scales[channels] if len(weight.scales) > 1 else weight.scales
    scales = np.array(own) * value.scale / result.scale
    bias = node.optional(2)
    if total.dtype is INT48 and bias is not None and bias.type is Type.INT32:
        total = scaled(total, [(1 << 14, 14)], INT32)  # these sums are kept in 32 bits
    return finished(total, scales, result, activation, RoundingMode.DOUBLE_ROUND)


def _groups(channels: int, depth: int, count: int) -> int:
    if depth == 0 or channels % depth or count % max(channels // depth, 1):
        raise Refused(f"its {count} filters of {depth} channels do not divide {channels} input channels")
    return channels // depth
