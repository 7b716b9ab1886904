"""The Pareto front against every pair of points, and its laws."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sim.explore.pareto import front, hypervolume
from tosajit.arrays import Array

INF, NAN = np.inf, np.nan


def oracle(rows: Sequence[Sequence[float]]) -> list[bool]:
    """By the definition, pair by pair, in plain Python."""
    usable = [all(value == value and value != INF for value in row) for row in rows]

    def beats(one: Sequence[float], other: Sequence[float]) -> bool:
        pairs = list(zip(one, other, strict=True))
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

    return [
        good and not any(fit and beats(other, row) for other, fit in zip(rows, usable, strict=True))
        for row, good in zip(rows, usable, strict=True)
    ]


def drawn(seed: int) -> Array:
    """Result sets of all kinds: few or many values, duplicates, infinities, nan, one to five objectives."""
    generator = np.random.default_rng(seed)
    count, objectives = int(generator.integers(0, 40)), int(generator.integers(1, 6))
    match seed % 4:
        case 0:
            rows = generator.integers(0, 4, (count, objectives)).astype(float)
        case 1:
            rows = generator.normal(size=(count, objectives))
        case 2:  # most of them on the front
            rows = -np.abs(generator.normal(size=(count, objectives)))
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        case _:
            rows = generator.choice([-INF, -1.0, -0.0, 0.0, 1.0, INF, NAN], (count, objectives))
    spoilt = generator.random(rows.shape) < generator.choice([0, 0.05])
    rows[spoilt] = generator.choice([NAN, INF, -INF], int(spoilt.sum()))
    copies = generator.integers(0, max(count, 1), count // 4)
    return np.concatenate([rows, rows[copies]])


@pytest.mark.parametrize("most", [2, 1 << 20], ids=["divided", "as it is"])
def test_the_front_is_that_of_the_definition_on_a_thousand_result_sets(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim.explore.pareto.SMALL", min(most, 128))
    monkeypatch.setattr("sim.explore.pareto.PAIRS", min(most, 1 << 14))
    for seed in range(1000):
        rows = drawn(seed)
        assert front(rows).tolist() == oracle(rows.tolist()), seed


@pytest.mark.parametrize("objectives", [3, 4, 5])
@pytest.mark.parametrize("kind", ["everywhere", "all on the front", "few values"])
def test_the_front_of_many_points_is_that_of_every_pair(kind: str, objectives: int) -> None:
    generator = np.random.default_rng(objectives)
    rows = generator.random((1500, objectives))
    if kind == "all on the front":
        rows = -rows / np.linalg.norm(rows, axis=1, keepdims=True)
    elif kind == "few values":
        rows = np.floor(12 * rows)
    no_worse = (rows[:, None] <= rows[None]).all(axis=2)
    better = (rows[:, None] < rows[None]).any(axis=2)
    assert np.array_equal(front(rows), ~(no_worse & better).any(axis=0))


@given(
    hnp.arrays(float, st.tuples(st.integers(0, 40), st.integers(1, 5)), elements=st.floats(-9, 9, width=16)),
    st.randoms(use_true_random=False),
)
@settings(max_examples=50, deadline=None)
def test_the_front_does_not_depend_on_order_and_scale(rows: Array, random: Random) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)
    found = front(rows)
    assert np.array_equal(front(rows[order]), found[order])
    assert np.array_equal(front(3 * rows[:, ::-1] + 5), found)
    assert np.array_equal(front(rows[found]), np.ones(found.sum(), bool))
    assert found.any() == bool(len(rows))


def test_equal_points_are_all_on_the_front_or_none() -> None:
    assert front([[1, 2], [1, 2], [2, 1], [2, 2], [2, 2]]).tolist() == [True, True, True, False, False]


def test_what_is_no_result_is_not_on_the_front_and_beats_nothing() -> None:
    assert front(np.array([[NAN, 0], [0, INF], [5, 5], [-INF, 6]])).tolist() == [False, False, True, True]
    assert front(np.full((3, 2), NAN)).tolist() == [False] * 3
    assert front(np.empty((0, 3))).shape == (0,)


@pytest.mark.parametrize("values", [[1, 2, 3], [[]], np.zeros((2, 2, 2))])
def test_points_are_rows_of_objectives(values: Any) -> None:
    with pytest.raises(ValueError, match="rows of one or more objectives"):
        front(values)


@pytest.mark.parametrize(
    ("rows", "reference", "volume"),
    [
        ([[1, 2], [2, 1]], [3, 3], 3.0),
        ([[1, 2], [1, 2], [2, 1], [2, 2], [4, 0], [NAN, 0]], [3, 3], 3.0),
        ([[2], [5]], [4], 2.0),
        ([[0, 0, 0]], [2, 3, 4], 24.0),
        ([[0, 1, 1], [1, 0, 1], [1, 1, 0]], [2, 2, 2], 4.0),
        ([[3, 3]], [3, 3], 0.0),
    ],
)
def test_volumes_that_are_counted_by_hand(
    rows: list[list[float]], reference: list[float], volume: float
) -> None:
    assert hypervolume(rows, reference) == pytest.approx(volume)


@pytest.mark.parametrize("objectives", [2, 3])
def test_the_volume_is_that_of_a_fine_grid(objectives: int) -> None:
    rows = np.random.default_rng(objectives).integers(0, 12, (25, objectives))
    cells = np.indices((12,) * objectives).reshape(objectives, -1).T
    beaten = (rows[:, None] <= cells[None]).all(axis=2).any(axis=0)
    assert hypervolume(rows, [12] * objectives) == pytest.approx(beaten.sum())


def test_a_volume_needs_a_reference_of_its_objectives() -> None:
    with pytest.raises(ValueError, match=r"there are 2 objectives and a reference of shape \(3,\)"):
        hypervolume([[1, 2]], [1, 2, 3])
