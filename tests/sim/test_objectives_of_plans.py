"""Plans make least what the objective says."""

from __future__ import annotations

from typing import Any

import pytest
from holding import drawing
from holding.machines import machine
from hypothesis import given
from hypothesis import strategies as st

import sim
import tosajit as tj
from sim.cost.prices import LATER, Prices
from sim.machine.weighting import MEASURES, weighting, weights_of
from sim.report import Report
from tiling.plan import GIVEN, preferred

SEEDS = range(3000, 3024)
FIGURES = {"time": "cycles", "energy": "joules", "traffic": "offchip_bytes"}
ROOM = 1.005


def figure(report: Report, objective: str) -> float:
    """What an objective makes least."""
    found = getattr(report, FIGURES[objective])
    assert isinstance(found, float | int)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_an_objective_is_no_worse_in_its_own_measure_than_the_others(seed: int) -> None:
    _, graph = drawing.layer(seed)
    try:
        reports = {name: tj.simulate(graph, machine(seed), objective=name) for name in FIGURES}
    except tj.PlanError:
        pytest.skip("the drawn layer does not fit the drawn machine")
    for name in FIGURES:
        assert figure(reports[name], name) <= ROOM * figure(reports["time"], name)


def test_objectives_differ_where_time_costs_traffic() -> None:
    reports = [tj.simulate(tj.samples.load("resnet8"), "ethos-u85-256", objective=name) for name in FIGURES]
    times, _, traffic = reports
    assert times.cycles < traffic.cycles
    assert traffic.offchip_bytes < times.offchip_bytes


def needs(name: str) -> tuple[int, int]:
    """The cycles and the scratchpad of a sample, planned anew."""
    report = tj.simulate(tj.from_bytes(tj.to_bytes(tj.samples.load(name))), "ethos-u55-128")
    return int(report.cycles), report.peak_scratchpad_bytes


def test_weights_come_early_in_more_of_the_scratchpad_where_that_saves_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (cycles, peak), unchanged = needs("resnet8"), needs("autoencoder")
    monkeypatch.setattr("tiling.plan.GIVEN", 1.0)  # of which nothing saves as much
    longer, lower = needs("resnet8")
    assert cycles < (1 - GIVEN) * longer
    assert peak > lower
    assert needs("autoencoder") == unchanged


def test_the_objective_is_a_part_of_the_machine() -> None:
    graph, base = tj.samples.load("resnet8"), sim.machine("ethos-u85-256")
    assert base.planner.objective == "time"
    sparing = base.replace({"planner.objective": "traffic"})
    assert tj.simulate(graph, sparing) == tj.simulate(graph, base, objective="traffic")


def test_weights_weigh_traffic_against_time() -> None:
    graph, base = tj.samples.load("resnet8"), sim.machine("ethos-u85-256")
    weights: list[Any] = ["time", {"time": 1, "traffic": 10}, "traffic"]
    found = [tj.simulate(graph, base, objective=one) for one in weights]
    assert found[0].cycles < found[1].cycles <= found[2].cycles
    assert found[0].offchip_bytes > found[1].offchip_bytes >= found[2].offchip_bytes


def test_weights_weigh_energy_against_time() -> None:
    graph, base = tj.samples.load("resnet8"), sim.machine("ethos-u85-256")
    found = [tj.simulate(graph, base, objective=one) for one in ("time", "time + 10 energy", "energy")]
    assert found[0].cycles <= found[1].cycles <= found[2].cycles
    assert found[0].joules >= found[1].joules >= found[2].joules
    assert found[0].joules > found[2].joules


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ("traffic", "traffic"),
        ("1*time+0.20 traffic", "time + 0.2 traffic"),
        ("0.2 traffic + time", "time + 0.2 traffic"),
        ({"traffic": 0.2, "time": 1}, "time + 0.2 traffic"),
        ({"time": 1, "energy": 0}, "time"),
        ({"energy": 2.0, "traffic": 1e-7}, "2 energy + 1e-07 traffic"),
    ],
)
def test_a_weighting_has_one_form(given: Any, same: str) -> None:
    machine = sim.machine("tiny").replace({"planner.objective": given})
    assert machine.planner.objective == same
    assert sim.Machine(**machine.to_dict()) == machine
    again = machine.replace({"planner.objective": {"energy": 1}})
    assert again.planner.objective == "energy"


@given(st.dictionaries(st.sampled_from(MEASURES), st.floats(1e-6, 1e6), min_size=1))
def test_a_weighting_keeps_its_weights(weights: dict[str, float]) -> None:
    text = weighting(weights)
    assert weights_of(text) == weights
    assert weighting(text) == text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("beauty", "is not one of time, energy, traffic; write one, or a weighting such as time"),
        ("tims", "did you mean time?"),
        ("time + 2 time", "time is weighed twice; give it one weight"),
        ("time + lots traffic", "'time' is weighed|'lots traffic' is not a weight and a name; write time"),
        ("", "is not one of time, energy, traffic"),
        ({}, "nothing has a weight; write one of time, energy, traffic"),
        ({"time": 0}, "nothing has a weight"),
        ({"time": -1}, "time has the weight -1, but weights are 0 to 1e\\+06, e.g. 0.2"),
        ({"time": float("nan")}, "time has the weight nan"),
        ({"time": True}, "True is not a weight of 'time'"),
        ({"time": "much"}, "'much' is not a weight of 'time'"),
        (7, "7 is not one of time, energy, traffic"),
    ],
)
def test_an_objective_that_is_none_is_refused(given: Any, message: str) -> None:
    with pytest.raises(sim.MachineError, match=f"objective: .*({message})"):
        tj.simulate(tj.samples.load("resnet8"), "tiny", objective=given)


def test_prices_are_those_of_cycles() -> None:
    base = sim.machine("ethos-u55-128")
    rate, energy = base.offchip_bytes_per_cycle, base.energy
    assert rate is not None

    def prices(objective: str) -> Prices:
        return Prices.of(base.replace({"planner.objective": objective}))

    assert prices("time") == Prices(
        1.0, LATER / rate, 0.0, 0.0, counted_byte=1 / rate, later=(LATER / rate, 0.0)
    )
    assert prices("time + 2 traffic").offchip_byte == pytest.approx((LATER + 2) / rate)
    assert prices("time + 2 traffic").counted_byte == 0
    joules = prices("energy")
    second = 1e12 * energy.leakage_watts / base.clock_hz + rate * energy.picojoules_per_offchip_byte
    assert joules.offchip_byte == pytest.approx(energy.picojoules_per_offchip_byte / second)
    assert joules.scratchpad_byte == pytest.approx(energy.picojoules_per_scratchpad_byte / second)


def test_of_programs_that_cost_about_as_much_the_one_that_moves_less_is_preferred() -> None:
    costs = [(1000.0, 1200.0), (1000 * (1 + GIVEN / 2), 1100.0), (1000 * (1 + 2 * GIVEN), 1050.0)]
    assert preferred(costs) == 1
    assert preferred(costs[::2]) == 0


def test_a_plan_for_time_moves_less_where_that_takes_hardly_more() -> None:
    vela = 127_120
    machine = "ethos-u85-256/sys-dram-mid/dedicated-sram-384kb"
    report = tj.simulate(tj.samples.load("resnet8"), machine)
    assert report.offchip_bytes <= 1.02 * vela


def test_a_memory_without_limit_and_without_energies_has_prices() -> None:
    bare = {
        "offchip.bandwidth_bytes_per_second": None,
        "energy": dict.fromkeys(type(sim.machine("tiny").energy).model_fields, 0) | {"volts": None},
    }
    for objective in (*MEASURES, "time + energy + traffic"):
        found = Prices.of(sim.machine("tiny").replace({**bare, "planner.objective": objective}))
        assert found.cycle > 0 or objective == "energy"
        assert found.offchip_byte == ("traffic" in objective)


def test_a_space_varies_objectives() -> None:
    space = tj.Space("tiny", {"planner.objective": ["time", {"time": 1, "traffic": 10}, "traffic"]})
    found = tj.explore(tj.samples.load("resnet8"), space, objectives=("cycles", "offchip_bytes"))
    objectives = [found.point(number).values["planner.objective"] for number in range(len(found))]
    cycles, moved = (dict(zip(objectives, column, strict=True)) for column in found.values.T.tolist())
    assert sorted(cycles) == ["time", "time + 10 traffic", "traffic"]
    assert cycles["time"] <= cycles["traffic"]
    assert moved["time"] >= moved["time + 10 traffic"] >= moved["traffic"]
