"""An oracle for floating-point TOSA: operators in fp64, from the text alone (TOSA 1.0.1 chapter 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.floating_sums import SUMS, summed, windows

Arrays = Sequence[np.ndarray]
INTEGERS = {"INT8": (-128, 127), "INT16": (-(1 << 15), (1 << 15) - 1), "INT32": (-(1 << 31), (1 << 31) - 1)}
UNARY: Mapping[str, Callable[[Any], Any]] = {
    "ABS": np.abs,
    "CEIL": np.ceil,
    "COS": np.cos,
    "ERF": np.vectorize(math.erf, otypes=[float]),
    "EXP": np.exp,
    "FLOOR": np.floor,
    "IDENTITY": np.array,
    "LOG": np.log,
    "NEGATE": np.negative,
    "RECIPROCAL": lambda x: 1 / x,
    "RSQRT": lambda x: 1 / np.sqrt(x),
    "SIGMOID": lambda x: 1 / (1 + np.exp(-x)),
    "SIN": np.sin,
    "TANH": np.tanh,
}
BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "ADD": np.add,
    "MUL": np.multiply,
    "POW": np.power,
    "SUB": np.subtract,
    "EQUAL": np.equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
}
INTEGER_UNARY: Mapping[str, Callable[[Any], Any]] = {"BITWISE_NOT": np.invert, "LOGICAL_NOT": np.logical_not}
INTEGER_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "BITWISE_AND": np.bitwise_and,
    "BITWISE_OR": np.bitwise_or,
    "BITWISE_XOR": np.bitwise_xor,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
    "LOGICAL_XOR": np.logical_xor,
}
NAN_MODES: Mapping[str, tuple[Any, Any]] = {
    "MAXIMUM": (np.maximum, np.fmax),
    "MINIMUM": (np.minimum, np.fmin),
    "REDUCE_MAX": (np.maximum, np.fmax),
    "REDUCE_MIN": (np.minimum, np.fmin),
    "MAX_POOL2D": (np.maximum, np.fmax),
}
ORDERED = (*SUMS, "REDUCE_PRODUCT", "REDUCE_MAX", "REDUCE_MIN", "MAX_POOL2D")
"""Operators that combine many elements, in whatever order."""


def evaluate(operator: str, attributes: Mapping[str, Any], inputs: Arrays, output: str) -> np.ndarray:
    """Calculate an operator in fp64, or exactly where it does not compute."""
    wide = [array if array.dtype.kind in "bi" else array.astype(np.float64) for array in inputs]
    with np.errstate(all="ignore"):
        if function := UNARY.get(operator) or INTEGER_UNARY.get(operator):
            return np.asarray(function(wide[0]))
        if combine := BINARY.get(operator) or INTEGER_BINARY.get(operator):
            return np.asarray(combine(wide[0], wide[1]))
        if operator in NAN_MODES:
            return extremes(operator, attributes, wide)
        if operator in SUMS:
            return np.asarray(summed(operator, attributes, wide))
        return special(operator, attributes, wide, output)


def extremes(operator: str, attributes: Mapping[str, Any], inputs: Arrays) -> np.ndarray:
    """The greatest and least of two numbers, along an axis or in a window, by their mode for NaN."""
    propagating, ignoring = NAN_MODES[operator]
    combine = ignoring if attributes["nan_mode"].name == "IGNORE" else propagating
    if operator == "MAX_POOL2D":
        outside = np.nan if combine is ignoring else -np.inf
        if inputs[0].dtype.kind != "f":
            least = np.iinfo(inputs[0].dtype).min
            return np.asarray(windows(inputs[0], attributes["kernel"], attributes, least).max(axis=(3, 4)))
        views = windows(inputs[0], attributes["kernel"], attributes, outside)
        return np.asarray(combine.reduce(views, axis=(3, 4)))
    if operator.startswith("REDUCE"):
        return np.asarray(combine.reduce(inputs[0], axis=attributes["axis"], keepdims=True))
    return np.asarray(combine(*inputs))


def special(operator: str, attributes: Mapping[str, Any], inputs: Arrays, output: str) -> np.ndarray:
    """Operators of their own kind."""
    x = inputs[0]
    match operator:
        case "CLAMP":
            clipped = np.clip(x, attributes["min_val"], attributes["max_val"])
            ignored = attributes["min_val"] if attributes["nan_mode"].name == "IGNORE" else np.nan
            return clipped if x.dtype.kind != "f" else np.where(np.isnan(x), ignored, clipped)
        case "CAST":
            return np.asarray(cast(x, output))
        case "SELECT":
            return np.where(x, inputs[1], inputs[2])
        case "REDUCE_PRODUCT":
            return np.asarray(x.prod(axis=attributes["axis"], keepdims=True))
        case "ARGMAX":
            return largest(x, attributes)
        case "GATHER":
            return np.take_along_axis(x, inputs[1][..., None], axis=1)
        case "SCATTER":
            scattered = x.copy()
            np.put_along_axis(scattered, inputs[1][..., None], inputs[2], axis=1)
            return scattered
        case "RESIZE":
            return resized(x, attributes["mode"].name, *inputs[1:])
    return moved(operator, attributes, inputs)


def moved(operator: str, attributes: Mapping[str, Any], inputs: Arrays) -> np.ndarray:
    """Move data."""
    x = inputs[0]
    match operator:
        case "TRANSPOSE":
            return np.transpose(x, attributes["perms"])
        case "REVERSE":
            return np.flip(x, attributes["axis"])
        case "CONCAT":
            return np.concatenate(inputs, attributes["axis"])
        case "RESHAPE":
            return x.reshape(inputs[1])
        case "TILE":
            return np.tile(x, inputs[1])
        case "PAD":
            return np.pad(x, inputs[1].reshape(-1, 2), constant_values=inputs[2].item())
        case "SLICE":
            return x[tuple(slice(a, a + b) for a, b in zip(inputs[1], inputs[2], strict=True))]
    raise AssertionError(operator)


def cast(x: np.ndarray, output: str) -> np.ndarray:
    """Convert: round to integers, to even; a floating-point result is rounded where it is checked."""
    if output == "BOOL":
        return np.asarray(x != 0)
    if output not in INTEGERS:
        return x.astype(np.float64)
    if x.dtype.kind != "f":
        return x.astype(output.lower())
    low, high = INTEGERS[output]
    return np.asarray(np.clip(np.nan_to_num(np.rint(x), nan=0.0, posinf=high, neginf=low), low, high))


def largest(x: np.ndarray, attributes: Mapping[str, Any]) -> np.ndarray:
    """Where the first of the greatest is, or of NaN; ignored, NaN is less than anything."""
    axis, missing = attributes["axis"], np.isnan(x)
    if attributes["nan_mode"].name == "PROPAGATE":
        return np.asarray(np.argmax(x, axis=axis), np.int32)
    found = np.where(missing, -np.inf, x)
    at = np.where(found.max(axis=axis) == -np.inf, np.argmin(missing, axis=axis), np.argmax(found, axis=axis))
    return np.asarray(at, np.int32)


def resized(
    x: np.ndarray, mode: str, scale: np.ndarray, offset: np.ndarray, border: np.ndarray
) -> np.ndarray:
    """RESIZE (TOSA 1.0.1 section 2.12.1)."""
    for axis, (numerator, denominator) in enumerate(np.reshape(scale, (2, 2)).tolist(), start=1):
        extent = x.shape[axis]
        last = (extent - 1) * numerator - offset[axis - 1] + border[axis - 1]
        place = np.arange(last // denominator + 1) * denominator + offset[axis - 1]
        below, part = place // numerator, (place % numerator) / numerator
        pair = [np.take(x, np.clip(at, 0, extent - 1), axis) for at in (below, below + 1)]
        shape = [-1 if axis == k else 1 for k in range(4)]
        part = part.reshape(shape)
        x = (
            np.where(part >= 0.5, pair[1], pair[0])
            if mode == "NEAREST"
            else pair[0] * (1 - part) + pair[1] * part
        )
    return x
