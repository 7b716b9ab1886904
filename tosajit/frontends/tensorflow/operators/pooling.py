"""Pools: the mean or the maximum of each window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tosajit import ops
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.windows import Span, padding, trimmed
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.images import Images, spatial, windows
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import REAL, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class PoolAttributes(Attributes):
    """Where windows are."""

    ksize: tuple[int, ...]
    strides: tuple[int, ...]
    padding: str
    explicit_paddings: tuple[int, ...] = ()
    data_format: str = "NHWC"


Windows = tuple[tuple[int, ...], tuple[int, ...], tuple[Span, ...]]


def _windows(images: Images, options: PoolAttributes, count: int = 2) -> Windows:
    """Kernel, stride and windows."""
    if images.value.ndim != count + 2:
        raise Refused(f"its operand has {images.value.ndim} dimensions, but must have {count + 2}")
    kernel, stride = (spatial(one, options.data_format, count) for one in (options.ksize, options.strides))
    beside = [one for numbers in (options.ksize, options.strides) for one in numbers]
    if sum(beside) != sum((*kernel, *stride)) + 4 or min(beside) < 1:
        raise Refused(f"its windows {list(options.ksize)} are not of height and width alone")
    return kernel, stride, windows(images.value.shape[1:-1], kernel, stride, (1,) * count, options)


@operator("MaxPool", PoolAttributes, types=f"{REAL} int8 int16")
def max_pool(node: Node, options: PoolAttributes) -> Tensor:
    """The maximum of each window."""
    images = Images.of(node[0].tensor, options.data_format)
    kernel, stride, found = _windows(images, options)
    image = trimmed(images.value, found)
    return images.back(ops.max_pool2d(image, kernel=kernel, stride=stride, pad=padding(found)))


@operator("AvgPool", PoolAttributes, types=REAL)
def avg_pool(node: Node, options: PoolAttributes) -> Tensor:
    """The mean of each window; padding does not count."""
    images = Images.of(node[0].tensor, options.data_format)
    kernel, stride, found = _windows(images, options)
    image = trimmed(images.value, found)
    return images.back(ops.avg_pool2d(image, kernel=kernel, stride=stride, pad=padding(found)))


@operator("MaxPool3D", PoolAttributes, types=REAL)
def max_pool_3d(node: Node, options: PoolAttributes) -> Tensor:
    """The maximum of each window of volumes."""
    return _pooled(ops.max_pool2d, node, options)


@operator("AvgPool3D", PoolAttributes, types=REAL)
def avg_pool_3d(node: Node, options: PoolAttributes) -> Tensor:
    """The mean of each window of volumes; padding does not count."""
    return _pooled(ops.avg_pool2d, node, options)


def _pooled(pool: Callable[..., Tensor], node: Node, options: PoolAttributes) -> Tensor:
    """Windows of height and width, and then those of what is left along depth."""
    images = Images.of(node[0].tensor, options.data_format)
    kernel, stride, found = _windows(images, options, 3)
    value = trimmed(images.value, found)
    count, depth, height, width, channels = value.shape
    flat = reshaped(value, (count * depth, height, width, channels))
    flat = pool(flat, kernel=kernel[1:], stride=stride[1:], pad=padding(found[1:]))
    height, width = flat.shape[1:3]
    columns = reshaped(flat, (count, depth, height * width, channels))
    deep = pool(columns, kernel=(kernel[0], 1), stride=(stride[0], 1), pad=(*padding(found[:1]), 0, 0))
    return images.back(reshaped(deep, (count, deep.shape[1], height, width, channels)))
