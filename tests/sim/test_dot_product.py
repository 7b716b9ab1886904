"""Arrays of dot products, held against a walk through their atomic operations."""

from __future__ import annotations

from itertools import product
from math import ceil
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim
import tosajit as tj
from sim.cost.arrays.dot_product import Atoms, atoms_of, cycles
from sim.cost.costs import Costs
from sim.cost.geometry import Geometry
from sim.machine.arrays import DotProduct
from tests.sim.test_systolic import matmul
from tosajit import ops

SIZES = st.integers(1, 40)


def walked(array: DotProduct, atoms: Atoms) -> int:
    """Cycles by going through stripes of nearly equal lengths; the next one's weights come while one runs."""
    loading = ceil(atoms.filters / array.loaded_filters)
    now = loaded = loading
    count = ceil(atoms.positions / array.stripe)
    for _ in product(range(atoms.groups), range(atoms.sets)):
        for number in range(count):
            for _ in range(atoms.steps):
                begun = max(now, loaded)
                loaded = begun + loading
                now = begun + (atoms.positions + number) // count
    return max(now, loaded)


@given(SIZES, SIZES, SIZES, SIZES, st.integers(1, 12), st.integers(1, 12), st.integers(1, 3))
def test_cycles_are_those_of_a_walk(
    groups: int, positions: int, steps: int, filters: int, cells: int, stripe: int, loaded: int
) -> None:
    array = DotProduct(filters=cells, channels=4, stripe=stripe, loaded_filters=loaded)
    atoms = Atoms(groups % 3 + 1, positions, steps % 5 + 1, ceil(filters / cells), min(filters, cells))
    assert cycles(array, atoms) == walked(array, atoms)


def test_weights_of_convolutions_with_strides_are_those_of_whole_strides() -> None:
    sizes = {
        (kernel, stride): tj.simulate(strided(kernel, stride), machine).offchip_bytes
        for kernel, stride in ((1, 1), (1, 2), (3, 1), (3, 2))
        for machine in [sim.machine("nvdla-small")]
    }
    direct = sim.machine("nvdla-small").replace({"array.strided": "direct"})
    for (kernel, stride), found in sizes.items():
        more = 16 * 16 * (ceil(kernel / stride) ** 2 * stride**2 - kernel**2)
        assert found == tj.simulate(strided(kernel, stride), direct).offchip_bytes + more


@pytest.mark.parametrize("mode", ["events", "analytic"])
def test_what_fills_up_weights_does_not_reach_the_array(mode: Literal["events", "analytic"]) -> None:
    phases = sim.machine("nvdla-large").replace({"offchip.bandwidth_bytes_per_second": None})
    direct = phases.replace({"array.strided": "direct"})
    graph = strided(1, 2, positions=32, channels=128)
    cycles = [tj.simulate(graph, one, mode=mode).cycles for one in (phases, direct)]
    loaded = 3 * 128 * 128 / 64
    assert cycles[0] - cycles[1] <= loaded


def strided(kernel: int, stride: int, positions: int = 8, channels: int = 16) -> tj.Graph:
    """A convolution of as many filters as channels."""
    size = (positions - 1) * stride + kernel
    weights = np.ones((channels, kernel, kernel, channels), np.int8)
    image = np.zeros((1, size, size, channels), np.int8)
    return tj.trace(lambda x: ops.conv2d(x, weights, stride=(stride, stride)), image)


def image(channels: int, filters: int, kernel: int, kind: str = "contract", dilation: int = 1) -> Geometry:
    """A convolution of 10 × 10 positions."""
    return Geometry(
        kind=kind,  # type: ignore[arg-type]
        op="add",
        groups=1,
        images=1,
        height=10,
        width=10,
        columns=filters,
        kernel=(kernel, kernel),
        in_channels=channels,
        stride=(1, 1),
        dilation=(dilation, dilation),
        input=(10, 10),
        data=0,
        weights=1,
        data_type="i8",
        weight_type="i8",
        result_type="i32",
        sum_type="i32",
    )


ARRAY = DotProduct(filters=8, channels=16, packed_channels=4)


@pytest.mark.parametrize(
    ("channels", "dilation", "steps"),
    [(3, 1, 7 * 2), (4, 1, 7 * 2), (5, 1, 49), (3, 2, 49), (16, 1, 49), (17, 1, 98)],
    ids=["row packed", "most packed", "too many to pack", "dilated", "fills a cell", "one more"],
)
def test_channels_of_an_element_are_one_step_or_those_of_a_row(
    channels: int, dilation: int, steps: int
) -> None:
    assert atoms_of(ARRAY, image(channels, 20, 7, dilation=dilation)) == Atoms(1, 100, steps, 3, 8)


def test_depthwise_channels_follow_one_another_or_have_a_cell_each() -> None:
    found = image(1, 20, 5, "depthwise")
    assert atoms_of(ARRAY, found) == Atoms(20, 100, 25, 1, 1)
    cells = DotProduct(filters=8, channels=16, depthwise="cells")
    assert atoms_of(cells, found) == Atoms(1, 100, 2, 3, 8)


def test_a_layer_that_fits_the_array_is_done_at_its_full_rate() -> None:
    machine = sim.machine("dot-256")
    nest = matmul(3200, 64, 64)
    work = Costs.of(machine).work(nest, nest.extents)
    assert work.cycles == 3200 * 4 * 4 + 16
    assert work.macs == 3200 * 64 * 64


def test_a_single_position_waits_for_weights() -> None:
    nest = matmul(1, 64, 64)
    work = Costs.of(sim.machine("dot-256")).work(nest, nest.extents)
    assert work.cycles == 16 + 4 * 4 * 16
    assert work.fill == work.cycles - 16


def test_cores_share_positions() -> None:
    machine = sim.machine("dot-256").replace({"cores": 2})
    nest = matmul(3200, 64, 64)
    assert Costs.of(machine).work(nest, nest.extents).cycles == 1600 * 4 * 4 + 16


def test_programs_for_such_an_array_compute_the_same_bits() -> None:
    graph = tj.samples.load("ds_cnn")
    case = tj.samples.path("ds_cnn").parent
    image = np.load(case / "case0_in0.npy")
    there = tj.compile(graph, target=sim.machine("nvdla-small").target)(image)
    for number, result in enumerate(there):
        np.testing.assert_array_equal(result, np.load(case / f"case0_out{number}.npy"))


def test_stages_of_a_unit_work_at_the_same_time() -> None:
    base = sim.machine("nvdla-large")
    graph = tj.samples.load("resnet8")
    busy = [
        tj.simulate(
            graph, base.replace({"vector.stages": stages, "vector.lanes": {"i8": 1, "i32": 1}})
        ).cycles
        for stages in (1, 2, 64)
    ]
    assert busy == sorted(busy, reverse=True)
    assert len(set(busy)) == 3
