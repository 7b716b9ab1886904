"""Elementwise operators of several operands, which are aligned first (NNEF 2.0 sections 4.2.2 to 4.2.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import nan

from tosajit import ops
from tosajit.dtypes import BOOL, INT32
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.division import floored, quotient_of, remainder
from tosajit.frontends.common.functions import square_root
from tosajit.frontends.common.layout import constant_of, joined, reshaped
from tosajit.frontends.common.numbers import constant, is_negative, number
from tosajit.frontends.common.reduce import place_of_greatest
from tosajit.frontends.nnef.node import Attributes, Node
from tosajit.frontends.nnef.operators import ALL, NUMBERS, operator
from tosajit.frontends.nnef.operators.functions import converted
from tosajit.tracing.tensor import Tensor

_LONGEST_CHAIN = 16
"""The greatest power that is written as products."""

Combine = Callable[[Tensor, Tensor], Tensor]


def aligned(*given: tuple[Tensor, int | None]) -> list[Tensor]:
    """Operands of one rank: each with ones beside its extents, as its alignment says."""
    rank = max(value.ndim + abs(align or 0) for value, align in given)
    return [_placed(value, align, rank) for value, align in given]


def _placed(value: Tensor, align: int | None, rank: int) -> Tensor:
    if align is None:
        before = rank - value.ndim
    else:
        before = rank - value.ndim + align if align < 0 else align
    return reshaped(value, (*(1,) * before, *value.shape, *(1,) * (rank - before - value.ndim)))


@dataclass(frozen=True, slots=True)
class Pair(Attributes):
    """How two operands are aligned."""

    lhs_align: int | None
    rhs_align: int | None


def _operands(node: Node, options: Pair) -> list[Tensor]:
    first, second = node["x"], node["y"]
    if first.dtype is not second.dtype:  # comparisons take numbers of two types
        first, second = converted(first, "real"), converted(second, "real")
    return aligned((first, options.lhs_align), (second, options.rhs_align))


def _declare(name: str, combine: Combine, summary: str, types: str = NUMBERS) -> None:
    def lower(node: Node, options: Pair) -> Tensor:
        return combine(*_operands(node, options))

    lower.__doc__ = summary
    operator(f"math.{name}", Pair, types=types)(lower)


def _quotient(first: Tensor, second: Tensor) -> Tensor:
    return floored(first, second)[0] if first.dtype is INT32 else quotient_of(first, second)


def _equal(first: Tensor, second: Tensor) -> Tensor:
    return ops.logical_not(_unequal(first, second)) if first.dtype is BOOL else ops.equal(first, second)


def _unequal(first: Tensor, second: Tensor) -> Tensor:
    if first.dtype is BOOL:
        return ops.logical_xor(first, second)
    return ops.logical_not(ops.equal(first, second))


def power(value: Tensor, exponent: Tensor) -> Tensor:
    """A power: products where the exponent is a small whole number."""
    data = constant_of(exponent)
    single = float(data.reshape(-1)[0]) if data is not None and data.size == 1 else None
    if single is not None and single.is_integer() and abs(single) <= _LONGEST_CHAIN and value.ndim:
        if single >= 0:
            return _product_of_powers(value, int(single))
        if value.dtype is not INT32:
            return ops.reciprocal(_product_of_powers(value, int(-single)))
    if value.dtype is INT32:
        return _integer_power(value, exponent)
    if single == 0.5:
        return square_root(value)
    return _real_power(value, exponent, single)


def _product_of_powers(value: Tensor, exponent: int) -> Tensor:
    total = None if exponent else expanded(constant(value, 1), value.shape)
    while exponent:
        if exponent & 1:
            total = value if total is None else ops.mul(total, value)
        exponent >>= 1
        value = ops.mul(value, value) if exponent else value
    assert total is not None
    return total


def _integer_power(value: Tensor, exponent: Tensor) -> Tensor:
    """A power of integers, bit by bit of the exponent; nothing is squared that no result needs."""
    last = number(exponent, 1)
    odd = ops.bitwise_and(exponent, last)
    high = ops.greater(exponent, number(exponent, 31))  # only 0, 1 and -1 have such powers
    rest = ops.select(high, ops.add(odd, number(odd, 30)), exponent)
    total = constant(value, 1)
    for bit in range(5):
        is_set = ops.greater(ops.bitwise_and(rest, number(rest, 1 << bit)), number(rest, 0))
        total = ops.mul(total, ops.select(is_set, value, number(value, 1)))
        if bit < 4:
            more = ops.greater_equal(rest, number(rest, 2 << bit))
            some = ops.select(more, value, number(value, 1))
            value = ops.mul(some, some)
    return total


def _real_power(value: Tensor, exponent: Tensor, single: float | None) -> Tensor:
    """A power by POW, which takes numbers from 0: others have whole exponents, and signs of odd ones."""
    size = ops.pow(ops.abs(value), exponent)
    below = is_negative(value)
    if single is not None and not single.is_integer():
        return ops.select(below, number(size, nan), size)
    half = ops.mul(exponent, number(exponent, 0.5))
    is_even, is_whole = ops.equal(ops.floor(half), half), ops.equal(ops.floor(exponent), exponent)
    whole = ops.select(ops.logical_and(below, ops.logical_not(is_even)), -size, size)
    return ops.select(ops.logical_and(below, ops.logical_not(is_whole)), number(size, nan), whole)


_declare("add", ops.add, "The sum of two tensors.")
_declare("sub", ops.sub, "The difference of two tensors.")
_declare("mul", ops.mul, "The product of two tensors.")
_declare("div", _quotient, "The quotient of two tensors; of integers it is rounded down.")
_declare("mod", remainder, "What is left of a quotient, with the sign of the dividend.")
_declare("pow", power, "A power of a tensor.")
_declare("min", ops.minimum, "The smaller ones of two tensors.")
_declare("max", ops.maximum, "The greater ones of two tensors.")
_declare("lt", lambda first, second: ops.greater(second, first), "Whether elements are less.")
_declare("gt", ops.greater, "Whether elements are greater.")
_declare("le", lambda first, second: ops.greater_equal(second, first), "Whether elements are not greater.")
_declare("ge", ops.greater_equal, "Whether elements are not less.")
_declare("eq", _equal, "Whether elements are equal.", ALL)
_declare("ne", _unequal, "Whether elements differ.", ALL)
_declare("and", ops.logical_and, "Whether both are true.", "bool")
_declare("or", ops.logical_or, "Whether one at least is true.", "bool")
_declare("xor", ops.logical_xor, "Whether one alone is true.", "bool")


@dataclass(frozen=True, slots=True)
class Choice(Attributes):
    """How a condition and what it chooses from are aligned."""

    cond_align: int | None
    lhs_align: int | None
    rhs_align: int | None


@operator("math.select", Choice)
def select(node: Node, options: Choice) -> Tensor:
    """The elements of one of two tensors, by truths."""
    condition, first, second = aligned(
        (node["c"], options.cond_align), (node["x"], options.lhs_align), (node["y"], options.rhs_align)
    )
    return ops.select(condition, first, second)


def _declare_many(name: str, combine: Combine, summary: str, types: str = NUMBERS) -> None:
    def lower(node: Node) -> Tensor:
        return reduce(combine, node.pack("xs"))

    lower.__doc__ = summary
    operator(f"math.{name}_n", types=types)(lower)


_declare_many("sum", ops.add, "The sum of tensors.")
_declare_many("prod", ops.mul, "The product of tensors.")
_declare_many("min", ops.minimum, "The smallest ones of tensors.")
_declare_many("max", ops.maximum, "The greatest ones of tensors.")
_declare_many("any", ops.logical_or, "Whether one at least is true.", "bool")
_declare_many("all", ops.logical_and, "Whether all are true.", "bool")


@operator("math.argmax_n", types=NUMBERS)
def argmax_n(node: Node) -> Tensor:
    """Which of tensors has the greatest element, the first of them."""
    return _place(node.pack("xs"))


@operator("math.argmin_n", types=NUMBERS)
def argmin_n(node: Node) -> Tensor:
    """Which of tensors has the smallest element, the first of them."""
    return _place([ops.negate(one) for one in node.pack("xs")])


def _place(values: Sequence[Tensor]) -> Tensor:
    rows = [reshaped(one, (1, *one.shape)) for one in values]
    return place_of_greatest(joined(rows, 0), 0)


@dataclass(frozen=True, slots=True)
class Line(Attributes):
    """How the operands of `a * x + b` are aligned."""

    x_align: int | None
    a_align: int | None
    b_align: int | None


@operator("math.axpb", Line)
def axpb(node: Node, options: Line) -> Tensor:
    """A tensor times a factor, and more by another one."""
    factor, value, more = aligned(
        (node["a"], options.a_align), (node["x"], options.x_align), (node["b"], options.b_align)
    )
    return ops.add(ops.mul(factor, value), more)


@dataclass(frozen=True, slots=True)
class Plane(Line):
    """How the operands of `a * x + b * y` are aligned."""

    y_align: int | None


@operator("math.axpy math.axpby", Plane)
def axpby(node: Node, options: Plane) -> Tensor:
    """The sum of two tensors, each times a factor."""
    first, value, second, other = aligned(
        (node["a"], options.a_align),
        (node["x"], options.x_align),
        (node["b"], options.b_align),
        (node["y"], options.y_align),
    )
    return ops.add(ops.mul(first, value), ops.mul(second, other))


@dataclass(frozen=True, slots=True)
class Limits(Attributes):
    """How a tensor and its limits are aligned."""

    val_align: int | None
    min_align: int | None
    max_align: int | None


@operator("math.clamp", Limits, types=NUMBERS)
def clamp(node: Node, options: Limits) -> Tensor:
    """Elements between limits, others as the nearest of these."""
    value, low, high = aligned(
        (node["x"], options.val_align), (node["a"], options.min_align), (node["b"], options.max_align)
    )
    ends = [constant_of(one) for one in (low, high)]
    if value.dtype.is_float and all(one is not None and one.size == 1 for one in ends):
        least, most = (float(one.reshape(-1)[0]) for one in ends if one is not None)
        if least <= most:
            return ops.clamp(value, min_val=least, max_val=most)
    return ops.maximum(ops.minimum(value, high), low)
