"""What lanes do: parts of a tile's cycles that sum to them, with reasons that are those of its shape."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim
import tosajit as tj
from sim.cost.costs import Costs
from sim.cost.support import UnsupportedError
from sim.events.reporting import apportioned
from sim.report import LANES, Report, ReportError
from tests.covering import in_turn
from tests.sim.drawing import Layers, layers, machines
from tests.sim.nests import convolution
from tests.sim.reports import report
from tests.sim.test_systolic import matmul

NAMED = [sim.machine(name).core for name in sim.machines()]
each_machine = pytest.mark.parametrize("machine", NAMED, ids=lambda machine: machine.name)


def assert_explained(machine: sim.Machine, nest: Any, tile: tuple[int, ...]) -> None:
    """The parts are some of those that have names, and sum to the cycles; products fill as many lanes."""
    costs = Costs.of(machine)
    try:
        work = costs.work(nest, tile)
    except UnsupportedError:
        return
    found = costs.lanes(nest, tile)
    assert set(found) <= set(LANES)
    assert all(cycles > 0 for cycles in found.values())
    assert sum(found.values()) == work.cycles - work.fill
    if work.macs and work.unit == "array":
        # Filling counts apart, so that less than all products may be left for the rest of the cycles.
        useful = Fraction(work.macs, machine.macs_per_cycle)
        assert found.get("useful", 0) == min(useful, work.cycles - work.fill)


@given(machines(), layers(), st.data())
def test_parts_sum_to_the_cycles_of_any_tile_on_any_machine(
    machine: sim.Machine, drawn: Layers, data: st.DataObject
) -> None:
    for nest in drawn[0]:
        tile = tuple(data.draw(st.integers(1, axis.extent)) for axis in nest.axes)
        assert_explained(machine, nest, tile)
        assert_explained(machine, nest, nest.extents)


@each_machine
@given(drawn=layers())
def test_parts_sum_to_the_cycles_on_every_named_machine(machine: sim.Machine, drawn: Layers) -> None:
    for nest in drawn[0]:
        assert_explained(machine, nest, nest.extents)


@pytest.mark.parametrize(
    ("named", "name"), in_turn(sim.machines(), ["ds_cnn", "resnet8", "transformer_tiny"])
)
def test_parts_of_a_report_sum_to_its_computing(named: str, name: str) -> None:
    machine = sim.machine(named).core
    made = tj.simulate(tj.samples.load(name), machine)
    for one in made.operators:
        assert sum(one.lanes.values()) == one.cycles.get("compute", 0)
        assert sum(one.spent.values()) == one.total
        assert "other" not in one.lanes
    assert sum(made.lanes.values()) == made.causes["compute"]
    assert sum(made.spent.values()) == made.cycles
    analytic = tj.simulate(tj.samples.load(name), machine, mode="analytic")
    assert sum(analytic.lanes.values()) == analytic.causes["compute"]


FULL = {
    "systolic-16": (160, 64, 48),
    "systolic-128": (1280, 256, 128),
    "tpu-v1": (300, 256, 512),
    "dot-256": (64, 64, 32),
}


@pytest.mark.parametrize("name", FULL)
def test_all_lanes_of_a_full_array_do_useful_work(name: str) -> None:
    nest = matmul(*FULL[name])
    assert set(Costs.of(sim.machine(name)).lanes(nest, nest.extents)) == {"useful"}


CASES: dict[str, Any] = {
    "three channels": (convolution((1, 16, 16, 3), (128, 5, 5, 3)), "channels"),
    "two filters": (convolution((1, 16, 16, 64), (2, 1, 1, 64)), "filters"),
    "depthwise": (convolution((1, 18, 18, 64), (3, 3, 64, 1), depthwise=True), "depthwise"),
}
NAMES = ("systolic-128", "ethos-u55-128", "ethos-u85-256", "nvdla-small")


@pytest.mark.parametrize(("case", "name"), list(product(CASES, NAMES)))
def test_the_main_reason_is_that_of_the_shape(case: str, name: str) -> None:
    nest, reason = CASES[case]
    found = dict(Costs.of(sim.machine(name)).lanes(nest, nest.extents))
    del found["useful"]
    assert max(found, key=lambda one: found[one]) == reason


def test_a_fold_that_is_not_full_is_an_edge_and_a_small_layer_is_not() -> None:
    costs = Costs.of(sim.machine("systolic-16"))
    whole, small = matmul(100, 32, 24), matmul(100, 32, 8)
    assert costs.lanes(whole, whole.extents) == {"useful": 300, "edges": 100}
    assert costs.lanes(small, small.extents) == {"useful": 100, "filters": 100}
    # A tile of a large layer that is smaller than the array is at its edge.
    cut = tuple(8 if extent == 24 else extent for extent in whole.extents)
    assert set(costs.lanes(whole, cut)) == {"useful", "edges"}


def test_wide_operands_take_passes() -> None:
    machine = sim.machine("systolic-16").replace({"array.rates": {"8x8": 0.5}})
    nest = matmul(100, 32, 32)
    assert Costs.of(machine).lanes(nest, nest.extents) == {"useful": 400, "types": 400}


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=9), st.integers(0, 10**12), st.integers(1, 97))
def test_cycles_are_apportioned_to_the_last(shares: list[int], total: int, parts: int) -> None:
    named = {name: Fraction(share, parts) for name, share in zip(LANES, shares, strict=False)}
    found = apportioned(named, total)
    assert sum(found.values()) == (total if sum(shares) else 0)
    whole = sum(named.values())
    assert all(abs(count - total * named[name] / whole) < 1 for name, count in found.items())


def test_reports_show_what_lanes_do(tmp_path: Any) -> None:
    made = tj.simulate(tj.samples.load("ds_cnn"), "ethos-u55-128")
    text = str(made)
    assert "useful 24 %, idle 62 %" in text
    assert "idle lanes  depthwise 34 %, channels 25 %" in text
    assert Report.from_json(made.to_json()) == made
    header, *rows = made.to_csv().splitlines()
    place = header.split(",").index("lanes_depthwise")
    assert int(rows[-1].split(",")[place]) == made.lanes["depthwise"]
    arguments = [event["args"] for event in made.trace()["traceEvents"] if event.get("cat") == "operator"]
    assert sum(one.get("cycles of lanes: depthwise", 0) for one in arguments) == made.lanes["depthwise"]


def test_lanes_of_another_sum_are_refused() -> None:
    made = report(1)
    (one,) = made.operators
    with pytest.raises(ReportError, match=r"what lanes do sums to 7 cycles, but \d+ are computing"):
        replace(made, operators=(replace(one, lanes={"useful": 7}),))
    with pytest.raises(ReportError, match="coffee: no such use of lanes"):
        replace(made, operators=(replace(one, lanes={"coffee": 7}),))


def test_a_report_without_lanes_says_compute() -> None:
    made = report(1)
    (one,) = made.operators
    bare = replace(made, operators=(replace(one, lanes={}),))
    assert "compute" in bare.spent
    assert "useful" not in str(bare)
