"""Cycles of systolic arrays, held against figures of a cycle-accurate simulator and against counted folds."""

from __future__ import annotations

import csv
import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from sim.cost.arrays import Layers, Product, systolic
from sim.cost.arrays.systolic import Dataflow
from sim.cost.costs import Costs
from sim.machine.arrays import Systolic
from sim.machine.errors import MachineError
from sim.machine.machine import Machine
from sim.machine.parts import OffChip, Scratchpad
from tiling.expr import Expr, acc, apply, read
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Write
from tosajit.operators import CONV2D
from tosajit.operators.types import AccType
from tosajit.tracing.builder import GraphBuilder

REFERENCE = Path(__file__).parent.parent / "data" / "npu" / "systolic.csv"
DATAFLOWS: tuple[Dataflow, ...] = ("output", "weight", "input")


def machine(rows: int, columns: int, dataflow: Dataflow, **more: Any) -> Machine:
    array = Systolic(rows=rows, columns=columns, dataflow=dataflow)
    return Machine(
        name="ideal",
        clock_hz=1e9,
        offchip=OffChip(),
        scratchpad=Scratchpad(bytes=1 << 24),
        array=array,
        **more,
    )


def matmul(m: int, k: int, n: int) -> Nest:
    """A product of i8 into i32, as a nest."""
    axes = (Axis("m", m), Axis("n", n), Axis("k", k, True))
    left = Access("a", "i8", (m, k), (Affine((1, 0, 0)), Affine((0, 0, 1))))
    right = Access("b", "i8", (n, k), (Affine((0, 1, 0)), Affine((0, 0, 1))))
    result = Access("c", "i32", (m, n), (Affine((1, 0, 0)), Affine((0, 1, 0))))
    value = apply("mul", *(Expr("to_i32", (read(number, "i8"),), "i32") for number in (0, 1)))
    reduction = Reduction("add", 0, "i32", value)
    return Nest("contract", axes, (left, right), (Write(result, acc("i32")),), reduction)


def counted(dataflow: Dataflow, rows: int, columns: int, m: int, k: int, n: int) -> int:
    """Cycles by going through the folds one by one."""
    held = {"output": (m, n), "weight": (k, n), "input": (k, m)}[dataflow]
    streamed = {"output": k, "weight": m, "input": n}[dataflow]
    cycles = 0
    for _ in product(range(0, held[0], rows), range(0, held[1], columns)):
        loading = 0 if dataflow == "output" else rows
        # The last element of a stream enters after the others, then crosses all columns and rows.
        cycles += loading + streamed + (columns - 1) + (rows - 1)
    return cycles


def reference() -> list[dict[str, str]]:
    with REFERENCE.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", reference(), ids=lambda row: f"{row['net']}-{row['layer']}-{row['dataflow']}")
def test_cycles_are_those_of_the_cycle_accurate_simulator(row: dict[str, str]) -> None:
    named: dict[str, Dataflow] = {"os": "output", "ws": "weight", "is": "input"}
    dataflow = named[row["dataflow"]]
    height, width = (
        -(-(int(row[f"if{side}"]) - int(row[f"f{side}"])) // int(row["stride"])) + 1 for side in "hw"
    )
    m, n = height * width, int(row["nf"])
    k = int(row["fh"]) * int(row["fw"]) * int(row["c"])
    found = systolic.folds(dataflow, int(row["rows"]), int(row["cols"]), Product(1, m, k, n))
    assert found.cycles - 1 == int(row["compute_cycles"])  # the reference counts from zero


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_cycles_of_random_layers_are_those_of_their_folds(dataflow: Dataflow) -> None:
    chance = random.Random(f"systolic {dataflow}")
    for _ in range(100):
        rows, columns = (chance.choice((1, 2, 3, 8, 12, 16, 32, 128)) for _ in range(2))
        m, k, n = (chance.randrange(1, 1 << chance.randrange(1, 12)) for _ in range(3))
        found = systolic.folds(dataflow, rows, columns, Product(1, m, k, n))
        assert found.cycles == counted(dataflow, rows, columns, m, k, n)
        assert found.count * found.fill == found.cycles - found.count * found.stream


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_a_layer_in_tiles_of_the_array_takes_as_long_as_the_whole(dataflow: Dataflow) -> None:
    chance = random.Random(f"tiles {dataflow}")
    for _ in range(40):
        rows, columns = chance.choice((4, 8, 16)), chance.choice((4, 8, 16))
        m, k, n = (chance.randrange(1, 100) for _ in range(3))
        costs, nest = Costs.of(machine(rows, columns, dataflow)), matmul(m, k, n)
        steps = {"output": (rows, columns, k), "weight": (m, columns, rows), "input": (columns, n, rows)}
        tile = steps[dataflow]
        pieces = [
            [min(step, extent - low) for low in range(0, extent, step)]
            for step, extent in zip(tile, (m, n, k), strict=True)
        ]
        total = sum(costs.work(nest, piece).cycles for piece in product(*pieces))
        assert total == costs.work(nest, nest.extents).cycles == counted(dataflow, rows, columns, m, k, n)


def test_operands_are_read_again_for_each_fold() -> None:
    words = systolic.words("output", 4, 8, Product(1, 10, 6, 20))
    assert words == (3 * 60, 3 * 120, 200, 0)
    words = systolic.words("weight", 4, 8, Product(1, 10, 6, 20))
    assert words == (3 * 60, 120, 200, 2 * 200)
    words = systolic.words("input", 4, 8, Product(1, 10, 6, 20))
    assert words == (60, 2 * 120, 200, 2 * 200)


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_arrays_of_layers_take_what_each_layer_takes(dataflow: Dataflow) -> None:
    sizes = np.array([[1, 7, 30, 4], [2, 64, 5, 64], [3, 100, 17, 1]])
    rows, columns = np.array([[4], [16]]), np.array([[8], [16]])
    found = systolic.folds(dataflow, rows, columns, Product(*sizes.T)).cycles
    for place, (height, width) in enumerate(((4, 8), (16, 16))):
        single = [systolic.folds(dataflow, height, width, Product(*size)).cycles for size in sizes]
        assert found[place].tolist() == single


def test_types_that_the_array_lacks_take_several_passes() -> None:
    nest = matmul(64, 64, 64)
    wide = Nest(
        nest.verb,
        nest.axes,
        (Access("a", "i16", (64, 64), nest.reads[0].index), nest.reads[1]),
        nest.writes,
        Reduction(
            "add",
            0,
            "i32",
            apply("mul", *(Expr("to_i32", (read(i, t),), "i32") for i, t in ((0, "i16"), (1, "i8")))),
        ),
    )
    array = machine(16, 16, "weight")
    narrow, twice = (Costs.of(array).work(one, one.extents) for one in (nest, wide))
    assert twice.cycles == 2 * narrow.cycles
    assert ("passes", 2) in twice.detail
    assert twice.traffic[0] == 4 * narrow.traffic[0]  # twice as often, twice as wide


def preloaded(rows: int, columns: int, streams: list[int]) -> int:
    """Cycles by going through folds whose operands come while the fold in front of them streams."""
    now = loaded = rows
    for stream in streams:
        begun = max(now, loaded)
        now, loaded = begun + stream, begun + rows
    return max(now, loaded) + rows + columns - 2


@pytest.mark.parametrize("dataflow", ["weight", "input"])
def test_operands_that_are_loaded_in_advance_cost_what_streams_do_not_hide(dataflow: Dataflow) -> None:
    chance = random.Random(f"preload {dataflow}")
    for _ in range(100):
        rows, columns = (chance.choice((1, 2, 8, 16, 128)) for _ in range(2))
        m, k, n = (chance.randrange(1, 1 << chance.randrange(1, 10)) for _ in range(3))
        held, streamed = (n, m) if dataflow == "weight" else (m, n)
        folds = -(-k // rows) * -(-held // columns)
        found = systolic.folds(dataflow, rows, columns, Product(1, m, k, n), True)
        assert found.cycles == preloaded(rows, columns, [streamed] * folds)


def test_channels_of_a_depthwise_convolution_share_rows_and_columns() -> None:
    channels = Product(groups=100, rows=49, window=9, columns=1)
    assert systolic.packed(64, 64, channels) == Product(15, 49, 63, 7)
    assert systolic.packed(64, 4, channels) == Product(25, 49, 36, 4)
    assert systolic.packed(8, 64, channels) == channels
    assert systolic.packed(64, 64, Product(3, 49, 9, 1)) == Product(1, 49, 27, 3)
    several = Product(100, 49, 9, 2)
    assert systolic.packed(64, 64, several) == several


@pytest.mark.parametrize(("preload", "packs"), [(True, False), (False, True), (True, True)])
def test_closed_forms_know_what_an_array_can_do(preload: bool, packs: bool) -> None:
    array = Systolic(rows=16, columns=8, weight_preload=preload, packed_depthwise=packs)
    costs = systolic.SystolicCosts()
    sizes = [(1, 7, 30, 4), (2, 64, 5, 64), (40, 100, 3, 1), (3, 9, 33, 1), (5, 1, 1, 1)]
    products = Product(*np.array(sizes, float).T[:, None])
    one = np.ones((1, len(sizes)))
    layers = Layers(products, one, one, one[:, :1], one, one)
    cycles, _ = costs.products(np.array([costs.figures(array)], float), layers)
    for size, found in zip(sizes, cycles[0], strict=True):
        product = systolic.packed(16, 8, Product(*size)) if packs else Product(*size)
        assert found == systolic.folds("weight", 16, 8, product, preload).cycles


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight_preload": True, "dataflow": "output"}, "array.weight_preload: where outputs stay"),
        ({"packed_depthwise": True, "dataflow": "input"}, "array.packed_depthwise: only rows of weights"),
        ({"whole_tiles": True, "dataflow": "output"}, "array.whole_tiles: only an array whose weights stay"),
    ],
)
def test_what_a_dataflow_cannot_do_is_refused(changes: dict[str, Any], message: str) -> None:
    base = machine(8, 8, "weight")
    with pytest.raises(MachineError, match=message):
        base.replace({f"array.{name}": value for name, value in changes.items()})


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_one_channel_and_one_filter_are_work_of_the_array(dataflow: Dataflow) -> None:
    builder = GraphBuilder()
    source = builder.input("image", tj.INT8, (1, 8, 8, 1))
    constants = [
        builder.const(np.ones((1, 1, 1, 1), np.int8)),
        builder.const(np.zeros(1, np.int32)),
        *(builder.const(np.zeros(1, np.int8)) for _ in range(2)),
    ]
    operator = CONV2D(pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32)
    builder.output(str(builder.add(operator, [source, *constants])))
    report = tj.simulate(builder.build(), machine(8, 8, dataflow))
    assert report.busy["array"] == systolic.folds(dataflow, 8, 8, Product(1, 64, 1, 1)).cycles


@pytest.mark.parametrize(
    ("filters", "kernel", "channels", "tiles"),
    [(8, 1, 8, 1), (9, 1, 8, 2), (8, 3, 3, 4), (20, 3, 5, 18), (2, 1, 2, 1)],
)
@pytest.mark.parametrize("mode", ["events", "analytic"])
def test_weights_come_in_whole_tiles(filters: int, kernel: int, channels: int, tiles: int, mode: Any) -> None:
    builder = GraphBuilder()
    source = builder.input("image", tj.INT8, (1, 8, 8, channels))
    constants = [
        builder.const(np.ones((filters, kernel, kernel, channels), np.int8)),
        builder.const(np.zeros(filters, np.int32)),
        *(builder.const(np.zeros(1, np.int8)) for _ in range(2)),
    ]
    operator = CONV2D(pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32)
    builder.output(str(builder.add(operator, [source, *constants])))
    graph = builder.build()
    base = machine(8, 8, "weight").replace({"offchip.bandwidth_bytes_per_second": 1e9})

    def moved(whole: bool) -> int:
        report = tj.simulate(graph, base.replace({"array.whole_tiles": whole}), mode=mode)
        kinds = report.traffic.items()
        return sum(size for (memory, _, kind), size in kinds if (memory, kind) == ("offchip", "weights"))

    assert moved(True) == 64 * tiles
    assert moved(False) == filters * kernel * kernel * channels
