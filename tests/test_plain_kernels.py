"""Array kernels in plain Python: what is compiled is what was written, and can be followed line by line."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from tests.plain_kernels import Kernels, Plain, PlainVectors, at
from tests.summing import summed, summed_by_channel
from tests.test_contract_kernels import OUTPUT, Guarded, arguments, guarded, integers
from tosajit.arrays import Array
from tosajit.kernels.contract import fused, pack
from tosajit.kernels.contract.blocking import Blocking, DepthwiseBlocking
from tosajit.kernels.contract.geometry import DepthwiseGeometry, Geometry
from tosajit.kernels.contract.slots import ENDED, FAR, DepthwiseSlot, PackSlot, Slot, TileJob
from tosajit.kernels.contract.source import (
    contract_source,
    depthwise_gather_source,
    gather_source,
    pack_source,
    tile_source,
)
from tosajit.kernels.contract.spec import LINE, ContractSpec, Epilogue
from tosajit.kernels.contract.structure import LEAST_BYTES
from tosajit.kernels.objects import compile_kernel
from tosajit.kernels.sets.amx import amx
from tosajit.kernels.sets.avx2 import avx2
from tosajit.kernels.sets.avx2_bytes import avx2_bytes
from tosajit.kernels.sets.avx2_small import avx2_small
from tosajit.kernels.sets.avx512 import avx512
from tosajit.kernels.sets.avx512_words import avx512_words
from tosajit.kernels.sets.avxvnni import avxvnni
from tosajit.kernels.sets.avxvnni_words import avxvnni_words
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.neon import neon
from tosajit.kernels.sets.neon_bytes import neon_bytes
from tosajit.kernels.sets.portable import portable
from tosajit.kernels.sets.registry import available_sets, named_set

NARROW = InstructionSet(
    "narrow", lanes=4, heights=(1, 3), panels=2, rescaled=(1, 3, 5), pixels=(3, 2), covers=(3,), latency=2
)
"""Registers of 128 bits, and tiles of odd sizes."""
FEWER = frozenset(["avx512f", "avx512bw", "avx512dq", "avx512vl"])
EVERYTHING = FEWER | {"avx512vbmi", "avx512vnni"}
SETS = [
    made
    for made in (
        amx(EVERYTHING | {"amx-tile", "amx-int8", "amx-bf16", "avx512bf16"}),
        avx512(EVERYTHING),
        avx512(FEWER),
        avx512_words(EVERYTHING),
        avxvnni({"avx2", "fma", "avxvnni"}),
        avxvnni_words({"avx2", "fma", "avxvnni"}),
        avx2({"avx2", "fma"}),
        avx2_bytes({"avx2", "fma"}),
        avx2_small({"avx2", "fma"}),
        neon({"neon", "dotprod"}),
        neon_bytes({"neon"}),
        neon({"neon", "dotprod", "i8mm"}),
        portable(()),
        NARROW,
        replace(NARROW, bias=128),
        replace(NARROW, row_pairs=("i8",)),
    )
    if made
]
sets = pytest.mark.parametrize(
    "isa", SETS, ids=lambda isa: f"{isa.name}-{isa.bias}{'-pairs' * bool(isa.row_pairs)}"
)

SHAPES = {
    "padded": Geometry((1, 1, 3, 4), (1, 1, 3, 4), 3, 5, (1, 3, 3), (1, 1, 1), (0, 1, 1)),
    "segments": Geometry((1, 1, 2, 9), (1, 1, 2, 9), 4, 19, (1, 3, 3), (1, 1, 1), (0, 1, 1)),
    "deep": Geometry((1, 1, 5, 9), (1, 1, 5, 9), 130, 20),
    "lines": Geometry((1, 1, 2, 16), (1, 1, 2, 16), 64, 34, (1, 3, 3), (1, 1, 1), (0, 1, 1)),
    "narrow": Geometry((1, 1, 3, 16), (1, 1, 3, 16), 4, 16, (1, 3, 3), (1, 1, 1), (0, 1, 1)),
    "direct": Geometry((2, 1, 3, 3), (2, 1, 3, 3), 8, 33),
    "dilated": Geometry((1, 2, 4, 5), (1, 1, 1, 3), 17, 2, (2, 2, 2), (1, 2, 1), (0, 0, 0), (1, 2, 2)),
}


def convolved(
    kernels: Kernels | Compiled,
    isa: InstructionSet,
    g: Geometry,
    x: Array,
    packed: Array,
    initial: Array,
    out: Guarded,
    spec: ContractSpec,
    epilogue: Epilogue,
    **numbers: int,
) -> None:
    """Run a convolution in plain Python."""
    blocking = Blocking(g, isa)
    source, scratch = guarded(x), Guarded((blocking.scratch_bytes + 64,), np.uint8)
    operands = [guarded(packed), guarded(initial)]
    args = arguments(
        Slot,
        blocking,
        SOURCE=source.address,
        WEIGHT=operands[0].address,
        INITIAL=operands[1].address,
        OUTPUT=out.address,
        SCRATCH=scratch.address,
        GATHER=kernels.address(gather_source(isa)),
        TILE=kernels.address(tile_source(spec)),
        **numbers,
    )
    kernels.run(contract_source(spec, epilogue), args)
    assert out.intact()
    assert scratch.intact()


@sets
@pytest.mark.parametrize("weight_zp", [0, -7])
@pytest.mark.parametrize("shape", SHAPES)
def test_int8_convolutions_are_exact(isa: InstructionSet, shape: str, weight_zp: int) -> None:
    g, rng = SHAPES[shape], np.random.default_rng(3)
    x = integers(rng, np.int8, (*g.input, g.in_channels))
    weights = integers(rng, np.int8, (g.out_channels, *g.kernel, g.in_channels))
    bias = integers(rng, np.int32, g.out_channels)
    matrix = weights.reshape(g.out_channels, -1)
    packed = pack.pack_bytes(isa, matrix)
    initial = pack.start_values(isa, matrix, bias, 5, weight_zp)
    out = Guarded((*g.output, g.out_channels), np.int32)
    spec, epilogue = ContractSpec(isa, "convolution"), Epilogue("store_i32(output, index, acc)", OUTPUT)
    convolved(Kernels(isa), isa, g, x, packed, initial, out, spec, epilogue, INPUT_ZP=5, WEIGHT_ZP=weight_zp)
    exact = summed(x.astype(np.int64) - 5, weights.astype(np.int64) - weight_zp, g) + bias
    np.testing.assert_array_equal(out.array, exact.astype(np.int32))


@sets
def test_float16_products_are_exact(isa: InstructionSet) -> None:
    g, rng = replace(SHAPES["direct"], element_bytes=2, floating=True, half=True), np.random.default_rng(9)
    x = rng.integers(-9, 10, (*g.input, g.in_channels)).astype(np.float16)
    weights = rng.integers(-9, 10, (g.out_channels, *g.kernel, g.in_channels)).astype(np.float16)
    packed = pack.pack_weights(isa.lanes, weights.reshape(g.out_channels, -1).view(np.int16), 1)
    out = Guarded((*g.output, g.out_channels), np.float32)
    spec, epilogue = (
        ContractSpec(isa, "convolution", "f16", "f16"),
        Epilogue("store_f32(output, index, acc)", OUTPUT),
    )
    convolved(Kernels(isa), isa, g, x, packed, np.zeros(1, np.int32), out, spec, epilogue)
    np.testing.assert_array_equal(out.array, summed(x.astype(np.int64), weights.astype(np.int64), g))


@sets
@pytest.mark.parametrize("right", ["i8", "i16"])
def test_int16_convolutions_are_exact(isa: InstructionSet, right: str) -> None:
    g, rng = replace(SHAPES["padded"], element_bytes=2), np.random.default_rng(4)
    x = integers(rng, np.int16, (*g.input, g.in_channels))
    dtype = np.int8 if right == "i8" else np.int16
    weights = integers(rng, dtype, (g.out_channels, *g.kernel, g.in_channels)).astype(np.int16)
    matrix = weights.reshape(g.out_channels, -1)
    halves = right == "i16"
    packed = pack.pack_halves(isa.lanes, matrix) if halves else pack.pack_weights(isa.lanes, matrix, 2)
    bias = rng.integers(-(1 << 46), 1 << 46, isa.padded(g.out_channels))
    out = Guarded((*g.output, g.out_channels), np.int64)
    spec = ContractSpec(isa, "convolution", "i16", right)
    epilogue = Epilogue("store_i64(output, index, acc)", OUTPUT)
    convolved(Kernels(isa), isa, g, x, packed, bias, out, spec, epilogue)
    exact = summed(x.astype(np.int64), weights.astype(np.int64), g) + bias[: g.out_channels]
    np.testing.assert_array_equal(out.array, exact)


@sets
@pytest.mark.parametrize(
    ("shape", "small"), [*((shape, False) for shape in (*SHAPES, "odd")), ("padded", True), ("odd", True)]
)
def test_bf16_convolutions_are_exact_where_sums_are(isa: InstructionSet, shape: str, small: bool) -> None:
    """With subnormal numbers too, which the instructions take for zero."""
    isa = replace(isa, bf16_pairs=True, row_pairs=("i8", "bf16") if isa.row_pairs else ())
    odd = Geometry((1, 1, 1, 5), (1, 1, 1, 5), 10, 19)
    g, rng = replace(SHAPES.get(shape, odd), element_bytes=2, floating=True), np.random.default_rng(12)
    g = replace(g, in_channels=g.in_channels + g.in_channels % 2)
    x, weights = (
        rng.integers(-9, 10, (*g.input, g.in_channels)),
        rng.integers(-9, 10, (g.out_channels, *g.kernel, g.in_channels)),
    )
    by = 2.0**-133 if small else 1.0
    operands = [
        (array * by).astype(ml_dtypes.bfloat16).view(np.int16) for array, by in ((x, by), (weights, 2.0**20))
    ]
    packed = pack.pack_pairs(isa, operands[1].reshape(g.out_channels, -1))
    out = Guarded((*g.output, g.out_channels), np.float32)
    spec, epilogue = (
        ContractSpec(isa, "convolution", "bf16", "bf16"),
        Epilogue("store_f32(output, index, acc)", OUTPUT),
    )
    convolved(Kernels(isa), isa, g, operands[0], packed, np.zeros(64, np.int32), out, spec, epilogue)
    exact = summed(x.astype(np.int64), weights.astype(np.int64), g)
    np.testing.assert_array_equal(out.array.astype(np.float64), exact * by * 2.0**20)


@sets
@pytest.mark.parametrize("double_round", [False, True])
@pytest.mark.parametrize("shape", ["segments", "direct", "deep", "lines"])
def test_sums_are_rescaled_to_int8(isa: InstructionSet, shape: str, double_round: bool) -> None:
    g, rng = SHAPES[shape], np.random.default_rng(5)
    x = integers(rng, np.int8, (*g.input, g.in_channels))
    weights = rng.integers(-128, 128, (g.out_channels, *g.kernel, g.in_channels), np.int8)
    bias, matrix = rng.integers(-999, 999, g.out_channels, np.int32), weights.reshape(g.out_channels, -1)
    multiplier, shift = rng.integers(1 << 29, 1 << 31, g.out_channels, np.int64), 40
    bound = pack.sum_bound(matrix, bias, 0, 0)
    table = pack.rescale_table(multiplier.astype(np.int32), shift, double_round, -3, g.out_channels, bound)
    assert table is not None
    assert table.sign == (31 if double_round else 32)
    initial = pack.start_values(isa, matrix, bias, 0, 0, rescale=True)
    data, out = guarded(table.packed(isa.lanes)), Guarded((*g.output, g.out_channels), np.int8)
    numbers = {"PARAMETERS": data.address, "SIGN": table.sign, "LOW": -100, "HIGH": 90}
    spec, packed = ContractSpec(isa, "convolution"), pack.pack_bytes(isa, matrix)
    convolved(Kernels(isa), isa, g, x, packed, initial, out, spec, Epilogue(rescale=True), **numbers)
    sums = summed(x.astype(np.int64), weights.astype(np.int64), g) + bias
    rounding = (1 << 39) + (np.where(sums < 0, -1, 1) << 30) * double_round
    exact = np.clip(((sums * multiplier + rounding) >> 40) - 3, -100, 90)
    np.testing.assert_array_equal(out.array, exact)


@pytest.mark.parametrize("name", available_sets())
def test_float_sums_have_the_bits_of_the_compiled_kernel(name: str) -> None:
    isa, rng = named_set(name), np.random.default_rng(6)
    g = Geometry((1, 1, 3, 11), (1, 1, 3, 11), 3, 20, (1, 3, 3), (1, 1, 1), (0, 1, 1), element_bytes=4)
    x = rng.standard_normal((*g.input, g.in_channels)).astype(np.float32)
    # Weights with few bits: products and their sums are rounded once, also where float64 stands for fusing.
    weights = rng.integers(-64, 64, (g.out_channels, *g.kernel, g.in_channels)).astype(np.float32)
    packed = pack.pack_weights(isa.lanes, weights.reshape(g.out_channels, -1), 1)
    spec = ContractSpec(isa, "convolution", "f32", "f32")
    epilogue = Epilogue("store_f32(output, index, acc)", OUTPUT)
    plain, compiled = (Guarded((*g.output, g.out_channels), np.float32) for _ in range(2))
    none = np.zeros(1, np.float32)
    convolved(Kernels(isa), isa, g, x, packed, none, plain, spec, epilogue)
    convolved(Compiled(), isa, g, x, packed, none, compiled, spec, epilogue)
    np.testing.assert_array_equal(plain.array.view(np.int32), compiled.array.view(np.int32))


@sets
def test_floating_point_tiles_fetch_the_columns_that_follow(isa: InstructionSet) -> None:
    rng, columns = np.random.default_rng(7), isa.lanes * isa.panels
    g = Geometry((1, 1, 1, 49), (1, 1, 1, 49), 24, 3 * columns, element_bytes=4)
    x = rng.standard_normal((*g.input, g.in_channels)).astype(np.float32)
    weights = rng.standard_normal((g.out_channels, g.in_channels)).astype(np.float32)
    packed, none = pack.pack_weights(isa.lanes, weights, 1), np.zeros(1, np.float32)
    spec = ContractSpec(isa, "convolution", "f32", "f32")
    epilogue = Epilogue("store_f32(output, index, acc)", OUTPUT)
    kernels, out = Kernels(isa), Guarded((*g.output, g.out_channels), np.float32)
    convolved(kernels, isa, g, x, packed, none, out, spec, epilogue)
    assert_all_fetched(kernels, packed)


@pytest.mark.parametrize("isa", [isa for isa in SETS if isa.byte_width == 2], ids=lambda isa: isa.name)
@pytest.mark.parametrize("rescale", [False, True])
def test_tiles_of_widened_bytes_fetch_the_columns_that_follow(isa: InstructionSet, rescale: bool) -> None:
    rng, columns = np.random.default_rng(7), isa.lanes * isa.panels
    g = Geometry((1, 1, 1, 49), (1, 1, 1, 49), 24, 3 * columns)
    x = integers(rng, np.int8, (*g.input, g.in_channels))
    matrix, bias = integers(rng, np.int8, (g.out_channels, g.in_channels)), np.zeros(g.out_channels, np.int32)
    packed, initial = pack.pack_bytes(isa, matrix), pack.start_values(isa, matrix, bias, 0, 0, rescale)
    table = pack.rescale_table(1 << 30, 40, False, 0, g.out_channels, 1 << 20)
    assert table is not None
    data, type = guarded(table.packed(isa.lanes)), np.int8 if rescale else np.int32
    numbers = {"PARAMETERS": data.address, "SIGN": table.sign, "LOW": -128, "HIGH": 127} if rescale else {}
    epilogue = Epilogue(rescale=True) if rescale else Epilogue("store_i32(output, index, acc)", OUTPUT)
    kernels, out = Kernels(isa), Guarded((*g.output, g.out_channels), type)
    spec = ContractSpec(isa, "convolution")
    convolved(kernels, isa, g, x, packed, initial, out, spec, epilogue, **numbers)
    assert_all_fetched(kernels, packed)


@sets
@pytest.mark.parametrize("kind", [ENDED, ENDED + FAR])
def test_lines_of_results_that_are_far_are_fetched_before_their_sums(isa: InstructionSet, kind: int) -> None:
    g = Geometry((1, 1, 1, 31), (1, 1, 1, 31), 4, 3 * isa.lanes, element_bytes=4)
    x, weights = np.ones((*g.input, g.in_channels), np.float32), np.ones((g.out_channels, 4), np.float32)
    packed, none = pack.pack_weights(isa.lanes, weights, 1), np.zeros(1, np.float32)
    kernels, out = Kernels(isa), Guarded((*g.output, g.out_channels), np.float32)
    spec, end = ContractSpec(isa, "convolution", "f32", "f32"), Epilogue(in_registers=True)
    convolved(kernels, isa, g, x, packed, none, out, spec, end, SIGN=kind)
    registers = range(out.address, out.address + out.array.nbytes, isa.register_bytes)
    fetched = kind & FAR and isa.register_bytes == LINE
    assert set(kernels.vectors.to_write) == (set(registers) if fetched else set())


@sets
def test_tiles_that_end_in_registers_are_done_one_after_another(isa: InstructionSet) -> None:
    height = min(isa.tiles_of("f32").block, isa.tiles_of("f32").heights[-1])
    assert [tiles for tiles, _ in tiles_of(isa, 5 * height + 1)] == [4, 1, 1]


@pytest.mark.parametrize("isa", [isa for isa in SETS if "words" not in isa.name], ids=lambda isa: isa.name)
def test_maps_of_seven_by_seven_are_summed_once(isa: InstructionSet) -> None:
    assert sum(tiles * height for tiles, height in tiles_of(isa, 49)) == 49


def tiles_of(isa: InstructionSet, rows: int) -> list[tuple[int, int]]:
    """How many tiles of which height each call does, of rows that end in registers."""
    steps = isa.tiles_of("f32").short_steps + 1
    g = Geometry((1, 1, 1, rows), (1, 1, 1, rows), steps, isa.lanes * isa.panels, element_bytes=4)
    x, weights = (np.arange(n * steps, dtype=np.float32).reshape(n, steps) for n in (rows, g.out_channels))
    packed, none = pack.pack_weights(isa.lanes, weights, 1), np.zeros(1, np.float32)
    kernels, out = Counting(isa), Guarded((*g.output, g.out_channels), np.float32)
    spec, end = ContractSpec(isa, "convolution", "f32", "f32"), Epilogue(in_registers=True)
    convolved(kernels, isa, g, x[None, None, None], packed, none, out, spec, end, SIGN=ENDED)
    np.testing.assert_allclose(out.array.reshape(rows, -1), x @ weights.T, rtol=1e-5)
    return kernels.tiles


class Counting(Kernels):
    """Kernels, and how many tiles of float32 of which height were done in each call."""

    def __init__(self, isa: InstructionSet) -> None:
        super().__init__(isa)
        self.tiles: list[tuple[int, int]] = []

    def address(self, source: str) -> int:
        number = super().address(source)
        if "tile_f32" not in source:
            return number
        run = self._known[number]

        def counted(job: int) -> None:
            words = at(job, np.int64, len(TileJob))
            self.tiles.append((int(words[TileJob.TILES]), int(words[TileJob.HEIGHT])))
            run(job)

        self._known[number] = counted
        return number


def assert_all_fetched(kernels: Kernels, packed: Array) -> None:
    """All lines of packed weights have been fetched, and none far behind them."""
    fetched = kernels.vectors.fetched
    lines = {(where - min(fetched)) // LINE for where in fetched}
    assert lines >= set(range(packed.nbytes // LINE))
    assert max(lines) <= packed.nbytes // LINE + 1


@pytest.mark.parametrize(
    ("rows", "height"), [(1, 1), (5, 4), (9, 6), (16, 6), (20, 4), (49, 6), (64, 6), (196, 6)]
)
def test_higher_tiles_of_avx2_may_waste_a_row_of_sixteen(rows: int, height: int) -> None:
    isa = avx2({"avx2", "fma"})
    assert isa is not None
    given: Plain = rows
    found: Plain = fused.evenest(PlainVectors(isa), given, isa.rescaled)
    assert found == height


class Compiled:
    """Kernels as they are used."""

    def address(self, source: str) -> int:
        return compile_kernel(source).address

    def run(self, source: str, args: Array) -> None:
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(source).address)(args.ctypes.data)


CHANNELS = {
    "once": DepthwiseGeometry((1, 4, 7), (1, 4, 7), 5, 1, (3, 3), (1, 1), (1, 1)),
    "twice": DepthwiseGeometry((1, 4, 7), (1, 4, 7), 5, 2, (3, 3), (1, 1), (1, 1)),
    "panels": DepthwiseGeometry((2, 3, 5), (2, 3, 5), 37, 1, (3, 3), (1, 1), (1, 1)),
    "apart": DepthwiseGeometry((1, 7, 11), (1, 3, 4), 6, 1, (3, 3), (2, 2), (1, 0), (1, 2)),
    "steps": DepthwiseGeometry((1, 5, 23), (1, 3, 12), 9, 1, (3, 3), (2, 2), (1, 1)),
    "wide": DepthwiseGeometry((1, 6, 20), (1, 6, 20), 5, 1, (5, 5), (1, 1), (2, 2)),
}


@sets
@pytest.mark.parametrize("shape", CHANNELS)
@pytest.mark.parametrize("left", ["i8", "i16"])
def test_depthwise_convolutions_are_exact(isa: InstructionSet, left: str, shape: str) -> None:
    dtype, size = (np.int8, 1) if left == "i8" else (np.int16, 2)
    g, rng = replace(CHANNELS[shape], element_bytes=size), np.random.default_rng(7)
    multiplier = g.channel_multiplier
    x = integers(rng, dtype, (*g.input, g.in_channels))
    weights = rng.integers(-128, 128, (*g.kernel, g.in_channels, multiplier)).astype(np.int8)
    zero = 9 if left == "i8" else 0
    sums = weights.astype(np.int64).sum((0, 1)).reshape(-1)
    start = np.zeros(isa.padded(g.out_channels), np.int32 if left == "i8" else np.int64)
    start[: g.out_channels] = -(isa.bias + zero) * sums if left == "i8" else 0
    packed, _ = pack.pack_depthwise(isa.lanes, weights, 0, max(size, isa.byte_width))
    out = Guarded((*g.output, g.out_channels), np.int32 if left == "i8" else np.int64)
    spec, kernels, blocking = ContractSpec(isa, "depthwise", left), Kernels(isa), DepthwiseBlocking(g, isa)
    operands = [guarded(array) for array in (x, packed, start)]
    scratch = Guarded((blocking.scratch_bytes,), np.uint8)
    addresses = dict(zip(("SOURCE", "WEIGHT", "INITIAL"), (o.address for o in operands), strict=True))
    addresses |= {"OUTPUT": out.address, "SCRATCH": scratch.address}
    addresses |= {"GATHER": kernels.address(depthwise_gather_source(spec))}
    blank = zero + isa.bias if left == "i8" else 0
    args = arguments(DepthwiseSlot, blocking, **addresses, BLANK_BYTE=blank)
    acc = "i32" if left == "i8" else "i64"
    kernels.run(contract_source(spec, Epilogue(f"store_{acc}(output, index, acc)", OUTPUT)), args)
    assert out.intact()
    assert scratch.intact()
    exact = summed_by_channel(x.astype(np.int64) - zero, weights.astype(np.int64), g)
    np.testing.assert_array_equal(out.array, exact)


@sets
@pytest.mark.parametrize("columns", [3, 40])
def test_matrices_are_packed_at_run_time_as_they_are_when_a_graph_is_built(
    isa: InstructionSet, columns: int
) -> None:
    rng, depth = np.random.default_rng(8), 7
    matrix = integers(rng, np.int8, (depth, columns))
    source = guarded(matrix)
    size = pack.packed_bytes(isa.lanes, isa.whole_depth(depth, "i8"), columns, isa.byte_width)
    packed = Guarded((size,), np.uint8)
    initial = Guarded((isa.padded(columns, 4),), np.int32)
    args = np.zeros(len(PackSlot), np.int64)
    args[PackSlot.SOURCE], args[PackSlot.ROW] = source.address, columns
    args[PackSlot.DEPTH], args[PackSlot.COLUMNS] = matrix.shape
    args[PackSlot.OUT], args[PackSlot.INITIAL] = packed.address, initial.address
    args[PackSlot.FACTOR] = -isa.bias
    Kernels(isa).run(pack_source(ContractSpec(isa, "convolution")), args)
    assert packed.intact()
    assert initial.intact()
    expected = pack.pack_bytes(isa, matrix.T).view(np.uint8).reshape(-1)
    np.testing.assert_array_equal(packed.array, expected)
    start = pack.start_values(isa, np.ascontiguousarray(matrix.T), np.zeros(columns, np.int32), 0, 0)
    np.testing.assert_array_equal(initial.array[: len(start)], start)


@sets
@pytest.mark.parametrize("columns", [3, 16, 40, 70])
@pytest.mark.parametrize("kind", ["i16", "f32", "bf16"])
def test_matrices_of_all_types_are_packed_at_run_time_as_they_are_when_a_graph_is_built(
    isa: InstructionSet, kind: str, columns: int
) -> None:
    isa = replace(isa, bf16_pairs=True, row_pairs=("i8", "bf16") if isa.row_pairs else ())
    rng, depth = np.random.default_rng(9), 6
    if kind == "f32":
        matrix: Array = rng.standard_normal((depth, columns)).astype(np.float32)
    else:
        matrix = integers(rng, np.int16, (depth, columns))
    if kind == "i16":
        panels: Array = pack.pack_halves(isa.lanes, matrix.T)
    elif kind == "bf16":
        panels = pack.pack_pairs(isa, matrix.T)
    else:
        panels = pack.pack_weights(isa.lanes, matrix.T, 1)
    source, out = guarded(matrix), Guarded((panels.nbytes,), np.uint8)
    args = np.zeros(len(PackSlot), np.int64)
    args[PackSlot.SOURCE], args[PackSlot.ROW] = source.address, columns * matrix.itemsize
    args[PackSlot.DEPTH], args[PackSlot.COLUMNS], args[PackSlot.OUT] = depth, columns, out.address
    Kernels(isa).run(pack_source(ContractSpec(isa, "convolution", kind, kind)), args)
    assert out.intact()
    expected = np.ascontiguousarray(panels).view(np.uint8).reshape(-1)
    head = LEAST_BYTES if kind == "bf16" else 0
    np.testing.assert_array_equal(out.array[head:], expected[head:])
    np.testing.assert_array_equal(out.array[: min(head, 4)], expected[: min(head, 4)])


def test_no_activations_take_sums_beyond_their_bound() -> None:
    rng = np.random.default_rng(11)
    for input_zp, weight_zp in ((0, 0), (5, 3), (-128, 7), (127, -9)):
        matrix, bias = integers(rng, np.int8, (6, 9)), integers(rng, np.int32, 6) >> 12
        bound = pack.sum_bound(matrix, bias, input_zp, weight_zp)
        weights = matrix.astype(np.int64) - weight_zp
        for sign in (1, -1):
            x = np.where(weights * sign > 0, 127, -128) - input_zp
            sums = np.abs((x * weights).sum(axis=1) + bias)
            assert (sums <= bound).all()
        furthest = max(127 - input_zp, 128 + input_zp)
        assert (bound <= np.abs(weights).sum(axis=1) * furthest + np.abs(bias)).all()
