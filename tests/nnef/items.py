"""What lowerings compute on single items, in NumPy, written from NNEF 2.0 section 2.4."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
DTYPES: dict[str, Any] = {"real": np.float64, "int": np.int64, "bool": np.bool_, "str": object}


def kind(item: Any) -> str:
    """`i`, `f`, `b`, `U` or `O`."""
    return np.asarray(item).dtype.kind


def _divided(left: Any, right: Any) -> Any:
    return np.floor_divide(left, right) if kind(left) == "i" else np.divide(left, right)


def _divided_up(left: Any, right: Any) -> Any:
    return -np.floor_divide(-left, right) if kind(left) == "i" else np.ceil(np.divide(left, right))


def _same(left: Any, right: Any) -> Any:
    return np.equal(left, right) if kind(left) not in "UO" else np.asarray(left == right)


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divided,
    "\\": _divided_up,
    "%": np.fmod,
    "**": np.power,
    "<?": np.minimum,
    ">?": np.maximum,
    "&&": np.logical_and,
    "||": np.logical_or,
    "^": np.logical_xor,
    "=>": lambda left, right: np.logical_or(np.logical_not(left), right),
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": _same,
    "is": _same,
    "!=": lambda left, right: np.logical_not(_same(left, right)),
}
UNARY: dict[str, Callable[[Any], Any]] = {"+": np.positive, "-": np.negative, "!": np.logical_not}
NEUTRAL: dict[str, Any] = {"+": 0, "*": 1, "&&": True, "||": False}


def _rounded(value: Any) -> Any:
    """The nearest whole number, away from zero where two are as near."""
    down = np.floor(np.abs(value))
    return np.copysign(down + (np.abs(value) - down >= 0.5), value)


_ERF = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "floor": np.floor,
    "ceil": np.ceil, "abs": np.abs, "sign": np.sign, "round": _rounded, "erf": lambda value: _ERF(value),
    "frac": lambda value: value - np.floor(value),
}  # fmt: skip


def cast(type: str, item: Any) -> Any:
    """An item as one of another type: real numbers lose what is behind the point."""
    if type == "int" and kind(item) == "f":
        return np.trunc(item).astype(np.int64)
    return np.asarray(item).astype(DTYPES[type])[()]


def least(dtype: Any) -> Any:
    """What a maximum begins with."""
    return -np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min


def greatest(dtype: Any) -> Any:
    """What a minimum begins with."""
    return np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
