"""Elements that are repeated, turned round or replaced."""

from __future__ import annotations

from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, INT8
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import reshaped, small
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.reader import storage_of
from tosajit.tracing.tensor import Tensor

_TYPES = "float32 float16 int8 uint8 int16 int32 int64 bool"


def _tiled(node: Node) -> Array | None:
    multiples = node[1].ints
    whole = [extent * one for extent, one in zip(node[0].shape, multiples, strict=True)]
    return np.tile(node[0].raw, multiples) if small(whole) else None


@operator("TILE", types=_TYPES, versions=4, fold=_tiled)
def tile(node: Node) -> Tensor:
    """A tensor repeated along its dimensions."""
    multiples = node[1].ints
    return node[0].tensor if all(one == 1 for one in multiples) else ops.tile(node[0].tensor, multiples)


def _broadcast(node: Node) -> Array | None:
    return np.broadcast_to(node[0].raw, node[1].ints) if small(node[1].ints) else None


@operator("BROADCAST_TO", types=_TYPES, versions=3, fold=_broadcast)
def broadcast_to(node: Node) -> Tensor:
    """A tensor whose dimensions of one element are repeated to fill a shape."""
    return expanded(node[0].tensor, node[1].ints)


def _shared_shape(node: Node) -> Array:
    return np.array(np.broadcast_shapes(node[0].ints, node[1].ints), node[0].raw.dtype)


@operator("BROADCAST_ARGS", types="int32 int64", fold=_shared_shape)
def broadcast_args(node: Node) -> Array:
    """The shape that two shapes are broadcast to, which is known when the model is read."""
    return _shared_shape(node)


def _filled(node: Node) -> Array | None:
    return np.full(node[0].ints, node[1].raw) if small(node[0].ints) else None


@operator("FILL", types=_TYPES, versions=4, typed=1, fold=_filled)
def fill(node: Node) -> Tensor:
    """A tensor of a shape, all of whose elements are one number."""
    return expanded(node[1].tensor, node[0].ints)


@operator("ZEROS_LIKE", types="float32 int32 int64", versions=2)
def zeros_like(node: Node) -> Tensor | Array:
    """Zeros in the shape of a tensor."""
    shape, storage = node[0].shape, storage_of(node.result.type)
    if small(shape):
        return np.zeros(shape, storage)
    return expanded(ops.const(np.zeros((1,) * len(shape), node.result.dtype.storage)), shape)


@operator("REVERSE_V2", types=_TYPES, versions=4)
def reverse_v2(node: Node) -> Tensor:
    """A tensor turned round along dimensions."""
    value = node[0].tensor
    for axis in node[1].ints:
        if not -value.ndim <= axis < value.ndim:
            raise Refused(f"it turns dimension {axis} round, but its operand has {value.ndim}")
        value = ops.reverse(value, axis=axis % value.ndim)
    return value


@operator("DYNAMIC_UPDATE_SLICE", types=_TYPES, versions=4)
def dynamic_update_slice(node: Node) -> Tensor:
    """A tensor with a part replaced that begins where another tensor says."""
    value, update = node[0], node[1]
    shape, size = value.shape, update.shape
    if len(size) != len(shape) or any(part > whole for part, whole in zip(size, shape, strict=True)):
        raise Refused(f"its update {list(size)} is no part of {list(shape)}")
    partial = [axis for axis, (part, whole) in enumerate(zip(size, shape, strict=True)) if part < whole]
    if not partial:
        return update.tensor
    first, last = partial[0], partial[-1] + 1
    count, depth = prod(shape[:first]), prod(shape[last:])
    rows = _rows(node[2], shape, size, range(first, last))
    tensors = (_storable(one.tensor) for one in (value, update))
    whole, part = (reshaped(one, (count, -1, depth)) for one in tensors)
    result = reshaped(ops.scatter(whole, expanded(rows, (count, rows.shape[1])), part), shape)
    return ops.cast(result, dtype=BOOL) if value.dtype is BOOL else result


def _rows(start: Operand, shape: tuple[int, ...], size: tuple[int, ...], axes: range) -> Tensor:
    """The places of the elements of a part, counted along some dimensions."""
    if not small([size[axis] for axis in axes]):
        raise Refused(f"its update {list(size)} leaves gaps in too many places")
    steps = np.array([prod(shape[axis + 1 : axes.stop]) for axis in axes], np.int32)
    grid = np.indices([size[axis] for axis in axes]).reshape(len(axes), -1)
    places = (steps @ grid).astype(np.int32).reshape(1, -1)
    most = np.array([shape[axis] - size[axis] for axis in axes], np.int32)
    begun = ops.slice(start.tensor, (axes.start,), (len(axes),))
    inside = ops.minimum(ops.maximum(begun, np.zeros(1, np.int32)), most)
    first = reshaped(ops.reduce_sum(ops.mul(inside, steps), axis=0), (1, 1))
    return ops.add(first, places)


def _storable(value: Tensor) -> Tensor:
    """A tensor whose elements can be scattered: truths as bytes."""
    return ops.cast(value, dtype=INT8) if value.dtype is BOOL else value
