"""Convolutions and pools of NNEF, window by window as the text has them (sections 4.4.1 and 4.4.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def placed(
    extents: Sequence[int], kernel: Sequence[int], given: dict[str, Any]
) -> tuple[list[int], list[int]]:
    """How many windows there are along each dimension, and how much of the first is before it."""
    count, ceil = len(extents), given["ceil_mode"]
    stride, dilation, padding = given["stride"], given["dilation"], given["padding"]
    reach = [(size - 1) * gap + 1 for size, gap in zip(kernel, dilation, strict=True)]

    def over(number: int, step: int) -> int:
        return -(-number // step) if ceil else number // step

    if padding is None:
        sizes = zip(extents, stride, reach, strict=True)
        total = [(over(extent, step) - 1) * step + size - extent for extent, step, size in sizes]
        upper = given["padding_align"] == "UPPER"
        before = [one // 2 if upper else -(-one // 2) for one in total]
    else:
        total = [padding[place] + padding[count + place] for place in range(count)]
        before = list(padding[:count])
    sides = zip(extents, stride, reach, total, strict=True)
    return [over(extent + more - size, step) + 1 for extent, step, size, more in sides], before


def conv(image: Array, kernel: Array, bias: Array, groups: int, given: dict[str, Any]) -> Array:
    """A convolution: batches, channels, windows; output channels, input channels, windows."""
    extents, before = placed(image.shape[2:], kernel.shape[2:], given)
    count, depth = kernel.shape[:2]
    groups = groups or image.shape[1]
    width = count // groups
    out = np.zeros((image.shape[0], count, *extents)) + bias.reshape(1, -1, *[1] * len(extents))
    for here in np.ndindex(*extents):
        for tap in np.ndindex(*kernel.shape[2:]):
            place = _place(here, tap, before, given)
            if all(0 <= one < extent for one, extent in zip(place, image.shape[2:], strict=True)):
                for group in range(groups):
                    wide, deep = (slice(group * size, (group + 1) * size) for size in (width, depth))
                    taken: tuple[Any, ...] = (slice(None), deep, *place)
                    terms = image[taken] @ kernel[(wide, slice(None), *tap)].T
                    part: tuple[Any, ...] = (slice(None), wide, *here)
                    out[part] += terms
    return out


def deconv(
    image: Array, kernel: Array, bias: Array, groups: int, extents: Sequence[int], before: Sequence[int],
    given: dict[str, Any],
) -> Array:  # fmt: skip
    """A transposed convolution: input channels, output channels of a group, windows."""
    groups = groups or image.shape[1]
    width, depth = kernel.shape[0] // groups, kernel.shape[1]
    shape = (image.shape[0], depth * groups, *extents)
    out = np.zeros(shape) + bias.reshape(1, -1, *[1] * len(extents))
    for here in np.ndindex(*image.shape[2:]):
        for tap in np.ndindex(*kernel.shape[2:]):
            place = _place(here, tap, before, given)
            if all(0 <= one < extent for one, extent in zip(place, extents, strict=True)):
                for group in range(groups):
                    wide, deep = (slice(group * size, (group + 1) * size) for size in (width, depth))
                    terms = image[(slice(None), wide, *here)] @ kernel[(wide, slice(None), *tap)]
                    part: tuple[Any, ...] = (slice(None), deep, *place)
                    out[part] += terms
    return out


def _place(
    here: Sequence[int], tap: Sequence[int], before: Sequence[int], given: dict[str, Any]
) -> tuple[int, ...]:
    sides = zip(here, tap, before, given["stride"], given["dilation"], strict=True)
    return tuple(step * one + gap * other - skipped for one, other, skipped, step, gap in sides)


def pool(
    value: Array, axes: Sequence[int], size: Sequence[int], given: dict[str, Any],
    combine: Callable[[list[Any]], float],
) -> Array:  # fmt: skip
    """What is made of the elements of each window that are there."""
    counts, before = placed([value.shape[axis] for axis in axes], size, given)
    extents = list(value.shape)
    for axis, count in zip(axes, counts, strict=True):
        extents[axis] = count
    out = np.zeros(extents)
    for here in np.ndindex(*extents):
        found = []
        for tap in np.ndindex(*size):
            place = list(here)
            inner = _place([here[axis] for axis in axes], tap, before, given)
            for axis, one in zip(axes, inner, strict=True):
                place[axis] = one
            if all(0 <= one < extent for one, extent in zip(place, value.shape, strict=True)):
                found.append(value[tuple(place)])
        out[here] = combine(found)
    return out
