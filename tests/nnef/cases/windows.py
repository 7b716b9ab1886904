"""What convolutions and pools give, by padding and slicing: an oracle in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from tests.nnef.cases.case import Array

Pads = Sequence[tuple[int, int]]


def at(*parts: Any) -> Any:
    """Parts as one subscript."""
    return parts


def window_of(x: Array, place: Sequence[int], stride: Sequence[int], count: Sequence[int]) -> Array:
    """The items at one place of all windows along the last dimensions."""
    cuts = [slice(p, p + s * (n - 1) + 1, s) for p, s, n in zip(place, stride, count, strict=True)]
    return np.asarray(x[at(..., *cuts)])


def padded(x: Array, pads: Pads, fill: float) -> Array:
    """The last dimensions with more items on both ends, or, where a pad is negative, fewer."""
    leading = x.ndim - len(pads)
    grown = np.pad(x, [(0, 0)] * leading + [(max(0, a), max(0, b)) for a, b in pads], constant_values=fill)
    cuts = [slice(max(0, -a), grown.shape[leading + n] - max(0, -b)) for n, (a, b) in enumerate(pads)]
    return np.asarray(grown[at(..., *cuts)])


def automatic(extent: int, reach: int, stride: int, ceil_mode: bool, upper: bool) -> tuple[int, int]:
    """The padding that makes as many windows as strides fit the input (sections 4.4.1 and 4.4.2)."""
    count = -(-extent // stride) if ceil_mode else extent // stride
    total = (count - 1) * stride + reach - extent
    before = total // 2 if upper else -(-total // 2)
    return before, total - before


def counts(x: Array, pads: Pads, reach: Sequence[int], stride: Sequence[int], ceil_mode: bool) -> list[int]:
    """How many windows there are."""
    room = [n + sum(pad) - r for n, pad, r in zip(x.shape[x.ndim - len(pads) :], pads, reach, strict=True)]
    return [(-(-n // s) if ceil_mode else n // s) + 1 for n, s in zip(room, stride, strict=True)]


def room_for(pads: Pads, x: Array, reach: Sequence[int], stride: Sequence[int], count: Sequence[int]) -> Pads:
    """More padding behind, where the last windows reach over the end."""
    extents = x.shape[x.ndim - len(pads) :]
    return [
        (a, max(b, (n - 1) * s + r - extent - a))
        for (a, b), extent, r, s, n in zip(pads, extents, reach, stride, count, strict=True)
    ]


def convolved(
    x: Array,
    f: Array,
    bias: Array | None,
    stride: Sequence[int],
    dilation: Sequence[int],
    pads: Pads,
    groups: int = 1,
    ceil_mode: bool = False,
) -> Array:
    """Channels behind the batch, in the input and in the filter."""
    sizes = f.shape[2:]
    reach = [(n - 1) * d + 1 for n, d in zip(sizes, dilation, strict=True)]
    count = counts(x, pads, reach, stride, ceil_mode)
    wide = padded(x, room_for(pads, x, reach, stride, count), 0.0)
    per, out = f.shape[1], f.shape[0] // groups
    found = np.zeros((x.shape[0], f.shape[0], *count))
    for place in product(*map(range, sizes)):
        seen = window_of(wide, [p * d for p, d in zip(place, dilation, strict=True)], stride, count)
        for g in range(groups):
            weights = f[at(slice(g * out, (g + 1) * out), slice(None), *place)]
            found[:, g * out : (g + 1) * out] += np.einsum(
                "bc...,oc->bo...", seen[:, g * per : (g + 1) * per], weights
            )
    return found if bias is None else found + bias.reshape(-1, *(1,) * len(sizes))


def deconvolved(
    x: Array,
    f: Array,
    bias: Array | None,
    stride: Sequence[int],
    dilation: Sequence[int],
    before: Sequence[int],
    size: Sequence[int],
    groups: int = 1,
) -> Array:
    """Each input times the filter, added where its window is."""
    per, out = f.shape[0] // groups, f.shape[1]
    found = np.zeros((x.shape[0], groups * out, *size))
    for place in product(*map(range, x.shape[2:])):
        for tap in product(*map(range, f.shape[2:])):
            where = [
                s * p + d * t - b for s, p, d, t, b in zip(stride, place, dilation, tap, before, strict=True)
            ]
            if not all(0 <= w < n for w, n in zip(where, size, strict=True)):
                continue
            for g in range(groups):
                seen = x[at(slice(None), slice(g * per, (g + 1) * per), *place)]
                weights = f[at(slice(g * per, (g + 1) * per), slice(None), *tap)]
                found[at(slice(None), slice(g * out, (g + 1) * out), *where)] += seen @ weights
    return found if bias is None else found + bias.reshape(-1, *(1,) * len(size))


def pooled(
    x: Array,
    axes: Sequence[int],
    size: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    pads: Pads,
    ceil_mode: bool,
    join: Any,
    fill: float,
) -> Array:
    """All windows along some axes, joined item by item."""
    axes = [axis % x.ndim for axis in axes]
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    moved = x.transpose(*kept, *axes)
    reach = [(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)]
    count = counts(moved, pads, reach, stride, ceil_mode)
    wide = padded(moved, room_for(pads, moved, reach, stride, count), fill)
    seen = [
        window_of(wide, [p * d for p, d in zip(place, dilation, strict=True)], stride, count)
        for place in product(*map(range, size))
    ]
    return np.asarray(join(np.stack(seen), axis=0).transpose(np.argsort([*kept, *axes])))
