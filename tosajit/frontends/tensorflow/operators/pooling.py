"""Pools: the mean or the maximum of each window."""

from __future__ import annotations

from dataclasses import dataclass

from tosajit import ops
from tosajit.frontends.common.windows import Span, padding, trimmed
from tosajit.frontends.frame import Refused
from tosajit.frontends.tensorflow.images import Images, spatial, windows
from tosajit.frontends.tensorflow.node import Attributes, Node
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


def _windows(images: Images, options: PoolAttributes) -> Windows:
    """Kernel, stride and windows."""
    if images.value.ndim != 4:
        raise Refused(f"its operand has {images.value.ndim} dimensions, but must have 4")
    kernel, stride = (spatial(one, options.data_format, 2) for one in (options.ksize, options.strides))
    beside = [one for numbers in (options.ksize, options.strides) for one in numbers]
    if sum(beside) != sum((*kernel, *stride)) + 4 or min(beside) < 1:
        raise Refused(f"its windows {list(options.ksize)} are not of height and width alone")
    return kernel, stride, windows(images.value.shape[1:3], kernel, stride, (1, 1), options)


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
