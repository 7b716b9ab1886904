"""Reductions along several dimensions, of which neighbours are one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from tosajit import ops
from tosajit.dtypes import BOOL, INT32
from tosajit.frontends.common.layout import part, reshaped
from tosajit.frontends.common.scale import number_like
from tosajit.tracing.tensor import Tensor

Many = tuple[Tensor, ...]


def axes_of(given: Sequence[int], rank: int) -> tuple[int, ...]:
    """Dimensions in order, each once, counted from the front; `IndexError` for one that is not there."""
    for axis in given:
        if not -rank <= axis < rank:
            raise IndexError(f"dimension {axis} of {rank}")
    return tuple(sorted({axis % rank for axis in given}))


def shape_without(shape: Sequence[int], axes: Sequence[int], keep: bool) -> tuple[int, ...]:
    """The shape after a reduction."""
    return tuple(
        1 if place in axes else extent for place, extent in enumerate(shape) if keep or place not in axes
    )


def reduced(
    reduce: Callable[[Tensor, int], Tensor], value: Tensor, axes: Sequence[int], keep: bool
) -> Tensor:
    """A tensor after a reduction along dimensions: `reduce` does one of them."""
    runs = [
        (is_reduced, list(run)) for is_reduced, run in groupby(range(value.ndim), lambda one: one in axes)
    ]
    result = reshaped(value, [_size(value.shape, run) for _, run in runs])
    for place, (is_reduced, _) in enumerate(runs):
        if is_reduced and result.shape[place] != 1:
            result = reduce(result, place)
    return reshaped(result, shape_without(value.shape, axes, keep))


def summed(value: Tensor, axes: Sequence[int], keep: bool) -> Tensor:
    """The sum along dimensions."""
    return reduced(lambda one, axis: ops.reduce_sum(one, axis=axis), value, axes, keep)


def product(value: Tensor, axis: int) -> Tensor:
    """The product along a dimension; of integers, which TOSA has no reduction for, by halves."""
    if value.dtype is not INT32:
        return ops.reduce_product(value, axis=axis)
    return halved(value, axis, lambda one, other: ops.mul(one, other))


def halved(value: Tensor, axis: int, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """What combines all elements along a dimension, by halves."""
    (found,) = halves((value,), axis, lambda first, second: (combine(*first, *second),))
    return found


def halves(values: Many, axis: int, combine: Callable[[Many, Many], Many]) -> Many:
    """The same of several tensors together."""
    rest: list[Many] = []
    while (extent := values[0].shape[axis]) > 1:
        half = extent // 2
        if extent % 2:
            rest.append(tuple(part(one, axis, extent - 1, 1) for one in values))
        low, high = (tuple(part(one, axis, start, half) for one in values) for start in (0, half))
        values = combine(low, high)
    for one in rest:
        values = combine(values, one)
    return values


def place_of_greatest(value: Tensor, axis: int) -> Tensor:
    """Where the greatest element along a dimension is, the first of them."""
    if value.dtype not in (INT32, BOOL):
        return ops.argmax(value, axis=axis)
    numbers = ops.cast(value, dtype=INT32) if value.dtype is BOOL else value
    extent = value.shape[axis]
    shape = [extent if place == axis else 1 for place in range(value.ndim)]
    places = np.arange(extent, dtype=np.int32).reshape(shape)
    greatest = ops.equal(numbers, ops.reduce_max(numbers, axis=axis))
    first = ops.reduce_min(ops.select(greatest, places, number_like(value, extent)), axis=axis)
    return reshaped(first, shape_without(value.shape, (axis,), keep=False))


def _size(shape: Sequence[int], places: Sequence[int]) -> int:
    size = 1
    for place in places:
        size *= shape[place]
    return size
