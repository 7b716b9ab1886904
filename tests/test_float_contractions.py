"""Contractions of floating-point numbers against float64, within the bound of their rounding errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tosajit as tj
from tests.summing import summed
from tests.test_contract_kernels import (
    LIBRARIES,
    OUTPUT,
    SOME,
    Guarded,
    address,
    arguments,
    geometries,
    guarded,
    libraries,
    run,
    seeds,
)
from tosajit import accuracy, ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT32
from tosajit.kernels.contract import pack
from tosajit.kernels.contract.blocking import Blocking
from tosajit.kernels.contract.geometry import Geometry
from tosajit.kernels.contract.slots import Slot
from tosajit.kernels.contract.source import contract_source, gather_source, pack_source, tile_source
from tosajit.kernels.contract.spec import ContractSpec, Epilogue
from tosajit.kernels.sets.registry import named_set
from tosajit.operators import CLAMP, CONV2D, MATMUL, MUL, TANH, AccType

STORE = Epilogue("store_f32(output, index, acc)", OUTPUT)
ADD = "store_f32(output, index, np.float32(load_f32(output, index) + acc))"
EPSILON = 2.0**-24


def numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Numbers of very different magnitudes."""
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-12, 12, shape)).astype(np.float32)


def near(
    found: Array, left: Array, right: Array, product: Callable[[Array, Array], Array], depth: int
) -> None:
    """Check that sums are as exact as a sum of rounded products is."""
    exact = product(left.astype(np.float64), right.astype(np.float64))
    reach = product(abs(left).astype(np.float64), abs(right).astype(np.float64))
    assert (abs(found - exact) <= (depth + 1) * EPSILON * reach).all()


def convolution(
    g: Geometry,
    library: str,
    x: Array,
    packed: int,
    out: Guarded,
    box: tuple[int, ...] | None = None,
    end: Epilogue = STORE,
) -> None:
    """Run the kernel; `packed` is the address of B."""
    spec = ContractSpec(named_set(library), "convolution", "f32", "f32")
    source, scratch = guarded(x), Guarded((Blocking(g, named_set(library)).scratch_bytes + 64,), np.uint8)
    addresses = {
        "SOURCE": source.address,
        "WEIGHT": packed,
        "OUTPUT": out.address,
        "SCRATCH": scratch.address,
    }
    args = arguments(Slot, Blocking(g, named_set(library)), **addresses)
    args[Slot.GATHER], args[Slot.TILE] = (
        address(gather_source(named_set(library))),
        address(tile_source(spec)),
    )
    if box is not None:
        args[Slot.M_LO], args[Slot.M_HI], args[Slot.N_LO], args[Slot.N_HI] = box
    run(contract_source(spec, end), args)
    assert out.intact()
    assert scratch.intact()


@libraries
@SOME
@given(g=geometries(element_bytes=4), seed=seeds, data=st.data())
def test_convolutions_are_within_the_bound_and_stay_in_their_box(
    library: str, g: Geometry, seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    x = numbers(rng, (*g.input, g.in_channels))
    weights = numbers(rng, (g.out_channels, *g.kernel, g.in_channels))
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, g.positions)] * 2)))
    first = 32 * data.draw(st.integers(0, (g.out_channels - 1) // 32))
    last = data.draw(st.integers(first, g.out_channels))
    packed = guarded(pack.pack_weights(named_set(library).lanes, weights.reshape(g.out_channels, -1), 1))
    out = Guarded((g.positions, g.out_channels), np.float32)
    before = out.array.copy()
    convolution(g, library, x, packed.address, out, (low, high, first, last))
    inside = np.zeros(out.array.shape, bool)
    inside[low:high, first:last] = True
    np.testing.assert_array_equal(out.array[~inside], before[~inside])
    found = np.where(inside, out.array, 0.0)

    def product(left: Array, right: Array) -> Array:
        return np.where(inside, summed(left, right, g).reshape(inside.shape), 0.0)

    near(found, x, weights, product, g.depth)


@libraries
@pytest.mark.parametrize("rows", [1, 5, 60])
def test_deep_sums_go_on_from_block_to_block(library: str, rows: int) -> None:
    g = Geometry((1, 1, 1, rows), (1, 1, 1, rows), 1300, 72, element_bytes=4)
    isa, rng = named_set(library), np.random.default_rng(rows)
    assert Blocking(g, isa).slots()[Slot.BLOCK_STEPS] < g.depth
    x, weights = numbers(rng, (*g.input, g.in_channels)), numbers(rng, (g.out_channels, g.in_channels))
    packed = guarded(pack.pack_weights(isa.lanes, weights, 1))
    out = Guarded((rows, g.out_channels), np.float32)
    convolution(g, library, x, packed.address, out)
    near(out.array, x.reshape(rows, -1), weights, lambda left, right: left @ right.T, g.depth)


@libraries
@pytest.mark.parametrize("width", [28, 60])
def test_overlapping_rows_of_a_share_their_input(library: str, width: int) -> None:
    g = Geometry((1, 1, 5, width), (1, 1, 5, width), 3, 40, (1, 3, 3), (1, 1, 1), (0, 1, 1), element_bytes=4)
    assert Blocking(g, named_set(library)).segments == 3
    rng = np.random.default_rng(width)
    x, weights = numbers(rng, (*g.input, 3)), numbers(rng, (40, 1, 3, 3, 3))
    packed = guarded(pack.pack_weights(named_set(library).lanes, weights.reshape(40, -1), 1))
    out = Guarded((*g.output, 40), np.float32)
    convolution(g, library, x, packed.address, out)
    near(out.array, x, weights, lambda left, right: summed(left, right, g), g.depth)


def packed_at_run_time(library: str, matrix: Array, right: str = "f32") -> Guarded:
    """B in panels, from rows of B in memory."""
    depth, columns = matrix.shape
    source, packed = (
        guarded(matrix),
        Guarded((pack.packed_bytes(named_set(library).lanes, depth, columns, 4),), np.uint8),
    )
    spec = ContractSpec(named_set(library), "convolution", "f32", right)
    row = columns * matrix.itemsize
    run(pack_source(spec), np.array([source.address, row, depth, columns, packed.address, 0, 0, 0], np.int64))
    assert packed.intact()
    return packed


@libraries
@SOME
@given(sizes=st.tuples(*[st.integers(1, 150)] * 3), seed=seeds)
def test_matrix_products_pack_b_at_run_time(library: str, sizes: tuple[int, int, int], seed: int) -> None:
    height, depth, width = sizes
    rng = np.random.default_rng(seed)
    a, b = numbers(rng, (height, depth)), numbers(rng, (depth, width))
    g = Geometry((1, 1, height, 1), (1, 1, height, 1), depth, width, element_bytes=4)
    packed = packed_at_run_time(library, b)
    np.testing.assert_array_equal(
        packed.array, pack.pack_weights(named_set(library).lanes, b.T, 1).view(np.uint8).reshape(-1)
    )
    out = Guarded((height, width), np.float32)
    convolution(g, library, a, packed.address, out)
    near(out.array, a, b, np.matmul, depth)


@libraries
@pytest.mark.parametrize("height", [3, 50])
def test_rows_of_whole_pages_are_gathered_with_room_between_them(library: str, height: int) -> None:
    g = Geometry((1, 1, height, 1), (1, 1, height, 1), 2048, 33, element_bytes=4, floating=True)
    assert g.is_direct == (height == 3)
    rng = np.random.default_rng(height)
    a, b = numbers(rng, (height, 2048)), numbers(rng, (2048, 33))
    packed = guarded(pack.pack_weights(named_set(library).lanes, b.T, 1))
    out = Guarded((height, 33), np.float32)
    convolution(g, library, a, packed.address, out)
    near(out.array, a, b, np.matmul, 2048)


@libraries
def test_infinities_and_nan_stay_in_their_row(library: str) -> None:
    a, b = np.ones((5, 7), np.float32), np.ones((7, 20), np.float32)
    a[1, 3], a[2, 0], a[4, 6] = np.inf, np.nan, -np.inf
    g = Geometry((1, 1, 5, 1), (1, 1, 5, 1), 7, 20, element_bytes=4)
    out = Guarded((5, 20), np.float32)
    packed = packed_at_run_time(library, b)
    convolution(g, library, a, packed.address, out)
    np.testing.assert_array_equal(out.array, np.repeat([[7], [np.inf], [np.nan], [7], [-np.inf]], 20, axis=1))


TYPES: dict[str, tuple[tj.DType, AccType, tj.DType, float]] = {
    "fp32": (tj.FP32, AccType.FP32, tj.FP32, 2.0**-24),
    "fp16": (tj.FP16, AccType.FP32, tj.FP16, 2.0**-11),
    "bf16": (tj.BF16, AccType.FP32, tj.BF16, 2.0**-8),
    "fp8e4m3": (tj.FP8E4M3, AccType.FP16, tj.FP16, 2.0**-11),
    "fp8e5m2": (tj.FP8E5M2, AccType.FP16, tj.FP16, 2.0**-11),
}
types = pytest.mark.parametrize("type_", TYPES)


class Drawn:
    """A graph under construction, with random constants."""

    def __init__(self, type_: str) -> None:
        self.random = np.random.default_rng(7)
        self.graph = tj.GraphBuilder()
        self.dtype, self.acc_type, self.result, self.epsilon = TYPES[type_]
        self.product = None if type_ == "bf16" else self.result
        self.inputs: list[np.ndarray] = []

    def array(self, shape: tuple[int, ...], dtype: tj.DType | None = None) -> np.ndarray:
        return self.random.standard_normal(shape).astype(np.float32).astype((dtype or self.dtype).storage)

    def bounded(self, reach: np.ndarray, depth: int) -> None:
        """Allow for sums of `depth` products, of magnitudes that add up to `reach`, and for rounding them."""
        self.bound = (depth + 8) * EPSILON * reach + 2 * self.epsilon * reach

    def input(self, shape: tuple[int, ...]) -> str:
        self.inputs.append(self.array(shape))
        return self.graph.input(f"x{len(self.inputs)}", self.dtype, shape)

    def zeros(self) -> list[str]:
        return [self.graph.const(np.zeros(1, self.dtype.storage), self.dtype) for _ in range(2)]

    def check(self, result: str, library: str, arrays: int, exact: np.ndarray, monkeypatch: Any) -> None:
        """So many groups are the array kernels', and the result is near enough, however it is shared."""
        monkeypatch.setenv("TOSAJIT_CPU", library)
        self.graph.output(result)
        graph = self.graph.build()
        for threads in (1, 2):
            executable = tj.compile(graph, threads=threads)
            taken = sum(bool(section.nest.prepared) for section in executable.program.sections)
            assert taken == (0 if library == "none" else arrays)
            found = executable(*self.inputs).astype(np.float64)
            assert found.shape == exact.shape
            assert (abs(found - exact) <= self.bound).all()


def exactly(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


@pytest.mark.parametrize("library", [*LIBRARIES, "none"])
@pytest.mark.parametrize("constant", [True, False])
@types
def test_graphs_with_convolutions_of_all_types(
    type_: str, constant: bool, library: str, monkeypatch: Any
) -> None:
    drawn = Drawn(type_)
    g = Geometry((2, 1, 9, 7), (2, 1, 5, 7), 12, 35, (1, 3, 3), (1, 2, 1), (0, 1, 1))
    operands = [drawn.input((2, 9, 7, 12))]
    if constant:
        weights = drawn.array((35, 3, 3, 12))
        operands.append(drawn.graph.const(weights, drawn.dtype))
    else:
        operands.append(drawn.input((35, 3, 3, 12)))
        weights = drawn.inputs[1]
    bias = drawn.array((35,), drawn.result)
    operands += [drawn.graph.const(bias, drawn.result), *drawn.zeros()]
    operator = CONV2D(pad=(1, 1, 1, 1), stride=(2, 1), dilation=(1, 1), acc_type=drawn.acc_type)
    result = drawn.graph.add(operator, operands)
    result = drawn.graph.add(CLAMP(min_val=-9.0, max_val=11.0), [result])
    image = exactly(drawn.inputs[0])[:, None]
    sums = summed(image, exactly(weights)[:, None], g)[:, 0] + exactly(bias)
    reach = summed(abs(image), abs(exactly(weights))[:, None], g)[:, 0] + abs(exactly(bias))
    drawn.bounded(reach, 108)
    drawn.check(result, library, 1, np.clip(sums, -9, 11), monkeypatch)


@pytest.mark.parametrize("library", [*LIBRARIES, "none"])
@pytest.mark.parametrize("depth", [31, 32])
@types
def test_graphs_with_products_of_two_results(type_: str, depth: int, library: str, monkeypatch: Any) -> None:
    drawn = Drawn(type_)
    operands = [drawn.input((3, 20, depth)), drawn.input((3, depth, 70)), *drawn.zeros()]
    exact = exactly(drawn.inputs[0]) @ exactly(drawn.inputs[1])
    drawn.bounded(abs(exactly(drawn.inputs[0])) @ abs(exactly(drawn.inputs[1])), depth)
    drawn.check(drawn.graph.add(MATMUL(), operands, dtype=drawn.product), library, 1, exact, monkeypatch)


@pytest.mark.parametrize("library", [*LIBRARIES, "none"])
def test_work_on_sums_follows_them(library: str, monkeypatch: Any) -> None:
    drawn = Drawn("fp32")
    weights, bias = drawn.array((40, 1, 1, 16)), drawn.array((40,))
    operands = [drawn.input((1, 5, 5, 16)), drawn.graph.const(weights, tj.FP32)]
    operands += [drawn.graph.const(bias, tj.FP32), *drawn.zeros()]
    operator = CONV2D(pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=AccType.FP32)
    sums = drawn.graph.add(operator, operands)
    result = drawn.graph.add(MUL(), [sums, drawn.graph.add(TANH(), [sums]), zero_shift(drawn.graph)])
    exact = exactly(drawn.inputs[0]) @ exactly(weights)[:, 0, 0].T + exactly(bias)
    drawn.bounded(4 * abs(exactly(drawn.inputs[0])) @ abs(exactly(weights))[:, 0, 0].T + 4, 16)
    drawn.check(result, library, 1, exact * np.tanh(exact), monkeypatch)
    sections = tj.compile(drawn.graph.build(), threads=1).program.sections
    assert [len(section.nest.writes) for section in sections] == [1]


def zero_shift(graph: tj.GraphBuilder) -> str:
    return graph.const(np.zeros(1, np.int8), tj.INT8)


@pytest.mark.parametrize("number", accuracy.SETS)
@pytest.mark.parametrize("library", [*LIBRARIES, "none"])
@types
def test_the_data_sets_of_the_specification(type_: str, library: str, number: int, monkeypatch: Any) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    drawn = Drawn(type_)
    result = tj.FP32 if type_ == "bf16" else drawn.result
    shapes = (1, 40, 64), (1, 64, 30)
    operands = accuracy.data_set("MATMUL", number, shapes, [drawn.dtype] * 2, result)
    names = [drawn.graph.input(f"x{i}", drawn.dtype, shape) for i, shape in enumerate(shapes)]
    drawn.graph.output(drawn.graph.add(MATMUL(), [*names, *drawn.zeros()], dtype=drawn.product))
    found = tj.compile(drawn.graph.build(), threads=1)(*operands)
    left, right = map(exactly, operands)
    sizes = [accuracy.magnitudes(operand, drawn.dtype) for operand in (left, right)]
    bounds = sizes[0] @ sizes[1]
    ksb = accuracy.kernel_size_bound(64, result, tj.FP32)
    checked = accuracy.check_dot_product(found, left @ right, bounds, result, ksb, number)
    assert checked, str(checked)


@pytest.mark.parametrize("kind", [np.int8, np.int16])
def test_sums_of_integers_become_real_numbers_that_are_chosen(kind: type[np.int8 | np.int16]) -> None:
    @tj.jit
    def layer(x: Any, weights: Any) -> Any:
        total = ops.conv2d(x, weights)
        if kind is np.int16:
            zero = np.array([0])
            total = ops.rescale(
                total, np.array([1 << 14], np.int16), np.array([14], np.int8), zero, zero.astype(np.int32),
                dtype=INT32, scale32=False,
            )  # fmt: skip
        return ops.clamp(ops.mul(ops.cast(total, dtype=FP32), np.full((1,) * 4, 0.5, np.float32)), -3.0, 9.0)

    x = np.arange(-8, 8).astype(kind).reshape(1, 2, 2, 4)
    weights = np.arange(-6, 6).astype(np.int8).reshape(3, 1, 1, 4)
    wanted = np.clip(x.astype(np.float32) @ weights.reshape(3, 4).T.astype(np.float32) / 2, -3, 9)
    np.testing.assert_array_equal(layer(x, weights), wanted)


@libraries
@pytest.mark.parametrize("rows", [7, 13, 14, 25, 49])
def test_tiles_that_begin_early_finish_no_row_twice(library: str, rows: int) -> None:
    g = Geometry((1, 1, 1, rows), (1, 1, 1, rows), 5, 40, element_bytes=4)
    rng = np.random.default_rng(rows)
    x, weights = numbers(rng, (*g.input, 5)), numbers(rng, (40, 1, 1, 1, 5))
    packed = guarded(pack.pack_weights(named_set(library).lanes, weights.reshape(40, -1), 1))
    out = Guarded((*g.output, 40), np.float32)
    out.array[:] = 0
    convolution(g, library, x, packed.address, out, end=Epilogue(ADD, OUTPUT))
    near(out.array, x, weights, lambda left, right: summed(left, right, g), g.depth)


@pytest.mark.parametrize("sizes", [(1, 1, 300, 77), (3, 1, 64, 40), (1, 2, 64, 40)])
@pytest.mark.parametrize("library", ["avx2", "none"])
def test_one_row_needs_no_packed_weights(
    library: str, sizes: tuple[int, int, int, int], monkeypatch: Any
) -> None:
    batch, rows, depth, columns = sizes
    rng = np.random.default_rng(depth)
    left, right = numbers(rng, (batch, rows, depth)), numbers(rng, (batch, depth, columns))
    monkeypatch.setenv("TOSAJIT_CPU", library)
    made = tj.compile(tj.trace(ops.matmul, left, right))
    near(made(left, right), left, right, np.matmul, depth)
    assert (len(made.explain()) == 1) == (rows == 1 or library == "none")
