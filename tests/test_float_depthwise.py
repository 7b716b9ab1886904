"""Depthwise convolutions of floating-point numbers against float64, within the bound of rounding errors."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tosajit as tj
from tests.strategies import TARGETS
from tests.summing import summed_by_channel
from tests.test_contract_kernels import (
    LIBRARIES,
    SOME,
    Guarded,
    depthwise_geometries,
    extent_out,
    libraries,
    run_depthwise,
    seeds,
)
from tests.test_float_contractions import EPSILON, STORE, Drawn, exactly, numbers, types
from tosajit.arrays import Array
from tosajit.kernels.contract import pack
from tosajit.kernels.contract.blocking import DepthwiseBlocking
from tosajit.kernels.contract.geometry import DepthwiseGeometry
from tosajit.kernels.contract.spec import ContractSpec
from tosajit.kernels.sets.registry import named_set
from tosajit.operators import CLAMP, DEPTHWISE_CONV2D


def near(found: Array, x: Array, weights: Array, g: DepthwiseGeometry) -> None:
    """Check that sums are as exact as a sum of rounded products is."""
    exact = summed_by_channel(exactly(x), exactly(weights), g).reshape(found.shape)
    reach = summed_by_channel(abs(exactly(x)), abs(exactly(weights)), g).reshape(found.shape)
    assert (abs(found - exact) <= (g.kernel[0] * g.kernel[1] + 1) * EPSILON * reach).all()


def kernel(
    g: DepthwiseGeometry,
    library: str,
    x: Array,
    weights: Array,
    out: Guarded,
    box: tuple[int, ...] | None = None,
    **numbers: int,
) -> None:
    spec = ContractSpec(named_set(library), "depthwise", "f32", "f32")
    packed, parts = pack.pack_depthwise(named_set(library).lanes, weights, 0, 4)
    assert parts == 1
    run_depthwise(g, spec, STORE, x, packed, np.zeros(1, np.float32), out, 0, box, **numbers)


@libraries
@SOME
@given(g=depthwise_geometries(element_bytes=4, multipliers=(1,)), seed=seeds, data=st.data())
def test_depthwise_convolutions_are_within_the_bound_and_stay_in_their_box(
    library: str, g: DepthwiseGeometry, seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    x = numbers(rng, (*g.input, g.in_channels))
    weights = numbers(rng, (*g.kernel, g.in_channels, 1))
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, g.rows)] * 2)))
    first = 16 * data.draw(st.integers(0, (g.out_channels - 1) // 16))
    last = data.draw(st.integers(first, g.out_channels))
    out = Guarded((g.rows, g.output[2], g.out_channels), np.float32)
    before = out.array.copy()
    kernel(g, library, x, weights, out, (low, high, first, last))
    inside = np.zeros(out.array.shape, bool)
    inside[low:high, :, first:last] = True
    np.testing.assert_array_equal(out.array[~inside], before[~inside])
    whole = summed_by_channel(exactly(x), exactly(weights), g).reshape(inside.shape)
    near(np.where(inside, out.array, whole), x, weights, g)


def wide(width: int, channels: int, size: int, stride: int, pad: int, dilation: int = 1) -> DepthwiseGeometry:
    """Rows with and without padding, of several blocks."""
    rows, columns = (extent_out(extent, size, stride, pad, pad, dilation) for extent in (9, width))
    kernel, strides, pads, steps = ((number, number) for number in (size, stride, pad, dilation))
    output = 2, rows, columns
    return DepthwiseGeometry((2, 9, width), output, channels, 1, kernel, strides, pads, steps, 4)


WIDE = [
    (40, 24, 3, 1, 1, 1),
    (67, 96, 3, 2, 0, 1),
    (33, 20, 5, 1, 4, 1),
    (150, 64, 3, 1, 1, 2),
    (60, 16, 3, 3, 2, 1),
]


@libraries
@pytest.mark.parametrize("shape", WIDE)
def test_rows_away_from_the_padding_are_read_in_place(library: str, shape: tuple[int, ...]) -> None:
    g = wide(*shape)
    rng = np.random.default_rng(shape)
    x, weights = numbers(rng, (*g.input, g.in_channels)), numbers(rng, (*g.kernel, g.in_channels, 1))
    out = Guarded((*g.output, g.out_channels), np.float32)
    kernel(g, library, x, weights, out)
    near(out.array, x, weights, g)


@libraries
@pytest.mark.parametrize("width", range(1, 19))
def test_short_rows_of_any_width_are_summed_whole(library: str, width: int) -> None:
    g = wide(width, 36, 3, 1, 1)
    rng = np.random.default_rng(width)
    x, weights = numbers(rng, (*g.input, g.in_channels)), numbers(rng, (*g.kernel, g.in_channels, 1))
    out = Guarded((*g.output, g.out_channels), np.float32)
    kernel(g, library, x, weights, out)
    near(out.array, x, weights, g)


@libraries
@pytest.mark.parametrize("shape", [*WIDE, (50, 40, 3, 2, 2, 2)])
def test_taps_give_the_same_bits_side_by_side_and_one_by_one(library: str, shape: tuple[int, ...]) -> None:
    g = wide(*shape)
    assert DepthwiseBlocking(g, named_set(library)).side == (
        3 if shape[2] == 3 and shape[3] == shape[5] else 1
    )
    rng, found = np.random.default_rng(shape), []
    x, weights = numbers(rng, (*g.input, g.in_channels)), numbers(rng, (*g.kernel, g.in_channels, 1))
    for side in (1, DepthwiseBlocking(g, named_set(library)).side):
        out = Guarded((*g.output, g.out_channels), np.float32)
        kernel(g, library, x, weights, out, SIDE=side)
        found.append(out.array.view(np.uint32))
    np.testing.assert_array_equal(found[0], found[1])


@libraries
@pytest.mark.parametrize("channels", [3, 24, 32])
def test_nothing_behind_the_input_is_read(library: str, channels: int) -> None:
    g = wide(40, channels, 3, 1, 0)
    rng = np.random.default_rng(channels)
    x, weights = numbers(rng, (*g.input, channels)), numbers(rng, (3, 3, channels, 1))
    pages = -(-x.nbytes // mmap.PAGESIZE)
    with mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE) as memory:
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        end = start + pages * mmap.PAGESIZE
        ctypes.memmove(end - x.nbytes, x.ctypes.data, x.nbytes)
        protect = ctypes.CDLL(None).mprotect
        assert protect(ctypes.c_void_p(end), mmap.PAGESIZE, 0) == 0
        out = Guarded((*g.output, channels), np.float32)
        kernel(g, library, x, weights, out, SOURCE=end - x.nbytes)
        assert protect(ctypes.c_void_p(end), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE) == 0
    near(out.array, x, weights, g)


@libraries
@pytest.mark.parametrize("width", [7, 40])
def test_padding_is_a_zero_and_not_what_is_left_out(library: str, width: int) -> None:
    g = wide(width, 20, 3, 1, 1)
    x, weights = np.ones((*g.input, 20), np.float32), np.ones((3, 3, 20, 1), np.float32)
    weights[0, 0, 3], weights[2, 1, 5], weights[1, 1, 6] = np.inf, np.nan, -np.inf
    x[0, 4, 4, 7], x[1, 0, 2, 8] = np.inf, np.nan
    out = Guarded((*g.output, 20), np.float32)
    kernel(g, library, x, weights, out)
    with np.errstate(invalid="ignore"):
        expected = summed_by_channel(x, weights, g)
    assert np.isnan(expected[:, 0, :, 3]).all()
    np.testing.assert_array_equal(out.array, expected)


def graph_of(
    drawn: Drawn,
    size: tuple[int, int],
    shape: tuple[int, int, int, int],
    pad: tuple[int, int, int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    multiplier: int = 1,
) -> tuple[str, Array]:
    """A depthwise convolution and a clamp, and its exact result."""
    kh, kw = size
    batch, height, width, channels = shape
    weights = drawn.array((kh, kw, channels, multiplier))
    bias = drawn.array((channels * multiplier,), drawn.result)
    operands = [drawn.input(shape), drawn.graph.const(weights, drawn.dtype)]
    operands += [drawn.graph.const(bias, drawn.result), *drawn.zeros()]
    operator = DEPTHWISE_CONV2D(pad=pad, stride=stride, dilation=dilation, acc_type=drawn.acc_type)
    result = drawn.graph.add(CLAMP(min_val=-2.0, max_val=3.0), [drawn.graph.add(operator, operands)])
    rows = extent_out(height, size[0], stride[0], pad[0], pad[1], dilation[0])
    columns = extent_out(width, size[1], stride[1], pad[2], pad[3], dilation[1])
    g = DepthwiseGeometry((batch, height, width), (batch, rows, columns), channels, multiplier, size, stride)
    g = DepthwiseGeometry(g.input, g.output, channels, multiplier, size, stride, (pad[0], pad[2]), dilation)
    image, taps = exactly(drawn.inputs[0]), exactly(weights)
    reach = summed_by_channel(abs(image), abs(taps), g) + abs(exactly(bias))
    drawn.bounded(reach, kh * kw)
    return result, np.clip(summed_by_channel(image, taps, g) + exactly(bias), -2, 3)


SHAPES = {
    "square": ((3, 3), (2, 9, 21, 35), (1, 1, 1, 1), (1, 1), (1, 1)),
    "strides": ((3, 3), (1, 16, 40, 24), (0, 1, 0, 1), (2, 2), (1, 1)),
    "dilations": ((2, 3), (1, 12, 30, 16), (0, 2, 3, 1), (1, 1), (3, 2)),
    "oblong": ((1, 5), (2, 3, 51, 8), (0, 0, 4, 4), (1, 3), (1, 1)),
    "tall": ((7, 1), (1, 21, 20, 70), (3, 3, 0, 0), (2, 1), (2, 1)),
}


@pytest.mark.parametrize("library", [*LIBRARIES, "none"])
@pytest.mark.parametrize("shape", SHAPES)
def test_graphs_with_depthwise_convolutions(shape: str, library: str, monkeypatch: Any) -> None:
    drawn = Drawn("fp32")
    result, exact = graph_of(drawn, *SHAPES[shape])
    drawn.check(result, library, 1, exact, monkeypatch)


@pytest.mark.parametrize("library", [*LIBRARIES, "none"])
@types
def test_graphs_with_depthwise_convolutions_of_all_types(type_: str, library: str, monkeypatch: Any) -> None:
    drawn = Drawn(type_)
    result, exact = graph_of(drawn, *SHAPES["square"])
    drawn.check(result, library, 1, exact, monkeypatch)


def test_several_results_a_channel_have_the_array_kernel(monkeypatch: Any) -> None:
    drawn = Drawn("fp32")
    result, exact = graph_of(drawn, *SHAPES["square"], multiplier=3)
    drawn.check(result, LIBRARIES[0], 1, exact, monkeypatch)


@pytest.mark.parametrize("target", TARGETS)
def test_depthwise_convolutions_on_any_target(target: str) -> None:
    drawn = Drawn("fp32")
    result, exact = graph_of(drawn, *SHAPES["strides"])
    drawn.graph.output(result)
    found = tj.compile(drawn.graph.build(), target=TARGETS[target])(*drawn.inputs)
    assert (abs(exactly(found) - exact) <= drawn.bound).all()
