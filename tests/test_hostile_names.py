"""Names from strangers, at every exit where people see them: shown, cut, obeyed by nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from sim import machine
from sim.explore.progress import Progress
from sim.tables import csv_text
from tests.test_names import network, renamed
from tiling.words import LONGEST, isolated, paragraph, plain
from tosajit.cli import main

HOSTILE = {
    "colour": "a\x1b[31;5mb", "title": "\x1b]0;owned\x07", "c1": "a\x9b2Jb", "delete": "a\x7f\x08\x08b",
    "override": "a\u202egnp.exe", "isolate": "a\u2066b", "mark": "a\u200fb", "arabic mark": "a\u061cb",
    "no width": "a\u200b\u2060\ufeffb", "blank": "a\u3164b", "newline": "a\nerror: b\r\n",
    "line": "a\u2028b\x85c",
    "tag": "a\U000e0041b", "long": "long" * 25_000, "long escapes": "\x1b" * 100_000, "html": "<img src=x>",
}  # fmt: skip
NOTHING = "\x1b\x9b\x7f\x08\x07\r\x85\u061c\u200b\u200f\u2028\u202e\u2060\u2066\u3164\ufeff\U000e0041"


@pytest.fixture(params=HOSTILE)
def name(request: pytest.FixtureRequest) -> str:
    return HOSTILE[request.param]


def assert_harmless(text: str, name: str) -> None:
    assert text
    assert not set(text) & set(NOTHING)
    assert all(one.isprintable() or one == "\n" for one in text)
    if len(name) > 10_000:
        assert f"({len(name)} characters)" in text
        assert len(text) < 10_000
    if "\n" in name:
        assert "\nerror: b" not in text


def hostile(name: str) -> tj.Graph:
    return renamed(network(), {"x": name, "conv": name + "1", "looked": name + "2", "const_1": name + "3"})


def seen(name: str) -> Iterator[tuple[str, str]]:
    """Everything in Python that shows itself to people."""
    graph = hostile(name)
    executable = tj.compile(graph)
    planned = tj.compile(graph, target=tj.TINY)
    report = tj.simulate(graph, "tiny")
    yield from ((str(value), repr(value)) for value in (*graph.inputs, *graph.outputs))
    for one in (graph, executable, executable.program, planned.program, report):
        yield str(one), repr(one)
    for fault in tj.validate(broken(name)):
        yield str(fault), repr(fault.section)
    context = tj.Context()
    yield repr(context), str(context)


def broken(name: str) -> tj.Graph:
    """A graph with faults that speak of the names."""
    return renamed(network(), {"x": name, "conv": "looked", "const_1": name})


def test_a_name_is_written_out_and_cut(name: str) -> None:
    assert_harmless(plain(name), name)
    assert "\n" not in plain(name)
    assert len(plain(name)) <= 10 * LONGEST
    assert plain(plain(name)) == plain(name) or "\\" in plain(name)


@pytest.mark.parametrize("name", ["conv_1/Relu:0", "é", "名", "🙂", "שלום", "a b", "x\\y", "'", "%s", ""])
def test_ordinary_names_stay(name: str) -> None:
    assert plain(name) == name
    assert paragraph(name) == name


def test_what_is_written_out_looks_like_no_other_name() -> None:
    assert plain("\x1b") == "\\x1b"
    assert plain("\x1b\\x1b") == "\\x1b\\\\x1b"


def test_in_html_a_name_turns_nothing_beside_it() -> None:
    assert isolated("<שלום>") == "<bdi>&lt;שלום&gt;</bdi>"


def test_lines_of_a_message_are_its_own() -> None:
    assert paragraph("two\n  lines") == "two\n  lines"
    assert paragraph(f"{'a' * 100_000} b\n\x1b").startswith("aaa")
    assert len(paragraph("a b " * 100_000)) < 5000


def test_graphs_programs_executables_reports_and_violations_print_names(name: str) -> None:
    for texts in seen(name):
        for text in texts:
            assert all(one.isprintable() or one == "\n" for one in text)
            assert not set(text) & set(NOTHING)
            assert "\nerror: b" not in text
            assert len(text) < 100_000


def test_notebooks_show_names(name: str) -> None:
    graph = hostile(name)
    executable = tj.compile(graph)
    report = tj.simulate(graph, "tiny")
    for shown in (graph, executable, executable.program, report):
        html = shown._repr_html_()
        assert not set(html) & set(NOTHING)
        assert "<img" not in html
        assert len(html) < 200_000
        assert "\nerror: b" not in html


def test_commands_print_names(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tj.save(hostile(name), tmp_path / "model.tosa")
    tj.save(broken(name), tmp_path / "broken.tosa")
    model, faulty = str(tmp_path / "model.tosa"), str(tmp_path / "broken.tosa")
    for command in (
        ["info", model, "--graph"], ["info", model], ["check", model], ["check", faulty], ["program", model],
        ["program", model, "--commands"], ["program", model, "--target", "tiny"], ["run", model, "--random"],
        ["run", model], ["run", model, "--input", "nothing=a.npy"], ["run", faulty, "--random"],
        ["simulate", model, "--machine", "tiny"], ["simulate", faulty],
    ):  # fmt: skip
        main(command)
        out, err = capsys.readouterr()
        for text in (out, err):
            assert all(one.isprintable() or one == "\n" for one in text), command
            assert not set(text) & set(NOTHING)
            assert "\nerror: b" not in text
            assert len(text) < 50_000


def test_json_keeps_names_and_shows_none_of_them(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tj.save(hostile(name), tmp_path / "model.tosa")
    main(["run", str(tmp_path / "model.tosa"), "--random", "--json"])
    out = capsys.readouterr().out
    assert not set(out) & set(NOTHING.replace("\u3164", ""))
    assert name + "2" in [one["name"] for one in json.loads(out)["outputs"]]
    main(["info", str(tmp_path / "model.tosa"), "--json"])
    out = capsys.readouterr().out
    assert all(one.isprintable() or one == "\n" for one in out)
    assert [one["name"] for one in json.loads(out)["inputs"]] == [name]


def test_a_file_keeps_names(name: str, tmp_path: Path) -> None:
    assert tj.from_bytes(tj.to_bytes(hostile(name))) == hostile(name)


def test_errors_show_names(name: str) -> None:
    executable = tj.compile(hostile(name))
    errors: list[Callable[[], object]] = [
        lambda: executable(np.zeros(3)), lambda: executable("a"), lambda: executable.run({}),
        lambda: executable.run({name + "x": 1}), lambda: tj.compile(broken(name)), lambda: machine(name),
        lambda: tj.load(Path("/nowhere") / name.replace("\x00", "")), 
        lambda: tj.Machine.model_validate({"name": name, "clock_hz": -1}),
        lambda: tj.compile(hostile(name), target=tj.Target(name, 64)),
    ]  # fmt: skip
    for call in errors:
        with pytest.raises((tj.TosaError, tj.MachineError)) as caught:
            call()
        text = str(caught.value)
        assert all(one.isprintable() or one == "\n" for one in text)
        assert not set(text) & set(NOTHING)
        assert len(text) < 20_000


@pytest.mark.parametrize("name", ["=1+1", "+a", "-a", "@SUM(1)", "\t=1", "\r=1", "＝1", "=cmd|'/c calc'!A1"])
def test_spreadsheets_run_no_cell(name: str) -> None:
    report = tj.simulate(renamed(network(), {"looked": name, "conv": name + "1"}), "tiny")
    rows = list(csv.reader(io.StringIO(report.to_csv())))
    cells = [cell for row in rows for cell in row]
    assert any(name in cell for cell in cells)
    assert not [cell for cell in cells if cell[:1] in set("=+@\t\r＝＋－＠")]
    assert csv_text([[name, 2]]).startswith(("'", "\"'"))


def test_numbers_stay_numbers_in_spreadsheets() -> None:
    assert csv_text([[-1.5, "-1.5", "+2", "-1e-9", None, True]]) == "-1.5,-1.5,+2,-1e-9,,True\n"


def test_progress_shows_names_of_objectives(name: str) -> None:
    text = str(Progress(1, 2, 3.0, 0, {name: 1.0}, 1.0))
    assert_harmless(text, name)
    assert "\n" not in text


def test_errors_keep_what_they_were_made_with(name: str) -> None:
    assert tj.InputError(name).args == (name,)


def test_an_exploration_shows_names_of_models_as_text(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name[:60].replace('/', '')}.tosa"
    tj.save(network(), path)
    space = tj.Space("tiny", {"array.rows": [2, 4]})
    found = tj.explore(path, space, strategy="grid", workers=0)
    for text in (str(found), repr(found), str(found.best())):
        assert_harmless(text, name[:60])
    page = found._repr_html_()
    assert "<img src" not in page
    assert not set(page) & set(NOTHING)


def test_a_name_that_is_no_word_names_no_objective(name: str) -> None:
    def idle(report: tj.Report) -> float:
        return 1 - report.mac_utilisation

    idle.__name__ = name
    with pytest.raises(tj.SpaceError, match="cannot name an objective"):
        tj.explore(network(), tj.Space("tiny", {"array.rows": [2]}), objectives=(idle,), mode="events")


def test_a_picture_and_a_trace_show_names_as_text(name: str, tmp_path: Path) -> None:
    report = tj.simulate(hostile(name), "tiny")
    drawn = report.plot.timeline()
    labels = [text.get_text() for text in drawn.findobj(lambda one: hasattr(one, "get_text"))]
    assert labels
    for label in filter(None, labels):
        assert_harmless(label, "")
    for event in report.trace()["traceEvents"]:
        assert not set(str(event["name"])) & set(NOTHING)
