"""Bytes are looked up by vectors where a set of instructions can, and are the table's everywhere."""

from __future__ import annotations

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
