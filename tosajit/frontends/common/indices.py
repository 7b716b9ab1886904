"""Elements by indices along several dimensions, and indices as places among all elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT32
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.layout import constant_of, like, reshaped
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor

_MOST = 1 << 24
"""How many elements a constant with their numbers may have: few numbers of a file can ask for many."""


def numbered(extent: int, axis: int, rank: int) -> Array:
    """The numbers of the elements of a dimension, as an operand beside a tensor."""
    if extent > _MOST:
        raise Refused(f"{extent} elements along dimension {axis} are too many to be numbered")
    shape = [extent if place == axis else 1 for place in range(rank)]
    return np.arange(extent, dtype=np.int32).reshape(shape)


def linear(indices: Tensor, extents: Sequence[int]) -> Tensor:
    """Indices along the last dimension of a tensor, counted from the first of all elements of a shape."""
    steps = np.array([prod(extents[axis + 1 :]) for axis in range(len(extents))], np.int32)
    data = constant_of(indices)
    if data is not None:
        return like(indices, (data.astype(np.int64) @ steps).astype(data.dtype))
    wide = indices if indices.dtype is INT32 else ops.cast(indices, dtype=INT32)
    terms = ops.mul(wide, steps.reshape((1,) * (indices.ndim - 1) + (-1,)))
    return reshaped(ops.reduce_sum(terms, axis=indices.ndim - 1), indices.shape[:-1])


def gathered_nd(values: Tensor, indices: Tensor) -> Tensor:
    """The elements, or parts, of a tensor at indices along its first dimensions."""
    depth = indices.shape[-1]
    extents, inner = values.shape[:depth], values.shape[depth:]
    return gathered(reshaped(values, (prod(extents), *inner)), linear(indices, extents), 0)


def one_hot(indices: Tensor, axis: int, depth: int, on: Tensor, off: Tensor) -> Tensor:
    """One value where the number along a new dimension is the index, another one elsewhere."""
    shape, rank = indices.shape, indices.ndim + 1
    raised = reshaped(indices, (*shape[:axis], 1, *shape[axis:]))
    chosen = ops.equal(raised, numbered(depth, axis, rank))
    return ops.select(chosen, *(reshaped(one, (1,) * rank) for one in (on, off)))
