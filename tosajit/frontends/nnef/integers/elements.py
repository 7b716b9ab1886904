"""Elementwise operators of several operands, and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import inf

from tosajit import ops
from tosajit.frontends.common.quantized import combined, multiplied, quantized_bounds
from tosajit.frontends.common.scale import scaled, wide
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.integers.form import Form
from tosajit.frontends.nnef.integers.node import Node
from tosajit.frontends.nnef.integers.rules import rule
from tosajit.frontends.nnef.integers.value import Integers, gentle
from tosajit.frontends.nnef.operators.arithmetic import Limits, Pair, aligned
from tosajit.tracing.tensor import Tensor

_MOST_TERMS = 64

Combine = Callable[[Tensor, Tensor], Tensor]


def _pair(node: Node, options: Pair) -> tuple[Integers, Integers]:
    """Two operands of one type, aligned."""
    dtype = next(one.dtype for one in map(node.own, node.tensors("x") + node.tensors("y")) if one is not None)
    first, second = node.computed("x", dtype), node.computed("y", dtype)
    if first.dtype is not second.dtype:
        raise Refused(f"its operands are {first.dtype} and {second.dtype}")
    left, right = aligned((first.tensor, options.lhs_align), (second.tensor, options.rhs_align))
    return Integers(left, first.form), Integers(right, second.form)


def _declare(name: str, combine: Combine) -> None:
    @rule(name, Pair)
    def sum_(node: Node, options: Pair, form: Form) -> Tensor:
        return _combined(_pair(node, options), form, combine)


def _combined(terms: Sequence[Integers], form: Form, combine: Combine) -> Tensor:
    for one in terms:
        gentle(one, form)
    return combined(terms, form, combine)


@rule("math.sum_n")
def sum_n(node: Node, form: Form) -> Tensor:
    """The sum of tensors."""
    terms = [one for one in map(node.own, node.tensors("xs")) if one is not None]
    if len(terms) < len(node.tensors("xs")) or len({one.dtype for one in terms}) > 1:
        raise Refused("its operands are not all quantised to integers of one type")
    if len(terms) > _MOST_TERMS:
        raise Refused(
            f"it adds up {len(terms)} tensors, and sums of {_MOST_TERMS} are as exact as one rounding"
        )
    return _combined(terms, form, ops.add)


_declare("math.add", ops.add)
_declare("math.sub", ops.sub)


@rule("math.mul", Pair)
def mul(node: Node, options: Pair, form: Form) -> Tensor:
    """The product of two tensors; times a number more than 0, another scale of the same integers."""
    for name, other in (("x", "y"), ("y", "x")):
        number = node.single(name)
        if number is not None and number > 0:
            return _scaled(node, other, number, form)
    return multiplied(*_pair(node, options), form)


@rule("math.div", Pair)
def div(node: Node, options: Pair, form: Form) -> Tensor:
    """A tensor over a number more than 0."""
    number = node.single("y")
    if number is None or number <= 0:
        raise Refused("integers are divided by one number more than 0 only")
    return _scaled(node, "x", 1 / number, form)


def _scaled(node: Node, name: str, factor: float, form: Form) -> Tensor:
    """A tensor times a factor: its integers, which stand for others."""
    (tensor,) = node.tensors(name)
    found = node.values.whole(tensor)
    if found is None:
        raise Refused(f"{tensor.name} is not quantised")
    return found.at(form.over(factor)).tensor


def _declare_comparison(name: str, compare: Combine) -> None:
    @rule(name, Pair, plain=True)
    def comparison(node: Node, options: Pair) -> Tensor:
        first, second = _pair(node, options)
        if first.form != second.form:
            raise Refused("it compares integers of different scales")
        return compare(*(wide(one.tensor) for one in (first, second)))


_declare_comparison("math.lt", lambda first, second: ops.greater(second, first))
_declare_comparison("math.gt", ops.greater)
_declare_comparison("math.le", lambda first, second: ops.greater_equal(second, first))
_declare_comparison("math.ge", ops.greater_equal)
_declare_comparison("math.eq", ops.equal)
_declare_comparison("math.ne", lambda first, second: ops.logical_not(ops.equal(first, second)))


@rule("math.min", Pair, keeps=True)
def minimum(node: Node, options: Pair, form: Form) -> Tensor:
    """The smaller ones of two tensors, or of one and a number."""
    return _limited(node, options, form, ops.minimum)


@rule("math.max", Pair, keeps=True)
def maximum(node: Node, options: Pair, form: Form) -> Tensor:
    """The greater ones of two tensors, or of one and a number."""
    return _limited(node, options, form, ops.maximum)


def _limited(node: Node, options: Pair, form: Form, choose: Combine) -> Tensor:
    tensors = [*node.tensors("x"), *node.tensors("y")]
    for name, other in (("x", "y"), ("y", "x")):
        number = node.single(name)
        (kept,) = node.tensors(other)
        if number is not None and node.extents == kept.shape:
            low, high = (number, inf) if choose is ops.maximum else (-inf, number)
            return clamped(node.at(kept, form), form, low, high)
    terms = (node.at(one, form) for one in tensors)
    aligns = (options.lhs_align, options.rhs_align)
    return _chosen(aligned(*zip(terms, aligns, strict=True)), form, choose)


def _chosen(values: list[Tensor], form: Form, choose: Combine) -> Tensor:
    """Some of the numbers of several tensors: TOSA compares those of 32 bits."""
    found = reduce(choose, map(wide, values))
    return scaled(found, [(1 << 30, 30)], form.dtype)


def _declare_many(name: str, choose: Combine) -> None:
    @rule(name, keeps=True)
    def many(node: Node, form: Form) -> Tensor:
        return _chosen([node.at(one, form) for one in node.tensors("xs")], form, choose)


_declare_many("math.min_n", ops.minimum)
_declare_many("math.max_n", ops.maximum)


def clamped(value: Tensor, form: Form, low: float, high: float) -> Tensor:
    """Integers within the next ones to two real numbers."""
    least, most = quantized_bounds(form, low, high)
    least, most = min(least, form.bounds[1]), max(most, form.bounds[0])
    if least > most:
        raise Refused(f"its limits {low:g} and {high:g} leave no number")
    return value if (least, most) == form.bounds else ops.clamp(value, min_val=least, max_val=most)


@rule("math.clamp", Limits, keeps=True)
def clamp(node: Node, options: Limits, form: Form) -> Tensor:
    """Elements between two numbers."""
    low, high = node.single("a"), node.single("b")
    (value,) = node.tensors("x")
    if low is None or high is None:
        raise Refused("its limits are computed, or one for each element")
    return clamped(node.at(value, form), form, low, high)
