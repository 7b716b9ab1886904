"""Copies whose rows become columns are moved in squares, to the same bytes."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tosajit as tj
from tests.test_host import LIBRARIES
from tosajit import ops
from tosajit.dtypes import BF16, BOOL, FP8E5M2, FP16, FP32, INT8, INT16, INT32, DType
from tosajit.host.transpose import texts, transpose
from tosajit.kernels.contract.spec import side_of
from tosajit.kernels.sets.registry import instruction_set

TYPES = (BOOL, INT8, INT16, INT32, FP32, FP16, BF16, FP8E5M2)


def drawn(dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """All bit patterns, those of NaN too."""
    size = int(np.prod(shape)) * dtype.storage.itemsize
    bits = np.random.default_rng(size).integers(0, 2 if dtype is BOOL else 256, size).astype(np.uint8)
    return bits.view(dtype.storage).reshape(shape)


def transposed(x: np.ndarray, perms: tuple[int, ...], threads: int = 1) -> tj.Executable:
    graph = tj.trace(lambda x: ops.transpose(x, perms=perms), x)
    return tj.compile(graph, threads=threads)


def assert_turned(x: np.ndarray, perms: tuple[int, ...], threads: int = 1) -> None:
    found = transposed(x, perms, threads)(x)
    wanted = np.ascontiguousarray(x.transpose(perms))
    np.testing.assert_array_equal(found.view(np.uint8), wanted.view(np.uint8))


@pytest.mark.parametrize("dtype", TYPES, ids=repr)
@pytest.mark.parametrize("shape", [(16, 16), (16, 64), (64, 16), (33, 95), (130, 47)])
def test_matrices_of_all_types_are_turned(dtype: DType, shape: tuple[int, int]) -> None:
    assert_turned(drawn(dtype, shape), (1, 0))


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "none"])
@pytest.mark.parametrize("dtype", [INT8, FP16, FP32], ids=repr)
@pytest.mark.parametrize("few", [2, 3, 4, 8])
@pytest.mark.parametrize("threads", [1, 2])
def test_narrow_matrices_are_turned(
    few: int, dtype: DType, threads: int, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    assert_turned(drawn(dtype, (2, few, 71)), (0, 2, 1), threads)
    assert_turned(drawn(dtype, (2, 71, few)), (0, 2, 1), threads)


@given(
    st.lists(st.sampled_from([1, 2, 3, 4, 8, 15, 16, 17, 33, 40]), min_size=2, max_size=4).map(tuple),
    st.randoms(use_true_random=False),
    st.sampled_from([INT8, FP16, INT32]),
    st.sampled_from([1, 2]),
)
def test_any_permutation_of_dimensions(
    shape: tuple[int, ...], random: Random, dtype: DType, threads: int
) -> None:
    perms = tuple(random.sample(range(len(shape)), len(shape)))
    assert_turned(drawn(dtype, shape), perms, threads)


@pytest.mark.parametrize(
    ("shape", "perms", "squares"),
    [
        ((1, 56, 56, 64), (0, 3, 1, 2), True),
        ((8, 197, 64), (0, 2, 1), True),
        ((8, 197, 64), (1, 0, 2), False),
        ((1, 24, 24, 3), (0, 3, 1, 2), True),
        ((2, 3, 24, 24), (0, 2, 3, 1), True),
        ((2, 5, 24, 24), (0, 2, 3, 1), False),
        ((1, 3, 4, 4), (0, 2, 3, 1), False),
    ],
)
def test_rows_that_stay_rows_or_are_few_are_copied_as_they_were(
    shape: tuple[int, ...], perms: tuple[int, ...], squares: bool
) -> None:
    x = drawn(INT8, shape)
    nests = [section.nest for section in transposed(x, perms).program.sections]
    isa = instruction_set()
    assert isa is not None
    assert [transpose(nest, isa) is not None for nest in nests] == [squares]
    assert_turned(x, perms)


@pytest.mark.parametrize(
    ("lanes", "size", "side"), [(4, 4, 8), (8, 4, 8), (16, 4, 16), (8, 2, 16), (8, 1, 16)]
)
def test_squares_of_words_fit_the_registers(lanes: int, size: int, side: int) -> None:
    isa = instruction_set()
    assert isa is not None
    assert side_of(replace(isa, lanes=lanes), size) == side


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "none"])
@pytest.mark.parametrize(
    ("shape", "perms"),
    [
        ((64, 64), (1, 0)),
        ((3, 64), (1, 0)),
        ((64, 8), (1, 0)),
        ((5, 64, 64), (0, 2, 1)),
        ((7, 33, 5, 35), (2, 3, 0, 1)),
        ((3, 5, 7, 64, 2), (2, 1, 0, 4, 3)),
    ],
)
@pytest.mark.parametrize("dtype", [INT8, BF16, FP32], ids=repr)
def test_axes_outside_make_no_other_kernel(
    shape: tuple[int, ...],
    perms: tuple[int, ...],
    dtype: DType,
    library: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So the package brings all kernels along, but those of more axes."""
    monkeypatch.setenv("TOSAJIT_CPU", library)
    isa = instruction_set()
    assert isa is not None
    nests = [section.nest for section in transposed(drawn(dtype, shape), perms).program.sections]
    units = [transpose(nest, isa) for nest in nests]
    assert {unit.source for unit in units if unit} <= set(texts(isa))
    assert any(units)
