"""Reductions: one number in place of all along some dimensions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.functions import square_root
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.pooling import means
from tosajit.frontends.common.reduce import axes_of, product, reduced
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import NARROW, NUMBERS, REAL, operator
from tosajit.frontends.onnx.operators.shape import axes_given
from tosajit.tracing.tensor import Tensor

_ALL = f"{NUMBERS} {NARROW}"


@dataclass(frozen=True, slots=True)
class ReductionAttributes(Attributes):
    """Whether dimensions are kept, with one element, and whether no dimensions mean none."""

    keepdims: bool = True
    noop_with_empty_axes: bool = False


def axes_reduced(node: Node) -> tuple[int, ...]:
    """The dimensions along which there is one number left."""
    given = axes_given(node)
    if not given:
        is_idle = node.attributes(ReductionAttributes).noop_with_empty_axes
        return () if is_idle else tuple(range(node[0].rank))
    return axes_of(given, node[0].rank)


def folded(function: Callable[..., Any]) -> Callable[[Node], Array]:
    """Compute with NumPy what follows from constants."""

    def fold(node: Node) -> Array:
        keeps = node.attributes(ReductionAttributes).keepdims
        return np.asarray(function(node[0].raw, axis=axes_reduced(node), keepdims=keeps), node[0].raw.dtype)

    return fold


def _same(value: Tensor) -> Tensor:
    return value


def _reduced(
    node: Node, reduce: Callable[[Tensor, int], Tensor], of: Callable[[Tensor], Tensor] = _same
) -> Tensor:
    axes = axes_reduced(node)
    return reduced(reduce, of(node[0].tensor), axes, node.attributes(ReductionAttributes).keepdims)


def _sum(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_sum(value, axis=axis)


def _most(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_max(value, axis=axis)


def _least(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_min(value, axis=axis)


def _total(node: Node, of: Callable[[Tensor], Tensor] = _same) -> Tensor:
    return _reduced(node, _sum, of)


declared = partial(operator, types=_ALL)


@declared("ReduceSum", fold=folded(np.sum))
@widened
def reduce_sum(node: Node) -> Tensor:
    """The sum along dimensions."""
    return _total(node)


@declared("ReduceMean", fold=folded(np.mean))
@widened
def reduce_mean(node: Node) -> Tensor:
    """The mean along dimensions."""
    axes, value = axes_reduced(node), node[0].tensor
    if value.dtype.is_float:
        return means(value, axes, node.attributes(ReductionAttributes).keepdims)
    total = _total(node)
    return ops.intdiv(total, number(total, max(prod(value.shape[axis] for axis in axes), 1)))


def _greatest(value: Array, **given: Any) -> Array:
    return np.asarray(np.max(value, initial=_end(value, -1), **given))


def _smallest(value: Array, **given: Any) -> Array:
    return np.asarray(np.min(value, initial=_end(value, 1), **given))


def _end(value: Array, sign: int) -> Any:
    """What is left where there are no elements: the least or the greatest number of their type."""
    if value.dtype.kind == "b":
        return sign > 0
    if value.dtype.kind in "iu":
        bounds = np.iinfo(value.dtype)
        return bounds.max if sign > 0 else bounds.min
    return value.dtype.type(sign * np.inf)


@operator("ReduceMax", types=f"{_ALL} bool", fold=folded(_greatest))
@widened
def reduce_max(node: Node) -> Tensor:
    """The greatest element along dimensions; of truths, whether any is."""
    if node[0].type.label == "bool":
        return _reduced(node, lambda value, axis: ops.reduce_any(value, axis=axis))
    return _reduced(node, _most)


@operator("ReduceMin", types=f"{_ALL} bool", fold=folded(_smallest))
@widened
def reduce_min(node: Node) -> Tensor:
    """The least element along dimensions; of truths, whether all are."""
    if node[0].type.label == "bool":
        return _reduced(node, lambda value, axis: ops.reduce_all(value, axis=axis))
    return _reduced(node, _least)


@declared("ReduceProd", fold=folded(np.prod))
@widened
def reduce_prod(node: Node) -> Tensor:
    """The product along dimensions."""
    return _reduced(node, product)


@declared("ReduceL1", fold=folded(lambda value, **given: np.sum(np.abs(value), **given)))
@widened
def reduce_l1(node: Node) -> Tensor:
    """The sum of sizes along dimensions."""
    return _total(node, ops.abs)


def _square(value: Tensor) -> Tensor:
    return ops.mul(value, value)


@declared("ReduceSumSquare", fold=folded(lambda value, **given: np.sum(value * value, **given)))
@widened
def reduce_sum_square(node: Node) -> Tensor:
    """The sum of squares along dimensions."""
    return _total(node, _square)


@operator("ReduceL2", types=REAL, fold=folded(lambda value, **given: np.sqrt(np.sum(value * value, **given))))
def reduce_l2(node: Node) -> Tensor:
    """The root of the sum of squares along dimensions."""
    return square_root(_total(node, _square))


@operator("ReduceLogSum", types=REAL, fold=folded(lambda value, **given: np.log(np.sum(value, **given))))
def reduce_log_sum(node: Node) -> Tensor:
    """The logarithm of the sum along dimensions."""
    return ops.log(_total(node))


@operator(
    "ReduceLogSumExp", types=REAL, fold=folded(lambda value, **given: np.logaddexp.reduce(value, **given))
)
def reduce_log_sum_exp(node: Node) -> Tensor:
    """The logarithm of the sum of exponentials along dimensions, each less the greatest."""
    axes, value = axes_reduced(node), node[0].tensor
    most = reduced(_most, value, axes, True)
    finite = ops.select(ops.equal(ops.sub(most, most), number(most, 0)), most, number(most, 0))
    total = reduced(_sum, ops.exp(ops.sub(value, finite)), axes, True)
    found = ops.add(ops.log(total), finite)
    return reduced(lambda given, axis: given, found, axes, node.attributes(ReductionAttributes).keepdims)
