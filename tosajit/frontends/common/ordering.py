"""What goes through elements in an order: running sums, turned sequences, the greatest elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import inf, prod

from tosajit import ops
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.functions import log_of_more
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import part, reshaped, transposed
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.scale import number_like, wide
from tosajit.frontends.common.tables import saturated
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor

_WAYS = 4
"""How many parts of a running sum are added in one pass over the elements."""
_FEW, PAIRS = 16, 1 << 26
"""How many of the greatest elements are looked for one by one; how many pairs are compared otherwise."""


def running_sums(value: Tensor, axis: int, *, exclusive: bool, reverse: bool) -> Tensor:
    """The sums of the elements of a dimension up to each of them, or before it."""
    return _running(ops.add, 0, value, axis, exclusive, reverse)


def running_products(value: Tensor, axis: int, *, exclusive: bool, reverse: bool) -> Tensor:
    """The products of the elements of a dimension up to each of them, or before it."""
    return _running(ops.mul, 1, value, axis, exclusive, reverse)


def running_greatest(value: Tensor, axis: int, *, exclusive: bool, reverse: bool) -> Tensor:
    """The greatest of the elements of a dimension up to each of them, or before it."""
    return _running(ops.maximum, _least(value), value, axis, exclusive, reverse)


def running_least(value: Tensor, axis: int, *, exclusive: bool, reverse: bool) -> Tensor:
    """The least of the elements of a dimension up to each of them, or before it."""
    most = inf if value.dtype.is_float else value.dtype.maximum
    return _running(ops.minimum, most, value, axis, exclusive, reverse)


def running_log_sums(value: Tensor, axis: int, *, exclusive: bool, reverse: bool) -> Tensor:
    """The logarithms of sums of exponentials of the elements of a dimension up to each of them."""
    return _running(_log_sum, -inf, value, axis, exclusive, reverse, ways=2)


def _log_sum(one: Tensor, other: Tensor) -> Tensor:
    return ops.add(ops.maximum(one, other), log_of_more(ops.exp(-ops.abs(ops.sub(one, other)))))


def _running(
    combine: Callable[[Tensor, Tensor], Tensor],
    nothing: float,
    value: Tensor,
    axis: int,
    exclusive: bool,
    reverse: bool,
    ways: int = _WAYS,
) -> Tensor:
    """Combine elements with those a step behind them, in steps that grow.

    Fewer passes cost more operations: that pays where these are cheap, and rows are moved whole.
    """
    value = ops.reverse(value, axis=axis) if reverse else value
    value = _delayed(value, axis, 1, nothing) if exclusive else value
    step, extent = 1, value.shape[axis]
    ways = 2 if axis == value.ndim - 1 else ways
    while step < extent:
        behind = range(step, min(ways * step, extent), step)
        terms = [value, *(_delayed(value, axis, count, nothing) for count in behind)]
        pairs = [reduce(combine, terms[first : first + 2]) for first in range(0, len(terms), 2)]
        value, step = reduce(combine, pairs), ways * step
    return ops.reverse(value, axis=axis) if reverse else value


def _delayed(value: Tensor, axis: int, step: int, nothing: float) -> Tensor:
    """Elements moved behind by steps, and before them what changes nothing."""
    borders = [(step if place == axis else 0, 0) for place in range(value.ndim)]
    extent = value.shape[axis]
    return part(padded(value, borders, nothing), axis, 0, extent)


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
    extent, shape = value.shape[-1], (*value.shape[:-1], count)
    if not 0 < count <= extent:
        raise Refused(f"it takes {count} of {extent} elements")
    numbers = value if value.dtype in (FP32, INT32) else wide(value)
    rows = reshaped(numbers, (prod(shape[:-1]), extent))
    by_rank = count > _FEW and prod(rows.shape) * extent <= PAIRS
    values, places = _by_rank(rows, count) if by_rank else _one_by_one(rows, count)
    narrow = values if values.dtype is value.dtype else saturated(values, value.dtype)
    return reshaped(narrow, shape), reshaped(places, shape)


def _one_by_one(rest: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The greatest elements of rows, each from what those before it leave."""
    extent, least = rest.shape[1], number(rest, _least(rest))
    places, values, indices = numbered(extent, 1, 2), list[Tensor](), list[Tensor]()
    left: Tensor | None = None
    for _ in range(count):
        most = ops.reduce_max(rest, axis=1)
        found = ops.equal(rest, most)
        found = found if left is None else ops.logical_and(found, left)
        first = ops.reduce_min(ops.select(found, places, number_like(rest, extent)), axis=1)
        values, indices = [*values, most], [*indices, first]
        others = ops.logical_not(ops.equal(ops.const(places), first))
        left = others if left is None else ops.logical_and(left, others)
        rest = ops.select(others, rest, least)
    if count == 1:
        return values[0], indices[0]
    return ops.concat(values, axis=1), ops.concat(indices, axis=1)


def _by_rank(value: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The greatest elements of rows, by how many others come before each of them."""
    rows, extent = value.shape
    own, other = (reshaped(value, shape) for shape in ((rows, extent, 1), (rows, 1, extent)))
    places = numbered(extent, 2, 3)
    earlier = ops.greater(ops.const(numbered(extent, 1, 3)), places)
    before = ops.select(earlier, ops.greater_equal(other, own), ops.greater(other, own))
    rank = reshaped(ops.reduce_sum(ops.cast(before, dtype=INT32), axis=2), (rows, 1, extent))
    chosen = ops.equal(rank, numbered(count, 1, 3))
    values = ops.reduce_max(ops.select(chosen, other, number(other, _least(value))), axis=2)
    indices = ops.reduce_max(ops.select(chosen, places, number_like(other, 0)), axis=2)
    return reshaped(values, (rows, count)), reshaped(indices, (rows, count))


def _least(value: Tensor) -> float:
    return -inf if value.dtype.is_float else value.dtype.minimum
