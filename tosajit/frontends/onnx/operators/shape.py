"""Shapes: the same elements in another shape or order, and what is known when the model is read."""

from __future__ import annotations

from math import ceil, prod
from typing import Any

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import reshaped, small, transposed
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import MOVED, operator
from tosajit.frontends.onnx.schema import STORAGE, Type
from tosajit.tracing.tensor import Tensor

_ANY = f"{MOVED} float64 float8e4m3fn float8e5m2 float8e4m3fnuz float8e5m2fnuz float4e2m1"


@operator("Identity", types=_ANY)
def identity(node: Node) -> Operand:
    """The tensor itself."""
    return node[0]


@dataclass(frozen=True, slots=True)
class DropoutAttributes(Attributes):
    """How much is dropped in training."""

    ratio: float = 0.5


@operator("Dropout", DropoutAttributes, types=MOVED)
def dropout(node: Node, options: DropoutAttributes) -> tuple[Any, ...]:
    """The tensor itself, and that nothing of it is dropped."""
    training = node.optional(2)
    ratio = node.optional(1)
    drops = training is not None and bool(training.number)
    share = options.ratio if ratio is None else float(ratio.number)
    if drops and share:
        raise Refused("it drops random elements, as in training", "export it for inference")
    return node[0], np.broadcast_to(np.array(True), node[0].shape)


@dataclass(frozen=True, slots=True)
class ReshapeAttributes(Attributes):
    """Whether an extent of 0 is one."""

    allowzero: bool = False


def _new_shape(node: Node) -> tuple[int, ...]:
    """The extents that are asked for: 0 stands for the old one, -1 for what is left."""
    found, old = node[1].ints, node[0].shape
    if any(one < -1 for one in found) or found.count(-1) > 1:
        raise Refused(f"its new shape {list(found)} is none")
    if node.attributes(ReshapeAttributes).allowzero:
        return found
    return tuple(old[place] if one == 0 else one for place, one in enumerate(found))


@operator("Reshape", types=_ANY, fold=lambda node: node[0].raw.reshape(_new_shape(node)))
def reshape(node: Node) -> Tensor:
    """The same elements in another shape."""
    return reshaped(node[0].tensor, _new_shape(node))


@dataclass(frozen=True, slots=True)
class AxisAttributes(Attributes):
    """A dimension."""

    axis: int = 1


def _flat(node: Node) -> tuple[int, int]:
    shape, axis = node[0].shape, node.attributes(AxisAttributes).axis
    place = axis + len(shape) if axis < 0 else axis
    return prod(shape[:place]), prod(shape[place:])


@operator("Flatten", types=_ANY, fold=lambda node: node[0].raw.reshape(_flat(node)))
def flatten(node: Node) -> Tensor:
    """A matrix of the dimensions before a place, and those behind it."""
    return reshaped(node[0].tensor, _flat(node))


@dataclass(frozen=True, slots=True)
class AxesAttributes(Attributes):
    """Dimensions: an operand in later versions."""

    axes: tuple[int, ...] | None = None


def axes_given(node: Node, place: int = 1) -> tuple[int, ...] | None:
    """The dimensions that an operand or an attribute names."""
    found = node.optional(place)
    return node.attributes(AxesAttributes).axes if found is None else found.ints


def _squeezed(node: Node) -> tuple[int, ...]:
    shape, given = node[0].shape, axes_given(node)
    if given is None:
        return tuple(one for one in shape if one != 1)
    chosen = axes_of(given, len(shape))
    if any(shape[place] != 1 for place in chosen):
        raise Refused(f"dimensions {list(chosen)} of {list(shape)} have more than one element")
    return tuple(one for place, one in enumerate(shape) if place not in chosen)


@operator("Squeeze", types=_ANY, fold=lambda node: node[0].raw.reshape(_squeezed(node)))
def squeeze(node: Node) -> Tensor:
    """The tensor without dimensions of one element."""
    return reshaped(node[0].tensor, _squeezed(node))


def _raised(node: Node) -> tuple[int, ...]:
    given = axes_given(node) or ()
    rank = node[0].rank + len(given)
    new, rest = axes_of(given, rank), iter(node[0].shape)
    return tuple(1 if place in new else next(rest) for place in range(rank))


@operator("Unsqueeze", types=_ANY, fold=lambda node: node[0].raw.reshape(_raised(node)))
def unsqueeze(node: Node) -> Tensor:
    """The tensor with more dimensions, of one element."""
    return reshaped(node[0].tensor, _raised(node))


@dataclass(frozen=True, slots=True)
class TransposeAttributes(Attributes):
    """The new order."""

    perm: tuple[int, ...] | None = None


def _order(node: Node) -> tuple[int, ...]:
    given = node.attributes(TransposeAttributes).perm
    return tuple(range(node[0].rank))[::-1] if given is None else tuple(one % node[0].rank for one in given)


@operator("Transpose", types=_ANY, fold=lambda node: node[0].raw.transpose(_order(node)))
def transpose(node: Node) -> Tensor:
    """The dimensions in another order."""
    return transposed(node[0].tensor, _order(node))


@dataclass(frozen=True, slots=True)
class PartAttributes(Attributes):
    """The first dimension, and the one behind the last."""

    start: int = 0
    end: int | None = None


@operator("Shape", PartAttributes)
def shape(node: Node, options: PartAttributes) -> Array:
    """The shape of a tensor, which is known when the model is read."""
    return np.array(node[0].shape[options.start : options.end], np.int64)


@operator("Size")
def size(node: Node) -> Array:
    """The number of elements, which is known when the model is read."""
    return np.array(prod(node[0].shape), np.int64)


@dataclass(frozen=True, slots=True)
class ConstantAttributes(Attributes):
    """Where the elements are."""

    value: Any = None
    value_float: float | None = None
    value_floats: tuple[float, ...] | None = None
    value_int: int | None = None
    value_ints: tuple[int, ...] | None = None


@operator("Constant", ConstantAttributes)
def constant(node: Node, options: ConstantAttributes) -> Array:
    """Elements that the model has."""
    if options.value is not None:
        found: Array = options.value
        return found
    for real in (options.value_float, options.value_floats):
        if real is not None:
            return np.array(real, np.float32)
    for whole in (options.value_int, options.value_ints):
        if whole is not None:
            return np.array(whole, np.int64)
    raise Refused("it is a text or a sparse tensor, which TOSA lacks")


@dataclass(frozen=True, slots=True)
class FillAttributes(Attributes):
    """The number."""

    value: Any = None


@operator("ConstantOfShape", FillAttributes)
def constant_of_shape(node: Node, options: FillAttributes) -> Array:
    """One number in a shape."""
    single = np.zeros(1, np.float32) if options.value is None else options.value
    if min(node[0].ints, default=0) < 0:
        raise Refused(f"its shape {list(node[0].ints)} is none")
    return np.broadcast_to(single.reshape(()), node[0].ints)


@operator("Range", types="float32 float16 bfloat16 float64 int16 int32 int64")
def range_(node: Node) -> Array:
    """Numbers from a start to a limit, each a step behind the one before: all are known beforehand."""
    start, limit, step = (one.number for one in node.given)
    if step == 0 or not small((max(ceil((limit - start) / step), 0),)):
        raise Refused(f"its numbers from {start} to {limit} by {step} are too many")
    count = max(ceil((limit - start) / step), 0)
    return np.asarray(start + np.arange(count) * step, node[0].raw.dtype)


def _grown(node: Node) -> tuple[int, ...]:
    return np.broadcast_shapes(node[0].shape, node[1].ints)


def _expanded(node: Node) -> Array | None:
    shape = _grown(node)
    return np.broadcast_to(node[0].raw, shape) if small(shape) or node[0].raw.size == 1 else None


@operator("Expand", types=MOVED, fold=_expanded)
def expand(node: Node) -> Tensor:
    """The tensor with dimensions of one element repeated."""
    return expanded(node[0].tensor, _grown(node))


@operator("Tile", types=MOVED, fold=lambda node: np.tile(node[0].raw, node[1].ints))
def tile(node: Node) -> Tensor:
    """The tensor several times along each dimension."""
    return ops.tile(node[0].tensor, node[1].ints)


@dataclass(frozen=True, slots=True)
class LikeAttributes(Attributes):
    """The diagonal, and the type."""

    k: int = 0
    dtype: int | None = None


@operator("EyeLike", LikeAttributes)
def eye_like(node: Node, options: LikeAttributes) -> Array:
    """Ones on a diagonal, which are known when the model is read."""
    if node[0].rank != 2 or not small(node[0].shape):
        raise Refused(f"its matrix {list(node[0].shape)} is none, or too large")
    kind = node[0].type if options.dtype is None else Type(options.dtype)
    rows, columns = node[0].shape
    return np.eye(rows, columns, options.k).astype(STORAGE[kind])


@dataclass(frozen=True, slots=True)
class TriangleAttributes(Attributes):
    """Which half is kept."""

    upper: bool = True


@operator("Trilu", TriangleAttributes, types=MOVED)
def trilu(node: Node, options: TriangleAttributes) -> Tensor:
    """Matrices with zeros on one side of a diagonal."""
    value, place = node[0].tensor, node.optional(1)
    k = 0 if place is None else int(place.number)
    rows, columns = value.shape[-2:]
    if not small((rows, columns)):
        raise Refused(f"its matrices of {rows} by {columns} elements are too large")
    ones = np.ones((rows, columns), np.bool_)
    mask = np.triu(ones, k) if options.upper else np.tril(ones, k)
    lead = (1,) * (value.ndim - 2)
    zero = np.zeros((1,) * value.ndim, value.dtype.storage)
    kept: Tensor = ops.select(ops.const(mask.reshape(*lead, rows, columns)), value, zero)
    return kept
