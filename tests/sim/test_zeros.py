"""Weights that are zeros here and there: counted in the constants, skipped where an array does."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pytest

import sim
import tosajit as tj
from sim.cost.costs import Costs
from tests.sim.test_pruned import network
from tosajit.npu.simulate import Network

SKIPPING = sim.machine("dot-256").replace({"array.sparsity": "zeros"})
CELLS, LANES = 16, 16


def weights(filters: int, kernel: int, channels: int, share: float, seed: int = 0) -> Any:
    """Weights of which such a share are zeros, some filters with more than others."""
    random = np.random.default_rng(seed)
    shape = filters, kernel, kernel, channels
    zeros = random.random(shape) < share * random.uniform(0.8, 1.2, (filters, 1, 1, 1))
    return np.where(zeros, 0, random.integers(1, 127, shape)).astype(np.int8)


def cycles_of(array: Any, positions: int) -> int:
    """Of a layer in one stripe for each set of filters: its cell with most weights counts, everywhere."""
    filters, high, wide, _ = array.shape
    steps = 0
    for first in range(0, filters, CELLS):
        for y in range(high):
            for x in range(wide):
                cells = array[first : first + CELLS, y, x]
                steps += max(ceil(np.count_nonzero(cell) / LANES) for cell in cells)
    return int(min(filters, CELLS) + steps * positions)


@pytest.mark.parametrize("shape", [(48, 3, 64), (20, 1, 100), (16, 1, 256)], ids=str)
@pytest.mark.parametrize("share", [0.35, 0.7, 0.95])
def test_a_layer_takes_as_long_as_its_weights_say(shape: tuple[int, int, int], share: float) -> None:
    array = weights(*shape, share)
    (part,) = Network.of(network(array, 8)).parts
    (nest,) = (one for one in part.nests if one.verb == "contract")
    work = Costs.of(SKIPPING).work(nest, nest.extents)
    assert dict(work.detail)["mac_cycles"] == cycles_of(array, 64)
    assert work.macs == 64 * np.count_nonzero(array)


def test_few_zeros_change_nothing() -> None:
    graph = network(weights(32, 3, 64, 0.1), 10)
    assert tj.simulate(graph, SKIPPING).cycles == tj.simulate(graph, "dot-256").cycles


def test_weights_with_a_zero_point_are_not_skipped() -> None:
    graph = network(weights(32, 3, 64, 0.7), 10, zero_point=3)
    assert tj.simulate(graph, SKIPPING).macs == 10 * 10 * 32 * 9 * 64


@pytest.mark.parametrize("mode", ["events", "analytic"])
def test_zeros_take_neither_time_nor_energy_nor_bytes(mode: Any) -> None:
    array = weights(64, 3, 64, 0.7)
    graph = network(array, 16)
    report, plain = (tj.simulate(graph, one, mode=mode) for one in (SKIPPING, "dot-256"))
    done = 16 * 16 * np.count_nonzero(array)
    assert report.macs == pytest.approx(done, rel=1e-4)
    assert report.energy["macs"] == pytest.approx(plain.energy["macs"] * done / plain.macs, rel=1e-4)
    assert report.busy["array"] < 0.6 * plain.busy["array"]
    stored = np.count_nonzero(array) + array.size // 8
    moved = [
        sum(
            size
            for (memory, _, kind), size in one.traffic.items()
            if (memory, kind) == ("offchip", "weights")
        )
        for one in (report, plain)
    ]
    assert moved[0] / moved[1] == pytest.approx(stored / array.size, rel=0.01)
    assert sum(report.operators[0].lanes.values()) == report.operators[0].cycles["compute"]


def test_explorations_know_how_many_are_skipped() -> None:
    graph = network(weights(64, 1, 64, 0.7), 16)
    space = tj.Space(sim.machine("dot-256"), {"array.sparsity": ["none", "2:4", "zeros"]})
    best = tj.explore(graph, space, workers=0).best("energy")
    assert best.values["array.sparsity"] == "zeros"
    assert best.objectives["energy"] == pytest.approx(tj.simulate(graph, SKIPPING).joules, rel=0.1)


def test_cores_and_bits_are_as_on_any_machine() -> None:
    graph = network(weights(32, 3, 32, 0.7), 8)
    x = np.random.default_rng(1).integers(-128, 128, (1, 8, 8, 32), np.int8)
    two = SKIPPING.replace({"cores": 2, "topology": {}})
    expected = tj.compile(graph, generic="always")(x)
    np.testing.assert_array_equal(tj.compile(graph, machine=two, generic="always")(x), expected)
    assert tj.simulate(graph, two).macs == pytest.approx(tj.simulate(graph, SKIPPING).macs, rel=1e-3)
