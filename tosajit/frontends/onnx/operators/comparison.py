"""Comparisons, logic, bits, and choices between the elements of two tensors."""

from __future__ import annotations

from math import inf

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.numbers import constant, number
from tosajit.frontends.frame import Refused, alike
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.folding import folded
from tosajit.frontends.frame.narrow import bits_of, low_bits, widened
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import MOVED, NARROW, NUMBERS, REAL, WHOLE, operator
from tosajit.frontends.onnx.schema import STORAGE
from tosajit.tracing.tensor import Tensor

_BITS, _ORDERED = f"{WHOLE} {NARROW}", f"{NUMBERS} {NARROW}"

operator("Equal", types=MOVED, fold=folded(np.equal))(alike.equal)
operator("Greater", types=_ORDERED, fold=folded(np.greater))(alike.greater)
operator("GreaterOrEqual", types=_ORDERED, fold=folded(np.greater_equal))(alike.greater_equal)
operator("Less", types=_ORDERED, fold=folded(np.less))(alike.less)
operator("LessOrEqual", types=_ORDERED, fold=folded(np.less_equal))(alike.less_equal)
operator("And", types="bool", fold=folded(np.logical_and))(alike.logical_and)
operator("Or", types="bool", fold=folded(np.logical_or))(alike.logical_or)
operator("Not", types="bool", fold=folded(np.logical_not))(alike.logical_not)
operator("IsNaN", types=REAL, fold=folded(np.isnan))(alike.is_nan)


@operator("Xor", types="bool", fold=folded(np.logical_xor))
def logical_xor(node: Node) -> Tensor:
    """Whether the elements of one tensor alone are true."""
    return ops.logical_xor(*node.aligned)


@operator("BitwiseAnd", types=_BITS, fold=folded(np.bitwise_and))
@widened
def bitwise_and(node: Node) -> Tensor:
    """The bits that both tensors have."""
    return ops.bitwise_and(*node.aligned)


@operator("BitwiseOr", types=_BITS, fold=folded(np.bitwise_or))
@widened
def bitwise_or(node: Node) -> Tensor:
    """The bits that either tensor has."""
    return ops.bitwise_or(*node.aligned)


@operator("BitwiseXor", types=_BITS, fold=folded(np.bitwise_xor))
@widened
def bitwise_xor(node: Node) -> Tensor:
    """The bits that one tensor alone has."""
    return ops.bitwise_xor(*node.aligned)


@operator("BitwiseNot", types=_BITS, fold=folded(np.invert))
@widened
def bitwise_not(node: Node) -> Tensor:
    """The bits that a tensor has not."""
    return ops.bitwise_not(node[0].tensor)


@dataclass(frozen=True, slots=True)
class ShiftAttributes(Attributes):
    """Which way bits go."""

    direction: str


@operator("BitShift", ShiftAttributes, types=_BITS)
def bit_shift(node: Node, options: ShiftAttributes) -> Tensor:
    """Bits moved to the left or to the right."""
    kind = node[0].type
    is_signed = STORAGE[kind].kind == "i"
    value, count = (one if one.dtype is INT32 else ops.cast(one, dtype=INT32) for one in node.aligned)
    most = bits_of(kind) - 1
    if not is_signed and bits_of(kind) == 32 and options.direction == "RIGHT":
        raise Refused(f"TOSA has no {kind.label}, whose highest bit a shift would move")
    is_left = options.direction == "LEFT"
    inside = ops.minimum(ops.maximum(count, number(count, 0)), number(count, most))
    fits = ops.equal(inside, count)
    if is_signed and not is_left:  # what is shifted too far leaves the sign
        found = ops.arithmetic_right_shift(value, ops.select(fits, count, number(count, most)))
    else:
        shift = ops.logical_left_shift if is_left else ops.logical_right_shift
        found = ops.select(fits, low_bits(shift(value, inside), kind), number(value, 0))
    return found if found.dtype is node[0].dtype else ops.cast(found, dtype=node[0].dtype)


@dataclass(frozen=True, slots=True)
class InfinityAttributes(Attributes):
    """Which infinities count."""

    detect_negative: bool = True
    detect_positive: bool = True


@operator("IsInf", InfinityAttributes, types=REAL)
def is_inf(node: Node, options: InfinityAttributes) -> Tensor:
    """Whether elements are infinite."""
    value = node[0].tensor
    if options.detect_negative and options.detect_positive:
        value = ops.abs(value)
    elif options.detect_negative:
        value = -value
    elif not options.detect_positive:
        return ops.greater(value, constant(value, inf))
    return ops.equal(value, number(value, inf))


@operator("Where", types="bool", fold=folded(lambda *arrays: np.where(*arrays).astype(arrays[1].dtype)))
def where(node: Node) -> Tensor:
    """The elements of one tensor where a condition is true, those of another one elsewhere."""
    condition, first, second = node.aligned
    return ops.select(condition, first, second)
