"""A single row of A has a kernel of its own: its bits are those of the definition, on every set."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import tosajit as tj
from tests.plain_kernels import Kernels
from tests.singles import how, ran, rescaled, rescales, weights_of, with_channels
from tests.test_contract_kernels import Guarded, integers
from tests.test_plain_kernels import Compiled
from tosajit.arrays import Array
from tosajit.kernels.contract import pack
from tosajit.kernels.contract.blocking import RowBlocking
from tosajit.kernels.contract.geometry import Geometry
from tosajit.kernels.contract.slots import RowSlot
from tosajit.kernels.contract.spec import Epilogue
from tosajit.kernels.sets.description import InstructionSet

sizes = pytest.mark.parametrize(("depth", "columns"), [(4, 1), (30, 7), (33, 16), (128, 80), (1, 37)])


def row(
    kernels: Kernels | Compiled,
    isa: InstructionSet,
    x: Array,
    matrix: Array,
    initial: Array,
    out: Guarded,
    epilogue: Epilogue,
    **numbers: int,
) -> None:
    """Run the kernel."""
    columns, depth = matrix.shape
    blocking = RowBlocking(Geometry((1, 1, 1, 1), (1, 1, 1, 1), depth, columns), isa)
    ran(kernels, "row", blocking, (x, pack.pack_bytes(isa, matrix), initial), out, epilogue, **numbers)


def drawn(isa: InstructionSet, depth: int, columns: int) -> tuple[Array, Array, Array]:
    """A row, weights, and a bias."""
    rng = np.random.default_rng(depth + columns)
    matrix = weights_of(isa, (columns, depth), rng)
    return integers(rng, np.int8, depth), matrix, rng.integers(-999, 999, columns, np.int32)


@how
@sizes
@pytest.mark.parametrize("first", [0, 32])
def test_sums_are_exact(
    isa: InstructionSet, kernels: Kernels | Compiled, depth: int, columns: int, first: int
) -> None:
    x, matrix, bias = drawn(isa, depth, columns)
    initial = pack.start_values(isa, matrix, bias, 5, 0)
    out = Guarded((columns,), np.int32)
    expected = out.array.copy()
    epilogue = with_channels(RowSlot, False)
    row(kernels, isa, x, matrix, initial, out, epilogue, N_LO=first, N_HI=max(first, columns))
    sums = matrix.astype(np.int64) @ (x.astype(np.int64) - 5) + bias + np.arange(columns)
    expected[first:] = sums[first:].astype(np.int32)
    np.testing.assert_array_equal(out.array, expected)


@how
@sizes
@pytest.mark.parametrize("double_round", [False, True])
@rescales
def test_sums_are_rescaled_exactly(
    isa: InstructionSet,
    kernels: Kernels | Compiled,
    depth: int,
    columns: int,
    double_round: bool,
    is_more: bool,
) -> None:
    x, matrix, bias = drawn(isa, depth, columns)
    sums = matrix.astype(np.int64) @ x.astype(np.int64)
    run = partial(row, kernels, isa, x, matrix)
    rescaled(isa, RowSlot, matrix, bias, sums, double_round, is_more, run)


def test_rows_lie_in_the_input_where_all_of_their_elements_are_neighbours() -> None:
    one = (1, 1, 1, 1)
    assert Geometry(one, one, 7, 3).is_row
    assert Geometry((1, 1, 20, 1), one, 7, 3, pad=(0, -19, 0)).is_row
    assert not Geometry((1, 1, 20, 1), one, 7, 3, pad=(0, -20, 0)).is_row
    assert Geometry((1, 1, 4, 5), one, 7, 3, (1, 2, 5), pad=(0, -2, 0)).is_row
    assert not Geometry((1, 1, 4, 5), one, 7, 3, (1, 2, 4)).is_row
    assert not Geometry((1, 1, 4, 5), one, 7, 3, (1, 1, 2), dilation=(1, 1, 2)).is_row
    assert not Geometry((1, 1, 4, 5), one, 7, 3, (1, 1, 2), in_strides=(200, 200, 50, 10)).is_row
    assert not Geometry((1, 1, 1, 2), (1, 1, 1, 2), 7, 3).is_row
    assert not Geometry(one, one, 7, 3, (1, 3, 3), pad=(0, 1, 1)).is_row


@pytest.mark.parametrize(("first", "taps"), [(0, 1), (3, 1), (3, 2)])
def test_rows_of_the_input_are_found(first: int, taps: int) -> None:
    """Also those that do not begin it."""
    rng = np.random.default_rng(first)
    x = integers(rng, np.int8, (1, 5, 1, 12))
    weights = integers(rng, np.int8, (40, taps, 1, 12))

    def layer(x: tj.Tensor) -> tj.Tensor:
        rows = tj.ops.slice(x, [0, first, 0, 0], [1, taps, 1, 12])
        return tj.ops.conv2d(rows, weights, input_zp=3)

    executable = tj.compile(tj.trace(layer, x))
    assert [kernel.kernel for kernel in executable.explain()] == ["row i8 × i8"]
    expected = weights.reshape(40, -1).astype(np.int64) @ (x[0, first : first + taps].reshape(-1) - 3)
    np.testing.assert_array_equal(executable(x).reshape(-1), expected)
