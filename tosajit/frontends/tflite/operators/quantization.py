"""Real numbers as integers, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tosajit import ops
from tosajit.dtypes import FP32, INT8, INT16
from tosajit.frontends.common.grid import Grid, on_grid
from tosajit.frontends.common.quantized import integers_of
from tosajit.frontends.common.scale import rescale
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Described, Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import FakeQuantOptions
from tosajit.frontends.tflite.schema import Type
from tosajit.graph import Array
from tosajit.tracing.tensor import Tensor


@operator("QUANTIZE", types="float32 int8 uint8 int16 int32", versions=4)
def quantize(node: Node) -> Tensor:
    """Real numbers as integers, or integers with another scale."""
    value, result = node[0], node.result
    if value.type is Type.FLOAT32:
        return _quantized(value.tensor, result)
    if (value.type, value.scale, value.zero_point) == (result.type, result.scale, result.zero_point):
        return value.tensor
    scale = float(value.scale) / float(result.scale)
    points = value.zero_point, result.zero_point
    return rescale(value.tensor, scale, result.dtype, input_zp=points[0], output_zp=points[1])


def _quantized(value: Tensor, result: Described) -> Tensor:
    """Real numbers as the integers of a result."""
    if result.dtype not in (INT8, INT16):
        raise Refused(f"its result is {result.type.label}, which real numbers are not quantised to")
    scales = along(result, result.scales, value.ndim)
    return integers_of(value, scales, result.zero_point, result.dtype)


@operator("DEQUANTIZE", types="float16 int8 uint8 int16", versions=6, fold=lambda node: node[0].real)
def dequantize(node: Node) -> Tensor:
    """Integers as the real numbers that they stand for, or real numbers of 16 bits as such of 32."""
    return dequantized(node[0])


def dequantized(value: Operand) -> Tensor:
    """The real numbers that an operand stands for, in float32."""
    real = ops.cast(value.tensor, dtype=FP32)
    if not value.quantized:
        return real
    if any(value.zero_points):
        real = ops.sub(real, along(value, value.zero_points, value.rank))
    return ops.mul(real, along(value, value.scales, value.rank))


@operator("DENSIFY", types="float32 float16 int8", fold=lambda node: node[0].raw)
def densify(node: Node) -> Array:
    """A sparse constant with its zeros, which all constants get when a model is read."""
    return node[0].raw


def along(described: Described, numbers: Sequence[float] | Array, rank: int) -> Array:
    """One number, or one for each index along the dimension of a tensor's scales, as an operand."""
    shape = [1] * rank
    if len(numbers) > 1:
        shape[described.axis] = len(numbers)
    return np.array(numbers, np.float32).reshape(shape)


@operator("FAKE_QUANT", FakeQuantOptions, types="float32", versions=2)
def fake_quant(node: Node, options: FakeQuantOptions) -> Tensor:
    """Real numbers as their nearest ones of a grid."""
    if options.narrow_range:
        raise Refused("it is of a narrow range, which is for weights alone")
    if not 1 < options.num_bits <= 16:
        raise Refused(f"it counts in {options.num_bits} bits, but must in 2 to 16")
    return on_grid(node[0].tensor, Grid.of(options.min, options.max, options.num_bits))
