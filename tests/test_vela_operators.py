"""What Vela's operators take that our programs do not have: figures that Vela 5.2.0 prints."""

from __future__ import annotations

import numpy as np
import pytest
from validating import apart, charges, copies, lowered, means, softmaxes
from validating.schedules import Operation
from validating.softmaxes import Stored

import tosajit as tj
from sim.cost.ethos.passes import Core
from sim.machine.arrays import Block
from tosajit import ops
from tosajit.dtypes import INT8

U55 = "ethos-u55-128/high-end-embedded/shared-sram"
U65 = "ethos-u65-256/high-end/dedicated-sram-384kb"
U85 = "ethos-u85-256/sys-dram-mid/dedicated-sram-384kb"
LOG = """
Allocation, memory Dram, usage mask: FeatureMap
       432 -        445:        0x0 -    0x40000:      262144:       786432: NHCWB16        : a;b_softmax_8
Allocation, memory Sram, usage mask: Staging
       416 -        423:    0x14000 -    0x24000:       65536:       151552: NHCWB16        : a;b
       420 -        423:    0x24000 -    0x25000:        4096:       151552: NHWC           : a;b_softmax_0
Tensor Allocation for read-only NPU tensors:
       422 -        423:     0x37f0 -     0x3bf0:        1024:         1024: NHWC           : exp_lut
"""
CHAIN = "Sub", "Mul", "Mul"


def core(machine: str) -> Core:
    known = tj.machine(machine)
    assert isinstance(known.array, Block)
    return Core.of(known.array, known)


def test_maps_of_a_softmax_are_known_by_the_last_of_their_names() -> None:
    assert softmaxes.stored(LOG) == {
        **{"b_softmax_8": Stored(True, True), "b": Stored(False, True), "b_softmax_0": Stored(False, False)}
    }


@pytest.mark.parametrize(
    ("kind", "along", "numbers", "cycles"),
    [
        ("Mul", ("Add",), (9, 10), 6_153 - 4_096),
        ("Mul", CHAIN, (11, 12, 13, 14), 18_461 - 8_192),
        ("Add", (), (15,), 12_307 - 2_048),
        ("Mul", CHAIN, (21, 22, 23, 24), 18_461 - 8_192),
        ("Sub", ("SHL",), (7, 8), 0),
    ],
)
def test_steps_of_a_softmax_wait_for_maps_in_dram(
    kind: str, along: tuple[str, ...], numbers: tuple[int, ...], cycles: int
) -> None:
    made = tuple(f"b_softmax_{number}" for number in numbers)
    one = Operation(kind, (1, 16, 16, 16), "Dram", along=along, made=made, source="Softmax")
    far = {f"b_softmax_{number}": Stored(True, True) for number in range(8, 26)}
    assert softmaxes.waits(one, far, core(U85)) == pytest.approx(cycles, abs=1)
    assert softmaxes.waits(one, {}, core(U85)) == 0


@pytest.mark.parametrize(
    ("kind", "number", "far", "cycles"),
    [
        ("CLZ", 5, (4,), 8_738),
        ("SHL", 8, (4, 7, 8), 17_476),
        ("Mul", 11, (8, 10), 8_738),
        ("Mul", 16, (8, 15, 16), 13_107),
        ("Sub", 17, (16, 17), 4_608),
    ],
)
def test_the_u65_reads_and_writes_maps_of_a_softmax_in_dram_at_one_rate(
    kind: str, number: int, far: tuple[int, ...], cycles: int
) -> None:
    shape = 1, 16, 16, 16
    one = Operation(kind, shape, "Dram", (1, 8, 16, 16), made=(f"b_softmax_{number}",), source="Softmax")
    known = {f"b_softmax_{place}": Stored(True, place > 4) for place in far}
    work = softmaxes.work(one, core(U65))
    assert work + softmaxes.waits(one, known, core(U65)) == pytest.approx(cycles, abs=1)


@pytest.mark.parametrize(("far", "cycles"), [(True, 20_279 - 8_283), (False, 0)])
def test_sums_of_a_softmax_are_written_to_dram_block_by_block(far: bool, cycles: int) -> None:
    one = Operation("ReduceSum", (1, 64, 64, 1), "Dram", (1, 4, 4, 8), (1, 64, 64, 3), made=("b_softmax_4",))
    assert softmaxes.summed(one, {"b_softmax_4": Stored(far, False)}, core(U65)) == cycles


@pytest.mark.parametrize(
    ("shape", "block", "cycles"),
    [
        ((1, 64, 64, 3), (1, 4, 16), 81_408 - 65_536),
        ((1, 2, 12, 12), (1, 4, 16), 495 - 384),
        ((1, 4, 16, 16), (1, 4, 16), 1_340 - 1_024),
        ((1, 1, 1, 5), (1, 32, 16), 0),
    ],
)
def test_the_last_product_of_a_softmax_waits_for_its_commands(
    shape: tuple[int, ...], block: tuple[int, ...], cycles: int
) -> None:
    one = Operation("Mul", shape, "Sram", block, along=("Asr",), made=("b_softmax_26", "b"), source="Softmax")
    assert softmaxes.issued(one, core(U85)) == cycles
    assert softmaxes.issued(one, core("ethos-u85-256/sys-dram-mid/sram-only")) == 0


@pytest.mark.parametrize(("bricks", "cycles"), [(True, 16_000 - 3_072), (False, 0)])
def test_largest_values_are_counted_with_the_channels_of_a_brick(bricks: bool, cycles: int) -> None:
    one = Operation("Sub", (1, 64, 64, 3), "Sram", (1, 16, 16), along=("LUT",), made=("b_softmax_2",) * 2)
    known = {"b": Stored(False, bricks)}
    assert softmaxes.repeated(one, known, core(U85), tj.machine(U85)) == cycles


@pytest.mark.parametrize(
    ("machine", "buffer", "hidden", "far", "cycles"),
    [
        (U55, 0, None, False, 371),
        (U55, 32, 240, False, 371),
        (U65, 0, None, True, 1211),
        (U65, 32, 216, False, 1730),
        (U65, 32, 144, True, 1802),
        (U85, 192, 192, False, 1538),
    ],
)
def test_a_mean_takes_what_vela_says(
    machine: str, buffer: int, hidden: int | None, far: bool, cycles: int
) -> None:
    one = Operation(
        "DepthwiseConv2D",
        (1, 12, 1, 1),
        "Sram",
        read=(1, 12, 16, 1),
        kernel=(1, 16),
        copies=int(buffer > 0),
        buffer=buffer,
        names=("mean_intermediate",),
        source="Mean",
    )
    assert means.over_columns(one)
    assert means.theirs(core(machine), one, hidden, {"mean"} if far else (), ()) == cycles


@pytest.mark.parametrize(
    ("machine", "high", "wide", "cycles"), [(U65, 28, 40, 5_973), (U65, 12, 16, 1_211), (U85, 28, 40, 3_417)]
)
def test_a_mean_waits_for_a_map_in_dram(machine: str, high: int, wide: int, cycles: int) -> None:
    one = Operation(
        "DepthwiseConv2D",
        (1, high, 1, 1),
        "Sram",
        read=(1, high, wide, 1),
        kernel=(1, wide),
        names=("mean_intermediate",),
        source="Mean",
    )
    found = means.theirs(core(machine), one, None, {"mean"}, {"mean_intermediate"})
    assert found == pytest.approx(cycles, abs=1)


@pytest.mark.parametrize(
    ("machine", "front", "size", "cycles"),
    [
        (U65, Operation("Mul", (1, 1, 12, 16), "Sram", names=("map",), source="SquaredDifference"), 192, 216),
        (
            U65,
            Operation("Mul", (1, 1, 28, 40), "Sram", names=("map",), source="SquaredDifference"),
            1_120,
            1_260,
        ),
        (U65, Operation("Add", (1, 1, 12, 16), "Sram", names=("map",), source="Add"), 192, 144),
        (U65, Operation("LUT", (1, 1, 12, 16), "Sram", names=("map",), source="LUT"), 192, None),
    ],
)
def test_what_hides_a_copy_is_the_work_in_front(
    machine: str, front: Operation, size: int, cycles: int | None
) -> None:
    assert means.hidden(core(machine), front, {"map": (size, "NHWC")}) == cycles


@pytest.mark.parametrize(("far", "cycles"), [((True, True), 2_019), ((True,), 1_009), ((), 224)])
def test_an_addition_apart_waits_for_maps_in_dram(far: tuple[bool, ...], cycles: int) -> None:
    one = Operation("Add", (1, 1, 28, 24), "Sram", (1, 64, 32), names=("sum",), source="Add")
    assert apart.waits(core(U85), one, far, 28 * 24) == cycles - 224


def test_products_in_bricks_have_all_their_channels() -> None:
    one = Operation("Mul", (1, 1, 12, 1), "Sram", names=("map",), own="map", source="SquaredDifference")
    rows, bricks = (
        lowered.squared([one], core(U65), {}, {"map": (48, order)}) for order in ("NHWC", "NHCWB16")
    )
    assert bricks - rows == 216 - 14


@pytest.mark.parametrize(("along", "charged"), [(("Add",), True), (("Relu",), False), ((), False)])
def test_only_what_vela_chains_is_charged_for_it(along: tuple[str, ...], charged: bool) -> None:
    weights, bias = np.ones((24, 1, 1, 24), np.int8), np.zeros(24, np.int32)

    def network(x: tj.Tensor, y: tj.Tensor) -> tj.Tensor:
        sums = ops.conv2d(x, weights, bias)
        narrow = ops.rescale(sums, multiplier=1 << 30, shift=36, dtype=INT8)
        wide = [ops.rescale(one, multiplier=1 << 30, shift=20, dtype=tj.INT32) for one in (narrow, y)]
        total = ops.rescale(ops.add(*wide), multiplier=1 << 30, shift=40, dtype=INT8)
        return ops.max_pool2d(total, kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0))

    given = [tj.Value(name, INT8, (1, 16, 16, 24)) for name in "xy"]
    graph, machine = tj.trace(network, *given), tj.machine(U85)
    plan = tj.plan(graph, machine)
    report = tj.simulate(graph, machine, plan=plan)
    (part,) = plan.parts.values()
    names = tuple(one for choice in part.groups.values() for one in choice.operators)
    plain, chained = (
        charges.charge(
            graph, machine, plan, report, (), [Operation("Conv2D", (), "", along=one, names=names)]
        )
        for one in ((), along)
    )
    assert (chained > plain) == charged


@pytest.mark.parametrize(
    ("machine", "cycles"), [(U85, 781), ("ethos-u85-256/sys-dram-mid/sram-only", 325), (U65, -186)]
)
def test_single_positions_are_in_blocks_of_rows_and_columns(machine: str, cycles: int) -> None:
    """Of 25 × 5, which are six blocks in Vela's schedule, and five of one row in ours."""
    weights, bias = np.ones((32, 1, 1, 32), np.int8), np.zeros(32, np.int64)

    def network(x: tj.Tensor) -> tj.Tensor:
        sums = ops.conv2d(x, weights, bias, acc_type="INT48")
        return ops.rescale(sums, multiplier=[1 << 14], shift=[30], scale32=False, dtype=tj.INT16)

    known = tj.machine(machine)
    graph = tj.trace(network, tj.Value("x", tj.INT16, (1, 25, 5, 32)))
    nests = copies.nests_of(graph, known, tj.plan(graph, known))
    names, map = nests[0].members, (1, 25, 5, 32)
    one = Operation("Conv2D", map, "Sram", read=map, names=names, source="Conv2D")
    assert lowered.in_rows(one, core(machine), nests) == cycles
    assert (
        lowered.in_rows(
            Operation("Conv2D", map, "Sram", read=map, kernel=(3, 3), names=names), core(machine), nests
        )
        == 0
    )


@pytest.mark.parametrize(("slices", "read"), [(1, 0), (2, 500 + 64 * 2 // 12)])
def test_the_last_of_several_slices_does_not_wait_for_the_map(slices: int, read: int) -> None:
    weights, bias = np.ones((32, 1, 1, 64), np.int8), np.zeros(32, np.int32)

    def network(x: tj.Tensor) -> tj.Tensor:
        return ops.rescale(ops.conv2d(x, weights, bias), multiplier=1 << 30, shift=36, dtype=INT8)

    graph, machine = tj.trace(network, tj.Value("x", INT8, (1, 1, 1, 64))), tj.machine(U85)
    mapping = {"**": {"tile": {"oc": 32 // slices}, "boxes": {"weights": slices}}}
    (model,) = copies.models_of(graph, machine, tj.plan(graph, machine, mapping=mapping))
    section = charges.Charged(model, core(U85), (), {}, ())
    assert bool(model.section.loops) == (slices > 1)
    assert section.first_read == pytest.approx(read, abs=24)


@pytest.mark.parametrize(
    ("machine", "kind", "along", "numbers", "cycles"),
    [
        (U55, "CLZ", (), (5,), 256),
        (U55, "Sub", (), (7,), 320),
        (U55, "SHL", (), (8,), 384),
        (U55, "Mul", (), (9,), 320),
        (U55, "Mul", (), (13,), 384),
        (U55, "Mul", (), (14,), 320),
        (U55, "Add", (), (15,), 384),
        (U85, "CLZ", (), (5,), 64),
        (U85, "Sub", (), (6,), 128),
        (U85, "Sub", ("SHL",), (7, 8), 256),
        (U85, "Mul", ("Add",), (9, 10), 256),
        (U85, "Mul", CHAIN, (11, 12, 13, 14), 512),
        (U85, "Add", (), (15,), 128),
    ],
)
def test_steps_of_a_softmax_have_all_channels_of_bricks(
    machine: str, kind: str, along: tuple[str, ...], numbers: tuple[int, ...], cycles: int
) -> None:
    made = tuple(f"b_softmax_{number}" for number in numbers)
    one = Operation(kind, (1, 2, 8, 1), "Sram", along=along, made=made, source="Softmax")
    bricks, rows = ({made[-1]: Stored(False, some)} for some in (True, False))
    assert softmaxes.work(one, core(machine), bricks=True) == cycles
    assert softmaxes.filled(one, bricks, core(machine)) == cycles - softmaxes.work(one, core(machine))
    assert softmaxes.filled(one, rows, core(machine)) == 0


@pytest.mark.parametrize(("machine", "cycles"), [(U55, 384), (U85, 64)])
def test_exponentials_have_all_channels_of_bricks(machine: str, cycles: int) -> None:
    made = ("b_softmax_2",) * 2
    one = Operation("Sub", (1, 2, 8, 8), "Sram", along=("LUT",), made=made, source="Softmax")
    assert softmaxes.filled(one, {made[-1]: Stored(False, True)}, core(machine)) == cycles // 2
