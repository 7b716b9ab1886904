"""What the hardware of an Ethos-U can and cannot do, with figures that Vela 5.2.0 prints."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import sim
from sim.cost.ethos import blocks
from sim.cost.ethos.cycles import Map, Maps
from sim.cost.ethos.parts import Layer, Part85, Shape
from sim.cost.ethos.passes import Core
from sim.cost.geometry import squarest
from sim.cost.sites import Site, Stream
from sim.cost.transfer import far_rate
from sim.cost.work import Work
from sim.machine.arrays import Block
from tests.sim.nests import groups
from tosajit import Value, ops, trace
from tosajit.dtypes import INT8, INT32
from tosajit.tracing.tensor import Tensor

U55 = "ethos-u55-128/high-end-embedded/sram-only"
U85 = "ethos-u85-256/sys-dram-mid/sram-only"


def cost(machine: str, network: object, *shape: int, rows: bool = False) -> Work:
    """Of the one group of a network, whose maps are in rows or not."""
    known = sim.machine(machine)
    assert isinstance(known.array, Block)
    (nest,) = groups(trace(network, Value("x", INT8, shape)))  # type: ignore[arg-type]
    sites = (Site(plain=rows),) * len(nest.accesses)
    found = blocks.work(Core.of(known.array, known), nest, nest.extents, sites)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (((3, 3), (4, 4)), ((5, 5), (2, 2))),
        (((3, 1), (3, 1)), ((7, 1), (1, 1))),
        (((3, 3), (2, 1)), ((3, 3), (2, 1))),
        (((1, 5), (1, 6)), ((1, 13), (1, 2))),
    ],
)
def test_a_dilation_beyond_two_is_a_longer_kernel(given: object, made: object) -> None:
    assert blocks.able(*given) == made  # type: ignore[misc]


@pytest.mark.parametrize(
    ("size", "channels", "kernel", "stride", "cycles"),
    [
        (43, 3, 11, (4, 4), {U55: 81 * 2806, U85: 81 * 2717}),
        (37, 16, 5, (2, 4), {U55: 153 * 1301, U85: 153 * 1261}),
        (37, 16, 5, (4, 2), {U55: 153 * 1301, U85: 153 * 1261}),
    ],
)
def test_positions_that_no_stride_reaches_are_done_one_by_one(
    size: int, channels: int, kernel: int, stride: tuple[int, int], cycles: dict[str, int]
) -> None:
    """The largest stride is three; Vela 5.2.0 has an operation for each position."""
    weights, bias = np.ones((16, kernel, kernel, channels), np.int8), np.zeros(16, np.int32)

    def network(x: Tensor) -> Tensor:
        sums = ops.conv2d(x, weights, bias, stride=stride)
        return ops.rescale(sums, multiplier=1 << 30, shift=36, dtype=INT8)

    for machine, known in cycles.items():
        assert cost(machine, network, 1, size, size, channels, rows=True).cycles == known


def test_a_stride_between_rows_is_nothing_to_a_single_row() -> None:
    weights, bias = np.ones((16, 5, 5, 16), np.int8), np.zeros(16, np.int32)

    def network(x: Tensor, stride: int) -> Tensor:
        sums = ops.conv2d(x, weights, bias, stride=(stride, 1))
        return ops.rescale(sums, multiplier=1 << 30, shift=36, dtype=INT8)

    one, other = (cost(U85, partial(network, stride=stride), 1, 5, 20, 16).cycles for stride in (1, 4))
    assert one == other


def test_weights_are_read_for_each_position_that_no_stride_reaches() -> None:
    weights, bias = np.ones((16, 5, 5, 16), np.int8), np.zeros(16, np.int32)

    def network(x: Tensor, stride: int) -> Tensor:
        sums = ops.conv2d(x, weights, bias, stride=(stride, stride))
        return ops.rescale(sums, multiplier=1 << 30, shift=36, dtype=INT8)

    near, far = (cost(U85, partial(network, stride=stride), 1, 13, 13, 16) for stride in (2, 4))
    assert near.traffic[1] == weights.size
    assert far.traffic[1] == 9 * weights.size


def test_a_convolution_with_more_dilation_takes_zeros_in_between() -> None:
    weights, bias = np.ones((12, 1, 3, 12), np.int8), np.zeros(12, np.int32)

    def network(x: Tensor) -> Tensor:
        sums = ops.conv2d(x, weights, bias, pad=(0, 0, 8, 0), dilation=(1, 4))
        return ops.rescale(sums, multiplier=1 << 30, shift=36, dtype=INT8)

    assert cost(U85, network, 1, 1, 40, 12).cycles == pytest.approx(534, abs=8)


def largest(x: Tensor) -> Tensor:
    """The largest channel of each position."""
    return ops.reduce_max(x, axis=1)


def test_a_maximum_over_few_channels_is_one_over_rows_of_a_turned_map() -> None:
    """In the U85, whose copies turn maps; the U55 has a column of one channel for each position.

    Vela has the first map as a square, of which ours is another, cheaper shape.
    """
    assert 0.85 <= cost(U85, largest, 4096, 3).cycles / (6_448 + 4_032) <= 1
    assert cost(U85, largest, 64, 16).cycles == 680 + 246
    assert cost(U55, largest, 4096, 3).cycles == pytest.approx(65_625, rel=0.01)


@pytest.mark.parametrize("rows", [64, 160, 256, 1024, 4096])
@pytest.mark.parametrize("deep", [3, 16])
@pytest.mark.parametrize("family", ["u85-128", "u85-256", "u85-1024"])
def test_a_turned_map_has_the_cheaper_shape_of_a_square_and_one_that_fills_bricks(
    family: str, deep: int, rows: int
) -> None:
    core = Core.of(*_array(f"ethos-{family}/sys-dram-mid/dedicated-sram-384kb"))
    assert isinstance(core.hardware, Part85)
    layer = Layer("pool", Shape(rows, 1, 1), Shape(rows, deep, 1), kernel=(1, deep), maximum=True)
    for memory in (core.memory, core.far):
        maps = Maps(Map(memory), Map(memory), memory.read_latency)
        found = blocks.turned_maximum(core.hardware, layer, maps, 0).total
        shapes = squarest(rows), (rows // 16, 16)
        alone = [blocks.turned_as(core.hardware, layer, maps, 0, shape).total for shape in shapes]
        assert found == min(alone)


def _array(machine: str) -> tuple[Block, sim.Machine]:
    known = sim.machine(machine)
    assert isinstance(known.array, Block)
    return known.array, known


def test_a_bilinear_mean_is_one_operation_of_the_u85() -> None:
    def scaled(x: Tensor) -> Tensor:
        scale, offset, border = (4, 2, 4, 2), (-1, -1), (1, 1)
        wide = ops.resize(x, scale, offset, border, "BILINEAR")
        return ops.rescale(wide, multiplier=1 << 30, shift=34, dtype=INT8)

    assert cost(U85, scaled, 1, 16, 16, 16).cycles == 4096


def test_a_bilinear_mean_is_four_depthwise_convolutions_of_the_u55() -> None:
    """What Vela 5.2.0 prints for each place between elements, less 26 cycles of its weights."""

    def scaled(x: Tensor) -> Tensor:
        wide = ops.resize(x, (4, 2, 4, 2), (-1, -1), (1, 1), "BILINEAR")
        return ops.rescale(wide, multiplier=1 << 30, shift=34, dtype=INT8)

    assert cost(U55, scaled, 1, 18, 18, 24).cycles == pytest.approx(4 * 18_930, rel=0.005)


@pytest.mark.parametrize(("machine", "cycles"), [(U55, 3456), (U85, 576)])
def test_a_bilinear_mean_of_a_single_position_is_an_addition(machine: str, cycles: int) -> None:
    """As Vela 5.2.0 has it on the U55 and U65: 12 × 12 results of 16 channels."""

    def repeated(x: Tensor) -> Tensor:
        wide = ops.resize(x, (24, 2, 24, 2), (-11, -11), (11, 11), "BILINEAR")
        return ops.rescale(wide, multiplier=1 << 30, shift=34, dtype=INT8)

    assert cost(machine, repeated, 1, 1, 1, 16).cycles == cycles


@pytest.mark.parametrize(("rows", "cycles"), [(True, 1280), (False, 4096)])
def test_results_in_rows_do_not_fill_bricks_of_channels(rows: bool, cycles: int) -> None:
    """32 × 32 bilinear means of 5 channels, as Vela 5.2.0 counts them at the end of a network and within."""

    def scaled(x: Tensor) -> Tensor:
        wide = ops.resize(x, (4, 2, 4, 2), (-1, -1), (1, 1), "BILINEAR")
        return ops.rescale(wide, multiplier=1 << 30, shift=34, dtype=INT8)

    assert cost(U85, scaled, 1, 16, 16, 5, rows=rows).cycles == cycles


@pytest.mark.parametrize(
    ("stream", "rate"), [("weights", 6.5536), ("maps", 3.2768), ("scales", 0.4096), ("results", 10.48576)]
)
def test_the_u85_has_a_channel_for_each_stream(stream: Stream, rate: float) -> None:
    """Bytes a cycle that Vela 5.2.0 counts with: 0.8 of what is under way in a latency of the DRAM."""
    machine = sim.machine("ethos-u85-512/sys-dram-mid/dedicated-sram-384kb")
    assert far_rate(machine, stream) == pytest.approx(rate)


@pytest.mark.parametrize(("system", "rate"), [("high-end", 3.75), ("mid-end", 7.5), ("client-server", 12.0)])
def test_requests_under_way_limit_nothing_of_the_u65(system: str, rate: float) -> None:
    """What an operator of Vela 5.2.0 that waits for its weights alone takes of them in a cycle."""
    assert far_rate(sim.machine(f"ethos-u65-512/{system}/shared-sram")) == rate


@pytest.mark.parametrize(("machine", "cycles"), [(U55, 15_360), (U85, 3_072)])
def test_wide_results_are_not_in_bricks_of_channels(machine: str, cycles: int) -> None:
    """Of three channels: Vela's shift in front of a softmax's sum, and its difference with a table."""

    def wide(x: Tensor) -> Tensor:
        largest = ops.rescale(ops.reduce_max(x, axis=1), multiplier=1 << 30, shift=30, dtype=INT32)
        return ops.sub(ops.rescale(x, multiplier=1 << 30, shift=30, dtype=INT32), largest)

    known = sim.machine(machine)
    assert isinstance(known.array, Block)
    *_, nest = groups(trace(wide, Value("x", INT8, (4096, 3))))
    found = blocks.work(Core.of(known.array, known), nest, nest.extents)
    assert found is not None
    assert found.cycles <= 1.25 * cycles
