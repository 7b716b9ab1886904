"""Convolutions of images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tosajit import ops
from tosajit.frontends.common.layout import joined, split, transposed
from tosajit.frontends.common.transposition import spread_out, turned
from tosajit.frontends.common.windows import Span, padding, transposed_padding, trimmed
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.images import Images, spatial, windows
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import REAL, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class ConvAttributes(Attributes):
    """Where windows are."""

    strides: tuple[int, ...]
    padding: str
    explicit_paddings: tuple[int, ...] = ()
    data_format: str = ""
    dilations: tuple[int, ...] = ()


@operator("Conv2D", ConvAttributes, types=REAL)
def conv_2d(node: Node, options: ConvAttributes) -> Tensor:
    """Convolution of images, also by groups of channels."""
    images, weights = Images.of(node[0].tensor, options.data_format), node[1].tensor
    _ranked(images.value, weights, 4)
    height, width, depth, count = weights.shape
    stride, dilation, found = _windows(images, options, (height, width))
    channels = images.value.shape[3]
    if depth == 0 or channels % depth or count % max(channels // depth, 1):
        raise Refused(f"its {count} filters of {depth} channels do not divide {channels} input channels")
    groups = channels // depth
    kernels = split(transposed(weights, (3, 0, 1, 2)), 0, groups)
    results = [
        ops.conv2d(image, kernel, pad=padding(found), stride=stride, dilation=dilation)
        for image, kernel in zip(split(trimmed(images.value, found), 3, groups), kernels, strict=True)
    ]
    return images.back(joined(results, 3))


@operator("DepthwiseConv2dNative", ConvAttributes, types=REAL)
def depthwise_conv_2d(node: Node, options: ConvAttributes) -> Tensor:
    """Convolution of each channel on its own."""
    images, weights = Images.of(node[0].tensor, options.data_format), node[1].tensor
    _ranked(images.value, weights, 4)
    stride, dilation, found = _windows(images, options, weights.shape[:2])
    image = trimmed(images.value, found)
    total = ops.depthwise_conv2d(image, weights, pad=padding(found), stride=stride, dilation=dilation)
    return images.back(total)


@operator("Conv2DBackpropInput", ConvAttributes, types=REAL, typed=1)
def transposed_conv_2d(node: Node, options: ConvAttributes) -> Tensor:
    """Transposed convolution of images, whose result has a given shape."""
    images, weights = Images.of(node[2].tensor, options.data_format), node[1].tensor
    _ranked(images.value, weights, 4)
    given = node[0].ints
    size = spatial(given, options.data_format, 2) if len(given) == 4 else given
    kernel = weights.shape[:2]
    stride, dilation = _steps(options, 2)
    found = windows(size, kernel, stride, dilation, options)
    if dilation != (1, 1):
        value, border = spread_out(images.value, size, kernel, stride, dilation, found)
        kernels = transposed(turned(weights, 2), (2, 0, 1, 3))
        return images.back(ops.conv2d(value, kernels, pad=border, dilation=dilation))
    pads = transposed_padding(size, images.value.shape[1:3], kernel, stride, found)
    return images.back(
        ops.transpose_conv2d(images.value, transposed(weights, (2, 0, 1, 3)), out_pad=pads, stride=stride)
    )


@operator("Conv3DBackpropInputV2", ConvAttributes, types=REAL, typed=1)
def transposed_conv_3d(node: Node, options: ConvAttributes) -> Tensor:
    """Transposed convolution of volumes, whose result has a given shape."""
    images, weights = Images.of(node[2].tensor, options.data_format), node[1].tensor
    _ranked(images.value, weights, 5)
    size, kernel = spatial(node[0].ints, options.data_format, 3), weights.shape[:3]
    stride, dilation = _steps(options, 3)
    found = windows(size, kernel, stride, dilation, options)
    value, pads = spread_out(images.value, size, kernel, stride, dilation, found)
    kernels = transposed(turned(weights, 3), (3, 0, 1, 2, 4))
    return images.back(ops.conv3d(value, kernels, pad=pads, dilation=dilation))


@operator("Conv3D", ConvAttributes, types=REAL)
def conv_3d(node: Node, options: ConvAttributes) -> Tensor:
    """Convolution of volumes."""
    images, weights = Images.of(node[0].tensor, options.data_format), node[1].tensor
    _ranked(images.value, weights, 5)
    stride, dilation, found = _windows(images, options, weights.shape[:3])
    kernel, image = transposed(weights, (4, 0, 1, 2, 3)), trimmed(images.value, found)
    return images.back(ops.conv3d(image, kernel, pad=padding(found), stride=stride, dilation=dilation))


def _ranked(value: Tensor, weights: Tensor, rank: int) -> None:
    if value.ndim != rank or weights.ndim != rank:
        raise Refused(f"its operands have {value.ndim} and {weights.ndim} dimensions, but must have {rank}")


def _steps(options: ConvAttributes, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Strides and dilations by height and width, or by depth before them."""
    stride = spatial(options.strides, options.data_format, count)
    dilation = spatial(options.dilations or (1,) * (count + 2), options.data_format, count)
    if min((*stride, *dilation), default=0) < 1:
        raise Refused(f"its strides {list(stride)} and dilations {list(dilation)} are not all from 1 on")
    return stride, dilation


def _windows(
    images: Images, options: ConvAttributes, kernel: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[Span, ...]]:
    stride, dilation = _steps(options, len(kernel))
    found = windows(images.value.shape[1:-1], kernel, stride, dilation, options)
    return stride, dilation, found
