"""The closed form of many machines ranks them as the event simulator does."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sim
import tosajit as tj
from sim.analytic import Workload, evaluate
from sim.cost.weights import coding
from sim.report import Report
from tests import models
from tests.sim.ranking import FAMILIES, drawn, spearman
from tosajit.compiler.planning import stored_operands
from tosajit.npu.simulate import Network
from tosajit.runtime.body import Compute

FIGURES = ("cycles", "seconds", "joules", "offchip_bytes")
"""Names of what both simulators say of a machine."""
LIKE, ALIKE = 0.98, 0.95
"""Rank correlations of times, and of energy and traffic."""


@cache
def network(name: str) -> tuple[tj.Graph, Network]:
    """A model, fused once."""
    return models.graph(name), Network.of(models.graph(name))


@cache
def workload(model: str, kind: str, machine: sim.Machine) -> Workload:
    """The table of a model, its weights as such a machine stores them; `kind` names the way."""
    (groups,) = (step.groups for step in network(model)[1].body.steps if isinstance(step, Compute))
    return Workload.of(groups.nests, stored_operands(groups, machine))


def closed(model: str, machines: list[sim.Machine]) -> dict[str, np.ndarray]:
    """What the closed form says of machines."""
    found = {name: np.empty(len(machines)) for name in FIGURES}
    first: dict[str, sim.Machine] = {}
    for machine in machines:
        first.setdefault(coding(machine), machine)
    for kind, one in first.items():
        numbers = [number for number, machine in enumerate(machines) if coding(machine) == kind]
        estimates = evaluate(workload(model, kind, one), [machines[number] for number in numbers])
        assert estimates.feasible.all()
        for name, values in found.items():
            values[numbers] = getattr(estimates, name)
    return found


def followed(model: str, machines: list[sim.Machine]) -> dict[str, np.ndarray]:
    """What the event simulator says of them."""
    reports: list[Report] = [tj.simulate(network(model)[0], machine) for machine in machines]
    return {name: np.array([getattr(report, name) for report in reports]) for name in FIGURES}


def likeness(model: str, machines: list[sim.Machine]) -> dict[str, float]:
    """Rank correlations of all figures."""
    one, other = closed(model, machines), followed(model, machines)
    found = {name: spearman(one[name], other[name]) for name in FIGURES}
    print(model, machines[0].name, len(machines), {n: round(value, 4) for n, value in found.items()})
    return found


def few() -> list[sim.Machine]:
    """Some machines of each family."""
    return [machine for family in FAMILIES for machine in drawn(family, 0, 8)]


def test_a_few_machines_of_each_family_are_ranked_as_the_event_simulator_ranks_them() -> None:
    found = likeness("ds_cnn", few())
    assert found["seconds"] >= LIKE
    assert found["cycles"] >= LIKE


@pytest.mark.parametrize("changes", [{"memory.copied": "all"}, {}], ids=["all", "as-machines-copy"])
def test_plans_for_energy_and_traffic_are_ranked_by_these(changes: dict[str, str]) -> None:
    """Each figure by the plans that are made for it: those for time move bytes where that takes none."""
    for objective, figure in (("energy", "joules"), ("traffic", "offchip_bytes")):
        sparing = [machine.replace({**changes, "planner.objective": objective}) for machine in few()]
        assert likeness("ds_cnn", sparing)[figure] >= ALIKE


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("model", ["mobilenet_v2", "resnet8"])
def test_two_hundred_machines_are_ranked_as_the_event_simulator_ranks_them(
    model: str, family: str, seed: int
) -> None:
    assert likeness(model, drawn(family, seed, 200))["seconds"] >= LIKE


def test_both_simulators_mean_the_same_by_their_figures() -> None:
    machine = sim.machine("systolic-32").replace({"energy.leakage_watts": 0.05})
    report = tj.simulate(network("ds_cnn")[0], machine)
    found = {name: float(values[0]) for name, values in closed("ds_cnn", [machine]).items()}
    assert report.seconds == report.cycles / machine.clock_hz
    for name in FIGURES:
        assert found[name] == pytest.approx(getattr(report, name), rel=0.05)
    assert report.offchip_bytes == sum(
        size for (memory, _, _), size in report.traffic.items() if memory == "offchip"
    )


def test_ranks_of_equal_values_are_shared() -> None:
    one = np.array([3.0, 1.0, 1.0, 2.0])
    assert spearman(one, one) == pytest.approx(1)
    assert spearman(one, -one) == pytest.approx(-1)
    assert spearman(one, np.array([4.0, 2.0, 2.0, 3.0])) == pytest.approx(1)
    assert spearman(np.ones(3), np.arange(3.0)) == 0
