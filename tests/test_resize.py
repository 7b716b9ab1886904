"""RESIZE looks where the specification says: places as exact fractions, and images against the oracle."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import floor
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.oracle.graphs import run_graph
from tosajit import ops
from tosajit.operators.image import fractional, nearest, positions


def test_places_are_exact_fractions_of_the_numbers_of_outputs() -> None:
    for outputs, inputs, n, d, offset in product(
        (1, 4, 9), (1, 2, 7), (1, 2, 3, 8), (1, 2, 5), (-3, 0, 1, 4)
    ):
        low, high, rest = positions(outputs, inputs, n, d, offset)
        near, part = nearest(low, high, rest, n), fractional((low, high, rest), n)
        for number in range(outputs):
            place = Fraction(number * d + offset, n)
            first = floor(place)
            assert (low[number], high[number]) == (max(first, 0), min(first + 1, inputs - 1))
            assert Fraction(int(rest[number]), n) == place - first
            assert near[number] == (high if place - first >= Fraction(1, 2) else low)[number]
            assert part[2][number] == np.float32(float(place - first))
        assert part[0] is low
        assert part[1] is high


SAMPLINGS = [
    # Numerators and denominators, offsets and borders of rows and columns.
    ((4, 2, 6, 2), (-1, -1), (1, 1)),
    ((2, 4, 3, 5), (0, 2), (0, 0)),
    ((1, 1, 8, 3), (0, -3), (0, 2)),
]


@pytest.mark.parametrize("mode", ["NEAREST", "BILINEAR"])
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("dtype", [np.int8, np.int16], ids=lambda one: one.__name__)
def test_images_are_those_of_the_oracle(sampling: Any, mode: str, dtype: type[np.generic]) -> None:
    scale, offset, border = sampling
    sizes = [resized(scale[2 * k : 2 * k + 2], offset[k], border[k]) for k in (0, 1)]
    values = np.random.default_rng(3).integers(-100, 100, (1, *sizes, 2)).astype(dtype)
    graph = tj.trace(lambda image: ops.resize(image, scale, offset, border, mode=mode), values)
    found = tj.compile(graph, interpret=True)(values)
    np.testing.assert_array_equal(found, run_graph(graph, [values])[0])


def resized(scale: tuple[int, int], offset: int, border: int) -> int:
    """The smallest input of at least three elements whose output is a whole number of them."""
    n, d = scale
    return next(size for size in range(3, 40) if ((size - 1) * n - offset + border) % d == 0)
