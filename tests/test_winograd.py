"""Convolutions by Winograd's F(4, 3) have the bits of plain ones, and are done where that takes less time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tosajit as tj
from tests.plain_kernels import Kernels
from tests.summing import summed
from tests.test_contract_kernels import SOME, Guarded, guarded, integers, run, seeds, zero_points
from tests.test_contract_kernels import address as address_of
from tests.test_plain_kernels import SETS
from tosajit import ops
from tosajit.arrays import Array
from tosajit.kernels.contract import pack, transforms
from tosajit.kernels.contract.geometry import Geometry
from tosajit.kernels.contract.slots import WinogradSlot
from tosajit.kernels.contract.source import contract_source, tile_source
from tosajit.kernels.contract.spec import ContractSpec, Epilogue
from tosajit.kernels.contract.winograd_blocking import SquaresBlocking, WinogradBlocking
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.registry import available_sets, named_set

OUTPUT = f"output = load_i64(args, {int(WinogradSlot.OUTPUT)})"
STORE = Epilogue("store_i32(output, index, acc)", OUTPUT)
WIDE = [isa for isa in SETS if isa.byte_width == 2]
HERE = [
    isa
    for own in map(named_set, available_sets())
    for isa in (own, own.words)
    if isa is not None and isa.byte_width == 2
]
"""The sets that multiply int16."""


def shape(
    size: tuple[int, int],
    channels: tuple[int, int],
    height: int = 3,
    pad: tuple[int, int] = (1, 1),
    n: int = 1,
) -> Geometry:
    """A convolution with as much padding below and on the right."""
    (ih, iw), (top, left) = size, pad
    output = (n, 1, ih + 2 * top - height + 1, iw + 2 * left - 2)
    return Geometry((n, 1, ih, iw), output, *channels, (1, height, 3), pad=(0, top, left))


def operands(
    g: Geometry, isa: InstructionSet, weights: Array, bias: Array, points: tuple[int, int], squares: bool
) -> list[Array]:
    """The packed weights, and where sums start."""
    pack_taps = pack.pack_points_of_squares if squares else pack.pack_points
    matrix = weights.reshape(g.out_channels, -1).astype(np.int64) - points[1]
    taps = matrix.reshape(g.out_channels, *g.kernel[1:], g.in_channels)
    packed = pack_taps(isa.lanes, taps)
    assert packed is not None
    return [packed, pack.start_values(isa, matrix, bias, points[0], 0)]


def arguments(
    blocking: WinogradBlocking, arrays: Mapping[str, Guarded], rows: tuple[int, int], input_zp: int
) -> Array:
    args = np.zeros(len(WinogradSlot) + 8, np.int64)
    for slot, number in blocking.slots().items():
        args[slot] = number
    for name, array in arrays.items():
        args[WinogradSlot[name]] = array.address
    args[WinogradSlot.M_LO], args[WinogradSlot.M_HI] = (row * blocking.shape.output[3] for row in rows)
    args[WinogradSlot.INPUT_ZP] = input_zp
    return args


def check(
    kernels: Kernels | None,
    isa: InstructionSet,
    g: Geometry,
    seed: int,
    points: tuple[int, int],
    cut: int = 0,
    squares: bool = False,
) -> None:
    """Run the kernel on drawn numbers, without some rows at both ends; nothing else may change."""
    rng = np.random.default_rng(seed)
    x = integers(rng, np.int8, (*g.input, g.in_channels))
    weights = integers(rng, np.int8, (g.out_channels, *g.kernel, g.in_channels))
    if squares:  # greater ones do not have 16 bits when they are transformed
        weights = np.clip(weights.astype(np.int64) - points[1], -227, 227).astype(np.int16) + points[1]
    bias = integers(rng, np.int32, g.out_channels)
    blocking = (SquaresBlocking if squares else WinogradBlocking)(g, isa)
    packed, start = operands(g, isa, weights, bias, points, squares)
    out = Guarded((*g.output, g.out_channels), np.int32)
    scratch = Guarded((blocking.scratch_bytes,), np.uint8)
    arrays = {"SOURCE": guarded(x), "WEIGHT": guarded(packed), "INITIAL": guarded(start)}
    rows = g.output[0] * g.output[2]
    first, last = min(cut, rows // 2), rows - min(cut, rows // 2)
    args = arguments(blocking, {**arrays, "OUTPUT": out, "SCRATCH": scratch}, (first, last), points[0])
    expected = out.array.copy().reshape(rows, -1)
    sums = summed(x.astype(np.int64) - points[0], weights.astype(np.int64) - points[1], g) + bias
    expected[first:last] = sums.astype(np.int32).reshape(rows, -1)[first:last]
    tile, source = (
        tile_source(ContractSpec(isa, "convolution")),
        contract_source(ContractSpec(isa, "winograd squares" if squares else "winograd"), STORE),
    )
    args[WinogradSlot.TILE] = kernels.address(tile) if kernels else address_of(tile)
    if kernels:
        kernels.run(source, args)
    else:
        run(source, args)
    assert out.intact()
    assert scratch.intact()
    np.testing.assert_array_equal(out.array.reshape(rows, -1), expected)


@pytest.mark.parametrize("isa", WIDE, ids=lambda isa: isa.name)
@pytest.mark.parametrize("points", [(0, 0), (-128, 0), (5, -7)])
@pytest.mark.parametrize("squares", [False, True])
def test_sums_are_exact_in_plain_python(isa: InstructionSet, points: tuple[int, int], squares: bool) -> None:
    check(Kernels(isa), isa, shape((5, 9), (10, 11)), 3, points, squares=squares)


@pytest.mark.parametrize("isa", HERE, ids=lambda isa: isa.name)
@SOME
@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 40)),
    channels=st.tuples(st.sampled_from([2, 6, 8, 16, 20, 64]), st.sampled_from([1, 8, 10, 16, 33, 64])),
    height=st.sampled_from([1, 2, 3, 5]),
    pad=st.tuples(st.integers(-1, 3), st.integers(-1, 5)),
    n=st.integers(1, 2),
    cut=st.integers(0, 3),
    seed=seeds,
    points=st.tuples(zero_points, zero_points),
    squares=st.booleans(),
)
def test_sums_are_exact(
    isa: InstructionSet,
    size: tuple[int, int],
    channels: tuple[int, int],
    height: int,
    pad: tuple[int, int],
    n: int,
    cut: int,
    seed: int,
    points: tuple[int, int],
    squares: bool,
) -> None:
    g = shape(size, channels, 3 if squares else height, pad, n)
    if min(g.output) > 0:
        check(None, isa, g, seed, points, cut, squares)


@pytest.mark.parametrize("isa", HERE, ids=lambda isa: isa.name)
@pytest.mark.parametrize("squares", [False, True])
def test_rows_that_do_not_fit_a_cache_are_transformed_in_blocks(isa: InstructionSet, squares: bool) -> None:
    g = shape((40, 64), (64, 16))
    assert (SquaresBlocking if squares else WinogradBlocking)(g, isa).lines < 40
    check(None, isa, g, 1, (-3, 0), 2, squares)


def test_weights_and_inputs_of_any_size_stay_within_16_bits() -> None:
    taps = np.array(np.meshgrid(*[[-255, 0, 255]] * 3)).reshape(3, -1)
    pixels = np.array(np.meshgrid(*[[-128, 127]] * 6)).reshape(6, -1)
    assert np.abs(pack.OF_WEIGHTS @ taps).max() < 1 << 15
    points: list[Any] = transforms.points_of(list(pixels))
    assert max(np.abs(point).max() for point in points) < 1 << 15


def test_inputs_of_any_size_stay_within_16_bits_along_both_axes() -> None:
    unit: list[Any] = transforms.points_of(list(np.eye(6, dtype=np.int64)))
    growth = np.abs(unit).sum(axis=1).max()
    assert growth == 10
    assert 128 * growth**2 < 1 << 15


@pytest.mark.parametrize(("size", "fits"), [(128, True), (227, True), (228, False)])
def test_weights_that_need_more_than_16_bits_along_both_axes_are_refused(size: int, fits: bool) -> None:
    taps = np.full((1, 3, 3, 2), -size)
    assert (pack.pack_points_of_squares(8, taps) is not None) == fits


SHAPE = shape((32, 32), (16, 16))


@pytest.mark.parametrize(
    ("changed", "pays"),
    [
        ({}, True),
        ({"kernel": (1, 1, 3), "pad": (0, 0, 1)}, True),
        ({"stride": (1, 2, 1)}, False),
        ({"dilation": (1, 1, 2)}, False),
        ({"kernel": (1, 3, 5)}, False),
        ({"in_channels": 3}, False),
        ({"out_channels": 4}, False),
        ({"element_bytes": 2}, False),
        ({"output": (1, 1, 32, 5)}, False),
        ({"in_strides": (1 << 20, 1 << 20, 1 << 12, 32)}, True),
    ],
)
def test_it_is_done_where_it_pays(changed: dict[str, object], pays: bool) -> None:
    for isa in SETS:
        made = WinogradBlocking(replace(SHAPE, **changed), isa)  # type: ignore[arg-type]
        assert made.along_x == (pays and isa.byte_width == 2)
        assert made.pays == (made.along_x and not isa.byte_dots)


@pytest.mark.parametrize(
    ("changed", "pays"),
    [
        ({}, True),
        ({"kernel": (1, 5, 3), "pad": (0, 2, 1)}, False),
        ({"stride": (1, 2, 1)}, False),
        ({"out_channels": 16}, False),
        ({"output": (1, 1, 33, 33)}, True),
        ({"output": (1, 1, 5, 5)}, False),
        ({"output": (1, 1, 8, 8)}, True),
        ({"output": (1, 1, 8, 8), "out_channels": 1024}, False),
    ],
)
def test_both_axes_are_transformed_where_that_pays(changed: dict[str, object], pays: bool) -> None:
    for isa in SETS:
        made = SquaresBlocking(replace(shape((32, 32), (64, 64)), **changed), isa)  # type: ignore[arg-type]
        assert made.pays == (pays and isa.byte_width == 2)


def convolved(x: Array, weights: Array, points: tuple[int, int]) -> tuple[Array, tuple[str, ...]]:
    """A CONV2D with a bias of zeros, compiled, and the kernels of its groups."""
    scalars = [np.array([point], np.int8) for point in points]
    bias = np.zeros(len(weights), np.int32)

    @tj.jit
    def network(x: tj.Tensor) -> tj.Tensor:
        return ops.conv2d(
            x, weights, bias, *scalars, pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=tj.INT32
        )

    kernels = network.executable(x).explain()
    return np.asarray(network(x)), tuple(group.kernel for group in kernels)


@pytest.mark.parametrize("name", [name for name in available_sets() if named_set(name).words])
@pytest.mark.parametrize("channels", [(16, False), (32, True), (1024, False)])
def test_sets_that_multiply_bytes_take_a_quarter_of_the_products(
    name: str, channels: tuple[int, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", name)
    depth, fewer = channels
    rng = np.random.default_rng(depth)
    x, weights = integers(rng, np.int8, (1, 8, 8, depth)), integers(rng, np.int8, (40, 3, 3, depth))
    result, kernels = convolved(x, weights, (-128, 0))
    assert any(name.startswith("winograd squares") for name in kernels) == fewer
    exact = summed(
        x[:, None].astype(np.int64) + 128, weights[:, None].astype(np.int64), shape((8, 8), (depth, 40))
    )
    np.testing.assert_array_equal(result, exact[:, 0].astype(np.int32))


each_dilation = pytest.mark.parametrize(
    ("dilation", "pad", "parts"),
    [
        ((2, 2), (2, 2, 2, 2), 4),
        ((1, 3), (1, 1, 2, 4), 3),
        ((2, 1), (0, 3, 1, 1), 2),
        ((4, 5), (4, 4, 5, 5), 0),
    ],
)
"""Dilations and paddings of 27 × 22 pixels, and in how many parts these are done; 0 if they are too many."""


def dilated(channels: tuple[int, int], dilation: tuple[int, int], pad: Sequence[int]) -> Geometry:
    """The shape of such a convolution of 3 × 3 taps."""
    extents = (27 + pad[0] + pad[1] - 2 * dilation[0], 22 + pad[2] + pad[3] - 2 * dilation[1])
    return replace(
        shape((27, 22), channels),
        output=(1, 1, *extents),
        pad=(0, pad[0], pad[2]),
        dilation=(1, *dilation),
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rescaled", [False, True])
@pytest.mark.parametrize("outputs", [20, 40])
@each_dilation
def test_dilated_ones_are_done_in_parts_if_these_are_few(
    dilation: tuple[int, int], pad: tuple[int, ...], parts: int, outputs: int, threads: int, rescaled: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if "avx2" not in available_sets():
        pytest.skip("this machine has no AVX2")
    monkeypatch.setenv("TOSAJIT_CPU", "avx2")
    g = dilated((32, outputs), dilation, pad)
    rng = np.random.default_rng(outputs)
    x, weights = integers(rng, np.int8, (1, 27, 22, 32)), integers(rng, np.int8, (outputs, 3, 3, 32))
    bias = integers(rng, np.int32, (outputs,)) >> 8
    points = [np.array([point], np.int8) for point in (-128, 3)]

    def network(x: tj.Tensor) -> tj.Tensor:
        made = ops.conv2d(x, weights, bias, *points, pad=pad, dilation=dilation, acc_type=tj.INT32)
        return ops.rescale(made, multiplier=1 << 30, shift=42, dtype=tj.INT8) if rescaled else made

    executable = tj.compile(tj.trace(network, x), threads=threads)
    kernels = [group.kernel for group in executable.explain()]
    assert [name.partition(" ")[0] for name in kernels] == (["winograd"] * parts or ["convolution"])
    exact = summed(x[:, None].astype(np.int64) + 128, weights[:, None].astype(np.int64) - 3, g)[:, 0] + bias
    rounded = ((exact + (1 << 11)) >> 12).clip(-128, 127)
    np.testing.assert_array_equal(np.asarray(executable(x)), rounded if rescaled else exact)


@pytest.mark.parametrize("channels", [(16, True), (1024, False)])
def test_sums_that_would_leave_32_bits_are_done_plainly(
    channels: tuple[int, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", "avx2")
    depth, fewer = channels
    x = np.full((1, 4, 8, depth), -128, np.int8)
    weights = np.full((8, 3, 3, depth), -128, np.int8)
    result, kernels = convolved(x, weights, (127, 127))
    assert any(name.startswith("winograd") for name in kernels) == fewer
    g = shape((4, 8), (depth, 8))
    exact = summed(x[:, None].astype(np.int64) - 127, weights[:, None].astype(np.int64) - 127, g)
    np.testing.assert_array_equal(result, exact[:, 0].astype(np.int32))
