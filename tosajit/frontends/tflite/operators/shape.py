"""Shapes: the same elements in another shape or order, parts of tensors, and tensors put together."""

from __future__ import annotations

from typing import Any

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.common.layout import joined, part, reshaped, transposed
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.common.slices import Masks, Range, cut, masked, strided
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import (
    ConcatenationOptions,
    PackOptions,
    ReshapeOptions,
    SplitOptions,
    SqueezeOptions,
    StridedSliceOptions,
    UnpackOptions,
)
from tosajit.frontends.tflite.quantized import activated, clamped, requantized
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor

_TYPES = "float32 float16 int8 uint8 int16 int32 int64 bool"
_SHAPED = f"{_TYPES} complex64"


@operator("RESHAPE", ReshapeOptions, types=_SHAPED, versions=2,
          fold=lambda node: node[0].raw.reshape(_new_shape(node)))  # fmt: skip
def reshape(node: Node, options: ReshapeOptions) -> Tensor:
    """The same elements in another shape."""
    return _shaped(node[0], _new_shape(node))


def _shaped(value: Operand, shape: tuple[int, ...]) -> Tensor:
    """The same elements; complex numbers have one more dimension, the first."""
    return reshaped(value.tensor, (2, *shape) if value.type is Type.COMPLEX64 else shape)


def _new_shape(node: Node) -> tuple[int, ...]:
    given = node.optional(1)
    if given is not None and given.rank == 1 and given.type.label == "int32":
        return given.ints
    found = node.attributes(ReshapeOptions).new_shape
    return () if found == (0,) else found


@operator("SQUEEZE", SqueezeOptions, types=_SHAPED, versions=2,
          fold=lambda node: node[0].raw.reshape(_squeezed(node)))  # fmt: skip
def squeeze(node: Node, options: SqueezeOptions) -> Tensor:
    """The tensor without dimensions of one element."""
    return _shaped(node[0], _squeezed(node))


def _squeezed(node: Node) -> tuple[int, ...]:
    shape, given = node[0].shape, node.attributes(SqueezeOptions).squeeze_dims
    chosen = axes_of(given, len(shape)) if given else [place for place, one in enumerate(shape) if one == 1]
    return tuple(one for place, one in enumerate(shape) if place not in chosen or one != 1)


@operator("EXPAND_DIMS", types=_SHAPED, fold=lambda node: node[0].raw.reshape(_raised(node)))
def expand_dims(node: Node) -> Tensor:
    """The tensor with one more dimension, of one element."""
    return _shaped(node[0], _raised(node))


def _raised(node: Node) -> tuple[int, ...]:
    shape, (axis,) = node[0].shape, node[1].ints
    (place,) = axes_of([axis], len(shape) + 1)
    return (*shape[:place], 1, *shape[place:])


@operator("TRANSPOSE", types=_TYPES, versions=6, fold=lambda node: node[0].raw.transpose(node[1].ints))
def transpose(node: Node) -> Tensor:
    """The dimensions in another order."""
    perms = tuple(one % max(node[0].rank, 1) for one in node[1].ints)
    return transposed(node[0].tensor, perms)


def shape_of(node: Node) -> Array:
    """The extents of a tensor."""
    return np.array(node[0].shape, np.int64)


@operator("SHAPE")
def shape(node: Node) -> Array:
    """The shape of a tensor, which is known when the model is read."""
    return shape_of(node)


@operator("RANK")
def rank(node: Node) -> Array:
    """The number of dimensions, which is known when the model is read."""
    return np.array(node[0].rank, np.int32)


@operator("SLICE", types=_TYPES, versions=6, fold=lambda node: cut(node[0].raw, _slice_ranges(node)))
def slice_(node: Node) -> Tensor:
    """A part of a tensor."""
    return strided(node[0].tensor, _slice_ranges(node))


def _slice_ranges(node: Node) -> list[Range]:
    ones = zip(node[0].shape, node[1].ints, node[2].ints, strict=True)
    return [Range(start, extent if size < 0 else start + size) for extent, start, size in ones]


@operator("STRIDED_SLICE", StridedSliceOptions, types=_TYPES, versions=8,
          fold=lambda node: _strided_parts(node, node[0].raw))  # fmt: skip
def strided_slice(node: Node, options: StridedSliceOptions) -> Tensor:
    """A part of a tensor, along each dimension every so many elements."""
    ranges, shape = _strided_ranges(node)
    return reshaped(strided(node[0].tensor, ranges), shape)


def _strided_parts(node: Node, data: Array) -> Array:
    ranges, shape = _strided_ranges(node)
    return cut(data, ranges).reshape(shape)


def _strided_ranges(node: Node) -> tuple[list[Range], tuple[int, ...]]:
    """The range of each dimension, and the shape of the result."""
    options = node.attributes(StridedSliceOptions)
    begin, end, step = (node[number].ints for number in (1, 2, 3))
    if options.offset:
        end = tuple(one + other for one, other in zip(begin, end, strict=True))
    masks = Masks(
        options.begin_mask,
        options.end_mask,
        options.ellipsis_mask,
        options.new_axis_mask,
        options.shrink_axis_mask,
    )
    return masked(node[0].shape, begin, end, step, masks)


@operator("CONCATENATION", ConcatenationOptions, types=_TYPES, versions=4,
          fold=lambda node: _joined(node, node.attributes(ConcatenationOptions).axis))  # fmt: skip
def concatenation(node: Node, options: ConcatenationOptions) -> Tensor:
    """Tensors one behind the other along a dimension."""
    result = node.result
    (axis,) = axes_of([options.axis], node[0].rank)
    parts = [requantized(operand, result) for operand in node.inputs if operand.shape[axis]]
    whole = joined(parts or [node[0].tensor], axis)
    activation = options.fused_activation_function
    return clamped(whole, result, activation) if node[0].quantized else activated(whole, activation)


def _joined(node: Node, axis: int) -> Array | None:
    """Constants one behind the other, if they mean the same."""
    if any(operand.quantized for operand in node.inputs):
        return None
    return np.concatenate([operand.raw for operand in node.inputs], axis)


def _stacked(node: Node) -> Array:
    return np.stack([operand.raw for operand in node.inputs], node.attributes(PackOptions).axis)


@operator("PACK", PackOptions, types="float32 int8 uint8 int16 int32 int64", versions=4, fold=_stacked)
def pack(node: Node, options: PackOptions) -> Tensor:
    """Tensors one behind the other along a new dimension."""
    (axis,) = axes_of([options.axis], node[0].rank + 1)
    parts = [_expanded(operand, axis) for operand in node.inputs]
    return joined(parts, axis)


def _expanded(operand: Operand, axis: int) -> Tensor:
    shape = operand.shape
    return reshaped(operand.tensor, (*shape[:axis], 1, *shape[axis:]))


def _unstacked(node: Node) -> tuple[Array, ...]:
    """The parts of a constant along a dimension, without it."""
    return tuple(np.moveaxis(node[0].raw, node.attributes(UnpackOptions).axis, 0))


@operator("UNPACK", UnpackOptions, types="float32 float16 int8 uint8 int16 int32 bool", versions=4,
          fold=_unstacked)  # fmt: skip
def unpack(node: Node, options: UnpackOptions) -> tuple[Tensor, ...]:
    """The parts of a tensor along a dimension, without it."""
    value = node[0]
    (axis,) = axes_of([options.axis], value.rank)
    shape = (*value.shape[:axis], *value.shape[axis + 1 :])
    if value.shape[axis] != len(node.results):
        raise Refused(f"it has {len(node.results)} results, but its operand {value.shape[axis]} parts")
    return tuple(reshaped(part(value.tensor, axis, place, 1), shape) for place in range(value.shape[axis]))


@operator("SPLIT", SplitOptions, types="float32 int8 uint8 int16 int32 int64", versions=4, typed=1,
          fold=lambda node: _cut(node[1], node[0], len(node.results)))  # fmt: skip
def split(node: Node, options: SplitOptions) -> tuple[Tensor, ...]:
    """Equal parts of a tensor along a dimension."""
    value, count = node[1], len(node.results)
    (axis,) = axes_of(node[0].ints, value.rank)
    extent = value.shape[axis] // max(count, 1)
    return tuple(part(value.tensor, axis, place * extent, extent) for place in range(count))


@operator("SPLIT_V", SplitOptions, types="float32 int8 uint8 int16 int32 int64", versions=2,
          fold=lambda node: _cut(node[0], node[2], np.cumsum(_sizes(node))[:-1]))  # fmt: skip
def split_v(node: Node, options: SplitOptions) -> tuple[Tensor, ...]:
    """Parts of a tensor of given extents along a dimension."""
    sizes = _sizes(node)
    (axis,) = axes_of(node[2].ints, node[0].rank)
    starts = (sum(sizes[:place]) for place in range(len(sizes)))
    return tuple(part(node[0].tensor, axis, *one) for one in zip(starts, sizes, strict=True))


def _sizes(node: Node) -> list[int]:
    """The extents of the parts; one that is left open takes what the others leave."""
    value, sizes = node[0], node[1].ints
    (axis,) = axes_of(node[2].ints, value.rank)
    rest = value.shape[axis] - sum(size for size in sizes if size >= 0)
    return [rest if size < 0 else size for size in sizes]


def _cut(value: Operand, axis: Operand, ends: Any) -> tuple[Array, ...]:
    """Parts of a constant along a dimension: so many, or up to each of these ends."""
    return tuple(np.split(value.raw, ends, *axes_of(axis.ints, value.rank)))
