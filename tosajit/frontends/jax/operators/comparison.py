"""Comparisons, logic, bits, and choices between the elements of tensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, INT32
from tosajit.frontends.common.numbers import number
from tosajit.frontends.frame import Refused, alike
from tosajit.frontends.frame.folding import folded
from tosajit.frontends.frame.narrow import bits_of, low_bits, widened
from tosajit.frontends.jax.node import Node
from tosajit.frontends.jax.operators import BITS, MOVED, NUMBERS, operator
from tosajit.tracing.tensor import Tensor

operator("eq eq_to", types=MOVED, fold=folded(np.equal))(alike.equal)
operator("gt", types=NUMBERS, fold=folded(np.greater))(alike.greater)
operator("ge", types=NUMBERS, fold=folded(np.greater_equal))(alike.greater_equal)
operator("lt lt_to", types=NUMBERS, fold=folded(np.less))(alike.less)
operator("le le_to", types=NUMBERS, fold=folded(np.less_equal))(alike.less_equal)


@operator("ne", types=MOVED, fold=folded(np.not_equal))
def not_equal(node: Node) -> Tensor:
    """Whether the elements of two tensors differ."""
    found: Tensor = ops.logical_not(alike.equal(node))
    return found


Combine = Callable[..., Tensor]


def _declare(name: str, truths: Combine, bits: Combine, fold: Callable[..., Array], summary: str) -> None:
    def combine(node: Node) -> Tensor:
        given = node.aligned
        return (truths if given[0].dtype is BOOL else bits)(*given)

    combine.__doc__ = summary
    operator(name, types=f"{BITS} bool", fold=folded(fold))(widened(combine))


_declare(
    "and", ops.logical_and, ops.bitwise_and, np.bitwise_and,
    "Whether both of two truths hold, or the bits that two integers share.",
)  # fmt: skip
_declare(
    "or", ops.logical_or, ops.bitwise_or, np.bitwise_or,
    "Whether either of two truths holds, or the bits that either of two integers has.",
)  # fmt: skip
_declare(
    "xor", ops.logical_xor, ops.bitwise_xor, np.bitwise_xor,
    "Whether one of two truths alone holds, or the bits that one of two integers alone has.",
)  # fmt: skip
_declare(
    "not", ops.logical_not, ops.bitwise_not, np.invert,
    "Whether truths do not hold, or the bits that integers have not.",
)  # fmt: skip


def _shifted(
    node: Node, fill: Callable[[Tensor], Tensor], shift: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """Bits moved; those that go too far leave what `fill` says."""
    kind = node[0].type
    value, count = (one if one.dtype is INT32 else ops.cast(one, dtype=INT32) for one in node.aligned)
    most = number(count, bits_of(kind) - 1)
    inside = ops.minimum(ops.maximum(count, number(count, 0)), most)
    fits = ops.equal(inside, count)
    found = ops.select(fits, low_bits(shift(value, inside), kind), fill(value))
    return found if found.dtype is node[0].dtype else ops.cast(found, dtype=node[0].dtype)


def _nothing(value: Tensor) -> Tensor:
    found: Tensor = ops.const(number(value, 0))
    return found


def _sign(value: Tensor) -> Tensor:
    return ops.arithmetic_right_shift(value, number(value, 31))


@operator("shift_left", types=BITS)
def shift_left(node: Node) -> Tensor:
    """Bits moved up."""
    return _shifted(node, _nothing, lambda value, count: ops.logical_left_shift(value, count))


@operator("shift_right_arithmetic", types=BITS)
def shift_right_arithmetic(node: Node) -> Tensor:
    """Bits moved down, with the sign behind them."""
    if node[0].type.label in ("uint8", "uint16", "uint32", "uint64"):
        raise Refused(f"{node[0].type.label} has no sign that could move down", "shift logically")
    return _shifted(node, _sign, lambda value, count: ops.arithmetic_right_shift(value, count))


@operator("shift_right_logical", types=BITS)
def shift_right_logical(node: Node) -> Tensor:
    """Bits moved down, with zeros behind them."""
    bits = bits_of(node[0].type)

    def shift(value: Tensor, count: Tensor) -> Tensor:
        if bits < 32:
            value = ops.bitwise_and(value, number(value, (1 << bits) - 1))
        return ops.logical_right_shift(value, count)

    return _shifted(node, _nothing, shift)


@operator("clz", types=BITS)
@widened
def clz(node: Node) -> Tensor:
    """How many bits are zero above the highest one that is not."""
    value, bits = node[0].tensor, bits_of(node.kind)
    if bits < 32:
        value = ops.bitwise_and(value, number(value, (1 << bits) - 1))
    return ops.sub(ops.clz(value), number(value, 32 - bits))


@operator("population_count", types=BITS)
@widened
def population_count(node: Node) -> Tensor:
    """How many bits are set: by sums of neighbours, then of pairs, and so on."""
    value, most = node[0].tensor, (1 << bits_of(node.kind)) - 1
    sign = ops.bitwise_and(_sign(value), number(value, int(most == 0xFFFFFFFF)))
    value = ops.bitwise_and(value, number(value, most & 0x7FFFFFFF))
    for step, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF)):
        kept = number(value, mask)
        high = ops.bitwise_and(ops.logical_right_shift(value, number(value, step)), kept)
        value = ops.add(ops.bitwise_and(value, kept), high)
    return ops.add(value, sign)


@operator("select_n", types="bool int32", fold=lambda node: np.choose(*_choices(node)))
def select_n(node: Node) -> Tensor:
    """The elements of one of several tensors, each by a truth or a number."""
    which, *cases = node.aligned
    if which.dtype is BOOL:
        if len(cases) == 1:
            return cases[0]
        return ops.select(which, cases[1], cases[0])
    found = cases[0]
    for place, case in enumerate(cases[1:], 1):
        found = ops.select(ops.greater_equal(which, number(which, place)), case, found)
    return found


def _choices(node: Node) -> tuple[Array, list[Array]]:
    which, *cases = (one.raw for one in node.operands)
    return which.astype(np.intp), cases
