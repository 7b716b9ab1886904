"""Sums of products in fp64, from the text alone: values, bounds, lengths (TOSA 1.0.1 sections 2.3, 5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tosajit import accuracy

Arrays = Sequence[np.ndarray]
CONVOLUTIONS = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D")
TRANSFORMS = ("FFT2D", "RFFT2D")
SUMS = ("AVG_POOL2D", *CONVOLUTIONS, *TRANSFORMS, "MATMUL", "REDUCE_SUM")
"""Operators whose results are dot products."""


def summed(operator: str, attributes: Mapping[str, Any], inputs: Arrays, bound: bool = False) -> np.ndarray:
    """Sums of products; zero points are zero. Of a transform, real and imaginary parts along a first axis.

    For a `bound`, operands are magnitudes, and what padding adds is multiplied too.
    """
    x = inputs[0]
    match operator:
        case "MATMUL":
            return x @ inputs[1]
        case "REDUCE_SUM":
            return np.asarray(x.sum(axis=attributes["axis"], keepdims=True))
        case "AVG_POOL2D":
            inside = windows(np.ones_like(x), attributes["kernel"], attributes)
            taken = windows(x, attributes["kernel"], attributes).sum(axis=(3, 4))
            return np.asarray(taken / inside.sum(axis=(3, 4)))
        case "TRANSPOSE_CONV2D":
            found = transposed(attributes, x, inputs[1]) + inputs[2]
            return np.asarray(found + (0 * inputs[1]).sum(axis=(1, 2, 3)) if bound else found)
        case "DEPTHWISE_CONV2D":
            return np.asarray(depthwise(attributes, x, inputs[1], bound) + inputs[2])
        case "FFT2D" | "RFFT2D":
            return fourier(attributes, inputs, bound)
    return np.asarray(convolved(attributes, x, inputs[1], bound) + inputs[2])


def windows(
    x: np.ndarray, kernel: Sequence[int], attributes: Mapping[str, Any], outside: float = 0.0
) -> np.ndarray:
    """All windows over images of two or three dimensions: N, positions, kernel, C."""
    rank = len(kernel)
    pad = np.reshape(attributes["pad"], (rank, 2))
    dilation = attributes.get("dilation", (1,) * rank)
    padded = np.pad(x, ((0, 0), *map(tuple, pad), (0, 0)), constant_values=outside)
    span = [(extent - 1) * step + 1 for extent, step in zip(kernel, dilation, strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(padded, span, axis=tuple(range(1, rank + 1)))
    strided = tuple(slice(None, None, step) for step in attributes["stride"])
    dilated = tuple(slice(None, None, step) for step in dilation)
    return np.moveaxis(views[(slice(None), *strided, slice(None), *dilated)], rank + 1, -1)


def convolved(attributes: Mapping[str, Any], x: np.ndarray, weight: np.ndarray, bound: bool) -> np.ndarray:
    """CONV2D and CONV3D without their bias."""
    found, inside = (
        windows(array, weight.shape[1:-1], attributes).reshape(*_positions(x, weight, attributes), -1)
        for array in (x, np.ones_like(x))
    )
    flat = weight.reshape(len(weight), -1)
    products = np.where((inside[..., None, :] > 0) | bound, found[..., None, :] * flat, 0.0)
    return np.asarray(products.sum(axis=-1))


def _positions(x: np.ndarray, weight: np.ndarray, attributes: Mapping[str, Any]) -> tuple[int, ...]:
    """Images, and positions of the window in each."""
    views = windows(x, weight.shape[1:-1], attributes)
    return views.shape[: weight.ndim - 1]


def depthwise(attributes: Mapping[str, Any], x: np.ndarray, weight: np.ndarray, bound: bool) -> np.ndarray:
    """DEPTHWISE_CONV2D without its bias."""
    found, inside = (windows(array, weight.shape[:2], attributes) for array in (x, np.ones_like(x)))
    products = np.where((inside[..., None] > 0) | bound, found[..., None] * weight, 0.0)
    total: np.ndarray = products.sum(axis=(3, 4))
    return total.reshape(*total.shape[:3], -1)


def transposed(attributes: Mapping[str, Any], x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """TRANSPOSE_CONV2D without its bias."""
    (height, width), stride = x.shape[1:3], attributes["stride"]
    extents = [(n - 1) * s + k for n, s, k in zip((height, width), stride, weight.shape[1:3], strict=True)]
    full = np.zeros((len(x), *extents, len(weight)))
    for ky, kx in np.ndindex(*weight.shape[1:3]):
        rows = slice(ky, ky + (height - 1) * stride[0] + 1, stride[0])
        columns = slice(kx, kx + (width - 1) * stride[1] + 1, stride[1])
        full[:, rows, columns] += (x[..., None, :] * weight[:, ky, kx]).sum(axis=-1)
    pad = np.reshape(attributes["out_pad"], (2, 2))
    full = np.pad(full, ((0, 0), *map(tuple, np.maximum(pad, 0)), (0, 0)))
    (top, bottom), (left, right) = np.minimum(pad, 0)
    return full[:, -top : full.shape[1] + bottom, -left : full.shape[2] + right]


def fourier(attributes: Mapping[str, Any], inputs: Arrays, bound: bool) -> np.ndarray:
    """FFT2D and RFFT2D, as the sums that they are."""
    height, width = inputs[0].shape[1:]
    rows = np.outer(np.arange(height), np.arange(height)) % height / height
    columns = np.outer(np.arange(width), np.arange(width)) % width / width
    turns = rows[:, None, :, None] + columns[None, :, None, :]
    kept = turns if len(inputs) > 1 else turns[:, : width // 2 + 1]
    sign = -1 if attributes.get("inverse") else 1
    # Odd quarters of a turn have no cosine, and halves no sine, as RFFT2D asks for; fp64 angles have both.
    cosine = np.where(kept * 4 % 2 == 1, 0.0, np.cos(2 * np.pi * kept))
    sine = np.where(kept * 2 % 1, sign * np.sin(2 * np.pi * kept), 0.0)
    real, imag = inputs[0], inputs[1] if len(inputs) > 1 else np.zeros_like(inputs[0])
    least = accuracy.format_of("FP32").normal_min
    if bound:
        cosine, sine = np.maximum(np.abs(cosine), least), np.maximum(np.abs(sine), least)
    axes = ((1, 2), (2, 3))
    parts = [np.tensordot(array, w, axes) for array in (real, imag) for w in (cosine, sine)]
    return np.stack([parts[0] + parts[3], parts[2] + parts[1] if bound else parts[2] - parts[1]])


def kernel_size(operator: str, attributes: Mapping[str, Any], inputs: Arrays) -> int:
    """How many products a sum has."""
    match operator:
        case "MATMUL":
            return int(inputs[0].shape[2])
        case "REDUCE_SUM":
            return int(inputs[0].shape[attributes["axis"]])
        case "AVG_POOL2D":
            return int(np.prod(attributes["kernel"]))
        case "DEPTHWISE_CONV2D":
            return int(np.prod(inputs[1].shape[:2]))
        case "FFT2D" | "RFFT2D":
            return len(inputs) * int(np.prod(inputs[0].shape[1:]))
    return int(np.prod(inputs[1].shape[1:]))


def judged(
    operator: str,
    attributes: Mapping[str, Any],
    dtype: str,
    inputs: Arrays,
    found: np.ndarray,
    expected: np.ndarray,
    test_set: int | None = None,
) -> accuracy.Result:
    """Check sums of products; those of real and imaginary parts side by side."""
    stored = accuracy.format_of(inputs[0].dtype).dtype
    local = bool(attributes.get("local_bound", True))
    operands = inputs[: 3 if operator in CONVOLUTIONS else 2]
    sizes = [accuracy.magnitudes(array, stored, local or place > 0) for place, array in enumerate(operands)]
    if operator in TRANSFORMS and not local:
        largest = max(accuracy.magnitudes(array, stored, False).max() for array in operands)
        sizes = [np.full_like(size, largest) for size in sizes]
    with np.errstate(all="ignore"):
        bounds = summed(operator, attributes, sizes, bound=True)
    length = kernel_size(operator, attributes, inputs)
    acc = getattr(attributes.get("acc_type"), "name", "FP32" if dtype == "BF16" else dtype)
    bias = operator in CONVOLUTIONS and bool(inputs[2].any())
    ksb = accuracy.kernel_size_bound(length, dtype, acc, bias)
    if test_set is not None:
        return accuracy.check_dot_product(found, expected, bounds, dtype, ksb, test_set)
    # The sum of an average may overflow where the average does not.
    held = bounds * (length if operator == "AVG_POOL2D" else 1)
    bounds = np.where(held > 0.99 * accuracy.format_of(acc).normal_max, np.inf, bounds)
    # The variance is for data sets of many products: here each element may be off by its bound.
    return accuracy.check_dot_product(
        found, expected, bounds, dtype, ksb, variance_error_bound=(2.0 * ksb) ** 2
    )
