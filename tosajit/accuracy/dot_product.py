"""Whether sums of products are accurate (TOSA 1.0.1 section 1.10.3, dot product accuracy requirements)."""

from __future__ import annotations

from math import ceil

import numpy as np
import numpy.typing as npt

from tosajit.accuracy.formats import TypeLike, format_of
from tosajit.accuracy.result import Result, summarised

UNBIASED = (3, 4, 5)
"""The test sets whose errors have to cancel out."""


def kernel_size_bound(kernel_size: int, dtype: TypeLike, acc_type: TypeLike, bias: bool = False) -> int:
    """How many roundings a dot product may make (`ksb`), of inputs, weights and a bias that is not zero."""
    spare = format_of(acc_type).fraction - format_of(dtype).fraction
    return ceil(kernel_size / 2 ** (spare / 2)) + bool(bias)


def magnitudes(values: npt.ArrayLike, dtype: TypeLike, local_bound: bool = True) -> np.ndarray:
    """Make the operand in fp64 from which the reference calculates bounds.

    Without `local_bound` all elements of the input count as much as the greatest; weights and biases always
    have bounds of their own. `dtype` is the input's type, also for weights.
    """
    kind = format_of(dtype)
    sizes = np.maximum(np.abs(np.asarray(values).astype(np.float64)), kind.normal_min)
    return sizes if local_bound else np.full_like(sizes, np.max(sizes, initial=kind.normal_min))


def check_dot_product(
    result: npt.ArrayLike,
    reference: npt.ArrayLike,
    bounds: npt.ArrayLike,
    dtype: TypeLike,
    ksb: int,
    test_set: int | None = None,
    *,
    abs_bound: float | None = None,
    variance_error_bound: float | None = None,
) -> Result:
    """Check a tensor of dot products (`tosa_reference_check_dotproduct`).

    `bounds` is what the reference gives for the `magnitudes` of its operands, `ksb` is from
    `kernel_size_bound`, `test_set` is the number of the data set of Appendix A, if the operands are one.
    """
    kind = format_of(dtype)
    found, expected, most = (np.asarray(array).astype(np.float64) for array in (result, reference, bounds))
    if not found.shape == expected.shape == most.shape:
        raise ValueError(f"shapes differ: {list(found.shape)}, {list(expected.shape)}, {list(most.shape)}")
    limit = 2.0 * ksb if abs_bound is None else abs_bound
    variance = 4 * 0.4 * ksb if variance_error_bound is None else variance_error_bound
    with np.errstate(all="ignore"):
        unit = np.maximum(most * 2.0 ** (-1 - kind.fraction), kind.normal_min)
        overflows = np.isinf(kind.rounded(most * (1 + limit * 2.0 ** (-1 - kind.fraction))))
        free = np.isnan(expected) | np.isnan(most) | overflows
        error = np.where(free | (most == 0), 0.0, (found - expected) / unit)
        accepted = np.abs(error) <= limit
    accepted = np.where(most == 0, (expected == 0) & (found == 0), accepted)
    accepted = np.where(np.isnan(expected), np.isnan(found), accepted | (free & ~np.isnan(expected)))
    allowed = np.where(free, np.inf, np.where(most == 0, 0.0, unit * limit))
    note = statistics(error, variance, test_set) if accepted.all() else ""
    return summarised(found, expected, allowed, accepted, f"the dot-product bounds of {kind.name}", note)


def statistics(error: np.ndarray, variance: float, test_set: int | None) -> str:
    """Say what is wrong with errors that are each within their bound; empty if nothing is."""
    total, squares = float(error.sum()), float((error * error).sum())
    drift = np.sqrt(10 * variance * error.size)
    if test_set in UNBIASED and abs(total) > drift:
        return f"errors add up to {total:.4g} of {drift:.4g} roundings allowed in set {test_set}"
    if squares > variance * error.size:
        return f"squared errors average {squares / error.size:.4g} of {variance:.4g} allowed"
    return ""
