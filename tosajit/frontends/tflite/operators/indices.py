"""Elements by indices, and elements put at indices."""

from __future__ import annotations

from math import prod

from tosajit import ops
from tosajit.dtypes import BOOL, INT8
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.indices import gathered_nd, linear, one_hot
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.common.scale import number_like, wide
from tosajit.frontends.common.scatter import combined, filled, placed, unique
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import OneHotOptions
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor


@operator("ONE_HOT", OneHotOptions, types="float32 int8 uint8 int32 int64 bool", typed=2)
def one_hot_(node: Node, options: OneHotOptions) -> Tensor:
    """One value where the number along a new dimension is the index, another one elsewhere."""
    indices, (depth,) = node[0], node[1].ints
    (axis,) = axes_of([options.axis], indices.rank + 1)
    return one_hot(indices.tensor, axis, depth, node[2].tensor, node[3].tensor)


@operator("GATHER_ND", types="float32 float16 int8 uint8 int16 int32 int64 bool", versions=6)
def gather_nd(node: Node) -> Tensor:
    """The elements, or parts, of a tensor at indices along its first dimensions."""
    value, indices = node[0], node[1]
    _check_depth(indices, value.shape)
    return gathered_nd(value.tensor, indices.tensor)


@operator("SCATTER_ND", types="float32 int8 uint8 int32 int64 bool", typed=1)
def scatter_nd(node: Node) -> Tensor:
    """Zeros with elements, or parts, at indices along the first dimensions; those of one index are summed."""
    indices, updates, shape = node[0], node[1], node[2].ints
    _check_depth(indices, shape)
    depth = indices.shape[-1]
    count, inner = prod(shape[:depth]), prod(shape[depth:])
    rows = reshaped(linear(indices.tensor, shape[:depth]), (-1,))
    values = reshaped(updates.tensor, (rows.shape[0], inner))
    zero = -128 if updates.type is Type.UINT8 else 0
    if unique(rows):
        return reshaped(placed(filled(values, zero, count, inner), rows, values), shape)
    return reshaped(_summed(values, rows, count, zero), shape)


def _summed(values: Tensor, rows: Tensor, count: int, zero: int) -> Tensor:
    """Sums by rows; those of bytes keep their low bits, of truths any is true."""
    if values.dtype is BOOL:
        return combined(lambda one, axis: ops.reduce_any(one, axis=axis), values, rows, count, False)
    numbers = wide(values, zero) if values.dtype is INT8 else values
    total = combined(lambda one, axis: ops.reduce_sum(one, axis=axis), numbers, rows, count, 0)
    if values.dtype is not INT8:
        return total
    return ops.cast(ops.add(total, number_like(total, zero)), dtype=INT8)


@operator("SPARSE_TO_DENSE", types="float32 int8 uint8 int32 int64", versions=3, typed=2)
def sparse_to_dense(node: Node) -> Tensor:
    """A tensor of one value, with other values at indices, none of which is there twice."""
    indices, shape, values, default = node[0], node[1].ints, node[2], node[3]
    places = indices.tensor if indices.rank == 2 else reshaped(indices.tensor, (-1, 1))
    if places.shape[1] != len(shape):
        raise Refused(
            f"its indices have {places.shape[1]} numbers each, but its result {len(shape)} dimensions"
        )
    rows, count = linear(places, shape), prod(shape)
    given = expanded(reshaped(values.tensor, (-1, 1)), (rows.shape[0], 1))
    base = expanded(reshaped(default.tensor, (1, 1)), (count, 1))
    return reshaped(placed(base, rows, given), shape)


def _check_depth(indices: Operand, shape: tuple[int, ...]) -> None:
    if not indices.rank or indices.shape[-1] > len(shape):
        raise Refused(f"its indices {list(indices.shape)} are of more dimensions than {list(shape)} has")
