"""The benchmark's own arithmetic and its behaviour when something is missing or goes wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from bench import CASES
from benching import keras_models, larger
from benching.causes import CAUSES
from benching.client import Timing, Unavailable, Worker, by_turns
from benching.distance import distance_text, round_trip
from benching.graphs import ELEMENTS, GRAPHS, conv_chain
from benching.mlir import module_text
from benching.npu import Peer, known
from benching.npu_ours import long_graph
from benching.ours import same
from benching.peak import build_peak
from benching.report import closing, noted, row_text, verdict, write_page, write_section
from benching.rows import Case, Plan, Row, duration, forced, measured
from benching.worker import timed
from peers import LINE, SciPy, loaded

from tosajit.dtypes import FP32
from tosajit.kernels.sets import cpus
from tosajit.kernels.sets.cpus import cpu_with
from tosajit.operators import CLAMP
from tosajit.tracing.builder import GraphBuilder

TOOLS = Path(__file__).parents[1] / "tools"


def test_a_ratio_is_the_median_over_the_rounds_so_that_a_disturbed_round_does_not_count() -> None:
    ours, peer = Timing((2.0, 20.0, 2.0), 2.0), Timing((1.0, 1.0, 1.0), 1.0)
    assert ours.over(peer) == 2.0
    assert ours.median == 2.0


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.0, "2 s"), (0.00297, "2.97 ms"), (44.1e-6, "44.1 µs"), (0.5e-6, "0.50 µs")]
)
def test_durations_have_the_unit_that_suits_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_section_of_the_page_is_written_again_and_the_others_stay(tmp_path: Path) -> None:
    path, plan = tmp_path / "page.md", Plan()
    rows = [Row("case", "1 s", "2 s peer", "0.5", "≤ 1", True, note="noted")]
    write_page(path, rows, {"cpu": "first"}, "make bench", plan)
    first = path.read_text()
    write_section(path, "On another CPU", rows, {"cpu": "second"}, "make bench", plan)
    write_section(path, "By hand", rows, {"cpu": "third"}, "make bench", plan)
    written = path.read_text()
    assert written.startswith(first)
    titles = [line for line in written.splitlines() if line.startswith("## ")]
    assert titles == ["## Measured with", "## On another CPU", "## By hand"]
    write_section(path, "On another CPU", rows, {"cpu": "second again"}, "make bench", plan)
    assert path.read_text() == written.replace("| cpu | second |", "| cpu | second again |")
    write_page(path, rows, {"cpu": "first"}, "make bench", plan)
    assert path.read_text() == written.replace("| cpu | second |", "| cpu | second again |")


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system does not let threads choose cores"
)
def test_the_way_to_another_core_is_measured_and_threads_keep_their_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cores = os.sched_getaffinity(0)
    found = round_trip()
    assert os.sched_getaffinity(0) == cores
    assert found is None if len(cores) < 2 else found is not None and found > 0
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert round_trip() is None
    assert distance_text(None, None) == "one core"
    assert distance_text(6e-8, 4.06e-7) == "60 ns before the run, 406 ns after it"


def test_short_calls_are_timed_in_batches() -> None:
    count = 0

    def call() -> None:
        nonlocal count
        count += 1

    answer = timed(call, 0.001)
    assert answer["calls"] >= 3 * 10
    assert count == answer["calls"] + 2
    assert 0 < answer["minimum"] <= answer["median"]


def test_calls_are_timed_by_the_clock_that_is_asked_for() -> None:
    ticks = iter(range(1000))
    answer = timed(lambda: None, 20.0, lambda: float(next(ticks)))
    assert (answer["median"], answer["minimum"], answer["calls"]) == (1.0, 1.0, 20)


def raising(error: Exception) -> Case:
    """A case that ends in an error after one row."""

    def measure(plan: Plan) -> Iterator[Row]:
        yield Row("first", "1 ms", met=True)
        raise error

    return Case("case", measure)


def test_a_missing_peer_is_told_and_no_target_is_missed() -> None:
    rows = list(measured(raising(Unavailable("no peer")), Plan()))
    assert [verdict(row) for row in rows] == ["pass", ""]
    assert closing(rows, 2.0) == "bench: 1 of 1 targets met in 2 s; not measured: case"


def test_a_set_that_the_cpu_lacks_is_told_and_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benching.rows.host", lambda: cpu_with("older", cpus.known()["haswell"]))
    assert forced("haswell")["ONEDNN_MAX_CPU_ISA"] == "AVX2"
    with pytest.raises(Unavailable, match=r"this CPU lacks .*avx512f"):
        forced("skylake-avx512")


def test_an_engine_that_fails_misses_its_target() -> None:
    rows = list(measured(raising(RuntimeError("died")), Plan()))
    assert [verdict(row) for row in rows] == ["pass", "MISS"]
    assert closing(rows, 2.0) == "bench: 1 of 2 targets met in 2 s; missed: case"


def test_a_peer_that_is_missing_gives_its_reason_and_no_ratio() -> None:
    def missing() -> Peer:
        raise Unavailable("no peer")

    assert known(missing) == Peer(note="peer not measured: no peer")
    assert known(missing).ratio(2.0) == ""
    assert Peer("peer", 4.0).ratio(2000.0) == "500 × as fast"


def test_the_long_graph_has_as_many_operators_as_it_is_asked_for() -> None:
    nodes = long_graph(40).main.nodes
    assert sum(not node.operator.opcode.startswith("CONST") for node in nodes) == 40


def test_a_worker_answers_errors_and_goes_on() -> None:
    with Worker("peak") as worker:
        with pytest.raises(RuntimeError, match="no such request: dance"):
            worker.ask("dance")
        try:
            worker.ask("load")
        except RuntimeError as error:
            pytest.skip(str(error))
        (timing,) = by_turns([worker], 2, 0.001)
        assert len(timing.rounds) == 2


def test_the_peak_of_floats_is_known_on_any_cpu() -> None:
    loop = build_peak("floats")
    loop.call()
    assert loop.macs > 0
    assert loop.instruction.startswith("fma of ")


def test_floats_may_differ_by_a_little_of_the_largest() -> None:
    golden = np.array([1000.0, 1.0], np.float32)
    assert same(golden, golden + np.float32(0.009))
    assert not same(golden, golden + np.float32(0.02))
    assert not same(golden, np.array([np.nan, 1.0], np.float32))
    assert not same(np.array([3, 4]), np.array([3, 5]))


def test_the_peer_of_functions_takes_them_from_scipy_or_numpy() -> None:
    engine = SciPy()
    try:
        assert engine.load({"function": "expit", "elements": 5})["package"] == "scipy.special"
    except ImportError as error:
        pytest.skip(str(error))
    assert engine.load({"function": "tanh", "elements": 5})["package"] == "numpy"
    (found,) = engine.outputs()
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.tanh(engine.numbers))


@pytest.mark.parametrize("name", ["add_f16", "clamp_bf16", "mul_f32"])
def test_elementwise_graphs_compute_what_they_are_called_after(name: str) -> None:
    operator, kind = name.split("_")
    graph, inputs = GRAPHS[name]()
    assert [node.operator.opcode for node in graph.main.nodes][-1] == operator.upper()
    size = {"f32": 4, "f16": 2, "bf16": 2}[kind]
    assert all(array.nbytes == ELEMENTS * size for array in inputs)


def test_a_graph_is_text_of_mlir() -> None:
    graph, _ = conv_chain(6, 2)
    text = module_text(graph)
    assert "func.func @main(%source: tensor<1x6x6x2xi8>) -> (tensor<1x6x6x2xi8>)" in text
    assert "pad = array<i64: 1, 1, 1, 1>" in text
    assert "acc_type = i32" in text
    assert 'values = dense<"0x03"> : tensor<1xi8>' in text


def test_text_of_mlir_takes_any_name_and_bounds_of_floats() -> None:
    builder = GraphBuilder()
    source = builder.input("net/in:0", FP32, (2,))
    builder.output(builder.add(CLAMP(min_val=-1.0, max_val=float("inf")), [source]))
    text = module_text(builder.build())
    assert "@main(%net_2f_in_3a_0: tensor<2xf32>)" in text
    assert "min_val = 0xBF800000 : f32, max_val = 0x7F800000 : f32" in text


def test_a_larger_network_is_made_once_and_what_goes_wrong_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "net_i8"
    with pytest.raises(RuntimeError, match=r"(?s)net_i8 was not made: .*No module named 'tensorflow'"):
        larger.made("net_i8", Path(sys.executable), folder)
    for file in ("model.tflite", "case0_in0.npy"):
        (folder / file).touch()
    assert larger.made("net_i8", Path("nothing"), folder) == folder


def test_larger_networks_have_an_architecture_and_a_type() -> None:
    for name in larger.LARGER:
        architecture, _, kind = name.rpartition("_")
        assert architecture in keras_models.MODELS
        assert kind in ("i8", "f32")


def test_a_row_that_misses_its_target_says_why_where_that_is_known() -> None:
    row = Row("resnet8, 2 threads", "2 ms", met=False, note="fastest: none")
    assert noted(row) == f"fastest: none; missed because {CAUSES['resnet8']}"
    assert row_text(row).endswith(noted(row))
    assert noted(replace(row, met=True)) == "fastest: none"
    assert noted(Row("unknown", "2 ms", met=False)) == ""
    assert noted(Row("resnet8, first result, empty cache", "2 s", met=False)) == ""


def test_causes_are_of_cases_that_are_there() -> None:
    assert set(CAUSES) <= {case.name for case in CASES}


def test_cases_have_names_of_their_own_and_models_run_on_one_and_two_threads() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))
    assert all({name, f"{name}_2"} <= set(names) for name in larger.LARGER)


@pytest.mark.parametrize("shape", [(3, 5), (1, 7, 9, 2), (129,), ()])
def test_inputs_of_engines_begin_at_a_cache_line(shape: tuple[int, ...], tmp_path: Path) -> None:
    given = np.arange(prod(shape), dtype=np.int16).reshape(shape)
    np.save(tmp_path / "in0.npy", given)
    arrays = [loaded(str(tmp_path / "in0.npy")) for _ in range(8)]
    assert {array.ctypes.data % LINE for array in arrays} == {0}
    assert all(array.dtype == given.dtype and array.flags.c_contiguous for array in arrays)
    for array in arrays:
        np.testing.assert_array_equal(array, given)
