"""Reductions: one number in place of all along some dimensions, or up to each element of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, INT8, INT32
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.numbers import typed
from tosajit.frontends.common.ordering import (
    running_greatest,
    running_least,
    running_log_sums,
    running_products,
    running_sums,
)
from tosajit.frontends.common.reduce import (
    Many,
    halved,
    halves,
    place_of_greatest,
    product,
    reduced,
    shape_without,
)
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.jax.node import Node, Operand, dtype_of
from tosajit.frontends.jax.operators import BITS, MOVED, NARROW, NUMBERS, REAL, WHOLE, operator
from tosajit.frontends.jax.records import Jaxpr
from tosajit.tracing.tensor import Tensor

Along = Callable[[Tensor, int], Tensor]


@dataclass(frozen=True, slots=True)
class AxesAttributes(Attributes):
    """The dimensions that are left out of the result."""

    axes: tuple[int, ...]


def _fold(function: Callable[..., Any]) -> Callable[[Node], Array]:
    def fold(node: Node) -> Array:
        return np.asarray(function(node[0].raw, axis=node.attributes(AxesAttributes).axes))

    return fold


def _declare(name: str, types: str, along: Along, function: Callable[..., Any], summary: str) -> None:
    def reduce(node: Node, options: AxesAttributes) -> Tensor:
        return reduced(along, node[0].tensor, options.axes, False)

    reduce.__doc__ = summary
    operator(name, AxesAttributes, types=types, fold=_fold(function))(widened(reduce))


def _any(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_any(value, axis=axis)


def _all(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_all(value, axis=axis)


def _bits(combine: Callable[[Tensor, Tensor], Tensor], of_truths: Along | None = None) -> Along:
    """What combines the bits of integers; truths are bits, too, where TOSA does not reduce them."""

    def along(value: Tensor, axis: int) -> Tensor:
        if value.dtype is not BOOL:
            return halved(value, axis, combine)
        return of_truths(value, axis) if of_truths is not None else halved(value, axis, ops.logical_xor)

    return along


def _sum(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_sum(value, axis=axis)


def _most(value: Tensor, axis: int) -> Tensor:
    return _any(value, axis) if value.dtype is BOOL else ops.reduce_max(value, axis=axis)


def _least(value: Tensor, axis: int) -> Tensor:
    return _all(value, axis) if value.dtype is BOOL else ops.reduce_min(value, axis=axis)


_declare("reduce_sum", NUMBERS, _sum, np.sum, "The sum along dimensions.")
_declare("reduce_prod", NUMBERS, product, np.prod, "The product along dimensions.")
_declare("reduce_max", f"{NUMBERS} bool", _most, np.max, "The greatest element along dimensions.")
_declare("reduce_min", f"{NUMBERS} bool", _least, np.min, "The least element along dimensions.")
_declare(
    "reduce_or", f"{BITS} bool", _bits(ops.bitwise_or, _any), np.bitwise_or.reduce,
    "Whether any element along dimensions is true, or the bits that any of them has.",
)  # fmt: skip
_declare(
    "reduce_and", f"{BITS} bool", _bits(ops.bitwise_and, _all), np.bitwise_and.reduce,
    "Whether all elements along dimensions are true, or the bits that all of them have.",
)  # fmt: skip
_declare(
    "reduce_xor", f"{BITS} bool", _bits(ops.bitwise_xor), np.bitwise_xor.reduce,
    "Whether an odd number of elements along dimensions is true, or the bits that an odd number of them has.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GeneralAttributes(Attributes):
    """The dimensions that are left out of the results, and the function of pairs of elements."""

    dimensions: tuple[int, ...]
    jaxpr: Jaxpr | None = None


@operator("reduce", GeneralAttributes, types=MOVED)
def general(node: Node, options: GeneralAttributes) -> tuple[Tensor, ...]:
    """What a function makes of all elements along dimensions, two at a time, and of first ones."""
    jaxpr, count = options.jaxpr, len(node.operands) // 2
    if jaxpr is None:
        raise Refused("it does not say what it calls")

    def combine(*parts: Many) -> Many:
        tensors = [one for part in parts for one in part]
        pairs = zip(node.operands[:count] * 2, tensors, strict=True)
        given = tuple(Operand(node.trace, tensor, like.type, "element") for like, tensor in pairs)
        return tuple(one.tensor for one in node.jaxprs.mapped(jaxpr, given, "reduction"))

    values: Many = tuple(one.tensor for one in node.operands[:count])
    for axis in options.dimensions:
        values = halves(values, axis, combine)
    ones = (1,) * values[0].ndim
    values = combine(values, tuple(reshaped(one.tensor, ones) for one in node.operands[count:]))
    shape = shape_without(values[0].shape, options.dimensions, keep=False)
    return tuple(reshaped(one, shape) for one in values)


@operator("argmax", AxesAttributes, types=f"{REAL} {WHOLE} {NARROW} bool")
def argmax(node: Node, options: AxesAttributes) -> Tensor:
    """Where the greatest element along a dimension is, the first of them."""
    return _place(node, options, lambda value: value)


@operator("argmin", AxesAttributes, types=f"{REAL} {WHOLE} {NARROW} bool")
def argmin(node: Node, options: AxesAttributes) -> Tensor:
    """Where the least element along a dimension is, the first of them."""

    def turn(value: Tensor) -> Tensor:
        if value.dtype is BOOL:
            return ops.logical_not(value)
        return -value if value.dtype.is_float else ops.bitwise_not(value)

    return _place(node, options, turn)


def _place(node: Node, options: AxesAttributes, turn: Callable[[Tensor], Tensor]) -> Tensor:
    (axis,) = options.axes
    dtype = dtype_of(node.kind)
    value = node[0].tensor
    if value.dtype not in (INT8, INT32, BOOL) and not value.dtype.is_float:
        value = typed(value, INT32)
    found = place_of_greatest(turn(value), axis)
    return typed(found, dtype)


@dataclass(frozen=True, slots=True)
class CumulativeAttributes(Attributes):
    """The dimension, and whether it begins at its end."""

    axis: int
    reverse: bool = False


def _cumulate(name: str, run: Callable[..., Tensor], summary: str) -> None:
    def lower(node: Node, options: CumulativeAttributes) -> Tensor:
        return run(node[0].tensor, options.axis, exclusive=False, reverse=options.reverse)

    lower.__doc__ = summary
    operator(name, CumulativeAttributes, types=NUMBERS)(widened(lower))


_cumulate("cumsum", running_sums, "The sums of the elements of a dimension up to each of them.")
_cumulate("cumprod", running_products, "The products of the elements of a dimension up to each of them.")
_cumulate("cummax", running_greatest, "The greatest of the elements of a dimension up to each of them.")
_cumulate("cumlogsumexp", running_log_sums, "The logarithms of running sums of exponentials.")
_cumulate("cummin", running_least, "The least of the elements of a dimension up to each of them.")
