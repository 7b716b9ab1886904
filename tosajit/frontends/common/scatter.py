"""What is put at indices: rows of a matrix in place of others, and elements that are combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Literal

import numpy as np

from tosajit import ops
from tosajit.dtypes import BOOL, INT8, DType
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import constant_of, reshaped
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.reduce import product
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


Combine = Literal["update", "add", "multiply", "maximum", "minimum"]
PLAIN: dict[Combine, Callable[[Tensor, Tensor], Tensor]] = {
    "update": lambda _, new: new, "add": ops.add, "multiply": ops.mul,
    "maximum": ops.maximum, "minimum": ops.minimum,
}  # fmt: skip
"""What becomes of an element and another one that is put into its place."""
_ALL: dict[Combine, Callable[[Tensor, int], Tensor]] = {
    "add": lambda value, axis: ops.reduce_sum(value, axis=axis),
    "multiply": product,
    "maximum": lambda value, axis: ops.reduce_max(value, axis=axis),
    "minimum": lambda value, axis: ops.reduce_min(value, axis=axis),
}


def nothing(dtype: DType, combine: Combine) -> float:
    """What changes no element that it is combined with."""
    if combine in ("add", "multiply"):
        return float(combine == "multiply")
    if dtype.is_float:
        return -inf if combine == "maximum" else inf
    most = 1 << dtype.bits - 1
    return -most if combine == "maximum" else most - 1


def all_combined(combine: Combine, values: Tensor, indices: Tensor, count: int) -> Tensor:
    """Elements along the dimension before the last, combined by their indices, of which there are `count`."""
    return combined(_ALL[combine], values, indices, count, nothing(values.dtype, combine))


def combined(
    reduce: Callable[[Tensor, int], Tensor], values: Tensor, indices: Tensor, count: int, nothing: float
) -> Tensor:
    """The same by any reduction; what no index names is `nothing`."""
    *lead, depth = values.shape
    chosen = chosen_along(indices, lead, count)
    apart = reshaped(values, (*lead, 1, depth))
    found = reduce(ops.select(chosen, apart, number(apart, nothing)), len(lead) - 1)
    return reshaped(found, (*lead[:-1], count, depth))


def chosen_along(indices: Tensor, lead: Sequence[int], count: int) -> Tensor:
    """Which of `count` numbers, along a dimension behind `lead`, each index is."""
    return ops.equal(reshaped(indices, (*lead, 1, -1)), numbered(count, len(lead), len(lead) + 2))


def filled(like: Tensor, value: float, count: int, depth: int) -> Tensor:
    """A matrix of one number, of the type of a tensor."""
    return expanded(ops.const(np.full((1, 1), value, like.dtype.storage)), (count, depth))
