"""Rows that are combined by the number of a segment."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import ml_dtypes

from tosajit import ops
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.reduce import product
from tosajit.frontends.common.scatter import combined
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor

Reduce = Callable[[Tensor, int], Tensor]


def summed(value: Tensor, axis: int) -> Tensor:
    """The sum along a dimension."""
    return ops.reduce_sum(value, axis=axis)


def most(value: Tensor, axis: int) -> Tensor:
    """The greatest element along a dimension."""
    return ops.reduce_max(value, axis=axis)


def least(value: Tensor, axis: int) -> Tensor:
    """The least element along a dimension."""
    return ops.reduce_min(value, axis=axis)


def segmented(reduce: Reduce, value: Tensor, segments: Tensor, count: int) -> Tensor:
    """Rows that are combined where they have one number; what combines with nothing where none has."""
    if value.shape[: segments.ndim] != segments.shape:
        raise Refused(f"its numbers of segments are {list(segments.shape)}, but its rows {list(value.shape)}")
    inner = value.shape[segments.ndim :]
    rows = reshaped(value, (prod(segments.shape), prod(inner)))
    result = combined(reduce, rows, reshaped(segments, (-1,)), count, _nothing(reduce, value))
    return reshaped(result, (count, *inner))


def _nothing(reduce: Reduce, value: Tensor) -> float:
    """What changes nothing that it is combined with."""
    if reduce in (summed, product):
        return 1 if reduce is product else 0
    storage = value.dtype.storage
    ends = ml_dtypes.finfo(storage) if value.dtype.is_float else ml_dtypes.iinfo(storage)
    return float(ends.min if reduce is most else ends.max)
