"""Jitted functions where graphs belong, on machines, and what they remember."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import nn, ops
from tosajit.cli import main

X = np.arange(-16, 16, dtype=np.int8).reshape(2, 16)
WEIGHT = np.arange(-32, 32, dtype=np.int8).reshape(4, 16)
MACHINE = "ethos-u55-128"
SETTINGS: dict[str, Any] = {"x_scale": 0.1, "weight_scale": 0.1, "out_scale": 1.0}


def layer(x: Any) -> Any:
    return nn.quantized.dense(x, WEIGHT, **SETTINGS)


def test_a_function_on_a_machine_gives_the_same_bits_and_a_report() -> None:
    function = tj.jit(machine=MACHINE)(layer)
    with pytest.raises(tj.CompileError, match="layer has not been called, so there is nothing to report"):
        _ = function.report
    np.testing.assert_array_equal(function(X), tj.jit(layer)(X))
    report = function.report
    assert report is function.report
    expected = tj.simulate(function, MACHINE)
    assert (report.cycles, report.program, report.machine) == (expected.cycles, "layer", MACHINE)
    assert [one.label for one in report.operators] == [one.label for one in expected.operators]


def test_the_report_is_that_of_the_last_call() -> None:
    function = tj.jit(machine=MACHINE)(layer)
    function(X)
    small = function.report.cycles
    large = np.concatenate([X] * 40)
    function(large)
    assert function.report.cycles == tj.simulate(function, MACHINE, example_inputs=(large,)).cycles > small
    function(X)
    assert function.report.cycles == small


def test_a_report_needs_a_machine_and_one_program() -> None:
    plain = tj.jit(layer)
    plain(X)
    with pytest.raises(tj.CompileError, match="layer runs on no machine: give one"):
        _ = plain.report

    @tj.jit(machine=MACHINE)
    def branched(x: Any) -> Any:
        return ops.cond_if(x.max() > np.int8(0), lambda: x, lambda: ops.bitwise_not(x))

    branched(X)
    with pytest.raises(tj.CompileError, match="branched has control flow"):
        _ = branched.report
    assert tj.simulate(branched, MACHINE).cycles > 0


@pytest.mark.parametrize(
    "use",
    [
        lambda function, **given: tj.simulate(function, MACHINE, **given).cycles,
        lambda function, **given: tj.plan(function, MACHINE, **given),
    ],
)
def test_functions_go_where_graphs_go(use: Callable[..., object]) -> None:
    function = tj.jit(layer)
    with pytest.raises(tj.CompileError, match=r"layer has not been called: .* as in example_inputs=\(x,\)"):
        use(function)
    expected = use(function.graph(X))
    assert use(function) == use(function, example_inputs=(X,)) == use(function, example_inputs=X) == expected
    function.graph(X[:1])
    with pytest.raises(tj.CompileError, match="layer has 2 graphs: give the arguments that are meant"):
        use(function)
    assert use(function, example_inputs=(X,)) == expected
    with pytest.raises(tj.CompileError, match="example_inputs are for a jitted function, but Graph is given"):
        use(function.graph(X), example_inputs=(X,))


def test_functions_are_saved_and_explored(tmp_path: Path) -> None:
    function = tj.jit(layer)
    tj.save(function, tmp_path / "model.tosa", example_inputs=(X,))
    assert tj.load(tmp_path / "model.tosa") == function.graph(X)
    space = tj.Space(base=MACHINE, fields={"clock_hz": [4e8, 8e8]})
    settings: dict[str, Any] = {"objectives": ("latency",), "strategy": "grid", "progress": False}
    found = tj.explore(function, space, example_inputs=(X,), **settings)
    expected = tj.explore(function.graph(X), space, **settings)
    assert found.to_csv().replace("layer", "graph") == expected.to_csv()


def test_programs_and_profiles_of_functions() -> None:
    function = tj.jit(machine=MACHINE)(layer)
    assert str(function.program(X)) == str(function.executable(X).program)
    found = tj.jit(layer).profile(X)
    assert "name" in repr(found).splitlines()[0]
    assert found[0].nodes[-1] in repr(found)
    assert found[0].nodes[-1] in found._repr_html_()


def test_clear_resets_variables_and_cache_clear_does_not() -> None:
    @tj.jit
    def count(x: Any) -> Any:
        held = ops.variable("held", np.zeros(1, np.float32))
        held.write(held.read() + x)
        return held.read()

    one = np.ones(1, np.float32)
    assert [int(count(one)[0]) for _ in range(2)] == [1, 2]
    count.cache_clear()
    assert int(count(one)[0]) == 3
    count.clear()
    assert int(count(one)[0]) == 1
    assert count.cache_info().misses == 1


def test_a_report_is_a_table_of_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    report = tj.simulate(tj.jit(layer).graph(X), MACHINE)
    pandas = pytest.importorskip("pandas")
    table = report.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert table["operator"].tolist() == [one.label for one in report.operators]
    assert int(table["cycles"].sum()) == report.cycles
    assert len(report.compare(report).to_pandas()) == 2 * len(table)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(tj.ReportError, match="a data frame needs pandas: pip install"):
        report.to_pandas()


@pytest.mark.parametrize("command", ["program", "run"])
def test_commands_take_machines(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.tosa"
    tj.save(tj.jit(layer), path, example_inputs=(X,))
    more = ["--random"] if command == "run" else []
    assert main([command, str(path), "--machine", MACHINE, *more]) == 0
    shown = capsys.readouterr().out
    if command == "program":
        assert shown.strip() == str(tj.compile(path, machine=MACHINE).program).strip()
    assert main([command, str(path), "--machine", "nowhere", *more]) == 1
    assert "nowhere" in capsys.readouterr().err
