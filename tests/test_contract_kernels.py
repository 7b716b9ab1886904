"""Contraction kernels against a plain oracle in 64-bit integers; nothing is written outside."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import DTypeLike

from tests.summing import summed, summed_by_channel
from tests.transposed import subgrids
from tosajit.arrays import Array
from tosajit.kernels.contract import pack
from tosajit.kernels.contract.blocking import (
    Blocking,
    DepthwiseBlocking,
    PixelBlocking,
    RowBlocking,
    in_segments,
)
from tosajit.kernels.contract.geometry import DepthwiseGeometry, Geometry
from tosajit.kernels.contract.numbered import Numbered
from tosajit.kernels.contract.slots import DepthwiseSlot, PackSlot, Slot
from tosajit.kernels.contract.source import (
    contract_source,
    depthwise_gather_source,
    gather_source,
    pack_source,
    tile_source,
)
from tosajit.kernels.contract.spec import ContractSpec, Epilogue
from tosajit.kernels.objects import compile_kernel
from tosajit.kernels.sets.cpus import host, known
from tosajit.kernels.sets.registry import available_sets, named_set

LIBRARIES = available_sets()
CANARY = 256
SOME = settings(max_examples=20, deadline=None)

HOST: dict[str, type[np.int8 | np.int16]] = {"i8": np.int8, "i16": np.int16}

libraries = pytest.mark.parametrize("library", LIBRARIES)
zero_points = st.integers(-128, 127)
seeds = st.integers(0, 2**32 - 1)


def run(source: str, args: Array) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(source).address)(args.ctypes.data)


def address(source: str) -> int:
    return compile_kernel(source).address


class Guarded:
    """An array with canaries on both sides, and guesses for what the kernel may not read."""

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike, fill: int = 0x5A) -> None:
        self.bytes = np.full(int(np.prod(shape)) * np.dtype(dtype).itemsize + 2 * CANARY, fill, np.uint8)
        self.array = self.bytes[CANARY:-CANARY].view(dtype).reshape(shape)
        self.address = self.array.ctypes.data
        self.fill = fill

    def intact(self) -> bool:
        outside = np.concatenate([self.bytes[:CANARY], self.bytes[-CANARY:]])
        return bool((outside == self.fill).all())


def guarded(array: Array) -> Guarded:
    copy = Guarded(array.shape, array.dtype)
    copy.array[...] = array
    return copy


COPY = """
from tosajit.kernels.intrinsics import *
from tosajit.kernels.contract.procedures import procedure
from tosajit.kernels.sets.{}.vectors import VECTORS

copy_run = procedure("copy_run", VECTORS)

def kernel(args):
    copy_run(load_i64(args, 0), load_i64(args, 1), load_i64(args, 2))
"""


@pytest.mark.parametrize("choice", [name for name in ("native", "haswell", "x86-64-v2") if name in known()])
@pytest.mark.parametrize("size", [0, 1, 7, 64, 100])
def test_no_page_behind_what_is_copied_is_read(
    choice: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if nothing is copied."""
    if not known()[choice] <= host().features:
        pytest.skip(f"this machine is no {choice}")
    monkeypatch.setenv("TOSAJIT_CPU", choice)
    values, target = np.arange(mmap.PAGESIZE).astype(np.uint8), np.zeros(256, np.uint8)
    protect = ctypes.CDLL(None).mprotect
    with mmap.mmap(-1, 2 * mmap.PAGESIZE) as memory:
        memory[: mmap.PAGESIZE] = values.tobytes()
        end = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + mmap.PAGESIZE
        assert protect(ctypes.c_void_p(end), mmap.PAGESIZE, 0) == 0
        run(COPY.format(available_sets()[0]), np.array([target.ctypes.data, end - size, size], np.int64))
        assert protect(ctypes.c_void_p(end), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE) == 0
    np.testing.assert_array_equal(target[:size], values[mmap.PAGESIZE - size :])


def integers(rng: np.random.Generator, dtype: DTypeLike, shape: int | tuple[int, ...]) -> Array:
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return values if rng.integers(4) else np.full(shape, rng.choice([limits.min, limits.max]), dtype)


def convolve(x: Array, weights: Array, g: Geometry, input_zp: int = 0, weight_zp: int = 0) -> Array:
    """The sums of a convolution of integers, exactly."""
    return summed(x.astype(np.int64) - input_zp, weights.astype(np.int64) - weight_zp, g)


def extent_out(extent: int, kernel: int, stride: int, before: int, after: int, dilation: int) -> int:
    span = extent - 1 + before + after - (kernel - 1) * dilation
    return span // stride + 1 if span >= 0 else 0


def triple(numbers: Sequence[int]) -> tuple[int, int, int]:
    first, second, third = numbers
    return first, second, third


@st.composite
def geometries(draw: st.DrawFn, dimensions: Sequence[int] = (1, 2, 3), element_bytes: int = 1) -> Geometry:
    rank = draw(st.sampled_from(dimensions))
    most = (4, 9, 9)
    sizes = [draw(st.integers(1, most[i])) if i >= 3 - rank else 1 for i in range(3)]
    taps, out = [], []
    for i, size in enumerate(sizes):
        plain = i < 3 - rank or draw(st.booleans())
        k, s, d = (1, 1, 1) if plain else draw(st.tuples(*[st.integers(1, 3)] * 3))
        before, after = (0, 0) if plain else draw(st.tuples(*[st.integers(0, 3)] * 2))
        if extent_out(size, k, s, before, after, d) < 1:
            k, s, d, before, after = 1, 1, 1, 0, 0
        taps.append((k, s, before, d))
        out.append(extent_out(size, k, s, before, after, d))
    batch = draw(st.integers(1, 2))
    channels = st.one_of(st.integers(1, 8), st.sampled_from([16, 31, 64, 68]))
    input, output = (batch, *triple(sizes)), (batch, *triple(out))
    kernel, stride, pad, dilation = map(triple, zip(*taps, strict=True))
    return Geometry(
        input, output, draw(channels), draw(channels), kernel, stride, pad, dilation, element_bytes
    )


def arguments(
    slots: type[Numbered],
    blocking: Blocking | RowBlocking | DepthwiseBlocking | PixelBlocking,
    **numbers: int,
) -> Array:
    args = np.zeros(len(slots) + 8, np.int64)
    for slot, number in blocking.slots().items():
        args[slot] = number
    for name, number in numbers.items():
        args[slots[name]] = number
    return args


OUTPUT = f"output = load_i64(args, {int(Slot.OUTPUT)})"
STORE = {
    kind: Epilogue(f"store_{acc}(output, index, acc)", OUTPUT)
    for kind, acc in (("i8", "i32"), ("i16", "i64"))
}


def convolution(
    g: Geometry,
    library: str,
    x: Array,
    weights: Array,
    bias: Array,
    out_address: int,
    right: str = "i8",
    zero_points: tuple[int, int] = (0, 0),
    box: tuple[int, ...] | None = None,
    rounded: bool = False,
    **numbers: int,
) -> None:
    left = "i8" if g.element_bytes == 1 else "i16"
    spec = ContractSpec(named_set(library), "convolution", left, right)
    matrix, blocking = weights.reshape(g.out_channels, -1), Blocking(g, named_set(library), rounded)
    if left == "i8":
        packed, initial = (
            pack.pack_bytes(named_set(library), in_segments(matrix, blocking)),
            pack.start_values(named_set(library), matrix, bias, *zero_points),
        )
    else:
        packed = (
            pack.pack_halves(named_set(library).lanes, matrix)
            if right == "i16"
            else pack.pack_weights(named_set(library).lanes, matrix.astype(np.int16), 2)
        )
        initial = np.concatenate([bias, np.zeros(16, np.int64)])
    source, scratch = guarded(x), Guarded((blocking.scratch_bytes + 64,), np.uint8)
    operands = [guarded(packed), guarded(initial)]
    args = arguments(
        Slot,
        blocking,
        SOURCE=source.address,
        WEIGHT=operands[0].address,
        INITIAL=operands[1].address,
        OUTPUT=out_address,
        SCRATCH=scratch.address,
        INPUT_ZP=zero_points[0],
        WEIGHT_ZP=zero_points[1],
        GATHER=address(gather_source(named_set(library))),
        TILE=address(tile_source(spec)),
        **numbers,
    )
    if box:
        args[Slot.M_LO], args[Slot.M_HI], args[Slot.N_LO], args[Slot.N_HI] = box
    run(contract_source(spec, STORE[left]), args)
    assert scratch.intact()


@libraries
@SOME
@given(g=geometries(), seed=seeds, input_zp=zero_points, weight_zp=st.one_of(st.just(0), zero_points))
def test_int8_convolutions_are_exact(
    library: str, g: Geometry, seed: int, input_zp: int, weight_zp: int
) -> None:
    rng = np.random.default_rng(seed)
    x = integers(rng, np.int8, (*g.input, g.in_channels))
    weights = integers(rng, np.int8, (g.out_channels, *g.kernel, g.in_channels))
    bias = integers(rng, np.int32, g.out_channels)
    out = Guarded((*g.output, g.out_channels), np.int32)
    convolution(g, library, x, weights, bias, out.address, zero_points=(input_zp, weight_zp))
    assert out.intact()
    np.testing.assert_array_equal(
        out.array, (convolve(x, weights, g, input_zp, weight_zp) + bias).astype(np.int32)
    )


@libraries
@pytest.mark.parametrize("weight_zp", [0, 9])
@pytest.mark.parametrize(
    ("width", "channels", "kernel", "stride", "dilation"),
    [
        (28, 16, 3, 1, 1), (21, 4, 2, 2, 1), (260, 68, 5, 1, 1), (48, 64, 3, 1, 1), (31, 128, 2, 2, 1),
        (98, 64, 3, 1, 2), (86, 20, 2, 1, 4),
    ],
)  # fmt: skip
def test_overlapping_rows_of_a_share_their_input(
    library: str, weight_zp: int, width: int, channels: int, kernel: int, stride: int, dilation: int
) -> None:
    extent = extent_out(width, kernel, stride, 1, 1, dilation)
    rows = extent_out(5, kernel, stride, 1, 1, dilation)
    square = (1, kernel, kernel), (1, stride, stride), (0, 1, 1), (1, dilation, dilation)
    g = Geometry((2, 1, 5, width), (2, 1, rows, extent), channels, 40, *square)
    # Registers of rows are loaded from whole cache lines.
    apart = named_set(library).matrices is not None and channels % 64 > 0
    runs = 1 if dilation == 1 else kernel
    assert Blocking(g, named_set(library)).segments == (0 if apart else kernel * runs)
    rng = np.random.default_rng(width)
    x = integers(rng, np.int8, (*g.input, channels))
    weights = integers(rng, np.int8, (40, *g.kernel, channels))
    bias = integers(rng, np.int32, 40)
    out = Guarded((*g.output, 40), np.int32)
    expected = out.array.copy()
    first, last = 7, g.positions - 3
    whole = (convolve(x, weights, g, -5, weight_zp) + bias).astype(np.int32)
    expected.reshape(-1, 40)[first:last] = whole.reshape(-1, 40)[first:last]
    box = (first, last, 0, 40)
    convolution(g, library, x, weights, bias, out.address, zero_points=(-5, weight_zp), box=box)
    assert out.intact()
    np.testing.assert_array_equal(out.array, expected)


@libraries
@pytest.mark.parametrize(
    ("channels", "kernel", "stride"), [(16, (3, 3), 1), (12, (3, 3), 2), (16, (5, 3), 3), (3, (3, 3), 1)]
)
def test_lines_of_the_output_share_gathered_lines_of_the_input(
    library: str, channels: int, kernel: tuple[int, int], stride: int
) -> None:
    height, width = 47 * stride, 48 * stride
    down = extent_out(height, kernel[0], stride, 1, 1, 1)
    across = extent_out(width, kernel[1], stride, 1, 1, 1)
    strides = (1, stride, stride)
    g = Geometry((2, 1, height, width), (2, 1, down, across), channels, 20, (1, *kernel), strides, (0, 1, 1))
    isa = named_set(library)
    blocking = Blocking(g, isa, rounded=True)
    alone = isa.matrices is not None or isa.byte_width > 1 or not blocking.segments
    assert (blocking.lines == 1) == alone
    rng = np.random.default_rng(channels)
    x = integers(rng, np.int8, (*g.input, channels))
    weights = integers(rng, np.int8, (20, *g.kernel, channels))
    bias = integers(rng, np.int32, 20)
    out = Guarded((*g.output, 20), np.int32)
    expected = out.array.copy()
    first, last = across + 7, g.positions - across - 3
    whole = (convolve(x, weights, g, -5, 0) + bias).astype(np.int32)
    expected.reshape(-1, 20)[first:last] = whole.reshape(-1, 20)[first:last]
    box = (first, last, 0, 20)
    convolution(g, library, x, weights, bias, out.address, zero_points=(-5, 0), box=box, rounded=True)
    assert out.intact()
    np.testing.assert_array_equal(out.array, expected)


@libraries
@pytest.mark.parametrize(("side", "channels"), [(7, 512), (14, 256)])
def test_rows_are_gathered_one_by_one_where_tiles_would_compute_more(
    library: str, side: int, channels: int
) -> None:
    g = Geometry((1, 1, side, side), (1, 1, side, side), channels, channels, (1, 3, 3), pad=(0, 1, 1))
    isa = named_set(library)
    wider = min(-(-side // height) * height for height in isa.covers)
    assert isa.matrices is not None or wider == side or not Blocking(g, isa, rounded=True).segments


@libraries
@SOME
@given(g=geometries(), seed=seeds, input_zp=zero_points)
def test_segments_that_are_rounded_up_change_no_sum(
    library: str, g: Geometry, seed: int, input_zp: int
) -> None:
    rng = np.random.default_rng(seed)
    x = integers(rng, np.int8, (*g.input, g.in_channels))
    weights = integers(rng, np.int8, (g.out_channels, *g.kernel, g.in_channels))
    bias = integers(rng, np.int32, g.out_channels)
    out = Guarded((*g.output, g.out_channels), np.int32)
    convolution(g, library, x, weights, bias, out.address, zero_points=(input_zp, 0), rounded=True)
    assert out.intact()
    np.testing.assert_array_equal(out.array, (convolve(x, weights, g, input_zp, 0) + bias).astype(np.int32))


@libraries
@pytest.mark.parametrize(("channels", "kernel", "stride"), [(3, 3, 1), (3, 3, 2), (1, 5, 1), (5, 3, 1)])
def test_rows_of_odd_sizes_overlap_too(library: str, channels: int, kernel: int, stride: int) -> None:
    width = 24 * stride
    extent = extent_out(width, kernel, stride, 1, 1, 1)
    rows = extent_out(7, kernel, stride, 1, 1, 1)
    square = (1, kernel, kernel), (1, stride, stride), (0, 1, 1)
    g = Geometry((1, 1, 7, width), (1, 1, rows, extent), channels, 20, *square)
    blocking = Blocking(g, named_set(library), rounded=True)
    apart = named_set(library).matrices is not None
    step = 4 // named_set(library).byte_width
    least = -(-kernel * channels // step) * step
    assert (blocking.segments, blocking.segment_depth) == (0 if apart else kernel, least)
    assert Blocking(g, named_set(library)).segments == 0
    rng = np.random.default_rng(channels)
    x = integers(rng, np.int8, (*g.input, channels))
    weights = integers(rng, np.int8, (20, *g.kernel, channels))
    out = Guarded((*g.output, 20), np.int32)
    bias = np.zeros(20, np.int32)
    convolution(g, library, x, weights, bias, out.address, zero_points=(9, 0), rounded=True)
    assert out.intact()
    np.testing.assert_array_equal(out.array, convolve(x, weights, g, 9, 0).astype(np.int32))


def test_padding_behind_the_input_alone_is_not_read_from_memory() -> None:
    assert Geometry((1, 1, 1, 2), (1, 1, 1, 2), 16, 1).is_direct
    assert not Geometry((1, 1, 1, 1), (1, 1, 1, 2), 16, 1).is_direct
    assert not Geometry((1, 1, 3, 1), (1, 1, 3, 1), 16, 1, stride=(1, 2, 1)).is_direct


@libraries
@SOME
@given(g=geometries(), seed=seeds, data=st.data())
def test_a_box_writes_nothing_outside_itself(
    library: str, g: Geometry, seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    x = integers(rng, np.int8, (*g.input, g.in_channels))
    weights = integers(rng, np.int8, (g.out_channels, *g.kernel, g.in_channels))
    bias = integers(rng, np.int32, g.out_channels)
    m = sorted(data.draw(st.tuples(*[st.integers(0, g.positions)] * 2)))
    first = 32 * data.draw(st.integers(0, (g.out_channels - 1) // 32))
    last = data.draw(st.integers(first, g.out_channels))
    out = Guarded((g.positions, g.out_channels), np.int32)
    expected = out.array.copy()
    whole = (convolve(x, weights, g) + bias).astype(np.int32).reshape(expected.shape)
    expected[m[0] : m[1], first:last] = whole[m[0] : m[1], first:last]
    convolution(g, library, x, weights, bias, out.address, box=(*m, first, last))
    assert out.intact()
    np.testing.assert_array_equal(out.array, expected)


@libraries
@pytest.mark.parametrize("right", ["i8", "i16"])
@SOME
@given(g=geometries(element_bytes=2), seed=seeds)
def test_int16_convolutions_are_exact(library: str, right: str, g: Geometry, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = integers(rng, np.int16, (*g.input, g.in_channels))
    weights = integers(rng, HOST[right], (g.out_channels, *g.kernel, g.in_channels)).astype(np.int16)
    bias = rng.integers(-(1 << 46), 1 << 46, g.out_channels)
    out = Guarded((*g.output, g.out_channels), np.int64)
    convolution(g, library, x, weights, bias, out.address, right)
    assert out.intact()
    np.testing.assert_array_equal(out.array, convolve(x, weights, g) + bias)


@libraries
@pytest.mark.parametrize("right", ["i8", "i16"])
def test_long_int16_sums_do_not_wrap_at_32_bits(library: str, right: str) -> None:
    g = Geometry((1, 1, 14, 1), (1, 1, 14, 1), 5001, 33, element_bytes=2)
    x, weights = (
        np.full((14, 5001), -32768, np.int16),
        np.full((33, 5001), np.iinfo(HOST[right]).min, np.int16),
    )
    out = Guarded((14, 33), np.int64)
    convolution(g, library, x, weights, np.zeros(33, np.int64), out.address, right)
    np.testing.assert_array_equal(out.array, 5001 * 32768 * -int(np.iinfo(HOST[right]).min))


@libraries
@pytest.mark.parametrize("type_", ["i8", "i16"])
@SOME
@given(
    sizes=st.tuples(*[st.integers(1, 150)] * 3), seed=seeds, zero_points=st.tuples(zero_points, zero_points)
)
def test_matrix_products_pack_b_at_run_time(
    library: str, type_: str, sizes: tuple[int, int, int], seed: int, zero_points: tuple[int, int]
) -> None:
    height, depth, width = sizes
    rng, dtype = np.random.default_rng(seed), np.dtype(HOST[type_])
    a, b = integers(rng, dtype, (height, depth)), integers(rng, dtype, (depth, width))
    a_zp, b_zp = zero_points if type_ == "i8" else (0, 0)
    spec = ContractSpec(named_set(library), "convolution", type_, type_)
    g = Geometry((1, 1, height, 1), (1, 1, height, 1), depth, width, element_bytes=dtype.itemsize)
    left, right, element_bytes = guarded(a), guarded(b), max(dtype.itemsize, spec.isa.byte_width)
    whole = spec.isa.whole_depth(depth, type_)
    packed = Guarded(
        (pack.packed_bytes(spec.isa.lanes, whole, width, element_bytes, type_ == "i16"),), np.uint8
    )
    initial = Guarded((-(-width // 64) * 64,), np.int32 if type_ == "i8" else np.int64, fill=0)
    scratch = Guarded((Blocking(g, named_set(library)).scratch_bytes + 64,), np.uint8)
    out = Guarded((height, width), np.int32 if type_ == "i8" else np.int64)
    numbers = (right.address, width * dtype.itemsize, depth, width, packed.address, initial.address)
    run(pack_source(spec), np.array([*numbers, -(spec.isa.bias + a_zp), a_zp * b_zp * depth], np.int64))
    assert packed.intact()
    assert initial.intact()
    assert len(PackSlot) == len(numbers) + 2
    addresses = {
        "SOURCE": left.address,
        "WEIGHT": packed.address,
        "INITIAL": initial.address,
        "OUTPUT": out.address,
    }
    args = arguments(
        Slot,
        Blocking(g, named_set(library)),
        **addresses,
        SCRATCH=scratch.address,
        INPUT_ZP=a_zp,
        WEIGHT_ZP=b_zp,
    )
    args[Slot.GATHER], args[Slot.TILE] = (
        address(gather_source(named_set(library))),
        address(tile_source(spec)),
    )
    run(contract_source(spec, STORE[type_]), args)
    assert out.intact()
    np.testing.assert_array_equal(out.array, (a.astype(np.int64) - a_zp) @ (b.astype(np.int64) - b_zp))


@libraries
@SOME
@given(
    sizes=st.tuples(st.integers(1, 2), *[st.integers(1, 6)] * 2),
    channels=st.tuples(*[st.integers(1, 20)] * 2),
    kernel=st.tuples(*[st.integers(1, 5)] * 2),
    stride=st.tuples(*[st.integers(1, 4)] * 2),
    seed=seeds,
    zero_points=st.tuples(zero_points, zero_points),
    data=st.data(),
)
def test_transposed_convolutions_are_exact(
    library: str,
    sizes: tuple[int, int, int],
    channels: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    seed: int,
    zero_points: tuple[int, int],
    data: st.DataObject,
) -> None:
    (batch, ih, iw), (ic, oc) = sizes, channels
    pads = [data.draw(st.tuples(*[st.integers(1 - k, 3)] * 2)) for k in kernel]
    oh, ow = ((i - 1) * s + sum(p) + k for i, s, p, k in zip((ih, iw), stride, pads, kernel, strict=True))
    if oh < 1 or ow < 1:
        return
    rng = np.random.default_rng(seed)
    x = integers(rng, np.int8, (batch, ih, iw, ic))
    weights = integers(rng, np.int8, (oc, *kernel, ic))
    bias = integers(rng, np.int32, oc)
    expected = np.zeros((batch, oh, ow, oc), np.int64) + bias
    product = np.einsum(
        "nyxi,okli->nyxklo", x.astype(np.int64) - zero_points[0], weights.astype(np.int64) - zero_points[1]
    )
    for iy, ix, ky, kx in np.ndindex(ih, iw, *kernel):
        oy, ox = iy * stride[0] + pads[0][0] + ky, ix * stride[1] + pads[1][0] + kx
        if 0 <= oy < oh and 0 <= ox < ow:
            expected[:, oy, ox] += product[:, iy, ix, ky, kx]
    out = Guarded(expected.shape, np.int32)
    tops = (pads[0][0], pads[1][0])
    for part in subgrids((batch, ih, iw), (batch, oh, ow), ic, oc, kernel, stride, tops):
        mine = part.weights(weights, zero_points[1])
        convolution(
            part.geometry, library, x, mine, bias, out.address + 4 * part.offset, zero_points=zero_points
        )
    assert out.intact()
    np.testing.assert_array_equal(out.array, expected.astype(np.int32))


@st.composite
def depthwise_geometries(
    draw: st.DrawFn, element_bytes: int = 1, parts: int = 1, multipliers: Sequence[int] = (1, 1, 1, 2, 3)
) -> DepthwiseGeometry:
    sizes, taps = [], []
    for _ in range(2):
        size, k, s, d = draw(st.integers(1, 20)), *(draw(st.integers(1, 5 - i)) for i in range(3))
        before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        if extent_out(size, k, s, before, after, d) < 1:
            k, s, d = 1, 1, 1
        sizes.append((size, extent_out(size, k, s, before, after, d)))
        taps.append((k, s, before, d))
    batch = draw(st.integers(1, 2))
    channels = draw(st.sampled_from([1, 2, 3, 8, 16, 24, 32, 40, 64, 96, 144, 200, 260]))
    multiplier = draw(st.sampled_from(multipliers))
    input, output = ((batch, rows, columns) for rows, columns in zip(*sizes, strict=True))
    (ky, sy, py, dy), (kx, sx, px, dx) = taps
    pairs = (ky, kx), (sy, sx), (py, px), (dy, dx)
    return DepthwiseGeometry(input, output, channels, multiplier, *pairs, element_bytes, parts)


def depthwise(x: Array, weights: Array, g: DepthwiseGeometry, input_zp: int, weight_zp: int) -> Array:
    """The sums of a depthwise convolution of integers, exactly."""
    return summed_by_channel(x.astype(np.int64) - input_zp, weights.astype(np.int64) - weight_zp, g)


def run_depthwise(
    g: DepthwiseGeometry,
    spec: ContractSpec,
    epilogue: Epilogue,
    x: Array,
    packed: Array,
    initial: Array,
    out: Guarded,
    input_zp: int,
    box: tuple[int, ...] | None = None,
    **numbers: int,
) -> None:
    scratch = Guarded((DepthwiseBlocking(g, spec.isa).scratch_bytes,), np.uint8)
    source, operands = guarded(x), [guarded(packed), guarded(initial)]
    addresses = {
        "SOURCE": source.address,
        "WEIGHT": operands[0].address,
        "INITIAL": operands[1].address,
        "OUTPUT": out.address,
        "SCRATCH": scratch.address,
        "BLANK_BYTE": input_zp + spec.isa.bias if spec.left == "i8" else 0,
        "GATHER": address(depthwise_gather_source(spec)),
    }
    args = arguments(DepthwiseSlot, DepthwiseBlocking(g, spec.isa), **(addresses | numbers))
    if box:
        args[: len(DepthwiseSlot)][
            [DepthwiseSlot.M_LO, DepthwiseSlot.M_HI, DepthwiseSlot.N_LO, DepthwiseSlot.N_HI]
        ] = box
    run(contract_source(spec, epilogue), args)
    assert scratch.intact()
    assert out.intact()


def padded(values: Array, dtype: DTypeLike) -> Array:
    return np.concatenate([values, np.zeros(-len(values) % 16, np.int64)]).astype(dtype)


@libraries
@SOME
@given(data=st.data(), seed=seeds, input_zp=zero_points, weight_zp=st.one_of(st.just(0), zero_points))
def test_int8_depthwise_convolutions_are_exact(
    library: str, data: st.DataObject, seed: int, input_zp: int, weight_zp: int
) -> None:
    g = data.draw(depthwise_geometries(parts=3 if weight_zp else 1))
    rng = np.random.default_rng(seed)
    x = integers(rng, np.int8, (*g.input, g.in_channels))
    weights = integers(rng, np.int8, (*g.kernel, g.in_channels, g.channel_multiplier))
    bias = integers(rng, np.int32, g.out_channels).astype(np.int64)
    isa = named_set(library)
    packed, parts = pack.pack_depthwise(isa.lanes, weights, weight_zp, isa.byte_width)
    assert parts == g.parts
    sums = (weights.astype(np.int64) - weight_zp).sum((0, 1)).reshape(-1)
    m = sorted(data.draw(st.tuples(*[st.integers(0, g.rows)] * 2)))
    first = 16 * data.draw(st.integers(0, (g.out_channels - 1) // 16))
    last = data.draw(st.integers(first, g.out_channels))
    out = Guarded((g.rows, g.output[2], g.out_channels), np.int32)
    expected = out.array.copy()
    whole = (depthwise(x, weights, g, input_zp, weight_zp) + bias).astype(np.int32).reshape(expected.shape)
    expected[m[0] : m[1], :, first:last] = whole[m[0] : m[1], :, first:last]
    initial = padded(bias - (named_set(library).bias + input_zp) * sums, np.int32)
    spec = ContractSpec(named_set(library), "depthwise", "i8", "i8")
    run_depthwise(g, spec, STORE["i8"], x, packed, initial, out, input_zp, (*m, first, last))
    np.testing.assert_array_equal(out.array, expected)


@libraries
@SOME
@given(g=depthwise_geometries(element_bytes=2), seed=seeds)
def test_int16_depthwise_convolutions_are_exact(library: str, g: DepthwiseGeometry, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = integers(rng, np.int16, (*g.input, g.in_channels))
    weights = integers(rng, np.int8, (*g.kernel, g.in_channels, g.channel_multiplier))
    bias = rng.integers(-(1 << 46), 1 << 46, g.out_channels)
    packed, _ = pack.pack_depthwise(named_set(library).lanes, weights, 0, 2)
    out = Guarded((*g.output, g.out_channels), np.int64)
    spec = ContractSpec(named_set(library), "depthwise", "i16", "i8")
    run_depthwise(g, spec, STORE["i16"], x, packed, padded(bias, np.int64), out, 0)
    np.testing.assert_array_equal(out.array, depthwise(x, weights, g, 0, 0) + bias)


def apply_scale_32(value: int, multiplier: int, shift: int, double_round: bool) -> int:
    """TOSA 1.0.1 section 4.5.5, in unbounded integers."""
    rounding = 1 << (shift - 1)
    if double_round and shift > 31:
        rounding += (1 << 30) if value >= 0 else -(1 << 30)
    return (value * multiplier + rounding) >> shift


@libraries
@settings(max_examples=60, deadline=None)
@given(
    seed=seeds,
    double_round=st.booleans(),
    output_zp=zero_points,
    low=st.integers(-128, 0),
    high=st.integers(0, 127),
    size=st.tuples(st.integers(1, 30), st.integers(1, 70)),
    shifts=st.tuples(*[st.integers(32, 62)] * 2),
)
def test_vector_rescaling_is_exact_or_declined(
    library: str,
    seed: int,
    double_round: bool,
    output_zp: int,
    low: int,
    high: int,
    size: tuple[int, int],
    shifts: tuple[int, int],
) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = size
    numbers = integers(rng, np.int32, columns) >> rng.integers(0, 31)
    multiplier = rng.integers(0, 1 << 31, columns)
    shift = rng.integers(min(shifts), max(shifts), columns, endpoint=True)
    check_rescaling(library, rows, numbers, multiplier, shift, double_round, (output_zp, low, high))


@libraries
@pytest.mark.parametrize("double_round", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 10, 25, 31])
def test_sums_on_both_sides_of_a_step_are_rescaled_exactly(
    library: str, double_round: bool, rows: int
) -> None:
    steps = [((2 * number + 1) << 39) // 0x5A827999 for number in range(-150, 150)]
    numbers = np.array([step + side for step in steps for side in (-1, 0, 1)], np.int32)
    multiplier, shift = np.full(len(numbers), 0x5A827999), np.full(len(numbers), 40)
    assert check_rescaling(library, rows, numbers, multiplier, shift, double_round, (3, -128, 127))


def check_rescaling(
    library: str,
    rows: int,
    bias: Array,
    multiplier: Array,
    shift: Array,
    double_round: bool,
    results: tuple[int, int, int],
) -> bool:
    """Compare rows of sums, which are the bias, with the specification; tell whether there is a table."""
    (output_zp, low, high), columns = results, len(bias)
    x = integers(np.random.default_rng(rows), np.int8, (rows, 4))
    weights = np.zeros((columns, 4), np.int8)
    bound = pack.sum_bound(weights, bias, 0, 0)
    table = pack.rescale_table(
        multiplier.astype(np.int32), shift.astype(np.int8), double_round, output_zp, columns, bound
    )
    if table is None:
        return False
    g = Geometry((1, 1, rows, 1), (1, 1, rows, 1), 4, columns)
    initial = guarded(pack.start_values(named_set(library), weights, bias, 0, 0, rescale=True))
    out, data, source = (
        Guarded((rows, columns), np.int8),
        guarded(table.packed(named_set(library).lanes)),
        guarded(x),
    )
    spec = ContractSpec(named_set(library), "convolution")
    packed = guarded(pack.pack_bytes(named_set(library), weights))
    scratch = Guarded((Blocking(g, spec.isa).scratch_bytes + 64,), np.uint8)
    addresses = {
        "SOURCE": source.address,
        "WEIGHT": packed.address,
        "INITIAL": initial.address,
        "OUTPUT": out.address,
        "SCRATCH": scratch.address,
    }
    args = arguments(
        Slot,
        Blocking(g, named_set(library)),
        **addresses,
        PARAMETERS=data.address,
        SIGN=table.sign,
        LOW=low,
        HIGH=high,
    )
    args[Slot.GATHER], args[Slot.TILE] = (
        address(gather_source(named_set(library))),
        address(tile_source(spec)),
    )
    run(contract_source(spec, Epilogue(rescale=True)), args)
    assert out.intact()
    numbers = zip(bias.tolist(), multiplier.tolist(), shift.tolist(), strict=True)
    expected = [min(high, max(low, apply_scale_32(v, m, s, double_round) + output_zp)) for v, m, s in numbers]
    np.testing.assert_array_equal(out.array, np.broadcast_to(expected, (rows, columns)))
    return True


@libraries
@pytest.mark.parametrize("kind", ["convolution", "depthwise"])
def test_text_after_vector_rescaling_sees_int8(library: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    channels, slots = 40, Slot if kind == "convolution" else DepthwiseSlot
    epilogue = Epilogue(
        "store_i32(output, index, np.int32(acc * 3 + load_i8(e_add, channel)))",
        f"{OUTPUT}\ne_add = load_i64(args, {int(slots.EPILOGUE)})",
        "",
        True,
    )
    addend = guarded(rng.integers(-128, 128, channels).astype(np.int8))
    bias, multiplier, shift = rng.integers(-(1 << 20), 1 << 20, channels).astype(np.int32), 1 << 30, 44
    table = pack.rescale_table(
        multiplier, shift, True, 7, channels, np.abs(bias).astype(np.int64) + 255 * 128
    )
    assert table is not None
    data, out = guarded(table.packed(named_set(library).lanes)), Guarded((1, 6, 5, channels), np.int32)
    rescaled: dict[str, Any] = {
        "PARAMETERS": data.address,
        "SIGN": table.sign,
        "LOW": -50,
        "HIGH": 50,
        "EPILOGUE": addend.address,
    }
    x = integers(rng, np.int8, (1, 6, 5, channels))
    spec = ContractSpec(named_set(library), kind)
    weights = integers(rng, np.int8, (1, 1, channels, 1))
    pixels = DepthwiseGeometry((1, 6, 5), (1, 6, 5), channels)
    sums = depthwise(x, weights, pixels, 0, 0) + bias
    if kind == "depthwise":
        initial = padded(bias - spec.isa.bias * weights.reshape(-1).astype(np.int64) + (1 << 31), np.uint32)
        run_depthwise(
            pixels,
            spec,
            epilogue,
            x,
            pack.pack_depthwise(spec.isa.lanes, weights, 0, spec.isa.byte_width)[0],
            initial,
            out,
            0,
            **rescaled,
        )
    else:
        g = Geometry((1, 1, 6, 5), (1, 1, 6, 5), channels, channels)
        matrix = np.diag(weights.reshape(-1))
        operands = (
            guarded(pack.pack_bytes(spec.isa, matrix)),
            guarded(pack.start_values(named_set(library), matrix, bias, 0, 0, rescale=True)),
        )
        source, scratch = guarded(x), Guarded((Blocking(g, spec.isa).scratch_bytes + 64,), np.uint8)
        args = arguments(
            Slot,
            Blocking(g, spec.isa),
            SOURCE=source.address,
            WEIGHT=operands[0].address,
            INITIAL=operands[1].address,
            SCRATCH=scratch.address,
            **rescaled,
        )
        args[Slot.OUTPUT] = out.address
        args[Slot.GATHER], args[Slot.TILE] = (
            address(gather_source(named_set(library))),
            address(tile_source(spec)),
        )
        run(contract_source(spec, epilogue), args)
    scaled = [
        [min(50, max(-50, apply_scale_32(int(v), multiplier, shift, True) + 7)) for v in row]
        for row in sums.reshape(-1, channels)
    ]
    np.testing.assert_array_equal(out.array.reshape(-1, channels), np.array(scaled) * 3 + addend.array)
