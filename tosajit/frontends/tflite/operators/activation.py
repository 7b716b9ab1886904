"""Activations of one operand: rectifiers, and what is like them."""

from __future__ import annotations

from math import inf

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT16
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.quantized import centred, moved, quantized_bounds, ratio
from tosajit.frontends.common.scale import (
    multiplier_of,
    number_like,
    rescale,
    rounded_twice,
    scaled,
    wide,
)
from tosajit.frontends.common.tables import byte_table
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Described, Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import LeakyReluOptions
from tosajit.frontends.tflite.schema import Type
from tosajit.operators import RoundingMode
from tosajit.tracing.tensor import Tensor


@operator("RELU", types="float32 int8 uint8 int16", versions=3)
def relu(node: Node) -> Tensor:
    """Elements from 0 on, others as 0."""
    return _limited(node, 0.0, inf)


@operator("RELU6", types="float32 int8 uint8 int16", versions=3)
def relu6(node: Node) -> Tensor:
    """Elements from 0 to 6, others as the nearest of them."""
    return _limited(node, 0.0, 6.0)


@operator("RELU_N1_TO_1", types="float32 int8 uint8", versions=2)
def relu_n1_to_1(node: Node) -> Tensor:
    """Elements from -1 to 1, others as the nearest of them."""
    return _limited(node, -1.0, 1.0)


@operator("RELU_0_TO_1", types="float32 int8 uint8", versions=2)
def relu_0_to_1(node: Node) -> Tensor:
    """Elements from 0 to 1, others as the nearest of them."""
    return _limited(node, 0.0, 1.0)


def _limited(node: Node, low: float, high: float) -> Tensor:
    """Elements within bounds, with the scale of the result."""
    value, result = node[0], node.result
    if value.type is Type.FLOAT32:
        return ops.clamp(value.tensor, min_val=low, max_val=high)
    least, most = quantized_bounds(result, low, high)
    return ops.clamp(moved(value, result), min_val=least, max_val=most)


@operator("LEAKY_RELU", LeakyReluOptions, types="float32 int8 uint8 int16", versions=2)
def leaky_relu(node: Node, options: LeakyReluOptions) -> Tensor:
    """Elements from 0 on, others times a factor."""
    value, result = node[0], node.result
    if value.type is Type.FLOAT32:
        slopes = np.full((1,) * value.rank, options.alpha, np.float32)
        return _sloped(value.tensor, ops.mul(value.tensor, slopes), options.alpha <= 1)
    slope = ratio(value, result, options.alpha)
    above, below = multiplier_of(ratio(value, result)), multiplier_of(abs(slope))
    if value.dtype is INT16:
        tensor = wide(value.tensor)
        turned = tensor if slope >= 0 else ops.negate(tensor)
        parts = (
            scaled(numbers, [pair], INT16, rounding=RoundingMode.DOUBLE_ROUND)
            for numbers, pair in ((tensor, above), (turned, below))
        )
        return ops.select(ops.greater_equal(tensor, number_like(tensor, 0)), *parts)

    def leaky(numbers: Array) -> Array:
        real = numbers - value.zero_point
        turned = real if slope >= 0 else -real
        parts = rounded_twice(real, *above), rounded_twice(turned, *below)
        return np.where(real >= 0, *parts) + result.zero_point

    return ops.table(value.tensor, byte_table(leaky))


def _sloped(value: Tensor, below: Tensor, gentle: bool) -> Tensor:
    """A number from 0 on, or what it is below 0: there greater than the number itself if gentle."""
    return ops.maximum(value, below) if gentle else ops.minimum(value, below)


@operator("PRELU", types="float32 int8 uint8 int16")
def prelu(node: Node) -> Tensor:
    """Elements from 0 on, others times a slope of their own."""
    value, slope, result = node[0], node[1], node.result
    if value.type is Type.FLOAT32:
        number, factor = aligned(value.tensor, slope.tensor)
        below = ops.mul(number, factor)
        if slope.is_constant and (np.all(slope.raw <= 1) or np.all(slope.raw >= 1)):
            return _sloped(number, below, bool(np.all(slope.raw <= 1)))
        return ops.select(ops.greater_equal(number, np.zeros((1,) * number.ndim, np.float32)), number, below)
    number, factor = aligned(centred(value), centred(slope))
    scales = ratio(value, result), ratio(value, result, slope.scale)
    above, below = (
        rescale(numbers, scale, result.dtype, output_zp=result.zero_point)
        for numbers, scale in zip((number, ops.mul(number, factor)), scales, strict=True)
    )
    return ops.select(ops.greater_equal(number, number_like(number, 0)), above, below)


@operator("HARD_SWISH", types="float32 int8 uint8")
def hard_swish(node: Node) -> Tensor:
    """Elements times a ramp that goes from 0 at -3 to 1 at 3."""
    value = node[0]
    if value.type is not Type.FLOAT32:
        return ops.table(value.tensor, byte_table(lambda numbers: _hard_swish(numbers, value, node.result)))
    ones = np.ones((1,) * value.rank, np.float32)
    ramp = ops.clamp(ops.add(value.tensor, ones * np.float32(3)), min_val=0.0, max_val=6.0)
    return ops.mul(ops.mul(value.tensor, ramp), ones / np.float32(6))


def _hard_swish(numbers: Array, value: Operand, result: Described) -> Array:
    """The fixed-point arithmetic of 16 bits that TFLite has for bytes."""
    fine_scale = np.float32(value.scale) * np.float32(1 / 128)
    outer, outer_shift = multiplier_of(float(fine_scale / np.float32(result.scale)), 16)
    inner, inner_shift = multiplier_of(float(fine_scale / np.float32(3 / 32768)), 16)
    right, left = outer_shift - 15, 15 - inner_shift
    if right < 0:
        raise Refused("its result has a scale that is more than 128 times as fine as that of its operand")
    fine = (numbers - value.zero_point) * 128
    ramp = _narrow(fine * 2 ** max(left - 1, 0))
    ramp = _narrow(_high_product(ramp, inner) * (2 if left > 0 else 1))
    ramp = _divided(ramp, max(-left, 0)) + (1 << 15) >> 1
    product = ramp * _high_product(fine, outer)
    found = _divided(np.where(product < 0, -(-product >> 15), product >> 15), right)
    offset = 128 if value.type is Type.UINT8 else 0  # the last sum wraps, in the file's numbers
    wrapped = (found + result.zero_point + offset).astype(np.int16)
    return wrapped.astype(np.int64) - offset


def _narrow(numbers: Array) -> Array:
    """Numbers saturated to 16 bits."""
    return np.clip(numbers, -32768, 32767)


def _high_product(numbers: Array, factor: int) -> Array:
    """The upper 16 bits of twice the products, rounded; halves go up."""
    return (numbers * factor + (1 << 14)) >> 15


def _divided(numbers: Array, bits: int) -> Array:
    """Numbers over a power of two, halves away from zero."""
    up: Array = np.abs(numbers) + (1 << bits >> 1) >> bits
    return np.where(numbers < 0, -up, up)
