"""Shares of the variance, on functions whose shares are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.explore.sensitivity import rank_correlation, sensitivities
from tosajit.arrays import Array

COUNT = 20_000


def shares(fields: Mapping[str, Sequence[Any] | Array], results: Sequence[float] | Array) -> list[float]:
    return [one.share for one in sensitivities(fields, {"it": results})]


def uniform(low: float, high: float, *names: str, seed: int = 0, count: int = COUNT) -> dict[str, Array]:
    generator = np.random.default_rng(seed)
    return {name: generator.uniform(low, high, count) for name in names}


def grid(**levels: Sequence[Any]) -> dict[str, tuple[Any, ...]]:
    """All combinations, as columns of plain values."""
    return dict(zip(levels, zip(*product(*levels.values()), strict=True), strict=True))


def test_the_function_of_ishigami_has_its_published_indices() -> None:
    # T. Ishigami, T. Homma, ISUMA 1990: a = 7, b = 0.1 has first-order indices 0.3139, 0.4424 and 0.
    fields = uniform(-np.pi, np.pi, "x", "y", "z")
    x, y, z = fields.values()
    found = shares(fields, np.sin(x) + 7 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x))
    assert found == pytest.approx([0.3139, 0.4424, 0.0], abs=0.02)


def test_a_linear_function_has_shares_like_the_squares_of_its_factors() -> None:
    fields = uniform(-1, 1, "a", "b", "c")
    a, b, c = fields.values()
    assert shares(fields, 1 * a - 2 * b + 3 * c) == pytest.approx([1 / 14, 4 / 14, 9 / 14], abs=0.02)


def test_powers_of_positive_numbers_have_shares_like_the_squares_of_their_exponents() -> None:
    fields = {name: 2**values for name, values in uniform(0, 8, "a", "b").items()}
    a, b = fields.values()
    assert shares(fields, 1e-6 * a**2 / b) == pytest.approx([4 / 5, 1 / 5], abs=0.02)


def test_shares_of_a_grid_are_exact() -> None:
    fields = grid(a=[0, 1, 2], b=[0, 1], kind=["one", "other"])
    values = {"one": -1.0, "other": 1.0}
    results = [3 * a + 4 * b + values[kind] for a, b, kind in zip(*fields.values(), strict=True)]
    whole = 9 * 2 / 3 + 16 / 4 + 1
    assert shares(fields, np.array(results) - 5) == pytest.approx([6 / whole, 4 / whole, 1 / whole])


def test_what_only_two_together_do_is_no_share_of_either() -> None:
    fields = grid(a=[-1, 1], b=[-1, 1])
    assert shares(fields, [a * b for a, b in zip(*fields.values(), strict=True)]) == [0.0, 0.0]


@pytest.mark.parametrize("count", [40, 200, 1000])
def test_a_parameter_without_influence_has_no_share_even_of_few_points(count: int) -> None:
    found = []
    for seed in range(40):
        fields = uniform(0, 1, "matters", "idle", seed=seed, count=count)
        fields["word"] = np.array([str(number % 7) for number in range(count)])
        found.append(shares(fields, fields["matters"] ** 2 - 0.3))
    matters, idle, word = np.mean(found, axis=0)
    assert matters > 0.9
    assert idle < 0.05
    assert word < 0.05


def test_categories_explain_what_their_means_do() -> None:
    generator = np.random.default_rng(0)
    kinds = [{"kind": "block"}, {"kind": "systolic"}, None]
    chosen = generator.integers(0, 3, COUNT)
    results = np.array([-1.0, 0.0, 1.0])[chosen] + generator.normal(size=COUNT)
    (found,) = sensitivities({"array": [kinds[number] for number in chosen]}, {"it": results})
    assert found.share == pytest.approx(2 / 3 / (2 / 3 + 1), abs=0.02)
    assert (found.direction, found.lowest, found.groups) == (None, {"kind": "block"}, 3)


def test_the_direction_is_that_of_the_ranks() -> None:
    fields = grid(up=[1, 2, 3], down=[8, 16, 32, 64], flag=[False, True])
    results = [np.exp(up) / down - 99 * flag for up, down, flag in zip(*fields.values(), strict=True)]
    up, down, flag = sensitivities(fields, {"it": results})
    rising, falling, switching = (one.direction or 0 for one in (up, down, flag))
    assert rising > 0.3
    assert falling < -0.1
    assert switching < -0.8
    assert (up.lowest, down.lowest, flag.lowest) == (1, 64, True)
    assert (up.highest, down.highest, flag.highest) == (3, 8, False)
    assert [type(one.lowest) for one in (up, down, flag)] == [int, int, bool]


def test_of_many_numbers_the_lowest_is_the_middle_of_the_lowest_group() -> None:
    fields = {"x": np.linspace(-1, 1, 6400)}
    (found,) = sensitivities(fields, {"it": (fields["x"] - 0.53) ** 2 + 1})
    assert found.lowest == pytest.approx(0.53, abs=1 / 64)
    assert found.groups == 32


def test_points_without_a_result_do_not_count() -> None:
    fields = grid(a=[1, 2, 3, 4], b=["x", "y"])
    results = np.array([float(a) for a in fields["a"]])
    results[fields["a"].index(4)] = np.nan
    results[-1] = np.inf
    a, b = sensitivities(fields, {"it": results})
    assert (a.points, a.groups) == (6, 3)
    assert (a.share, b.share) == pytest.approx((1.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("results", [[], [np.nan, np.inf], [2.0, 2.0], [0.1 + 0.2, 0.3]])
def test_nothing_is_said_of_nothing(results: list[float]) -> None:
    (found,) = sensitivities({"a": list(range(len(results)))}, {"it": results})
    assert found.share == 0 or np.isnan(found.share)
    assert found.points == np.isfinite(results).sum()


def test_ranks_of_equal_values_are_their_mean() -> None:
    assert rank_correlation([1, 2, 3], [10, 100, 1000]) == 1
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == -1
    assert rank_correlation([1, 2, 2, 3], [1, 3, 2, 4]) == pytest.approx(0.9486832980505138)
    assert np.isnan(rank_correlation([1, 1], [1, 2]))


@given(st.lists(st.tuples(st.sampled_from([1, 2, 4, 8]), st.floats(-9, 9, width=16)), max_size=40))
@settings(max_examples=50, deadline=None)
def test_shares_are_between_nothing_and_all_and_do_not_depend_on_the_unit(
    points: list[tuple[int, float]],
) -> None:
    values, results = [one for one, _ in points], np.array([one for _, one in points])
    (found,) = sensitivities({"a": values}, {"it": results})
    (scaled,) = sensitivities({"a": values}, {"it": 1024 * results})
    assert np.isnan(found.share) or 0 <= found.share <= 1
    assert scaled.share == pytest.approx(found.share, abs=1e-9, nan_ok=True)
