"""A single pixel of a depthwise convolution has a kernel of its own, with the bits of the definition."""

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
from tosajit.kernels.contract.blocking import PixelBlocking
from tosajit.kernels.contract.geometry import DepthwiseGeometry
from tosajit.kernels.contract.slots import PixelSlot
from tosajit.kernels.contract.spec import Epilogue
from tosajit.kernels.sets.description import InstructionSet

sizes = pytest.mark.parametrize(
    ("kernel", "channels"), [((1, 1), 1), ((5, 1), 30), ((13, 1), 60), ((3, 3), 70), ((4, 2), 128)]
)


def pixel(
    kernels: Kernels | Compiled,
    isa: InstructionSet,
    x: Array,
    weights: Array,
    initial: Array,
    out: Guarded,
    epilogue: Epilogue,
    **numbers: int,
) -> None:
    """Run the kernel on [KH][KW][C] taps and weights."""
    height, width, channels = weights.shape
    shape = DepthwiseGeometry((1, height, width), (1, 1, 1), channels, kernel=(height, width))
    assert shape.is_pixel
    blocking = PixelBlocking(shape, isa, (width * channels, channels))
    packed, _ = pack.pack_depthwise(isa.lanes, weights[..., np.newaxis], 0, isa.byte_width)
    ran(kernels, "pixel", blocking, (x, packed, initial), out, epilogue, **numbers)


def drawn(isa: InstructionSet, kernel: tuple[int, int], channels: int) -> tuple[Array, Array, Array]:
    """Taps, weights, and a bias."""
    rng = np.random.default_rng(kernel[0] + channels)
    weights = weights_of(isa, (*kernel, channels), rng)
    return integers(rng, np.int8, weights.shape), weights, rng.integers(-999, 999, channels, np.int32)


def summed(x: Array, weights: Array) -> Array:
    total: Array = (x.astype(np.int64) * weights).sum((0, 1))
    return total


@how
@sizes
@pytest.mark.parametrize("first", [0, 64])
def test_sums_are_exact(
    isa: InstructionSet, kernels: Kernels | Compiled, kernel: tuple[int, int], channels: int, first: int
) -> None:
    x, weights, bias = drawn(isa, kernel, channels)
    initial = pack.start_values(isa, weights.reshape(-1, channels).T, bias, 5, 0)
    out = Guarded((channels,), np.int32)
    expected = out.array.copy()
    epilogue = with_channels(PixelSlot, False)
    pixel(kernels, isa, x, weights, initial, out, epilogue, N_LO=first, N_HI=max(first, channels))
    expected[first:] = (summed(x.astype(np.int64) - 5, weights) + bias + np.arange(channels))[first:]
    np.testing.assert_array_equal(out.array, expected)


@how
@sizes
@pytest.mark.parametrize("double_round", [False, True])
@rescales
def test_sums_are_rescaled_exactly(
    isa: InstructionSet,
    kernels: Kernels | Compiled,
    kernel: tuple[int, int],
    channels: int,
    double_round: bool,
    is_more: bool,
) -> None:
    x, weights, bias = drawn(isa, kernel, channels)
    matrix = np.ascontiguousarray(weights.reshape(-1, channels).T)
    run = partial(pixel, kernels, isa, x, weights)
    rescaled(isa, PixelSlot, matrix, bias, summed(x, weights), double_round, is_more, run)


def test_pixels_are_those_whose_taps_all_lie_in_the_input() -> None:
    one = (1, 1, 1)
    assert DepthwiseGeometry((1, 5, 3), one, 8, kernel=(5, 3)).is_pixel
    assert DepthwiseGeometry((1, 9, 3), one, 8, kernel=(5, 2), pad=(-4, -1)).is_pixel
    assert not DepthwiseGeometry((1, 9, 3), one, 8, kernel=(5, 2), pad=(-5, -1)).is_pixel
    assert DepthwiseGeometry((1, 9, 3), one, 8, kernel=(5, 2), dilation=(2, 2)).is_pixel
    assert not DepthwiseGeometry((1, 8, 3), one, 8, kernel=(5, 2), dilation=(2, 2)).is_pixel
    assert not DepthwiseGeometry((1, 2, 2), one, 8, kernel=(3, 3), pad=(1, 1)).is_pixel
    assert not DepthwiseGeometry((1, 5, 4), (1, 1, 2), 8, kernel=(5, 3)).is_pixel


@pytest.mark.parametrize("dilation", [1, 2])
def test_pixels_of_the_input_are_found(dilation: int) -> None:
    """Also those that do not begin it."""
    rng, span = np.random.default_rng(dilation), 4 * dilation + 1
    x = integers(rng, np.int8, (1, 12, 3, 20))
    weights = integers(rng, np.int8, (5, 1, 20, 1))

    def layer(x: tj.Tensor) -> tj.Tensor:
        rows = tj.ops.slice(x, [0, 3, 1, 0], [1, span, 1, 20])
        return tj.ops.depthwise_conv2d(rows, weights, input_zp=3, dilation=(dilation, 1))

    executable = tj.compile(tj.trace(layer, x))
    assert [kernel.kernel for kernel in executable.explain()] == ["pixel i8 × i8"]
    taps = x[0, 3 : 3 + span : dilation, 1:2].astype(np.int64) - 3
    np.testing.assert_array_equal(executable(x).reshape(-1), summed(taps, weights[..., 0]))
