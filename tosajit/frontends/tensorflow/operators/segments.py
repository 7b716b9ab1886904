"""Rows that are combined by the number of a segment."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.layout import small
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.reduce import product
from tosajit.frontends.common.segments import Reduce, least, most, segmented, summed
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.narrow import widened, within
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import NARROW, NUMBERS, REAL, operator
from tosajit.frontends.tensorflow.schema import Type
from tosajit.tracing.tensor import Tensor

_COMBINED: tuple[tuple[str, Reduce, float, str], ...] = (
    ("Sum", summed, 0, "The sums of rows that have one number"),
    ("Prod", product, 1, "The products of rows that have one number"),
    ("Max", most, 0, "The greatest elements of rows that have one number"),
    ("Min", least, 0, "The least elements of rows that have one number"),
)
"""What is done with rows, what a number gives that none has, and what to say of it."""


def _declare(name: str, reduce: Reduce, nothing: float, summary: str) -> None:
    def unsorted(node: Node) -> Tensor:
        kind = node[0].type if reduce in (most, least) else Type.INT32

        def wide(node: Node) -> Tensor:
            return within(segmented(reduce, node[0].tensor, node[1].tensor, int(node[2].number)), kind)

        found: Tensor = widened(wide)(node)
        return found

    def sorted_(node: Node) -> Tensor:
        count = _count(node)
        found = segmented(reduce, node[0].tensor, node[1].tensor, count)
        return _where_there_are(found, _sizes(node, count), nothing)

    unsorted.__doc__ = f"{summary}; those of a negative one are left out."
    sorted_.__doc__ = f"{summary}, all of which are known."
    types = f"{NUMBERS} {NARROW}"
    operator(f"UnsortedSegment{name}", types=types)(unsorted)
    operator(f"Segment{name}", types=types)(widened(sorted_))


for _row in _COMBINED:
    _declare(*_row)


@operator("SegmentMean", types=REAL)
def segment_mean(node: Node) -> Tensor:
    """The means of rows that have one number, all of which are known."""
    count = _count(node)
    total, sizes = segmented(summed, node[0].tensor, node[1].tensor, count), _sizes(node, count)
    shares = 1 / np.maximum(sizes, 1).reshape(-1, *(1,) * (total.ndim - 1))
    return ops.mul(total, shares.astype(total.dtype.storage))


def _count(node: Node) -> int:
    """How many segments there are."""
    count = max(node[1].ints, default=-1) + 1
    if not small((count,)):
        raise Refused(f"its {count} segments are too many")
    return count


def _sizes(node: Node, count: int) -> Array:
    """How many rows have each number."""
    return np.bincount(node[1].raw.reshape(-1), minlength=count)


def _where_there_are(value: Tensor, sizes: Array, nothing: float) -> Tensor:
    if (sizes > 0).all():
        return value
    there: Tensor = ops.const((sizes > 0).reshape(-1, *(1,) * (value.ndim - 1)))
    return ops.select(there, value, number(value, nothing))
