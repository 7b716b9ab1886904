"""Weights with two zeros among each four, or with many zeros, found in the constants of a graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tiling.contraction import Contraction, contraction, unwrapped
from tiling.nest import Kept, Nest
from tiling.records import replace
from tosajit.arrays import Array

GROUP, KEPT = 4, 2
"""Neighbours along the channels, and how many of them may be other than zero."""
MANY = 4
"""Zeros count if one of so many weights is one: the cell that has most others hardly gains by fewer."""
ROWS = 256
"""So many rows are looked at together: in most weights the first ones tell."""


def with_pruned(nest: Nest, constants: Mapping[str, Array]) -> Nest:
    """The nest, which says of its weights whether they are pruned, and of many zeros where the others are."""
    roles = contraction(nest) if nest.verb == "contract" else None
    if roles is None or roles.weights is None or roles.depthwise:
        return nest
    access = nest.reads[roles.weights]
    array = constants.get(access.operand)
    if array is None or not _along_channels(nest, roles, array):
        return nest
    pruned, kept = is_pruned(array), kept_of(array)
    if not (pruned or kept) or not _zero_is_nothing(nest, roles, constants):
        return nest
    reads = list(nest.reads)
    reads[roles.weights] = replace(access, pruned=pruned, kept=kept)
    return replace(nest, reads=tuple(reads))


def kept_of(array: Array) -> Kept | None:
    """How many weights are other than zero, if at least a quarter are zeros."""
    zeros = array.size - int(np.count_nonzero(array))
    if array.ndim < 2 or MANY * zeros < array.size:
        return None
    filters, channels = array.shape[0], array.shape[-1]
    counts = np.count_nonzero(array.reshape(-1, channels), axis=1).astype(np.int32)
    return Kept(filters, counts.size // filters, channels, counts.tobytes(), zeros)


def is_pruned(array: Array) -> bool:
    """Whether of each four elements along the last dimension at most two are other than zero."""
    rows = array.reshape(-1, array.shape[-1])
    return all(_are_pruned(rows[first : first + ROWS]) for first in range(0, len(rows), ROWS))


def _are_pruned(rows: Array) -> bool:
    count, channels = rows.shape
    used = np.zeros((count, -(-channels // GROUP) * GROUP), bool)
    used[:, :channels] = rows != 0
    counts = used.reshape(-1, GROUP).sum(axis=1)
    return bool(counts.max(initial=0) <= KEPT)


def _along_channels(nest: Nest, roles: Contraction, array: Array) -> bool:
    """Whether the last dimension of the weights is what products add up over, and has some to skip."""
    if not array.size or not array.ndim or array.shape[-1] <= KEPT:
        return False
    inner = [
        axis.extent
        for axis, step in zip(nest.axes, roles.weight_steps, strict=True)
        if axis.reduced and step == 1
    ]
    return len(inner) == 1 and inner[0] % array.shape[-1] == 0


def _zero_is_nothing(nest: Nest, roles: Contraction, constants: Mapping[str, Array]) -> bool:
    """Whether a weight of zero adds nothing: what is subtracted from weights is zero."""
    assert nest.reduction is not None
    for factor in unwrapped(nest.reduction.value).operands:
        numbers = {leaf.number for leaf in factor.leaves if leaf.op == "read"}
        if roles.weights in numbers:
            others = [constants.get(nest.reads[number].operand) for number in numbers - {roles.weights}]
            return all(one is not None and not np.any(one) for one in others)
    return False
