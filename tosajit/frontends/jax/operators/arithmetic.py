"""Sums, products, quotients and their like, of the elements of tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.common import numbers
from tosajit.frontends.common.angles import angle
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.channels import convolved
from tosajit.frontends.common.division import quotient_of, remainder
from tosajit.frontends.common.numbers import constant
from tosajit.frontends.common.pooling import averaged
from tosajit.frontends.common.powers import integer_power, power_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.folding import folded
from tosajit.frontends.frame.narrow import low_bits, widened
from tosajit.frontends.jax.node import Node, Operand
from tosajit.frontends.jax.operators import NUMBERS, REAL, operator
from tosajit.tracing.tensor import Tensor

Two = Callable[[Tensor, Tensor], Tensor]


def _divided(first: Array, second: Array) -> Array:
    if first.dtype.kind in "iu":
        return np.trunc(first.astype(np.float64) / second).astype(first.dtype)
    return np.divide(first, second)


def _quotient(first: Tensor, second: Tensor) -> Tensor:
    return ops.intdiv(first, second) if first.dtype is INT32 else quotient_of(first, second)


_PLAIN: tuple[tuple[str, Two, Callable[[Array, Array], Array], str], ...] = (
    ("sub", ops.sub, np.subtract, "The difference of two tensors."),
    ("mul", lambda first, second: ops.mul(first, second), np.multiply, "The product of two tensors."),
    ("rem", remainder, np.fmod, "What is left of a quotient without its fraction."),
)
"""Primitives of two operands: names, what writes them, what folds them, and what they do."""


def _declare(names: str, write: Two, fold: Callable[[Array, Array], Array], summary: str) -> None:
    def plain(node: Node) -> Tensor:
        return write(*node.aligned)

    plain.__doc__ = summary
    operator(names, types=NUMBERS, fold=folded(fold))(widened(plain))


for _row in _PLAIN:
    _declare(*_row)


@operator("add add_any", types=NUMBERS, fold=folded(np.add))
@widened
def add(node: Node) -> Tensor:
    """The sum of two tensors; a constant for each channel is a bias of the convolution before."""
    for value, other in (node.operands, node.operands[::-1]):
        found = _of_channels(value, other)
        taken = None if found is None else convolved(value.tensor, None, *found)
        if taken is not None:
            return taken
    return ops.add(*node.aligned)


def _of_channels(value: Operand, other: Operand) -> tuple[Array, int] | None:
    """The numbers of a constant along the one dimension of a tensor where they differ, and which that is."""
    if not other.is_constant or value.is_constant or value.uses != 1 or not value.dtype.is_float:
        return None
    if other.rank != value.rank:
        return None
    raw = other.raw
    axes = [axis for axis in range(raw.ndim) if (raw != raw.take([0], axis)).any()] or [raw.ndim - 1]
    if len(axes) > 1 or raw.ndim == 0:
        return None
    (axis,) = axes
    line = raw[tuple(slice(None) if place == axis else 0 for place in range(raw.ndim))]
    return np.broadcast_to(line, value.shape[axis : axis + 1]).astype(np.float64), axis


@operator("div", types=NUMBERS, fold=folded(_divided))
@widened
def divide(node: Node) -> Tensor:
    """The quotient of two tensors; of integers without its fraction; of sums of windows their mean."""
    value, other = node.operands
    if other.is_constant and not value.is_constant and value.uses == 1 and value.dtype.is_float:
        found = averaged(value.tensor, other.raw)
        if found is not None:
            return found
    return _quotient(*node.aligned)


def _chosen(real: Two, of_truths: Two) -> Callable[[Node], Tensor]:
    def choose(node: Node) -> Tensor:
        first, second = node.aligned
        return (of_truths if node[0].type.label == "bool" else real)(first, second)

    return choose


@operator("max", types=f"{NUMBERS} bool", fold=folded(np.maximum))
@widened
def maximum(node: Node) -> Tensor:
    """The greater elements of two tensors."""
    return _chosen(ops.maximum, ops.logical_or)(node)


@operator("min", types=f"{NUMBERS} bool", fold=folded(np.minimum))
@widened
def minimum(node: Node) -> Tensor:
    """The lesser elements of two tensors."""
    return _chosen(ops.minimum, ops.logical_and)(node)


@operator("neg", types=NUMBERS, fold=folded(np.negative))
@widened
def neg(node: Node) -> Tensor:
    """The opposite."""
    return -node[0].tensor


@operator("abs", types=NUMBERS, fold=folded(np.abs))
@widened
def absolute(node: Node) -> Tensor:
    """The absolute value."""
    return ops.abs(node[0].tensor)


@operator("sign", types=NUMBERS, fold=folded(np.sign))
@widened
def sign(node: Node) -> Tensor:
    """1, 0 or -1."""
    value = node[0].tensor
    found = numbers.sign(value)
    if not value.dtype.is_float:
        return found
    return ops.select(ops.equal(value, value), found, value)


@operator("square", types=NUMBERS, fold=folded(np.square))
@widened
def square(node: Node) -> Tensor:
    """A number times itself."""
    value = node[0].tensor
    return ops.mul(value, value)


@operator("pow", types=NUMBERS)
def power(node: Node) -> Tensor:
    """The first tensor to the power of the second."""
    base, exponent = node.aligned
    if base.dtype.is_float:
        return power_of(base, numbers.typed(exponent, base.dtype))
    wide = [numbers.typed(one, INT32) for one in (base, exponent)]
    found = low_bits(integer_power(*wide), node[0].type)
    return found if found.dtype is base.dtype else ops.cast(found, dtype=base.dtype)


@dataclass(frozen=True, slots=True)
class PowerAttributes(Attributes):
    """The exponent."""

    y: int


@operator("integer_pow", PowerAttributes, types=NUMBERS)
@widened
def integer_pow(node: Node, options: PowerAttributes) -> Tensor:
    """A power whose exponent is a whole number that is known: by products, as JAX has it."""
    value, count = node[0].tensor, abs(options.y)
    if options.y < 0 and not value.dtype.is_float:
        raise Refused(f"integers to the power of {options.y} are none")
    found: Tensor | None = None
    while count:
        if count & 1:
            found = value if found is None else ops.mul(found, value)
        count >>= 1
        value = ops.mul(value, value) if count else value
    if found is None:
        return constant(value, 1)
    return ops.reciprocal(found) if options.y < 0 else found


@operator("atan2", types=REAL, fold=folded(np.arctan2))
def atan2(node: Node) -> Tensor:
    """The angle of points by their ordinates and abscissae."""
    y, x = node.aligned
    kind = y.dtype
    wide = [numbers.typed(one, FP32) for one in (y, x)]
    return numbers.typed(angle(*wide), kind)


def _clamped(least: Array, value: Array, most: Array) -> Array:
    return np.minimum(np.maximum(value, least), most)


@operator("clamp", types=NUMBERS, typed=1, fold=folded(_clamped))
@widened
def clamp(node: Node) -> Tensor:
    """Elements inside of two bounds, others as the nearest of them."""
    least, given, most = node.operands
    value = given.tensor
    if value.dtype.is_float and all(one.is_constant and one.raw.size == 1 for one in (least, most)):
        low, high = float(least.number), float(most.number)
        if low <= high:
            return ops.clamp(value, min_val=low, max_val=high)
    low_, value, high_ = aligned(least.tensor, value, most.tensor)
    return ops.minimum(ops.maximum(value, low_), high_)


@operator("is_finite", types=REAL, fold=folded(np.isfinite))
def is_finite(node: Node) -> Tensor:
    """Whether elements are numbers that are not infinite."""
    value = node[0].tensor
    return ops.greater(constant(value, inf), ops.abs(value))
