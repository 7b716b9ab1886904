"""The polynomials of the kernels' functions are what `tools/fit_functions.py` says they are."""

from __future__ import annotations

import numpy as np
import pytest
from fit_functions import FITS, Fit

from tosajit.kernels import coefficients

REPRODUCED = {"EXP", "EXP_SHORT", "EXP_ROOT", "LOG", "LOG_SHORT", "ERF_REST"}
NEGLIGIBLE = 2.0**-28
"""A sixteenth of half a unit in the last place of a float32 near 1."""


@pytest.mark.parametrize("fit", FITS, ids=lambda fit: fit.name)
def test_the_error_of_a_polynomial_is_what_the_fit_states(fit: Fit) -> None:
    assert 0.9 * fit.bound < fit.error(*fit.known) <= fit.bound


@pytest.mark.parametrize("fit", FITS, ids=lambda fit: fit.name)
def test_no_polynomial_of_the_form_is_much_better(fit: Fit) -> None:
    error, least = fit.error(*fit.known), fit.error(*fit.best())
    assert error <= max(2.2 * least, NEGLIGIBLE)
    assert error >= 0.999 * least


@pytest.mark.parametrize("fit", [fit for fit in FITS if fit.name in REPRODUCED], ids=lambda fit: fit.name)
def test_fitting_again_gives_the_coefficients(fit: Fit) -> None:
    for known, best in zip(fit.known, fit.best(), strict=True):
        np.testing.assert_allclose(known, best, rtol=2e-5)


def test_every_polynomial_has_a_fit() -> None:
    tuples = {
        name for name, value in vars(coefficients).items() if isinstance(value, tuple) and name.isupper()
    }
    assert {name.removesuffix("_OVER").removesuffix("_UNDER") for name in tuples} == {
        fit.name for fit in FITS
    }


@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("LN_2", np.log(2)),
        ("LN_2_SMALL", np.log(2) / 2**23),
        ("TWO_LN_2", 2 * np.log(2)),
        ("LOG2_E", 1 / np.log(2)),
        ("HALF_LOG2_E", 0.5 / np.log(2)),
        ("TWO_OVER_PI", 2 / np.pi),
        ("TWO_OVER_ROOT_PI", 2 / np.sqrt(np.pi)),
        ("SMALLEST_NORMAL", np.finfo(np.float32).smallest_normal),
    ],
)
def test_a_constant_is_rounded_from_what_it_is_called(name: str, exact: float) -> None:
    assert np.float32(getattr(coefficients, name)) == np.float32(exact)


def test_two_parts_of_a_constant_make_more_of_it_than_float32_holds() -> None:
    exact, high, low = np.pi / 2, np.float32(coefficients.HALF_PI_HIGH), np.float32(coefficients.HALF_PI_LOW)
    assert abs(float(high) + float(low) - exact) < 2**-14 * abs(float(np.float32(exact)) - exact) + 1e-13


def test_the_bits_of_a_root_are_those_of_the_root() -> None:
    assert np.int32(coefficients.ROOT_HALF_BITS).view(np.float32) == np.float32(np.sqrt(0.5))
