"""Rows that are combined by the number of a segment."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.reduce import product
from tosajit.frontends.common.scatter import combined
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.tracing.tensor import Tensor

Reduce = Callable[[Tensor, int], Tensor]


@operator("SEGMENT_SUM", types="float32 int32")
def segment_sum(node: Node) -> Tensor:
    """The sums of rows that have one number, which grow by none or one from row to row."""
    count = node.result.record.shape[0] if not node[1].is_constant else max(node[1].ints, default=-1) + 1
    return _segmented(node, count, lambda value, axis: ops.reduce_sum(value, axis=axis), 0)


@operator("UNSORTED_SEGMENT_SUM", types="float32 int32")
def unsorted_segment_sum(node: Node) -> Tensor:
    """The sums of rows that have one number; those of a negative one are left out."""
    return _segmented(node, _count(node), lambda value, axis: ops.reduce_sum(value, axis=axis), 0)


@operator("UNSORTED_SEGMENT_PROD", types="float32 int32")
def unsorted_segment_prod(node: Node) -> Tensor:
    """The products of rows that have one number; those of a negative one are left out."""
    return _segmented(node, _count(node), product, 1)


@operator("UNSORTED_SEGMENT_MAX", types="float32 int32")
def unsorted_segment_max(node: Node) -> Tensor:
    """The greatest elements of rows that have one number, or the least number that there is."""
    least, _ = _bounds(node)
    return _segmented(node, _count(node), lambda value, axis: ops.reduce_max(value, axis=axis), least)


@operator("UNSORTED_SEGMENT_MIN", types="float32 int32")
def unsorted_segment_min(node: Node) -> Tensor:
    """The least elements of rows that have one number, or the greatest number that there is."""
    _, most = _bounds(node)
    return _segmented(node, _count(node), lambda value, axis: ops.reduce_min(value, axis=axis), most)


def _count(node: Node) -> int:
    (count,) = node[2].ints
    return count


def _bounds(node: Node) -> tuple[float, float]:
    """The least and the greatest number of the type that is combined."""
    if node[0].dtype is INT32:
        return np.iinfo(np.int32).min, np.iinfo(np.int32).max
    return float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)


def _segmented(node: Node, count: int, reduce: Reduce, nothing: float) -> Tensor:
    value, segments = node[0], node[1]
    if value.shape[: segments.rank] != segments.shape:
        raise Refused(f"its numbers of segments are {list(segments.shape)}, but its rows {list(value.shape)}")
    inner = value.shape[segments.rank :]
    rows = reshaped(value.tensor, (prod(segments.shape), prod(inner)))
    result = combined(reduce, rows, reshaped(segments.tensor, (-1,)), count, nothing)
    return reshaped(result, (count, *inner))
