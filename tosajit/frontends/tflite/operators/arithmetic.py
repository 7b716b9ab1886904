"""Sums, differences and products of two tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.quantized import combined, multiplied, raised
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import AddOptions, FusedOptions
from tosajit.frontends.tflite.quantized import activated, clamped, finished
from tosajit.tracing.tensor import Tensor

_TYPES = "float32 int8 uint8 int16 int32 int64"


def folded(function: Callable[..., Any]) -> Callable[[Node], Array | None]:
    """Compute integers that follow from constants, such as shapes, when the model is read."""

    def fold(node: Node) -> Array | None:
        arrays = [operand.raw for operand in node.inputs]
        if any(operand.quantized or operand.raw.dtype.kind not in "iub" for operand in node.inputs):
            return None
        return np.asarray(function(*arrays))

    return fold


@operator("ADD", AddOptions, types=f"float16 {_TYPES}", versions=5, fold=folded(np.add))
def add(node: Node, options: AddOptions) -> Tensor:
    """The sum of two tensors."""
    return _sum(node, options, ops.add)


@operator("SUB", AddOptions, types=_TYPES, versions=5, fold=folded(np.subtract))
def sub(node: Node, options: AddOptions) -> Tensor:
    """The difference of two tensors."""
    return _sum(node, options, ops.sub)


def _sum(node: Node, options: AddOptions, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    first, second, result = node[0], node[1], node.result
    activation = options.fused_activation_function
    if not first.quantized:
        return activated(combine(*aligned(first.tensor, second.tensor)), activation)
    return clamped(combined((first, second), result, combine), result, activation)


@operator("MUL", FusedOptions, types=f"float16 {_TYPES}", versions=7, fold=folded(np.multiply))
def mul(node: Node, options: FusedOptions) -> Tensor:
    """The product of two tensors."""
    first, second, result = node[0], node[1], node.result
    activation = options.fused_activation_function
    if not first.quantized:
        return activated(ops.mul(*aligned(first.tensor, second.tensor)), activation)
    return clamped(multiplied(first, second, result), result, activation)


@operator("SQUARED_DIFFERENCE", types="float32 int8 int32", versions=2)
def squared_difference(node: Node) -> Tensor:
    """The square of the difference of two tensors."""
    first, second, result = node[0], node[1], node.result
    if not first.quantized:
        difference = ops.sub(*aligned(first.tensor, second.tensor))
        return ops.mul(difference, difference)
    bits = 7
    unit = 2.0 * max(first.scale, second.scale)
    difference = ops.sub(*aligned(*(raised(one, one.scale / unit, bits) for one in (first, second))))
    return finished(ops.mul(difference, difference), unit * unit / ((1 << 2 * bits) * result.scale), result)


@operator("ADD_N", types="float32 int32")
def add_n(node: Node) -> Tensor:
    """The sum of tensors of one shape."""
    return reduce(ops.add, (operand.tensor for operand in node.inputs))
