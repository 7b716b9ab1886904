"""Reductions along several dimensions, of which neighbours are one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from tosajit.frontends.common.layout import reshaped
from tosajit.tracing.tensor import Tensor


def axes_of(given: Sequence[int], rank: int) -> tuple[int, ...]:
    """Dimensions in order, each once, counted from the front; `IndexError` for one that is not there."""
    for axis in given:
        if not -rank <= axis < rank:
            raise IndexError(f"dimension {axis} of {rank}")
    return tuple(sorted({axis % rank for axis in given}))


def shape_without(shape: Sequence[int], axes: Sequence[int], keep: bool) -> tuple[int, ...]:
    """The shape after a reduction."""
    return tuple(
        1 if place in axes else extent for place, extent in enumerate(shape) if keep or place not in axes
    )


def reduced(
    reduce: Callable[[Tensor, int], Tensor], value: Tensor, axes: Sequence[int], keep: bool
) -> Tensor:
    """A tensor after a reduction along dimensions: `reduce` does one of them."""
    runs = [
        (is_reduced, list(run)) for is_reduced, run in groupby(range(value.ndim), lambda one: one in axes)
    ]
    result = reshaped(value, [_size(value.shape, run) for _, run in runs])
    for place, (is_reduced, _) in enumerate(runs):
        if is_reduced and result.shape[place] != 1:
            result = reduce(result, place)
    return reshaped(result, shape_without(value.shape, axes, keep))


def _size(shape: Sequence[int], places: Sequence[int]) -> int:
    size = 1
    for place in places:
        size *= shape[place]
    return size
