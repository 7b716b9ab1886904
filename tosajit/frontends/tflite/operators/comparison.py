"""Comparisons, logic, bits, and choices between the elements of two tensors."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, INT8, INT16, INT32
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.quantized import raised
from tosajit.frontends.common.scale import number_like, wide
from tosajit.frontends.common.tables import saturated
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.operators.arithmetic import folded
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor

Binary = Callable[[Tensor, Tensor], Tensor]

_NUMBERS = "float32 float16 int8 uint8 int16 int32 int64"
_SCALED_BITS = 8
"""Bits by which quantised numbers are moved up before they are scaled to be compared."""


@operator("EQUAL", types=f"{_NUMBERS} bool", versions=4, fold=folded(np.equal))
def equal(node: Node) -> Tensor:
    """Whether the elements of two tensors are equal."""
    first, second = _compared(node, scaled=True)
    return (
        ops.logical_not(ops.logical_xor(first, second)) if first.dtype is BOOL else ops.equal(first, second)
    )


@operator("NOT_EQUAL", types=f"{_NUMBERS} bool", versions=3, fold=folded(np.not_equal))
def not_equal(node: Node) -> Tensor:
    """Whether the elements of two tensors differ."""
    first, second = _compared(node, scaled=True)
    return (
        ops.logical_xor(first, second) if first.dtype is BOOL else ops.logical_not(ops.equal(first, second))
    )


@operator("GREATER", types=_NUMBERS, versions=2, fold=folded(np.greater))
def greater(node: Node) -> Tensor:
    """Whether the elements of the first tensor are greater."""
    return ops.greater(*_compared(node))


@operator("GREATER_EQUAL", types=_NUMBERS, versions=3, fold=folded(np.greater_equal))
def greater_equal(node: Node) -> Tensor:
    """Whether the elements of the first tensor are greater or equal."""
    return ops.greater_equal(*_compared(node))


@operator("LESS", types=_NUMBERS, versions=3, fold=folded(np.less))
def less(node: Node) -> Tensor:
    """Whether the elements of the first tensor are less."""
    return ops.greater(*reversed(_compared(node)))


@operator("LESS_EQUAL", types=_NUMBERS, versions=3, fold=folded(np.less_equal))
def less_equal(node: Node) -> Tensor:
    """Whether the elements of the first tensor are less or equal."""
    return ops.greater_equal(*reversed(_compared(node)))


def _compared(node: Node, scaled: bool = False) -> list[Tensor]:
    """Two operands as numbers that can be compared; int16 is scaled only for (in)equality."""
    return aligned(
        *(_comparable(operand, scaled or operand.type is not Type.INT16) for operand in node.inputs)
    )


def _comparable(operand: Operand, scaled: bool) -> Tensor:
    if operand.dtype not in (INT8, INT16):
        return operand.tensor
    if operand.quantized and scaled:
        return raised(operand, operand.scale, _SCALED_BITS)
    return wide(operand.tensor)


@operator("LOGICAL_AND", types="bool", fold=folded(np.logical_and))
def logical_and(node: Node) -> Tensor:
    """Whether the elements of both tensors are true."""
    return _both(node, ops.logical_and)


@operator("LOGICAL_OR", types="bool", fold=folded(np.logical_or))
def logical_or(node: Node) -> Tensor:
    """Whether the elements of either tensor are true."""
    return _both(node, ops.logical_or)


@operator("LOGICAL_NOT", types="bool", fold=folded(np.logical_not))
def logical_not(node: Node) -> Tensor:
    """Whether elements are false."""
    return ops.logical_not(node[0].tensor)


@operator("BITWISE_XOR", types="int8 uint8 int16 int32", fold=folded(np.bitwise_xor))
def bitwise_xor(node: Node) -> Tensor:
    """The bits that differ between the elements of two tensors."""
    bits = _both(node, ops.bitwise_xor)
    if node[0].type is not Type.UINT8:
        return bits
    return ops.bitwise_xor(
        bits, np.full((1,) * bits.ndim, -128, np.int8)
    )  # each operand has its top bit turned


def _right_shifted(value: Array, count: Array) -> Array:
    most = value.dtype.itemsize * 8 - 1
    return np.asarray(np.right_shift(value, np.clip(count, 0, most).astype(value.dtype)))


@operator("RIGHT_SHIFT", types="int8 uint8 int16 int32", fold=folded(_right_shifted))
def right_shift(node: Node) -> Tensor:
    """The bits of elements moved to the right; counts beyond their width are the nearest within it."""
    value, count = node[0], node[1]
    if value.type is Type.UINT8:
        places = _within(wide(count.tensor, -128), 7)
        moved = ops.arithmetic_right_shift(*aligned(wide(value.tensor, -128), places), round=False)
        return saturated(ops.sub(moved, number_like(moved, 128)), INT8)
    places = _within(count.tensor, value.dtype.bits - 1)
    return ops.arithmetic_right_shift(*aligned(value.tensor, places), round=False)


def _within(value: Tensor, most: int) -> Tensor:
    """Integers from 0 to a greatest one, the nearest."""
    if value.dtype is not INT32:
        return ops.clamp(value, min_val=0, max_val=most)
    return ops.minimum(ops.maximum(value, number_like(value, 0)), number_like(value, most))


@operator("MAXIMUM", types=_NUMBERS, versions=4, fold=folded(np.maximum))
def maximum(node: Node) -> Tensor:
    """The greater elements of two tensors."""
    value, bound = _bounded(node)
    return _extreme(node, ops.maximum) if value is None else _clamped(value, low=bound)


@operator("MINIMUM", types=_NUMBERS, versions=4, fold=folded(np.minimum))
def minimum(node: Node) -> Tensor:
    """The lesser elements of two tensors."""
    value, bound = _bounded(node)
    return _extreme(node, ops.minimum) if value is None else _clamped(value, high=bound)


def _extreme(node: Node, choose: Binary) -> Tensor:
    """The greater or lesser elements; numbers as they are stored, whatever their scales."""
    narrow = node[0].dtype
    if narrow not in (INT8, INT16):
        return _both(node, choose)
    chosen = choose(*aligned(*(wide(operand.tensor) for operand in node.inputs)))
    return saturated(chosen, narrow)


def _bounded(node: Node) -> tuple[Operand | None, float]:
    """The operand that CLAMP takes, where the other one is a constant number that bounds it."""
    first, second = node.inputs
    for value, other in ((first, second), (second, first)):
        single = other.is_constant and other.raw.size == 1 and other.rank <= value.rank
        if single and not value.is_constant and value.dtype is not INT32 and not np.any(np.isnan(other.raw)):
            return value, other.array.reshape(-1)[0].item()
    return None, 0.0


def _clamped(value: Operand, low: float | None = None, high: float | None = None) -> Tensor:
    least, most = (-inf, inf) if value.dtype.is_float else value.bounds
    bounds = least if low is None else low, most if high is None else high
    return ops.clamp(value.tensor, min_val=bounds[0], max_val=bounds[1])


@operator("SELECT_V2", types=f"{_NUMBERS} bool", versions=2, typed=1, fold=folded(np.where))
def select_v2(node: Node) -> Tensor:
    """The elements of one tensor where a condition holds, else those of another."""
    return ops.select(*aligned(*(operand.tensor for operand in node.inputs)))


def _chosen(node: Node) -> Array | None:
    if node[0].rank == 1 and node[0].shape != node[1].shape:
        return None
    return folded(np.where)(node)


@operator("SELECT", types=f"{_NUMBERS} bool", versions=4, typed=1, fold=_chosen)
def select(node: Node) -> Tensor:
    """The elements of one tensor where a condition holds, else those of another; rows for one of rank 1."""
    condition, rank = node[0].tensor, node[1].rank
    if condition.ndim == 1:
        condition = reshaped(condition, (*condition.shape, *(1,) * (rank - 1)))
    return ops.select(*aligned(condition, node[1].tensor, node[2].tensor))


def _both(node: Node, combine: Binary) -> Tensor:
    first, second = aligned(node[0].tensor, node[1].tensor)
    return combine(first, second)
