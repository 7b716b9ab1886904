"""Sums, products, quotients and their like, of the elements of tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import inf, prod
from typing import Any

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.common import division, numbers
from tosajit.frontends.common.broadcast import aligned, expanded
from tosajit.frontends.common.division import floored, quotient_of, remainder
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.powers import integer_power, power_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.folding import folded
from tosajit.frontends.frame.narrow import low_bits, widened
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import NARROW, NUMBERS, REAL, operator
from tosajit.tracing.tensor import Tensor

_ALL = f"{NUMBERS} {NARROW}"
_ROUNDING = frozenset({"Ceil", "Floor", "Round"})
"""Operators for which the last bit of a quotient can be a whole step."""


@operator("Add", types=_ALL, fold=folded(np.add))
@widened
def add(node: Node) -> Tensor:
    """The sum of two tensors."""
    return ops.add(*node.aligned)


@operator("Sub", types=_ALL, fold=folded(np.subtract))
@widened
def sub(node: Node) -> Tensor:
    """The difference of two tensors."""
    return ops.sub(*node.aligned)


@operator("Mul", types=_ALL, fold=folded(np.multiply))
@widened
def mul(node: Node) -> Tensor:
    """The product of two tensors."""
    first, second = node.aligned
    return ops.mul(first, second)


def divided(first: Array, second: Array) -> Array:
    """A quotient; that of integers without its fraction, and exact."""
    if first.dtype.kind not in "iu":
        return np.divide(first, second)
    below = np.floor_divide(first, second)
    is_up = ((first < 0) != (second < 0)) & (below * second != first)
    return np.asarray(below + is_up, first.dtype)


@operator("Div", types=_ALL, fold=folded(divided))
@widened
def div(node: Node) -> Tensor:
    """The quotient of two tensors; of integers without its fraction."""
    first, second = node.aligned
    if first.dtype is INT32:
        return ops.intdiv(first, second)
    is_single = prod(first.shape) * prod(second.shape) == 1
    exactly = first.dtype is FP32 and (is_single or node.takers <= _ROUNDING)
    return (division.divided if exactly else quotient_of)(first, second)


@dataclass(frozen=True, slots=True)
class ModAttributes(Attributes):
    """Whether what is left has the sign of the first operand, as in C."""

    fmod: bool = False


def _left(node: Node) -> Array:
    options = node.attributes(ModAttributes)
    return np.asarray((np.fmod if options.fmod else np.mod)(node[0].raw, node[1].raw))


@operator("Mod", ModAttributes, types=_ALL, fold=_left)
@widened
def mod(node: Node, options: ModAttributes) -> Tensor:
    """What is left of the first tensor over the second."""
    first, second = node.aligned
    if options.fmod:
        return remainder(first, second)
    rest = floored(first, second)[1]
    if not first.dtype.is_float:
        return rest
    below = ops.logical_xor(numbers.is_negative(first), numbers.is_negative(second))
    turned = ops.logical_and(below, numbers.is_not_zero(first))
    is_endless = ops.equal(ops.abs(second), number(second, inf))
    return ops.select(is_endless, ops.select(turned, second, first), rest)


def _to_power(node: Node) -> Array:
    return np.power(node[0].raw, node[1].raw).astype(node[0].raw.dtype)


@operator("Pow", types=_ALL, fold=_to_power)
def power(node: Node) -> Tensor:
    """The first tensor to the power of the second."""
    base, exponent = node[0], node[1]
    if exponent.is_constant and np.all(exponent.raw == 2):
        shape = np.broadcast_shapes(base.shape, exponent.shape)
        first = base.tensor
        return expanded(ops.mul(first, first), shape)
    if base.dtype is INT32:
        return low_bits(integer_power(*aligned(base.tensor, _typed(exponent, base))), base.type)
    return power_of(*aligned(base.tensor, _typed(exponent, base)))


def _typed(value: Operand, like: Operand) -> Tensor:
    """An operand in the type of another one."""
    if value.is_constant:
        return like.trace.constant(value.raw.astype(like.dtype.storage), like.dtype)
    if value.dtype is like.dtype:
        return value.tensor
    if like.dtype.is_float:
        return ops.cast(value.tensor, dtype=like.dtype)
    raise Refused(f"its exponents are {value.type.label}, but its bases {like.type.label}")


def _variadic(function: Callable[..., Any]) -> Callable[..., Any]:
    return folded(lambda *arrays: reduce(function, arrays))


@operator("Sum", types=_ALL, fold=_variadic(np.add))
@widened
def sum_(node: Node) -> Tensor:
    """The sum of tensors."""
    return reduce(ops.add, node.aligned)


@operator("Mean", types=REAL)
def mean(node: Node) -> Tensor:
    """The mean of tensors."""
    total = reduce(ops.add, node.aligned)
    return ops.mul(total, number(total, 1 / len(node.given)))


@operator("Max", types=_ALL, fold=_variadic(np.maximum))
@widened
def maximum(node: Node) -> Tensor:
    """The greatest elements of tensors."""
    return reduce(ops.maximum, node.aligned)


@operator("Min", types=_ALL, fold=_variadic(np.minimum))
@widened
def minimum(node: Node) -> Tensor:
    """The least elements of tensors."""
    return reduce(ops.minimum, node.aligned)


@operator("Neg", types=_ALL, fold=folded(np.negative))
@widened
def neg(node: Node) -> Tensor:
    """The opposite."""
    return -node[0].tensor


@operator("Abs", types=_ALL, fold=folded(np.abs))
@widened
def absolute(node: Node) -> Tensor:
    """The absolute value."""
    return ops.abs(node[0].tensor)


@operator("Sign", types=_ALL, fold=folded(np.sign))
@widened
def sign(node: Node) -> Tensor:
    """1, 0 or -1."""
    return numbers.sign(node[0].tensor)


@dataclass(frozen=True, slots=True)
class ClipAttributes(Attributes):
    """Bounds: operands in later versions."""

    min: float | None = None
    max: float | None = None


def _clipped(node: Node) -> Array:
    options, value = node.attributes(ClipAttributes), node[0].raw
    low, high = node.optional(1), node.optional(2)
    least = options.min if low is None else low.raw
    most = options.max if high is None else high.raw
    value = value if least is None else np.maximum(value, least)
    return np.asarray(value if most is None else np.minimum(value, most), node[0].raw.dtype)


@operator("Clip", ClipAttributes, types=_ALL, fold=_clipped)
@widened
def clip(node: Node, options: ClipAttributes) -> Tensor:
    """Elements inside of two bounds, others as the nearest of them."""
    value = node[0].tensor
    low, high = node.optional(1), node.optional(2)
    if value.dtype.is_float and all(one is None or one.is_constant for one in (low, high)):
        least = (-inf if options.min is None else options.min) if low is None else float(low.number)
        most = (inf if options.max is None else options.max) if high is None else float(high.number)
        if least <= most:
            return ops.clamp(value, min_val=least, max_val=most)
        return expanded(ops.const(number(value, most)), value.shape)
    if low is not None:
        value = ops.maximum(*aligned(value, low.tensor))
    if high is not None:
        value = ops.minimum(*aligned(value, high.tensor))
    return value
