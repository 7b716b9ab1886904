"""`tosajit simulate`: what it prints and writes, how it ends."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tosajit as tj
import tosajit.cli.simulate as command
from tests.sim.reports import report
from tosajit.cli import main

MODEL = tj.samples.path("ds_cnn")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Reports that cost nothing, and what was asked for."""
    found: list[tuple[str, dict[str, Any]]] = []

    def fake(graph: tj.Graph, machine: tj.Machine, **options: Any) -> tj.Report:
        assert graph.main.outputs
        found.append((machine.name, options))
        if machine.name == "tpu-v1":
            raise tj.PlanError("it does not fit")
        return replace(report(6, seed=len(found)), machine=machine.name)

    monkeypatch.setattr(command, "simulate", fake)
    return found


def said(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    assert main(["simulate", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.out if code == 0 else captured.err


def test_a_model_on_a_machine_gives_its_report(calls: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, MODEL, "--machine", "ethos-u55-32")
    assert text.startswith("ds_cnn on ethos-u55-32 at 500 MHz: ")
    assert "CONV2D conv5" in text
    assert calls == [("ethos-u55-32", {"mode": "events", "loop_trips": 1, "level": "8K", "plan": None})]


def test_options_reach_the_simulator(calls: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, MODEL, "--analytic", "--loop-trips", 0, "--level", "none", "--operators", 2)
    assert calls == [
        (
            "ethos-u55-128",
            {"mode": "analytic", "loop_trips": 0, "level": "none", "plan": None},
        )
    ]
    assert "4 others" in text


def test_an_objective_goes_to_the_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found: list[str] = []

    def fake(graph: tj.Graph, machine: tj.Machine, **options: Any) -> tj.Report:
        found.append(machine.planner.objective)
        return report(6)

    monkeypatch.setattr(command, "simulate", fake)
    said(capsys, MODEL, "--objective", "0.2*traffic + time")
    assert found == ["time + 0.2 traffic"]
    assert "objective: 'beauty' is not one of time, energy, traffic" in said(
        capsys, MODEL, "--objective", "beauty", code=1
    )


def test_several_machines_give_one_table(calls: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, MODEL, "--machine", "ethos-u55-32", "--machine", "systolic-16")
    assert [name for name, _ in calls] == ["ethos-u55-32", "systolic-16"]
    assert text.startswith("ds_cnn\n\n")
    assert "1.00×" in text


def test_several_models_too(calls: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = tmp_path / "other.tosa"
    other.write_bytes(MODEL.read_bytes())
    text = said(capsys, MODEL, other, "--machine", "ethos-u55-32")
    assert "ds_cnn  " in text
    assert "other  " in text


def test_files_are_written(calls: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = {form: tmp_path / f"file.{form}" for form in ("json", "csv", "html", "trace")}
    text = said(capsys, MODEL, *(part for form, path in files.items() for part in (f"--{form}", path)))
    assert text.startswith("ds_cnn on")
    assert tj.Report.from_json(files["json"]).program == "ds_cnn"
    assert len(list(csv.reader(files["csv"].read_text().splitlines()))) == 8
    assert files["html"].read_text().startswith("<!doctype html>")
    assert json.loads(files["trace"].read_text())["traceEvents"]


@pytest.mark.parametrize("form", ["json", "csv", "html"])
@pytest.mark.parametrize("machines", [1, 2])
def test_a_dash_prints_in_place_of_the_table(
    form: str, machines: int, calls: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    names = [part for name in ("ethos-u55-32", "systolic-16")[:machines] for part in ("--machine", name)]
    text = said(capsys, MODEL, *names, f"--{form}", "-")
    match form:
        case "json":
            assert json.loads(text)
        case "csv":
            assert text.startswith("program,machine,operator")
        case _:
            assert text.startswith("<!doctype html>")
    assert "% of cycles" not in text


def test_what_fails_on_one_machine_is_shown_for_the_others(
    calls: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("--machine", "tpu-v1", "--machine", "systolic-16")
    assert main(["simulate", str(MODEL), *names]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("ds_cnn on systolic-16")
    assert captured.err == f"tosajit: {MODEL} on tpu-v1: it does not fit\n"
    assert said(capsys, MODEL, "--machine", "tpu-v1", code=1) == "tosajit: it does not fit\n"


def test_a_fault_of_many_machines_is_told_once(
    calls: list[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **options: Any) -> tj.Report:
        raise tj.CompileError("not there yet")

    monkeypatch.setattr(command, "simulate", fails)
    names = [part for name in tj.machines()[:6] for part in ("--machine", name)]
    text = said(capsys, MODEL, *names, code=1)
    assert text == f"tosajit: {MODEL} on all 6 machines: not there yet\n"


def test_an_unknown_machine_is_told_at_once(calls: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, MODEL, "--machine", "ethos-u55-33", code=1)
    assert "ethos-u55-32" in text
    assert calls == []


def test_a_missing_model_is_told(
    calls: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "No such file" in said(capsys, tmp_path / "no.tosa", code=1)


@pytest.mark.parametrize("form", ["json", "csv", "html", "trace"])
def test_a_report_that_cannot_be_written_is_told(
    form: str, calls: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "expected a file, found a folder" in said(capsys, MODEL, f"--{form}", tmp_path, code=1)
    assert "No such file" in said(capsys, MODEL, f"--{form}", tmp_path / "no" / "file", code=1)
    assert list(tmp_path.iterdir()) == []


def test_only_one_form_is_printed(calls: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert "only one of" in said(capsys, MODEL, "--json", "-", "--csv", "-", code=2)
    assert calls == []


def test_timelines_of_several_machines_are_one_file(
    calls: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said(capsys, MODEL, "--machine", "tiny", "--machine", "systolic-16", "--trace", tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert names == ["ds_cnn on tiny", "ds_cnn on systolic-16"]


@pytest.mark.parametrize("arguments", [[], ["x.tosa", "--operators", "-1"], ["x.tosa", "--loop-trips", "x"]])
def test_wrong_usage_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["simulate", *arguments])
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("usage: tosajit simulate")


def test_a_bar_shows_on_a_terminal_how_far_it_is(
    calls: list[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["simulate", str(MODEL), "--machine", "tiny", "--machine", "systolic-16"]) == 0
    text = capsys.readouterr().err
    assert "0/2 simulations" in text
    assert "1/2 simulations" in text
    assert text.endswith("\r\033[K")
