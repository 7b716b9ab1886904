"""Moves of constants, such as transposed weights, done by NumPy: no kernel has to be compiled for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tiling.nest import Nest, dense_strides
from tosajit.arrays import Array


def moved(nests: Sequence[Nest], constants: Mapping[str, Array]) -> tuple[dict[str, Array], list[Nest]]:
    """What plain moves make of constants, one dimension long, and the nests that are left."""
    made: dict[str, Array] = {}
    rest: list[Nest] = []
    writers = Counter(write.access.operand for nest in nests for write in nest.writes)
    for nest in nests:
        alone = writers[nest.writes[0].access.operand] == 1
        source = nest.reads[0].operand if alone and _is_plain(nest) else ""
        found = made.get(source, constants.get(source))
        if found is None:
            rest.append(nest)
        else:
            made[nest.writes[0].access.operand] = _copied(nest, found)
    return made, rest


def _is_plain(nest: Nest) -> bool:
    """Whether a nest copies elements of one operand, by affine indices, to all of another in order."""
    if nest.verb != "move" or nest.reduction is not None or len(nest.reads) != 1 or len(nest.writes) != 1:
        return False
    (source,), (write,) = nest.reads, nest.writes
    target = write.access
    if write.value.op != "read" or source.fill is not None or source.indirect or target.indirect:
        return False
    whole = target.start() == 0 and prod(target.shape) == nest.points
    return whole and target.steps(len(nest.axes)) == dense_strides(nest.extents)


def _copied(nest: Nest, source: Array) -> Array:
    access = nest.reads[0]
    # As bits: NumPy makes no views with strides of types that it does not name.
    bits = np.ascontiguousarray(source).reshape(-1).view(f"u{source.itemsize}")[access.start() :]
    steps = [step * bits.itemsize for step in access.steps(len(nest.axes))]
    # A copy, unless the elements are in order already; NumPy flattens one element in every place without one.
    copied = np.ascontiguousarray(np.lib.stride_tricks.as_strided(bits, nest.extents, steps).reshape(-1))
    return copied.view(source.dtype)
