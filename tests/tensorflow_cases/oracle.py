"""What operators compute, written plainly: windows element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erf as exact_erf
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def erf(value: Array) -> Array:
    return np.vectorize(exact_erf)(value)  # type: ignore[no-any-return]


def selu(value: Array) -> Array:
    return 1.0507009873554805 * np.where(value > 0, value, 1.6732632423543772 * np.expm1(value))


def softmax(value: Array) -> Array:
    powers = np.exp(value - value.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def bordered(image: Array, kernel: Sequence[int], stride: int, dilation: int, padding: str) -> Array:
    """An image with the border that a scheme gives it, of what is no number."""
    if padding == "VALID":
        return image
    borders = [(0, 0)]
    for extent, size in zip(image.shape[1:3], kernel, strict=True):
        missing = max((-(-extent // stride) - 1) * stride + (size - 1) * dilation + 1 - extent, 0)
        borders.append((missing // 2, missing - missing // 2))
    return np.pad(image, [*borders, (0, 0)], constant_values=np.nan)


def windows(image: Array, kernel: Sequence[int], stride: int, dilation: int) -> Array:
    """For each output the elements of its window: [N, OH, OW, KH, KW, C]."""
    reach = [(size - 1) * dilation + 1 for size in kernel]
    counts = [(extent - one) // stride + 1 for extent, one in zip(image.shape[1:3], reach, strict=True)]
    starts = [range(0, count * stride, stride) for count in counts]
    rows = [
        [image[:, y : y + reach[0] : dilation, x : x + reach[1] : dilation] for x in starts[1]]
        for y in starts[0]
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def conv2d(image: Array, weights: Array, stride: int, dilation: int, padding: str) -> Array:
    kernel = weights.shape[:2]
    found = windows(
        np.nan_to_num(bordered(image, kernel, stride, dilation, padding)), kernel, stride, dilation
    )
    return np.asarray(np.einsum("nyxhwc,hwcd->nyxd", found, weights))


def depthwise(image: Array, weights: Array, stride: int, padding: str) -> Array:
    kernel = weights.shape[:2]
    found = windows(np.nan_to_num(bordered(image, kernel, stride, 1, padding)), kernel, stride, 1)
    total = np.asarray(np.einsum("nyxhwc,hwcm->nyxcm", found, weights))
    return total.reshape(*total.shape[:3], -1)


def transposed_conv2d(image: Array, weights: Array, stride: int, size: Sequence[int], padding: str) -> Array:
    """Each element spreads a kernel over the result; the border of the scheme is cut off."""
    count, height, width, _ = image.shape
    rows, columns, depth, _ = weights.shape
    whole = np.zeros((count, (height - 1) * stride + rows, (width - 1) * stride + columns, depth), np.float64)
    for y in range(height):
        for x in range(width):
            part = np.einsum("nc,hwdc->nhwd", image[:, y, x], weights)
            whole[:, y * stride : y * stride + rows, x * stride : x * stride + columns] += part
    start = [max(one - extent, 0) // 2 if padding == "SAME" else 0
             for one, extent in zip(whole.shape[1:3], size, strict=True)]  # fmt: skip
    padded = np.pad(whole, ((0, 0), (0, stride), (0, stride), (0, 0)))
    return padded[:, start[0] : start[0] + size[0], start[1] : start[1] + size[1]].astype(np.float32)


def conv3d(volume: Array, weights: Array) -> Array:
    size = [extent - one + 1 for extent, one in zip(volume.shape[1:4], weights.shape[:3], strict=True)]
    result = np.zeros((volume.shape[0], *size, weights.shape[4]), np.float64)
    for z, y, x in np.ndindex(*weights.shape[:3]):
        part = volume[:, z : z + size[0], y : y + size[1], x : x + size[2]]
        result += part @ weights[z, y, x]
    return result.astype(np.float32)


def pool(image: Array, kernel: int, stride: int, padding: str, reduce: Callable[..., Array]) -> Array:
    """A reduction of each window, in which the border does not count."""
    sizes = kernel, kernel
    found = windows(bordered(image, sizes, stride, 1, padding), sizes, stride, 1)
    masked = np.ma.masked_invalid(found)
    return np.asarray(reduce(masked, axis=(3, 4)))


def response(image: Array, radius: int, bias: float, alpha: float, beta: float) -> Array:
    squares = np.pad(image**2, ((0, 0), (0, 0), (0, 0), (radius, radius)))
    channels = image.shape[-1]
    sums = sum(squares[..., place : place + channels] for place in range(2 * radius + 1))
    return np.asarray(image / (bias + alpha * sums) ** beta, np.float32)


def bilinear(image: Array, size: Sequence[int]) -> Array:
    """Images in another size, with centres at half pixels."""
    for axis, wanted in enumerate(size, 1):
        extent = image.shape[axis]
        place = np.clip((np.arange(wanted) + 0.5) * extent / wanted - 0.5, 0, extent - 1)
        low = np.floor(place).astype(int)
        rest = (place - low).reshape([-1 if one == axis else 1 for one in range(4)])
        below, above = image.take(low, axis), image.take(np.minimum(low + 1, extent - 1), axis)
        image = below * (1 - rest) + above * rest
    return image.astype(np.float32)


def space_to_depth(image: Array, block: int) -> Array:
    count, height, width, depth = image.shape
    split = image.reshape(count, height // block, block, width // block, block, depth)
    return split.transpose(0, 1, 3, 2, 4, 5).reshape(count, height // block, width // block, -1)


def space_to_batch(image: Array, block: int) -> Array:
    return np.concatenate([image[:, y::block, x::block] for y in range(block) for x in range(block)])


def fake_quant(value: Array, low: float, high: float, bits: int, narrow: bool) -> Array:
    """By steps of a grid that has zero on it."""
    least, most = int(narrow), (1 << bits) - 1
    step = (np.float32(high) - np.float32(low)) / np.float32(most - least)
    zero = np.floor(np.clip(least - np.float32(low) / step, least, most) + 0.5)
    bottom, top = (least - zero) * step, (most - zero) * step
    places = np.floor((np.clip(value, bottom, top) - bottom) / step + 0.5)
    return np.asarray(places * step + bottom, np.float32)


def diagonals(matrices: Array, low: int, high: int, align: str, filling: float) -> Array:
    """The diagonals of matrices, the highest first, shorter ones filled up at an end."""
    above, below = align.split("_")
    parts = [np.diagonal(matrices, place, -2, -1) for place in range(high, low - 1, -1)]
    longest = max(part.shape[-1] for part in parts)
    rows = []
    for place, part in zip(range(high, low - 1, -1), parts, strict=True):
        missing = longest - part.shape[-1]
        right = (above if place >= 0 else below) == "RIGHT"
        border = [(0, 0)] * (part.ndim - 1) + [(missing, 0) if right else (0, missing)]
        rows.append(np.pad(part, border, constant_values=filling))
    return rows[0] if low == high else np.stack(rows, -2)


def segments(combine: Any, nothing: float, value: Array) -> Array:
    """Rows 0 and 2 together, nothing, and row 1."""
    return np.stack([combine(value[0], value[2]), np.full_like(value[0], nothing), value[1]])


def transposed_conv3d(volume: Array, weights: Array, stride: int, size: Sequence[int], padding: str) -> Array:
    """Each element spreads a kernel over the result; the border of the scheme is cut off."""
    kernel, depth = weights.shape[:3], weights.shape[3]
    extents = [(one - 1) * stride + reach for one, reach in zip(volume.shape[1:4], kernel, strict=True)]
    whole = np.zeros((volume.shape[0], *extents, depth), np.float64)
    for place in np.ndindex(*volume.shape[1:4]):
        part = np.einsum("nc,zhwdc->nzhwd", volume[:, *place], weights)
        spots = tuple(
            slice(one * stride, one * stride + reach) for one, reach in zip(place, kernel, strict=True)
        )
        whole[:, *spots] += part
    start = [max(one - extent, 0) // 2 if padding == "SAME" else 0
             for one, extent in zip(extents, size, strict=True)]  # fmt: skip
    cut = tuple(slice(one, one + extent) for one, extent in zip(start, size, strict=True))
    return np.asarray(whole[:, *cut], np.float32)


def round_trip(value: Array, low: Any, high: Any, bits: int, signed: bool, narrow: bool, mode: str) -> Array:
    """Numbers on a grid around zero whose step is the least that reaches both ends, and none beyond it."""
    most = 2 ** (bits - signed) - 1
    least = 0 if not signed else -most if narrow else -most - 1
    steps = [np.float32(high) / np.float32(most) if high > 0 else np.float32(0)]
    steps += [np.float32(low) / np.float32(least)] if low < 0 and least else []
    step = max(steps)
    places = np.clip(value, step * np.float32(least), step * np.float32(most)) * (np.float32(1) / step)
    nearest = np.floor(places + np.float32(0.5)) if mode == "HALF_UP" else np.rint(places)
    return np.asarray(nearest * step, np.float32)
