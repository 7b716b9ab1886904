"""Quotients, and what divisions leave."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.division import floored
from tosajit.frontends.common.fixed import divided, normal, plus, raised, reciprocal, times
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.quantized import centred
from tosajit.frontends.common.scale import multiplier_of, wide
from tosajit.frontends.common.tables import saturated
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.operators.arithmetic import folded
from tosajit.frontends.tflite.options import FusedOptions
from tosajit.frontends.tflite.quantized import activated, clamped
from tosajit.tracing.tensor import Tensor


def _nonzero(function: Callable[[Array, Array], Array]) -> Callable[[Node], Array | None]:
    """Compute integers from constants where no divisor is zero."""
    fold = folded(function)
    return lambda node: fold(node) if np.all(node[1].raw) else None


def _truncated(first: Array, second: Array) -> Array:
    quotient = np.abs(first) // np.abs(second)
    return np.where((first < 0) == (second < 0), quotient, -quotient).astype(first.dtype)


@operator("DIV", FusedOptions, types="float32 int8 uint8 int16 int32", versions=2, fold=_nonzero(_truncated))
def div(node: Node, options: FusedOptions) -> Tensor:
    """The quotient of two tensors; of plain integers without its fraction."""
    first, second, result = node[0], node[1], node.result
    if not first.quantized:
        value, divisor = aligned(first.tensor, second.tensor)
        quotient = (
            ops.mul(value, ops.reciprocal(divisor)) if value.dtype is FP32 else ops.intdiv(value, divisor)
        )
        return activated(quotient, options.fused_activation_function)
    scale = np.float32(first.scale) / (np.float32(second.scale) * np.float32(result.scale))
    value, divisor = aligned(centred(first), centred(second))
    quotient = _scaled_quotient(value, divisor, *multiplier_of(float(scale)))
    most = 1 << 28  # enough for any type that the result may have
    limited = ops.maximum(ops.minimum(quotient, number(quotient, most)), number(quotient, -most))
    moved = saturated(plus(limited, result.zero_point), result.dtype)
    return clamped(moved, result, options.fused_activation_function)


def _scaled_quotient(value: Tensor, divisor: Tensor, multiplier: int, shift: int) -> Tensor:
    """A quotient times a scale, by one over the divisor in fixed point."""
    below = ops.greater(ops.const(number(divisor, 0)), divisor)
    value, size = ops.select(below, ops.negate(value), value), ops.abs(divisor)
    zeros = ops.clz(size)
    inverse = raised(reciprocal(normal(size, zeros)), 1)
    negative = ops.greater(ops.const(number(value, 0)), value)
    room = plus(ops.clz(ops.select(negative, ops.bitwise_not(value), value)), -1)
    product = times(times(ops.logical_left_shift(value, room), inverse), multiplier)
    return _moved_down(product, ops.add(plus(room, shift), ops.sub(ops.const(number(zeros, 0)), zeros)))


def _moved_down(value: Tensor, bits: Tensor) -> Tensor:
    """Numbers over a power of two, rounded; as processors do it where TFLite has more bits than there are."""
    low = ops.bitwise_and(bits, number(bits, 31))
    positive = ops.greater_equal(value, number(value, 0))
    wrapped = ops.add(
        ops.arithmetic_right_shift(value, low, round=False),
        ops.select(positive, number(value, 1), number(value, 0)),
    )
    return ops.select(ops.equal(low, bits), divided(value, low), wrapped)


@operator("FLOOR_DIV", types="float32 int8 int16 int32", versions=3, fold=_nonzero(np.floor_divide))
def floor_div(node: Node) -> Tensor:
    """The greatest whole numbers that are not above quotients; of integers as they are stored."""
    quotient, _ = _floored(node)
    return quotient if quotient.dtype is node.result.dtype else ops.cast(quotient, dtype=node.result.dtype)


@operator("FLOOR_MOD", types="float32 int8 int16 int32 int64", versions=2, fold=_nonzero(np.mod))
def floor_mod(node: Node) -> Tensor:
    """What a division leaves, with the sign of the divisor; of integers as they are stored."""
    _, rest = _floored(node)
    return rest if rest.dtype is node.result.dtype else ops.cast(rest, dtype=node.result.dtype)


def _floored(node: Node) -> tuple[Tensor, Tensor]:
    """Quotients below or at the real ones, and what is left."""
    values = (one.tensor for one in node.inputs)
    value, divisor = aligned(*(one if one.dtype in (FP32, INT32) else wide(one) for one in values))
    return floored(value, divisor)
