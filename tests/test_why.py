"""Why a model is slow: sentences whose every figure is that of a simulation, and remedies that were tried."""

from __future__ import annotations

import json
import pickle
import re
import warnings
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sim
import tosajit as tj
from sim.report import CAUSES, OperatorReport, Report
from sim.report.why import Remedy
from tosajit import samples
from tosajit.cli import main
from tosajit.dtypes import INT8, INT32
from tosajit.graph import Graph
from tosajit.npu.widening import widened
from tosajit.operators import CONV2D, TRANSPOSE
from tosajit.operators.types import AccType
from tosajit.tracing.builder import GraphBuilder

MODEL = samples.path("ds_cnn")
RUNS = [
    ("resnet8", "ethos-u55-128", "events"),
    ("resnet8", "systolic-16", "events"),
    ("resnet8", "nvdla-small", "events"),
    ("resnet8", "eyeriss-v1", "analytic"),
    ("transformer_tiny", "systolic-128", "analytic"),
]


def same(report: Report, one: OperatorReport) -> OperatorReport:
    """The operator of another report that computes the same nodes."""
    (found,) = [other for other in report.operators if other.members == one.members]
    return found


def changed(
    graph: Graph, machine: sim.Machine, one: OperatorReport, remedy: Remedy
) -> tuple[Graph, sim.Machine]:
    """The graph and the machine with what a remedy changes in one of them."""
    shapes = [shape for name, shape in remedy.changes.items() if name in graph.main.inputs]
    if shapes:
        made = widened(graph, one.members, shapes[0][3])
        assert made is not None
        assert made[1] == remedy.changes
        return made[0], machine
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return graph, machine.replace(dict(remedy.changes))


def first_layer(channels: int, filters: int = 32, side: int = 32, channels_first: bool = False) -> Graph:
    """A convolution of an image that is an input, perhaps with its channels in front."""
    builder = GraphBuilder()
    shape = (1, channels, side, side) if channels_first else (1, side, side, channels)
    source = builder.input("image", INT8, shape)
    if channels_first:
        source = builder.add(TRANSPOSE(perms=(0, 2, 3, 1)), [source])
    operator = CONV2D(
        pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32, local_bound=False
    )
    zero = np.zeros(1, np.int8)
    weights = np.ones((filters, 3, 3, channels), np.int8)
    inputs = [source, builder.const(weights, INT8), builder.const(np.arange(filters, dtype=np.int32), INT32)]
    builder.output(builder.add(operator, [*inputs, builder.const(zero, INT8), builder.const(zero, INT8)]))
    return builder.build()


def percent_of(after: int, before: int) -> str:
    return f"{round(100 * (after - before) / before):+d} %".replace("-", "−")


@pytest.mark.parametrize(("model", "machine", "mode"), RUNS)
def test_every_figure_of_a_remedy_is_that_of_a_simulation(model: str, machine: str, mode: Any) -> None:
    graph, base = samples.load(model), sim.machine(machine)
    report = tj.simulate(graph, base, mode=mode)
    tried = 0
    for finding in report.why(None):
        one = report.operators[finding.number]
        for remedy in finding.remedies:
            after = tj.simulate(*changed(graph, base, one, remedy), mode=mode)
            assert (same(after, one).total, after.cycles) == (remedy.cycles, remedy.total)
            assert f"{remedy.text} {percent_of(remedy.cycles, one.total)}" in finding.sentence
            assert remedy.cycles < one.total
            assert remedy.total <= report.cycles
            tried += 1
    assert tried > 3


@pytest.mark.parametrize(("model", "machine", "mode"), RUNS)
def test_every_figure_of_a_sentence_is_that_of_the_report(model: str, machine: str, mode: Any) -> None:
    report = tj.simulate(samples.load(model), machine, mode=mode)
    found = report.why(None, remedies=False)
    numbers = [number for one in found for number in (one.number, *one.alike)]
    assert sorted(numbers) == [number for number, one in enumerate(report.operators) if one.total]
    lost = [one.lost * (1 + len(one.alike)) for one in found]
    assert lost == sorted(lost, reverse=True)
    for finding in found:
        for number in (finding.number, *finding.alike):
            one = report.operators[number]
            assert finding.cycles == one.total
            for cause, share in re.findall(r"waits for (activations|weights).*? (\d+) %", finding.text):
                cycles = one.cycles[{"activations": "input", "weights": "weights"}[cause]]
                assert int(share) == round(100 * cycles / one.total)
            for used, lanes in re.findall(r"([\d.,]+) of ([\d,]+) lanes work", finding.text):
                assert int(lanes.replace(",", "")) == report.peak_macs_per_cycle
                # Filling counts apart: what it hides of the products is not missed among useful lanes.
                attained = one.macs / one.cycles["compute"]
                assert float(used.replace(",", "")) == pytest.approx(attained, rel=0.02, abs=1)
            for channels in re.findall(r"(\d+) input channel", finding.text):
                assert int(channels) == one.layer["channels"]


@pytest.mark.parametrize("channels_first", [False, True])
def test_a_widened_graph_is_as_if_it_had_been_made_so(channels_first: bool) -> None:
    graph = first_layer(3, channels_first=channels_first)
    (node,) = [one for one in graph.nodes if one.operator.opcode == "CONV2D"]
    found = widened(graph, [node.name], 8)
    assert found is not None
    tj.validate(found[0])
    made, other = (
        tj.simulate(found[0], "dot-256"),
        tj.simulate(first_layer(8, 32, 32, channels_first), "dot-256"),
    )
    assert [one.cycles for one in made.operators] == [one.cycles for one in other.operators]
    assert widened(graph, [node.name], 3) is None
    assert widened(graph, ["another"], 8) is None


def test_more_channels_of_a_first_layer_are_tried() -> None:
    graph, machine = first_layer(3), tj.machine("ethos-u85-256")
    report = tj.simulate(graph, machine)
    (finding,) = [one for one in report.why(None) if report.operators[one.number].macs]
    (remedy,) = [one for one in finding.remedies if "first layer" in one.text]
    assert remedy.text == "a first layer with 16 channels"
    assert set(remedy.changes) == {graph.inputs[0].name}
    made = tj.simulate(first_layer(16), machine)
    (one,) = [one for one in made.operators if one.macs]
    assert (one.total, made.cycles) == (remedy.cycles, remedy.total)
    assert remedy.cycles < finding.cycles


def test_what_does_not_help_is_not_told() -> None:
    machine = sim.machine("systolic-16").replace({"offchip.bandwidth_bytes_per_second": 1e12})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = tj.simulate(first_layer(64, 64), machine)
    for finding in report.why():
        assert all(one.cycles <= 0.99 * finding.cycles for one in finding.remedies)


def test_reports_of_files_and_sums_have_sentences_without_remedies() -> None:
    report = tj.simulate(MODEL, "systolic-16")
    read = Report.from_json(report.to_json())
    assert read == report
    assert read.origin is None
    assert [one.text for one in read.why()] == [one.text for one in report.why(remedies=False)]
    assert not any(one.remedies for one in read.why())
    joined = Report.joined([report, report])
    assert joined.origin is None
    assert len(joined.why(None)) > 0
    assert max(number for one in joined.operators for number in one.after) > len(report.operators)
    assert pickle.loads(pickle.dumps(report)).origin is None


def test_operators_say_whose_results_they_read() -> None:
    report = tj.simulate(MODEL, "ethos-u55-128")
    assert report.operators[0].after == ()
    assert all(one.after for one in report.operators[1:])
    assert all(number < place for place, one in enumerate(report.operators) for number in one.after)


def test_an_empty_report_has_nothing_to_say() -> None:
    made = Report("tiny", "nothing", "events", 1e9, 0, ())
    assert len(made.why()) == 0
    assert "0 cycles" in str(made.why())


def test_every_reason_has_words() -> None:
    from sim.report import LANES
    from sim.report.why import _PLAIN, WAITS

    assert set(_PLAIN) | {"useful"} == set(LANES)
    assert set(WAITS) == set(CAUSES)


def test_the_command_prints_what_matters_most(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", str(MODEL), "--machine", "systolic-16", "--count", "3"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("ds_cnn on systolic-16")
    assert max(map(len, text.splitlines())) <= 110
    report = tj.simulate(MODEL, "systolic-16")
    assert str(report.why(3)).partition("\n")[2] == text.rstrip("\n").partition("\n")[2]
    assert main(["why", str(MODEL), "--machine", "systolic-16", "--json", "--no-remedies"]) == 0
    data: Mapping[str, Any] = json.loads(capsys.readouterr().out)
    assert (data["program"], data["machine"], data["cycles"]) == ("ds_cnn", "systolic-16", report.cycles)
    assert [one["sentence"] for one in data["findings"]] == [one.text for one in report.why(remedies=False)]


def test_a_machine_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["why", str(MODEL), "--machine", "ethos-u99"]) == 1
    assert "ethos-u99" in capsys.readouterr().err


def test_json_holds_what_was_tried(tmp_path: Path) -> None:
    found = tj.simulate(MODEL, "systolic-16").why(2)
    data = json.loads(found.to_json(tmp_path / "why.json"))
    assert json.loads((tmp_path / "why.json").read_text()) == data
    remedies = [Remedy(**one) for finding in data["findings"] for one in finding["remedies"]]
    assert remedies == [one for finding in found for one in finding.remedies]


def test_a_notebook_shows_the_sentences() -> None:
    found = tj.simulate(MODEL, "tiny").why(remedies=False)
    page = found._repr_html_()
    assert page.startswith("<pre>")
    assert all(escape(line) in page for line in str(found).splitlines())
