"""Products of bytes less zero points, as int32."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.dtypes import INT8, INT16, INT32
from tosajit.frontends.common.borders import Border, bordered
from tosajit.frontends.common.convolution import Sums
from tosajit.frontends.common.layout import constant_of, reshaped
from tosajit.frontends.common.matrices import multiplied
from tosajit.frontends.common.scale import scaled
from tosajit.frontends.onnx.integers import products
from tosajit.frontends.onnx.integers.grids import held_of
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import operator
from tosajit.frontends.onnx.operators.convolution import ConvAttributes, convolution
from tosajit.frontends.onnx.operators.dynamic import MOST_ROWS, known_bytes, signed, signed_point
from tosajit.frontends.onnx.schema import Type
from tosajit.frontends.scaled import Held, Scaled, Sum, Weights
from tosajit.frontends.scaled.sums import bytes_of
from tosajit.tracing.tensor import Tensor

_BYTES = "int8 uint8"


def _plain_total(total: Sum) -> Tensor:
    """The sums themselves."""
    return total.written.anew(lambda: total.write(lambda found, channels: found))


def _unit(node: Node, value: int, zero: int, axis: int) -> Scaled | None:
    """Integers less a zero point as numbers, if that is known."""
    one = node.of(np.ones((), np.float32), Type.FLOAT32)
    return held_of(node[value], one, node.optional(zero), axis)


@operator("MatMulInteger", types=_BYTES)
def mat_mul_integer(node: Node) -> Operand:
    """The products of matrices of bytes less zero points, as int32."""
    left, right = _unit(node, 0, 2, -2), _unit(node, 1, 3, -1)
    total = None if left is None or right is None else products.matrices(left, right, None)
    if total is not None:
        return node.of(_plain_total(total), Type.INT32)
    weights, point = known_bytes(node[1], node.optional(3)), node.optional(2)
    if weights is not None and node[0].rank > 1 and _is_single(point):
        rows = signed(node[0].tensor, node[0].type)
        return node.of(weights.times(rows, signed_point(point, node[0].type)), Type.INT32)
    one, other = _centred(node, 0, 2, -2), _centred(node, 1, 3, -1)
    rows = reshaped(one, (1, -1)) if one.ndim == 1 else one
    columns = reshaped(other, (-1, 1)) if other.ndim == 1 else other
    found = multiplied(rows, columns, finish=_in_32_bits)
    shape = [*found.shape[:-2], *found.shape[-2:][one.ndim == 1 :]]
    return node.of(reshaped(found, shape[: -1 if other.ndim == 1 else None]), Type.INT32)


def _in_32_bits(total: Tensor) -> Tensor:
    return scaled(total, [(1 << 14, 14)], INT32)


@operator("ConvInteger", ConvAttributes, types=_BYTES)
def conv_integer(node: Node, options: ConvAttributes) -> Operand:
    """Convolution of bytes less zero points, as int32."""
    left, right = _unit(node, 0, 2, 1), _unit(node, 1, 3, 0)
    total = None if left is None or right is None else products.convolved(left, right, None, options, None)
    if total is not None:
        return node.of(_plain_total(total), Type.INT32)
    known = bytes_of(right, 0) if isinstance(right, Weights) else None
    if known is None or not _is_single(node.optional(2)) or prod(node[1].shape[1:]) > MOST_ROWS:
        return node.of(_of_words(node, options), Type.INT32)
    return node.of(_of_bytes(node, known[0], options), Type.INT32)


def _of_bytes(node: Node, kernels: Held, options: ConvAttributes) -> Tensor:
    """The sums of bytes, and what the point of the image, known by a run alone, adds to all of a channel."""
    image, point = signed(node[0].tensor, node[0].type), signed_point(node.optional(2), node[0].type)
    zeros = np.zeros(1, np.int8), np.array([kernels.zero_point], np.int8)
    if point is None:
        return convolution(image, kernels.tensor, None, options, Sums(zeros))
    data = constant_of(kernels.tensor)
    assert data is not None
    around = _around(image, ops.cast(point, dtype=INT8), options.borders(image.shape[2:], data.shape[2:]))
    inner = replace(options, auto_pad="NOTSET", pads=None)
    total = convolution(around, kernels.tensor, None, inner, Sums(zeros))
    columns = (data.astype(np.int32) - kernels.zero_point).sum(tuple(range(1, data.ndim)), dtype=np.int32)
    ones = (1,) * (total.ndim - 2)
    return ops.sub(total, ops.mul(reshaped(point, (1, 1, *ones)), columns.reshape(1, -1, *ones)))


def _around(image: Tensor, point: Tensor, borders: Sequence[Border]) -> Tensor:
    """An image with borders of a number that is known by a run alone; negative borders cut off."""
    whole = bordered(image, [(0, 0), (0, 0), *borders])
    outside = [(max(low, 0), max(high, 0)) for low, high in borders]
    if not any(map(any, outside)):
        return whole
    inner = [extent - low - high for extent, (low, high) in zip(whole.shape[2:], outside, strict=True)]
    mask = np.pad(np.ones((1, 1, *inner), np.bool_), [(0, 0), (0, 0), *outside])
    around: Tensor = ops.select(ops.const(mask), whole, reshaped(point, (1,) * image.ndim))
    return around


def _of_words(node: Node, options: ConvAttributes) -> Tensor:
    """The sums of words and bytes, less what the points of the kernels add: as much as sums of windows."""
    image = _centred(node, 0, 2, 1)
    kernels, point = signed(node[1].tensor, node[1].type), signed_point(node.optional(3), node[1].type)
    sums = Sums(finish=lambda total, channels: _in_32_bits(total))
    total = convolution(image, kernels, None, options, sums)
    data = None if point is None else constant_of(point)
    if point is None or (data is not None and not data.any()):
        return total
    count = kernels.shape[0] if options.group > 1 else 1
    ones = ops.const(np.ones((count, *kernels.shape[1:]), np.int8))
    windows = convolution(image, ones, None, options, sums)
    return ops.sub(total, ops.mul(reshaped(point, (1, -1, *(1,) * (total.ndim - 2))), windows))


def _is_single(point: Operand | None) -> bool:
    return point is None or prod(point.shape) == 1


def _centred(node: Node, value: int, zero: int, axis: int) -> Tensor:
    """Integers less a zero point as INT16."""
    given, point = node[value], node.optional(zero)
    wide = given.tensor if given.tensor.dtype is INT32 else ops.cast(given.tensor, dtype=INT32)
    if point is not None:
        own = point.tensor if point.tensor.dtype is INT32 else ops.cast(point.tensor, dtype=INT32)
        is_single = own.ndim == 0 or own.shape == (1,)
        row = [-1 if place == axis % wide.ndim else 1 for place in range(wide.ndim)]
        wide = ops.sub(wide, reshaped(own, (1,) * wide.ndim if is_single else row) if own.ndim < 2 else own)
    return ops.cast(wide, dtype=INT16)
