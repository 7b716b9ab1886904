"""An oracle for floating-point TOSA: operators in fp64, from the text alone (TOSA 1.0.1 chapter 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

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
NAN_MODES: Mapping[str, tuple[Any, Any]] = {
    "MAXIMUM": (np.maximum, np.fmax),
    "MINIMUM": (np.minimum, np.fmin),
    "REDUCE_MAX": (np.maximum, np.fmax),
    "REDUCE_MIN": (np.minimum, np.fmin),
    "MAX_POOL2D": (np.maximum, np.fmax),
}
SUMS = ("AVG_POOL2D", "CONV2D", "MATMUL", "REDUCE_SUM")
"""Operators whose results are dot products."""
ORDERED = (*SUMS, "REDUCE_PRODUCT", "REDUCE_MAX", "REDUCE_MIN", "MAX_POOL2D")
"""Operators that combine many elements, in whatever order."""


def evaluate(operator: str, attributes: Mapping[str, Any], inputs: Arrays, output: str) -> np.ndarray:
    """Calculate an operator in fp64, or exactly where it does not compute."""
    wide = [array if array.dtype.kind in "bi" else array.astype(np.float64) for array in inputs]
    with np.errstate(all="ignore"):
        if operator in UNARY:
            return np.asarray(UNARY[operator](wide[0]))
        if operator in BINARY:
            return np.asarray(BINARY[operator](wide[0], wide[1]))
        if operator in NAN_MODES:
            return extremes(operator, attributes, wide)
        if operator in SUMS:
            return summed(operator, attributes, wide)
        return special(operator, attributes, wide, output)


def extremes(operator: str, attributes: Mapping[str, Any], inputs: Arrays) -> np.ndarray:
    """The greatest and least of two numbers, along an axis or in a window, by their mode for NaN."""
    propagating, ignoring = NAN_MODES[operator]
    combine = ignoring if attributes["nan_mode"].name == "IGNORE" else propagating
    if operator == "MAX_POOL2D":
        return np.asarray(combine.reduce(windows(inputs[0], attributes, np.nan), axis=(3, 4)))
    if operator.startswith("REDUCE"):
        return np.asarray(combine.reduce(inputs[0], axis=attributes["axis"], keepdims=True))
    return np.asarray(combine(*inputs))


def summed(operator: str, attributes: Mapping[str, Any], inputs: Arrays) -> np.ndarray:
    """Sums of products; zero points are zero."""
    x = inputs[0]
    match operator:
        case "MATMUL":
            return x @ inputs[1]
        case "REDUCE_SUM":
            return np.asarray(x.sum(axis=attributes["axis"], keepdims=True))
        case "AVG_POOL2D":
            return np.asarray(windows(x, attributes).mean(axis=(3, 4)))
    weight, bias = inputs[1], inputs[2]
    about = dict(attributes) | {"kernel": weight.shape[1:3]}
    return np.asarray(np.einsum("nyxhwc,ohwc->nyxo", windows(x, about), weight) + bias)


def windows(x: np.ndarray, attributes: Mapping[str, Any], outside: float = 0.0) -> np.ndarray:
    """All windows over an image: N, OH, OW, KH, KW, C. Only convolutions may be padded here."""
    top, bottom, left, right = attributes["pad"]
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=outside)
    views = np.lib.stride_tricks.sliding_window_view(padded, attributes["kernel"], axis=(1, 2))
    step = attributes["stride"]
    return np.moveaxis(views[:, :: step[0], :: step[1]], 3, 5)


def special(operator: str, attributes: Mapping[str, Any], inputs: Arrays, output: str) -> np.ndarray:
    """Operators of their own kind."""
    x = inputs[0]
    match operator:
        case "CLAMP":
            ignored = attributes["min_val"] if attributes["nan_mode"].name == "IGNORE" else np.nan
            clipped = np.clip(x, attributes["min_val"], attributes["max_val"])
            return np.where(np.isnan(x), ignored, clipped)
        case "CAST":
            return np.asarray(cast(x, output))
        case "SELECT":
            return np.where(x, inputs[1], inputs[2])
        case "REDUCE_PRODUCT":
            return np.asarray(x.prod(axis=attributes["axis"], keepdims=True))
        case "ARGMAX":
            return np.argmax(x, axis=attributes["axis"]).astype(np.int32)
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
    if output not in INTEGERS or x.dtype.kind != "f":
        return x.astype(np.float64)
    low, high = INTEGERS[output]
    return np.clip(np.nan_to_num(np.rint(x), nan=0.0, posinf=high, neginf=low), low, high)
