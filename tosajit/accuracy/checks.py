"""Whether numbers are near enough to a reference in fp64 (TOSA 1.0.1 section 4.5.3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tosajit.accuracy.formats import Format, TypeLike, format_of
from tosajit.accuracy.result import Result, summarised
from tosajit.dtypes import FP8E4M3


def check(
    result: npt.ArrayLike,
    reference: npt.ArrayLike,
    dtype: TypeLike,
    ulps: float,
    lower_ulps: float | None = None,
) -> Result:
    """Check that results are within some units in the last place (`tosa_reference_check_fp`).

    `lower_ulps` is how far they may be nearer to zero, if that is another number.
    """
    kind = format_of(dtype)
    ulp = reference_ulp(reference, kind.dtype)
    lower = None if lower_ulps is None else ulp * lower_ulps
    return bounded(result, reference, kind, ulp * ulps, f"{ulps:g} ulp of {kind.name}", lower)


def check_bound(
    result: npt.ArrayLike, reference: npt.ArrayLike, dtype: TypeLike, bound: npt.ArrayLike
) -> Result:
    """Check that results are within absolute errors (`tosa_reference_check_fp_bnd`)."""
    kind = format_of(dtype)
    return bounded(result, reference, kind, bound, f"the bounds of {kind.name}")


def reference_ulp(reference: npt.ArrayLike, dtype: TypeLike) -> np.ndarray:
    """The unit in the last place of numbers in fp64 for a type (`tosa_reference_ulp`)."""
    kind, wide = format_of(dtype), np.abs(np.asarray(reference, np.float64))
    normal = np.isfinite(wide) & (wide >= np.finfo(np.float64).tiny)
    _, exponent = np.frexp(np.where(normal, wide, 1.0))
    power = np.maximum(np.exp2(exponent - 1.0), kind.normal_min)
    return np.where(normal, power * kind.epsilon, 0.0)


def absolute_bound(
    magnitude: npt.ArrayLike,
    value: npt.ArrayLike,
    dtype: TypeLike,
    lower_bound: npt.ArrayLike = 0.0,
    normal_divisor: float = 1.0,
) -> np.ndarray:
    """The error allowed for a magnitude, in units that `value` counts (`calcAbsErrorBound`)."""
    kind = format_of(dtype)
    size, value = np.abs(np.asarray(magnitude, np.float64)), np.asarray(value, np.float64)
    lower = np.asarray(lower_bound, np.float64)
    with np.errstate(all="ignore"):
        least = np.where(lower > 0, np.fmax(lower / value, 0.0), 0.0)
        held = np.fmax(np.maximum(size, kind.normal_min), least)
        error = 2.0 ** (-kind.fraction / normal_divisor) * held * value
    return np.where(np.isfinite(value) | (size != 0), error, 0.0)


def bounded(
    result: npt.ArrayLike,
    reference: npt.ArrayLike,
    kind: Format,
    bound: npt.ArrayLike,
    rule: str,
    lower: npt.ArrayLike | None = None,
) -> Result:
    """Check results against a reference; `lower` is the bound towards zero, if it is another one."""
    found, expected = np.asarray(result).astype(np.float64), np.asarray(reference, np.float64)
    if found.shape != expected.shape:
        raise ValueError(f"the results have the shape {list(found.shape)}, not {list(expected.shape)}")
    upper = np.broadcast_to(np.asarray(bound, np.float64), found.shape)
    below = upper if lower is None else np.broadcast_to(np.asarray(lower, np.float64), found.shape)
    if (upper < 0).any() or (below < 0).any():
        raise ValueError("a bound is negative")
    with np.errstate(all="ignore"):
        accepted = within(found, expected, upper, below, kind)
    return summarised(found, expected, upper, accepted, rule)


def within(
    found: np.ndarray, expected: np.ndarray, upper: np.ndarray, lower: np.ndarray, kind: Format
) -> np.ndarray:
    """Say of each element whether it is between its bounds, or what they become outside the range."""
    sign = np.where(expected < 0, -1.0, 1.0)
    value, size = found * sign, expected * sign
    most, least = size + upper, size - lower
    most = np.where(most > kind.normal_max, np.inf, most)
    least = np.where(least > kind.normal_max, np.inf, least)
    least = np.where(least < -kind.normal_max, -np.inf, least)
    accepted = (value >= least) & (value <= most)
    if kind.flushes:
        accepted = np.where(value == 0, least < kind.normal_min, accepted)
    if kind.dtype is FP8E4M3:
        accepted = np.where(np.isnan(value), most == np.inf, accepted)
    accepted = np.where(np.isfinite(upper), accepted, True)
    return np.where(np.isnan(expected), np.isnan(found), accepted)
