"""Every standard operator, of every type and rank, gives what NumPy does (NNEF 2.0 chapter 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.nnef.cases import CASES, NO_FORMULA, Case
from tests.nnef.running import interpreted
from tosajit.frontends.nnef.library import MODULES, Standard

SOME = 3
"""By default every third case of an operator runs, the first one among them."""


def equal(found: Any, expected: Any) -> None:
    """Integers and truths exactly, real numbers but for the order of sums."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            equal(one, other)
        return
    assert found.shape == np.shape(expected)
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    else:
        assert found.dtype.kind == np.asarray(expected).dtype.kind
        np.testing.assert_array_equal(found, expected)


def test_every_operator_has_cases() -> None:
    names = {f"{module}.{name}" for module in MODULES for name in Standard().names(module)}
    assert names - set(CASES) == NO_FORMULA
    assert set(CASES) <= names


@pytest.mark.parametrize("operator", sorted(CASES))
def test_an_operator_gives_what_numpy_does(operator: str) -> None:
    for case in CASES[operator][::SOME]:
        judged(case)


@pytest.mark.slow
@pytest.mark.parametrize("operator", sorted(CASES))
def test_all_cases_give_what_numpy_does(operator: str) -> None:
    for case in CASES[operator]:
        judged(case)


def judged(case: Case) -> None:
    """One case; what is wrong says which."""
    try:
        found = interpreted(case)
        expected = case.expected
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            equal(one, other)
    except Exception as error:
        error.add_note(str(case))
        raise
