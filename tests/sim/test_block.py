"""Arrays that work in blocks, held against the estimates of Arm's compiler Vela 5.2.0."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from sim.cost.ethos.blocks import matmul
from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import Cycles, Map, Maps, Memory, layer_cycles
from sim.cost.ethos.parts import Choice, Layer, Op, Part55, Part85, Shape, part
from sim.cost.ethos.passes import Core
from sim.cost.ethos.u55 import part_kernel as part_kernel_u55
from sim.cost.ethos.u85 import part_kernel as part_kernel_u85
from sim.cost.geometry import Geometry
from sim.cost.sites import NEAR
from sim.machine.arrays import Block
from tosajit import samples, simulate

ROWS = Path(__file__).parents[1] / "data" / "npu" / "vela_operators.csv"
OPS: dict[str, Op] = {
    "Conv2D": "convolution",
    "FullyConnected": "convolution",
    "DepthwiseConv2D": "depthwise",
    "AvgPool": "pool",
}
ACCELERATORS = (
    *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
    *(f"ethos-u65-{macs}" for macs in (256, 512)),
    *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
)


def maps(memory: Memory) -> Maps:
    """Feature maps and scales in one memory."""
    return Maps(Map(memory), Map(memory), memory.read_latency)


def estimates(accelerator: str) -> Iterator[tuple[dict[str, str], Layer, Choice, Cycles]]:
    """Rows of an accelerator with what we say of them, all in SRAM."""
    family, macs = accelerator.split("-")[1:]
    hardware = part(family, int(macs))
    memory = maps(Memory(None, 32, 32, 32))
    with ROWS.open() as file:
        found = [row for row in csv.DictReader(file) if row["accelerator"] == accelerator]
    for row, following in pairwise(found):
        if row["operator"] in OPS and row["memory_mode"] == "Sram_Only":
            layer = layer_of(row)
            choice = chosen(hardware, layer)
            # Rows whose number is left out are additions that the U85 chains behind a convolution.
            chained = row["operator"] == "Conv2D" and number(following) - number(row) > 1
            rate = hardware.output_cycles[0] if chained and isinstance(hardware, Part85) else 0.0
            yield row, layer, choice, layer_cycles(hardware, layer, choice, memory, rate)


def number(row: dict[str, str]) -> int:
    """Which operator of its network a row is about."""
    return int("".join(filter(str.isdigit, row["name"])))


def layer_of(row: dict[str, str]) -> Layer:
    """The work that a row is about."""

    def shape(name: str) -> Shape:
        return Shape(*(int(row[f"{name}_shape_{letter}"]) for letter in "hwc"))

    def pair(name: str) -> tuple[int, int]:
        return int(row[f"kernel_{name}_y"]), int(row[f"kernel_{name}_x"])

    return Layer(OPS[row["operator"]], shape("ofm"), shape("ifm"), pair("size"), pair("stride"))


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_cycles_of_products_are_those_of_vela(accelerator: str) -> None:
    errors: dict[str, list[float]] = {}
    for row, _, _, cycles in estimates(accelerator):
        error = abs(cycles.products / int(row["mac_cycles"]) - 1)
        errors.setdefault(row["operator"], []).append(error)
    for operator, found in errors.items():
        print(f"{accelerator} {operator}: median {np.median(found):.4f}, p95 {np.percentile(found, 95):.4f}")
        assert np.median(found) == 0
        assert np.percentile(found, 95) <= 0.01


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_cycles_of_results_are_those_of_vela(accelerator: str) -> None:
    errors = []
    for row, _, _, cycles in estimates(accelerator):
        errors.append(abs(cycles.results / int(row["ao_cycles"]) - 1))
    print(f"{accelerator}: median {np.median(errors):.4f}, p95 {np.percentile(errors, 95):.4f}")
    assert np.median(errors) == 0
    assert np.percentile(errors, 95) <= 0.01


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_blocks_are_those_that_vela_chooses(accelerator: str) -> None:
    same = []
    for row, _, choice, _ in estimates(accelerator):
        same.append(choice.output == tuple(int(row[f"ofm_block_{letter}"]) for letter in "hwc"))
    assert np.mean(same) >= 0.92


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_the_order_of_kernel_and_channels_is_that_of_vela(accelerator: str) -> None:
    for row, layer, choice, _ in estimates(accelerator):
        if layer.op == "convolution":
            assert choice.part_kernel == (row["traversal"] == "PartKernel")


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_a_block_fits_into_the_buffers(accelerator: str) -> None:
    family, macs = accelerator.split("-")[1:]
    hardware = part(family, int(macs))
    for _, _, choice, _ in estimates(accelerator):
        block = choice.output
        if isinstance(hardware, Part55):
            assert 2 * block.elements * 4 <= hardware.banks * 1024
        else:
            assert block.area * -(-block.depth // 16) * 16 * 4 <= hardware.sum_bytes


def test_the_order_follows_which_fills_the_array_better() -> None:
    shallow = Layer("convolution", Shape(8, 8, 16), Shape(8, 8, 3), (3, 3))
    deep = Layer("convolution", Shape(8, 8, 16), Shape(8, 8, 64), (1, 1))
    for prefers_kernel in (part_kernel_u55, part_kernel_u85):
        assert prefers_kernel(shallow)
        assert not prefers_kernel(deep)


@pytest.mark.parametrize("family", ["u55", "u85"])
@pytest.mark.parametrize(
    ("op", "bits"),
    [(op, bits) for op in ("convolution", "depthwise", "pool", "sum") for bits in (8, 16)] + [("sum", 32)],
)
def test_every_kind_of_work_has_a_block(family: str, op: Op, bits: int) -> None:
    shape = Shape(7, 5, 19)
    hardware, memory = part(family, 128), maps(Memory(8, 32, 32, 32))
    layer = Layer(op, shape._replace(depth=1) if op == "sum" else shape, shape, bits=bits)
    choice = chosen(hardware, layer)
    assert min(choice.output) >= 1
    assert layer_cycles(hardware, layer, choice, memory).total > 0


@pytest.mark.parametrize(
    ("machine", "groups", "rows", "window", "columns", "cycles"),
    [
        ("ethos-u55-128/high-end-embedded/shared-sram", 2, 12, 8, 12, 3912),
        ("ethos-u55-128/high-end-embedded/shared-sram", 2, 12, 12, 8, 3344),
        ("ethos-u55-128/high-end-embedded/shared-sram", 4, 16, 16, 8, 8128),
        ("ethos-u65-256/high-end/dedicated-sram-384kb", 2, 12, 8, 12, 19044),
        ("ethos-u65-256/high-end/dedicated-sram-384kb", 2, 12, 12, 8, 13872),
        ("ethos-u65-256/high-end/dedicated-sram-384kb", 4, 16, 8, 16, 35904),
        ("ethos-u65-256/high-end/dedicated-sram-384kb", 4, 16, 16, 8, 18464),
    ],
)
def test_products_of_two_maps_take_what_vela_says(
    machine: str, groups: int, rows: int, window: int, columns: int, cycles: int
) -> None:
    found = tj.machine(machine)
    assert isinstance(found.array, Block)
    maps = Geometry(
        *("contract", "add", groups, 1, rows, 1, columns, (1, 1), window, (1, 1), (1, 1), (rows, 1)),
        *(0, 1, "i8", "i8", "i8", "i32"),
    )
    layer = Layer("convolution", Shape(rows, 1, columns), Shape(rows, 1, window), dynamic=True)
    near = (NEAR,) * 3
    assert matmul(Core.of(found.array, found), maps, layer, near)[0].total == cycles


def test_more_work_takes_more_cycles() -> None:
    memory = maps(Memory(8, 32, 32, 32))
    hardware = part("u55", 128)
    totals = []
    for channels in (8, 16, 64, 256):
        layer = Layer("convolution", Shape(16, 16, channels), Shape(16, 16, channels), (3, 3))
        totals.append(layer_cycles(hardware, layer, chosen(hardware, layer), memory).total)
    assert totals == sorted(totals)


@pytest.mark.parametrize(
    ("machine", "cycles"),
    [
        ("ethos-u55-128/high-end-embedded/shared-sram", 89_884),
        ("ethos-u55-256/high-end-embedded/sram-only", 56_234),
        ("ethos-u65-256/high-end/dedicated-sram-384kb", 57_869),
        ("ethos-u85-1024/sys-dram-mid/sram-only", 19_405),
    ],
)
def test_a_network_in_tosa_takes_as_long_as_vela_says_of_it_in_tflite(machine: str, cycles: int) -> None:
    found = simulate(samples.path("ds_cnn"), machine)
    assert found.cycles == pytest.approx(cycles, rel=0.1)
