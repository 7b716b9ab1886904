"""Sums, products, quotients and their like, of the elements of tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import inf
from typing import Any

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT32
from tosajit.frontends.common import numbers
from tosajit.frontends.common.broadcast import aligned, expanded
from tosajit.frontends.common.division import floored, quotient_of, remainder, truncated
from tosajit.frontends.common.layout import part, small
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.powers import integer_power, power_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import NARROW, NUMBERS, REAL, operator
from tosajit.frontends.torch.records import Type
from tosajit.tracing.tensor import Tensor

ALL = f"{NUMBERS} {NARROW} bool float64"
"""Truths are numbers where the result has some; what is known beforehand may be float64."""

Write = Callable[[Node], Tensor]


def elementwise(
    names: str, fold: Callable[..., Any] | None = None, *, types: str = ALL
) -> Callable[[Write], Write]:
    """Declare operators whose operands become the type of the result."""

    def declare(write: Write) -> Write:
        @wraps(write)
        def lower(node: Node) -> Tensor:
            return _expanded(node, widened(write)(in_type(node, node.type)))

        def folded(node: Node) -> Array | None:
            return None if fold is None else fold_elements(fold, node, node.type)

        operator(names, types=types, fold=folded)(lower)
        return write

    return declare


def in_type(node: Node, kind: Type) -> Node:
    """A node whose operands have a type."""
    return replace(node, operands=tuple(one.typed(kind) for one in node.operands))


def fold_elements(fold: Callable[..., Any], node: Node, kind: Type) -> Array | None:
    """The elements of a result that is not much larger than the operands, all of which are known."""
    arrays = [one.typed(kind).raw for one in node.operands]
    if not small(node.shape) and max(one.size for one in arrays) < np.prod(node.shape):
        return None
    return np.asarray(np.broadcast_to(fold(*arrays), node.shape))


def _expanded(node: Node, found: Tensor) -> Tensor:
    return expanded(found, node.shape) if len(found.shape) == len(node.shape) else found


def _scaled(node: Node) -> list[Tensor]:
    """Two operands, the second one times `alpha`."""
    first, second = node.aligned
    factor = node.given("alpha", 1)
    return [first, second if factor == 1 else ops.mul(second, number(second, factor))]


def _folded_sum(sign: int) -> Callable[[Node], Array | None]:
    def fold(node: Node) -> Array | None:
        factor = sign * node.given("alpha", 1)
        return fold_elements(lambda one, other: one + other * one.dtype.type(factor), node, node.type)

    return fold


def _summed(names: str, fold: Callable[[Node], Array | None], write: Write) -> None:
    @wraps(write)
    def lower(node: Node) -> Tensor:
        return widened(write)(in_type(node, node.type))  # type: ignore[no-any-return]

    operator(names, types=ALL, fold=fold)(lower)


def _add(node: Node) -> Tensor:
    """The sum of two tensors, the second times a factor."""
    if node.type is Type.BOOL:
        return ops.logical_or(*node.aligned)
    return ops.add(*_scaled(node))


def _sub(node: Node) -> Tensor:
    """The difference of two tensors, the second times a factor."""
    return ops.sub(*_scaled(node))


_summed("aten.add.Tensor aten.add.Scalar", _folded_sum(1), _add)
_summed("aten.sub.Tensor aten.sub.Scalar", _folded_sum(-1), _sub)


@elementwise("aten.rsub.Scalar aten.rsub.Tensor", lambda one, other: other - one)
def rsub(node: Node) -> Tensor:
    """The second tensor less the first."""
    first, second = node.aligned
    factor = node.given("alpha", 1)
    return ops.sub(second, first if factor == 1 else ops.mul(first, number(first, factor)))


@elementwise("aten.mul.Tensor aten.mul.Scalar aten.multiply.Tensor", np.multiply)
def mul(node: Node) -> Tensor:
    """The product of two tensors."""
    if node.type is Type.BOOL:
        return ops.logical_and(*node.aligned)
    first, second = node.aligned
    return ops.mul(first, second)


@elementwise("aten.div.Tensor aten.div.Scalar aten.true_divide.Tensor aten.divide.Tensor", np.divide)
def div(node: Node) -> Tensor:
    """The quotient of two tensors."""
    first, second = node.aligned
    return quotient_of(first, second)


@elementwise("aten.div.Tensor_mode aten.div.Scalar_mode")
def div_mode(node: Node) -> Tensor:
    """The quotient of two tensors, also as a whole number."""
    first, second = node.aligned
    match node.given("rounding_mode"):
        case None:
            return quotient_of(first, second)
        case "floor":
            return floored(first, second)[0]
        case "trunc":
            return truncated(first, second)
    raise Refused(f"its rounding mode {node.given('rounding_mode')!r} is not known")


@elementwise("aten.floor_divide.default aten.floor_divide.Scalar", np.floor_divide)
def floor_divide(node: Node) -> Tensor:
    """The quotient of two tensors as a whole number downwards."""
    first, second = node.aligned
    return floored(first, second)[0]


@elementwise("aten.remainder.Tensor aten.remainder.Scalar aten.remainder.Scalar_Tensor", np.mod)
def modulo(node: Node) -> Tensor:
    """What is left of the first tensor over the second, with the sign of the second."""
    first, second = node.aligned
    return floored(first, second)[1]


@elementwise("aten.fmod.Tensor aten.fmod.Scalar", np.fmod)
def fmod(node: Node) -> Tensor:
    """What is left of the first tensor over the second, with the sign of the first."""
    first, second = node.aligned
    return remainder(first, second)


@elementwise("aten.pow.Tensor_Tensor aten.pow.Tensor_Scalar aten.pow.Scalar", np.power)
def power(node: Node) -> Tensor:
    """The first tensor to the power of the second."""
    base, exponent = node.operands
    if exponent.is_constant and np.all(exponent.raw == 2):
        return ops.mul(base.tensor, base.tensor)
    if exponent.is_constant and exponent.type.is_float and np.all(exponent.raw == 0.5):
        return ops.reciprocal(ops.rsqrt(base.tensor))
    if exponent.is_constant and exponent.type.is_float and np.all(exponent.raw == 3):
        return ops.mul(ops.mul(base.tensor, base.tensor), base.tensor)
    first, second = node.aligned
    return integer_power(first, second) if first.dtype is INT32 else power_of(first, second)


@elementwise("aten.maximum.default aten.max.other", np.maximum)
def maximum(node: Node) -> Tensor:
    """The greater elements of two tensors."""
    return ops.maximum(*node.aligned)


@elementwise("aten.minimum.default aten.min.other", np.minimum)
def minimum(node: Node) -> Tensor:
    """The lesser elements of two tensors."""
    return ops.minimum(*node.aligned)


@elementwise("aten.fmax.default", np.fmax)
def fmax(node: Node) -> Tensor:
    """The greater elements of two tensors, or those of which there is a number."""
    return _of_numbers(node, ops.maximum)


@elementwise("aten.fmin.default", np.fmin)
def fmin(node: Node) -> Tensor:
    """The lesser elements of two tensors, or those of which there is a number."""
    return _of_numbers(node, ops.minimum)


def _of_numbers(node: Node, choose: Any) -> Tensor:
    pair = node.aligned
    found: Tensor = choose(*pair, nan_mode="IGNORE") if pair[0].dtype.is_float else choose(*pair)
    return found


@operator("aten.ldexp.Tensor", types=NUMBERS)
def ldexp(node: Node, self: Operand, other: Operand) -> Tensor:
    """Elements times powers of two."""
    value, exponent = (one.typed(node.type).tensor for one in (self, other))
    return ops.mul(*aligned(value, power_of(ops.const(number(exponent, 2.0)), exponent)))


@elementwise("aten.neg.default aten.negative.default", np.negative)
def neg(node: Node) -> Tensor:
    """The opposite."""
    return -node[0].tensor


@elementwise("aten.abs.default", np.abs)
def absolute(node: Node) -> Tensor:
    """The absolute value."""
    return ops.abs(node[0].tensor)


@elementwise("aten.sign.default aten.sgn.default", np.sign)
def sign(node: Node) -> Tensor:
    """1, 0 or -1."""
    return numbers.sign(node[0].tensor)


@elementwise("aten.square.default", np.square)
def square(node: Node) -> Tensor:
    """The square."""
    return ops.mul(node[0].tensor, node[0].tensor)


@operator("aten.clamp.default aten.clip.default", types=f"{NUMBERS} {NARROW}")
def clamp(node: Node, self: Operand, min: float | None = None, max: float | None = None) -> Tensor:
    """Elements inside of two bounds, others as the nearest of them."""
    return clamped(self.typed(node.type).tensor, min, max)


def clamped(value: Tensor, least: float | None, most: float | None) -> Tensor:
    """Elements inside of two bounds."""
    low, high = -inf if least is None else least, inf if most is None else most
    if value.dtype.is_float and low <= high:
        return ops.clamp(value, min_val=float(low), max_val=float(high))
    if least is not None:
        value = ops.maximum(value, number(value, least))
    return value if most is None else ops.minimum(value, number(value, most))


@operator("aten.clamp.Tensor", types=f"{NUMBERS} {NARROW}")
def clamp_tensors(
    node: Node, self: Operand, min: Operand | None = None, max: Operand | None = None
) -> Tensor:
    """The same by bounds for each element."""
    value = self.typed(node.type).tensor
    if min is not None:
        value = ops.maximum(*aligned(value, min.typed(node.type).tensor))
    return value if max is None else ops.minimum(*aligned(value, max.typed(node.type).tensor))


@operator("aten.clamp_min.default", types=f"{NUMBERS} {NARROW}")
def clamp_min(node: Node, self: Operand, min: float) -> Tensor:
    """Elements from a bound on, others as it."""
    return clamped(self.typed(node.type).tensor, min, None)


@operator("aten.clamp_max.default", types=f"{NUMBERS} {NARROW}")
def clamp_max(node: Node, self: Operand, max: float) -> Tensor:
    """Elements up to a bound, others as it."""
    return clamped(self.typed(node.type).tensor, None, max)


@operator("aten.addcmul.default aten.addcdiv.default", types=REAL)
def addc(node: Node, self: Operand, tensor1: Operand, tensor2: Operand, value: float = 1) -> Tensor:
    """A tensor and the product or quotient of two others, times a factor."""
    start, first, second = aligned(self.tensor, tensor1.tensor, tensor2.tensor)
    term = quotient_of(first, second) if ".addcdiv." in node.record.target else ops.mul(first, second)
    return ops.add(start, term if value == 1 else ops.mul(term, number(term, value)))


@operator("aten.lerp.Scalar aten.lerp.Tensor", types=REAL)
def lerp(node: Node, self: Operand, end: Operand, weight: float | Operand) -> Tensor:
    """Elements between those of two tensors."""
    share = (
        node.of(np.array(weight, self.type.storage), self.type) if not isinstance(weight, Operand) else weight
    )
    first, last, part = aligned(self.tensor, end.tensor, share.tensor)
    return ops.add(first, ops.mul(ops.sub(last, first), part))


@operator("aten.diff.default", types=f"{NUMBERS} {NARROW} bool")
def diff(
    node: Node,
    self: Operand,
    n: int = 1,
    dim: int = -1,
    prepend: Operand | None = None,
    append: Operand | None = None,
) -> Tensor:
    """The differences of neighbours along a dimension."""
    given = [one.typed(self.type).tensor for one in (prepend, self, append) if one is not None]
    value, axis = given[0], dim % self.rank
    if len(given) > 1:
        value = ops.concat(given, axis=axis)
    for _ in range(n):
        extent = value.shape[axis] - 1
        later, earlier = part(value, axis, 1, extent), part(value, axis, 0, extent)
        value = ops.logical_xor(later, earlier) if self.type is Type.BOOL else ops.sub(later, earlier)
    return value
