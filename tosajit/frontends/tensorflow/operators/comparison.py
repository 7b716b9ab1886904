"""Comparisons, logic, bits, and choices between the elements of two tensors."""

from __future__ import annotations

from math import inf

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, INT32
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.numbers import constant, number
from tosajit.frontends.frame import alike
from tosajit.frontends.frame.folding import folded
from tosajit.frontends.frame.narrow import bits_of, low_bits, widened
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import MOVED, NARROW, NUMBERS, REAL, WHOLE, operator
from tosajit.frontends.tensorflow.schema import Type
from tosajit.tracing.tensor import Tensor

_BITS, _ORDERED = f"{WHOLE} {NARROW}", f"{NUMBERS} {NARROW}"

operator("Equal", types=f"{_ORDERED} bool", fold=folded(np.equal))(alike.equal)
operator("Greater", types=_ORDERED, fold=folded(np.greater))(alike.greater)
operator("GreaterEqual", types=_ORDERED, fold=folded(np.greater_equal))(alike.greater_equal)
operator("Less", types=_ORDERED, fold=folded(np.less))(alike.less)
operator("LessEqual", types=_ORDERED, fold=folded(np.less_equal))(alike.less_equal)
operator("LogicalAnd", types="bool", fold=folded(np.logical_and))(alike.logical_and)
operator("LogicalOr", types="bool", fold=folded(np.logical_or))(alike.logical_or)
operator("LogicalNot", types="bool", fold=folded(np.logical_not))(alike.logical_not)
operator("IsNan", types=REAL, fold=folded(np.isnan))(alike.is_nan)


@operator("NotEqual", types=f"{NUMBERS} {NARROW} bool", fold=folded(np.not_equal))
@widened
def not_equal(node: Node) -> Tensor:
    """Whether the elements of two tensors differ."""
    first, second = node.aligned
    if first.dtype is BOOL:
        return ops.logical_xor(first, second)
    return ops.logical_not(ops.equal(first, second))


@operator("IsInf", types=REAL, fold=folded(np.isinf))
def is_inf(node: Node) -> Tensor:
    """Whether elements are infinite."""
    size = ops.abs(node[0].tensor)
    return ops.equal(size, number(size, inf))


@operator("IsFinite", types=REAL, fold=folded(np.isfinite))
def is_finite(node: Node) -> Tensor:
    """Whether elements are numbers that are not infinite."""
    size = ops.abs(node[0].tensor)
    return ops.greater(constant(size, inf), size)


@operator("BitwiseAnd", types=_BITS, fold=folded(np.bitwise_and))
def bitwise_and(node: Node) -> Tensor:
    """The bits that the elements of both tensors have."""
    return ops.bitwise_and(*node.aligned)


@operator("BitwiseOr", types=_BITS, fold=folded(np.bitwise_or))
def bitwise_or(node: Node) -> Tensor:
    """The bits that the elements of either tensor have."""
    return ops.bitwise_or(*node.aligned)


@operator("BitwiseXor", types=_BITS, fold=folded(np.bitwise_xor))
def bitwise_xor(node: Node) -> Tensor:
    """The bits that differ between the elements of two tensors."""
    return ops.bitwise_xor(*node.aligned)


@operator("Invert", types=_BITS, fold=folded(np.invert))
@widened
def invert(node: Node) -> Tensor:
    """All bits inverted."""
    return ops.bitwise_not(node[0].tensor)


def _count(count: Array, value: Array) -> Array:
    most = value.dtype.itemsize * 8 - 1
    return np.clip(count, 0, most).astype(value.dtype)


@operator("LeftShift", types=f"int32 {NARROW}",
          fold=folded(lambda value, count: np.left_shift(value, _count(count, value))))  # fmt: skip
def left_shift(node: Node) -> Tensor:
    """The bits of elements moved to the left."""
    value, count = node.aligned
    return low_bits(ops.logical_left_shift(value, _within(count, node[0].type)), node[0].type)


@operator("RightShift", types=f"int32 {NARROW}",
          fold=folded(lambda value, count: np.right_shift(value, _count(count, value))))  # fmt: skip
def right_shift(node: Node) -> Tensor:
    """The bits of elements moved to the right; counts beyond their width are the nearest within it."""
    value, count = node.aligned
    return ops.arithmetic_right_shift(value, _within(count, node[0].type), round=False)


def _within(count: Tensor, kind: Type) -> Tensor:
    """Counts that are inside of the bits of a type."""
    most = bits_of(kind) - 1
    if count.dtype is INT32:
        return ops.minimum(ops.maximum(count, number(count, 0)), number(count, most))
    return ops.clamp(count, min_val=0, max_val=most)


@operator("SelectV2", types=MOVED, typed=1, fold=folded(np.where))
def select_v2(node: Node) -> Tensor:
    """The elements of one tensor where a condition holds, else those of another."""
    return ops.select(*node.aligned)


def _chosen(node: Node) -> Array | None:
    return None if node[0].shape != node[1].shape else folded(np.where)(node)


@operator("Select", types=MOVED, typed=1, fold=_chosen)
def select(node: Node) -> Tensor:
    """The elements of one tensor where a condition holds, else those of another; rows for one of rank 1."""
    condition, first, second = node.tensors
    if condition.ndim == 1:
        condition = reshaped(condition, (*condition.shape, *(1,) * (first.ndim - 1)))
    return ops.select(*aligned(condition, first, second))
