"""Pools of windows, and of whole images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.dtypes import INT8, INT32
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.functions import square_root
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.numbers import number, typed
from tosajit.frontends.common.pooling import Side, greatest, greatest_and_places, mean, total
from tosajit.frontends.common.powers import power_of
from tosajit.frontends.common.reduce import reduced
from tosajit.frontends.common.windows import Span, inside
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import REAL, operator
from tosajit.frontends.onnx.operators.convolution import Border, borders_of, each
from tosajit.frontends.onnx.schema import Type
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class PoolAttributes(Attributes):
    """Where windows are."""

    kernel_shape: tuple[int, ...]
    auto_pad: str = "NOTSET"
    ceil_mode: bool = False
    dilations: tuple[int, ...] | None = None
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None

    def sides(self, value: Tensor) -> tuple[Tensor, list[Side], list[Border]]:
        """The part of a tensor that windows reach, the windows along each dimension, and their borders."""
        count, extents = value.ndim - 2, value.shape[2:]
        sizes, steps = each(self.kernel_shape, count), each(self.strides, count)
        gaps = each(self.dilations, count)
        reaches = [(size - 1) * gap + 1 for size, gap in zip(sizes, gaps, strict=True)]
        borders = borders_of(self.pads, self.auto_pad, extents, steps, reaches)
        spans = [self._span(*one) for one in zip(extents, reaches, steps, borders, strict=True)]
        value, spans_inside = inside(value, spans, 2)
        found = [
            Side(axis, size, step, gap, span)
            for axis, (size, step, gap, span) in enumerate(
                zip(sizes, steps, gaps, spans_inside, strict=True), 2
            )
        ]
        kept = [(side, border) for side, border in zip(found, borders, strict=True) if not side.is_whole]
        return value, [side for side, _ in kept], [border for _, border in kept]

    def _span(self, extent: int, reach: int, step: int, border: Border) -> Span:
        """The windows along a dimension: with `ceil_mode` the last one may go beyond the border."""
        before, behind = border
        room = extent + before + behind - reach
        count = room // step + 1
        if self.ceil_mode and room % step and count * step < extent + before:
            count += 1
        return Span(before, (count - 1) * step + reach - extent - before, count)


@dataclass(frozen=True, slots=True)
class MaxPoolAttributes(PoolAttributes):
    """The order in which places are counted."""

    storage_order: int = 0


@operator("MaxPool", MaxPoolAttributes, types=f"{REAL} int8 uint8")
def max_pool(node: Node, options: MaxPoolAttributes) -> Tensor | tuple[Tensor, Operand]:
    """The maximum of each window, and where it is."""
    tensor = node[0].tensor
    if node.results > 1:
        return _with_places(node, tensor, options)
    if tensor.dtype is not INT32:
        value, sides, _ = options.sides(tensor)
        return greatest(value, sides)
    value, sides, _ = options.sides(ops.cast(ops.sub(tensor, number(tensor, 128)), dtype=INT8))
    found = ops.cast(greatest(value, sides), dtype=INT32)
    return ops.add(found, number(found, 128))


def _with_places(node: Node, tensor: Tensor, options: MaxPoolAttributes) -> tuple[Tensor, Operand]:
    """The maximum of each window, and its place among all elements; in columns, if these are stored."""
    narrow = tensor.dtype
    value, sides, _ = options.sides(tensor if narrow.is_float else typed(tensor, INT32))
    greatest, places = greatest_and_places(value, sides)
    whole = node[0].shape
    strides = [prod(whole[place + 1 :]) for place in range(len(whole))]
    if options.storage_order:
        strides[2:] = [prod(whole[2:place]) for place in range(2, len(whole))]
    total = reduce(ops.add, (_times(place, stride) for place, stride in zip(places, strides, strict=True)))
    found = node.of(expanded(total, greatest.shape), Type.INT64)
    return (greatest if narrow.is_float else typed(greatest, narrow)), found


def _times(value: Tensor, factor: int) -> Tensor:
    return value if factor == 1 else ops.mul(value, number(value, factor))


@dataclass(frozen=True, slots=True)
class UnpoolAttributes(Attributes):
    """Where windows were."""

    kernel_shape: tuple[int, ...]
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None


@operator("MaxUnpool", UnpoolAttributes, types=REAL)
def max_unpool(node: Node, options: UnpoolAttributes) -> Tensor:
    """The maxima of windows at the places where they were, and zeros elsewhere."""
    value, indices, wanted = node[0].tensor, node[1].tensor, node.optional(2)
    count, sizes = value.ndim - 2, options.kernel_shape
    steps, pads = each(options.strides, count), each(options.pads, 2 * count, 0)
    if any(size > step for size, step in zip(sizes, steps, strict=True)):
        raise Refused("its windows overlap, so that two of its elements may have one place")
    sides = zip(value.shape[2:], steps, sizes, pads[:count], pads[count:], strict=True)
    inner = [(extent - 1) * step + size - one - other for extent, step, size, one, other in sides]
    shape = (*value.shape[:2], *inner)
    zeros = ops.const(np.zeros((1,) * 3, value.dtype.storage))
    places = indices if indices.dtype is INT32 else ops.cast(indices, dtype=INT32)
    found = ops.scatter(
        expanded(zeros, (1, prod(shape), 1)), reshaped(places, (1, -1)), reshaped(value, (1, -1, 1))
    )
    found = reshaped(found, shape)
    if wanted is None:
        return found
    borders = [(0, whole - extent) for whole, extent in zip(wanted.ints, shape, strict=True)]
    return padded(found, borders)


@dataclass(frozen=True, slots=True)
class AveragePoolAttributes(PoolAttributes):
    """Whether what is outside counts."""

    count_include_pad: bool = False


@operator("AveragePool", AveragePoolAttributes, types=REAL)
def average_pool(node: Node, options: AveragePoolAttributes) -> Tensor:
    """The mean of each window."""
    value, sides, borders = options.sides(node[0].tensor)
    counted = borders if options.count_include_pad else [(0, 0)] * len(sides)
    return mean(value, sides, counted)


@dataclass(frozen=True, slots=True)
class LpPoolAttributes(PoolAttributes):
    """The norm."""

    p: int = 2


@operator("LpPool", LpPoolAttributes, types=REAL)
def lp_pool(node: Node, options: LpPoolAttributes) -> Tensor:
    """A norm of each window."""
    value, sides, _ = options.sides(node[0].tensor)
    return _rooted(total(_raised(value, options.p), sides), options.p)


def _raised(value: Tensor, power: int) -> Tensor:
    size = ops.abs(value)
    return (
        size
        if power == 1
        else ops.mul(value, value)
        if power == 2
        else power_of(size, ops.const(number(size, power)))
    )


def _rooted(value: Tensor, power: int) -> Tensor:
    if power <= 2:
        return value if power == 1 else square_root(value)
    return power_of(value, ops.const(number(value, 1 / power)))


def _axes(node: Node) -> Sequence[int]:
    return range(2, node[0].rank)


@operator("GlobalAveragePool", types=REAL)
def global_average_pool(node: Node) -> Tensor:
    """The mean of whole images."""
    value = node[0].tensor
    sides = [
        Side(axis, value.shape[axis], 1, 1, Span(0, 0, 1)) for axis in _axes(node) if value.shape[axis] > 1
    ]
    return mean(value, sides, None)


@operator("GlobalMaxPool", types=REAL)
def global_max_pool(node: Node) -> Tensor:
    """The maximum of whole images."""
    return reduced(
        lambda value, axis: ops.reduce_max(value, axis=axis), node[0].tensor, tuple(_axes(node)), True
    )


@dataclass(frozen=True, slots=True)
class NormAttributes(Attributes):
    """The norm."""

    p: int = 2


@operator("GlobalLpPool", NormAttributes, types=REAL)
def global_lp_pool(node: Node, options: NormAttributes) -> Tensor:
    """A norm of whole images."""
    raised = _raised(node[0].tensor, options.p)
    sums = reduced(lambda value, axis: ops.reduce_sum(value, axis=axis), raised, tuple(_axes(node)), True)
    return _rooted(sums, options.p)
