"""Reductions: one number in place of all along some dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, frexp, prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, INT32
from tosajit.frontends.common.layout import part, reshaped, transposed
from tosajit.frontends.common.quantized import centred
from tosajit.frontends.common.reduce import axes_of, place_of_greatest, product, reduced, shape_without
from tosajit.frontends.common.scale import multiplier_of, number_like, scaled, wide
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import ArgOptions, ReducerOptions
from tosajit.frontends.tflite.quantized import finished
from tosajit.frontends.tflite.schema import Type
from tosajit.operators import RoundingMode
from tosajit.tracing.tensor import Tensor

_TYPES = "float32 int8 uint8 int16 int32 int64"
_FACTORS = 1024
"""How many quantised numbers are multiplied: there are three operators for each."""


def folded(function: Callable[..., Array]) -> Callable[[Node], Array | None]:
    """Compute integers that follow from constants, such as a number of elements, when the model is read."""

    def fold(node: Node) -> Array | None:
        value = node[0]
        if value.quantized or value.raw.dtype.kind not in "iub":
            return None
        axes = axes_of(node[1].ints, value.rank)
        found = function(value.raw, axis=axes, keepdims=node.attributes(ReducerOptions).keep_dims)
        return np.asarray(found, value.raw.dtype)

    return fold


@operator("MEAN", ReducerOptions, types=_TYPES, versions=3)
def mean(node: Node, options: ReducerOptions) -> Tensor:
    """The mean along dimensions."""
    value, result = node[0], node.result
    axes = axes_of(node[1].ints, value.rank)
    count = prod(value.shape[axis] for axis in axes)
    total = _sum(value, axes, options.keep_dims)
    if value.quantized:
        pair = _mean_pair(float(np.float32(value.scale)) / float(np.float32(result.scale)), count)
        return scaled(
            _less(total, value.zero_point * count), [pair], result.dtype,
            output_zp=result.zero_point, rounding=RoundingMode.DOUBLE_ROUND,
        )  # fmt: skip
    if total.dtype is INT32:
        return ops.intdiv(total, number_like(total, max(count, 1)))
    return ops.mul(total, np.full((1,) * total.ndim, 1 / max(count, 1), np.float32))


@operator("SUM", ReducerOptions, types=f"{_TYPES} bool", versions=2, fold=folded(np.sum))
def total(node: Node, options: ReducerOptions) -> Tensor:
    """The sum along dimensions."""
    value, result = node[0], node.result
    if value.dtype is BOOL:  # whose sum is a truth as well
        return _reduced(node, options, _any)
    axes = axes_of(node[1].ints, value.rank)
    found = _sum(value, axes, options.keep_dims)
    if not value.quantized:
        return found
    count = prod(value.shape[axis] for axis in axes)
    scale = float(value.scale) / float(result.scale)
    rounding = RoundingMode.DOUBLE_ROUND if value.type is Type.UINT8 else RoundingMode.SINGLE_ROUND
    return finished(_less(found, value.zero_point * count), scale, result, rounding=rounding)


@operator("REDUCE_MAX", ReducerOptions, types=f"{_TYPES} bool", versions=3, fold=folded(np.max))
def reduce_max(node: Node, options: ReducerOptions) -> Tensor:
    """The greatest element along dimensions."""
    return _reduced(node, options, _greatest)


@operator("REDUCE_MIN", ReducerOptions, types=f"{_TYPES} bool", versions=3, fold=folded(np.min))
def reduce_min(node: Node, options: ReducerOptions) -> Tensor:
    """The least element along dimensions."""
    return _reduced(node, options, _least)


@operator("REDUCE_ANY", ReducerOptions, types="bool", versions=2, fold=folded(np.any))
def reduce_any(node: Node, options: ReducerOptions) -> Tensor:
    """Whether any element along dimensions is true."""
    return _reduced(node, options, _any)


@operator("REDUCE_ALL", ReducerOptions, types="bool", fold=folded(np.all))
def reduce_all(node: Node, options: ReducerOptions) -> Tensor:
    """Whether all elements along dimensions are true."""
    return _reduced(node, options, _all)


@operator("REDUCE_PROD", ReducerOptions, types="float32 int8 int16 int32 int64 bool", versions=2,
          fold=folded(np.prod))  # fmt: skip
def reduce_prod(node: Node, options: ReducerOptions) -> Tensor:
    """The product along dimensions."""
    if node[0].quantized:
        return _scaled_product(node, options)
    return _reduced(node, options, _all if node[0].dtype is BOOL else product)


def _scaled_product(node: Node, options: ReducerOptions) -> Tensor:
    """The product of quantised numbers, one after the other: it is scaled behind each of them."""
    value, result = node[0], node.result
    axes = axes_of(node[1].ints, value.rank)
    kept = [axis for axis in range(value.rank) if axis not in axes]
    count = max(prod(value.shape[axis] for axis in axes), 1)
    if count > _FACTORS:
        raise Refused(f"it multiplies {count} numbers one after the other, but may at most {_FACTORS}")
    scale = (float(value.scale) ** count / float(result.scale)) ** (1 / count)
    multiplier, shift = multiplier_of(scale, 16)
    pair = multiplier << 16, shift + 16
    rows = reshaped(transposed(centred(value), [*kept, *axes]), (-1, count))
    found = part(rows, 1, 0, 1)
    reach = most = max(abs(bound - value.zero_point) for bound in value.bounds)
    for place in range(1, count):
        if reach * most >= min(1 << (pair[1] - 1), 1 << 31):
            raise Refused(f"products of {place + 1} of its {count} numbers do not fit in 32 bits")
        reach = int(reach * most * scale) + 1
        found = scaled(ops.mul(found, part(rows, 1, place, 1)), [pair], INT32)
    total = scaled(found, [pair], result.dtype, output_zp=result.zero_point)
    return reshaped(total, shape_without(value.shape, axes, options.keep_dims))


@operator("ARG_MAX", ArgOptions, types="float32 int8 uint8 int32 bool", versions=3)
def arg_max(node: Node, options: ArgOptions) -> Tensor:
    """The place of the greatest element along a dimension, the first of them."""
    return place_of_greatest(node[0].tensor, _axis(node))


@operator("ARG_MIN", ArgOptions, types="float32 int8 uint8 int32 bool", versions=3)
def arg_min(node: Node, options: ArgOptions) -> Tensor:
    """The place of the least element along a dimension, the first of them."""
    value = node[0]
    turned = ~value.tensor if value.type.label != "float32" else -value.tensor
    return place_of_greatest(turned, _axis(node))


def _greatest(value: Tensor, axis: int) -> Tensor:
    return _any(value, axis) if value.dtype is BOOL else ops.reduce_max(value, axis=axis)


def _least(value: Tensor, axis: int) -> Tensor:
    return _all(value, axis) if value.dtype is BOOL else ops.reduce_min(value, axis=axis)


def _any(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_any(value, axis=axis)


def _all(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_all(value, axis=axis)


def _reduced(node: Node, options: ReducerOptions, reduce: Callable[[Tensor, int], Tensor]) -> Tensor:
    value = node[0]
    return reduced(reduce, value.tensor, axes_of(node[1].ints, value.rank), options.keep_dims)


def _sum(value: Operand, axes: Sequence[int], keep: bool) -> Tensor:
    """The sum of numbers as they are stored; integers are widened first."""
    tensor = wide(value.tensor) if value.quantized else value.tensor
    return reduced(lambda one, axis: ops.reduce_sum(one, axis=axis), tensor, axes, keep)


def _less(value: Tensor, number: int) -> Tensor:
    return ops.sub(value, number_like(value, number)) if number else value


def _mean_pair(scale: float, count: int) -> tuple[int, int]:
    """The multiplier of a scale over a count: all bits of it that fit are taken before the division."""
    mantissa, exponent = frexp(scale)
    multiplier = floor(mantissa * 2**31 + 0.5)
    bits = min(count.bit_length() - 1, 32, 31 + exponent)
    return (multiplier << bits) // count, 31 - exponent + bits


def _axis(node: Node) -> int:
    (axis,) = axes_of(node[1].ints, node[0].rank)
    return axis
