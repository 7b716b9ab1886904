"""Rows of a matrix that are put into the rows of another one: in place of them, or combined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tosajit import ops
from tosajit.dtypes import BOOL, INT8
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import constant_of, reshaped
from tosajit.frontends.common.numbers import number
from tosajit.tracing.tensor import Tensor


def unique(rows: Tensor) -> bool:
    """Whether numbers of rows are known, and each is there once."""
    data = constant_of(rows)
    return data is not None and len(np.unique(data)) == data.size


def placed(base: Tensor, rows: Tensor, values: Tensor) -> Tensor:
    """A matrix with rows replaced; of constant rows that are there twice, the last one is taken."""
    data = constant_of(rows)
    if data is not None and not unique(rows):
        last = np.array(sorted({int(row): place for place, row in enumerate(data)}.values()), np.int32)
        rows, values = ops.const(data[last].astype(np.int32)), gathered(values, ops.const(last), 0)
    given, matrix = (ops.cast(one, dtype=INT8) if one.dtype is BOOL else one for one in (values, base))
    whole = reshaped(matrix, (1, *base.shape))
    result = ops.scatter(whole, reshaped(rows, (1, -1)), reshaped(given, (1, *values.shape)))
    result = ops.cast(result, dtype=BOOL) if base.dtype is BOOL else result
    return reshaped(result, base.shape)


def combined(
    reduce: Callable[[Tensor, int], Tensor], values: Tensor, rows: Tensor, count: int, nothing: float
) -> Tensor:
    """A matrix of `count` rows, each of which combines the values of its number; `nothing` where none is."""
    size, depth = values.shape
    chosen = ops.equal(reshaped(rows, (size, 1, 1)), numbered(count, 1, 3))
    apart = reshaped(values, (size, 1, depth))
    return reshaped(reduce(ops.select(chosen, apart, number(apart, nothing)), 0), (count, depth))


def filled(like: Tensor, value: float, count: int, depth: int) -> Tensor:
    """A matrix of one number, of the type of a tensor."""
    return expanded(ops.const(np.full((1, 1), value, like.dtype.storage)), (count, depth))
