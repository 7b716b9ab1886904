"""Round values along axes, and shares of a variance by their definition."""

from __future__ import annotations

from itertools import pairwise, product
from math import log2, log10

import numpy as np
import pytest

from sim.explore.scales import nice
from sim.explore.sensitivity import explained

LOWS = (0.0, 0.3, 1.0, 7.0, 120.0, 3e5)
SPANS = (0.01, 0.7, 1.0, 4.0, 11.0, 999.0, 2e6)


@pytest.mark.parametrize(
    ("low", "span"), [(low, span) for low, span in product(LOWS, SPANS) if span > low / 1000]
)
def test_marks_are_all_multiples_of_a_round_step(low: float, span: float) -> None:
    high = low + span
    marks = nice(low, high, "", False)
    assert 4 <= len(marks) <= 7
    step = marks[1] - marks[0]
    assert any(log10(step / sub) % 1 == pytest.approx(0, abs=1e-6) or
               log10(step / sub) % 1 == pytest.approx(1, abs=1e-6) for sub in (1, 2, 2.5, 5))  # fmt: skip
    assert [mark / step for mark in marks] == pytest.approx([round(mark / step) for mark in marks], abs=1e-6)
    assert all(other - one == pytest.approx(step, rel=1e-6) for one, other in pairwise(marks))
    assert low - 1e-6 * step <= marks[0] < low + step
    assert high - step < marks[-1] <= high + 1e-6 * step


@pytest.mark.parametrize("low", [1.0, 1000.0, 65536.0])
@pytest.mark.parametrize("factor", [1.5, 9.0, 70.0, 1e6])
def test_marks_of_bytes_are_multiples_or_powers_of_powers_of_two(low: float, factor: float) -> None:
    high = low * factor
    marks = nice(low, high, "bytes", False)
    step = 2.0 ** round(log2(marks[1] - marks[0])) if len(marks) > 1 else high
    assert marks == [step * number for number in range(round(marks[0] / step), round(marks[-1] / step) + 1)]
    assert low <= marks[0] < low + step
    assert high - step < marks[-1] <= high
    powers = nice(low, high, "bytes", True)
    assert all(log2(one) == int(log2(one)) for one in powers)
    assert len(powers) <= 8
    assert low <= powers[0] < 2 * low or low == powers[0]


@pytest.mark.parametrize(("low", "high"), [(1.0, 1e3), (2.0, 40.0), (0.5, 7e8), (30.0, 3100.0)])
def test_marks_of_wide_axes_are_round_and_few(low: float, high: float) -> None:
    marks = nice(low, high, "", True)
    assert 3 <= len(marks) <= 8
    assert all(low <= one < other <= high for one, other in pairwise(marks))
    for mark in marks:
        digits = mark / 10.0 ** np.floor(np.log10(mark) + 1e-9)
        assert any(digits == pytest.approx(sub) for sub in (1, 1.5, 2, 3, 5, 7))


def test_nothing_between_is_one_mark() -> None:
    assert nice(3.0, 3.0, "", False) == [3.0]


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_a_share_is_of_variances_without_bias(groups: int) -> None:
    generator = np.random.default_rng(groups)
    place = np.arange(40) % groups
    results = generator.normal(size=40) + 2 * place
    share, means = explained(place, results)
    within = np.array(
        [(results[place == one] - results[place == one].mean()) for one in range(groups)], object
    )
    residual = sum(float((one**2).sum()) for one in within) / (40 - groups)
    assert share == pytest.approx(1 - residual / results.var(ddof=1))
    expected = [results[place == one].mean() - results.mean() for one in range(groups)]
    assert means == pytest.approx(expected)
    whole, _ = explained(place, results, whole=True)
    assert whole == pytest.approx(1 - residual * (40 - groups) / (results.var() * 40))
