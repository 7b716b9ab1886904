"""Searches whose results are as long as what they find: filled up to their bound, and cut at the end."""

from __future__ import annotations

import numpy as np

from tosajit.arrays import Array
from tosajit.customs.attributes import numbers


def cut(whole: Array, extents: Array, attributes: bytes) -> Array:
    """The elements within extents that data decide; it stands only where a tensor leaves a graph."""
    if extents.shape != (whole.ndim,):
        raise ValueError(f"{list(extents.shape)} extents for {whole.ndim} dimensions")
    return whole[tuple(slice(0, max(int(extent), 0)) for extent in extents)]


def where(condition: Array, attributes: bytes) -> Array:
    """The places of elements that differ from `zero`, in order; rows of -1 stand behind them."""
    found = np.argwhere(condition != np.array(numbers(attributes)["zero"], condition.dtype))
    places = np.full((condition.size, condition.ndim), -1, np.int32)
    places[: len(found)] = found
    return places


def unique(value: Array, attributes: bytes) -> tuple[Array, Array]:
    """Different elements in the order in which they come, zeros behind; and which of them each element is."""
    _, first, inverse = np.unique(value, return_index=True, return_inverse=True, equal_nan=False)
    order = np.argsort(first)
    elements = np.full_like(value, numbers(attributes)["zero"])
    ranks = np.empty(len(order), np.int32)
    elements[: len(order)] = value[first[order]]
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return elements, ranks[inverse.reshape(-1)]


def distinct(value: Array, attributes: bytes) -> tuple[Array, Array, Array, Array, Array]:
    """The different parts along a dimension, in order or as they come, and behind them zeros.

    Then where each is first, which of them each part is, how often each is there, and how many they are.
    """
    options = numbers(attributes)
    axis, extent = int(options["axis"]), value.shape[int(options["axis"])]
    rows = np.moveaxis(value, axis, 0).reshape(extent, -1)
    keys = rows.astype(np.float32) if rows.dtype.kind not in "iufb" else rows
    _, first, inverse, often = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True, axis=0
    )
    order = np.arange(len(first)) if options["sorted"] else np.argsort(first)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    places, counts = np.zeros(extent, np.int32), np.zeros(extent, np.int32)
    places[: len(order)], counts[: len(order)] = first[order], often[order]
    parts = np.zeros((extent, *np.delete(value.shape, axis)), value.dtype)
    parts[: len(order)] = np.moveaxis(value, axis, 0)[first[order]]
    number = np.array([len(order)], np.int32)
    return np.moveaxis(parts, 0, axis), places, ranks[inverse.reshape(-1)], counts, number
