"""Bytes are looked up by vectors where a set of instructions can, and are the table's everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tosajit as tj
from tests.test_golden_code import VECTORS, features
from tests.test_host import LIBRARIES
from tosajit import ops
from tosajit.host.lines import lines_of


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("size", [1, 31, 32, 33, 64, 255, 1000])
def test_bytes_are_those_of_the_table(library: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(size)
    table = random.integers(-128, 128, 256).astype(np.int8)
    values = random.permutation(np.resize(np.arange(-128, 128), size)).astype(np.int8)
    monkeypatch.setenv("TOSAJIT_CPU", library)
    made = tj.compile(tj.trace(lambda x: ops.table(x, table), values))
    np.testing.assert_array_equal(made(values), table[values.astype(int) + 128])


def test_tables_of_tables_are_one_table() -> None:
    random = np.random.default_rng(3)
    first, second = (random.integers(-128, 128, 256).astype(np.int8) for _ in range(2))
    values = random.integers(-128, 128, 1000).astype(np.int8)
    made = tj.compile(tj.trace(lambda x: ops.table(ops.table(x, first), second), values))
    (nest,) = made.stages["simplify"].values["main"].nests
    assert len(nest.reads) == 2
    np.testing.assert_array_equal(made(values), second[first[values.astype(int) + 128].astype(int) + 128])


@pytest.mark.parametrize("library", ["avx2", "avxvnni", "neon", "neon_bytes", "neon_pairs"])
def test_registers_of_256_bits_have_tables_of_bytes(library: str) -> None:
    vectors = VECTORS[library]
    described = vectors.describe(features(library))
    assert described is not None
    assert described.byte_tables


def clipped(slope: float, below: float, zero: int, output_zero: int) -> np.ndarray:
    """A leaky unit, or a change of scale, as a table."""
    x = (np.arange(-128, 128) - zero) * slope
    rounded = np.floor(np.where(x < 0, x * below, x) + 0.5) + output_zero
    table: np.ndarray = np.clip(rounded, -128, 127).astype(np.int8)
    return table


LINES = [
    clipped(1, 0.1, -3, 5),
    clipped(0.83, 0.01, -100, -128),
    clipped(1.7, 0, 10, -20),
    clipped(0.37, 1, 3, 4),
    clipped(0.5, 1.9, 0, 11),
    clipped(0.9, -0.7, 4, -60),
    np.full(256, -7, np.int8),
]


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "none"])
@pytest.mark.parametrize("case", range(len(LINES)))
@pytest.mark.parametrize("size", [1, 31, 64, 1000])
def test_tables_of_two_lines_are_computed(
    library: str, case: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    table = LINES[case]
    lines = lines_of(table.tobytes())
    assert lines is not None
    np.testing.assert_array_equal(lines.table, table)
    values = np.random.default_rng(size).permutation(np.resize(np.arange(-128, 128), size)).astype(np.int8)
    made = tj.compile(tj.trace(lambda x: ops.table(x, table), values))
    np.testing.assert_array_equal(made(values), table[values.astype(int) + 128])


@given(st.floats(0.3, 1.9), st.floats(-1, 1.5), st.integers(-128, 127), st.integers(-128, 127))
@settings(max_examples=30)
def test_lines_are_the_table_or_are_not_found(
    slope: float, below: float, zero: int, output_zero: int
) -> None:
    table = clipped(slope, below, zero, output_zero)
    lines = lines_of(table.tobytes())
    assert lines is None or np.array_equal(lines.table, table)


def test_curves_and_disorder_are_no_lines() -> None:
    curve = np.round(127 * np.tanh(np.arange(-128, 128) / 40)).astype(np.int8)
    disorder = np.random.default_rng(2).integers(-128, 128, 256).astype(np.int8)
    assert lines_of(curve.tobytes()) is lines_of(disorder.tobytes()) is None


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
