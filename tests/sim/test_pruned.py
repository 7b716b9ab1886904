"""Weights of which two of each four are zeros: found in the constants, skipped where an array can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim
import tosajit as tj
from sim.cost.costs import Costs
from tosajit import ops
from tosajit.compiler.pruning import is_pruned
from tosajit.npu.simulate import Network

DOT = {"array.sparsity": "2:4"}
VELA = {
    ("ethos-u85-128", 64, 1, 64, 16): (8960, 8704),
    ("ethos-u85-128", 64, 3, 16, 16): (25349, 13042),
    ("ethos-u85-128", 64, 3, 66, 16): (125338, 62938),
    ("ethos-u85-128", 20, 3, 8, 16): (5412, 3748),
    ("ethos-u85-128", 64, 1, 256, 1): (1374, 416),
    ("ethos-u85-128", 128, 5, 32, 7): (52102, 26230),
    ("ethos-u85-128", 64, 3, 3, 32): (49893, 33381),
    ("ethos-u85-256", 64, 3, 66, 16): (64144, 32464),
    ("ethos-u85-256", 32, 3, 4, 16): (3984, 2832),
    ("ethos-u85-256", 64, 3, 130, 9): (46369, 23419),
    ("ethos-u85-1024", 64, 3, 66, 16): (19136, 10496),
    ("ethos-u85-1024", 128, 5, 32, 7): (8884, 4964),
}
"""Cycles of the NPU as Vela 5.2.0 estimates them (DRAM mid, SRAM only), with dense and with pruned weights:
by machine, filters, width of the kernel, channels, and width of the map."""


def weights(filters: int, kernel: int, channels: int, pruned: bool, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    found = random.integers(1, 127, (filters, kernel, kernel, -(-channels // 4), 4)).astype(np.int8)
    if pruned:
        found[random.random(found.shape).argsort(-1) < 2] = 0
    return found.reshape(filters, kernel, kernel, -1)[..., :channels]


def network(array: Any, width: int, zero_point: int = 0) -> tj.Graph:
    pad = (array.shape[1] // 2,) * 4

    def layer(x: Any) -> Any:
        sums = ops.conv2d(
            x, array, np.zeros(len(array), np.int32), pad=pad, weight_zp=np.array([zero_point], np.int8)
        )
        return ops.rescale(sums, np.full(1, 1 << 30, np.int32), np.full(1, 40, np.int8), dtype=tj.INT8)

    return tj.trace(layer, np.zeros((1, width, width, array.shape[3]), np.int8))


def cycles(graph: tj.Graph, machine: str | sim.Machine) -> int:
    return tj.simulate(graph, machine).busy["array"]


@pytest.mark.parametrize("case", VELA, ids=str)
def test_the_u85_skips_zeros_as_vela_says(case: tuple[str, int, int, int, int]) -> None:
    """What Vela has besides, such as the first latency, is what it has for dense weights."""
    machine, filters, kernel, channels, width = case
    dense, pruned = VELA[case]
    ours = [
        cycles(network(weights(filters, kernel, channels, one), width), f"{machine}/sram-only")
        for one in (False, True)
    ]
    assert 0 <= dense - ours[0] <= max(0.1 * dense, 300)
    assert 0 <= pruned - ours[1] <= max(dense - ours[0], 8)


def test_one_group_that_is_not_pruned_makes_all_dense() -> None:
    array = weights(32, 3, 32, True)
    array[-1, -1, -1, -4:] = 1
    dense = weights(32, 3, 32, False)
    for machine in ("ethos-u85-256/sram-only", sim.machine("dot-256").replace(DOT)):
        assert cycles(network(array, 12), machine) == cycles(network(dense, 12), machine)


@given(st.data())
def test_pruned_is_what_counting_says(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 11)))
    flat = data.draw(st.lists(st.sampled_from((0, 0, 0, 1)), min_size=shape[0] * shape[1], max_size=33))
    array = np.array(flat[: shape[0] * shape[1]], np.int8).reshape(shape)
    groups = [row[at : at + 4] for row in array.tolist() for at in range(0, shape[1], 4)]
    assert is_pruned(array) == all(sum(one != 0 for one in group) <= 2 for group in groups)


@pytest.mark.parametrize("row", [0, 255, 256, 511, 512, 600])
def test_one_row_may_tell_that_weights_are_not_pruned(row: int) -> None:
    array = np.tile(np.array([1, 0, 0, 2], np.int8), (601, 3))
    assert is_pruned(array)
    array[row, 5:7] = 1
    assert not is_pruned(array)


@pytest.mark.parametrize("channels", [16, 40, 64, 100])
@pytest.mark.parametrize("kernel", [1, 3])
def test_dot_products_take_as_long_as_for_half_of_the_channels(channels: int, kernel: int) -> None:
    costs = Costs.of(sim.machine("dot-256").replace(DOT))

    def taken(channels: int, pruned: bool) -> int:
        (part,) = Network.of(network(weights(48, kernel, channels, pruned), 10)).parts
        return costs.work(part.nests[0], part.nests[0].extents).cycles

    assert taken(channels, True) == taken(channels // 2, False)
    assert taken(channels, True) < taken(channels, False) or channels == 16


@pytest.mark.parametrize("mode", ["events", "analytic"])
def test_reports_count_what_is_skipped_and_what_is_moved(mode: Any) -> None:
    machine = sim.machine("dot-256").replace(DOT)
    graph = network(weights(64, 3, 64, True), 16)
    report = tj.simulate(graph, machine, mode=mode)
    whole = 16 * 16 * 64 * 9 * 64
    assert report.macs == whole // 2
    assert report.operators[0].detail["skipped_macs"] == whole // 2
    assert f"{whole // 2:,} more skipped, as weights are zeros" in str(report)
    assert report.energy["macs"] == pytest.approx(whole / 2 * machine.energy.picojoules_per_mac * 1e-12)
    assert sum(report.operators[0].lanes.values()) == report.operators[0].cycles["compute"]
    moved = sum(
        size for (memory, _, kind), size in report.traffic.items() if (memory, kind) == ("offchip", "weights")
    )
    kept = 64 * 9 * 32
    assert moved % (kept + kept // 4) == 0
    plain = tj.simulate(graph, "dot-256", mode=mode)
    assert plain.macs == whole
    assert "skipped" not in str(plain)
    assert report.cycles < plain.cycles


@pytest.mark.parametrize("machine", ["dot-256", "ethos-u85-256"])
@pytest.mark.parametrize("channels", [1, 2, 3, 5, 6, 7, 66])
def test_what_is_skipped_are_zeros_of_the_weights(machine: str, channels: int) -> None:
    """Of a last group of fewer than four channels, at most those beyond two."""
    changes = DOT if machine == "dot-256" else {}
    report = tj.simulate(network(weights(16, 3, channels, True), 8), sim.machine(machine).replace(changes))
    kept = sum(min(2, channels - first) for first in range(0, channels, 4))
    assert report.macs == 8 * 8 * 16 * 9 * kept


def test_explorations_count_the_same_energy() -> None:
    machine, graph = sim.machine("dot-256"), network(weights(64, 1, 64, True), 16)
    found = tj.explore(graph, tj.Space(machine, {"array.sparsity": ["none", "2:4"]}), workers=0)
    best = found.best("energy")
    assert best.values["array.sparsity"] == "2:4"
    reports = {
        name: tj.simulate(graph, machine.replace({"array.sparsity": name})) for name in ("none", "2:4")
    }
    spared = reports["none"].energy["macs"] / 2
    assert reports["2:4"].energy["macs"] == pytest.approx(spared)
    assert best.objectives["energy"] == pytest.approx(reports["2:4"].joules, rel=0.1)


def test_a_zero_point_of_weights_makes_zeros_count() -> None:
    machine = sim.machine("dot-256").replace(DOT)
    graph = network(weights(32, 3, 32, True), 12, zero_point=3)
    assert tj.simulate(graph, machine).macs == 12 * 12 * 32 * 9 * 32


@pytest.mark.parametrize("name", ["dot-256", "ethos-u85-256"])
def test_bits_are_those_of_the_host(name: str) -> None:
    graph = network(weights(24, 3, 20, True), 9)
    machine = sim.machine(name).replace(DOT if name == "dot-256" else {})
    data = np.random.default_rng(1).integers(-128, 128, (1, 9, 9, 20)).astype(np.int8)
    expected, found = tj.compile(graph)(data), tj.compile(graph, machine=machine, generic="always")(data)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
