"""What elementwise work becomes on machines that do one binary operation at a time."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import sim
import tosajit as tj
from sim.cost.ethos import blocks, passes
from sim.cost.ethos.passes import Core
from sim.cost.ethos.stages import Stages, stages_of
from sim.cost.geometry import contracts_constant
from sim.cost.weights import coded_bytes, scale_bytes, stored_sizes
from sim.cost.work import Work
from sim.machine.arrays import Block
from sim.machine.machine import Machine
from tests.sim.nests import convolution, groups, zero
from tiling.expr import apply, read
from tiling.nest import Access, Axis, Nest, Write, identity
from tosajit import Value, ops, samples, trace
from tosajit.compiler.options import Options
from tosajit.compiler.planning import ROOMY
from tosajit.dtypes import FP32, INT8, INT16, INT32, DType
from tosajit.operators import ABS, ADD, MATMUL, RESCALE, TABLE
from tosajit.operators.types import RoundingMode
from tosajit.runtime.body import Compute
from tosajit.runtime.build import build
from tosajit.tracing.builder import GraphBuilder
from tosajit.tracing.tensor import Tensor

U55 = "ethos-u55-256/high-end-embedded/sram-only"
U85 = "ethos-u85-256/sys-dram-mid/sram-only"


def rescaled(builder: GraphBuilder, value: str, wide: bool) -> str:
    """A value as 32 bits, or back as 8."""
    scale = RESCALE(
        scale32=True,
        rounding_mode=RoundingMode.SINGLE_ROUND,
        per_channel=False,
        input_unsigned=False,
        output_unsigned=False,
    )
    points = (INT8, INT32) if wide else (INT32, INT8)
    inputs = [
        value,
        builder.const(np.array([1 << 30], np.int32), INT32),
        builder.const(np.array([30], np.int8), INT8),
        *(zero(builder, dtype) for dtype in points),
    ]
    return builder.add(scale, inputs, dtype=INT32 if wide else INT8)


def addition(table: bool = False) -> Nest:
    """The group of a sum of 8-bit tensors, with scaling all around."""
    builder = GraphBuilder()
    sides = [builder.input(name, INT8, (1, 16, 16, 32)) for name in "ab"]
    total = builder.add(ADD(), [rescaled(builder, side, True) for side in sides])
    result = rescaled(builder, total, False)
    if table:
        entries = builder.const(np.arange(-128, 128, dtype=np.int8), INT8)
        result = builder.add(TABLE(), [result, entries])
    builder.output(result)
    (nest,) = groups(builder.build())
    return nest


def cost(machine: str | Machine, nest: Nest) -> Work:
    known = sim.machine(machine) if isinstance(machine, str) else machine
    assert isinstance(known.array, Block)
    found = blocks.work(Core.of(known.array, known), nest, nest.extents)
    assert found is not None
    return found


def kinds(stages: Stages) -> list[str]:
    return [stage.kind for stage in stages.after]


def test_scaling_on_all_sides_of_an_addition_is_one_pass() -> None:
    stages = stages_of(addition())
    assert kinds(stages) == ["add"]
    assert not stages.after[0].wide
    assert stages.after[0].type == "i8"


def test_a_table_behind_an_addition_is_in_the_same_pass() -> None:
    stages = stages_of(addition(table=True))
    assert kinds(stages) == ["add"]
    assert stages.after[0].table


@pytest.mark.parametrize("machine", [U55, U85])
def test_single_numbers_of_a_pass_come_with_its_command(machine: str) -> None:
    nest = addition()
    assert any(access.bytes <= 4 for access in nest.reads)
    taken = zip(nest.reads, cost(machine, nest).traffic, strict=False)
    assert all((size == 0) == (access.bytes <= 4) for access, size in taken)


def sigmoid_times(x: Tensor) -> Tensor:
    """A value times a table of it, both of 8 bits."""
    factor = ops.rescale(
        ops.table(x, np.arange(-128, 128, dtype=np.int8)), multiplier=1 << 30, shift=30, dtype=INT32
    )
    product = ops.mul(ops.rescale(x, multiplier=1 << 30, shift=30, dtype=INT32), factor)
    return ops.rescale(product, multiplier=1 << 30, shift=37, dtype=INT8)


def test_a_value_times_a_table_of_it_is_looked_up_and_multiplied() -> None:
    (nest,) = groups(trace(sigmoid_times, Value("x", INT8, (1, 16, 16, 32))))
    table, product = stages_of(nest).after
    assert (table.kind, table.table, table.type) == ("copy", True, "i8")
    assert (product.kind, product.table, product.wide) == ("multiply", False, False)


def test_results_that_others_read_too_are_not_sent_through_a_table_on_their_way() -> None:
    def layer(x: Tensor) -> Tensor:
        total = ops.conv2d(x, np.ones((32, 1, 1, 16), np.int8))
        return sigmoid_times(ops.rescale(total, multiplier=1 << 30, shift=38, dtype=INT8))

    (nest,) = groups(trace(layer, Value("x", INT8, (1, 8, 8, 16))))
    stages = stages_of(nest)
    assert stages.primary is not None
    assert not stages.primary.table
    assert [(stage.kind, stage.table) for stage in stages.after] == [("copy", True), ("multiply", False)]


def test_a_float_function_of_8_bits_is_a_table() -> None:
    def function(x: Tensor) -> Tensor:
        return ops.cast(ops.exp(ops.cast(x, dtype=FP32) * np.float32(0.1)), dtype=INT8)

    (nest,) = groups(trace(function, Value("x", INT8, (1, 16, 16, 32))))
    (table,) = stages_of(nest).after
    assert table.table
    assert cost(U55, nest).unit == "vector"


def test_the_results_of_a_pass_fill_bricks_of_16_channels() -> None:
    builder = GraphBuilder()
    sides = [builder.input(name, INT8, (12,)) for name in "ab"]
    total = builder.add(ADD(), [rescaled(builder, side, True) for side in sides])
    builder.output(rescaled(builder, total, False))
    (nest,) = groups(builder.build())
    # Vela 5.2.0, in a cell of a recurrent network with 12 units.
    assert cost("ethos-u55-128/high-end-embedded/sram-only", nest).cycles == 24
    assert cost(U85, nest).cycles == 4


@pytest.mark.parametrize(
    ("machine", "cycles"), [("ethos-u55-128/high-end-embedded/sram-only", 8692), (U85, 8361)]
)
def test_a_sum_over_rows_and_columns_is_a_product_with_ones(machine: str, cycles: int) -> None:
    def total(x: Tensor) -> Tensor:
        wide = ops.reshape(ops.rescale(x, multiplier=1 << 30, shift=30, dtype=INT32), (400, 16))
        return ops.reduce_sum(wide, axis=0)

    (nest,) = groups(trace(total, Value("x", INT8, (20, 20, 16))))
    # Vela 5.2.0, the first operation of a MEAN.
    assert cost(machine, nest).cycles == pytest.approx(cycles, rel=0.02)


def test_what_a_sum_widens_is_stored_narrow_whatever_makes_it() -> None:
    def wide(x: Tensor) -> Tensor:
        return ops.rescale(x, multiplier=1 << 30, shift=30, dtype=INT32)

    def network(x: Tensor) -> Tensor:
        weights, bias = np.ones((16, 1, 1, 16), np.int8), np.zeros(16, np.int32)
        found = ops.rescale(ops.conv2d(x, weights, bias), multiplier=1 << 30, shift=34, dtype=INT8)
        added = ops.rescale(ops.add(wide(x), wide(found)), multiplier=1 << 30, shift=31, dtype=INT8)
        return ops.reduce_sum(ops.reshape(wide(added), (100, 16)), axis=0)

    found = groups(trace(network, Value("x", INT8, (1, 10, 10, 16))))
    assert [[write.access.type for write in nest.writes] for nest in found] == [["i8"], ["i32"]]


@pytest.mark.parametrize(
    ("machine", "dtype", "cycles"), [(U55, INT8, 256), (U85, INT8, 256), (U55, INT16, 0), (U85, INT16, 2048)]
)
def test_a_table_comes_a_byte_a_cycle(machine: str, dtype: DType, cycles: int) -> None:
    # Vela 5.2.0, beneath the operation in front; the U55 has functions of 16 bits of its own.
    entries = np.zeros(256, np.int8) if dtype == INT8 else np.zeros(513, np.int16)
    (nest,) = groups(trace(lambda x: ops.table(x, entries), Value("x", dtype, (64,))))
    assert cost(machine, nest).ahead == cycles


def test_a_table_is_loaded_while_the_operator_in_front_works() -> None:
    def network(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return ops.maximum(a, a), ops.table(b, np.zeros(256, np.int8))

    def waits(size: int) -> int:
        graph = trace(network, Value("a", INT32, (size,)), Value("b", INT8, (64,)))
        return tj.simulate(graph, U85).causes.get("dependency", 0)

    assert 200 <= waits(16) <= 256
    assert waits(4096) == 0


def test_an_addition_takes_as_long_as_vela_says() -> None:
    # Vela 5.2.0, ethos-u55-256: 0.75 cycles for each of 8192 elements; with a table one.
    assert cost(U55, addition()).cycles == 6144
    assert cost(U55, addition(table=True)).cycles == 8192


def test_a_chained_addition_costs_the_output_stage_alone() -> None:
    nest = addition()
    # Vela 5.2.0, ethos-u85-256: a quarter of a cycle an element; four bytes of it go through the memory.
    assert cost(U85, nest).cycles == 2048


def test_operations_on_32_bits_are_passes_of_their_own() -> None:
    builder = GraphBuilder()
    pair = [builder.input(name, INT32, (64, 64)) for name in "ab"]
    builder.output(builder.add(ABS(), [builder.add(ADD(), pair)]))
    (nest,) = groups(builder.build())
    assert kinds(stages_of(nest)) == ["add", "other"]


def test_a_bias_and_what_scales_it_are_no_passes() -> None:
    nest = convolution((1, 8, 8, 16), (32, 3, 3, 16))
    stages = stages_of(nest)
    assert not stages.before
    assert not stages.after
    assert contracts_constant(nest)


def test_one_bias_for_all_channels_is_no_pass_either() -> None:
    def layer(x: Tensor) -> Tensor:
        total = ops.conv2d(x, np.ones((32, 1, 1, 16), np.int8))
        return ops.clamp(ops.rescale(total, multiplier=1 << 30, shift=38, dtype=INT8), min_val=0, max_val=127)

    (nest,) = groups(trace(layer, Value("x", INT8, (1, 8, 8, 16))))
    stages = stages_of(nest)
    assert not stages.before
    assert not stages.after


def test_types_that_the_hardware_has_not_are_left_to_others() -> None:
    source, result = (Access(name, "f32", (8,), identity(1)) for name in "ab")
    value = apply("add", read(0, "f32"), read(0, "f32"))
    nest = Nest("map", (Axis("i", 8),), (source,), (Write(result, value),))
    machine = sim.machine(U55)
    assert isinstance(machine.array, Block)
    assert passes.work(Core.of(machine.array, machine), nest, nest.extents) is None


def test_a_product_of_maps_is_done_column_by_column_where_there_is_one_stream() -> None:
    builder = GraphBuilder()
    left, right = (builder.input(n, INT8, s) for n, s in (("a", (2, 128, 64)), ("b", (2, 64, 128))))
    builder.output(builder.add(MATMUL(), [left, right, zero(builder), zero(builder)]))
    (nest,) = groups(builder.build())
    assert not contracts_constant(nest)
    # Vela 5.2.0 says 1,326,464 for U55-256 and twice 2,112 for the U85-1024, with results of 8 bits.
    assert cost(U55, nest).cycles == pytest.approx(1_326_464, rel=0.05)
    assert cost("ethos-u85-1024/sys-dram-mid/sram-only", nest).cycles < 20_000


@pytest.mark.parametrize("machine", [U55, U85])
def test_every_group_of_a_network_has_a_cost_and_bytes_for_each_access(machine: str) -> None:
    (step,) = build(samples.load("ds_cnn"), Options(ROOMY, run=False)).steps
    assert isinstance(step, Compute)
    for nest in step.groups.nests:
        found = cost(machine, nest)
        assert found.cycles >= found.fill >= 0
        assert found.cycles > 0
        assert len(found.traffic) == len(nest.accesses)
        assert all(size >= 0 for size in found.traffic)


@pytest.mark.parametrize(("machine", "bytes_"), [("ethos-u55-128", 23_936), ("ethos-u85-256", 24_288)])
def test_coded_weights_have_about_the_size_that_vela_gives(machine: str, bytes_: int) -> None:
    (step,) = build(samples.load("ds_cnn"), Options(ROOMY, run=False)).steps
    assert isinstance(step, Compute)
    found = step.groups
    sizes = stored_sizes(found.nests, found.constants, sim.machine(machine))
    family = machine.split("-")[1]
    factors = 9 * scale_bytes(64, family) + scale_bytes(12, family)
    assert sum(sizes.values()) - factors == pytest.approx(bytes_, rel=0.04)


@pytest.mark.parametrize(("family", "channels"), [("u55", 24), ("u85", 32)])
def test_biases_and_scales_come_with_the_weights(family: str, channels: int) -> None:
    """Ten bytes a channel; the U85 has sixteens of them."""
    (step,) = build(trace(scaled_layer, Value("x", INT8, (1, 20, 20, 8))), Options(ROOMY, run=False)).steps
    assert isinstance(step, Compute)
    found = step.groups
    sizes = stored_sizes(found.nests, found.constants, sim.machine(f"ethos-{family}-256"))
    coded = coded_bytes(np.ones((24, 1, 1, 8), np.int8), family=family)
    assert sorted(sizes.values()) == [0, 0, 0, coded + 10 * channels]


def scaled_layer(x: Tensor) -> Tensor:
    """A convolution with a bias and a factor for each channel."""
    weights, bias = np.ones((24, 1, 1, 8), np.int8), np.arange(24, dtype=np.int32)
    factors, shifts = np.arange(24, dtype=np.int32) + (1 << 30), np.arange(24, dtype=np.int8) % 2 + 33
    found = ops.conv2d(x, weights, bias)
    return ops.rescale(found, multiplier=factors, shift=shifts, dtype=INT8, per_channel=True)


@pytest.mark.parametrize(("mode", "cycles"), [("dedicated-sram-384kb", 3124), ("sram-only", 2794)])
def test_the_u85_reads_scales_for_each_block_of_positions(mode: str, cycles: int) -> None:
    """Vela 5.2.0: four blocks, for 32 channels, at 0.41 bytes a cycle from DRAM."""
    machine = sim.machine(f"ethos-u85-256/sys-dram-mid/{mode}")
    (nest,) = groups(trace(scaled_layer, Value("x", INT8, (1, 20, 20, 8))))
    assert cost(machine, nest).cycles == pytest.approx(cycles, abs=1)


def test_weights_without_information_take_few_bytes() -> None:
    random = np.random.default_rng(0)
    noise = random.integers(-128, 128, (64, 3, 3, 64)).astype(np.int8)
    few = random.choice(np.array([-3, 0, 3], np.int8), (64, 3, 3, 64))
    assert coded_bytes(np.zeros_like(noise)) < 0.05 * noise.size
    assert coded_bytes(few) < 0.35 * noise.size
    assert noise.size < coded_bytes(noise) < 1.2 * noise.size
    assert coded_bytes(np.zeros((0, 1, 1, 8), np.int8)) == 0
    assert scale_bytes(16, "u55") == 160
    assert (scale_bytes(3, "u55"), scale_bytes(3, "u85")) == (32, 160)


@pytest.mark.parametrize("heads", [1, 2])
def test_a_product_of_two_maps_is_one_with_a_single_head_too(heads: int) -> None:
    builder = GraphBuilder()
    left, right = (builder.input(name, INT8, (heads, 8, 8)) for name in "ab")
    sums = builder.add(MATMUL(), [left, right, zero(builder, INT8), zero(builder, INT8)])
    builder.output(rescaled(builder, sums, False))
    (nest,) = groups(builder.build())
    assert not contracts_constant(nest)


@pytest.mark.parametrize("mode", ["events", "analytic"])
@pytest.mark.parametrize("machine", [U55, U85])
def test_work_on_elements_and_products_take_turns(machine: str, mode: Literal["events", "analytic"]) -> None:
    def both(map: Tensor) -> list[Tensor]:
        return [ops.reverse(map, axis=1), ops.max_pool2d(map, (3, 3))]

    report = tj.simulate(trace(both, Value("map", INT8, (1, 32, 32, 16))), machine, mode=mode)
    assert report.cycles >= report.busy["array"] + report.busy["vector"]


@pytest.mark.parametrize("channels", [3, 16])
def test_results_in_rows_have_runs_of_a_brick(channels: int) -> None:
    """Bursts of 128 bytes have 16 of use, or as many as there are, as results of the array have."""

    def part(map: Tensor) -> list[Tensor]:
        zeros = ops.const(np.zeros((1, 1024, 1), np.int8), INT8)
        return [ops.concat([ops.reverse(map, axis=1), zeros], axis=2)]

    graph = trace(part, Value("map", INT8, (1, 1024, channels)))
    report = tj.simulate(graph, "ethos-u85-256/sys-dram-mid/dedicated-sram-384kb")
    assert report.operators[0].traffic["offchip", "write", "activations"] == 8 * 1024 * channels
