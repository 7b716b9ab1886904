"""Recurrent layers of long sequences: loops by rows, with the bits of steps that are written out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tosajit as tj
from tests.onnx_cases.files import single
from tests.test_tflite_recurrent import DEPTH, lstm
from tosajit.files import from_bytes, to_bytes
from tosajit.frontends.common import steps
from tosajit.frontends.formats import load_bytes
from tosajit.graph import Graph
from tosajit.runtime.body import Loop
from tosajit.runtime.scan import Scan

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@st.composite
def recurrent(draw: st.DrawFn) -> tuple[bytes, list[np.ndarray]]:
    """A model of one recurrent layer of ONNX, and its inputs."""
    kind = draw(st.sampled_from(sorted(GATES)))
    count, batch, width, hidden = draw(st.integers(3, 60)), *(draw(st.integers(1, 5)) for _ in range(3))
    way = draw(st.sampled_from(("forward", "reverse", "bidirectional")))
    layout, ways = draw(st.integers(0, 1)), 2 if way == "bidirectional" else 1
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))

    def real(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(np.float32)

    def state() -> np.ndarray:
        return real(batch, ways, hidden) if layout else real(ways, batch, hidden)

    given = {"x": real(batch, count, width) if layout else real(count, batch, width)}
    given |= {"_w": real(ways, GATES[kind] * hidden, width), "_r": real(ways, GATES[kind] * hidden, hidden)}
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": way, "layout": layout}
    given |= {"_b": real(ways, 2 * GATES[kind] * hidden)}
    given |= {"lengths": rng.integers(1, count + 1, batch).astype(np.int32)}
    given |= {"h": state()}
    if kind == "LSTM":
        given |= {"c": state(), "_p": real(ways, 3 * hidden)}
    if kind == "GRU":
        attributes["linear_before_reset"] = draw(st.integers(0, 1))
    model = single(kind, given, 3 if kind == "LSTM" else 2, 18, **attributes)
    return model, [one for name, one in given.items() if name[0] != "_"]


def lowered(model: bytes, written: int, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """The graph of a model, if so many steps are written out; none that is kept."""
    monkeypatch.setattr(steps, "WRITTEN", written)
    return load_bytes(model, constants={})


def loops(graph: Graph) -> int:
    return sum(node.operator.opcode == "WHILE_LOOP" for node in graph.nodes)


def assert_same(found: Any, wanted: Any) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.view(np.uint32), other.view(np.uint32))


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recurrent())
def test_a_loop_has_the_bits_of_steps_that_are_written_out(
    monkeypatch: pytest.MonkeyPatch, drawn: tuple[bytes, list[np.ndarray]]
) -> None:
    model, arrays = drawn
    plain, looped = lowered(model, 1 << 20, monkeypatch), lowered(model, 2, monkeypatch)
    assert loops(plain) == 0
    assert loops(looped) >= 1
    assert_same(tj.compile(looped)(*arrays), tj.compile(plain)(*arrays))


def test_checked_programs_have_the_loop_itself() -> None:
    graph, x = tj.load(lstm(64)), np.random.default_rng(1).uniform(-1, 1, (1, 64, DEPTH)).astype(np.float32)
    checked = tj.compile(graph, checked=True)
    assert any(isinstance(step, Loop) for step in checked.body.steps)
    np.testing.assert_allclose(checked(x), tj.compile(graph)(x), rtol=1e-5, atol=1e-6)


def test_long_sequences_cost_no_more_nodes_than_short_ones() -> None:
    few, many = (len(list(tj.load(lstm(count)).nodes)) for count in (64, 640))
    assert many == few


def test_rounds_are_told_where_their_rows_are() -> None:
    executable = tj.compile(tj.load(lstm(64)))
    (scan,) = (step for step in executable.body.steps if isinstance(step, Scan))
    assert (scan.rounds, len(scan.taken), len(scan.made), scan.fixed) == (4, 1, 1, ())
    assert not any(isinstance(step, Loop) for step in executable.body.steps)


def test_states_go_on_from_call_to_call() -> None:
    x = np.random.default_rng(2).uniform(-1, 1, (1, 128, DEPTH)).astype(np.float32)
    once, twice = tj.compile(tj.load(lstm(128))), tj.compile(tj.load(lstm(64)))
    halves = [twice(x[:, :64]), twice(x[:, 64:])]
    np.testing.assert_array_equal(np.concatenate(halves, 1), once(x))


def test_what_is_stored_runs_without_the_graph(tmp_path: Path) -> None:
    executable = tj.compile(tj.load(lstm(64)))
    executable.save(tmp_path / "layer")
    x = np.random.default_rng(3).uniform(-1, 1, (1, 64, DEPTH)).astype(np.float32)
    wanted = tj.compile(tj.load(lstm(64)))(x)
    np.testing.assert_array_equal(tj.load_executable(tmp_path / "layer")(x), wanted)


def test_a_file_keeps_the_rounds() -> None:
    graph = from_bytes(to_bytes(tj.load(lstm(64))))
    assert any(isinstance(step, Scan) for step in tj.compile(graph).body.steps)


def test_profiles_have_the_groups_of_all_rounds() -> None:
    executable = tj.compile(tj.load(lstm(64)))
    x = np.zeros((1, 64, DEPTH), np.float32)
    products = [one for one in executable.profile(x) if one.macs and "step_" in "".join(one.nodes)]
    assert sum(one.macs for one in products) == 64 * 4 * 48 * 48


@pytest.mark.parametrize("machine", ["ethos-u55-128", "systolic-16"])
def test_rounds_are_timed_as_often_as_they_run(machine: str) -> None:
    short, long = (tj.simulate(tj.load(lstm(count)), machine) for count in (64, 128))
    inside = [sum(one.total for one in report.operators if "step_" in str(one)) for report in (short, long)]
    assert 0 < inside[0] * 2 == inside[1]
    assert long.macs == 2 * short.macs
