"""Products of matrices, one for each index of the dimensions before the last two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT32, DType
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import constant_of, like, reshaped, transposed
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor

_MOST_PRODUCTS = 1 << 26
"""How many products of words may be there before they are summed."""


def multiplied(
    first: Tensor,
    second: Tensor,
    zero_points: Sequence[int] = (0, 0),
    finish: Callable[[Tensor], Tensor] = lambda total: total,
    dtype: DType | None = None,
) -> Tensor:
    """The products of matrices, whose other dimensions are broadcast; `finish` takes the sums of products."""
    shared = _shared(first.shape[:-2], second.shape[:-2])
    left, right = (
        reshaped(expanded(one, (*shared, *one.shape[-2:])), (prod(shared), *one.shape[-2:]))
        for one in (first, second)
    )
    if first.dtype is INT32:
        total = finish(_of_words(left, right))
    else:
        total = finish(ops.matmul(left, right, *zero_points, dtype=dtype))
    return reshaped(total, (*shared, first.shape[-2], second.shape[-1]))


def _of_words(left: Tensor, right: Tensor) -> Tensor:
    """Sums of products, of which the low 32 bits are kept: TOSA's matrices are of smaller integers."""
    (count, rows, depth), columns = left.shape, right.shape[2]
    products = count * rows * depth * columns
    if products > _MOST_PRODUCTS:
        raise Refused(
            f"it has {products} products of {left.dtype.name}, but may have {_MOST_PRODUCTS}: "
            "TOSA's matrices are of int8 alone",
            "use int8 or floating point",
        )
    first, second = reshaped(left, (count, rows, depth, 1)), reshaped(right, (count, 1, depth, columns))
    return reshaped(ops.reduce_sum(ops.mul(first, second), axis=2), (count, rows, columns))


def weighted(
    left: Tensor,
    right: Tensor,
    bias: Tensor | None = None,
    zero_points: Sequence[Array] = (),
    finish: Callable[[Tensor], Tensor] = lambda total: total,
) -> Tensor:
    """Rows times a matrix of weights, as a convolution of pixels: so compilers and NPUs know it."""
    return filtered(left, transposed(right, (1, 0)), bias, zero_points, finish)


def filtered(
    left: Tensor,
    filters: Tensor,
    bias: Tensor | None = None,
    zero_points: Sequence[Array] = (),
    finish: Callable[[Tensor], Tensor] = lambda total: total,
) -> Tensor:
    """The same by weights that have a row for each column of the result."""
    count, depth = filters.shape
    if left.shape[-1] != depth:
        raise Refused(f"its rows have {left.shape[-1]} elements, but its weights {depth} rows")
    first = np.zeros(count, np.float32) if bias is None else constant_of(bias)
    if left.dtype.is_float and first is not None and _are_no_products(left, filters):
        return like(left, np.broadcast_to(first.astype(left.dtype.storage), (*left.shape[:-1], count)))
    pixels = reshaped(left, (-1, 1, 1, depth))
    weights = reshaped(filters, (count, 1, 1, depth))
    total = finish(ops.conv2d(pixels, weights, bias, *zero_points))
    return reshaped(total, (*left.shape[:-1], count))


def _are_no_products(left: Tensor, filters: Tensor) -> bool:
    """Whether all products are known to be 0, as those of a first state are."""
    rows, weights = constant_of(left), constant_of(filters)
    return rows is not None and weights is not None and not rows.any() and bool(np.isfinite(weights).all())


def _shared(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """The other dimensions of both, after broadcasting."""
    rank = max(len(first), len(second))
    raised = [(1,) * (rank - len(one)) + one for one in (first, second)]
    return tuple(other if one == 1 else one for one, other in zip(*raised, strict=True))
