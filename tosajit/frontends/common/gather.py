"""Gathering along any dimension, with dimensions that data and indices share."""

from __future__ import annotations

from math import prod

from tosajit import ops
from tosajit.dtypes import BOOL, INT8, INT32
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import part, reshaped, transposed
from tosajit.tracing.tensor import Tensor

FEWEST = 4
"""Neighbours from which on it takes less to repeat an index than to transpose what it finds."""


def gathered(values: Tensor, indices: Tensor, axis: int, batch_dims: int = 0) -> Tensor:
    """The elements of a dimension at indices, whose shape takes the place of it."""
    shared, between = values.shape[:batch_dims], values.shape[batch_dims:axis]
    extent, inner = values.shape[axis], values.shape[axis + 1 :]
    places = indices.shape[batch_dims:]
    result = (*shared, *between, *places, *inner)
    start = _range(indices)
    if start is not None and not batch_dims:
        return reshaped(part(values, axis, start, prod(places)), result)
    if prod(between) > 1 and prod(inner) >= FEWEST:
        several = (*shared, *between)
        tables = reshaped(values, (prod(several), extent, prod(inner)))
        each = reshaped(indices, (prod(shared), 1, prod(places)))
        each = expanded(each, (prod(shared), prod(between), prod(places)))
        return reshaped(_rows(tables, reshaped(each, (prod(several), prod(places)))), result)
    rank = len(values.shape)
    order = [*range(batch_dims), axis, *range(batch_dims, axis), *range(axis + 1, rank)]
    table = reshaped(transposed(values, order), (prod(shared), extent, prod(between) * prod(inner)))
    found = _rows(table, reshaped(indices, (prod(shared), prod(places))))
    parts = reshaped(found, (prod(shared), prod(places), prod(between), prod(inner)))
    return reshaped(transposed(parts, (0, 2, 1, 3)), result)


def _rows(table: Tensor, indices: Tensor) -> Tensor:
    places = indices if indices.dtype is INT32 else ops.cast(indices, dtype=INT32)
    if table.dtype is not BOOL:
        return ops.gather(table, places)
    return ops.cast(ops.gather(ops.cast(table, dtype=INT8), places), dtype=BOOL)


def _range(indices: Tensor) -> int | None:
    """The first of indices that are constant and follow each other."""
    data = indices.value.data
    if data is None or not data.size:
        return None
    numbers = [int(one) for one in data.reshape(-1)]
    return numbers[0] if numbers == list(range(numbers[0], numbers[0] + len(numbers))) else None
