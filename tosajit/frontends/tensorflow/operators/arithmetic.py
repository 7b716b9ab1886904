"""Sums, products, quotients and their like, of the elements of two tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT32
from tosajit.frontends.common import numbers
from tosajit.frontends.common.broadcast import aligned, expanded
from tosajit.frontends.common.channels import convolved
from tosajit.frontends.common.division import floored, quotient_of, truncated
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.powers import integer_power, power_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.folding import folded
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.tensorflow.node import Complex, Node, Operand
from tosajit.frontends.tensorflow.operators import NARROW, NUMBERS, REAL, WHOLE, operator
from tosajit.tracing.tensor import Tensor


@operator("Add AddV2", types=f"{NUMBERS} {NARROW} complex64", fold=folded(np.add))
@widened
def add(node: Node) -> Tensor | Complex:
    """The sum of two tensors; a constant for each channel is a bias of the convolution before."""
    if node[0].is_complex:
        return _by_halves(ops.add, node)
    for value, other in (node.operands, node.operands[::-1]):
        found = _by_channels(value, other)
        if found is not None:
            taken = convolved(value.tensor, None, found)
            if taken is not None:
                return taken
    return ops.add(*node.aligned)


@operator("AddN", types=f"{NUMBERS} {NARROW}", fold=folded(lambda *arrays: reduce(np.add, arrays)))
@widened
def add_n(node: Node) -> Tensor:
    """The sum of tensors of one shape."""
    return reduce(ops.add, node.tensors)


def _by_halves(function: Callable[[Tensor, Tensor], Tensor], node: Node) -> Complex:
    return Complex(*(function(*_pair(*both)) for both in zip(node[0].halves, node[1].halves, strict=True)))


@operator("Sub", types=f"{NUMBERS} {NARROW} complex64", fold=folded(np.subtract))
@widened
def sub(node: Node) -> Tensor | Complex:
    """The difference of two tensors."""
    if node[0].is_complex:
        return _by_halves(ops.sub, node)
    return ops.sub(*node.aligned)


@operator("Mul", types=f"{NUMBERS} {NARROW} complex64", fold=folded(np.multiply))
@widened
def mul(node: Node) -> Tensor | Complex:
    """The product of two tensors; a constant for each channel is a factor of the convolution before."""
    if node[0].is_complex:
        return _complex_product(node)
    for value, other in (node.operands, node.operands[::-1]):
        found = _by_channels(value, other)
        if found is not None:
            taken = convolved(value.tensor, found, np.zeros_like(found))
            if taken is not None:
                return taken
    first, second = node.aligned
    return ops.mul(first, second)


def _complex_product(node: Node) -> Complex:
    real, imag, other, turned = aligned(*node[0].halves, *node[1].halves)
    return Complex(
        ops.sub(ops.mul(real, other), ops.mul(imag, turned)),
        ops.add(ops.mul(real, turned), ops.mul(imag, other)),
    )


def _by_channels(value: Operand, other: Operand) -> Array | None:
    """The numbers of a constant, one for each channel of a tensor that nothing else uses."""
    channels = value.shape[-1:]
    if value.is_constant or not other.is_constant or value.uses != 1 or not value.dtype.is_float:
        return None
    if other.shape[-1:] != channels or other.raw.size != channels[0] or other.rank > value.rank:
        return None
    return other.raw.reshape(-1).astype(np.float64)


@operator("MulNoNan", types=REAL)
def mul_no_nan(node: Node) -> Tensor:
    """The product of two tensors; zero where the second is, whatever the first is."""
    first, second = node.aligned
    return ops.select(ops.equal(second, number(second, 0)), number(second, 0), ops.mul(first, second))


@operator("RealDiv", types=REAL, fold=folded(np.divide))
def real_div(node: Node) -> Tensor:
    """The quotient of two tensors: the first times one over the second."""
    return quotient_of(*_pair(*node.tensors))


def _pair(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    left, right = aligned(first, second)
    return left, right


@operator("Div", types=f"{NUMBERS} {NARROW}")
@widened
def div(node: Node) -> Tensor:
    """The quotient of two tensors; of integers without its fraction."""
    return ops.intdiv(*node.aligned) if node[0].dtype is INT32 else real_div(node)


@operator("DivNoNan", types=REAL)
def div_no_nan(node: Node) -> Tensor:
    """The quotient of two tensors; zero where the second is."""
    first, second = node.aligned
    return ops.select(ops.equal(second, number(second, 0)), number(second, 0), quotient_of(first, second))


@operator("Xdivy", types=REAL)
def xdivy(node: Node) -> Tensor:
    """The quotient of two tensors; zero where the first is."""
    first, second = node.aligned
    return ops.select(ops.equal(first, number(first, 0)), number(first, 0), quotient_of(first, second))


@operator("FloorDiv", types=f"{NUMBERS} {NARROW}", fold=folded(np.floor_divide))
@widened
def floor_div(node: Node) -> Tensor:
    """The greatest whole numbers that are not above the quotient of two tensors."""
    return floored(*_pair(*node.tensors))[0]


@operator("FloorMod", types=f"{NUMBERS} {NARROW}", fold=folded(np.mod))
@widened
def floor_mod(node: Node) -> Tensor:
    """What is left of the first tensor, with the sign of the second."""
    return floored(*_pair(*node.tensors))[1]


def _truncated(first: Array, second: Array) -> Array:
    return np.asarray(np.trunc(np.divide(first, second))).astype(first.dtype)


@operator("TruncateDiv", types=f"{WHOLE} {NARROW}", fold=folded(_truncated))
@widened
def truncate_div(node: Node) -> Tensor:
    """The quotient of two tensors without its fraction."""
    return ops.intdiv(*node.aligned)


@operator("Mod TruncateMod", types=NUMBERS, fold=folded(np.fmod))
def truncate_mod(node: Node) -> Tensor:
    """What is left of the first tensor, with its sign."""
    first, second = _pair(*node.tensors)
    return ops.sub(first, ops.mul(truncated(first, second), second))


@operator("Pow", types=f"{NUMBERS} int8 int16", fold=folded(np.power))
@widened
def power(node: Node) -> Tensor:
    """The first tensor to the power of the second."""
    first, second = _pair(*node.tensors)
    if node[1].is_constant and np.all(node[1].raw == 2):
        return expanded(ops.mul(first, first), np.broadcast_shapes(first.shape, second.shape))
    if first.dtype is INT32:
        return integer_power(first, second)
    return power_of(first, second)


@operator(
    "SquaredDifference",
    types=f"{NUMBERS} {NARROW}",
    fold=folded(lambda one, other: (one - other) * (one - other)),
)
@widened
def squared_difference(node: Node) -> Tensor:
    """The square of the difference of two tensors."""
    difference = ops.sub(*node.aligned)
    return ops.mul(difference, difference)


@dataclass(frozen=True, slots=True)
class BiasAttributes(Attributes):
    """Where channels are."""

    data_format: str = "NHWC"


@operator("BiasAdd BiasAddV1", BiasAttributes, types=f"{NUMBERS} {NARROW}")
@widened
def bias_add(node: Node, options: BiasAttributes) -> Tensor:
    """A number for each channel is added."""
    value, bias = node.tensors
    if bias.ndim != 1:
        raise Refused(f"its bias has {bias.ndim} dimensions, but must have one")
    is_last = not options.data_format.startswith("NC")
    if node[1].is_constant and node[0].uses == 1 and is_last:
        found = convolved(value, None, node[1].raw.astype(np.float64))
        if found is not None:
            return found
    behind = 0 if is_last else value.ndim - 2
    return ops.add(*_pair(value, reshaped(bias, (*bias.shape, *(1,) * behind))))


@operator("Square", types=f"{NUMBERS} {NARROW}", fold=folded(np.square))
@widened
def square(node: Node) -> Tensor:
    """The square."""
    return ops.mul(node[0].tensor, node[0].tensor)


@operator("Neg", types=f"{NUMBERS} {NARROW}", fold=folded(np.negative))
@widened
def neg(node: Node) -> Tensor:
    """The opposite."""
    return -node[0].tensor


@operator("Abs", types=f"{NUMBERS} {NARROW}", fold=folded(np.abs))
@widened
def absolute(node: Node) -> Tensor:
    """The absolute value."""
    return ops.abs(node[0].tensor)


@operator("Sign", types=f"{NUMBERS} {NARROW}", fold=folded(np.sign))
@widened
def sign(node: Node) -> Tensor:
    """1, 0 or -1."""
    return numbers.sign(node[0].tensor)


@operator("Maximum", types=f"{NUMBERS} {NARROW}", fold=folded(np.maximum))
@widened
def maximum(node: Node) -> Tensor:
    """The greater elements of two tensors."""
    return ops.maximum(*node.aligned)


@operator("Minimum", types=f"{NUMBERS} {NARROW}", fold=folded(np.minimum))
@widened
def minimum(node: Node) -> Tensor:
    """The lesser elements of two tensors."""
    return ops.minimum(*node.aligned)


@operator("ClipByValue", types=f"{NUMBERS} {NARROW}")
@widened
def clip_by_value(node: Node) -> Tensor:
    """Elements inside of two bounds, others as the nearest of them."""
    value, low, high = node.aligned
    return ops.maximum(ops.minimum(value, high), low)


@operator("Xlogy", types=REAL)
def xlogy(node: Node) -> Tensor:
    """The first tensor times the logarithm of the second; zero where the first is."""
    first, second = node.aligned
    return ops.select(ops.equal(first, number(first, 0)), number(first, 0), ops.mul(first, ops.log(second)))
