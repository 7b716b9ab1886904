"""Reductions take several rows at a time, and join short ones: bits of integers are those of one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.test_host import LIBRARIES
from tosajit import ops

SHAPES = [
    (1, 100, 24),
    (3, 64, 5),
    (1, 1961, 19),
    (2, 67, 7),
    (2, 48, 130),
    (1, 19, 40),
    (4, 9, 3),
    (1, 8, 64),
]
"""Rows of a few and of many elements, in numbers with divisors and without."""
EXTREMES = {"max": (ops.reduce_max, np.max), "min": (ops.reduce_min, np.min)}


def values(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    random = np.random.default_rng(len(shape))
    if dtype == np.float32:
        return random.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    found: np.ndarray = random.integers(limits.min // 4096, limits.max // 4096 + 1, shape).astype(dtype)
    return found if dtype == np.int32 else random.integers(limits.min, limits.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_rows_are_exact(
    library: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    given = values(shape, np.int32)
    made = tj.compile(tj.trace(lambda x: ops.reduce_sum(x, axis=1), given))
    np.testing.assert_array_equal(made(given), given.sum(1, keepdims=True, dtype=np.int32))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.float32])
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_of_rows_are_exact(name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    function, expected = EXTREMES[name]
    given = values(shape, dtype)
    made = tj.compile(tj.trace(lambda x: function(x, axis=1), given))
    np.testing.assert_array_equal(made(given), expected(given, 1, keepdims=True))


@pytest.mark.parametrize("shape", [(1, 1961, 19), (2, 3136, 24), (1, 12544, 16), (3, 9216, 1)])
def test_sums_of_few_numbers_are_nearer_than_those_row_by_row(shape: tuple[int, ...]) -> None:
    given = values(shape, np.float32) + np.float32(3)
    made = tj.compile(tj.trace(lambda x: ops.reduce_sum(x, axis=1), given))
    exact = given.sum(1, keepdims=True, dtype=np.float64)
    errors = [np.abs(found - exact).max() for found in (made(given), np.add.accumulate(given, 1)[:, -1:])]
    assert errors[0] <= errors[1]
    assert len(made.explain()) == (2 if shape[-1] > 1 else 1)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != (1, 1961, 19)])
def test_sums_of_numbers_are_taken_row_by_row(shape: tuple[int, ...]) -> None:
    given = values(shape, np.float32)
    made = tj.compile(tj.trace(lambda x: ops.reduce_sum(x, axis=1), given))
    expected = np.add.accumulate(given, 1)[:, -1:]
    np.testing.assert_array_equal(made(given), expected)


def nests_of(function: Callable[[Any], Any], given: np.ndarray) -> int:
    made = tj.compile(tj.trace(function, given))
    return len(made.explain())


def test_short_rows_are_joined_where_their_number_allows_it() -> None:
    def largest(x: Any) -> Any:
        return ops.reduce_max(x, axis=1)

    assert nests_of(largest, values((1, 1961, 19), np.int8)) == 2
    assert nests_of(largest, values((1, 1009, 19), np.int8)) == 1
    assert nests_of(largest, values((1, 1000, 200), np.int8)) == 1
    assert nests_of(largest, values((1, 64, 64), np.int8)) == 1
    assert nests_of(largest, values((1, 1961, 19), np.float32)) == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_a_sum_of_an_image_is_that_of_its_rows_on_all_cores(threads: int) -> None:
    given = values((1, 300, 200, 16), np.int8)

    def mean(x: Any) -> Any:
        return ops.reduce_sum(ops.reduce_sum(ops.cast(x, tj.INT32), axis=1), axis=2)

    made = tj.compile(tj.trace(mean, given), threads=threads)
    np.testing.assert_array_equal(made(given), given.astype(np.int32).sum((1, 2), keepdims=True))


def test_products_of_one_channel_have_no_rows_to_take_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", "none")
    image, kernels = (values((count, 1, 1, 1), np.float32) for count in (99, 9))
    bias = np.zeros(9, np.float32)
    made = tj.compile(tj.trace(lambda x, w: ops.conv2d(x, w, bias), image, kernels))
    np.testing.assert_array_equal(made(image, kernels)[:, 0, 0], image[:, 0, 0] * kernels[:, 0, 0, 0])
