"""Elements by indices (NNEF 2.0 section 4.1.6), and the greatest ones (section 4.7)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.customs.attributes import written
from tosajit.dtypes import INT32
from tosajit.frontends.common.custom import custom
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import linear
from tosajit.frontends.common.layout import constant_of, reshaped, small, transposed
from tosajit.frontends.common.ordering import greatest
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.common.scatter import placed
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.nests.assignment import largest_shape
from tosajit.frontends.nnef.node import Attributes, Node
from tosajit.frontends.nnef.operators import ALL, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Axis(Attributes):
    """A dimension."""

    axis: int


@operator("layout.gather", Axis, types=ALL)
def gather(node: Node, options: Axis) -> Tensor:
    """The elements of a dimension at indices, whose shape takes the place of it."""
    data = node["data"]
    (axis,) = axes_of([options.axis], data.ndim)
    return gathered(data, node["index"], axis)


@dataclass(frozen=True, slots=True)
class Batches(Attributes):
    """How many dimensions data and indices share."""

    batch_dims: int


@operator("layout.gather_nd", Batches, types=ALL)
def gather_nd(node: Node, options: Batches) -> Tensor:
    """The elements, or parts, of a tensor at indices along several dimensions."""
    data, indices, shared = node["data"], node["indices"], options.batch_dims
    depth = shared + indices.shape[-1]
    extents, inner = data.shape[shared:depth], data.shape[depth:]
    rows = linear(indices, extents)
    count = prod(data.shape[:shared])
    table = reshaped(data, (count, prod(extents), *inner))
    if not shared:
        found = gathered(reshaped(table, (prod(extents), *inner)), rows, 0)
    else:
        found = gathered(table, reshaped(rows, (count, prod(rows.shape[shared:]))), 1, 1)
    return reshaped(found, node.shape("output"))


@operator("layout.scatter", Axis, types=ALL)
def scatter(node: Node, options: Axis) -> Tensor:
    """A tensor with some elements replaced, at constant indices along a dimension."""
    data, numbers = node["data"], _known(node)
    (axis,) = axes_of([options.axis], data.ndim)
    own: list[Array] = list(np.indices(numbers.shape))
    places = (*own[:axis], numbers, *own[axis + 1 :])
    rows: Array = np.ravel_multi_index(places, data.shape).astype(np.int32)
    return _replaced(node, data, rows)


@operator("layout.scatter_nd", Batches, types=ALL)
def scatter_nd(node: Node, options: Batches) -> Tensor:
    """A tensor with some elements, or parts, replaced, at constant indices along several dimensions."""
    data, numbers, shared = node["data"], _known(node), options.batch_dims
    batches = list(np.indices(numbers.shape[:-1]))[:shared]
    places = (*batches, *np.moveaxis(numbers, -1, 0))
    rows: Array = np.ravel_multi_index(places, data.shape[: len(places)]).astype(np.int32)
    return _replaced(node, data, rows)


def _known(node: Node) -> Array:
    """Indices that are constant: others may be there twice, which SCATTER does not take."""
    data = constant_of(node["indices"])
    if data is None or not small(data.shape):
        raise Refused("its indices are computed, and may be there twice, which TOSA's SCATTER does not take")
    return data


def _replaced(node: Node, data: Tensor, rows: Array) -> Tensor:
    updates = node["updates"]
    depth = prod(updates.shape) // max(rows.size, 1)
    table = reshaped(data, (prod(data.shape) // depth, depth))
    values = reshaped(updates, (rows.size, depth))
    return reshaped(placed(table, ops.const(rows.reshape(-1)), values), data.shape)


@dataclass(frozen=True, slots=True)
class Most(Attributes):
    """How many elements of a dimension are taken, and which."""

    k: int
    axis: int
    largest: bool


@operator("algo.top_k", Most)
def top_k(node: Node, options: Most) -> tuple[Tensor, Tensor]:
    """The greatest or smallest elements along a dimension, and where they are."""
    value = node["input"]
    (axis,) = axes_of([options.axis], value.ndim)
    order = [*(place for place in range(value.ndim) if place != axis), axis]
    back = [order.index(place) for place in range(value.ndim)]
    turned = transposed(value, order)
    found, places = greatest(
        turned if options.largest else ops.negate(turned), min(options.k, value.shape[axis])
    )
    found = found if options.largest else ops.negate(found)
    return transposed(found, back), transposed(places, back)


@dataclass(frozen=True, slots=True)
class Suppression(Attributes):
    """Which boxes are left."""

    box_format: str
    max_outputs_per_class: int
    iou_threshold: float
    score_threshold: float | None


@operator("algo.nonmax_suppress", Suppression, kind="custom")
def nonmax_suppress(node: Node, options: Suppression) -> tuple[Tensor, ...]:
    """Batch, class and place of the boxes that are left, and how many they are."""
    numbers = {"max_outputs_per_class": options.max_outputs_per_class, "iou_threshold": options.iou_threshold}
    if options.score_threshold is not None:
        numbers["score_threshold"] = options.score_threshold
    attributes = written(centered=options.box_format == "CENTER", **numbers)
    results = [(INT32, largest_shape(node.result("indices"))), (INT32, (2,))]
    return custom("CLASS_SUPPRESSION", [node["boxes"], node["scores"]], results, attributes)
