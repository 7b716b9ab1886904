"""Sparse constants: trees with a level for each dimension of a tensor, and for each one of its blocks."""

from __future__ import annotations

from math import prod

import numpy as np

from tosajit.frontends.tflite.records import Dimension, Sparsity
from tosajit.graph import Array


def dense(elements: Array, shape: tuple[int, ...], sparsity: Sparsity) -> Array:
    """The elements of a constant, with the zeros that its file leaves out; `ValueError` if it is damaged."""
    nodes, places = np.zeros(1, np.int64), list[Array]()
    for dimension in sparsity.dimensions:
        parents, nodes, place = _children(dimension, nodes, prod(shape))
        places = [*(above[parents] for above in places), place]
    if nodes.size and nodes.max() >= len(elements):
        raise ValueError(f"expected {nodes.max() + 1} elements, found {len(elements)}")
    result = np.zeros(shape, elements.dtype)
    result[_indices(places, shape, sparsity)] = elements[nodes]
    return result


def _children(dimension: Dimension, nodes: Array, most: int) -> tuple[Array, Array, Array]:
    """The nodes of the next level: whose children they are, their numbers, their places in a dimension."""
    if dimension.segments is None or dimension.indices is None:
        sizes = np.full(nodes.shape, dimension.dense_size, np.int64)
        starts = nodes * dimension.dense_size
    else:
        segments = np.array(dimension.segments, np.int64)
        if nodes.size and nodes.max() + 1 >= len(segments):
            raise ValueError(f"expected {nodes.max() + 2} segments, found {len(segments)}")
        starts, ends = segments[nodes], segments[nodes + 1]
        sizes = ends - starts
        if sizes.size and (starts.min() < 0 or ends.max() > len(dimension.indices)):
            raise ValueError(f"expected segments of {len(dimension.indices)} indices")
    if (sizes.size and sizes.min() < 0) or sizes.sum() > most:
        raise ValueError(f"expected at most {most} elements")
    parents = np.repeat(np.arange(nodes.size), sizes)
    place = np.arange(parents.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    children = place + np.repeat(starts, sizes)
    if dimension.indices is not None:
        place = np.array(dimension.indices, np.int64)[children]
    return parents, children, place


def _indices(places: list[Array], shape: tuple[int, ...], sparsity: Sparsity) -> tuple[Array, ...]:
    """Where elements are in the tensor: by block, and within it."""
    by_dimension = dict(
        zip(sparsity.traversal_order, zip(places, sparsity.dimensions, strict=True), strict=True)
    )
    found = [by_dimension[axis][0] for axis in range(len(shape))]
    for number, axis in enumerate(sparsity.block_map, len(shape)):
        inside, dimension = by_dimension[number]
        if dimension.indices is not None:
            raise ValueError("expected blocks that are dense")
        found[axis] = found[axis] * dimension.dense_size + inside
    for place, extent in zip(found, shape, strict=True):
        if place.size and not (place.min() >= 0 and place.max() < extent):
            raise ValueError(f"expected elements within {list(shape)}")
    return tuple(found)
