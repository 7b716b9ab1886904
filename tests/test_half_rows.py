"""Rows of float16 meet constants of that type as they are, where a set widens them in time."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest
from crossing.cross import kernel_texts

import tosajit as tj
from tests.test_host import LIBRARIES
from tosajit import ops
from tosajit.arrays import Array
from tosajit.graph import Graph
from tosajit.kernels.sets.cpus import foreign

LINUX, ARM_LINUX = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"


def product(x: Array, weights: Array) -> Graph:
    """Rows [rows][depth] times constants [columns][depth], as a convolution."""
    bias = np.zeros(len(weights), np.float16)
    image = x.reshape(1, 1, *x.shape)
    return tj.trace(lambda value: ops.conv2d(value, weights[:, None, None], bias), image)


@pytest.mark.parametrize(("triple", "name", "rows", "stays"), [
    (LINUX, "haswell", 2, True),
    (LINUX, "haswell", 3, False),
    (LINUX, "alderlake", 1, True),
    (LINUX, "sapphirerapids", 1, True),
    (LINUX, "x86-64-v2", 1, False),
    (ARM_LINUX, "neoverse-n1", 2, True),
    (ARM_LINUX, "neoverse-n1", 3, False),
    (ARM_LINUX, "neoverse-v1", 99, True),
    (ARM_LINUX, "apple-m1", 99, True),
])  # fmt: skip
@pytest.mark.parametrize("depth", [8, 9])
def test_few_rows_stay_float16_or_all(triple: str, name: str, rows: int, depth: int, stays: bool) -> None:
    llvm.initialize_all_targets()
    graph = product(np.zeros((rows, depth), np.float16), np.ones((5, depth), np.float16))
    texts = "".join(kernel_texts(graph, foreign(triple, name)))
    assert ("Register tiles of f16" in texts) == (stays and depth % 2 == 0)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize(("depth", "columns"), [(2, 1), (8, 17), (130, 40), (514, 33)])
def test_sums_of_small_integers_are_exact(
    library: str, rows: int, depth: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    rng = np.random.default_rng(depth)
    x = rng.integers(-2, 3, (rows, depth)).astype(np.float16)
    weights = rng.integers(-2, 3, (columns, depth)).astype(np.float16)
    found = tj.compile(product(x, weights), generic="never")(x.reshape(1, 1, rows, depth))
    exact = x.astype(np.int64) @ weights.astype(np.int64).T
    np.testing.assert_array_equal(np.reshape(found, exact.shape), exact)


@pytest.mark.parametrize("library", LIBRARIES)
def test_numbers_of_all_sizes_are_kept(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    least = 2.0**-24
    x = np.array([[least, 0, 1, 0], [0, np.inf, 0, 1]], np.float16)
    weights = np.array([[1, 1, 0, 0], [1024, 0, least, 0], [0, -1, 0, 65504]], np.float16)
    found = tj.compile(product(x, weights), generic="never")(x.reshape(1, 1, *x.shape))
    with np.errstate(invalid="ignore"):
        exact = (x[:, None].astype(np.float64) * weights).sum(-1)
    np.testing.assert_array_equal(np.reshape(found, exact.shape), exact.astype(np.float16))
