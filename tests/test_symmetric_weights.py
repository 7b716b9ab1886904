"""Weights that are never -128, or small, have instructions of their own; sums are exact to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.kernels.contract.blocking import set_for
from tosajit.kernels.contract.geometry import Geometry
from tosajit.kernels.sets.avx2 import NEEDS, avx2
from tosajit.kernels.sets.neon import neon
from tosajit.kernels.sets.registry import cpu


def geometry(rows: int) -> Geometry:
    """A product of so many rows."""
    return Geometry((1, 1, 1, rows), (1, 1, 1, rows), 8, 16, (1, 1, 1))


@pytest.mark.parametrize(("rows", "largest", "name"), [
    (1, 127, "avx2_bytes"),
    (3, 127, "avx2_bytes"),
    (4, 127, "avx2"),
    (1, 128, "avx2"),
    (3, 64, "avx2_bytes"),
    (4, 64, "avx2_small"),
    (4, 65, "avx2"),
])  # fmt: skip
def test_weights_stay_bytes_for_few_rows_or_if_they_are_small(rows: int, largest: int, name: str) -> None:
    isa = avx2(NEEDS)
    assert isa is not None
    assert set_for(isa, geometry(rows), depthwise=False, largest=largest).name == name


def test_depthwise_convolutions_of_small_weights_are_done_as_others_are() -> None:
    isa = avx2(NEEDS)
    assert isa is not None
    assert set_for(isa, geometry(99), depthwise=True, largest=64).name == "avx2"


@pytest.mark.parametrize(("features", "largest", "name"), [
    ({"neon"}, 127, "neon_bytes"),
    ({"neon"}, 128, "neon"),
    ({"neon", "dotprod"}, 127, "neon"),
    ({"neon", "dotprod", "i8mm"}, 127, "neon"),
])  # fmt: skip
@pytest.mark.parametrize("depthwise", [False, True])
def test_arm_adds_up_two_products_of_symmetric_weights(
    features: set[str], largest: int, name: str, depthwise: bool
) -> None:
    isa = neon(features)
    assert isa is not None
    assert set_for(isa, geometry(99), depthwise, largest).name == name


@pytest.mark.skipif(not cpu().features >= NEEDS, reason="this machine has no AVX2")
@pytest.mark.parametrize(("least", "most"), [(-127, 127), (-128, 127), (-64, 64), (-64, 65), (-65, 64)])
@pytest.mark.parametrize("zero", [-128, 3])
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(1, 1, 1), (1, 7, 17), (2, 129, 33), (1, 500, 10), (3, 8, 9), (7, 130, 34)],
)
def test_sums_of_extreme_bytes_are_exact(
    rows: int, depth: int, columns: int, zero: int, least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", "haswell")
    random = np.random.default_rng(depth)
    weights = random.choice(np.array([least, most, 0, 5], np.int8), (columns, 1, 1, depth))
    weights.flat[0] = least
    image = random.choice(np.array([-128, 127, -127, 1], np.int8), (1, 1, rows, depth))
    bias = np.arange(columns, dtype=np.int32)
    points = np.array([zero], np.int8), np.zeros(1, np.int8)
    graph = tj.trace(lambda x: ops.conv2d(x, weights, bias, *points), image)
    found = tj.compile(graph, generic="never")(image)
    sums = (image.reshape(rows, depth).astype(np.int64) - zero) @ weights.reshape(columns, depth).T.astype(
        np.int64
    )
    np.testing.assert_array_equal(np.reshape(found, (rows, columns)), sums + bias)
