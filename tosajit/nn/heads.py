"""Attention, of one head or of several."""

from __future__ import annotations

from typing import Any

from tosajit.errors import TraceError
from tosajit.frontends.common.attention import attended, shared_by
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.nn.layer import layer
from tosajit.nn.tensors import alike, real
from tosajit.tracing.tensor import Tensor

NAME = "nn.attention"


@layer("key", "value", "mask")
def attention(
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    *,
    heads: int = 1,
    causal: bool = False,
    scale: float | None = None,
) -> Any:
    """Values weighted by how much queries and keys agree: `softmax(query @ key.T * scale) @ value`.

    * `query` is `[…, queries, elements]`, `key` and `value` `[…, keys, elements]`.
    * `heads` share the elements of a row, each its own part. Keys and values may have fewer heads of the same
      size, which then serve several of the queries'.
    * `mask` is added to the products, or says with truths which keys a query sees: `[queries, keys]`, or with
      dimensions before. A query that sees none gets zeros. `causal` lets each see those up to its own place.
    * `scale` is one over the root of a head's size if left out.
    """
    real(f"{NAME} query", query)
    for name, one in (("key", key), ("value", value)):
        alike(f"{NAME} {name}", one, query.dtype)
        if one.ndim != query.ndim or one.ndim < 2:
            raise TraceError(
                f"{NAME} {name}: {one.value.type} beside {query.value.type}: […, rows, elements] each"
            )
    if key.shape[-2] != value.shape[-2]:
        raise TraceError(f"{NAME} value: it has {value.shape[-2]} rows, but key has {key.shape[-2]}")
    if mask is not None and mask.dtype.is_float:
        alike(f"{NAME} mask", mask, query.dtype)
    if heads == 1:
        if query.shape[-1] != key.shape[-1]:
            raise TraceError(
                f"{NAME} key: its rows have {key.shape[-1]} elements, but those of query {query.shape[-1]}"
            )
        return attended(query, key, value, mask, causal, scale)
    return _joined(attended(*_apart(query, key, value, heads), _beside(mask), causal, scale))


def _apart(query: Tensor, key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """A matrix for each head of the queries."""
    if heads < 1 or query.shape[-1] % heads:
        raise TraceError(f"{NAME} query: rows of {query.shape[-1]} elements have no {heads} equal heads")
    size = query.shape[-1] // heads
    own = key.shape[-1] // size
    if not own or key.shape[-1] % size or heads % own or value.shape[-1] % own:
        raise TraceError(
            f"{NAME} key: rows of {key.shape[-1]} elements, and of {value.shape[-1]} in value, have no "
            f"heads of {size} elements that serve {heads}"
        )
    keys, values = (shared_by(_split(one, own), heads) for one in (key, value))
    return _split(query, heads), keys, values


def _split(value: Tensor, heads: int) -> Tensor:
    apart = reshaped(value, (*value.shape[:-1], heads, value.shape[-1] // heads))
    rank = apart.ndim
    return transposed(apart, (*range(rank - 3), rank - 2, rank - 3, rank - 1))


def _joined(value: Tensor) -> Tensor:
    rank = value.ndim
    beside = transposed(value, (*range(rank - 3), rank - 2, rank - 3, rank - 1))
    return reshaped(beside, (*beside.shape[:-2], beside.shape[-2] * beside.shape[-1]))


def _beside(mask: Tensor | None) -> Tensor | None:
    """A mask of several matrices, each of which is that of all heads."""
    if mask is None or mask.ndim <= 2:
        return mask
    return reshaped(mask, (*mask.shape[:-2], 1, *mask.shape[-2:]))
