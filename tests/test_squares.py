"""Convolutions of float32 by Winograd's F(2 × 2, 3 × 3): within TOSA's bounds, and plain where they have to.

The bounds are those of CONV2D without `local_bound` (TOSA 1.0.1 section 1.10.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tosajit as tj
from tests.plain_kernels import Kernels
from tests.summing import summed
from tests.test_contract_kernels import LIBRARIES, SOME, Guarded, guarded, run, seeds
from tests.test_contract_kernels import address as address_of
from tests.test_plain_kernels import SETS
from tests.test_winograd import OUTPUT, dilated, each_dilation, shape
from tosajit import ops
from tosajit.arrays import Array
from tosajit.host.squares import within_bounds
from tosajit.kernels.contract import pack, transforms
from tosajit.kernels.contract.geometry import Geometry
from tosajit.kernels.contract.slots import WinogradSlot
from tosajit.kernels.contract.source import contract_source, tile_source
from tosajit.kernels.contract.spec import ContractSpec, Epilogue
from tosajit.kernels.contract.squares_blocking import SquareBlocking
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.registry import named_set

STORE = Epilogue("store_f32(output, index, acc)", OUTPUT)
HUGE = np.float32(3e38)


def convolve(
    kernels: Kernels | None, isa: InstructionSet, g: Geometry, x: Array, weights: Array, cut: int = 0
) -> Array:
    """What the kernel stores, without some pairs of rows at both ends; nothing else may change."""
    blocking = SquareBlocking(replace(g, element_bytes=4, floating=True), isa)
    matrix = weights.reshape(g.out_channels, -1)
    points = pack.pack_squares(isa.lanes, weights[:, 0])
    out = Guarded((*g.output, g.out_channels), np.float32)
    scratch = Guarded((blocking.scratch_bytes,), np.uint8, fill=0xFF)
    arrays = {"SOURCE": guarded(x), "WEIGHT": guarded(points), "OUTPUT": out, "SCRATCH": scratch}
    arrays["INITIAL"] = guarded(pack.pack_weights(isa.lanes, matrix, 1))
    args = np.zeros(len(WinogradSlot) + 8, np.int64)
    for slot, number in blocking.slots().items():
        args[slot] = number
    for name, array in arrays.items():
        args[WinogradSlot[name]] = array.address
    rows = g.output[0] * g.output[2]
    first, last = 2 * cut, rows - g.output[2] % 2 - 2 * cut if cut else rows
    args[WinogradSlot.M_LO], args[WinogradSlot.M_HI] = first * g.output[3], last * g.output[3]
    spec = ContractSpec(isa, "winograd", "f32", "f32")
    tile, source = tile_source(replace(spec, kind="convolution")), contract_source(spec, STORE)
    args[WinogradSlot.TILE] = kernels.address(tile) if kernels else address_of(tile)
    before = out.array.copy().reshape(rows, -1)
    if kernels:
        kernels.run(source, args)
    else:
        run(source, args)
    assert out.intact()
    assert scratch.intact()
    found = out.array.reshape(rows, -1)
    kept = [*range(first), *range(last, rows)]
    np.testing.assert_array_equal(found[kept].view(np.int32), before[kept].view(np.int32))
    found[kept] = 0
    return out.array


def drawn(g: Geometry, seed: int, greatest: int = 4) -> tuple[Array, Array]:
    """Small integers: of these, all sums and a quarter of them are exact."""
    rng = np.random.default_rng(seed)
    sizes = (*g.input, g.in_channels), (g.out_channels, *g.kernel, g.in_channels)
    x, weights = (rng.integers(-greatest, greatest + 1, size).astype(np.float32) for size in sizes)
    return x, weights


def check(kernels: Kernels | None, isa: InstructionSet, g: Geometry, seed: int, cut: int = 0) -> None:
    x, weights = drawn(g, seed)
    expected = summed(x, weights, g).reshape(g.output[0] * g.output[2], -1)
    if cut:
        expected[: 2 * cut] = expected[len(expected) - g.output[2] % 2 - 2 * cut :] = 0
    found = convolve(kernels, isa, g, x, weights, cut)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


@pytest.mark.parametrize("isa", SETS, ids=lambda isa: isa.name)
def test_sums_of_small_integers_are_exact_in_plain_python(isa: InstructionSet) -> None:
    check(Kernels(isa), isa, shape((5, 4), (isa.lanes, isa.lanes + 3)), 3)


@pytest.mark.parametrize("library", LIBRARIES)
@SOME
@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 20)),
    registers=st.integers(1, 5),
    columns=st.sampled_from([1, 8, 10, 16, 33, 64]),
    pad=st.tuples(st.integers(-1, 3), st.integers(-1, 5)),
    n=st.integers(1, 2),
    cut=st.integers(0, 1),
    seed=seeds,
)
def test_sums_of_small_integers_are_exact(
    library: str,
    size: tuple[int, int],
    registers: int,
    columns: int,
    pad: tuple[int, int],
    n: int,
    cut: int,
    seed: int,
) -> None:
    isa = named_set(library)
    g = shape(size, (registers * isa.lanes, columns), 3, pad, n)
    if min(g.output) > 0:
        check(None, isa, g, seed, cut if g.output[2] >= 6 else 0)


@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_that_do_not_fit_a_cache_are_transformed_in_blocks(library: str) -> None:
    g = shape((31, 40), (64, 40))
    blocking = SquareBlocking(g, named_set(library))
    assert blocking.chunk < blocking.lines < 31
    check(None, named_set(library), g, 1, cut=2)


def limits(x: Array, weights: Array, g: Geometry) -> Array:
    """The errors that CONV2D may have."""
    sizes = np.full_like(x, np.abs(x).max(), np.float64), np.abs(weights.astype(np.float64))
    return summed(*sizes, g) * 18 * g.in_channels * 2.0**-24


@pytest.mark.parametrize("library", LIBRARIES)
@SOME
@given(spread=st.integers(0, 30), registers=st.integers(1, 4), pad=st.integers(0, 1), seed=seeds)
def test_errors_are_within_bounds_wherever_weights_let_them(
    library: str, spread: int, registers: int, pad: int, seed: int
) -> None:
    isa = named_set(library)
    g = shape((6, 7), (registers * isa.lanes, 20), pad=(pad, pad))
    rng = np.random.default_rng(seed)
    x, weights = (
        (array * np.exp2(rng.integers(-spread, spread + 1, array.shape))).astype(np.float32)
        for array in drawn(g, seed, 1 << 20)
    )
    matrix = weights.reshape(g.out_channels, -1)
    if within_bounds(pack.pack_squares(isa.lanes, weights[:, 0]), matrix, g):
        exact = summed(x.astype(np.float64), weights.astype(np.float64), g)
        error = convolve(None, isa, g, x, weights) - exact
        assert (np.abs(error) <= limits(x, weights, g)).all()


def test_taps_that_find_padding_may_not_be_far_greater_than_others() -> None:
    g = shape((8, 8), (64, 20))
    _, weights = drawn(g, 3)
    large = weights.copy()
    large[7, 0, :, 0] *= 100
    for pad, columns, allowed in ((1, weights, True), (1, large, False), (0, large, True)):
        padded = replace(g, pad=(0, pad, pad), output=(1, 1, 6 + 2 * pad, 6 + 2 * pad))
        assert within_bounds(pack.pack_squares(16, columns[:, 0]), columns.reshape(20, -1), padded) == allowed


def test_errors_of_taps_that_find_padding_would_be_too_large() -> None:
    """So the rule above is needed."""
    isa = named_set("portable")
    g = shape((8, 8), (64, 4))
    x, weights = drawn(g, 3, 1 << 20)
    weights[:, 0, :, 0] *= 1 << 20
    error = convolve(None, isa, g, x, weights) - summed(x.astype(np.float64), weights.astype(np.float64), g)
    assert (np.abs(error) > limits(x, weights, g)).any()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("special", [np.nan, np.inf, HUGE])
def test_what_transforms_cannot_hold_is_summed_plainly(library: str, special: float) -> None:
    isa = named_set(library)
    g = shape((9, 10), (64, 40))
    x, weights = drawn(g, 5)
    weights *= np.float32(2**-10)
    x[0, 0, 4, 4, 7] = x[0, 0, 4, 5, 7] = special
    with np.errstate(invalid="ignore"):
        expected = summed(x.astype(np.float64), weights.astype(np.float64), g)
    found = convolve(None, isa, g, x, weights)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    finite = np.isfinite(expected)
    allowed = limits(x, weights, g)[finite] if special == HUGE else 1e-4
    assert (np.abs(found[finite] - expected[finite]) <= allowed).all()
    assert finite.any()
    assert finite.all() == (special == HUGE)


def test_points_and_sums_are_those_of_the_taps() -> None:
    rng = np.random.default_rng(2)
    pixels, taps = (rng.integers(-9, 9, count).astype(np.float64) for count in (4, 3))
    points: Any = transforms.square_points(list(pixels))
    sums: Any = transforms.square_sums(list(np.multiply(points, pack.square_taps(list(taps)))))
    assert sums == [pixels[:3] @ taps, pixels[1:] @ taps]


SHAPE = shape((32, 32), (64, 64))
FLOATS = replace(SHAPE, element_bytes=4, floating=True)


@pytest.mark.parametrize(
    ("changed", "pays"),
    [
        ({}, True),
        ({"in_channels": 16}, True),
        ({"in_channels": 66}, False),
        ({"stride": (1, 1, 2)}, False),
        ({"dilation": (1, 2, 1)}, False),
        ({"kernel": (1, 1, 3)}, False),
        ({"element_bytes": 2}, False),
        ({"output": (1, 1, 1, 1)}, False),
        ({"in_strides": (1 << 20, 1 << 20, 1 << 12, 128)}, True),
    ],
)
def test_it_is_done_where_bounds_hold_and_it_pays(changed: dict[str, object], pays: bool) -> None:
    for isa in SETS:
        made = SquareBlocking(replace(FLOATS, **changed), isa)  # type: ignore[arg-type]
        assert made.pays == (pays and made.shape.in_channels % isa.lanes == 0)


def convolution(
    channels: int = 64, weight: float = 1.0, local_bound: bool = False, threads: int = 1
) -> tuple[tj.Executable, Array]:
    """A CONV2D, compiled, and an input."""
    x, weights = drawn(shape((15, 14), (channels, 32)), 7, 1000)
    weights[3, 0, 1, 1, 5] = weight
    zero = np.zeros(1, np.float32)

    def network(x: tj.Tensor) -> tj.Tensor:
        return ops.conv2d(
            x, weights[:, 0], zero, zero, zero, pad=(1, 1, 1, 1), acc_type=tj.FP32, local_bound=local_bound
        )

    return tj.compile(tj.trace(network, x[0]), threads=threads), x[0]


@pytest.mark.parametrize(
    ("about", "fewer"),
    [({}, True), ({"local_bound": True}, False), ({"weight": np.inf}, False)],
)
def test_local_bounds_and_infinite_weights_take_all_products(about: dict[str, Any], fewer: bool) -> None:
    executable, _ = convolution(**about)
    (group,) = executable.explain()
    assert group.kernel.startswith("winograd" if fewer else "convolution")


@pytest.mark.parametrize("threads", [1, 2])
@each_dilation
def test_dilated_ones_are_done_in_parts_if_these_are_few(
    dilation: tuple[int, int], pad: tuple[int, ...], parts: int, threads: int
) -> None:
    channels = 64, 20 if parts else 32  # with gaps in registers, pixels would meet all taps
    g = dilated(channels, dilation, pad)
    x, weights = drawn(g, 11)
    zero = np.zeros(1, np.float32)

    def network(x: tj.Tensor) -> tj.Tensor:
        made = ops.conv2d(x, weights[:, 0], zero, zero, zero, pad=pad, dilation=dilation, acc_type=tj.FP32)
        return ops.clamp(made, min_val=-50.0, max_val=60.0)

    executable = tj.compile(tj.trace(network, x[0]), threads=threads)
    kernels = [group.kernel for group in executable.explain()]
    assert [name.partition(" ")[0] for name in kernels] == (["winograd"] * parts or ["convolution"])
    np.testing.assert_array_equal(np.asarray(executable(x[0])), summed(x, weights, g)[0].clip(-50, 60))


def test_threads_do_not_change_bits() -> None:
    results = []
    for threads in (1, 2, 3):
        executable, x = convolution(threads=threads)
        results.append(np.asarray(executable(x)))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
