"""Bytes are looked up by vectors where a set of instructions can, and are the table's everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.test_golden_code import VECTORS, features
from tests.test_host import LIBRARIES
from tosajit import ops


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("size", [1, 31, 32, 33, 64, 255, 1000])
def test_bytes_are_those_of_the_table(library: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(size)
    table = random.integers(-128, 128, 256).astype(np.int8)
    values = random.permutation(np.resize(np.arange(-128, 128), size)).astype(np.int8)
    monkeypatch.setenv("TOSAJIT_CPU", library)
    made = tj.compile(tj.trace(lambda x: ops.table(x, table), values))
    np.testing.assert_array_equal(made(values), table[values.astype(int) + 128])


@pytest.mark.parametrize("library", ["avx2", "avxvnni", "neon", "neon_bytes", "neon_pairs"])
def test_registers_of_256_bits_have_tables_of_bytes(library: str) -> None:
    vectors = VECTORS[library]
    described = vectors.describe(features(library))
    assert described is not None
    assert described.byte_tables


def test_bytes_that_become_others_by_real_numbers_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def elu(x: Any) -> Any:
        real = ops.mul(ops.sub(ops.cast(x, "FP32"), np.array([3], np.float32)), np.array([0.02], np.float32))
        below = ops.sub(ops.exp(real), np.array([1], np.float32))
        whole = ops.cast(ops.mul(ops.select(real >= 0, real, below), np.array([50], np.float32)), "INT16")
        return ops.rescale(whole, [1 << 30], [30], output_zp=[-7], dtype=tj.INT8)

    monkeypatch.setenv("TOSAJIT_CPU", "avx2")
    values = np.arange(-128, 128).astype(np.int8)
    graph = tj.trace(elu, values)
    made = tj.compile(graph)
    nests = made.stages["simplify"].values["main"].nests
    assert [write.value.op for nest in nests for write in nest.writes] == ["read"]
    np.testing.assert_array_equal(made(values), tj.compile(graph, interpret=True)(values))
