"""Moving elements: shapes, slices and turns that constants take part in when the model is read."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array, frozen
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor

_SMALL = 1 << 16
_MOST_JOINED = 64
"""Operands of a CONCAT: MAX_TENSOR_LIST_SIZE of level 8K."""


def small(shape: Sequence[int]) -> bool:
    """Whether constants of a shape may be made when a model is read: few numbers can ask for many."""
    return prod(shape) <= _SMALL


def constant_of(value: Tensor | Array) -> Array | None:
    """The elements of a constant, None for what is computed."""
    return value.value.data if isinstance(value, Tensor) else value


def like(value: Tensor | Array, elements: Array) -> Tensor:
    """A constant of the type and the name of another one."""
    trace = current_trace()
    assert trace is not None
    if isinstance(value, Tensor):
        return trace.constant(elements, value.dtype, value.name)
    made: Tensor = ops.const(elements)
    return made


def reshaped(value: Tensor | Array, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape; -1 stands for the extent that is left."""
    known = prod(one for one in shape if one != -1)
    size = prod(value.shape)
    extents = tuple(size // max(known, 1) if one == -1 else one for one in shape)
    if isinstance(value, Tensor) and value.shape == extents:
        return value
    data = constant_of(value)
    if data is not None:
        return like(value, data.reshape(extents))
    assert isinstance(value, Tensor)
    return ops.reshape(value, extents)


def transposed(value: Tensor | Array, perms: Sequence[int]) -> Tensor:
    """Dimensions in another order; a reshape where only extents of one move."""
    shape = tuple(value.shape[place] for place in perms)
    data = constant_of(value)
    if data is not None:
        return like(value, turned(data, perms))
    assert isinstance(value, Tensor)
    long = [place for place in perms if value.shape[place] != 1]
    return reshaped(value, shape) if long == sorted(long) else ops.transpose(value, perms=perms)


def turned(elements: Array, perms: Sequence[int]) -> Array:
    """The elements of a constant with dimensions in another order, one behind the other."""
    return frozen(np.array(elements.transpose(perms), order="C"))


def sliced(value: Tensor | Array, start: Sequence[int], size: Sequence[int]) -> Tensor:
    """A part of a tensor."""
    if isinstance(value, Tensor) and value.shape == tuple(size):
        return value
    data = constant_of(value)
    if data is not None:
        part = data[tuple(slice(one, one + extent) for one, extent in zip(start, size, strict=True))]
        return like(value, np.ascontiguousarray(part))
    assert isinstance(value, Tensor)
    return ops.slice(value, start, size)


def joined(values: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors one behind the other along an axis, however many there are."""
    left = list(values)
    while len(left) > 1:
        groups = [left[start : start + _MOST_JOINED] for start in range(0, len(left), _MOST_JOINED)]
        left = [ops.concat(group, axis=axis) if len(group) > 1 else group[0] for group in groups]
    return left[0]


def part(value: Tensor | Array, axis: int, start: int, extent: int) -> Tensor:
    """A part of one dimension."""
    starts = [start if place == axis else 0 for place in range(len(value.shape))]
    size = [extent if place == axis else one for place, one in enumerate(value.shape)]
    return sliced(value, starts, size)


def split(value: Tensor, axis: int, count: int) -> list[Tensor]:
    """Equal parts of a dimension; what has one element there is in all of them."""
    if count == 1 or value.shape[axis] == 1:
        return [value] * count
    extent = value.shape[axis] // count
    return [part(value, axis, number * extent, extent) for number in range(count)]
