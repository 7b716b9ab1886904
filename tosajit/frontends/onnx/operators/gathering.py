"""Elements by indices, elements put at indices, and orders of elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.division import remainder
from tosajit.frontends.common.elements import gathered_along, scattered_along
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import gathered_nd, linear, numbered, one_hot
from tosajit.frontends.common.layout import joined, part, reshaped, transposed
from tosajit.frontends.common.numbers import is_negative, number
from tosajit.frontends.common.ordering import greatest, turned_sequences
from tosajit.frontends.common.parts import Parts
from tosajit.frontends.common.reduce import axes_of, place_of_greatest
from tosajit.frontends.common.scatter import Combine, placed
from tosajit.frontends.frame import Refused, alike
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import MOVED, NARROW, NUMBERS, REAL, operator
from tosajit.frontends.onnx.schema import Type
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class AxisAttributes(Attributes):
    """The dimension."""

    axis: int = 0


def _axis(node: Node) -> int:
    return axes_of([node.attributes(AxisAttributes).axis], node[0].rank)[0]


def _indices(operand: Operand, extent: int) -> Tensor:
    """Indices from the front: those below zero count from the end."""
    if operand.is_constant:
        raw = operand.raw.astype(np.int64)
        if raw.size and not (-extent <= raw.min() and raw.max() < extent):
            raise Refused(f"its indices are from {raw.min()} to {raw.max()} of {extent} elements")
        return operand.trace.constant(np.where(raw < 0, raw + extent, raw).astype(np.int32), INT32)
    value = operand.tensor
    value = value if value.dtype is INT32 else ops.cast(value, dtype=INT32)
    return ops.select(is_negative(value), ops.add(value, number(value, extent)), value)


@operator(
    "Gather", AxisAttributes, types=f"{MOVED} float64",
    fold=lambda node: np.take(node[0].raw, node[1].raw, _axis(node)),
)  # fmt: skip
def gather(node: Node, _: AxisAttributes) -> Tensor:
    """The elements of a dimension at indices."""
    axis = _axis(node)
    return gathered(node[0].tensor, _indices(node[1], node[0].shape[axis]), axis)


@operator("GatherElements", AxisAttributes, types=MOVED)
def gather_elements(node: Node, _: AxisAttributes) -> Tensor:
    """Elements at indices along one dimension, and at the places of these along others."""
    axis = _axis(node)
    return gathered_along(node[0].tensor, _indices(node[1], node[0].shape[axis]), axis)


@dataclass(frozen=True, slots=True)
class BatchAttributes(Attributes):
    """How many dimensions data and indices share."""

    batch_dims: int = 0


@operator("GatherND", BatchAttributes, types=MOVED)
def gather_nd(node: Node, options: BatchAttributes) -> Tensor:
    """The elements, or parts, of a tensor at indices along its first dimensions."""
    value, shared = node[0].tensor, options.batch_dims
    indices = _rows(node[1], node[0].shape[shared:])
    if not shared:
        return gathered_nd(value, indices)
    lead, rest = node[0].shape[:shared], node[0].shape[shared:]
    depth = indices.shape[-1]
    flat = linear(indices, rest[:depth])
    table = reshaped(value, (prod(lead), prod(rest[:depth]), *rest[depth:]))
    found = gathered(table, reshaped(flat, (prod(lead), -1)), 1, 1)
    return reshaped(found, (*node[1].shape[:-1], *rest[depth:]))


def _rows(operand: Operand, shape: tuple[int, ...]) -> Tensor:
    """Rows of indices along the first dimensions of a shape."""
    depth = operand.shape[-1]
    if depth > len(shape):
        raise Refused(f"its indices have {depth} numbers, but the tensor {len(shape)} dimensions")
    columns = []
    for place in range(depth):
        if operand.is_constant:
            column = Operand(operand.trace, operand.raw[..., place : place + 1], operand.type, "")
        else:
            axis = operand.rank - 1
            column = Operand(operand.trace, part(operand.tensor, axis, place, 1), operand.type, "")
        columns.append(_indices(column, shape[place]))
    if operand.is_constant:
        data = [one.value.data for one in columns]
        return operand.trace.constant(np.concatenate([one for one in data if one is not None], -1), INT32)
    return joined(columns, operand.rank - 1)


_COMBINE: dict[str, Combine] = {
    "none": "update", "add": "add", "mul": "multiply", "max": "maximum", "min": "minimum",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScatterAttributes(Attributes):
    """The dimension, and how elements are combined."""

    axis: int = 0
    reduction: str = "none"


@operator("ScatterElements Scatter", ScatterAttributes, types=MOVED)
@widened
def scatter_elements(node: Node, options: ScatterAttributes) -> Tensor:
    """A tensor with elements combined at indices along one dimension."""
    axis = _axis(node)
    indices, combine = _indices(node[1], node[0].shape[axis]), _combine(options)
    return scattered_along(node[0].tensor, indices, node[2].tensor, axis, combine)


@operator("ScatterND", ScatterAttributes, types=MOVED)
@widened
def scatter_nd(node: Node, options: ScatterAttributes) -> Tensor:
    """A tensor with elements, or parts, combined at indices along its first dimensions."""
    shape, depth = node[0].shape, node[1].shape[-1]
    rows = reshaped(linear(_rows(node[1], shape), shape[:depth]), (-1, 1))
    base = reshaped(node[0].tensor, (prod(shape[:depth]), prod(shape[depth:])))
    values = reshaped(node[2].tensor, (rows.shape[0], 1, base.shape[1]))
    parts = Parts(base.shape, (1, base.shape[1]), (0,))
    return reshaped(parts.scattered(base, rows, values, (0, 1, 2), _combine(options)), shape)


def _combine(options: ScatterAttributes) -> Combine:
    if options.reduction not in _COMBINE:
        raise Refused(f"its reduction {options.reduction!r} is not known")
    return _COMBINE[options.reduction]


@dataclass(frozen=True, slots=True)
class CacheAttributes(Attributes):
    """The dimension of what follows each other, and whether its end is followed by its beginning."""

    axis: int = -2
    mode: str = "linear"


@operator("TensorScatter", CacheAttributes, types=MOVED)
@widened
def tensor_scatter(node: Node, options: CacheAttributes) -> Tensor:
    """A cache with rows replaced, for each of a batch from another one on."""
    cache, update, first = node[0].tensor, node[1].tensor, node.optional(2)
    (axis,) = axes_of([options.axis], cache.ndim)
    if axis == 0 or options.mode not in ("linear", "circular"):
        raise Refused(f"its axis {options.axis} or its mode {options.mode!r} is none of a cache")
    batch, extent, count = cache.shape[0], cache.shape[axis], update.shape[axis]
    places = ops.const(np.arange(count, dtype=np.int32)[None])
    if first is not None:
        places = ops.add(reshaped(first.tensor, (batch, 1)), places)
    if options.mode == "circular":
        places = remainder(places, ops.const(np.full((1, 1), extent, np.int32)))
    rows = ops.add(places, np.arange(batch, dtype=np.int32)[:, None] * extent)
    order = [0, axis, *(one for one in range(1, cache.ndim) if one != axis)]
    base, values = (transposed(one, order) for one in (cache, update))
    found = placed(
        reshaped(base, (batch * extent, -1)), reshaped(rows, (-1,)), reshaped(values, (batch * count, -1))
    )
    return transposed(reshaped(found, base.shape), [order.index(one) for one in range(cache.ndim)])


@dataclass(frozen=True, slots=True)
class OneHotAttributes(Attributes):
    """The new dimension."""

    axis: int = -1


@operator("OneHot", OneHotAttributes)
def one_hot_(node: Node, options: OneHotAttributes) -> Operand:
    """One value where the number along a new dimension is the index, another one elsewhere."""
    depth, values = int(node[1].number), node[2].tensor
    (axis,) = axes_of([options.axis], node[0].rank + 1)
    off, on = (reshaped(part(values, 0, place, 1), ()) for place in (0, 1))
    indices = node[0].tensor
    whole = indices if indices.dtype is INT32 else ops.cast(indices, dtype=INT32)
    whole = ops.select(is_negative(whole), ops.add(whole, number(whole, depth)), whole)
    return node.of(one_hot(whole, axis, depth, on, off), node[2].type)


@dataclass(frozen=True, slots=True)
class GreatestAttributes(Attributes):
    """The dimension, whether great elements are wanted, and whether in order."""

    axis: int = -1
    k: int | None = None
    largest: bool = True
    sorted: bool = True


@operator("TopK", GreatestAttributes, types=f"{NUMBERS} {NARROW}")
@widened
def top_k(node: Node, options: GreatestAttributes) -> tuple[Tensor, Operand]:
    """The greatest or least elements along a dimension, and where they are."""
    value = node[0].tensor
    count = options.k if node.optional(1) is None else int(node[1].number)
    (axis,) = axes_of([options.axis], value.ndim)
    if count is None or not 0 < count <= value.shape[axis]:
        raise Refused(f"it takes {count} elements of {value.shape[axis]}")
    order = [*(place for place in range(value.ndim) if place != axis), axis]
    back = [order.index(place) for place in range(value.ndim)]
    turned = transposed(value, order)
    values, places = greatest(turned if options.largest else _opposite(turned), count)
    values = values if options.largest else _opposite(values)
    return transposed(values, back), node.of(transposed(places, back), Type.INT64)


def _opposite(value: Tensor) -> Tensor:
    """Numbers in the opposite order."""
    return -value if value.dtype.is_float else ops.bitwise_not(value)


@dataclass(frozen=True, slots=True)
class PlaceAttributes(Attributes):
    """The dimension, whether it stays, and which of equal elements counts."""

    axis: int = 0
    keepdims: bool = True
    select_last_index: bool = False


def _place(node: Node, options: PlaceAttributes, turn: Callable[[Tensor], Tensor]) -> Operand:
    value = turn(node[0].tensor)
    (axis,) = axes_of([options.axis], value.ndim)
    extent = value.shape[axis]
    if options.select_last_index:
        found = place_of_greatest(ops.reverse(value, axis=axis), axis)
        found = ops.sub(ops.const(number(found, extent - 1)), found)
    else:
        found = place_of_greatest(value, axis)
    shape = tuple(1 if place == axis else one for place, one in enumerate(value.shape))
    return node.of(reshaped(found, shape) if options.keepdims else found, Type.INT64)


@operator("ArgMax", PlaceAttributes, types=f"{NUMBERS} {NARROW}")
@widened
def arg_max(node: Node, options: PlaceAttributes) -> Operand:
    """The place of the greatest element along a dimension."""
    return _place(node, options, lambda value: value)


@operator("ArgMin", PlaceAttributes, types=f"{NUMBERS} {NARROW}")
@widened
def arg_min(node: Node, options: PlaceAttributes) -> Operand:
    """The place of the least element along a dimension."""
    return _place(node, options, _opposite)


@operator("Hardmax", AxisAttributes, types=REAL)
def hardmax(node: Node, _: AxisAttributes) -> Tensor:
    """One at the first greatest element along a dimension, zero elsewhere."""
    given = node.record.attributes.get("axis", -1 if node.opset >= 13 else 1)
    value = node[0].tensor
    if not isinstance(given, int):
        raise Refused("its attribute axis is no integer")
    (axis,) = axes_of([given], value.ndim)
    shape = value.shape
    if node.opset < 13:
        value, axis = reshaped(value, (prod(shape[:axis]), prod(shape[axis:]))), 1
    place = place_of_greatest(value, axis)
    kept = reshaped(place, tuple(1 if one == axis else size for one, size in enumerate(value.shape)))
    is_there = ops.equal(ops.const(numbered(value.shape[axis], axis, value.ndim)), kept)
    return reshaped(ops.select(is_there, number(value, 1), number(value, 0)), shape)


@dataclass(frozen=True, slots=True)
class CumulativeAttributes(Attributes):
    """Whether an element is left out of its own sum, and which way sums go."""

    exclusive: bool = False
    reverse: bool = False


_accumulated = partial(operator, attributes=CumulativeAttributes, types=f"{NUMBERS} {NARROW}")
_accumulated("CumSum")(alike.cumulative_sum)
_accumulated("CumProd")(alike.cumulative_product)


@dataclass(frozen=True, slots=True)
class SequenceAttributes(Attributes):
    """The dimension of sequences, and that of their lengths."""

    time_axis: int = 0
    batch_axis: int = 1


@operator("ReverseSequence", SequenceAttributes, types=MOVED)
def reverse_sequence(node: Node, options: SequenceAttributes) -> Tensor:
    """The first elements of a dimension turned round, as many as a number for each index of another says."""
    return turned_sequences(node[0].tensor, node[1].tensor, options.batch_axis, options.time_axis)


@dataclass(frozen=True, slots=True)
class CompressAttributes(Attributes):
    """The dimension; without one, the tensor is flat."""

    axis: int | None = None


@operator("Compress", CompressAttributes, types=MOVED)
def compress(node: Node, options: CompressAttributes) -> Tensor:
    """The elements of a dimension where a constant condition is true."""
    value = node[0].tensor if options.axis is not None else reshaped(node[0].tensor, (-1,))
    (axis,) = axes_of([options.axis or 0], value.ndim)
    places = np.flatnonzero(node[1].raw).astype(np.int32)
    if not places.size:
        raise Refused("its result has no elements, and TOSA's tensors have some")
    return gathered(value, node.trace.constant(places, INT32), axis)
