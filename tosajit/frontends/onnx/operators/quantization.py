"""Real numbers on a grid of integers, and back.

TOSA computes what ONNX says: a real number over a scale, rounded to even, and saturated; and an integer less
a zero point, times a scale.
"""

from __future__ import annotations

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.common.division import divided, quotient_of
from tosajit.frontends.common.layout import part, reshaped
from tosajit.frontends.common.numbers import nearest_even, number, typed
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node, Operand, dtype_of
from tosajit.frontends.onnx.operators import operator
from tosajit.frontends.onnx.operators.cast import converted
from tosajit.frontends.onnx.schema import BOUNDS, STORAGE, Type
from tosajit.frontends.scaled.affine import FARTHEST
from tosajit.tracing.tensor import Tensor

_GRIDS = "int8 uint8 int16 uint16 int32 int4 uint4 int2 uint2"
_REALS = "float8e4m3fn float8e5m2 float8e4m3fnuz float8e5m2fnuz float4e2m1"


@dataclass(frozen=True, slots=True)
class GridAttributes(Attributes):
    """The dimension of scales, how many elements share one, and the type of the grid."""

    axis: int = 1
    block_size: int = 0
    output_dtype: int = 0
    saturate: bool = True
    precision: int = 0


def _spread(value: Operand, like: Operand, options: GridAttributes) -> Tensor:
    """A scale or zero point beside a tensor: one for all, for each index, or for blocks along a dimension."""
    tensor = value.tensor
    if tensor.ndim == 0 or (tensor.shape == (1,) and like.rank != 1):
        return reshaped(tensor, (1,) * like.rank)
    (axis,) = axes_of([options.axis], like.rank)
    if not options.block_size:
        return reshaped(tensor, _row(axis, like.rank))
    rows = reshaped(tensor, (*tensor.shape[: axis + 1], 1, *tensor.shape[axis + 1 :]))
    long = ops.tile(rows, [options.block_size if place == axis + 1 else 1 for place in range(rows.ndim)])
    whole = reshaped(
        long, (*tensor.shape[:axis], tensor.shape[axis] * options.block_size, *tensor.shape[axis + 1 :])
    )
    return part(whole, axis, 0, like.shape[axis])


def _row(axis: int, rank: int) -> list[int]:
    """The shape of numbers along a dimension."""
    return [-1 if place == axis else 1 for place in range(rank)]


def grid_type(node: Node, options: GridAttributes) -> Type:
    """The type of the integers that a node gives."""
    zero = node.optional(2)
    if zero is not None:
        return zero.type
    known = options.output_dtype and options.output_dtype in Type._value2member_map_
    return Type(options.output_dtype) if known else Type.UINT8


@operator("QuantizeLinear", GridAttributes, types="float32 float16 bfloat16 int32")
def quantize(node: Node, options: GridAttributes) -> Operand:
    """Real numbers over a scale, rounded to the even one of two, more by a zero point, and saturated."""
    kind = grid_type(node, options)
    value, zero = typed(node[0].tensor, FP32), node.optional(2)
    steps = _steps(node, value, typed(_spread(node[1], node[0], options), FP32))
    if dtype_of(kind).is_float:
        return node.of(converted(steps, kind, options.saturate), kind)
    if kind not in BOUNDS:
        raise Refused(f"TOSA has no grid of {kind.label}")
    found = nearest_even(steps)
    if zero is not None and not (zero.is_constant and not zero.raw.any()):
        found = ops.add(found, typed(_spread(zero, node[0], options), FP32))
    low, high = BOUNDS[kind]
    inside = ops.clamp(found, min_val=float(low), max_val=float(high))
    return node.of(ops.cast(inside, dtype=dtype_of(kind)), kind)


def _steps(node: Node, value: Tensor, scale: Tensor) -> Tensor:
    """Real numbers over a scale: those that enter the graph as ONNX divides them."""
    if not node.trace.builder.is_input(value.name):
        return ops.mul(value, quotient_of(ops.const(number(scale, 1.0)), scale))
    farthest = ops.mul(scale, number(scale, FARTHEST))
    return divided(ops.maximum(ops.minimum(value, farthest), -farthest), scale)


def _dequantized(node: Node) -> Array | None:
    """The real numbers of constant integers."""
    options = node.attributes(GridAttributes)
    raw, scale, zero = node[0].raw, node[1].raw, node.optional(2)
    if raw.dtype not in (STORAGE[one] for one in BOUNDS):
        return None
    centred = raw.astype(np.int64)
    if zero is not None:
        centred = centred - _beside(zero.raw.astype(np.int64), raw, options)
    return (centred.astype(np.float32) * _beside(scale.astype(np.float32), raw, options)).astype(scale.dtype)


def _beside(given: Array, like: Array, options: GridAttributes) -> Array:
    """The same for arrays."""
    if given.size == 1 and given.ndim < 2:
        return given.reshape((1,) * like.ndim)
    (axis,) = axes_of([options.axis], like.ndim)
    if not options.block_size:
        return given.reshape([given.size if place == axis else 1 for place in range(like.ndim)])
    return np.repeat(given, options.block_size, axis).take(range(like.shape[axis]), axis)


@operator("DequantizeLinear", GridAttributes, types=f"{_GRIDS} {_REALS}", fold=_dequantized)
def dequantize(node: Node, options: GridAttributes) -> Operand:
    """Integers less a zero point, times a scale."""
    value, zero = node[0].tensor, node.optional(2)
    if value.dtype.is_float:
        return _of_reals(node, typed(value, FP32), options)
    wide = value if value.dtype is INT32 else ops.cast(value, dtype=INT32)
    if zero is not None and not (zero.is_constant and not zero.raw.any()):
        point = _spread(zero, node[0], options)
        wide = ops.sub(wide, point if point.dtype is INT32 else ops.cast(point, dtype=INT32))
    return _of_reals(node, ops.cast(wide, dtype=FP32), options)


def _of_reals(node: Node, value: Tensor, options: GridAttributes) -> Operand:
    """Numbers times their scales, in the type of these."""
    found, kind = ops.mul(value, typed(_spread(node[1], node[0], options), FP32)), node[1].type
    return node.of(typed(found, dtype_of(kind)), kind)
