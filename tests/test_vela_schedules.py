"""Vela's schedules, as it prints them, become plans."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Literal

import numpy as np
import pytest
import vela_live
from validating import apart, charges, copies, live, lowered, page, schedules
from validating.facts import Configuration
from validating.figures import Figure, Table
from validating.graphs import operator
from validating.schedules import Operation

import tosajit as tj
from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import Map, Maps, layer_cycles
from sim.cost.ethos.parts import Layer, Shape
from sim.cost.ethos.passes import Core, chains
from sim.cost.transfer import port_rate
from sim.machine.arrays import Block
from tests.golden_networks import networks
from tosajit import ops
from tosajit.dtypes import INT8, INT16, INT32, DType

MACHINE = "ethos-u65-256"
U55 = "ethos-u55-128/high-end-embedded/shared-sram"
U65 = "ethos-u65-256/high-end/dedicated-sram-384kb"
U85 = "ethos-u85-256/sys-dram-mid/sram-only"
U85_DRAM = "ethos-u85-256/sys-dram-mid/dedicated-sram-384kb"
KINDS = "MemoryCopy", "Quantize", "LUT", "Transpose", "Conv2D"
LOG = """
Schedule: 'graph_MIN'
	0: Operation Conv2D  - OFM 1, 64, 48, 16 (in Dram)
		OFM Stripe   = [1, 64, 48, 16]
Schedule: 'graph_MAX'
	0: Operation Conv2D  - OFM 1, 64, 48, 16 (in Sram)
		Operator Config = OFM Block=[1, 12, 20, 8], IFM Block=[1, 30, 46, 8], Traversal=PartKernel
		IFM Stripe   = [1, 18, 48, 4]
		OFM Stripe   = [1, 16, 48, 16]
		Assigned Cascade = 7
		Encoded Weights = 1680 bytes
		Weight buffer = 0 bytes (None)
		sub-operations: -
	1: Operation Conv2D  - OFM 1, 64, 48, 16 (in Sram)
		OFM Stripe   = [1, 16, 48, 16]
		Assigned Cascade = 7
		sub-operations: [ Add Relu ]
	2: Operation Conv2D  - OFM 1, 64, 48, 16 (in Dram)
		OFM Stripe   = [1, 64, 48, 16]
		Assigned Cascade = 0
		Weight buffer = 840 bytes (Double)
		Depth slices = [0, 8, 16]
		sub-operations: -
"""
PLACES = """
Allocation, memory Dram, usage mask: FeatureMap
Start Time - End Time  : Start Addr -   End Addr: Tensor Size: Memory Usage: Format         : Name
         0 -          1:        0x0 -     0x12c0:        4800:         4800: NHWC           : input:0
         4 -          7:     0x12c0 -     0x2580:        4800:         9600: NHWC           : rescale_19;conv
Allocation, memory Sram, usage mask: Staging
Start Time - End Time  : Start Addr -   End Addr: Tensor Size: Memory Usage: Format         : Name
         2 -          5:     0x1900 -     0x4b00:       12800:        33072: NHCWB16        : rescale_16
Tensor Allocation for read-only NPU tensors:
Start Time - End Time  : Start Addr -   End Addr: Tensor Size: Memory Usage: Format         : Name
         0 -          1:        0x0 -      0x200:         512:          512: Unknown        : weights
"""
ROWS = [
    {"Target": "NPU", "Name": "conv2d_4;other"},
    {"Target": "NPU", "Name": "conv2d_9"},
    {"Target": "NPU", "Name": "add_14"},
    {"Target": "NPU", "Name": "rescale_16"},
    {"Target": "NPU", "Name": "rescale_19;conv"},
]


@cache
def found() -> tuple[schedules.Operation, ...]:
    return tuple(schedules.named(schedules.operations(LOG), ROWS))


def test_what_is_left_to_the_cpu_has_a_row_too() -> None:
    log = LOG.replace("\t2: Operation Conv2D", "\t2: Operation Passthrough")
    rows = [*ROWS[:-1], {"Target": "CPU", "Name": "elsewhere"}]
    assert schedules.named(schedules.operations(log), rows)[-1].names == ("elsewhere",)


def test_a_schedule_has_blocks_and_what_is_read() -> None:
    first = found()[0]
    assert (first.block, first.read) == ((1, 12, 20, 8), (1, 18, 48, 4))


@pytest.mark.parametrize(
    ("shape", "block", "order", "cycles"),
    [
        ((1, 1, 40, 12), (1, 1, 8, 16), "NHCWB16", 414),
        ((1, 1, 32, 8), (1, 1, 6, 16), "NHWC", 343),
    ],
)
def test_copies_take_what_vela_prints(
    shape: tuple[int, ...], block: tuple[int, ...], order: str, cycles: int
) -> None:
    """Of a residual map, and of a row that is repeated."""
    machine = tj.machine("ethos-u85-256/sys-dram-mid/sram-only")
    assert isinstance(machine.array, Block)
    one = schedules.Operation("MemoryCopy", shape, "Sram", names=("map",), block=block)
    stored = {"map": ((8 if order == "NHWC" else 16) * shape[2], order)}
    assert copies.copied(Core.of(machine.array, machine), one, stored, constant=False) == cycles


@pytest.mark.parametrize(
    ("machine", "read", "made", "block", "order", "cycles"),
    [
        (U55, (1, 28, 4, 16), (1, 4, 28, 16), (1, 23, 4, 16), "NHWC", 448),
        (U55, (1, 4, 28, 16), (1, 4, 16, 28), (1, 3, 20, 16), "NHWC", 672),
        (U55, (1, 2, 12, 8), (1, 12, 2, 8), (1, 2, 8, 8), "NHWC", 56),
        (U65, (1, 4, 16, 8), (1, 4, 8, 16), (1, 4, 10, 8), "NHWC", 160),
        (U85, (1, 4, 28, 28), (1, 28, 4, 28), (4, 28, 16), "NHCWB16", 2081),
        (U85, (1, 8, 4, 8), (1, 4, 8, 8), (8, 4, 16), "NHCWB16", 420),
        (U85, (1, 28, 4, 16), (1, 4, 28, 16), (28, 4, 16), "NHCWB16", 1152),
    ],
)
def test_transpositions_take_about_what_vela_prints(
    machine: str,
    read: tuple[int, ...],
    made: tuple[int, ...],
    block: tuple[int, ...],
    order: str,
    cycles: int,
) -> None:
    known = tj.machine(machine)
    assert isinstance(known.array, Block)
    one = Operation("Transpose", made, "Sram", block, read, names=("map",), source="Transpose")
    found = copies.turned(Core.of(known.array, known), one, {"map": (int(np.prod(made)), order)})
    assert found == (cycles if machine != U85 else pytest.approx(cycles, rel=0.12))


@pytest.mark.parametrize(
    ("read", "made", "block", "cycles"),
    [
        ((28, 4, 12), (4, 28, 12), (28, 4, 16), 1837),
        ((16, 4, 8), (4, 16, 8), (16, 4, 16), pytest.approx(708, rel=0.02)),
        ((12, 2, 8), (2, 12, 8), (12, 2, 16), pytest.approx(299, rel=0.02)),
    ],
)
def test_what_a_product_leaves_in_rows_is_read_for_each_block_of_the_turned_map(
    read: tuple[int, ...], made: tuple[int, ...], block: tuple[int, ...], cycles: int
) -> None:
    """The figures of a U85-256; the SRAM is what the first waits for."""
    machine, stored = tj.machine(U85), {"map": (int(np.prod(made)), "NHCWB16"), "product": (1, "NHWC")}
    assert isinstance(machine.array, Block)
    one = Operation("Transpose", (1, *made), "Sram", block, (1, *read), names=("map",), source="Transpose")
    front = Operation("FullyConnected", (1, *read), "Sram", names=("product",))
    rows = copies.in_rows(front, stored)
    assert rows
    assert not copies.in_rows(replace(front, kind="MatMul"), stored)
    assert copies.turned(Core.of(machine.array, machine), one, stored, rows, port_rate(machine)) == cycles


@pytest.mark.parametrize(
    ("machine", "shape", "block", "size", "cycles"),
    [
        (U55, (1, 1, 28, 40), 40, 48 * 28, 2016),
        (U65, (1, 1, 28, 40), 40, 48 * 28, 1008),
        (U55, (1, 1, 12, 16), 16, 16 * 12, 288),
        (U55, (1, 1, 28, 40), 40, 4 * 48 * 28, 4480),
        (U55, (1, 1, 12, 16), 16, 4 * 16 * 12, 1536),
        (U55, (1, 1, 28, 28), 32, 4 * 32 * 28, 3136),
        (U55, (1, 2, 12, 12), 16, 4 * 16 * 24, 2304),
        (U55, (1, 2, 8, 8), 8, 4 * 16 * 16, 2048),
        (U65, (1, 1, 28, 40), 40, 4 * 48 * 28, 1512),
        (U65, (1, 1, 28, 28), 32, 4 * 32 * 28, 1008),
    ],
)
def test_constants_that_vela_repeats_are_of_the_type_of_the_map(
    machine: str, shape: tuple[int, ...], block: int, size: int, cycles: int
) -> None:
    known = tj.machine(machine)
    assert isinstance(known.array, Block)
    own = "map_broadcasted"
    one = Operation("Add", shape, "Sram", (1, 1, 24, block), names=("map",), own=own)
    stored = {own: (size, "NHCWB16"), "map": (336, "Unknown")}
    assert copies.repeated(Core.of(known.array, known), one, offchip=True, stored=stored) == cycles


def test_maps_that_a_product_has_turned_are_copies_by_their_own_names() -> None:
    graph, machine = networks()["residual"](), tj.machine(U85)
    plan = tj.plan(graph, machine)
    report = tj.simulate(graph, machine, plan=plan)
    assert isinstance(machine.array, Block)
    log = """
       416 -        423: 0x14000 - 0x14180:         384:          384: NHCWB16        : dense;value/Transpose
       418 -        423:  0x3000 -  0x34c0:        1216:         1216: Unknown        : dense;bias
"""
    one = Operation(
        "Transpose",
        (1, 1, 12, 28),
        "Sram",
        (1, 32, 16),
        (1, 1, 28, 12),
        names=("dense",),
        own="value/Transpose",
        source="BatchMatMul",
    )
    cycles = copies.turned(Core.of(machine.array, machine), one, {"dense": (384, "NHCWB16")})
    assert copies.copies([one], log, graph, machine, plan, report) == cycles
    assert cycles == pytest.approx(352, rel=0.12)


def test_copies_are_of_the_schedule_alone() -> None:
    graph, machine = networks()["residual"](), tj.machine(MACHINE)
    plan = tj.plan(graph, machine)
    report = tj.simulate(graph, machine, plan=plan)
    strangers = [schedules.Operation(kind, (1, 8, 8, 16), "Sram", names=("map",)) for kind in KINDS]
    assert [copies.copies([one], "", graph, machine, plan, report) > 0 for one in strangers] == [
        *(True, True, True),
        *(False, False),
    ]


@pytest.mark.parametrize("others", [(), ("Conv2D",)])
def test_copies_that_our_passes_do_as_well_are_none_more(others: tuple[str, ...]) -> None:
    """Whatever else the schedule has write into the same map, and our group has beside the copy."""
    graph, machine = looked_up(), tj.machine("ethos-u55-128/high-end-embedded/shared-sram")
    plan = tj.plan(graph, machine)
    report = tj.simulate(graph, machine, plan=plan)
    names = next(one.members for one in report.operators if any("table" in name for name in one.members))
    found = [schedules.Operation(kind, (1, 16, 16, 16), "Sram", names=names) for kind in others]
    lookup = schedules.Operation("LUT", (1, 16, 16, 16), "Sram", names=names, block=(1, 4, 4, 16))
    assert copies.copies([*found, lookup], "", graph, machine, plan, report) == 0
    assert copies.copies([*found, lookup, lookup], "", graph, machine, plan, report) == 4_352


def test_what_is_made_of_a_map_in_dram_waits_for_its_latency() -> None:
    """An LSTM's first gate on the U65, which looks up a map that Vela has in DRAM."""
    graph, machine = looked_up(), tj.machine(U65)
    assert isinstance(machine.array, Block)
    names = {node.name for node in graph.nodes}
    assert names & copies.read_far(graph, {"x": "Dram"})
    assert not copies.read_far(graph, {"x": "Sram"})
    core = Core.of(machine.array, machine)
    one = Operation("LUT", (1, 1, 1, 32), "Dram", (1, 2, 2, 32), (1, 1, 1, 32), names=("gate",))
    near, far = (copies.copied(core, one, {"gate": (32, "NHCWB16")}, False, far) for far in (False, True))
    assert (near, far) == (400, 900)


def test_functions_of_16_bits_are_poolings_as_deep_as_the_map() -> None:
    """A gate on the U65 takes 234 cycles by Vela."""
    machine = tj.machine(U65)
    assert isinstance(machine.array, Block)
    one = Operation("Tanh", (1, 1, 1, 32), "Sram", (1, 1, 2, 32), (1, 1, 1, 32), names=("gate",))
    assert one.kind in copies.PASSED_ON
    stored = {"gate": (64, "NHCWB16")}
    assert copies.copied(Core.of(machine.array, machine), one, stored, constant=False) == 234


@pytest.mark.parametrize(("front", "waits"), [(copies.LEFT, 500 + int(256 / 3.75)), ("Mul", 0)])
def test_a_table_behind_what_is_left_to_the_cpu_is_waited_for(front: str, waits: int) -> None:
    graph, machine = networks()["residual"](), tj.machine(U65)
    plan = tj.plan(graph, machine)
    report = tj.simulate(graph, machine, plan=plan)
    some = [Operation(kind, (1, 8, 8, 16), "Sram", names=("map",)) for kind in (front, "LUT")]
    alone = copies.copies(some[1:], "", graph, machine, plan, report)
    assert copies.copies(some, "", graph, machine, plan, report) - alone == waits


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_what_others_hide_of_our_copies_is_not_spared(share: float) -> None:
    graph, machine = looked_up(), tj.machine("ethos-u55-128/high-end-embedded/shared-sram")
    plan = tj.plan(graph, machine)
    report = tj.simulate(graph, machine, plan=plan)
    (names,) = (one.members for one in report.operators if any("table" in name for name in one.members))
    lookup = Operation("LUT", (1, 16, 16, 16), "Sram", names=names, block=(1, 4, 4, 16))
    hidden = SimpleNamespace(
        operators=[
            SimpleNamespace(sections=one.sections, unit=one.unit, total=int(share * 4_352))
            for one in report.operators
        ]
    )
    found = copies.copies([lookup], "", graph, machine, plan, hidden)  # type: ignore[arg-type]
    assert found == 4_352 - int(share * 4_352)


def test_groups_that_only_copy_are_none_of_the_schedule() -> None:
    """Of a copy of a quarter of a map, and of all of it."""
    lookup = np.arange(-128, 128).astype(np.int8)
    graph = tj.trace(lambda x: ops.table(x, lookup), tj.Value("x", INT8, (1, 16, 16, 16)))
    machine = tj.machine(U55)
    plan = tj.plan(graph, machine)
    report = tj.simulate(graph, machine, plan=plan)
    (names,) = (one.members for one in report.operators)
    part, whole = (
        copies.copies(
            [Operation("LUT", (1, rows, 16, 16), "Sram", names=names)], "", graph, machine, plan, report
        )
        for rows in (4, 16)
    )
    assert part < 0 == whole


def looked_up() -> tj.Graph:
    """A map whose elements are looked up, and multiplied with what they were: a pass for each."""

    def gated(x: tj.Tensor) -> tj.Tensor:
        gate = ops.table(x, np.arange(-128, 128).astype(np.int8))
        product = ops.mul(ops.cast(x, dtype=INT32), ops.cast(gate, dtype=INT32))
        return ops.rescale(product, multiplier=[1 << 30], shift=[38], dtype=INT8)

    return tj.trace(gated, tj.Value("x", INT8, (1, 16, 16, 16)))


def test_the_last_schedule_counts() -> None:
    one, two, three = found()
    assert (one.kind, one.shape, one.area, one.cascade, one.stripes) == (
        "Conv2D",
        (1, 64, 48, 16),
        "Sram",
        7,
        4,
    )
    assert two.names == ("conv2d_9", "add_14", "rescale_16")
    assert (three.names, three.copies, three.slices, three.stripes) == (("rescale_19",), 2, (0, 8, 16), 1)


def test_of_operations_in_one_go_only_the_last_result_has_a_place() -> None:
    places = schedules.areas(PLACES)
    assert places == {"input:0": "Dram", "rescale_19": "Dram", "rescale_16": "Sram"}
    log = LOG.replace("16 (in Sram)", "16 (in Dram)")
    found = schedules.named(schedules.operations(log), ROWS, places)
    assert [one.area for one in found] == ["Dram", "Sram", "Dram"]


def test_what_vela_leaves_to_the_cpu_is_known_by_its_names() -> None:
    report = tj.simulate(networks()["residual"](), tj.machine(MACHINE))
    first = report.operators[0]
    assert schedules.uncounted(report, ()) == 0
    assert schedules.uncounted(report, (first.members[0],)) == sum(first.cycles.values())


def test_what_it_says_is_in_the_plan() -> None:
    graph, machine = networks()["residual"](), tj.machine(MACHINE)
    plan = schedules.plan_after(found(), graph, machine)
    (part,) = plan.parts.values()
    assert [(one.first, one.last, one.stripes) for one in part.cascades or ()] == [
        ("conv2d_4", "conv2d_9", 4)
    ]
    assert "rescale_19" not in (part.scratchpad or ())
    assert "rescale_16" in (part.scratchpad or ())
    assert plan["conv2d_18"].tile["oc"] == 8
    (weights,) = (plan["conv2d_18"].boxes or {}).values()
    assert [box.copies for box in weights] == [2]
    data = np.random.default_rng(0).integers(-128, 128, (1, 64, 48, 4)).astype(np.int8)
    for one, other in zip(
        tj.compile(graph, machine=machine, plan=plan)(data), tj.compile(graph)(data), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_an_operator_alone_has_the_slices_and_buffers_of_vela() -> None:
    sizes = {f"{map}_shape_{axis}": "16" for map in ("ifm", "ofm") for axis in "hwc"}
    kernel = dict.fromkeys(("kernel_size_y", "kernel_size_x", "kernel_stride_y", "kernel_stride_x"), "1")
    graph, machine = operator({"operator": "Conv2D", **sizes, **kernel}), tj.machine(MACHINE)
    (sliced,), (whole,) = (
        dict(schedules.plan_of_one(graph, machine, *way)).values() for way in ((2, (0, 8, 16)), (0, (0, 16)))
    )
    assert (sliced.tile["oc"], whole.tile["oc"]) == (8, 16)
    assert {box.copies for boxes in (sliced.boxes or {}).values() for box in boxes} == {2}
    assert whole.boxes == {}


def test_what_is_not_in_the_graph_is_passed_over() -> None:
    strangers = [schedules.Operation("Conv2D", (1, 4, 4, 4), "Dram", names=("nothing",), cascade=3)]
    graph, machine = networks()["recurrent"](), tj.machine(MACHINE)
    assert schedules.plan_after(strangers, graph, machine) == schedules.plan_after((), graph, machine)


def test_maps_that_are_not_in_bricks() -> None:
    assert schedules.plain(PLACES) == {"input:0", "rescale_19"}


@pytest.mark.parametrize(
    ("name", "copies", "charged"),
    [
        ("ethos-u65-256/high-end/dedicated-sram-384kb", 1, True),
        ("ethos-u65-256/high-end/dedicated-sram-384kb", 0, False),
        ("ethos-u55-128/high-end-embedded/shared-sram", 1, False),
    ],
)
def test_buffers_are_charged_only_where_maps_live_in_dram(name: str, copies: int, charged: bool) -> None:
    graph, machine = networks()["resnet8"](), tj.machine(name)
    plan = tj.plan(graph, machine, mapping={"**": {"boxes": {"weights": copies}}})
    report = tj.simulate(graph, machine, plan=plan)
    assert (charges.charge(graph, machine, plan, report) > 0) == charged


@pytest.mark.parametrize("name", [U55, U85])
def test_maps_that_vela_keeps_in_rows_take_the_array_longer(name: str) -> None:
    graph, machine = networks()["resnet8"](), tj.machine(name)
    plan, report = tj.plan(graph, machine), tj.simulate(graph, machine)
    rows = {node.name for node in graph.nodes}
    assert charges.charge(graph, machine, plan, report) == 0
    assert charges.charge(graph, machine, plan, report, rows) > 0


@pytest.mark.parametrize(("filters", "spared"), [(24, False), (16, True)])
def test_what_slices_of_weights_read_anew_is_counted_once(filters: int, spared: bool) -> None:
    """Of a first convolution, which waits for the image; a slice has so many filters."""
    machine = tj.machine("ethos-u85-256/sys-dram-mid/dedicated-sram-384kb")
    weights, bias = np.ones((24, 3, 3, 3), np.int8), np.zeros(24, np.int32)

    def network(x: tj.Tensor) -> tj.Tensor:
        sums = ops.conv2d(x, weights, bias, pad=(0, 1, 0, 1), stride=(2, 2))
        return ops.rescale(sums, multiplier=1 << 30, shift=36, dtype=INT8)

    graph = tj.trace(network, tj.Value("x", INT8, (1, 36, 36, 3)))
    boxes = {"weights": 1, "constants": 0, "values": 0, "results": 0}
    plan = tj.plan(
        graph, machine, mapping={"**": {"boxes": boxes, "tile": {"oc": filters, "oy": 18, "ox": 18}}}
    )
    report = tj.simulate(graph, machine, plan=plan)
    assert (charges.charge(graph, machine, plan, report) < 0) == spared


@pytest.mark.parametrize(("channels", "block", "cycles"), [(40, 32, 30_576), (32, 32, 1_568)])
def test_repeated_constants_are_counted_for_each_result(channels: int, block: int, cycles: int) -> None:
    """The figures of a U55-128: 37,632 of 7,056 cycles, and 6,272 of 4,704, for 14 × 14 positions."""
    machine = tj.machine("ethos-u55-128/high-end-embedded/shared-sram")
    graph = multiplied(channels)
    plan = tj.plan(graph, machine, mapping={"**": {"boxes": {"constants": 0}}})
    report = tj.simulate(graph, machine, plan=plan)
    name = report.operators[0].members[0]
    found = [
        schedules.Operation("Mul", (1, 14, 14, channels), "Sram", names=(name,), block=(1, 9, 14, block))
    ]
    assert charges.charge(graph, machine, plan, report, (), found) == cycles


def multiplied(channels: int) -> tj.Graph:
    """A map times a constant for each channel."""
    factors = np.arange(channels, dtype=np.int8).reshape(1, 1, 1, channels)

    def scaled(x: tj.Tensor) -> tj.Tensor:
        product = ops.mul(ops.cast(x, dtype=INT32), ops.cast(ops.const(factors), dtype=INT32))
        return ops.rescale(product, multiplier=[1 << 30], shift=[38], dtype=INT8)

    return tj.trace(scaled, tj.Value("x", INT8, (1, 14, 14, channels)))


def test_a_plain_map_in_dram_takes_a_burst_for_each_position() -> None:
    """The figure that Vela 5.2.0 prints for a first convolution in its schedule."""
    machine = tj.machine("ethos-u65-256/high-end/dedicated-sram-384kb")
    assert isinstance(machine.array, Block)
    core = Core.of(machine.array, machine)
    layer = Layer("convolution", Shape(20, 20, 8), Shape(40, 40, 3), (3, 3), (2, 2))
    maps = Maps(Map(core.far, plain=True), Map(core.far), core.memory.read_latency)
    assert layer_cycles(core.hardware, layer, chosen(core.hardware, layer), maps).total == 24_074


def test_what_a_difference_is_made_of_adds_up_to_it() -> None:
    configuration = Configuration("ethos-u65-256", "Ethos_U65_High_End", "Dedicated_Sram_384KB")
    pair = vela_live.Pair("gru_i8", configuration, 600, 1000, 700, charged=200, copied=50)
    shares = {"plan": -0.1, "copies": -0.05, "charges": -0.2, "machine": -0.05}
    assert pair.parts == pytest.approx(shares)
    assert sum(pair.parts.values()) == pytest.approx(pair.ratio - 1)
    *_, row = live.by_kind([pair])
    parts = "−10.0% | −5.0% | −20.0% | −5.0% | 25.0% | 5.0% | –"
    assert row == f"| recurrent, int8, U65, dedicated SRAM | 1 | 40.0% | {parts} |"


def test_faster_plans_are_told_from_errors_of_the_model() -> None:
    configuration = Configuration("ethos-u65-256", "Ethos_U65_High_End", "Dedicated_Sram_384KB")
    pairs = [
        vela_live.Pair("gru_i8", configuration, ours, 1000, scheduled)
        for ours, scheduled in ((600, 990), (800, 1000), (1000, 1000), (1100, 1010))
    ]
    unknown = vela_live.Pair("cnn_i8", configuration, 1, 2)
    _, _, *rows = live.plans([*pairs, unknown])
    assert rows == ["| recurrent, int8 | 4 | 6% | 15.0% | 2 | 29.7% | 1 | 0.5% |"]


def test_a_table_has_columns_behind_the_others() -> None:
    table = Table("T", "Text.", (Figure("a", 1, 2, more=("3", "4")),), more=("third", "fourth"))
    head, line, row = page.section(table).splitlines()[-3:]
    assert head.endswith("| third | fourth |")
    assert row.endswith("| 3 | 4 |")
    assert head.count("|") == line.count("|") == row.count("|")


def test_held_out_networks_are_others() -> None:
    names = [tarfile.open(one).getnames() for one in (*vela_live.KNOWN, vela_live.HELD_OUT)]
    assert len({name for some in names for name in some}) == sum(map(len, names))
    assert all(name.endswith(("_i8.tflite", "_i16x8.tflite")) for some in names[1:] for name in some)


@pytest.mark.parametrize("name", ["gru_i8", "cnn_i16x8", "transformer_i8", "lstm_wide_i8", "vgg_i16x8"])
def test_kinds_and_medians(name: str) -> None:
    configuration = Configuration("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only")
    pairs = [
        vela_live.Pair(name, configuration, ours, 100, 102, moved, 1000)
        for ours, moved in ((90, 1020), (104, 1021), (120, 0))
    ]
    kinds = {
        **{"gru_i8": "recurrent, int8", "cnn_i16x8": "CNN, i16x8", "transformer_i8": "transformer, int8"},
        **{"lstm_wide_i8": "recurrent, int8", "vgg_i16x8": "CNN, i16x8"},
    }
    kind = kinds[name]
    assert {pair.kind for pair in pairs} == {kind}
    lines = list(vela_live.summary(pairs))
    assert len(lines) == 3
    assert all("3 pairs" in line and "median  10.0 % off, 1 within 5 %" in line for line in lines)
    assert all("with Vela's schedule   2.0 % off, 3 within 5 %" in line for line in lines)
    assert all(line.endswith("; 2 move at most 2% more than Vela") for line in lines)


def test_the_page_names_what_moves_more_than_vela_does() -> None:
    configuration = Configuration("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only")
    pairs = [
        vela_live.Pair(name, configuration, 100, 100, 102, moved, theirs, 1500, least)
        for name, moved, theirs, least in (
            *(("vgg_i8", 1300, 1000, 1600), ("gru_i8", 1019, 1000, 1000)),
            ("cnn_i8", 0, 0, 0),
        )
    ]
    head, own, others = live.moved(pairs)
    assert "2 of 3 pairs move at most 2%" in head
    assert own.startswith(
        'By our own count of what both schedules move, 3 of 3 do, and 2 with `objective="traffic"`. What'
    )
    assert others.endswith(f"of Vela's schedule: vgg_i8 on {configuration} +30.0% (98.0%).")
    assert len(list(live.moved(pairs[1:]))) == 2
    _, _, *rows = live.by_kind(pairs)
    assert [row.split("|")[-2].strip() for row in rows] == ["1.30", "1.02"]


@pytest.mark.parametrize(
    ("name", "extents", "block", "near", "cycles"),
    [
        ("ethos-u55-128/high-end-embedded/shared-sram", (12, 1), (1, 1, 4, 8), True, 172),
        ("ethos-u55-128/high-end-embedded/shared-sram", (12, 16), (1, 1, 8, 16), True, 400),
        ("ethos-u65-256/high-end/dedicated-sram-384kb", (12, 1), (1, 2, 4, 8), False, 1067),
        ("ethos-u65-256/high-end/dedicated-sram-384kb", (12, 16), (1, 2, 4, 16), False, 1148),
    ],
)
def test_a_map_copied_as_32_bits_takes_what_vela_says(
    name: str, extents: tuple[int, int], block: tuple[int, ...], near: bool, cycles: int
) -> None:
    machine = tj.machine(name)
    assert isinstance(machine.array, Block)
    one = Operation("MemoryCopy", (1, 1, *extents), "Sram", block, names=("x_32bit",))
    places = {"x": "Sram"} if near else {}
    assert lowered.widened(one, Core.of(machine.array, machine), places) == cycles


@pytest.mark.parametrize(("kind", "slower"), [("MaxPool", True), ("Add", False)])
def test_maxima_over_channels_are_slower_as_windows(kind: str, slower: bool) -> None:
    machine = tj.machine("ethos-u85-256/sys-dram-mid/sram-only")
    assert isinstance(machine.array, Block)
    one = Operation(kind, (1, 12, 1, 1), "Sram", read=(1, 12, 16, 1), kernel=(1, 16))
    assert (lowered.over_channels(one, Core.of(machine.array, machine)) > 0) == slower


@pytest.mark.parametrize(
    ("name", "charged"),
    [
        ("ethos-u85-256/sys-dram-mid/sram-only", True),
        ("ethos-u55-128/high-end-embedded/shared-sram", False),
    ],
)
def test_parts_of_a_transposed_convolution_are_charged_as_whole_maps(name: str, charged: bool) -> None:
    weights, image = np.ones((24, 2, 2, 32), np.int8), np.zeros((1, 12, 12, 32), np.int8)
    graph = tj.trace(lambda x: ops.transpose_conv2d(x, weights, stride=(2, 2)), image)
    machine = tj.machine(name)
    plan = tj.plan(graph, machine)
    report = tj.simulate(graph, machine, plan=plan)
    added = charges.charge(graph, machine, plan, report)
    assert (added > report.cycles / 2) if charged else added == 0


@pytest.mark.parametrize(("read", "slower"), [((1, 12, 12, 32), True), ((1, 24, 24, 32), False)])
def test_a_transposed_convolution_over_zeros_is_slower_than_its_parts(
    read: tuple[int, ...], slower: bool
) -> None:
    machine = tj.machine("ethos-u55-128/high-end-embedded/shared-sram")
    assert isinstance(machine.array, Block)
    one = Operation("Conv2D", (1, 24, 24, 24), "Sram", read=read, kernel=(2, 2), source="TransposeConv2D")
    assert (lowered.lowered([one], Core.of(machine.array, machine), {}) > 5000) == slower


def test_a_transposed_convolution_into_a_joined_map_has_channels_of_its_own() -> None:
    machine = tj.machine(U55)
    assert isinstance(machine.array, Block)
    core = Core.of(machine.array, machine)
    alone, joined = (
        Operation("Conv2D", (1, 20, 20, deep), "Sram", read=(1, 10, 10, 16), kernel=(3, 3), slices=(0, 16))
        for deep in (16, 32)
    )
    assert lowered.with_zeros(joined, core) == lowered.with_zeros(alone, core) > 0


@pytest.mark.parametrize(
    ("front", "buffer", "cycles"),
    [
        (Operation("MaxPool", (1, 8, 8, 20), "Sram", read=(1, 16, 16, 20), kernel=(2, 2)), 2112, 11_875),
        (Operation("Conv2D", (1, 16, 16, 20), "Sram", read=(1, 16, 16, 40), kernel=(3, 3)), 2112, 4_400),
        (Operation("LUT", (1, 8, 8, 20), "Sram", read=(1, 8, 8, 20)), 2112, 4_400),
        (None, 0, 4_400),
    ],
)
def test_a_transposed_convolution_waits_for_its_weights_and_for_maps_where_they_live(
    front: Operation | None, buffer: int, cycles: int
) -> None:
    machine = tj.machine(U65)
    assert isinstance(machine.array, Block)
    core = Core.of(machine.array, machine)
    bricks = Operation("Conv2D", (1, 16, 16, 20), "Sram", read=(1, 8, 8, 20), kernel=(2, 2))
    rows = replace(bricks, names=("map",), copies=int(buffer > 0), buffer=buffer)
    more = lowered.with_zeros(rows, core, {"map": (5_120, "NHWC")}, front) - lowered.with_zeros(bricks, core)
    assert more + 4_200 == pytest.approx(cycles, rel=0.005)


def test_what_hides_a_copy_behind_one_is_no_wait_for_memories() -> None:
    machine = tj.machine(U65)
    assert isinstance(machine.array, Block)
    core = Core.of(machine.array, machine)
    one = Operation("MemoryCopy", (1, 32, 32, 24), "Sram", (1, 4, 4, 16), (1, 32, 32, 12), names=("map",))
    live = core._replace(memory=core.home)
    assert copies.copied(live, one, {}, constant=False, bound=False) == pytest.approx(9_499, rel=0.005)
    assert copies.copied(live, one, {}, constant=False) > 26_000


@pytest.mark.parametrize(("heads", "more"), [(4, True), (1, False)])
def test_heads_that_are_joined_first_take_longer_than_a_window_over_them(heads: int, more: bool) -> None:
    weights, bias = np.ones((40, 1, 1, 8 * heads), np.int8), np.zeros(40, np.int32)

    def joined(x: tj.Tensor) -> tj.Tensor:
        rows = ops.reshape(ops.transpose(x, perms=(1, 0, 2)), (1, 8, 1, 8 * heads))
        return ops.rescale(ops.conv2d(rows, weights, bias), multiplier=1 << 30, shift=36, dtype=INT8)

    graph, machine = tj.trace(joined, tj.Value("x", INT8, (heads, 8, 8))), tj.machine(U85)
    assert isinstance(machine.array, Block)
    nests, core = copies.nests_of(graph, machine, tj.plan(graph, machine)), Core.of(machine.array, machine)
    names = tuple(node.name for node in graph.nodes)
    read = (1, 2, 4, 8 * heads)
    one = Operation("FullyConnected", (1, 2, 4, 40), "Sram", read=read, names=names, source="FullyConnected")
    assert (lowered.lowered([one], core, {}, nests) > 0) == more


@pytest.mark.parametrize(
    ("machine", "kind", "cycles"), [(U65, "multiply", 2_400), (U85_DRAM, "multiply", 1_600)]
)
def test_what_a_pass_hides_is_no_wait_for_maps_in_dram(
    machine: str, kind: Literal["multiply"], cycles: int
) -> None:
    """The cycles that Vela estimates for a product of two maps of 16 bits, wherever these are."""
    known = tj.machine(machine)
    assert isinstance(known.array, Block)
    one = lowered.stage(kind, "i16", "i16")
    (made,) = chains(Core.of(known.array, known), [one], (400, 16))
    assert made.hides == cycles


@pytest.mark.parametrize(("dtype", "waits"), [(INT16, 7_680), (INT8, 0)])
def test_positions_in_dram_that_are_no_run_for_vela_are_waited_for(dtype: DType, waits: int) -> None:
    """The scaling of an image on the U65: 13,842 cycles, of which ours takes 6,160."""
    size = 2 if dtype is INT16 else 1
    log = f"""Allocation, memory Dram, usage mask: FeatureMap
         0 -          1:        0x0 -     0x2580:        {4800 * size}:         9600: NHWC           : x
"""

    def scaled(x: tj.Tensor) -> tj.Tensor:
        product = ops.mul(ops.cast(x, dtype=INT32), ops.const(np.full((1, 1, 1, 1), 3, np.int32)))
        made = ops.rescale(product, multiplier=[1 << 30], shift=[31], dtype=dtype)
        return ops.rescale(made, multiplier=[1 << 30], shift=[31], dtype=dtype)

    graph, machine = tj.trace(scaled, tj.Value("x", dtype, (1, 40, 40, 3))), tj.machine(U65)
    assert isinstance(machine.array, Block)
    plan = tj.plan(graph, machine)
    report, nests = tj.simulate(graph, machine, plan=plan), copies.nests_of(graph, machine, plan)
    name = nests[0].members[0]
    shape = (1, 30, 10, 16)
    one = Operation("Mul", shape, "Sram", shape, shape, names=(name,), source="Mul")
    core = Core.of(machine.array, machine)
    assert apart.apart([one], log, graph, core, nests, report) == waits


def test_what_hides_a_copy_is_in_front_in_the_order_of_the_schedule() -> None:
    names = "gate", "other", "product", "sum"
    made = [
        SimpleNamespace(nest=SimpleNamespace(members=(f"{name}/conv2d",)), hides=10 * number)
        for number, name in enumerate(names)
    ]
    order = [Operation("FullyConnected", (), "Sram", names=(names[n],)) for n in (1, 0, 2, 3)]
    found = dict(charges._in_front(order, made))  # type: ignore[arg-type]
    assert found == {0: 10, 2: 0}
