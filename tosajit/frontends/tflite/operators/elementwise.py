"""Functions of one operand that keep its shape: signs, roots, waves, and whole numbers nearby."""

from __future__ import annotations

from collections.abc import Callable
from math import expm1

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP16, FP32, INT8, INT16, INT32
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.quantized import ratio, tabled
from tosajit.frontends.common.scale import (
    multiplier_of,
    rescale,
    rounded_twice,
    wide,
)
from tosajit.frontends.common.tables import byte_table, saturated
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.operators.arithmetic import folded
from tosajit.tracing.tensor import Tensor


@operator("ABS", types="float32 int8 int16 int32", versions=5, fold=folded(np.abs))
def absolute(node: Node) -> Tensor:
    """Elements without their signs."""
    value, result = node[0], node.result
    if value.dtype in (FP32, INT32):
        return ops.abs(value.tensor)
    if value.dtype is INT16 and not value.quantized:
        return ops.cast(ops.abs(wide(value.tensor)), dtype=INT16)
    same, pair = value.scale == result.scale, multiplier_of(ratio(value, result))
    if value.dtype is INT16:
        size = ops.abs(wide(value.tensor))
        return saturated(size) if same else rescale(size, ratio(value, result), INT16)

    def sizes(numbers: Array) -> Array:
        size = np.abs(numbers - value.zero_point)
        return (size if same else rounded_twice(size, *pair)) + result.zero_point

    return ops.table(value.tensor, byte_table(sizes))


@operator("NEG", types="float32 float16 int8 int16 int32 int64", fold=folded(np.negative))
def negative(node: Node) -> Tensor:
    """Elements with the opposite sign; of integers as they are stored, whatever their scale."""
    value = node[0].tensor
    if value.dtype in (INT8, INT16):  # the least number stays as it is
        return ops.cast(ops.negate(wide(value)), dtype=value.dtype)
    return ops.negate(value)


@operator("SIGN", types="float32 int32", versions=2, fold=folded(np.sign))
def sign(node: Node) -> Tensor:
    """Whether elements are above, at or below zero: 1, 0 or -1."""
    value = node[0].tensor
    if value.dtype is INT32:
        return ops.minimum(ops.maximum(value, number(value, -1)), number(value, 1))
    zero = number(value, 0.0)
    below = ops.select(ops.greater(ops.const(zero), value), number(value, -1.0), value)
    return ops.select(ops.greater(value, zero), number(value, 1.0), below)


@operator("SQUARE", types="float32")
def square(node: Node) -> Tensor:
    """Elements times themselves."""
    return ops.mul(node[0].tensor, node[0].tensor)


@operator("SQRT", types="float32 int8 int16", versions=2)
def square_root(node: Node) -> Tensor:
    """The square root."""
    value, result = node[0], node.result
    if not value.quantized:
        return ops.reciprocal(ops.rsqrt(value.tensor))

    def roots(numbers: Array) -> Array:  # without their fractions, in float32 as TFLite counts them
        reals = np.maximum(numbers - value.zero_point, 0).astype(np.float32) * np.float32(value.scale)
        found: Array = np.floor(np.sqrt(reals) / np.float32(result.scale)) + result.zero_point
        return found

    if value.dtype is INT8:
        return ops.table(value.tensor, byte_table(roots))
    # A TABLE of 16 bits draws lines between samples: all that there are from zero on are a constant instead.
    all_roots = np.minimum(roots(np.arange(1 << 15)), result.bounds[1]).astype(np.int16)
    places = wide(value.tensor)
    return gathered(ops.const(all_roots), ops.maximum(places, number(places, 0)), 0)


@operator("SIN", types="float32 float16", versions=2)
def sine(node: Node) -> Tensor:
    """The sine."""
    return in_float32(ops.sin, node[0].tensor)


@operator("COS", types="float32 float16", versions=2)
def cosine(node: Node) -> Tensor:
    """The cosine."""
    return in_float32(ops.cos, node[0].tensor)


@operator("FLOOR", types="float32 float16")
def floor(node: Node) -> Tensor:
    """The greatest whole numbers that are not above elements."""
    return ops.floor(node[0].tensor)


@operator("CEIL", types="float32")
def ceil(node: Node) -> Tensor:
    """The least whole numbers that are not below elements."""
    return ops.ceil(node[0].tensor)


@operator("ROUND", types="float32 float16")
def nearest(node: Node) -> Tensor:
    """The nearest whole numbers, of two the even one."""
    value = node[0].tensor
    below, half = ops.floor(value), number(value, 0.5)
    rest, halved = ops.sub(value, below), ops.mul(below, half)
    odd = ops.greater(halved, ops.floor(halved))
    up = ops.select(odd, ops.greater_equal(rest, half), ops.greater(rest, half))
    return ops.select(up, ops.add(below, number(below, 1.0)), below)


@operator("ELU", types="float32 int8")
def elu(node: Node) -> Tensor:
    """Elements from 0 on, others as their exponential less 1."""
    value = node[0]
    if value.quantized:
        return tabled(value, node.result, lambda real: real if real >= 0 else expm1(real))
    tensor = value.tensor
    below = ops.sub(ops.exp(tensor), number(tensor, 1.0))
    return ops.select(ops.greater_equal(tensor, number(tensor, 0.0)), tensor, below)


def in_float32(function: Callable[..., Tensor], *values: Tensor) -> Tensor:
    """A function of numbers of 16 bits counted in 32, as TFLite does it."""
    if values[0].dtype is FP32:
        return function(*values)
    return ops.cast(function(*(ops.cast(value, dtype=FP32) for value in values)), dtype=FP16)
