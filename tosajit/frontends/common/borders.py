"""Borders of tensors: constants, and what mirrors their elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.frontends.common.layout import part, reshaped, sliced
from tosajit.tracing.tensor import Tensor

Border = tuple[int, int]
"""How many elements are put before and behind a dimension."""


def padded(value: Tensor, borders: Sequence[Border], number: float | bool = 0) -> Tensor:
    """A tensor with a border of one number around it."""
    if not any(map(any, borders)):
        return value
    constant = np.array([number], value.dtype.storage)
    return ops.pad(value, [one for border in borders for one in border], constant)


def bordered(value: Tensor, borders: Sequence[Border], number: float | bool = 0) -> Tensor:
    """A tensor with a border of one number; negative borders cut off."""
    start = [max(0, -low) for low, _ in borders]
    size = [
        extent - max(0, -low) - max(0, -high)
        for extent, (low, high) in zip(value.shape, borders, strict=True)
    ]
    return padded(sliced(value, start, size), [(max(0, low), max(0, high)) for low, high in borders], number)


def enlarged(value: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor with zeros behind its elements, up to a shape."""
    return padded(value, [(0, wanted - extent) for extent, wanted in zip(value.shape, shape, strict=True)])


def mirrored(value: Tensor, axis: int, border: Border, *, edge: bool) -> Tensor:
    """A tensor that goes back behind its ends; `edge` says that its first and last elements come twice."""
    before, behind = border
    extent, skipped = value.shape[axis], 0 if edge else 1
    parts = [value]
    if before:
        parts.insert(0, _reversed(part(value, axis, skipped, before), axis))
    if behind:
        parts.append(_reversed(part(value, axis, extent - skipped - behind, behind), axis))
    return ops.concat(parts, axis=axis) if len(parts) > 1 else value


def replicated(value: Tensor, axis: int, border: Border) -> Tensor:
    """A tensor whose first and last elements are repeated along a dimension."""
    before, behind = border
    last = value.shape[axis] - 1
    parts = [value]
    if before:
        parts.insert(0, _repeated(part(value, axis, 0, 1), axis, before))
    if behind:
        parts.append(_repeated(part(value, axis, last, 1), axis, behind))
    return ops.concat(parts, axis=axis) if len(parts) > 1 else value


def spread(value: Tensor, axis: int, step: int, number: float | bool = 0) -> Tensor:
    """Elements that are some steps apart along a dimension, with a number between them."""
    extent = value.shape[axis]
    if step == 1 or extent <= 1:
        return value
    apart = reshaped(value, (prod(value.shape[:axis]), extent, prod(value.shape[axis + 1 :])))
    wide = padded(apart, [(0, 0), (0, 0), (0, (step - 1) * apart.shape[2])], number)
    spread = (*value.shape[:axis], extent * step, *value.shape[axis + 1 :])
    return part(reshaped(wide, spread), axis, 0, (extent - 1) * step + 1)


def _reversed(value: Tensor, axis: int) -> Tensor:
    return value if value.shape[axis] == 1 else ops.reverse(value, axis=axis)


def _repeated(value: Tensor, axis: int, times: int) -> Tensor:
    return ops.tile(value, [times if place == axis else 1 for place in range(value.ndim)])
