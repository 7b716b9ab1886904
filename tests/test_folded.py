"""Reductions take several rows at a time, and join short ones: bits of integers are those of one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.test_host import LIBRARIES
from tiling.expr import acc, read
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Write
from tiling.records import replace
from tosajit import ops
from tosajit.host.in_order import in_order

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


ORDERS = [(0, 2, 3, 1), (3, 0, 2, 1), (2, 1, 3, 0)]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32])
@pytest.mark.parametrize("perms", ORDERS)
def test_reductions_of_what_is_transposed_take_it_as_it_lies(
    library: str, dtype: Any, perms: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    given = values((2, 12, 5, 7), dtype)
    for function, expected in EXTREMES.values():

        def extreme(x: Any, function: Any = function) -> Any:
            flat = ops.reshape(ops.transpose(x, perms=perms), (given.size,))
            return function(ops.sub(flat, np.ones(1, dtype)) if dtype != np.int8 else flat, axis=0)

        made = tj.compile(tj.trace(extreme, given))
        wanted = expected(given - (dtype != np.int8), keepdims=True).reshape(1).astype(dtype)
        np.testing.assert_array_equal(made(given), wanted)


def test_reduced_loops_end_where_neighbours_lie() -> None:
    """One of 12 elements, 35 apart, is not the inner one; two that lie on one another are one."""
    access = Access("x", "f32", (24, 35), (Affine((12, 0, 1)), Affine((0, 1, 0))))
    axes = Axis("n", 2), Axis("s", 35, True), Axis("c", 12, True)
    write = Write(Access("y", "f32", (2,), (Affine((1, 0, 0)),)), acc("f32"))
    nest = Nest("reduce", axes, (access,), (write,), Reduction("max", -np.inf, "f32", read(0, "f32")))
    found = in_order(nest)
    assert [(axis.extent, axis.reduced) for axis in found.axes] == [(2, False), (420, True)]
    assert in_order(found) is found
    product = replace(nest, reduction=Reduction("mul", 1.0, "f32", read(0, "f32")))
    assert in_order(product) is product
