"""Reductions: one number in place of all along some dimensions, or up to each element of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, INT8, INT32
from tosajit.frontends.common.numbers import typed
from tosajit.frontends.common.ordering import (
    running_greatest,
    running_least,
    running_log_sums,
    running_products,
    running_sums,
)
from tosajit.frontends.common.reduce import place_of_greatest, product, reduced
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.jax.node import Node, dtype_of
from tosajit.frontends.jax.operators import NARROW, NUMBERS, REAL, WHOLE, operator
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
_declare("reduce_or", "bool", _any, np.any, "Whether any element along dimensions is true.")
_declare("reduce_and", "bool", _all, np.all, "Whether all elements along dimensions are true.")


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
