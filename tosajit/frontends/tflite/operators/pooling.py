"""Pools: the mean or the maximum of each window."""

from __future__ import annotations

from tosajit import ops
from tosajit.frontends.common.windows import Span, padding, spans, trimmed
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.fields import Activation, Padding
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import Pool2DOptions
from tosajit.frontends.tflite.quantized import activated, clamped
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor

_TYPES = "float32 int8 uint8 int16"


@operator("AVERAGE_POOL_2D", Pool2DOptions, types=_TYPES, versions=3)
def average_pool_2d(node: Node, options: Pool2DOptions) -> Tensor:
    """The mean of each window; padding does not count."""
    value, found = node[0], _spans(node, options)
    # Means are of the numbers as they are stored: bytes without sign are at least 128 - 128.
    origin = -128 if value.type is Type.UINT8 else 0
    mean = ops.avg_pool2d(
        trimmed(value.tensor, found), origin, origin,
        kernel=(options.filter_height, options.filter_width),
        stride=(options.stride_h, options.stride_w),
        pad=padding(found),
    )  # fmt: skip
    return _finished(node, mean, options.fused_activation_function)


@operator("MAX_POOL_2D", Pool2DOptions, types=_TYPES, versions=3)
def max_pool_2d(node: Node, options: Pool2DOptions) -> Tensor:
    """The maximum of each window."""
    found = _spans(node, options)
    most = ops.max_pool2d(
        trimmed(node[0].tensor, found),
        kernel=(options.filter_height, options.filter_width),
        stride=(options.stride_h, options.stride_w),
        pad=padding(found),
    )
    return _finished(node, most, options.fused_activation_function)


@operator("L2_POOL_2D", Pool2DOptions, types="float32")
def l2_pool_2d(node: Node, options: Pool2DOptions) -> Tensor:
    """The root of the mean of squares of each window; padding does not count."""
    value, found = node[0].tensor, _spans(node, options)
    mean = ops.avg_pool2d(
        trimmed(ops.mul(value, value), found),
        kernel=(options.filter_height, options.filter_width),
        stride=(options.stride_h, options.stride_w),
        pad=padding(found),
    )
    return activated(ops.reciprocal(ops.rsqrt(mean)), options.fused_activation_function)


def _spans(node: Node, options: Pool2DOptions) -> tuple[Span, ...]:
    shape = node[0].shape
    if len(shape) != 4:
        raise Refused(f"its input has {len(shape)} dimensions, but must have 4")
    kernel, stride = (options.filter_height, options.filter_width), (options.stride_h, options.stride_w)
    return spans(shape[1:3], kernel, stride, (1, 1), options.padding is Padding.SAME)


def _finished(node: Node, value: Tensor, activation: Activation) -> Tensor:
    """Pools do not scale: only the fused activation is left."""
    return clamped(value, node.result, activation) if node[0].quantized else activated(value, activation)
