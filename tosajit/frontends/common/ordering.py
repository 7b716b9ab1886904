"""What goes through elements in an order: running sums, turned sequences, the greatest elements."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import part, reshaped, transposed
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.scale import number_like, wide
from tosajit.frontends.common.tables import saturated
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor


def running_sums(value: Tensor, axis: int, *, exclusive: bool, reverse: bool) -> Tensor:
    """The sums of the elements of a dimension up to each of them, or before it."""
    value = ops.reverse(value, axis=axis) if reverse else value
    value = _delayed(value, axis, 1) if exclusive else value
    step = 1
    while step < value.shape[axis]:
        value, step = ops.add(value, _delayed(value, axis, step)), 2 * step
    return ops.reverse(value, axis=axis) if reverse else value


def _delayed(value: Tensor, axis: int, step: int) -> Tensor:
    """Elements moved behind by steps, zeros before them."""
    borders = [(step if place == axis else 0, 0) for place in range(value.ndim)]
    extent = value.shape[axis]
    return part(padded(value, borders), axis, 0, extent)


def turned_sequences(value: Tensor, lengths: Tensor, batch: int, axis: int) -> Tensor:
    """The first elements of a dimension turned round, as many as a number for each index of another says."""
    if batch == axis:
        raise Refused(f"its sequences and its lengths are both along dimension {axis}")
    order = [batch, axis, *(place for place in range(value.ndim) if place not in (batch, axis))]
    count = reshaped(lengths, (-1, 1))
    places = numbered(value.shape[axis], 1, 2)
    last = ops.sub(count, number_like(count, 1))
    indices = ops.select(ops.greater(count, places), ops.sub(last, places), places)
    turned = gathered(transposed(value, order), indices, 1, 1)
    return transposed(turned, [order.index(place) for place in range(value.ndim)])


def greatest(value: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The greatest elements along the last dimension, and where they are; of equal ones the first."""
    axis, extent = value.ndim - 1, value.shape[-1]
    if not 0 < count <= extent:
        raise Refused(f"it takes {count} of {extent} elements")
    rest = value if value.dtype in (FP32, INT32) else wide(value)
    least = number(rest, -np.inf if rest.dtype is FP32 else np.iinfo(np.int32).min)
    places, values, indices = numbered(extent, axis, value.ndim), list[Tensor](), list[Tensor]()
    left: Tensor | None = None
    for _ in range(count):
        most = ops.reduce_max(rest, axis=axis)
        found = ops.equal(rest, most)
        found = found if left is None else ops.logical_and(found, left)
        first = ops.reduce_min(ops.select(found, places, number_like(rest, extent)), axis=axis)
        values, indices = [*values, most], [*indices, first]
        others = ops.logical_not(ops.equal(ops.const(places), first))
        left = others if left is None else ops.logical_and(left, others)
        rest = ops.select(others, rest, least)
    found_values = _joined(values, axis)
    narrow = found_values if found_values.dtype is value.dtype else saturated(found_values, value.dtype)
    return narrow, _joined(indices, axis)


def _joined(values: list[Tensor], axis: int) -> Tensor:
    return values[0] if len(values) == 1 else ops.concat(values, axis=axis)
