"""Plans make least what the objective says."""

from __future__ import annotations

from typing import Literal, get_args

import pytest
from holding import drawing
from holding.machines import machine

import sim
import tosajit as tj
from sim.report import Report
from tosajit.npu.simulate import Objective

SEEDS = range(3000, 3024)
FIGURES: dict[Objective, str] = {"time": "cycles", "energy": "joules", "traffic": "offchip_bytes"}
ROOM = 1.005


def figure(report: Report, objective: Objective) -> float:
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


def test_the_objective_is_a_part_of_the_machine() -> None:
    graph, base = tj.samples.load("resnet8"), sim.machine("ethos-u85-256")
    assert base.planner.objective == "time"
    sparing = base.replace({"planner.objective": "traffic"})
    assert tj.simulate(graph, sparing) == tj.simulate(graph, base, objective="traffic")
    assert get_args(Objective) == get_args(Literal["time", "energy", "traffic"])


def test_weights_weigh_traffic_against_time() -> None:
    graph, base = tj.samples.load("resnet8"), sim.machine("ethos-u85-256")
    found = [tj.simulate(graph, base.replace({"planner.traffic_weight": some})) for some in (0, 1.5)]
    assert found[0].cycles <= found[1].cycles
    assert found[0].offchip_bytes > found[1].offchip_bytes


def test_an_objective_that_is_none_is_refused() -> None:
    with pytest.raises(sim.MachineError, match="objective"):
        tj.simulate(tj.samples.load("resnet8"), objective="beauty")  # type: ignore[arg-type]
