"""Reductions: one number in place of all along some dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.pooling import means
from tosajit.frontends.common.reduce import axes_of, place_of_greatest, product, reduced
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import MOVED, NARROW, NUMBERS, REAL, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class ReductionAttributes(Attributes):
    """Whether dimensions are kept, with one element."""

    keep_dims: bool = False


def folded(function: Callable[..., Any]) -> Callable[[Node], Array]:
    """Compute with NumPy what follows from constants."""

    def fold(node: Node) -> Array:
        value, axes = node[0].raw, axes_of(node[1].ints, node[0].rank)
        found = function(value, axis=axes, keepdims=node.attributes(ReductionAttributes).keep_dims)
        return np.asarray(found, value.dtype)

    return fold


def _reduced(node: Node, options: ReductionAttributes, reduce: Callable[[Tensor, int], Tensor]) -> Tensor:
    value = node[0].tensor
    return reduced(reduce, value, axes_of(node[1].ints, value.ndim), options.keep_dims)


def _sum(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_sum(value, axis=axis)


@operator("Sum", ReductionAttributes, types=f"{NUMBERS} {NARROW}", fold=folded(np.sum))
@widened
def sum_(node: Node, options: ReductionAttributes) -> Tensor:
    """The sum along dimensions."""
    return _reduced(node, options, _sum)


@operator("Mean", ReductionAttributes, types=f"{NUMBERS} {NARROW}", fold=folded(np.mean))
@widened
def mean(node: Node, options: ReductionAttributes) -> Tensor:
    """The mean along dimensions."""
    axes, value = axes_of(node[1].ints, node[0].rank), node[0].tensor
    if value.dtype.is_float:
        return means(value, axes, options.keep_dims)
    total = _reduced(node, options, _sum)
    return ops.intdiv(total, number(total, max(prod(value.shape[axis] for axis in axes), 1)))


@operator("Max", ReductionAttributes, types=f"{NUMBERS} {NARROW}", fold=folded(np.max))
@widened
def max_(node: Node, options: ReductionAttributes) -> Tensor:
    """The greatest element along dimensions."""
    return _reduced(node, options, lambda value, axis: ops.reduce_max(value, axis=axis))


@operator("Min", ReductionAttributes, types=f"{NUMBERS} {NARROW}", fold=folded(np.min))
@widened
def min_(node: Node, options: ReductionAttributes) -> Tensor:
    """The least element along dimensions."""
    return _reduced(node, options, lambda value, axis: ops.reduce_min(value, axis=axis))


@operator("Prod", ReductionAttributes, types=f"{NUMBERS} {NARROW}", fold=folded(np.prod))
@widened
def prod_(node: Node, options: ReductionAttributes) -> Tensor:
    """The product along dimensions."""
    return _reduced(node, options, product)


@operator("All", ReductionAttributes, types="bool", fold=folded(np.all))
def all_(node: Node, options: ReductionAttributes) -> Tensor:
    """Whether all elements along dimensions are true."""
    return _reduced(node, options, lambda value, axis: ops.reduce_all(value, axis=axis))


@operator("Any", ReductionAttributes, types="bool", fold=folded(np.any))
def any_(node: Node, options: ReductionAttributes) -> Tensor:
    """Whether any element along dimensions is true."""
    return _reduced(node, options, lambda value, axis: ops.reduce_any(value, axis=axis))


@operator("ArgMax", types=MOVED)
def arg_max(node: Node) -> Tensor:
    """The place of the greatest element along a dimension, the first of them."""
    (axis,) = axes_of(node[1].ints, node[0].rank)
    return place_of_greatest(node[0].tensor, axis)


@operator("ArgMin", types=MOVED)
def arg_min(node: Node) -> Tensor:
    """The place of the least element along a dimension, the first of them."""
    (axis,) = axes_of(node[1].ints, node[0].rank)
    value = node[0].tensor
    return place_of_greatest(-value if value.dtype.is_float else ~value, axis)


@operator("EuclideanNorm", ReductionAttributes, types=REAL)
def euclidean_norm(node: Node, options: ReductionAttributes) -> Tensor:
    """The root of the sum of squares along dimensions."""
    value = node[0].tensor
    total = reduced(_sum, ops.mul(value, value), axes_of(node[1].ints, value.ndim), options.keep_dims)
    return ops.reciprocal(ops.rsqrt(total))
