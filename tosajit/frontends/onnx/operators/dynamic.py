"""Products of rows of bytes, whose grid is known only when they are there, and of matrices that are known."""

from __future__ import annotations

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT8, INT32
from tosajit.frontends.common.division import Divisor, divided
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.matrices import filtered
from tosajit.frontends.common.numbers import nearest_even, number
from tosajit.frontends.common.reduce import reduced
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import operator
from tosajit.frontends.onnx.schema import Type
from tosajit.tracing.tensor import Tensor

MOST_ROWS = 1 << 15
"""So many products of two bytes fit into 32 bits."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Numbers from 0 to 255 and the one that stands for 0, as int32, and what one more stands for."""

    steps: Tensor
    scale: Tensor
    point: Tensor


def grid_of(value: Tensor) -> Grid:
    """Real numbers on the grid that their least and greatest make; scale and point have no dimensions."""
    axes, zero = tuple(range(value.ndim)), number(value, 0)
    most = reduced(lambda one, axis: ops.reduce_max(one, axis=axis), value, axes, True)
    least = reduced(lambda one, axis: ops.reduce_min(one, axis=axis), value, axes, True)
    high, low = ops.maximum(most, zero), ops.minimum(least, zero)
    reach = ops.sub(high, low)
    reach = ops.select(ops.equal(reach, zero), number(value, 255), reach)  # a scale of 1
    scale = divided(reach, ops.const(number(value, 255)))
    under = Divisor.of(scale).under
    # No value is more than 256 scales, so that quotients need no guard against great ones.
    point = ops.clamp(nearest_even(under(-low), small=True), min_val=0.0, max_val=255.0)
    steps = nearest_even(under(value), small=True)
    found = ops.clamp(ops.add(steps, point), min_val=0.0, max_val=255.0)
    return Grid(ops.cast(found, dtype=INT32), reshaped(scale, ()), reshaped(ops.cast(point, dtype=INT32), ()))


@operator("DynamicQuantizeLinear", types="float32")
def dynamic_quantize(node: Node) -> tuple[Operand, Operand, Operand]:
    """Real numbers on the grid of bytes that their least and greatest make, with its scale and zero point."""
    found = grid_of(node[0].tensor)
    return (
        node.of(found.steps, Type.UINT8),
        node.of(found.scale, Type.FLOAT32),
        node.of(found.point, Type.UINT8),
    )


@dataclass(frozen=True, slots=True)
class Bytes:
    """A constant matrix of int8 with one zero point."""

    matrix: Array
    zero_point: int

    def times(self, rows: Tensor, point: Tensor | None) -> Tensor:
        """Rows of int8 less their zero point, an int32, times the matrix."""
        zeros = (np.zeros(1, np.int8), np.array([self.zero_point], np.int8))
        total = filtered(rows, ops.const(np.ascontiguousarray(self.matrix.T)), None, zeros)
        if point is None:
            return total
        # What the point adds to each sum is as much as all of its column.
        columns = self.matrix.sum(0, dtype=np.int32) - np.int32(len(self.matrix) * self.zero_point)
        row = (1,) * (total.ndim - 1)
        return ops.sub(total, ops.mul(reshaped(point, (*row, 1)), columns.reshape(*row, -1)))


def known_bytes(value: Operand, zero: Operand | None) -> Bytes | None:
    """A matrix of bytes that is known, if it has one zero point."""
    if value.rank != 2 or not value.is_constant or not (zero is None or zero.is_constant):
        return None
    return bytes_of(value.raw, np.zeros(1, value.raw.dtype) if zero is None else zero.raw)


def bytes_of(matrix: Array, zero: Array) -> Bytes | None:
    """The same from arrays."""
    points = np.unique(zero.astype(np.int16))
    if len(points) > 1 or len(matrix) > MOST_ROWS:
        return None
    shift = 128 if matrix.dtype == np.uint8 else 0
    return Bytes((matrix.astype(np.int16) - shift).astype(np.int8), int(points[0]) - shift)


def signed(value: Tensor, kind: Type) -> Tensor:
    """Bytes as numbers of int8: those without sign are 128 less."""
    if kind is Type.INT8:
        return value
    return ops.cast(_less(value, 128), dtype=INT8)


def signed_point(zero: Operand | None, kind: Type) -> Tensor | None:
    """The zero point of such bytes, as int32; there is none where it is 0."""
    shift = 0 if kind is Type.INT8 else 128
    if zero is None:
        return ops.const(np.array(-shift, np.int32)) if shift else None
    return _less(zero.tensor if zero.dtype is INT32 else ops.cast(zero.tensor, dtype=INT32), shift)


def _less(value: Tensor, shift: int) -> Tensor:
    return ops.sub(value, number(value, shift)) if shift else value


def times_bytes(rows: Tensor, matrix: Bytes, scales: Array) -> Tensor:
    """Real numbers, on a grid of their own, times a matrix on known grids."""
    grid = grid_of(rows)
    total = matrix.times(signed(grid.steps, Type.UINT8), _less(grid.point, 128))
    row = (1,) * (total.ndim - 1)
    scale = ops.mul(reshaped(grid.scale, (*row, 1)), scales.astype(np.float32).reshape(*row, -1))
    return ops.mul(ops.cast(total, dtype=FP32), scale)
