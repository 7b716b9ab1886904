"""Functions of one operand: by TOSA's operators in floating point, of integers by tables."""

from __future__ import annotations

from math import erfc, exp, floor, inf, log, pi, sqrt, tanh

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT8, INT16
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.quantized import tabled
from tosajit.frontends.common.scale import multiplier_of, rounded_twice
from tosajit.frontends.common.tables import byte_table
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Described, Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.operators.elementwise import in_float32
from tosajit.frontends.tflite.options import GeluOptions
from tosajit.frontends.tflite.sigmoid import sigmoid_of_words, tanh_of_words
from tosajit.graph import Array
from tosajit.tracing.tensor import Tensor

_CUBIC = 0.044715


@operator("TANH", types="float32 float16 int8 uint8 int16", versions=3)
def tanh_(node: Node) -> Tensor:
    """The hyperbolic tangent."""
    value = node[0]
    if not value.quantized:
        return in_float32(ops.tanh, value.tensor)
    if value.dtype is INT16:
        return tanh_of_words(value.tensor, value.scale)
    return tabled(value, node.result, tanh)


@operator("LOGISTIC", types="float32 float16 int8 uint8 int16", versions=3)
def logistic(node: Node) -> Tensor:
    """The sigmoid, one over one plus the exponential of the opposite."""
    value = node[0]
    if not value.quantized:
        return in_float32(ops.sigmoid, value.tensor)
    if value.dtype is INT16:
        return sigmoid_of_words(value.tensor, value.scale)
    return tabled(value, node.result, _sigmoid)


@operator("GELU", GeluOptions, types="float32 float16 int8 uint8 int16", versions=3)
def gelu(node: Node, options: GeluOptions) -> Tensor:
    """A number times the probability that a normal one is less."""
    value = node[0]
    if value.quantized:
        return tabled(value, node.result, _gelu_by_tanh if options.approximate else _gelu)
    tensor = value.tensor
    half = tensor * number(tensor, 0.5)
    if options.approximate:
        cube = tensor * (tensor * tensor) * number(tensor, _CUBIC)
        inner = in_float32(ops.tanh, (tensor + cube) * number(tensor, sqrt(2 / pi)))
        return half * (inner + number(tensor, 1.0))
    return half * in_float32(_one_and_erf, tensor * number(tensor, sqrt(0.5)))


def _one_and_erf(value: Tensor) -> Tensor:
    """One and the error function: numbers of 16 bits are counted in their own, but this."""
    return ops.add(ops.erf(value), number(value, 1.0))


@operator("RSQRT", types="float32 int8 int16", versions=3)
def rsqrt(node: Node) -> Tensor:
    """One over the square root."""
    value, result = node[0], node.result
    if not value.quantized:
        return ops.rsqrt(value.tensor)
    if value.dtype is INT8:
        return ops.table(value.tensor, byte_table(lambda numbers: _rsqrt_of_bytes(numbers, value, result)))
    return tabled(value, result, lambda real: 1 / sqrt(real) if real > 0 else inf)


def _rsqrt_of_bytes(numbers: Array, operand: Operand, result: Described) -> Array:
    """By TFLite's fixed-point arithmetic: 20 bits of fraction, then the scale."""
    roots = [
        floor((1 << 20) / sqrt(number) + 0.5) if number > 0 else 0 for number in numbers - operand.zero_point
    ]
    multiplier, shift = multiplier_of(1 / (sqrt(operand.scale) * result.scale))
    scaled = rounded_twice(np.array(roots), multiplier, shift + 20) + result.zero_point
    return np.where(numbers > operand.zero_point, scaled, 127)


@operator("EXP", types="float32 int8 int16", versions=2)
def exp_(node: Node) -> Tensor:
    """The exponential."""
    value = node[0]
    return tabled(value, node.result, _power) if value.quantized else ops.exp(value.tensor)


@operator("LOG", types="float32 int8 int16", versions=2)
def log_(node: Node) -> Tensor:
    """The natural logarithm."""
    value = node[0]
    if value.quantized:
        return tabled(value, node.result, lambda real: log(real) if real > 0 else -inf)
    return ops.log(value.tensor)


def _power(number: float) -> float:
    return exp(number) if number < 88 else inf


def _sigmoid(number: float) -> float:
    return 1 / (1 + exp(-number)) if number > -88 else 0.0


def _gelu(number: float) -> float:
    value = np.float32(number)
    both = np.float32(erfc(float(value * np.float32(-sqrt(0.5)))))
    return float(np.float32(0.5) * value * both)


def _gelu_by_tanh(number: float) -> float:
    value = np.float32(number)
    inner = np.float32(sqrt(2 / pi)) * (value + np.float32(_CUBIC) * (value * (value * value)))
    return float(np.float32(0.5) * value * (np.float32(1) + np.float32(tanh(float(inner)))))
