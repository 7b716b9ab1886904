"""Elements that are put at indices along one dimension, through ONNX."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import single

Array = np.ndarray[Any, Any]
COMBINE = {"none": None, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def expected(base: Array, at: Array, values: Array, axis: int, how: str) -> Array:
    """The same by a loop over the indices."""
    found, combine = base.copy(), COMBINE[how]
    for place in np.ndindex(at.shape):
        to = (*place[:axis], at[place], *place[axis + 1 :])
        found[to] = values[place] if combine is None else combine(found[to], values[place])
    return found


@pytest.mark.parametrize("constant", [False, True], ids=["inputs", "constants"])
@pytest.mark.parametrize("how", COMBINE)
@pytest.mark.parametrize(("shape", "axis"), [((5,), 0), ((4, 3), 0), ((2, 5, 3), 1), ((3, 2, 4), 2)])
def test_elements_are_combined_with_those_of_their_own_lines(
    shape: tuple[int, ...], axis: int, how: str, constant: bool
) -> None:
    rng = np.random.default_rng(7)
    base = rng.integers(-9, 9, shape).astype(np.float32)
    extents = [9 if place == axis else max(1, one - 1) for place, one in enumerate(shape)]
    at = rng.integers(-shape[axis], shape[axis], extents)
    values = rng.integers(-3, 4, extents).astype(np.float32)
    name = "_at" if constant else "at"
    data = single("ScatterElements", {"x": base, name: at, "new": values}, axis=axis, reduction=how)
    given = [base, values] if constant else [base, at.astype(np.int32), values]
    found = tj.compile(tj.load(data))(*given)
    np.testing.assert_array_equal(found, expected(base, at % shape[axis], values, axis, how))


def test_an_infinite_number_is_the_greatest_where_it_is_the_only_one() -> None:
    base, at = np.full((2, 2), -np.inf, np.float32), np.zeros((3, 2), np.int64)
    data = single("ScatterElements", {"x": base, "at": at, "new": at.astype(np.float32)}, reduction="max")
    found = tj.compile(tj.load(data))(base, at.astype(np.int32), np.full((3, 2), -np.inf, np.float32))
    np.testing.assert_array_equal(found, base)


@pytest.mark.parametrize("how", ["none", "add"])
def test_an_index_is_compared_with_the_places_of_its_own_line_alone(how: str) -> None:
    lines, size, count = 32, 40, 10
    base, values = np.zeros((count, lines), np.float32), np.zeros((size, lines), np.float32)
    at = np.zeros((size, lines), np.int64)
    graph = tj.load(single("ScatterElements", {"x": base, "at": at, "new": values}, reduction=how))
    assert max(prod(value.shape or ()) for value in graph.main.values.values()) <= size * count * lines
