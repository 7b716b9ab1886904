"""The closed forms: near what is followed command by command, and of one mind with it about machines."""

from __future__ import annotations

import random
from random import Random

import numpy as np
import pytest
from numpy.typing import ArrayLike

import sim
import tosajit as tj
from sim.analytic import Workload, estimate, evaluate
from sim.cost.costs import Costs
from sim.events import simulate
from sim.machine.arrays import MacArray
from tests.planning.test_cascade import layers
from tests.sim.test_costs import typed
from tests.sim.test_systolic import machine as ideal
from tests.sim.test_systolic import matmul
from tiling.program import Operand
from tosajit.arrays import Array
from tosajit.compiler.planning import planned_for
from tosajit.compiler.segment import Groups
from tosajit.errors import PlanError
from tosajit.npu.simulate import Network
from tosajit.runtime.body import Compute

NAMES = (
    "tiny",
    "systolic-16",
    "systolic-128",
    "eyeriss-v1",
    "ethos-u55-64",
    "ethos-u65-256",
    "ethos-u85-512",
)


@pytest.fixture(scope="module")
def groups() -> Groups:
    steps = Network(tj.samples.load("ds_cnn")).body.steps
    (found,) = [step.groups for step in steps if isinstance(step, Compute)]
    return found


@pytest.fixture(scope="module")
def workload(groups: Groups) -> Workload:
    return Workload.of(groups.nests, groups.operands)


def drawn(chance: Random) -> sim.Machine:
    """A systolic machine by chance."""
    size = chance.choice((8, 16, 32, 64))
    lanes = {kind: size for kind in ("bool", "i8", "i16", "i32", "i64")}
    base = sim.machine("systolic-16")
    array = sim.Systolic(
        rows=size,
        columns=chance.choice((8, 32)),
        dataflow=chance.choice(("output", "weight", "input")),
        rates=array_of(base).rates,
    )
    return base.model_copy(
        update={
            "clock_hz": chance.choice((2e8, 1e9)),
            "array": array,
            "offchip": sim.OffChip(
                bandwidth_bytes_per_second=chance.choice((2e8, 1e9, 8e9)), read_latency_cycles=50
            ),
            "scratchpad": sim.Scratchpad(bytes=chance.choice((24, 48, 256)) << 10, bytes_per_cycle=128),
            "vector": sim.VectorUnit(lanes=lanes, table_lookups_per_cycle=4),
            "reduction": sim.ReductionUnit(lanes=lanes),
            "sources": {},
        }
    )


def array_of(machine: sim.Machine) -> MacArray:
    assert machine.array is not None
    return machine.array


def ranks(values: ArrayLike) -> Array:
    return np.argsort(np.argsort(values))


@pytest.mark.parametrize("name", NAMES)
def test_the_closed_form_of_a_network_is_near(name: str, groups: Groups) -> None:
    machine = sim.machine(name)
    program = planned_for(groups, machine).program
    followed, closed = simulate(program, machine), estimate(program, machine)
    assert closed.mode == "analytic"
    assert closed.cycles == pytest.approx(followed.cycles, rel=0.05)
    assert closed.causes["compute"] == pytest.approx(followed.causes["compute"], rel=0.05)
    assert closed.traffic == followed.traffic


def test_causes_of_a_closed_form_sum_to_its_cycles(groups: Groups) -> None:
    machine = sim.machine("systolic-16").model_copy(update={"launch_overhead_cycles": 777})
    report = estimate(planned_for(groups, machine).program, machine)
    assert sum(operator.total for operator in report.operators) == report.cycles
    assert report.causes["launch"] == 777


def test_many_machines_at_once_are_ranked_as_one_by_one(groups: Groups, workload: Workload) -> None:
    chance = random.Random("machines")
    machines = [drawn(chance) for _ in range(24)]
    found = evaluate(workload, machines)
    followed = [simulate(planned_for(groups, one).program, one) for one in machines]
    seconds = [report.latency_seconds for report in followed]
    assert found.feasible.all()
    assert np.corrcoef(ranks(found.seconds), ranks(seconds))[0, 1] >= 0.98
    assert np.median(np.abs(np.log(found.seconds / seconds))) < 0.1


def test_machines_that_are_alike_have_one_estimate_wherever_they_stand(workload: Workload) -> None:
    chance = random.Random("places")
    machines = [drawn(chance) for _ in range(6)] + [sim.machine(name) for name in NAMES]
    together = evaluate(workload, machines * 2)
    assert together.cycles[: len(machines)].tolist() == together.cycles[len(machines) :].tolist()
    for number in (0, 5, 8, 11):
        assert evaluate(workload, [machines[number]]).cycles[0] == together.cycles[number]


def test_a_machine_has_one_estimate_whatever_it_is_asked_with() -> None:
    chain = Workload.of(*layers(6, 256))
    base = sim.machine("systolic-16")
    machines = [base.replace({"scratchpad.bytes": size}) for size in range(9_000, 70_000, 1_700)]
    together = evaluate(chain, machines)
    alone = [evaluate(chain, [one]).cycles[0] for one in machines]
    assert together.cycles.tolist() == alone


def test_no_machine_is_faster_than_its_array_and_its_memory(workload: Workload) -> None:
    chance = random.Random("bounds")
    machines = [drawn(chance) for _ in range(50)]
    found = evaluate(workload, machines)
    for machine, cycles, size in zip(machines, found.cycles, found.offchip_bytes, strict=True):
        assert cycles * machine.macs_per_cycle >= workload.macs.sum()
        assert cycles * machine.offchip_bytes_per_cycle >= 0.999 * size


def test_a_product_with_ideal_memories_takes_what_its_folds_take() -> None:
    operands = {
        "a": Operand("a", "i8", 40 * 30, "input"),
        "b": Operand("b", "i8", 50 * 30, "constant"),
        "c": Operand("c", "i32", 40 * 50, "output"),
    }
    workload = Workload.of([matmul(40, 30, 50)], operands)
    machine = ideal(16, 16, "output")
    assert evaluate(workload, [machine]).cycles[0] == 3 * 4 * (30 + 30)


def test_what_has_no_room_or_no_type_is_not_feasible(workload: Workload) -> None:
    base = sim.machine("systolic-16")
    small = base.model_copy(update={"scratchpad": sim.Scratchpad(bytes=64), "sources": {}})
    floats = base.model_copy(
        update={
            "array": array_of(base).model_copy(update={"rates": {"fp16": 1.0}}),
            "missing_types": "refuse",
            "sources": {},
        }
    )
    found = evaluate(workload, [small, floats, base])
    assert found.feasible.tolist() == [False, False, True]
    assert np.isinf(found.cycles[:2]).all()
    assert found.best(1) == (base,)
    first, second, third = found.reasons
    assert first.startswith(
        "scratchpad: layer_67 + layer_68 + layer_69 needs at least 80 bytes, but it has 64;"
    )
    assert first.endswith("more scratchpad.bytes, or let units access memory with memory.direct")
    assert second.startswith("types: layer_67 + layer_68 + layer_69: the array of the machine has no 8x8,")
    assert third == ""


@pytest.mark.parametrize("direct", [False, True])
def test_machines_are_feasible_where_there_is_a_plan(
    direct: bool, groups: Groups, workload: Workload
) -> None:
    base = sim.machine("systolic-16").replace({"memory.direct": direct})
    machines = [base.replace({"scratchpad.bytes": size}) for size in (64, 128, 512, 1500, 4096, 1 << 14)]

    def has_plan(machine: sim.Machine) -> bool:
        try:
            return bool(planned_for(groups, machine))
        except PlanError:
            return False

    found = evaluate(workload, machines)
    assert found.feasible.tolist() == [has_plan(machine) for machine in machines]
    assert [reason == "" for reason in found.reasons] == found.feasible.tolist()


def test_an_empty_search_finds_nothing(workload: Workload) -> None:
    found = evaluate(workload, [])
    assert len(found) == 0
    assert found.best() == ()


def test_types_that_an_array_lacks_are_estimated_on_the_vector_unit() -> None:
    operands = {
        "a": Operand("a", "f32", 64, "input"),
        "b": Operand("b", "f32", 64, "constant"),
        "c": Operand("c", "f32", 64, "output"),
    }
    nest = typed("f32", "f32", "f32")
    machine = ideal(1, 1, "weight")
    found = evaluate(Workload.of([nest], operands), [machine])
    assert found.feasible.all()
    assert found.cycles[0] >= Costs.of(machine).work(nest, nest.extents).cycles
