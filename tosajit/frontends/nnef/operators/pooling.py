"""Pools along any dimensions (NNEF 2.0 section 4.4.2)."""

from __future__ import annotations

from dataclasses import dataclass

from tosajit.frontends.common.pooling import Side, greatest, mean, total
from tosajit.frontends.common.windows import inside
from tosajit.frontends.nnef.node import Node, each
from tosajit.frontends.nnef.operators import operator
from tosajit.frontends.nnef.windows import Windows
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Pool(Windows):
    """Where windows are."""

    axes: tuple[int, ...]
    size: tuple[int, ...]


def sides_of(value: Tensor, options: Pool) -> tuple[Tensor, list[Side]]:
    """The part of a tensor that windows reach, and the windows along each dimension."""
    count = len(options.axes)
    axes = [axis % value.ndim for axis in options.axes]
    sizes = each(options.size, count)
    found = options.spans([value.shape[axis] for axis in axes], sizes)
    sides = []
    strides, dilations = each(options.stride, count), each(options.dilation, count)
    for axis, size, stride, dilation, span in zip(axes, sizes, strides, dilations, found, strict=True):
        value, (kept,) = inside(value, (span,), axis)
        sides.append(Side(axis, size, stride, dilation, kept))
    return value, sorted((one for one in sides if not one.is_whole), key=lambda side: side.axis)


@operator("nn.max_pool", Pool)
def max_pool(node: Node, options: Pool) -> Tensor:
    """The maximum of each window."""
    return greatest(*sides_of(node["input"], options))


@operator("nn.sum_pool", Pool)
def sum_pool(node: Node, options: Pool) -> Tensor:
    """The sum of each window."""
    return total(*sides_of(node["input"], options))


@dataclass(frozen=True, slots=True)
class Average(Pool):
    """Whether what is outside counts not."""

    ignore_border: bool


@operator("nn.avg_pool", Average)
def avg_pool(node: Node, options: Average) -> Tensor:
    """The mean of each window."""
    value, sides = sides_of(node["input"], options)
    return mean(value, sides, [(0, 0)] * len(sides) if options.ignore_border else None)
