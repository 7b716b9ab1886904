"""Reductions and running sums (NNEF 2.0 sections 4.2.6 and 4.2.7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from tosajit import ops
from tosajit.frontends.common.division import floored
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.common.ordering import running_sums
from tosajit.frontends.common.pooling import means
from tosajit.frontends.common.reduce import axes_of, place_of_greatest, product, reduced
from tosajit.frontends.common.scale import number_like
from tosajit.frontends.nnef.node import Attributes, Node
from tosajit.frontends.nnef.operators import NUMBERS, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Axes(Attributes):
    """Which dimensions are reduced, and whether they go away."""

    axes: tuple[int, ...]
    squeeze: bool


def _declare(name: str, reduce: Callable[[Tensor, int], Tensor], summary: str, types: str) -> None:
    def lower(node: Node, options: Axes) -> Tensor:
        value = node["input"]
        return reduced(reduce, value, axes_of(options.axes, value.ndim), not options.squeeze)

    lower.__doc__ = summary
    operator(f"math.{name}_reduce", Axes, types=types)(lower)


_declare("min", lambda value, axis: ops.reduce_min(value, axis=axis), "The smallest element.", NUMBERS)
_declare("max", lambda value, axis: ops.reduce_max(value, axis=axis), "The greatest element.", NUMBERS)
_declare("sum", lambda value, axis: ops.reduce_sum(value, axis=axis), "The sum of elements.", NUMBERS)
_declare("prod", product, "The product of elements.", NUMBERS)
_declare("any", lambda value, axis: ops.reduce_any(value, axis=axis), "Whether an element is true.", "bool")
_declare("all", lambda value, axis: ops.reduce_all(value, axis=axis), "Whether all are true.", "bool")


@operator("math.mean_reduce", Axes)
def mean(node: Node, options: Axes) -> Tensor:
    """The mean of elements."""
    value = node["input"]
    return means(value, axes_of(options.axes, value.ndim), not options.squeeze)


@dataclass(frozen=True, slots=True)
class Axis(Attributes):
    """Which dimension is reduced, and whether it goes away."""

    axis: int
    squeeze: bool


@operator("math.argmax", Axis)
def argmax(node: Node, options: Axis) -> Tensor:
    """Where the greatest element is, the first of them."""
    return _place(node, node["input"], options)


@operator("math.argmin", Axis)
def argmin(node: Node, options: Axis) -> Tensor:
    """Where the smallest element is, the first of them."""
    return _place(node, ops.negate(node["input"]), options)


def _place(node: Node, value: Tensor, options: Axis) -> Tensor:
    (axis,) = axes_of([options.axis], value.ndim)
    return reshaped(place_of_greatest(value, axis), node.shape("output"))


@operator("math.argmax_nd", Axes)
def argmax_nd(node: Node, options: Axes) -> Tensor:
    """Where the greatest element is, by an index for each dimension; the first of them."""
    return _places(node, node["input"], options)


@operator("math.argmin_nd", Axes)
def argmin_nd(node: Node, options: Axes) -> Tensor:
    """Where the smallest element is, by an index for each dimension; the first of them."""
    return _places(node, ops.negate(node["input"]), options)


def _places(node: Node, value: Tensor, options: Axes) -> Tensor:
    axes = axes_of(options.axes, value.ndim)
    kept = [axis for axis in range(value.ndim) if axis not in axes]
    rows = [prod(value.shape[axis] for axis in part) for part in (kept, axes)]
    place = place_of_greatest(reshaped(transposed(value, [*kept, *axes]), rows), 1)
    place = reshaped(place, (rows[0], 1))
    found: dict[int, Tensor] = {}
    for axis in reversed(axes):
        extent = ops.const(number_like(place, value.shape[axis]))
        place, found[axis] = floored(place, extent)
    columns = [found[axis % value.ndim] for axis in options.axes]
    joined = ops.concat(columns, axis=1) if len(columns) > 1 else columns[0]
    return reshaped(joined, node.shape("output"))


@dataclass(frozen=True, slots=True)
class Running(Attributes):
    """Along which dimension sums run, and how."""

    axis: int
    exclusive: bool
    reverse: bool


@operator("math.cumsum", Running)
def cumsum(node: Node, options: Running) -> Tensor:
    """The sums of elements up to each of them, or before it."""
    value = node["input"]
    (axis,) = axes_of([options.axis], value.ndim)
    return running_sums(value, axis, exclusive=options.exclusive, reverse=options.reverse)
