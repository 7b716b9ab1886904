"""Attention: values weighted by how much queries agree with keys."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL
from tosajit.frontends.common.broadcast import aligned, expanded
from tosajit.frontends.common.einsum import product
from tosajit.frontends.common.layout import constant_of, reshaped, transposed
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.softmax import softmax
from tosajit.tracing.tensor import Tensor


def attended(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Values weighted by a softmax of products of queries and keys.

    A mask is added to the products, or says which keys a query may see; one that sees none gets zeros.
    """
    rank = keys.ndim
    turned = transposed(keys, (*range(rank - 2), rank - 1, rank - 2))
    factor = 1 / sqrt(queries.shape[-1]) if scale is None else scale
    scores = product(ops.mul(queries, number(queries, factor)), turned)
    if is_causal:
        seen = np.tril(np.ones(scores.shape[-2:], np.bool_))
        scores = _hidden(scores, ops.const(seen.reshape((1,) * (scores.ndim - 2) + seen.shape)))
    blind = False
    if mask is not None:
        is_truth = mask.dtype is BOOL
        blind = is_truth and not _all_see(constant_of(mask))
        raised, scores = aligned(mask, scores)
        scores = _hidden(scores, raised) if is_truth else ops.add(scores, raised)
    shares = _shares(scores) if blind else softmax(scores, scores.ndim - 1)
    return product(shares, values)


def _hidden(scores: Tensor, seen: Tensor) -> Tensor:
    found: Tensor = ops.select(seen, scores, number(scores, -inf))
    return found


def _all_see(mask: Array | None) -> bool:
    """Whether every query is known to see a key."""
    return mask is not None and bool(mask.any(axis=-1).all())


def _shares(scores: Tensor) -> Tensor:
    """Softmax; where nothing may be seen, all are 0."""
    axis = scores.ndim - 1
    most = ops.reduce_max(scores, axis=axis)
    blind = ops.equal(most, number(most, -inf))
    found: Tensor = softmax(ops.select(blind, number(scores, 0), scores), axis)
    result: Tensor = ops.select(blind, number(found, 0), found)
    return result


def shared_by(value: Tensor, heads: int) -> Tensor:
    """Keys or values whose heads are those of several queries."""
    *lead, own, length, size = value.shape
    apart = reshaped(value, (*lead, own, 1, length, size))
    return reshaped(expanded(apart, (*lead, own, heads // own, length, size)), (*lead, heads, length, size))
