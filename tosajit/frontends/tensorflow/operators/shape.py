"""Shapes: the same elements in another shape or order, and what is known when the model is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.common.layout import reshaped, small, transposed
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.elements import STORAGE
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import MOVED, operator
from tosajit.frontends.tensorflow.schema import Type
from tosajit.tracing.tensor import Tensor


@operator("Reshape", types=MOVED, fold=lambda node: node[0].raw.reshape(_new_shape(node)))
def reshape(node: Node) -> Tensor:
    """The same elements in another shape."""
    return reshaped(node[0].tensor, _new_shape(node))


def _new_shape(node: Node) -> tuple[int, ...]:
    found = node[1].ints
    if any(one < -1 for one in found) or found.count(-1) > 1:
        raise Refused(f"its new shape {list(found)} is none")
    return found


@dataclass(frozen=True, slots=True)
class SqueezeAttributes(Attributes):
    """The dimensions that are left out; none means all of one element."""

    squeeze_dims: tuple[int, ...] = ()


def _squeezed(node: Node) -> tuple[int, ...]:
    shape, given = node[0].shape, node.attributes(SqueezeAttributes).squeeze_dims
    chosen = axes_of(given, len(shape)) if given else [place for place, one in enumerate(shape) if one == 1]
    return tuple(one for place, one in enumerate(shape) if place not in chosen or one != 1)


@operator("Squeeze", types=MOVED, fold=lambda node: node[0].raw.reshape(_squeezed(node)))
def squeeze(node: Node) -> Tensor:
    """The tensor without dimensions of one element."""
    return reshaped(node[0].tensor, _squeezed(node))


def _raised(node: Node) -> tuple[int, ...]:
    shape = node[0].shape
    (place,) = axes_of(node[1].ints, len(shape) + 1)
    return (*shape[:place], 1, *shape[place:])


@operator("ExpandDims", types=MOVED, fold=lambda node: node[0].raw.reshape(_raised(node)))
def expand_dims(node: Node) -> Tensor:
    """The tensor with one more dimension, of one element."""
    return reshaped(node[0].tensor, _raised(node))


@operator("Transpose", types=MOVED, fold=lambda node: node[0].raw.transpose(node[1].ints))
def transpose(node: Node) -> Tensor:
    """The dimensions in another order."""
    perms = tuple(one % max(node[0].rank, 1) for one in node[1].ints)
    return transposed(node[0].tensor, perms)


@dataclass(frozen=True, slots=True)
class ShapeAttributes(Attributes):
    """The type of extents."""

    out_type: Type = Type.INT32


def _numbers(values: Sequence[int] | int, options: ShapeAttributes) -> Array:
    return np.array(values, STORAGE[options.out_type])


@operator("Shape", ShapeAttributes)
def shape(node: Node, options: ShapeAttributes) -> Array:
    """The shape of a tensor, which is known when the model is read."""
    return _numbers(node[0].shape, options)


@operator("ShapeN", ShapeAttributes)
def shape_n(node: Node, options: ShapeAttributes) -> tuple[Array, ...]:
    """The shapes of tensors, which are known when the model is read."""
    return tuple(_numbers(one.shape, options) for one in node.operands)


@operator("Size", ShapeAttributes)
def size(node: Node, options: ShapeAttributes) -> Array:
    """The number of elements, which is known when the model is read."""
    return _numbers(int(np.prod(node[0].shape, dtype=np.int64)), options)


@operator("Rank")
def rank(node: Node) -> Array:
    """The number of dimensions, which is known when the model is read."""
    return np.array(node[0].rank, np.int32)


@operator("Range", types="int32 int64 float32")
def range_(node: Node) -> Array:
    """Numbers from a start to a limit, each a step behind the one before: all are known beforehand."""
    start, limit, step = (one.number for one in node.operands)
    if step == 0 or not small((max(ceil((limit - start) / step), 0),)):
        raise Refused(f"its numbers from {start} to {limit} by {step} are too many")
    return np.asarray(np.arange(start, limit, step, dtype=node[0].raw.dtype))


@operator("LinSpace", types="float32")
def linear_space(node: Node) -> Array:
    """Numbers at equal distances between two ones: all are known beforehand."""
    count = int(node[2].number)
    if not small((count,)):
        raise Refused(f"its {count} numbers are too many")
    return np.linspace(node[0].number, node[1].number, count, dtype=node[0].raw.dtype)


@operator("InvertPermutation", types="int32 int64")
def invert_permutation(node: Node) -> Array:
    """The order that takes another one back: known beforehand."""
    return np.argsort(node[0].raw).astype(node[0].raw.dtype)


@operator("BroadcastArgs", types="int32 int64")
def broadcast_args(node: Node) -> Array:
    """The shape that two shapes have in common: known beforehand."""
    return np.array(np.broadcast_shapes(node[0].ints, node[1].ints), node[0].raw.dtype)


@operator("ConcatOffset", types="int32 int64")
def concat_offset(node: Node) -> tuple[Array, ...]:
    """Where parts begin that are put one behind the other: known beforehand."""
    axis, parts = int(node[0].number), [one.raw for one in node.operands[1:]]
    starts, start = [], 0
    for part in parts:
        found = np.zeros_like(part)
        found[axis] = start
        starts.append(found)
        start += int(part[axis])
    return tuple(starts)
