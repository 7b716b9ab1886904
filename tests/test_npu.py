"""Graphs on modelled machines: what `simulate` and `compile(machine=…)` take, give and refuse."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sim
import tosajit as tj
from tosajit import ops
from tosajit.compiler.labels import rank
from tosajit.compiler.segment import Groups
from tosajit.graph.operator import OPERATORS
from tosajit.npu.simulate import Network, name_of

MODEL = tj.samples.path("ds_cnn")
MACHINES = [
    "ethos-u55-128",
    "ethos-u85-256/sys-dram-mid/dedicated-sram-256kb",
    "systolic-16",
    "eyeriss-v1",
    "tiny",
]


@pytest.mark.parametrize("machine", MACHINES)
def test_a_model_is_timed_and_every_cycle_has_a_cause(machine: str) -> None:
    report = tj.simulate(MODEL, machine=machine)
    assert report.program == "ds_cnn"
    assert report.cycles == sum(report.causes.values()) > 0
    assert report.macs >= 2_600_000
    assert report.peak_scratchpad_bytes <= tj.machine(machine).scratchpad.bytes


def test_a_path_a_graph_and_an_executable_take_the_same_time() -> None:
    graph = tj.load(MODEL)
    executable = tj.compile(graph, machine="systolic-16")
    cycles = {tj.simulate(model, "systolic-16").cycles for model in (MODEL, graph, executable)}
    assert len(cycles) == 1


def test_what_is_timed_is_what_runs() -> None:
    executable = tj.compile(tj.load(MODEL), machine="ethos-u55-32")
    inputs, outputs = tj.samples.cases("ds_cnn")[0]
    for result, expected in zip(executable(*inputs), outputs, strict=True):
        np.testing.assert_array_equal(result, expected)


def branches() -> tj.Graph:
    @tj.jit
    def both(condition, x):  # type: ignore[no-untyped-def]
        return ops.cond_if(condition, lambda v: v + v, lambda v: ops.reduce_sum(v * v, axis=0) + v, x)

    return both.graph(np.array([True]), np.zeros((64, 64), np.int32))


def loop() -> tj.Graph:
    @tj.jit
    def counted(x):  # type: ignore[no-untyped-def]
        return ops.while_loop(lambda v: ops.greater(np.array([9], np.int32), v), lambda v: v + v, x)

    return counted.graph(np.ones(1, np.int32))


def test_of_two_branches_the_slower_one_counts() -> None:
    graph = branches()
    reports = tj.simulate(graph, "systolic-16")
    names = " ".join(operator.label for operator in reports.operators)
    assert "REDUCE_SUM" in names


def test_loops_take_as_often_as_they_are_said_to_run() -> None:
    graph = loop()
    none, one, five = (tj.simulate(graph, "systolic-16", loop_trips=trips).cycles for trips in (0, 1, 5))
    assert 0 < none < one
    assert five - one == 4 * (one - none)


def test_a_machine_is_launched_once() -> None:
    machine = tj.machine("systolic-16").replace({"launch_overhead_cycles": 1000})
    report = tj.simulate(loop(), machine, loop_trips=3)
    assert report.causes["launch"] == 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"machine": "ethos-u55-129"}, "did you mean ethos-u55-12"),
        ({"mode": "guess"}, "mode is 'guess', but must be"),
        ({"loop_trips": -1}, "loop_trips is -1"),
    ],
)
def test_what_cannot_be_simulated_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises((tj.TosaError, tj.MachineError), match=message):
        tj.simulate(MODEL, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": tj.TINY}, "target and machine exclude each other"),
        ({"threads": 2}, "threads is 2, but must be 1 for a modelled machine"),
    ],
)
def test_a_machine_brings_its_own_target(options: dict[str, object], message: str) -> None:
    with pytest.raises(tj.CompileError, match=message):
        tj.compile(branches(), machine="tiny", **options)  # type: ignore[arg-type]


def test_what_does_not_fit_says_what_would_help() -> None:
    @tj.jit
    def added(x, y):  # type: ignore[no-untyped-def]
        return x + y

    graph = added.graph(np.zeros((4, 4), np.int32), np.zeros((4, 4), np.int32))
    machine = tj.machine("tiny").replace({"scratchpad.bytes": 64, "scratchpad.alignment_bytes": 32})
    with pytest.raises(
        tj.PlanError,
        match=r"needs 96 bytes of scratchpad, but there are 64: no tile takes less than 32 of x, "
        r"32 of y, 32 of add_2, at multiples of 32 bytes; use a larger scratchpad",
    ):
        tj.simulate(graph, machine)


def test_equal_graphs_are_fused_once_and_not_kept_alive() -> None:
    graph, other = tj.samples.load("ds_cnn"), tj.samples.load("ds_cnn")
    network = Network.of(graph)
    assert Network.of(graph) is network is Network.of(other)
    assert Network.of(graph, "none") is not network
    alive = weakref.ref(graph)
    del graph, other
    gc.collect()
    assert alive() is None


def test_nodes_that_tell_most_of_a_group_give_it_its_name(golden: Callable[[str, str], None]) -> None:
    own = {name: one for name, one in OPERATORS.items() if one.__module__.startswith("tosajit.operators")}
    nodes: dict[str, Any] = {name: SimpleNamespace(operator=operator) for name, operator in own.items()}
    golden("ranks", "\n".join(f"{name} {rank(node)}" for name, node in sorted(nodes.items())))


@pytest.mark.parametrize(
    ("path", "name"),
    [("model.tosa", "model"), ("a/model.tosa", "a"), ("a/b.tosa", "b"), (Path("x/model.onnx"), "x")],
)
def test_a_model_is_called_after_its_file_or_its_folder(path: str | Path, name: str) -> None:
    assert name_of(path) == name


def test_a_program_is_planned_once_for_a_machine_and_again_for_another() -> None:
    network = Network(tj.trace(lambda x: x + x, np.zeros((8, 8), np.int32)))
    (groups,) = network.steps
    assert isinstance(groups, Groups)
    one, other = tj.machine("systolic-16"), tj.machine("tiny")
    program = network.program(groups, one)
    assert network.program(groups, tj.machine("systolic-16")) is program
    assert network.program(groups, other).target.name == "tiny"
    assert network.program(groups, one).target.name == "systolic-16"


def test_a_variable_is_moved_once_for_each_use_and_takes_time() -> None:
    def held(x: ops.Tensor) -> ops.Tensor:
        state = ops.variable("state", np.zeros((4, 6), np.int8))
        state.write(x)
        return state.read()

    report = tj.simulate(tj.trace(held, np.zeros((4, 6), np.int8)), "tiny")
    moves = [one for one in report.operators if "VARIABLE" in one.label]
    assert [one.label.split()[0] for one in moves] == ["VARIABLE_WRITE", "VARIABLE_READ"]
    for one in moves:
        sizes = {key: size for key, size in one.traffic.items() if "offchip" in key and size}
        assert sorted(sizes.values()) == [24, 24]


def test_equal_constants_are_in_memory_once() -> None:
    weight = np.arange(32 * 32, dtype=np.int8).reshape(32, 1, 1, 32)

    def network(image: tj.Tensor, copies: int) -> tj.Tensor:
        for _ in range(3):
            image = ops.cast(ops.conv2d(image, weight.copy() if copies else weight), "INT8")
        return image

    image = np.ones((1, 4, 4, 32), np.int8)
    graphs = [tj.trace(lambda x, copies=copies: network(x, copies), image) for copies in (0, 1)]
    machine = sim.machine("systolic-16").replace({"memory.weights": "scratchpad"})
    one, other = (tj.simulate(graph, machine) for graph in graphs)
    assert one.peak_scratchpad_bytes == other.peak_scratchpad_bytes < 3 * weight.nbytes
    results = [tj.compile(graph, machine=machine)(image) for graph in graphs]
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("mode", ["BILINEAR", "NEAREST"])
def test_an_image_larger_than_the_scratchpad_can_be_resized(mode: str) -> None:
    """The four elements that a result is made of may be anywhere in it."""
    image = np.random.default_rng(1).integers(-128, 128, (1, 30, 25, 3), np.int8)
    graph = tj.trace(lambda x: ops.resize(x, (6, 4, 2, 2), (1, 0), (3, 0), mode=mode), image)
    small = tj.compile(graph, machine="tiny")(image)
    np.testing.assert_array_equal(small, tj.compile(graph)(image))
