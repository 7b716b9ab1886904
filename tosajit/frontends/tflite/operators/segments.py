"""Rows that are combined by the number of a segment."""

from __future__ import annotations

from tosajit.frontends.common.reduce import product
from tosajit.frontends.common.segments import Reduce, least, most, segmented, summed
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.tracing.tensor import Tensor


@operator("SEGMENT_SUM", types="float32 int32")
def segment_sum(node: Node) -> Tensor:
    """The sums of rows that have one number, which grow by none or one from row to row."""
    count = node.result.record.shape[0] if not node[1].is_constant else max(node[1].ints, default=-1) + 1
    return _segmented(node, count, summed)


@operator("UNSORTED_SEGMENT_SUM", types="float32 int32")
def unsorted_segment_sum(node: Node) -> Tensor:
    """The sums of rows that have one number; those of a negative one are left out."""
    return _segmented(node, _count(node), summed)


@operator("UNSORTED_SEGMENT_PROD", types="float32 int32")
def unsorted_segment_prod(node: Node) -> Tensor:
    """The products of rows that have one number; those of a negative one are left out."""
    return _segmented(node, _count(node), product)


@operator("UNSORTED_SEGMENT_MAX", types="float32 int32")
def unsorted_segment_max(node: Node) -> Tensor:
    """The greatest elements of rows that have one number, or the least number that there is."""
    return _segmented(node, _count(node), most)


@operator("UNSORTED_SEGMENT_MIN", types="float32 int32")
def unsorted_segment_min(node: Node) -> Tensor:
    """The least elements of rows that have one number, or the greatest number that there is."""
    return _segmented(node, _count(node), least)


def _count(node: Node) -> int:
    (count,) = node[2].ints
    return count


def _segmented(node: Node, count: int, reduce: Reduce) -> Tensor:
    return segmented(reduce, node[0].tensor, node[1].tensor, count)
