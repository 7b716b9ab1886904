"""The errors that operators may make, by their names; TOSA 1.0.1 chapter 2 has one section for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from tosajit.accuracy.checks import absolute_bound, bounded, reference_ulp
from tosajit.accuracy.formats import Format, TypeLike, format_of
from tosajit.accuracy.result import Result
from tosajit.dtypes import FP32

Bound = Callable[..., np.ndarray]
"""What is allowed for a format, a reference in fp64 and the inputs that the rule asks for."""


def check_operator(
    operator: str, result: npt.ArrayLike, reference: npt.ArrayLike, dtype: TypeLike, *inputs: npt.ArrayLike
) -> Result:
    """Check the results of an operator against the reference that fp64 arithmetic gives for its inputs."""
    kind = format_of(dtype)
    allowed = bound(operator, reference, dtype, *inputs)
    lower = reference_ulp(reference, dtype) if operator == "CAST" and truncates(*inputs) else None
    return bounded(result, reference, kind, allowed, f"the bounds of {operator} in {kind.name}", lower)


def bound(operator: str, reference: npt.ArrayLike, dtype: TypeLike, *inputs: npt.ArrayLike) -> np.ndarray:
    """The error allowed for each result of an operator whose output has a type.

    Rules that depend on the input take it in fp64: EXP, SIN, REDUCE_PRODUCT, RESIZE and others. Dot products
    are checked as a whole, by `check_dot_product`; what is not listed must be exact.
    """
    wide = np.asarray(reference, np.float64)
    values = [np.asarray(value).astype(np.float64) for value in inputs]
    rule = BOUNDS.get(operator, units(0))
    try:
        with np.errstate(all="ignore"):
            return np.broadcast_to(rule(format_of(dtype), wide, *values), wide.shape)
    except TypeError as error:
        raise TypeError(f"the bound of {operator} depends on its inputs: {error}") from None


def truncates(*inputs: npt.ArrayLike) -> bool:
    """Whether a CAST may round to zero: between floating-point types (TOSA 1.0.1 section 2.13.1)."""
    types = [np.asarray(value).dtype for value in inputs]
    return bool(types) and not any(np.issubdtype(kind, np.integer) or kind == np.bool_ for kind in types)


def units(ulps: float) -> Bound:
    """Allow some units in the last place."""

    def allowed(kind: Format, reference: np.ndarray, *inputs: np.ndarray) -> np.ndarray:
        error: np.ndarray = reference_ulp(reference, kind.dtype) * ulps
        return error

    return allowed


def base(kind: Format) -> int:
    """The error of exponentials at zero, in units."""
    return 3 if kind.dtype is FP32 else 1


def exp(kind: Format, reference: np.ndarray, x: np.ndarray) -> np.ndarray:
    """TOSA 1.0.1 section 2.6.6."""
    return absolute_bound(reference, base(kind) + 2 * np.abs(x), kind.dtype)


def log(kind: Format, reference: np.ndarray, *inputs: np.ndarray) -> np.ndarray:
    """TOSA 1.0.1 section 2.6.8."""
    return absolute_bound(reference, 5.0, kind.dtype, 0.5)


def sigmoid(kind: Format, reference: np.ndarray, x: np.ndarray) -> np.ndarray:
    """TOSA 1.0.1 section 2.4.3."""
    return absolute_bound(reference, 2 * (1 + np.abs(x)), kind.dtype)


def tanh(kind: Format, reference: np.ndarray, x: np.ndarray) -> np.ndarray:
    """TOSA 1.0.1 section 2.4.4."""
    return absolute_bound(reference, 4 * (base(kind) + 2 * np.abs(x)), kind.dtype, 0.5)


def cos(kind: Format, reference: np.ndarray, x: np.ndarray) -> np.ndarray:
    """TOSA 1.0.1 section 2.6.5."""
    return absolute_bound(1 + np.abs(x), 1.0, kind.dtype, normal_divisor=2)


def sin(kind: Format, reference: np.ndarray, x: np.ndarray) -> np.ndarray:
    """TOSA 1.0.1 section 2.6.13."""
    error: np.ndarray = np.maximum(
        absolute_bound(x, 2.0, kind.dtype, normal_divisor=2), np.pi * kind.normal_min
    )
    return error


def power(kind: Format, reference: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """TOSA 1.0.1 section 2.5.15; nothing is asked where the result is undefined."""
    exponent = y * np.log(x)
    product = absolute_bound(exponent, 5.5, kind.dtype, np.abs(0.55 * y))
    own = absolute_bound(reference, base(kind) + 2 * np.abs(exponent + product), kind.dtype)
    allowed = np.where((x == 0) | (y == 0), 0.0, reference * np.expm1(product) + own)
    undefined = ~(np.isfinite(x) & np.isfinite(y)) | (x < 0) | ((x == 0) & (y <= 0))
    return np.where(undefined, np.inf, allowed)


def reduce_product(kind: Format, reference: np.ndarray, values: np.ndarray) -> np.ndarray:
    """TOSA 1.0.1 section 2.9.5, from the input as a whole."""
    count = values.size // max(reference.size, 1)
    return product_bound(kind, reference, count)


def product_bound(kind: Format, reference: np.ndarray, count: int) -> np.ndarray:
    """Allow one rounding for each of `count` factors."""
    growth = (1 + 2.0 ** (-kind.fraction - 1)) ** count - 1
    error: np.ndarray = np.maximum(np.abs(reference), kind.normal_min) * growth
    return error


def resize(kind: Format, reference: np.ndarray, values: np.ndarray) -> np.ndarray:
    """TOSA 1.0.1 section 2.12.1, from the input as a whole."""
    most = np.max(np.abs(values), initial=0.0)
    error: np.ndarray = np.maximum(absolute_bound(most, 20.0, kind.dtype), most * 0.006)
    return error


BOUNDS: Mapping[str, Bound] = {
    "ERF": units(5),
    "SIGMOID": sigmoid,
    "TANH": tanh,
    "ADD": units(0.5),
    "MUL": units(0.5),
    "POW": power,
    "SUB": units(0.5),
    "CEIL": units(0.5),
    "COS": cos,
    "EXP": exp,
    "FLOOR": units(0.5),
    "LOG": log,
    "RECIPROCAL": units(1),
    "RSQRT": units(2),
    "SIN": sin,
    "REDUCE_PRODUCT": reduce_product,
    "RESIZE": resize,
    "CAST": units(0.5),
}
"""The rules of operators that need not be exact and are not dot products, in the specification's order."""
