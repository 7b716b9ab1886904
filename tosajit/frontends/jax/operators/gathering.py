"""Parts of tensors at indices: gathered, and replaced or combined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.common.addressed import (
    Addresses,
    gathered_parts,
    part_sizes,
    places_of,
    scattered_parts,
)
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import constant_of, joined, like, reshaped
from tosajit.frontends.common.numbers import number, typed
from tosajit.frontends.common.scatter import Combine
from tosajit.frontends.common.slices import Range, strided
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.jax.node import Node, Operand
from tosajit.frontends.jax.operators import MOVED, NUMBERS, operator
from tosajit.frontends.jax.schema import Type
from tosajit.tracing.tensor import Tensor

_DROPPED = "FILL_OR_DROP"


@dataclass(frozen=True, slots=True)
class GatherAttributes(Attributes):
    """Which dimensions belong together, the extents of parts, and what parts beyond an end become."""

    dimension_numbers: Mapping[str, tuple[int, ...]]
    slice_sizes: tuple[int, ...]
    mode: str
    fill_value: float | None = None


@operator("gather", GatherAttributes, types=MOVED)
def gather(node: Node, options: GatherAttributes) -> Tensor:
    """Parts of one size that begin at indices."""
    value, numbers = node[0].tensor, options.dimension_numbers
    batches = numbers["operand_batching_dims"]
    indices = _batched(_indices(node[1]), numbers["start_indices_batching_dims"])
    along = (*numbers["start_index_map"], *batches)
    left_out = tuple(sorted((*numbers["collapsed_slice_dims"], *batches)))
    at = Addresses(numbers["offset_dims"], left_out, along, indices.ndim - 1)
    found = gathered_parts(value, indices, at, options.slice_sizes)
    if options.mode != _DROPPED:
        return found
    inside = _inside(indices, _most(value.shape, options.slice_sizes, along))
    if inside is None:
        return found
    of_places = [axis for axis in range(found.ndim) if axis not in at.of_parts]
    extents = dict(zip(of_places, inside.shape, strict=True))
    mask = reshaped(inside, [extents.get(axis, 1) for axis in range(found.ndim)])
    return ops.select(mask, found, number(found, _filling(node[0].type, options.fill_value)))


def _filling(kind: Type, given: float | None) -> float:
    """What stands for parts that are not there."""
    if given is not None:
        return given
    if kind is Type.BOOL:
        return True
    if kind.storage.kind not in "iu":
        return np.nan
    bounds = np.iinfo(kind.label)
    found = bounds.min if bounds.min else bounds.max
    if not np.iinfo(np.int32).min <= found <= np.iinfo(np.int32).max:
        raise Refused(
            f"parts that are not there become {found}, which int32 does not hold", 'say mode="clip"'
        )
    return found


@dataclass(frozen=True, slots=True)
class ScatterAttributes(Attributes):
    """Which dimensions belong together, and what becomes of parts beyond an end."""

    dimension_numbers: Mapping[str, tuple[int, ...]]
    mode: str


def _scatter(node: Node, options: ScatterAttributes, combine: Combine) -> Tensor:
    value, updates, numbers = node[0].tensor, node[2].tensor, options.dimension_numbers
    batches = numbers["operand_batching_dims"]
    indices = _batched(_indices(node[1]), numbers["scatter_indices_batching_dims"])
    along = (*numbers["scatter_dims_to_operand_dims"], *batches)
    left_out = tuple(sorted((*numbers["inserted_window_dims"], *batches)))
    at = Addresses(numbers["update_window_dims"], left_out, along, indices.ndim - 1)
    sizes = part_sizes(value.shape, updates.shape, at)
    most = _most(value.shape, sizes, along)
    if options.mode == "CLIP":
        indices = _clipped(indices, most)
    elif any(sizes[axis] > 1 for axis in along):
        indices = _whole(indices, most, [value.shape[axis] for axis in along])
    if combine == "update" or value.dtype in (FP32, INT32):
        return scattered_parts(value, indices, updates, at, combine)
    found = scattered_parts(typed(value, FP32), indices, typed(updates, FP32), at, combine)
    return typed(found, value.dtype)


def _declare(
    name: str, combine: Combine, summary: str, turn: Callable[[Tensor], Tensor] | None = None
) -> None:
    def lower(node: Node, options: ScatterAttributes) -> Tensor:
        return _scatter(node if turn is None else _turned(node, turn), options, combine)

    lower.__doc__ = summary
    types = MOVED if combine == "update" else NUMBERS
    operator(name, ScatterAttributes, types=types)(lower if combine == "update" else widened(lower))


def _turned(node: Node, turn: Callable[[Tensor], Tensor]) -> Node:

    value, indices, updates = node.operands
    return replace(node, operands=(value, indices, replace(updates, value=turn(updates.tensor))))


_declare("scatter", "update", "A tensor with parts that begin at indices replaced.")
_declare("scatter-add", "add", "A tensor with others added to parts that begin at indices.")
_declare(
    "scatter-sub", "add", "A tensor with others taken from parts that begin at indices.", lambda one: -one
)
_declare("scatter-mul", "multiply", "A tensor with parts that begin at indices times others.")
_declare("scatter-max", "maximum", "A tensor with the greater elements of parts at indices, and of others.")
_declare("scatter-min", "minimum", "A tensor with the lesser elements of parts at indices, and of others.")


@dataclass(frozen=True, slots=True)
class DynamicAttributes(Attributes):
    """The extents of the part."""

    slice_sizes: tuple[int, ...]


@operator("dynamic_slice", DynamicAttributes, types=MOVED)
def dynamic_slice(node: Node, options: DynamicAttributes) -> Tensor:
    """A part that begins at places that are computed; one that would reach beyond an end is moved inside."""
    value, sizes = node[0].tensor, options.slice_sizes
    starts = _known(node.operands[1:], _most(value.shape, sizes, range(value.ndim)))
    if starts is not None:
        return strided(value, [Range(one, one + size) for one, size in zip(starts, sizes, strict=True)])
    at = _parts(value, sizes)
    if not at.along:
        return value
    return gathered_parts(value, _vector([node[1 + axis] for axis in at.along]), at, sizes)


@operator("dynamic_update_slice", types=MOVED)
def dynamic_update_slice(node: Node) -> Tensor:
    """A tensor with a part replaced that begins at places that are computed."""
    value, update = node[0].tensor, node[1].tensor
    at = _parts(value, update.shape)
    if not at.along:
        return update
    starts = _vector([node[2 + axis] for axis in at.along])
    inside = _clipped(starts, _most(value.shape, update.shape, at.along))
    return scattered_parts(value, inside, update, at, "update")


def _parts(value: Tensor, sizes: Sequence[int]) -> Addresses:
    """One part, at an index for each dimension that it has not all of."""
    along = tuple(axis for axis in range(value.ndim) if sizes[axis] < value.shape[axis])
    return Addresses(tuple(range(value.ndim)), (), along, 0)


def _known(starts: Sequence[Operand], most: Array) -> list[int] | None:
    """The beginning of a part, if it is known."""
    if not all(one.is_constant for one in starts):
        return None
    return [min(max(int(one.number), 0), int(limit)) for one, limit in zip(starts, most, strict=True)]


def _vector(starts: Sequence[Operand]) -> Tensor:
    """Numbers behind each other."""
    if all(one.is_constant for one in starts):
        found: Tensor = ops.const(np.array([int(one.number) for one in starts], np.int32))
        return found
    each = [reshaped(_indices(one), (1,)) for one in starts]
    return joined(each, 0)


def _indices(operand: Operand) -> Tensor:
    value = operand.tensor
    data = constant_of(value)
    if data is not None and value.dtype is not INT32:
        known: Tensor = ops.const(data.astype(np.int32))
        return known
    return typed(value, INT32)


def _batched(indices: Tensor, batches: Sequence[int]) -> Tensor:
    """Indices with their own places along dimensions that the tensor has as well."""
    if not batches:
        return indices
    shape = (*indices.shape[:-1], 1)
    own = (numbered(indices.shape[axis], axis, indices.ndim) for axis in batches)
    data = constant_of(indices)
    if data is not None:
        return like(indices, np.concatenate([data, *(np.broadcast_to(one, shape) for one in own)], -1))
    columns = [expanded(ops.const(one), shape) for one in own]
    return ops.concat([indices, *columns], axis=indices.ndim - 1)


def _most(shape: Sequence[int], sizes: Sequence[int], along: Sequence[int]) -> Array:
    """The last places at which parts are inside."""
    return np.array([shape[axis] - sizes[axis] for axis in along], np.int32)


def _beside(indices: Tensor, numbers: Array) -> Array:
    return numbers.reshape((1,) * (indices.ndim - 1) + (-1,))


def _clipped(indices: Tensor, most: Array) -> Tensor:
    data = constant_of(indices)
    if data is not None:
        return like(indices, np.clip(data, 0, most).astype(np.int32))
    return ops.minimum(ops.maximum(indices, number(indices, 0)), _beside(indices, most))


def _each_inside(indices: Tensor, most: Array) -> Tensor:
    low = ops.greater_equal(indices, number(indices, 0))
    high: Tensor = ops.greater_equal(ops.const(_beside(indices, most)), indices)
    return ops.logical_and(low, high)


def _inside(indices: Tensor, most: Array) -> Tensor | None:
    """Whether parts are inside, for each place of indices; None where all are known to be."""
    data = constant_of(indices)
    if data is not None:
        known = ((data >= 0) & (data <= most)).all(-1)
        return None if known.all() else ops.const(known)
    axis = indices.ndim - 1
    found = ops.reduce_all(_each_inside(indices, most), axis=axis)
    return reshaped(found, places_of(found.shape, axis))


def _whole(indices: Tensor, most: Array, extents: Sequence[int]) -> Tensor:
    """Indices whose parts are inside; those of others are moved so far that no element of them is."""
    data = constant_of(indices)
    outside = _beside(indices, -np.array(extents, np.int32))
    if data is not None:
        inside = ((data >= 0) & (data <= most)).all(-1, keepdims=True)
        return like(indices, np.where(inside, data, outside).astype(np.int32))
    mask = ops.reduce_all(_each_inside(indices, most), axis=indices.ndim - 1)
    return ops.select(mask, indices, outside)
