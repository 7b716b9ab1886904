"""Explorations of models: workloads that say what simulations say, and `tj.explore` as a whole."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import sim
import tosajit as tj
from sim.analytic import Workload, evaluate
from sim.explore import workers
from sim.explore.work import Impossible
from tosajit import ops
from tosajit.npu import explore
from tosajit.npu.explore import GraphWork, _Sums, works_of
from tosajit.npu.simulate import Network
from tosajit.runtime.body import Compute

ROOT = Path(__file__).parents[1]
MODEL = tj.samples.path("ds_cnn")
SPACE = tj.Space(
    "systolic-16",
    {
        "array.rows": [8, 16, 32],
        "array.dataflow": ["weight", "output"],
        "scratchpad.bytes": tj.Range(1 << 14, 1 << 20, scale="log"),
        "planner.cascading": [True, False],
    },
)


def machines(launch: int = 0) -> list[sim.Machine]:
    """Machines of all kinds, some of which decode weights."""
    names = ("ethos-u55-128", "ethos-u85-256", "systolic-16", "ethos-u55-32")
    return [sim.machine(name).replace({"launch_overhead_cycles": launch}) for name in names]


def value(name: str = "x", shape: tuple[int, ...] = (1, 16, 16, 8)) -> tj.Value:
    return tj.Value(name, tj.INT8, shape)


def added(x: tj.ops.Tensor) -> tj.ops.Tensor:
    """A layer."""
    return ops.max_pool2d(x, kernel=(3, 3), stride=(1, 1), pad=(1, 1, 1, 1))


def work_of(graph: tj.Graph, **options: Any) -> GraphWork:
    return GraphWork("g", tj.to_bytes(graph), **options)


def test_a_plain_graph_is_its_workload_with_weights_as_machines_store_them() -> None:
    work, graph = work_of(tj.load(MODEL)), tj.load(MODEL)
    many = machines()
    found = work.analytic(many)
    (step,) = Network.of(graph).body.steps
    assert isinstance(step, Compute)
    groups = step.groups
    plain = evaluate(Workload.of(groups.nests, groups.operands), many)
    coded = [one.memory.compressed_weights for one in many]
    assert any(coded)
    assert not all(coded)
    for number, same in enumerate(not one for one in coded):
        assert bool(found.offchip_bytes[number] == plain.offchip_bytes[number]) is same
    for number, machine in enumerate(many):
        alone = work.analytic([machine])
        assert [alone.cycles[0], alone.joules[0]] == [found.cycles[number], found.joules[number]]


def test_events_are_those_of_simulate() -> None:
    machine = sim.machine("ethos-u55-128")
    assert work_of(tj.load(MODEL)).events(machine).cycles == tj.simulate(MODEL, machine).cycles


def test_what_does_not_fit_has_the_reason_of_the_planner() -> None:
    tiny = sim.machine("systolic-16").replace({"scratchpad.bytes": 64, "memory.activations": "scratchpad"})
    work = work_of(tj.load(MODEL))
    with pytest.raises(Impossible, match="bytes"):
        work.events(tiny)
    found = work.analytic([tiny, sim.machine("systolic-16")])
    assert [bool(reason) for reason in found.reasons] == [True, False]
    for column in (found.cycles, found.seconds, found.joules, found.offchip_bytes):
        assert np.isnan(column).tolist() == [True, False]


def test_programs_one_after_another_are_launched_once() -> None:
    def counted(x: tj.ops.Tensor) -> tj.ops.Tensor:
        held = ops.variable("held", np.zeros((1, 16, 16, 8), np.int8))
        held.write(added(x))
        return added(held.read())

    work = work_of(tj.trace(counted, value()))
    none, some = work.analytic(machines()), work.analytic(machines(launch=1000))
    assert np.array_equal(some.cycles, none.cycles + 1000)
    assert np.allclose(some.seconds, none.seconds + 1000 / np.array([one.clock_hz for one in machines()]))
    for machine, cycles in zip(machines(launch=1000), some.cycles, strict=True):
        events = work.events(machine).cycles
        assert events == pytest.approx(cycles, rel=0.6)


def test_of_two_branches_the_slower_one_counts() -> None:
    def branches(x: tj.ops.Tensor, y: tj.ops.Tensor) -> object:
        return ops.cond_if(x, lambda: added(added(y)), lambda: y)

    def other(x: tj.ops.Tensor, y: tj.ops.Tensor) -> object:
        return ops.cond_if(x, lambda: y, lambda: added(added(y)))

    flag = tj.Value("c", tj.BOOL, ())
    graphs = [tj.trace(one, flag, value()) for one in (branches, other)]
    plain = work_of(tj.trace(lambda y: added(added(y)), value())).analytic(machines(launch=50))
    for graph in graphs:
        found = work_of(graph).analytic(machines(launch=50))
        assert np.array_equal(found.cycles, plain.cycles)
        assert np.allclose(found.joules, plain.joules)
        assert np.array_equal(found.offchip_bytes, plain.offchip_bytes)


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_loops_run_as_often_as_is_said(trips: int) -> None:
    def looped(n: tj.ops.Tensor, x: tj.ops.Tensor) -> object:
        return ops.while_loop(lambda n, x: n > np.int32(0), lambda n, x: (n - np.int32(1), added(x)), n, x)

    graph = tj.trace(looped, tj.Value("n", tj.INT32, ()), value())
    parts = [work_of(graph, loop_trips=count).analytic(machines()).cycles for count in (0, 1)]
    found = work_of(graph, loop_trips=trips)
    assert np.array_equal(found.analytic(machines()).cycles, parts[0] + trips * (parts[1] - parts[0]))
    for machine, cycles in zip(machines(), found.analytic(machines()).cycles, strict=True):
        closed = tj.simulate(graph, machine, mode="analytic", loop_trips=trips).cycles
        assert cycles == pytest.approx(closed, rel=0.6)


def test_a_workload_is_sent_with_its_tables_and_needs_no_graph_to_use_them() -> None:
    work = work_of(tj.load(MODEL))
    work.prepare(machines())
    copy = pickle.loads(pickle.dumps(work))
    assert "network" not in vars(copy)
    assert np.array_equal(copy.analytic(machines()).cycles, work.analytic(machines()).cycles)
    assert "network" not in vars(copy)
    assert copy.digest == work.digest


def test_the_digest_is_of_all_that_figures_depend_on() -> None:
    graph, other = (tj.trace(added, value(shape=(1, 8, 8, n))) for n in (1, 2))
    made = [work_of(graph), work_of(other), work_of(graph, loop_trips=2), work_of(graph, level="none")]
    assert len({one.digest for one in made}) == 4
    assert work_of(graph, weight=2.0).digest == made[0].digest


def test_models_may_be_given_in_many_ways() -> None:
    graph = tj.load(MODEL)
    for given, names, weights in (
        (MODEL, ["ds_cnn"], [1]),
        (str(MODEL), ["ds_cnn"], [1]),
        (graph, ["graph"], [1]),
        ([MODEL, graph, graph], ["ds_cnn", "graph", "graph_2"], [1, 1, 1]),
        ({"a": MODEL, "b": graph}, ["a", "b"], [1, 1]),
        ({MODEL: 2, graph: 0.5}, ["ds_cnn", "graph"], [2, 0.5]),
    ):
        works, places = works_of(given)
        assert [one.name for one in works] == names
        assert [one.weight for one in works] == weights
        assert set(places.values()) <= {str(MODEL)}
    assert [one.weight for one in works_of({"a": MODEL, "b": graph}, {"b": 3})[0]] == [1, 3]
    assert [one.weight for one in works_of([MODEL, graph], [5, 6])[0]] == [5, 6]


@pytest.mark.parametrize(
    ("models", "weights", "text"),
    [
        ([], None, "no model"),
        ([MODEL], [1, 2], "1 models, but 2 weights"),
        ([MODEL], {"x": 1}, "a weight for x, but the models are ds_cnn"),
        ({MODEL: -1}, None, "must be a number of at least 0"),
    ],
)
def test_wrong_models_and_weights_are_refused(models: object, weights: object, text: str) -> None:
    with pytest.raises(tj.InputError, match=text):
        works_of(models, weights)  # type: ignore[arg-type]


def test_explore_gives_the_same_with_and_without_workers() -> None:
    found = [tj.explore(MODEL, SPACE, points=200, workers=count, confirm=2) for count in (0, 2)]
    assert found[0].candidates == found[1].candidates
    for name, column in found[0].outcomes.columns.items():
        assert np.array_equal(column, found[1].outcomes.columns[name], equal_nan=True)
    assert len(found[0].confirmed) == 2
    for number, outcome in found[0].confirmed.items():
        events = tj.simulate(MODEL, found[0].machine(number))
        assert outcome.columns["latency"][0] == events.latency_seconds
        assert found[1].confirmed[number].columns["latency"][0] == events.latency_seconds


def test_sums_over_models_have_their_weights(tmp_path: Path) -> None:
    graph = tj.trace(added, value())
    found = tj.explore({"a": MODEL, "b": graph}, SPACE, points=20, weights={"b": 3.0}, workers=0)
    columns = found.outcomes.columns
    assert np.allclose(columns["latency"], columns["a.seconds"] + 3 * columns["b.seconds"], equal_nan=True)
    assert found.settings["models"]["b"]["weight"] == 3.0


def test_another_model_of_the_same_name_is_refused(tmp_path: Path) -> None:
    graph = tj.trace(added, value())
    tj.explore({"a": MODEL}, SPACE, points=20, store=tmp_path)
    with pytest.raises(tj.ExplorationError, match=r"models\.a\.digest"):
        tj.explore({"a": graph}, SPACE, points=20, store=tmp_path)


def test_an_illegal_model_is_refused_before_anything_is_explored(tmp_path: Path) -> None:
    graph = tj.trace(lambda x: x + x, tj.Value("x", tj.INT32, (1,) * 7))
    with pytest.raises(tj.GraphError):
        tj.explore(graph, SPACE, points=20, store=tmp_path / "store", workers=1)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("option", "text"), [({"mode": "x"}, "mode is 'x'"), ({"workers": -1}, "workers is -1")]
)
def test_wrong_options_are_refused(option: dict[str, object], text: str) -> None:
    with pytest.raises(tj.InputError, match=text):
        tj.explore(MODEL, SPACE, points=20, **option)  # type: ignore[arg-type]


def test_workers_import_neither_numba_nor_the_planner_of_graphs() -> None:
    forbidden = "{'numba', 'tosajit.npu.simulate'}"
    code = f"import sim.explore.worker, tosajit.npu.explore, sys; print({forbidden} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({}, 3),
        ({"points": 1000}, None),
        ({"points": 1001}, 3),
        ({"points": 1000, "confirm": 1}, 3),
        ({"points": 1000, "mode": "events"}, 3),
        ({"workers": 0}, None),
        ({"workers": 2, "points": 1}, 2),
    ],
)
def test_few_points_of_the_closed_form_are_evaluated_here(
    asked: dict[str, Any], count: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explore, "cores", lambda: 3)
    monkeypatch.setattr(workers, "Local", lambda count: count)
    options = {"workers": None, "client": None, "mode": "analytic", "points": None, "confirm": 0, **asked}
    pool = explore.pool_of(**options)
    here = isinstance(pool, workers.Here)
    assert (None if here else cast(int, pool)) == count


@pytest.mark.parametrize("weight", [0, 0.0, 2])
def test_weights_are_numbers_from_zero_to_less_than_infinity(weight: float) -> None:
    graph = tj.trace(added, value())
    assert [one.weight for one in works_of({graph: weight})[0]] == [weight]
    for wrong in (-0.5, float("inf"), float("nan")):
        with pytest.raises(tj.InputError, match="must be a number of at least 0"):
            works_of({graph: wrong})


def test_energy_leaks_as_long_as_a_machine_runs_and_is_launched_once() -> None:
    def looped(n: tj.ops.Tensor, x: tj.ops.Tensor) -> object:
        return ops.while_loop(lambda n, x: n > np.int32(0), lambda n, x: (n - np.int32(1), added(x)), n, x)

    graph = tj.trace(looped, tj.Value("n", tj.INT32, ()), value())
    found = []
    for launch in (0, 700):
        changes = {"launch_overhead_cycles": launch, "energy.leakage_watts": 0.5}
        many = [machine.replace(changes) for machine in machines()]
        found.append(work_of(graph, loop_trips=4).analytic(many))
    clock = np.array([machine.clock_hz for machine in machines()])
    assert np.allclose(found[1].cycles - found[0].cycles, 700)
    assert np.allclose(found[1].seconds - found[0].seconds, 700 / clock)
    assert np.allclose(found[1].joules - found[0].joules, 700 / clock * 0.5)
    assert np.array_equal(found[1].offchip_bytes, found[0].offchip_bytes)


def test_of_two_branches_the_one_with_more_programs_is_not_slower_for_being_launched_more_often() -> None:
    """Each program counts its launch until the sums are known; only work decides which branch is slower."""
    many = [machine.replace({"launch_overhead_cycles": 100}) for machine in machines()]
    ones, none = np.ones(len(many)), ("",) * len(many)
    for work, slower in ((1, False), (2, True), (3, True)):
        short = _Sums(ones * (100 + work), ones * 1, ones * 2, ones, none)
        often = _Sums(ones * (300 + 2), ones * 3, ones * 4, ones * 3, none)
        assert short.slower(often, many).joules.tolist() == (ones if slower else ones * 3).tolist()
        assert short.slower(often, many).programs.tolist() == (ones if slower else ones * 3).tolist()
