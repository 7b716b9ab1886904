"""What a check found: whether the array is accurate, and its worst element."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a check; it is true if the check passed."""

    passed: bool
    elements: int
    failures: int
    """How many elements are not accurate enough."""
    rule: str
    """What was checked."""
    index: tuple[int, ...] | None = None
    """Where the worst element is: the one whose error is the largest part of what is allowed."""
    found: float = 0.0
    expected: float = 0.0
    error: float = 0.0
    """How far the worst element is from what is expected."""
    allowed: float = 0.0
    """How far it may be."""
    note: str = ""
    """What is wrong with the array as a whole, if no single element is at fault."""

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        verdict = "within" if self.passed else "outside"
        text = f"{verdict} {self.rule}"
        if self.failures:
            text += f", {self.failures:,} of {self.elements:,} elements are not"
        if self.index is not None:
            place = f" at {list(self.index)}" if self.index else ""
            text += f": {self.found!r}{place}, expected {self.expected!r}"
            text += f", error {self.error:.4g} of {self.allowed:.4g} allowed"
        return f"{text}; {self.note}" if self.note else text


def summarised(
    found: np.ndarray,
    expected: np.ndarray,
    allowed: np.ndarray,
    accepted: np.ndarray,
    rule: str,
    note: str = "",
) -> Result:
    """Find the worst element; elements that are refused come before all others."""
    failures = int(accepted.size - np.count_nonzero(accepted))
    if not accepted.size:
        return Result(not note, 0, 0, rule, note=note)
    with np.errstate(all="ignore"):
        error = np.where(found == expected, 0.0, np.abs(found - expected))
        error = np.where(np.isnan(found) & np.isnan(expected), 0.0, error)
        part = np.where(error == 0, 0.0, error / np.maximum(allowed, np.finfo(np.float64).tiny))
    part = np.nan_to_num(part, nan=np.inf if failures else 0.0, posinf=np.finfo(np.float64).max)
    worst = int(np.argmax(np.where(accepted, -1.0, part) if failures else part))
    index = tuple(int(i) for i in np.unravel_index(worst, accepted.shape))
    return Result(
        not failures and not note,
        accepted.size,
        failures,
        rule,
        index,
        found=float(found[index]),
        expected=float(expected[index]),
        error=float(error[index]),
        allowed=float(allowed[index]),
        note=note,
    )
