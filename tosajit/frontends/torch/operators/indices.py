"""Elements by indices, and elements put at indices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT32
from tosajit.frontends.common.broadcast import aligned, expanded
from tosajit.frontends.common.division import divided
from tosajit.frontends.common.elements import gathered_along, scattered_along
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import linear
from tosajit.frontends.common.layout import joined, part, reshaped, sliced, transposed
from tosajit.frontends.common.numbers import is_negative, number
from tosajit.frontends.common.parts import Parts
from tosajit.frontends.common.scatter import Combine, nothing
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import MOVED, NUMBERS, REAL, operator
from tosajit.frontends.torch.records import Type
from tosajit.tracing.tensor import Tensor

_ANY = f"{MOVED} float64"
_MOST = 1 << 22
"""How many indices are numbered."""


def counted(indices: Operand, extent: int) -> Tensor:
    """Indices from the front: those below zero count from the end."""
    if indices.is_constant:
        raw = indices.raw.astype(np.int64)
        if raw.size and not (-extent <= raw.min() and raw.max() < extent):
            raise Refused(f"its indices are from {raw.min()} to {raw.max()} of {extent} elements")
        return indices.trace.constant(np.where(raw < 0, raw + extent, raw).astype(np.int32), INT32)
    value = indices.typed(Type.INT64).tensor
    return ops.select(is_negative(value), ops.add(value, number(value, extent)), value)


def _rows(node: Node, weight: Operand, indices: Operand) -> Array | None:
    return weight.raw[indices.raw] if prod(node.shape) <= 1 << 16 else None


@operator("aten.embedding.default", types=MOVED, fold=_rows, ignored="padding_idx scale_grad_by_freq sparse")
def embedding(node: Node, weight: Operand, indices: Operand) -> Tensor:
    """Rows of a matrix at indices."""
    return gathered(weight.tensor, indices.typed(Type.INT64).tensor, 0)


@operator("aten.index_select.default", types=_ANY)
def index_select(node: Node, self: Operand, dim: int, index: Operand) -> Tensor:
    """The elements of a dimension at indices."""
    axis = dim % self.rank
    return reshaped(gathered(self.tensor, counted(index, self.shape[axis]), axis), node.shape)


def _known(indices: Sequence[Operand | None]) -> list[Operand | None]:
    """Indices with masks as the places of what is true in them."""
    found: list[Operand | None] = []
    for one in indices:
        if one is None or one.type not in (Type.BOOL, Type.UINT8):
            found.append(one)
            continue
        if not one.is_constant:
            raise Refused(
                "how many elements a mask chooses depends on it", "use torch.where, which keeps the shape"
            )
        found += [Operand(one.trace, place, Type.INT64, one.name) for place in np.nonzero(one.raw)]
    return found


def _at(node: Node, self: Operand, indices: Sequence[Operand | None]) -> Array | None:
    if prod(node.shape) > 1 << 16:
        return None
    return np.asarray(self.raw[tuple(slice(None) if one is None else one.raw for one in indices)])


@operator("aten.index.Tensor", types=_ANY, fold=_at)
def index(node: Node, self: Operand, indices: Sequence[Operand | None]) -> Tensor:
    """Elements at indices along several dimensions."""
    axes, places = _places(self.shape, _known(indices))
    rest = [place for place in range(self.rank) if place not in axes]
    turned = transposed(self.tensor, (*axes, *rest))
    flat = reshaped(turned, (prod(self.shape[axis] for axis in axes), *(self.shape[one] for one in rest)))
    found = gathered(flat, places, 0)
    if axes != list(range(axes[0], axes[0] + len(axes))):
        return found
    count, before = places.ndim, axes[0]
    order = (*range(count, count + before), *range(count), *range(count + before, found.ndim))
    return transposed(found, order)


def _places(shape: Sequence[int], indices: Sequence[Operand | None]) -> tuple[list[int], Tensor]:
    """The dimensions that are indexed, and the places along all of them together."""
    axes = [place for place, one in enumerate(indices) if one is not None]
    given = [counted(one, shape[place]) for place, one in enumerate(indices) if one is not None]
    if len(given) == 1:
        return axes, given[0]
    extent = np.broadcast_shapes(*(one.shape for one in given))
    whole = [expanded(one, extent) for one in aligned(*given)]
    columns = ops.concat([reshaped(one, (*extent, 1)) for one in whole], axis=len(extent))
    return axes, linear(columns, [shape[axis] for axis in axes])


@operator("aten.index_put.default aten._unsafe_index_put.default", types=MOVED)
def index_put(
    node: Node,
    self: Operand,
    indices: Sequence[Operand | None],
    values: Operand,
    accumulate: bool = False,
) -> Tensor:
    """A tensor with elements replaced, or added to, at indices along several dimensions."""
    if len(indices) == 1 and (mask := indices[0]) is not None and mask.type is Type.BOOL and values.rank == 0:
        if not accumulate and not mask.is_constant:
            raised = reshaped(mask.tensor, (*mask.shape, *(1,) * (self.rank - mask.rank)))
            new = values.typed(self.type).tensor
            return expanded(ops.select(*aligned(raised, new, self.tensor)), self.shape)
    axes, places = _places(self.shape, _known(indices))
    rest = [place for place in range(self.rank) if place not in axes]
    order = (*axes, *rest)
    turned = transposed(self.tensor, order)
    inner = turned.shape[len(axes) :]
    base = reshaped(turned, (prod(turned.shape[: len(axes)]), prod(inner)))
    new = _placed_values(
        values.typed(self.type).tensor, axes, places.shape, [self.shape[one] for one in rest]
    )
    found = _scattered(base, reshaped(places, (-1, 1)), reshaped(new, (-1, base.shape[1])),
                       "add" if accumulate else "update")  # fmt: skip
    return transposed(reshaped(found, turned.shape), [order.index(place) for place in range(self.rank)])


def _placed_values(values: Tensor, axes: list[int], places: Sequence[int], inner: Sequence[int]) -> Tensor:
    """Values with the dimensions of places first, then those that are not indexed."""
    if axes != list(range(axes[0], axes[0] + len(axes))):
        return expanded(values, (*places, *inner))
    before, count = axes[0], len(places)
    whole = expanded(values, (*inner[:before], *places, *inner[before:]))
    order = (*range(before, before + count), *range(before), *range(before + count, whole.ndim))
    return transposed(whole, order)


def _scattered(base: Tensor, rows: Tensor, values: Tensor, combine: Combine) -> Tensor:
    """A matrix whose rows are combined with others."""
    parts = Parts(base.shape, (1, base.shape[1]), (0,))
    return parts.scattered(base, rows, reshaped(values, (-1, 1, base.shape[1])), (0, 1, 2), combine)


@operator("aten.gather.default", types=MOVED, ignored="sparse_grad")
def gather(node: Node, self: Operand, dim: int, index: Operand) -> Tensor:
    """Elements at indices along one dimension, and at the places of these along others."""
    axis = dim % self.rank
    return reshaped(gathered_along(self.tensor, counted(index, self.shape[axis]), axis), node.shape)


_COMBINE: dict[str, Combine] = {
    "sum": "add", "add": "add", "prod": "multiply", "multiply": "multiply", "amax": "maximum",
    "amin": "minimum",
}  # fmt: skip


def _combined(self: Operand, dim: int, index: Operand, values: Tensor, combine: Combine) -> Tensor:
    axis = dim % self.rank
    return scattered_along(self.tensor, counted(index, self.shape[axis]), values, axis, combine)


@operator("aten.scatter.src aten.scatter_add.default aten.scatter.reduce", types=MOVED)
def scatter(
    node: Node, self: Operand, dim: int, index: Operand, src: Operand, reduce: str = "update"
) -> Tensor:
    """A tensor with elements replaced, or combined, at indices along one dimension."""
    values = sliced(src.tensor, (0,) * src.rank, index.shape)
    adds = ".scatter_add." in node.record.target
    return _combined(self, dim, index, values, "add" if adds else _COMBINE.get(reduce, "update"))


@operator("aten.scatter.value", types=MOVED)
def scatter_value(node: Node, self: Operand, dim: int, index: Operand, value: float) -> Tensor:
    """A tensor with elements replaced by a number at indices along one dimension."""
    return _combined(self, dim, index, _filled(self, value, index.shape), "update")


def _filled(like: Operand, value: float, shape: Sequence[int]) -> Tensor:
    single: Tensor = ops.const(np.full((1,) * len(shape), value, like.dtype.storage))
    return expanded(single, shape)


@operator("aten.scatter_reduce.two", types=NUMBERS)
def scatter_reduce(
    node: Node, self: Operand, dim: int, index: Operand, src: Operand, reduce: str, include_self: bool = True
) -> Tensor:
    """A tensor with elements combined at indices along one dimension."""
    values, base = sliced(src.tensor, (0,) * src.rank, index.shape), self
    combine = _COMBINE.get("sum" if reduce == "mean" else reduce)
    if combine is None or (reduce == "mean" and not self.type.is_float):
        raise Refused(f"it combines {self.type.label} by {reduce!r}")
    if not include_self:
        start = _filled(self, nothing(self.dtype, combine), index.shape)
        base = node.of(_combined(self, dim, index, start, "update"), self.type)
    found = _combined(base, dim, index, values, combine)
    if reduce != "mean":
        return found
    ones = node.of(_filled(self, 1, self.shape), self.type)
    if not include_self:
        ones = node.of(_combined(ones, dim, index, _filled(self, 0, index.shape), "update"), self.type)
    return divided(found, _combined(ones, dim, index, _filled(self, 1, index.shape), "add"))


@operator("aten.index_add.default", types=NUMBERS)
def index_add(
    node: Node, self: Operand, dim: int, index: Operand, source: Operand, alpha: float = 1
) -> Tensor:
    """A tensor with parts added at indices along one dimension."""
    value = source.tensor if alpha == 1 else ops.mul(source.tensor, number(source.tensor, alpha))
    return _along(self, dim, index, value, "add")


@operator("aten.index_copy.default", types=MOVED)
def index_copy(node: Node, self: Operand, dim: int, index: Operand, source: Operand) -> Tensor:
    """A tensor with parts replaced at indices along one dimension."""
    return _along(self, dim, index, source.tensor, "update")


@operator("aten.index_fill.int_Scalar", types=MOVED)
def index_fill(node: Node, self: Operand, dim: int, index: Operand, value: float) -> Tensor:
    """A tensor with parts replaced by a number at indices along one dimension."""
    axis = dim % self.rank
    shape = (*self.shape[:axis], prod(index.shape), *self.shape[axis + 1 :])
    return _along(self, dim, index, _filled(self, value, shape), "update")


def _along(self: Operand, dim: int, index: Operand, values: Tensor, combine: Combine) -> Tensor:
    """A tensor whose parts along a dimension are combined with others."""
    axis = dim % self.rank
    order = (axis, *(place for place in range(self.rank) if place != axis))
    turned, new = transposed(self.tensor, order), transposed(values, order)
    base = reshaped(turned, (turned.shape[0], -1))
    rows = reshaped(counted(index, self.shape[axis]), (-1, 1))
    found = _scattered(base, rows, reshaped(new, (-1, base.shape[1])), combine)
    return transposed(reshaped(found, turned.shape), [order.index(place) for place in range(self.rank)])


@operator("aten.take_along_dim.default", types=MOVED)
def take_along_dim(node: Node, self: Operand, indices: Operand, dim: int) -> Tensor:
    """Elements at indices along one dimension."""
    return gather(node, self, dim, indices)


@operator("aten.diagonal.default", types=MOVED)
def diagonal(node: Node, self: Operand, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A diagonal of matrices, along a last dimension."""
    axes = [dim1 % self.rank, dim2 % self.rank]
    rest = [place for place in range(self.rank) if place not in axes]
    turned = transposed(self.tensor, (*rest, *axes))
    rows, columns = turned.shape[-2:]
    flat = reshaped(turned, (*turned.shape[:-2], rows * columns))
    start = offset if offset >= 0 else -offset * columns
    places = start + np.arange(node.shape[-1], dtype=np.int32) * (columns + 1)
    return gathered(flat, ops.const(places.astype(np.int32)), flat.ndim - 1)


@operator("aten.as_strided.default", types=f"{_ANY} complex64")
def as_strided(
    node: Node, self: Operand, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """Elements at distances of their own, of a tensor whose elements are one behind the other."""
    if prod(node.shape) > _MOST:
        raise Refused(f"its {prod(node.shape)} elements are too many")
    places = np.array(storage_offset or 0, np.int64)
    for extent, step in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(extent) * step
    if places.size and not 0 <= places.min() <= places.max() < prod(self.shape):
        raise Refused("it sees elements that its operand does not have")
    flat = reshaped(self.tensor, (-1,))
    return reshaped(gathered(flat, ops.const(places.reshape(-1).astype(np.int32)), 0), node.shape)


_SUM, _MEAN, _MAXIMUM = range(3)


@operator("aten._embedding_bag.default aten._embedding_bag_forward_only.default", types=REAL,
          ignored="scale_grad_by_freq sparse include_last_offset")  # fmt: skip
def embedding_bag(
    node: Node,
    weight: Operand,
    indices: Operand,
    offsets: Operand,
    mode: int = _SUM,
    per_sample_weights: Operand | None = None,
    padding_idx: int = -1,
) -> Tensor:
    """The sum, the mean or the maximum of rows at indices, for each range of these."""
    bounds = [*offsets.raw.tolist(), indices.shape[0]][: node.shape[0] + 1]
    if padding_idx >= 0 or mode not in (_SUM, _MEAN, _MAXIMUM):
        raise Refused("it leaves out rows of padding", "give them weights of zero")
    if bounds != sorted(bounds) or bounds[-1] > indices.shape[0]:
        raise Refused("its ranges do not follow each other")
    rows = gathered(weight.tensor, indices.typed(Type.INT64).tensor, 0)
    if per_sample_weights is not None:
        rows = ops.mul(rows, reshaped(per_sample_weights.tensor, (-1, 1)))
    depth, sizes = node.shape[1], {end - start for start, end in pairwise(bounds)}
    if len(sizes) == 1 and bounds[0] == 0 and (size := sizes.pop()):
        bags = reshaped(sliced(rows, (0, 0), (bounds[-1], depth)), (node.shape[0], size, depth))
        return reshaped(_of_bag(bags, mode), node.shape)
    none = ops.const(np.zeros((1, depth), weight.dtype.storage))
    found = [
        reshaped(_of_bag(reshaped(part(rows, 0, start, end - start), (1, -1, depth)), mode), (1, depth))
        if end > start else none
        for start, end in pairwise(bounds)
    ]  # fmt: skip
    return joined(found, 0)


def _of_bag(rows: Tensor, mode: int) -> Tensor:
    if mode == _MAXIMUM:
        return ops.reduce_max(rows, axis=1)
    found: Tensor = ops.reduce_sum(rows, axis=1)
    return found if mode == _SUM else ops.mul(found, number(found, 1 / rows.shape[1]))


@operator("aten.bucketize.Tensor", types=NUMBERS, ignored="out_int32")
def bucketize(node: Node, self: Operand, boundaries: Operand, right: bool = False) -> Operand:
    """How many boundaries are below elements."""
    value = reshaped(self.tensor, (*self.shape, 1))
    bounds = reshaped(boundaries.typed(self.type).tensor, (*(1,) * self.rank, -1))
    above = ops.greater_equal(value, bounds) if right else ops.greater(value, bounds)
    total = ops.reduce_sum(ops.cast(above, dtype=INT32), axis=self.rank)
    return node.of(reshaped(total, node.shape), node.type)
