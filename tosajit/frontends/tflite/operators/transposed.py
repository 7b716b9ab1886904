"""Convolutions of volumes, and transposed ones, whose inputs spread kernels over their results."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tiling.records import replace
from tosajit import ops
from tosajit.frontends.common.layout import transposed
from tosajit.frontends.common.transposition import spread_out, turned
from tosajit.frontends.common.windows import padding, spans, transposed_padding, trimmed
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.fields import Padding
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.operators.convolution import (
    bias_of,
    input_zp_of,
    scaled_sums,
    weight_zp_of,
    weights_of,
)
from tosajit.frontends.tflite.options import Conv3DOptions, TransposeConvOptions
from tosajit.frontends.tflite.quantized import activated
from tosajit.tracing.tensor import Tensor


@operator("TRANSPOSE_CONV", TransposeConvOptions, types="float32 int8 uint8 int16", versions=5, typed=2)
def transpose_conv(node: Node, options: TransposeConvOptions) -> Tensor:
    """Transposed convolution of images, whose result has a given shape."""
    size, node = node[0].ints[1:3], _as_convolution(node)
    total = _sums(node, size, (options.stride_h, options.stride_w), options.padding is Padding.SAME)
    return scaled_sums(node, total, options.fused_activation_function)


@operator("Convolution2DTransposeBias", types="float32")
def convolution_2d_transpose_bias(node: Node) -> Tensor:
    """MediaPipe's custom operator: a transposed convolution with a bias, whose result has the least shape."""
    same, stride = _struct(node.record.custom_options)
    value, weight = node[0], node[1]
    kernel, extents = weight.shape[1:3], value.shape[1:3]
    reach = stride if same else tuple(map(max, kernel, stride))
    size = [(extent - 1) * step + one for extent, step, one in zip(extents, stride, reach, strict=True)]
    return _sums(node, size, stride, same)


_PADDINGS = {1: True, 2: False}
"""Whether the result is as many strides as the input has elements, by what LiteRT's C interface calls it."""


def _struct(options: bytes) -> tuple[bool, tuple[int, int]]:
    """Whether padding is SAME, and strides by height and width: a struct of C, as it lies in memory."""
    if len(options) < 12:
        raise Refused(f"its options have {len(options)} bytes, but must have 12: padding, stride_w, stride_h")
    padding, width, height = struct.unpack_from("<3i", options)
    if padding not in _PADDINGS:
        raise Refused(f"its padding is {padding}, but must be 1 (SAME) or 2 (VALID)")
    if min(height, width) < 1:
        raise Refused(f"its strides are {height} and {width}, but must be at least 1")
    return _PADDINGS[padding], (height, width)


def _sums(node: Node, size: Sequence[int], stride: tuple[int, int], same: bool) -> Tensor:
    """The sums of products of an image, in a result of a size."""
    value, weight = node[0], node[1]
    kernel = weight.shape[1:3]
    found = spans(size, kernel, stride, (1, 1), same)
    return ops.transpose_conv2d(
        value.tensor,
        weights_of(node, 1),
        bias_of(node, 2),
        input_zp_of(value),
        weight_zp_of(value, weight),
        out_pad=transposed_padding(size, value.shape[1:3], kernel, stride, found),
        stride=stride,
    )


def _as_convolution(node: Node) -> Node:
    """The operands in the order that convolutions have: value, weights and bias."""
    return replace(node, operands=(node[2], node[1], node.optional(3)))


@operator("CONV_3D", Conv3DOptions, types="float32", versions=1)
def conv_3d(node: Node, options: Conv3DOptions) -> Tensor:
    """Convolution of volumes."""
    value, weight = node[0], node[1]
    stride, dilation = _strides(options)
    found = spans(value.shape[1:4], weight.shape[:3], stride, dilation, options.padding is Padding.SAME)
    total = ops.conv3d(
        trimmed(value.tensor, found),
        transposed(weights_of(node, 1), (4, 0, 1, 2, 3)),
        bias_of(node, 2),
        pad=padding(found),
        stride=stride,
        dilation=dilation,
    )
    return activated(total, options.fused_activation_function)


@operator("CONV_3D_TRANSPOSE", Conv3DOptions, types="float32", typed=2)
def conv_3d_transpose(node: Node, options: Conv3DOptions) -> Tensor:
    """Transposed convolution of volumes: a convolution of what has zeros between its elements."""
    size, node = node[0].ints[1:4], _as_convolution(node)
    stride, dilation = _strides(options)
    weights = weights_of(node, 1)
    found = spans(size, weights.shape[:3], stride, dilation, options.padding is Padding.SAME)
    value, pads = spread_out(node[0].tensor, size, weights.shape[:3], stride, dilation, found)
    kernels = transposed(turned(weights, 3), (3, 0, 1, 2, 4))
    total = ops.conv3d(value, kernels, bias_of(node, 2), pad=pads, dilation=dilation)
    return activated(total, options.fused_activation_function)


def _strides(options: Conv3DOptions) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Strides and dilations by depth, height and width."""
    return (
        (options.stride_d, options.stride_h, options.stride_w),
        (options.dilation_d_factor, options.dilation_h_factor, options.dilation_w_factor),
    )
