"""Elements at indices along one dimension, and at the places of these along others: taken, or put there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import constant_of, like, reshaped
from tosajit.frontends.common.numbers import is_negative, number
from tosajit.frontends.common.scatter import (
    PLAIN,
    Combine,
    all_combined,
    chosen_along,
    nothing,
    placed,
    unique,
)
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor

_MOST = 1 << 22
"""How many places constants may number."""


def gathered_along(value: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Elements of a tensor; there is one for each index."""
    places = _places(value.shape, indices, indices.shape, axis)
    return reshaped(gathered(reshaped(value, (-1,)), reshaped(places, (-1,)), 0), indices.shape)


def scattered_along(base: Tensor, indices: Tensor, values: Tensor, axis: int, combine: Combine) -> Tensor:
    """A tensor whose elements are combined with others; of several, the last one replaces it."""
    if constant_of(indices) is not None:
        rows = reshaped(_places(base.shape, indices, indices.shape, axis), (-1,))
        if unique(rows) or combine == "update":
            flat, given = reshaped(base, (-1, 1)), reshaped(values, (-1, 1))
            return reshaped(placed(flat, rows, PLAIN[combine](gathered(flat, rows, 0), given)), base.shape)
    size, count = indices.shape[axis], base.shape[axis]
    lead, inner = prod(indices.shape[:axis]), prod(indices.shape[axis + 1 :])
    at = reshaped(indices, (lead, size, inner))
    if combine == "update":
        chosen = chosen_along(at, at.shape[:2], count)
        last = ops.select(chosen, numbered(size, 1, 4), np.full((1,) * 4, -1, np.int32))
        return _replaced(
            base, _raised(ops.reduce_max(last, axis=1), base.shape, indices.shape, axis, -1), values, axis
        )
    found = all_combined(combine, reshaped(values, (lead, size, inner)), at, count)
    missing = nothing(values.dtype, combine)
    return PLAIN[combine](base, _raised(found, base.shape, indices.shape, axis, missing))


def _raised(found: Tensor, shape: Sequence[int], indices: Sequence[int], axis: int, missing: float) -> Tensor:
    """What was found for the first elements along other dimensions, with a number for the rest."""
    reached = [*indices[:axis], shape[axis], *indices[axis + 1 :]]
    borders = [(0, extent - own) for own, extent in zip(reached, shape, strict=True)]
    return padded(reshaped(found, reached), borders, missing)


def _replaced(base: Tensor, last: Tensor, values: Tensor, axis: int) -> Tensor:
    """A tensor with the elements of `values` where `last` says which along a dimension."""
    count = prod(values.shape)
    others = _places(values.shape, last, base.shape, axis)
    own = np.arange(count, count + prod(base.shape), dtype=np.int32).reshape(base.shape)
    chosen = ops.select(is_negative(last), own, others)
    both = ops.concat([reshaped(values, (-1,)), reshaped(base, (-1,))], axis=0)
    return reshaped(gathered(both, reshaped(chosen, (-1,)), 0), base.shape)


def _places(shape: Sequence[int], indices: Tensor, extents: Sequence[int], axis: int) -> Tensor:
    """For indices along one dimension, their places in the flat tensor of a shape."""
    if prod(extents) > _MOST:
        raise Refused(f"its {prod(extents)} indices are too many")
    rank = len(shape)
    steps = [prod(shape[place + 1 :]) for place in range(rank)]
    others: Array = np.zeros((1,) * rank, np.int32)
    for place, extent in enumerate(extents):
        if place != axis:
            others = others + numbered(extent, place, rank) * np.int32(steps[place])
    data = constant_of(indices)
    if data is not None:
        return like(indices, (data * np.int32(steps[axis]) + others).astype(np.int32))
    return ops.add(ops.mul(indices, number(indices, steps[axis])), others.astype(np.int32))
