"""Kinds of array, all held to the same: whatever is in the registry."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import sim
import tosajit as tj
from sim.analytic import Workload, evaluate
from sim.cost.arrays import ArrayCosts, ClosedForm, Layers, Product, costs_of
from sim.cost.costs import Costs
from sim.explore.area import column, macs
from sim.explore.errors import WorkerError
from sim.explore.work import Evaluator
from sim.explore.workers import packed
from sim.machine.arrays import ARRAYS, BYTES_ONLY, MacArray, Side
from sim.machine.machine import Machine
from sim.machine.parts import Rates
from sim.machine.paths import leaves
from tests.sim.test_systolic import matmul
from tosajit.compiler.segment import Groups
from tosajit.npu.simulate import Network
from tosajit.runtime.body import Compute

ROOT = Path(__file__).parents[2]
NAMED = [sim.machine(name) for name in sim.machines()]
KNOW_KINDS = (
    "sim/machine/arrays.py",
    "sim/machine/ethos.py",
    "sim/machine/generic.py",
    "sim/machine/nvdla.py",
    "sim/machine/simba.py",
    "sim/__init__.py",
)
"""Beside sim/cost/: a kind's part, machines that have one, and what users import."""
each_kind = pytest.mark.parametrize("kind", tuple(ARRAYS))
SIZES = [(1, 1, 1), (7, 30, 4), (64, 5, 64), (100, 17, 1), (40, 300, 50), (3, 64, 200)]


def example(kind: str) -> Machine:
    """A named machine with such an array."""
    return next(one for one in NAMED if one.array is not None and one.array.kind == kind)


@pytest.fixture(scope="module")
def groups() -> Groups:
    steps = Network(tj.samples.load("ds_cnn")).body.steps
    (found,) = [step.groups for step in steps if isinstance(step, Compute)]
    return found


@pytest.fixture
def forgets() -> Iterator[None]:
    """Forget the kinds that a test registers."""
    known = set(ARRAYS)
    yield
    for name in set(ARRAYS) - known:
        del ARRAYS[name]


@each_kind
def test_a_kind_has_costs_and_a_machine_that_files_know(kind: str, tmp_path: Path) -> None:
    machine = example(kind)
    array = machine.array
    assert array is not None
    assert isinstance(costs_of(array), ArrayCosts)
    assert array.describe() in repr(machine)
    machine.save(tmp_path / "one.json")
    loaded = sim.load_machine(tmp_path / "one.json")
    assert loaded == machine
    assert type(loaded.array) is ARRAYS[kind]


def test_products_a_cycle_of_machines_are_those_of_columns() -> None:
    bare = NAMED[0].replace({"array": None, "memory.compressed_weights": False, "name": "bare"})
    machines = [*NAMED, bare]

    def look(path: str) -> Any:
        found: list[Any] = machines
        for step in path.split("."):
            found = [getattr(one, step, None) for one in found]
        return column(path, found)

    assert macs(look).tolist() == [one.macs_per_cycle for one in machines]
    assert bare.macs_per_cycle == 0


@each_kind
@pytest.mark.parametrize("size", SIZES)
def test_no_product_is_faster_than_the_array(kind: str, size: tuple[int, int, int]) -> None:
    machine, nest = example(kind), matmul(*size)
    work = Costs.of(machine).work(nest, nest.extents)
    assert work.unit == "array"
    assert work.macs == np.prod(size)
    assert work.cycles * machine.macs_per_cycle >= work.macs
    pairs = zip(work.traffic, nest.accesses, strict=True)
    assert all(moved >= access.bytes for moved, access in pairs if np.prod(access.shape) > 1)


@each_kind
def test_a_machine_has_one_estimate_whatever_differs_from_it(kind: str, groups: Groups) -> None:
    """Work is kept for machines that share what it depends on; if anything lacked there, it were stale."""
    base = example(kind).replace({"memory.direct": True})
    machines = [base, *variants(base)]
    together = evaluate(Workload.of(groups.nests, groups.operands), machines)
    alone = [evaluate(Workload.of(groups.nests, groups.operands), [one]).cycles[0] for one in machines]
    assert together.cycles.tolist() == alone
    assert len(set(alone)) > len(machines) / 5


def variants(base: Machine) -> Iterator[Machine]:
    """The machine with another value in one field, for each field that can have one."""
    for path, value, _ in leaves(base):
        if path.startswith("energy."):  # takes no time
            continue
        for other in others(value):
            try:
                yield base.replace({path: other})
            except sim.MachineError:
                continue
            break


def others(value: Any) -> list[Any]:
    """What may stand in place of a value."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value * 2, value + 1, value / 2]
        case str():
            return ["scratchpad", "offchip", "sram", "refuse", "output", "u65"]
        case dict():
            return [{**value, **{key: other for key, one in value.items() for other in others(one)[:1]}}]
        case _:
            return [64, 3.5e8]


@each_kind
def test_a_closed_form_says_what_tiles_take(kind: str) -> None:
    machine = example(kind)
    array = machine.array
    assert array is not None
    costs = costs_of(array)
    if not isinstance(costs, ClosedForm):
        assert not hasattr(costs, "figures")
        return
    layers = Product(*np.array([[1] * len(SIZES), *zip(*SIZES, strict=True)], float)[:, None])
    one = np.ones((1, len(SIZES)))
    figures = np.array([costs.figures(array)], float)
    cycles, words = costs.products(figures, Layers(layers, one, one, one[:, :1], one, one))
    works = [Costs.of(machine).work(nest, nest.extents) for nest in (matmul(*size) for size in SIZES)]
    assert cycles[0].tolist() == [dict(work.detail)["mac_cycles"] for work in works]
    assert words.inputs[0].tolist() == [work.traffic[0] for work in works]
    assert words.weights[0].tolist() == [work.traffic[1] for work in works]


def test_only_a_kind_knows_itself() -> None:
    """No other module names the class of a kind, or what its `kind` says."""
    classes, kinds = {one.__name__ for one in ARRAYS.values()}, set(ARRAYS)
    found = []
    for file in sorted((ROOT / "sim").rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        if name in KNOW_KINDS or name.startswith(("sim/cost/arrays/", "sim/cost/ethos/")):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            known = isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).split(".")[-1] in classes
            said = isinstance(node, ast.Constant) and node.value in kinds
            found += [f"{name}:{node.lineno}"] if known or said else []  # type: ignore[attr-defined]
    assert found == []


@pytest.fixture
def serial(forgets: None) -> None:
    """A kind in a module of its own, as if that had just been imported."""
    from tests.sim.serial_array import Serial

    ARRAYS["serial"] = Serial


@pytest.mark.usefixtures("serial")
def test_a_kind_of_ones_own_is_simulated_estimated_and_explored(groups: Groups) -> None:
    base = sim.machine("systolic-16")
    machines = [
        base.replace({"name": f"serial {lanes}", "array": {"kind": "serial", "lanes": lanes}})
        for lanes in (1, 16)
    ]
    slow, fast = (tj.simulate(tj.samples.load("ds_cnn"), one) for one in machines)
    assert slow.macs == fast.macs > 0
    assert slow.cycles >= slow.macs
    assert slow.cycles / 10 > fast.cycles >= fast.macs / 16
    found = evaluate(Workload.of(groups.nests, groups.operands), [*machines, base])
    assert found.cycles[0] == pytest.approx(slow.cycles, rel=0.1)
    assert found.cycles[2] == evaluate(Workload.of(groups.nests, groups.operands), [base]).cycles[0]
    space = sim.Space(machines[0], {"array.lanes": [1, 4, 16]}, ["macs <= 4"])
    explored = tj.explore(tj.samples.load("ds_cnn"), space, objectives=["latency", "area"], workers=1)
    assert {point.values["array.lanes"] for point in explored.front()} == {1, 4}


@pytest.mark.usefixtures("serial")
def test_a_kind_is_told_the_rate_of_its_types() -> None:
    machine = sim.machine("systolic-16").replace({"array": {"kind": "serial", "lanes": 8}})
    nest = matmul(9, 10, 11)
    assert Costs.of(machine).work(nest, nest.extents).cycles == -(-990 // 8)
    slower = machine.replace({"array.rates.8x8": 0.5})
    assert Costs.of(slower).work(nest, nest.extents).cycles == 2 * -(-990 // 8)


@pytest.mark.usefixtures("forgets")
def test_workers_are_not_sent_what_only_a_script_knows() -> None:
    class Scripted(MacArray):
        factors = ("lanes",)
        kind: Literal["scripted"] = "scripted"
        lanes: Side
        rates: Rates = BYTES_ONLY

    Scripted.__module__ = "__main__"
    parts = [{"kind": "scripted", "lanes": 4}, {"kind": "systolic", "rows": 4, "columns": 4}]
    space = sim.Space("systolic-16", {"array": parts})
    with pytest.raises(WorkerError, match="'scripted' is defined in a script or a notebook"):
        packed(Evaluator(space, (), ()))
    others = sim.Space("systolic-16", {"array": parts[1:]})
    assert Scripted not in pickle.loads(packed(Evaluator(others, (), ()))).kinds


@pytest.mark.usefixtures("forgets")
def test_a_kind_without_costs_is_told_when_its_costs_are_asked_for() -> None:
    class Odd(MacArray):
        factors = ("lanes",)
        kind: Literal["odd"] = "odd"
        lanes: Side
        rates: Rates = BYTES_ONLY

    machine = sim.machine("systolic-16").replace({"array": {"kind": "odd", "lanes": 8}})
    with pytest.raises(TypeError, match=r"arrays of kind 'odd'; .*costs_for\(Odd\)"):
        tj.simulate(tj.samples.load("ds_cnn"), machine)


@pytest.mark.usefixtures("forgets")
def test_what_a_class_of_a_kind_lacks_is_told_where_it_is_defined() -> None:
    with pytest.raises(TypeError, match="Nameless is a kind of array, so it says which"):

        class Nameless(MacArray):
            lanes: Side

    with pytest.raises(TypeError, match="Rateless: an array has rates among its fields"):

        class Rateless(MacArray):
            factors = ("lanes",)
            kind: Literal["rateless"] = "rateless"
            lanes: Side

    with pytest.raises(TypeError, match="Slow: factors names the fields"):

        class Slow(MacArray):
            kind: Literal["slow"] = "slow"
            rates: Rates = BYTES_ONLY

    with pytest.raises(TypeError, match="'systolic' is the kind of Systolic"):

        class Second(sim.Systolic):
            depth: Side

    assert not {"rateless", "slow"} & set(ARRAYS)


@pytest.mark.usefixtures("forgets")
def test_a_kind_may_be_defined_again_as_notebooks_do() -> None:
    def defined() -> type[MacArray]:
        class Again(MacArray):
            factors = ("lanes",)
            kind: Literal["again"] = "again"
            lanes: Side
            rates: Rates = BYTES_ONLY

        return Again

    first, second = defined(), defined()
    machine = sim.machine("systolic-16").replace({"array": {"kind": "again", "lanes": 2}})
    assert type(machine.array) is second
    with pytest.raises(sim.MachineError, match="kind is that of Again, which another class has taken"):
        machine.model_copy(update={"array": first.model_validate({"kind": "again", "lanes": 2})})
