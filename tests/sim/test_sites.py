"""Operands that an Ethos-U uses where they are, held against what Vela 5.2.0 says of them."""

from __future__ import annotations

import pytest
from holding import drawing
from validating.graphs import operator

import sim
import tosajit as tj
from sim.cost.costs import Costs
from sim.cost.sites import NEAR, Site, sites_of
from tests.golden_networks import networks
from tests.sim.nests import convolution, groups
from tiling.program import Operand

U65, U85 = "ethos-u65-256", "ethos-u85-256"
MAPS = {
    "ifm_shape_h": "40", "ifm_shape_w": "40", "ifm_shape_c": "3",
    "ofm_shape_h": "20", "ofm_shape_w": "20", "ofm_shape_c": "8",
}  # fmt: skip
KERNEL = {"kernel_size_y": "7", "kernel_size_x": "7", "kernel_stride_y": "2", "kernel_stride_x": "2"}
IMAGE = operator({"operator": "Conv2D", **MAPS, **KERNEL})
FAR, PLAIN = Site("offchip", False), Site("offchip", True)


@pytest.mark.parametrize(("machine", "moved"), [(U65, 115_200), (U85, 92_160)])
def test_an_image_in_dram_is_read_pixel_by_pixel(machine: str, moved: int) -> None:
    (nest,) = groups(IMAGE)
    work = Costs.of(sim.machine(machine)).work(nest, nest.extents, (PLAIN,) * len(nest.accesses))
    assert max(work.traffic) == moved


def test_blocks_that_come_from_afar_take_its_latency() -> None:
    nest = convolution((1, 10, 10, 16), (32, 1, 1, 16))
    for name in (U65, U85):
        machine = sim.machine(name)
        costs, count = Costs.of(machine), len(nest.accesses)
        near, far = (costs.work(nest, nest.extents, (site,) * count) for site in (NEAR, FAR))
        more = machine.offchip.read_latency_cycles + machine.offchip.write_latency_cycles
        more -= machine.scratchpad.read_latency_cycles + machine.scratchpad.write_latency_cycles
        assert far.cycles >= near.cycles + more
        assert near.pays_latencies
        assert far.pays_latencies


def test_bricks_have_sixteen_channels() -> None:
    nest = convolution((1, 32, 32, 20), (8, 1, 1, 20))
    costs, count = Costs.of(sim.machine(U65)), len(nest.accesses)
    bricks = costs.work(nest, nest.extents, (NEAR,) * count)
    assert bricks.traffic[0] == 32 * 32 * 32


def test_only_weights_are_copied_unless_the_machine_says_otherwise() -> None:
    given, machine = networks()["residual"](), sim.machine(U65)
    for copied in ("weights", "all"):
        plan = tj.plan(given, machine.replace({"memory.copied": copied}))
        boxes = {name for _, choice in plan for name in choice.boxes or {}}
        constants = {name for name in boxes if "const" in name or name.endswith("weight")}
        assert (boxes == constants) == (copied == "weights")


def test_sites_are_nothing_to_machines_that_do_not_look() -> None:
    nest = convolution((1, 10, 10, 16), (32, 1, 1, 16))
    for name in ("systolic-16", "eyeriss-v1"):
        costs = Costs.of(sim.machine(name))
        assert costs.work(nest, nest.extents) is costs.work(nest, nest.extents, (PLAIN,) * len(nest.accesses))


def test_what_is_copied_is_near() -> None:
    inside = Operand("x", "i8", 4, "temporary", place="scratchpad")
    outside = Operand("y", "i8", 4, "input", place="offchip")
    assert sites_of((inside, outside, outside), (False, False, True)) == (
        NEAR,
        PLAIN,
        Site("scratchpad", True),
    )


def test_what_is_in_level_2_costs_no_more_than_in_an_off_chip_memory_as_fast() -> None:
    alone, (_, given) = sim.machine("ethos-u85-128"), drawing.layer(70003)
    figures = ("bandwidth_bytes_per_second", "read_latency_cycles", "write_latency_cycles", "burst_bytes")
    level2 = {"bytes": 1 << 20, **{name: getattr(alone.offchip, name) for name in figures}}
    both = alone.replace({"level2": level2})
    assert any(memory == "level2" for memory, _, _ in tj.simulate(given, both).traffic)
    assert tj.simulate(given, both).cycles <= tj.simulate(given, alone).cycles
