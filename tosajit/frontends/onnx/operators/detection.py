"""Searches whose results are as long as what they find: CUSTOM operators of tosajit's own."""

from __future__ import annotations

from math import prod

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.customs.attributes import written
from tosajit.dtypes import INT32
from tosajit.frontends.common.bounded import Bounded
from tosajit.frontends.common.custom import custom
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.common.numbers import is_negative
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import MOVED, REAL, operator
from tosajit.frontends.onnx.schema import Type

_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class SuppressionAttributes(Attributes):
    """Whether boxes are a centre and extents, not two corners."""

    center_point_box: bool = False


@operator("NonMaxSuppression", SuppressionAttributes, types="float32", kind="custom")
def non_max_suppression(node: Node, options: SuppressionAttributes) -> Operand:
    """Batch, class and place of the boxes that overlap no better one of their class too much."""
    batches, classes, count = node[1].shape
    given = [node.optional(place) for place in (2, 3, 4)]
    most, limit, least = (None if one is None else float(one.number) for one in given)
    most = min(int(most or 0), count)
    if not 0 < most * batches * classes <= _MOST:
        raise Refused(
            f"it chooses {most} boxes of each of {batches * classes} classes, which is none or too many"
        )
    numbers = {} if least is None else {"score_threshold": least}
    attributes = written(
        centered=options.center_point_box, max_outputs_per_class=most, iou_threshold=limit or 0.0, **numbers
    )
    results = [(INT32, (batches * classes * most, 3)), (INT32, (2,))]
    rows, extents = custom("CLASS_SUPPRESSION", [node[0].tensor, node[1].tensor], results, attributes)
    return node.of(Bounded(rows, extents), Type.INT64)


def _found(node: Node) -> Array:
    return np.array(np.nonzero(node[0].raw), np.int64)


@operator("NonZero", types=MOVED, fold=_found, kind="custom")
def non_zero(node: Node) -> Operand:
    """The places of elements that are not zero, in order."""
    value = node[0].tensor
    if not 0 < prod(value.shape) <= _MOST or not value.ndim:
        raise Refused(
            f"it searches {prod(value.shape)} elements of {value.ndim} dimensions, which is none or too many"
        )
    (places,) = custom("WHERE", [value], [(INT32, (prod(value.shape), value.ndim))], written(zero=0))
    first = transposed(places, (1, 0))
    is_there = ops.cast(ops.logical_not(is_negative(places)), dtype=INT32)
    sums = reshaped(ops.reduce_sum(is_there, axis=0), (-1,))
    rank = ops.const(np.array([value.ndim], np.int32))
    return node.of(Bounded(first, ops.concat([rank, ops.slice(sums, (0,), (1,))], axis=0)), Type.INT64)


@dataclass(frozen=True, slots=True)
class UniqueAttributes(Attributes):
    """The dimension whose parts are compared, without one all elements; and whether they are in order."""

    axis: int | None = None
    sorted: bool = True


@operator("Unique", UniqueAttributes, types=f"{REAL} int8 int16 int32 int64", kind="custom")
def unique(node: Node, options: UniqueAttributes) -> tuple[Operand, ...]:
    """The different parts, where each is first, which of them each part is, and how often each is there."""
    value = node[0].tensor
    value = value if options.axis is not None else reshaped(value, (-1,))
    (axis,) = axes_of([options.axis or 0], value.ndim)
    count = value.shape[axis]
    if not 0 < prod(value.shape) <= _MOST:
        raise Refused(f"it compares {prod(value.shape)} elements, which are none or too many")
    results = [(value.dtype, value.shape), *((INT32, (count,)),) * 3, (INT32, (1,))]
    attributes = written(axis=axis, sorted=options.sorted)
    parts, places, numbers, counts, found = custom("DISTINCT", [value], results, attributes)
    extents = [ops.const(np.array([one], np.int32)) for one in value.shape]
    extents[axis] = found
    shape = ops.concat(extents, axis=0) if len(extents) > 1 else found
    return (
        node.of(Bounded(parts, shape), node[0].type),
        node.of(Bounded(places, found), Type.INT64),
        node.of(numbers, Type.INT64),
        node.of(Bounded(counts, found), Type.INT64),
    )
