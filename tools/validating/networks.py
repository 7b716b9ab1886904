"""Networks of int8 that figures were published for, with random weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tosajit.dtypes import INT8, INT32
from tosajit.graph import Graph
from tosajit.operators import AVG_POOL2D, CONV2D, DEPTHWISE_CONV2D, MAX_POOL2D, SLICE
from tosajit.operators.types import AccType, NanMode
from tosajit.tracing.builder import GraphBuilder
from validating.graphs import added, rescaled, same, sums

RESNET_STAGES = (3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)
"""Blocks, filters within a block, and the stride of the first one."""
MOBILENET_BLOCKS = (2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2), *((16, 1),) * 5, (32, 2), (32, 1)
"""Filters, in those of the first layer, and the stride of the depthwise convolution."""
VGG_STAGES = (2, 64), (2, 128), (3, 256), (3, 512), (3, 512)
"""Convolutions and their filters; each stage ends in a pool."""


def resnet50(classes: int = 1000) -> Graph:
    """ResNet-50 with the stride in the 3 × 3 convolutions, as it is trained today."""
    network = Network(224)
    network.convolution(64, 7, 2)
    network.maximum(3, 2)
    for count, filters, stride in RESNET_STAGES:
        for number in range(count):
            step = stride if number == 0 else 1
            given = network.last
            network.convolution(filters, 1)
            network.convolution(filters, 3, step)
            network.convolution(4 * filters, 1)
            made, network.last = network.last, given
            if number == 0:
                network.convolution(4 * filters, 1, step)
            network.last = added(network.builder, made, network.last)
    network.average()
    network.convolution(classes, 1)
    return network.graph()


def convolutions(graph: Graph) -> Iterator[tuple[int, int, int, int, int]]:
    """Those of a network: rows of the result, kernel, stride, channels of the image and of the result."""
    for node in graph.nodes:
        if isinstance(node.operator, CONV2D):
            made, weights = (graph.main.values[name].shape for name in (node.outputs[0], node.inputs[1]))
            assert made is not None
            assert weights is not None
            yield made[1], weights[1], node.operator.stride[0], weights[3], made[3]


def mobilenet_v1(size: int, filters: int, classes: int) -> Graph:
    """MobileNetV1 with so many filters in its first layer: 32, or 8 with a multiplier of 0.25."""
    network = Network(size)
    network.convolution(filters, 3, 2)
    for times, stride in MOBILENET_BLOCKS:
        network.depthwise(3, stride)
        network.convolution(times * filters, 1)
    network.average()
    network.convolution(classes, 1)
    return network.graph()


def vgg16_convolutions() -> Graph:
    """The thirteen convolutions of VGG-16, with their pools."""
    network = Network(224)
    for count, filters in VGG_STAGES:
        for _ in range(count):
            network.convolution(filters, 3)
        network.maximum(2, 2)
    return network.graph()


class Network:
    """A chain of layers as it is written."""

    def __init__(self, size: int, channels: int = 3, batch: int = 1) -> None:
        self.builder = GraphBuilder()
        self.last = self.builder.input("image", INT8, (batch, size, size, channels))

    def convolution(self, filters: int, kernel: int, stride: int = 1) -> None:
        """A convolution with padding, scaled by channel to int8."""
        self._cut(kernel, stride)
        operator = CONV2D(**self._options(kernel, stride))
        self._scaled(operator, (filters, kernel, kernel, self._shape[-1]))

    def depthwise(self, kernel: int, stride: int = 1) -> None:
        """A convolution of each channel by itself, likewise."""
        self._cut(kernel, stride)
        operator = DEPTHWISE_CONV2D(**self._options(kernel, stride))
        self._scaled(operator, (kernel, kernel, self._shape[-1], 1))

    def maximum(self, kernel: int, stride: int) -> None:
        """A maximum pool with padding."""
        top, bottom = self._padding(kernel, stride)
        pool = MAX_POOL2D(
            kernel=(kernel, kernel),
            stride=(stride, stride),
            pad=(top, bottom, top, bottom),
            nan_mode=NanMode.PROPAGATE,
        )
        self.last = str(self.builder.add(pool, [self.last]))

    def average(self) -> None:
        """The mean of all positions."""
        size = self._shape[1]
        pool = AVG_POOL2D(kernel=(size, size), stride=(1, 1), pad=(0, 0, 0, 0), acc_type=AccType.INT32)
        zeros = [self.builder.const(np.zeros(1, np.int8), INT8) for _ in range(2)]
        self.last = str(self.builder.add(pool, [self.last, *zeros]))

    def graph(self) -> Graph:
        """The network so far."""
        self.builder.output(self.last)
        return self.builder.build()

    def _cut(self, kernel: int, stride: int) -> None:
        """Leave out what no window of a stride reaches."""
        batch, size, _, channels = self._shape
        reached = (-(-size // stride) - 1) * stride + kernel
        if reached < size:
            begin = self.builder.shape((0, 0, 0, 0))
            extents = self.builder.shape((batch, reached, reached, channels))
            self.last = str(self.builder.add(SLICE(), [self.last, begin, extents]))

    def _options(self, kernel: int, stride: int) -> dict[str, Any]:
        top, bottom = self._padding(kernel, stride)
        return {
            "pad": (top, bottom, top, bottom),
            "stride": (stride, stride),
            "dilation": (1, 1),
            "acc_type": AccType.INT32,
            "local_bound": False,
        }

    def _scaled(self, operator: Any, shape: tuple[int, ...]) -> None:
        total = sums(self.builder, operator, self.last, shape)
        filters = shape[0] if isinstance(operator, CONV2D) else shape[2]
        self.last = rescaled(self.builder, total, filters, INT32, INT8)

    def _padding(self, kernel: int, stride: int) -> tuple[int, int]:
        size = self._shape[1]
        return same(size, -(-size // stride), kernel, stride)

    @property
    def _shape(self) -> tuple[int, ...]:
        shape = self.builder.value(self.last).shape
        assert shape is not None
        return shape
