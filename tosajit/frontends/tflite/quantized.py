"""What the quantised operators of TFLite share: bounds of fused activations, and scaling to a result."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT32
from tosajit.frontends.common import quantized
from tosajit.frontends.common.quantized import ACTIVATIONS, quantized_bounds
from tosajit.frontends.common.tables import byte_table
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.fields import Activation
from tosajit.frontends.tflite.operand import Described, Operand
from tosajit.frontends.tflite.schema import Type
from tosajit.operators import RoundingMode
from tosajit.tracing.tensor import Tensor

_REAL_BOUNDS = {one: ACTIVATIONS[one.name.lower()] for one in Activation if one.name.lower() in ACTIVATIONS}


def bounds(result: Described, activation: Activation) -> tuple[int, int]:
    """The least and the greatest integer that a fused activation leaves."""
    if activation not in _REAL_BOUNDS:
        raise Refused(f"the fused activation {activation.name} has no quantised form")
    return quantized_bounds(result, *_REAL_BOUNDS[activation])


def clamped(value: Tensor, result: Described, activation: Activation) -> Tensor:
    """Quantised results after a fused activation."""
    low, high = bounds(result, activation)
    if low > high:
        raise Refused(f"the fused activation {activation.name} leaves none of the numbers of its result")
    if (low, high) == result.bounds:
        return value
    return ops.clamp(value, min_val=low, max_val=high)


def activated(value: Tensor, activation: Activation) -> Tensor:
    """Floating-point numbers, or plain integers, after a fused activation."""
    if activation is Activation.NONE:
        return value
    if activation is Activation.TANH:
        return ops.tanh(value)
    if activation not in _REAL_BOUNDS:
        raise Refused(f"the fused activation {activation.name} has no lowering")
    low, high = _REAL_BOUNDS[activation]
    if value.dtype is not INT32:
        return ops.clamp(value, min_val=low, max_val=high)
    ones = (1,) * value.ndim
    above = ops.maximum(value, np.full(ones, int(low), np.int32))
    return above if high == inf else ops.minimum(above, np.full(ones, int(high), np.int32))


def finished(
    total: Tensor,
    scales: float | Sequence[float] | Array,
    result: Described,
    activation: Activation = Activation.NONE,
    rounding: RoundingMode = RoundingMode.DOUBLE_ROUND,
) -> Tensor:
    """Sums as integers of a result: scaled, moved by its zero point, saturated and activated."""
    return clamped(quantized.finished(total, scales, result, rounding), result, activation)


def requantized(operand: Operand, result: Described) -> Tensor:
    """An operand in the scale and with the zero point of a result, as CONCATENATION does it: in float32."""
    same = not operand.quantized or (operand.scale, operand.zero_point) == (result.scale, result.zero_point)
    if same:
        return operand.tensor
    if operand.dtype is not INT8:
        raise Refused(f"{operand.name} has another scale than the result, which only bytes may have")
    scale = np.float32(operand.scale) * (np.float32(1) / np.float32(result.scale))
    offset = 128 if operand.type is Type.UINT8 else 0
    bias = np.float32(-(operand.zero_point + offset)) * scale

    def moved(numbers: Array) -> Array:
        real = (numbers + offset).astype(np.float32) * scale + bias
        found: Array = np.copysign(np.floor(np.abs(real) + np.float32(0.5)), real) + result.zero_point
        return found

    return ops.table(operand.tensor, byte_table(moved))
