"""Fit the polynomials of the transcendental functions again, and compare them with those in the kernels.

`tools/fit_functions.py` prints a row for each: the largest error of the polynomial in the kernels, the least
that one of its form can have, and how far their coefficients are apart. Errors are of the result, relative or
absolute as the fit says, and those of the polynomials alone: kernels round each step to float32 besides.

Fits are minimax, found by Lawson's algorithm: least squares on a grid, whose weights grow where the error is
large. A quotient of two polynomials is fitted as a linear problem, weighted by its last denominator. The
coefficients of EXP, EXP_FIFTH, EXP_SHORT, EXP_ROOT, LOG, LOG_SHORT and ERF_REST come out as they are in the
kernels, up to their rounding. Those of the other functions come from fits with other weights or constraints
(quotients must exceed 1 where they are cut off, for example), and lose up to the factor that the table shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import erf, erfc, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from tosajit.kernels import coefficients

Numbers = NDArray[np.float64]
Function = Callable[[Numbers], Numbers]
Coefficients = tuple[float, ...]

POINTS = 1001
ROUNDS = 300
LN_2, TOP = log(2), sqrt(2)
ERF, ERFC = np.vectorize(erf), np.vectorize(erfc)


@dataclass(frozen=True)
class Fit:
    """A polynomial or a quotient of two: `(fixed + form · over(z)) / (1 + z · under(z))`."""

    name: str
    """Of the tuple in `coefficients.py`; a quotient is `…_OVER` and `…_UNDER`."""
    bound: float
    """What the error of the kernels' coefficients stays within."""
    function: Function
    interval: tuple[float, float]
    form: Function
    """What the polynomial is multiplied by."""
    fixed: Function = np.zeros_like
    """What is added to the product: terms whose coefficients are not fitted."""
    variable: Function = np.asarray
    is_relative: bool = True
    """Whether the error is divided by the value of the function."""

    @property
    def x(self) -> Numbers:
        """Chebyshev's points, which are dense at the ends of the interval."""
        low, high = self.interval
        return (low + high) / 2 + (high - low) / 2 * np.cos(pi * (np.arange(POINTS) + 0.5) / POINTS)

    @property
    def known(self) -> tuple[Coefficients, Coefficients]:
        """The coefficients in the kernels: of the polynomial, and of the denominator."""
        if hasattr(coefficients, self.name):
            return getattr(coefficients, self.name), ()
        return getattr(coefficients, f"{self.name}_OVER"), getattr(coefficients, f"{self.name}_UNDER")

    def error(self, over: Sequence[float], under: Sequence[float]) -> float:
        """The largest error that the polynomial with these coefficients makes."""
        x = self.x
        z, true = self.variable(x), self.function(x)
        found = (self.fixed(x) + self.form(x) * np.polyval(over, z)) / np.polyval([*under, 1.0], z)
        return float(np.abs((found - true) / (true if self.is_relative else 1.0)).max())

    def best(self) -> tuple[Coefficients, Coefficients]:
        """The coefficients whose largest error is least."""
        (over, under), x = map(len, self.known), self.x
        z, true, form = self.variable(x), self.function(x), self.form(x)
        rest, scale = true - self.fixed(x), 1 / np.abs(true) if self.is_relative else np.ones_like(x)
        columns = [form * z**power for power in reversed(range(over))]
        columns += [-true * z**power for power in range(under, 0, -1)]
        table, below, weights = np.stack(columns, 1), np.ones_like(x), np.full(POINTS, 1 / POINTS)
        found, least = np.zeros(over + under), np.inf
        for _ in range(ROUNDS):
            factor = scale / np.abs(below) * np.sqrt(weights)
            solved = np.linalg.lstsq(table * factor[:, None], rest * factor, rcond=None)[0]
            below = np.polyval([*solved[over:], 1.0], z)
            error = np.abs((table @ solved - rest) * scale / below)
            if error.max() < least:
                found, least = solved, error.max()
            weights *= error
            weights /= weights.sum()
        return tuple(found[:over].tolist()), tuple(found[over:].tolist())


def square(x: Numbers) -> Numbers:
    """Functions that are even or odd are polynomials of the square."""
    return x * x


def ones(x: Numbers) -> Numbers:
    """Nothing to multiply by."""
    return np.ones_like(x)


def identity(x: Numbers) -> Numbers:
    """A factor of all odd functions."""
    return x


FITS = (
    Fit("EXP", 3.8e-9, lambda x: np.exp(x / 2), (-LN_2, LN_2), square, lambda x: 1 + x / 2),
    Fit("EXP_FIFTH", 1.1e-7, np.exp, (-LN_2 / 2, LN_2 / 2), square, lambda x: 1 + x),
    Fit("EXP_SHORT", 1.3e-4, np.exp, (-LN_2 / 2, LN_2 / 2), square, lambda x: 1 + x),
    Fit("EXP_ROOT", 1.3e-4, lambda x: np.exp(x / 2), (-LN_2, LN_2), square, lambda x: 1 + x / 2),
    Fit("LOG", 3.3e-8, np.log1p, (1 / TOP - 1, TOP - 1), square, identity),
    Fit("LOG_SHORT", 6.1e-5, np.log1p, (1 / TOP - 1, TOP - 1), square, identity),
    Fit("TANH", 6.4e-7, np.tanh, (0, 8.25), lambda x: x**3, identity, square),
    Fit("TANH_SHORT", 9.2e-5, np.tanh, (0, 5), identity, variable=square),
    Fit("ERF", 2.7e-9, ERF, (0, 1), lambda x: x**3, lambda x: 2 / sqrt(pi) * x, square),
    # Its 8th power is used: the error of that is the polynomial's times the derivative.
    Fit(
        "ERF_REST", 1.8e-8, lambda x: 8 * ERFC(x), (1, 4), lambda x: 8 * ERFC(x) ** (7 / 8), is_relative=False
    ),
    Fit("ERF_SHORT", 1.1e-4, ERF, (0, 3), identity, variable=square),
    Fit("SIN", 2.4e-10, np.sin, (0, pi / 4), lambda x: x**3, identity, square),
    Fit("COS", 2.0e-11, np.cos, (0, pi / 4), lambda x: x**4, lambda x: 1 - x * x / 2, square),
    Fit("SIN_SHORT", 2.0e-6, np.sin, (0, pi / 4), lambda x: x**3, identity, square),
    Fit("COS_SHORT", 1.6e-5, np.cos, (0, pi / 4), square, ones, square),
)


def main() -> int:
    """Print a row for each fit."""
    print(f"{'fit':<12} {'error':>9} {'least':>9} {'apart':>9}")
    for fit in FITS:
        known, best = fit.known, fit.best()
        pairs = zip(sum(known, ()), sum(best, ()), strict=True)
        apart = max(abs(one - other) / abs(other) for one, other in pairs)
        print(f"{fit.name:<12} {fit.error(*known):9.2e} {fit.error(*best):9.2e} {apart:9.1e}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
