"""`tosajit explore`, `tosajit completion`, and what all commands have in common."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tosajit as tj
from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
from tosajit.cli import main
from tosajit.cli.arguments import parser
from tosajit.cli.completion import Command, commands
from tosajit.cli.examples import EXAMPLES
from tosajit.frontends.tflite.options import AddOptions
from tosajit.frontends.tflite.schema import Type

ROOT = Path(__file__).parents[1]
MODEL = tj.samples.path("ds_cnn")
SPACE = {
    "base": "systolic-16",
    "fields": {"array.rows": [8, 16, 32], "scratchpad.bytes": {"low": 16384, "high": 1 << 20}},
    "constraints": ["scratchpad_bytes * 2e-6 + macs * 0.0004 <= 2"],
}


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """A file with a space."""
    path = tmp_path / "small space.json"
    path.write_text(json.dumps(SPACE))
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of one's own."""
    return Path(shutil.copy(MODEL, tmp_path / "mine.tosa"))


def said(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    assert main([str(argument) for argument in arguments]) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.out, captured.err


def test_explore_writes_a_folder_and_prints_the_front(
    space: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "found"
    out, err = said(capsys, "explore", space, model, "--out", folder, "--points", 60, "--workers", 0)
    assert "least latency" in out
    assert f"results are in {folder}" in err
    assert {path.name for path in folder.iterdir()} >= {
        "points.sqlite", "space.json", "results.csv", "results.json", "report.html",
    }  # fmt: skip
    assert (folder / "space.json").read_bytes() == space.read_bytes()
    found = json.loads((folder / "results.json").read_text())
    assert found["settings"]["strategy"] == "sobol"
    assert len((folder / "results.csv").read_text().splitlines()) == 61


def test_explore_takes_objectives_weights_and_strategies(
    space: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = said(
        capsys, "explore", space, model, MODEL, "--out", tmp_path / "o", "--objective", "latency",
        "--objective", "scratchpad_bytes", "--strategy", "random", "--points", 20, "--seed", 3,
        "--weight", "mine=2", "--workers", 0, "--confirm", 1, "--json",
    )  # fmt: skip
    found = json.loads(out)
    assert [one["name"] for one in found["objectives"]] == ["latency", "scratchpad_bytes"]
    assert {name: one["weight"] for name, one in found["settings"]["models"].items()} == {
        "mine": 2,
        "ds_cnn": 1,
    }
    assert found["settings"]["seed"] == 3


def test_resume_goes_on_with_what_the_folder_says(
    space: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "o"
    asked = ["explore", space, model, "--out", folder, "--points", 90, "--seed", 7, "--workers", 0]
    said(capsys, *asked)
    first = (folder / "results.csv").read_text()
    import sqlite3

    with sqlite3.connect(folder / "points.sqlite") as connection:
        connection.execute("DELETE FROM points WHERE number >= 32")
    connection.close()
    (folder / "results.csv").unlink()
    said(capsys, "explore", "--resume", folder, "--workers", 0)
    assert (folder / "results.csv").read_text() == first


def test_explore_reads_models_with_shapes_and_a_signature(
    space: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tensors = [
        RawTensor(name, Type.FLOAT32, (1, 16), signature=(-1, 16)) for name in ("x", "sum", "difference")
    ]
    nodes = [RawOperator("ADD", (0, 0), (1,), AddOptions()), RawOperator("SUB", (0, 0), (2,), AddOptions())]
    signatures = [("difference", 0, {"value": 0}, {"found": 2})]
    path, folder = tmp_path / "model.tflite", tmp_path / "found"
    path.write_bytes(RawModel([RawSubgraph(tensors, nodes, [0], [1, 2])], signatures).bytes())
    reading = ["--signature", "difference", "--shapes", "value=64x16"]
    said(capsys, "explore", space, path, "--out", folder, "--points", 3, "--workers", 0, *reading)
    report = json.loads((folder / "results.json").read_text())
    assert report["settings"]["signature"] == "difference"
    assert report["settings"]["shapes"] == {"value": [64, 16]}
    (folder / "results.csv").unlink()
    said(capsys, "explore", "--resume", folder, "--workers", 0)
    assert (folder / "results.csv").exists()


def test_resume_says_what_is_lacking(
    space: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "o"
    assert "no exploration is stored there" in said(capsys, "explore", "--resume", folder, code=1)[1]
    said(capsys, "explore", space, model, "--out", folder, "--points", 20, "--workers", 0)
    other = tj.trace(lambda x: x + x, tj.Value("x", tj.INT32, (4,)))
    tj.save(other, model)
    assert "models.mine.digest" in said(capsys, "explore", "--resume", folder, code=1)[1]
    model.unlink()
    assert "the file is gone" in said(capsys, "explore", "--resume", folder, code=1)[1]
    tj.explore({"mine": other}, tj.Space("systolic-16", {"array.rows": [8]}), points=1, store=tmp_path / "p")
    assert "did not come from a file" in said(capsys, "explore", "--resume", tmp_path / "p", code=1)[1]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "a space and at least one model"),
        (["space.yaml"], "a space and at least one model"),
        (["space.yaml", "--resume", "x"], "--resume takes everything from its folder"),
        (["--resume", "x", "--points", "5"], "--resume takes everything from its folder"),
        (["s.yaml", "a.tosa", "--out", "x", "--scheduler", "y", "--workers", "1"], "exclude each other"),
    ],
)
def test_options_that_do_not_go_together_end_with_2(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert text in said(capsys, "explore", *arguments, code=2)[1]
    error = json.loads(said(capsys, "explore", *arguments, "--json", code=2)[1])["error"]
    assert error["kind"] == "UsageError"
    assert text in error["message"]


def test_what_is_wrong_with_a_space_or_an_objective_ends_with_1(
    space: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", tmp_path / "o")
    assert "latncy" in said(capsys, "explore", space, MODEL, *out, "--objective", "latncy", code=1)[1]
    assert "none.json" in said(capsys, "explore", tmp_path / "none.json", MODEL, *out, code=1)[1]
    space.write_text(json.dumps({**SPACE, "fields": {"array.rosw": [1]}}))
    assert "rosw" in said(capsys, "explore", space, MODEL, *out, code=1)[1]


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(space: Path, tmp_path: Path) -> None:
    asked = ["explore", space, MODEL, "--out", tmp_path / "o", "--points", 200000, "--workers", 1]
    command = [sys.executable, "-m", "tosajit", *map(str, asked)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        store = tmp_path / "o" / "points.sqlite-wal"
        while run.poll() is None and not (store.exists() and store.stat().st_size > 100_000):
            pass
        run.send_signal(signal.SIGINT)
        out, err = run.communicate()
    assert run.returncode == 130
    assert f"continue with `tosajit explore --resume {tmp_path / 'o'}`" in err
    assert "least latency" in out


@pytest.mark.parametrize("command", ["info", "check", "run", "program", "simulate"])
def test_with_json_errors_are_json_on_standard_error(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = said(capsys, command, "none.tosa", "--json", code=1)
    assert out == ""
    error = json.loads(err)["error"]
    assert "none.tosa" in error["message"]
    with pytest.raises(SystemExit) as end:
        main([command, "--json", "--what"])
    assert end.value.code == 2
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == "UsageError"


def test_programs_and_the_cache_are_there_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "program", MODEL, "--target", "tiny", "--json")[0])
    (program,) = found["programs"]
    assert {one["opcode"] for one in program["commands"]} == {"LOAD", "COMPUTE", "STORE"}
    assert {one["kind"] for one in program["operands"]} >= {"input", "output", "constant"}
    warmed = json.loads(said(capsys, "cache", "warm", MODEL, "--json")[0])
    assert warmed["compiled"] == {str(MODEL): 0} or warmed["compiled"][str(MODEL)] > 0
    for arguments in (["cache", "--json"], ["cache", "show", "--json"]):
        assert json.loads(said(capsys, *arguments)[0])["kernels"] > 0


def test_a_model_is_never_overwritten_by_what_is_written(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = model.read_bytes()
    text = "is a model, not an output file"
    assert text in said(capsys, "simulate", MODEL, "--csv", model, code=2)[1]
    assert model.read_bytes() == before


def every(command: Command) -> list[Command]:
    return [command, *(found for one in command.inner for found in every(one))]


ALL = [one for one in every(commands(parser())) if one.path]


@pytest.mark.parametrize("command", ALL, ids=lambda one: " ".join(one.path))
def test_every_command_has_json_and_help_with_examples_and_exit_codes(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main([*command.path, "--help"])
    assert end.value.code == 0
    out = capsys.readouterr().out
    names = [name for word in command.options for name in word.names]
    assert ("--json" in names) or command.path == ("completion",)
    if len(command.path) == 1:
        assert "examples:" in out
        assert "exit codes:" in out


@pytest.mark.parametrize("text", [text for rows in EXAMPLES.values() for text, _ in rows])
def test_examples_are_commands(text: str) -> None:
    words = shlex.split(text.partition(" > ")[0])
    assert words[0] == "tosajit"
    parser().parse_args(words[1:])


def completed(script: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    listed = " ".join(shlex.quote(word) for word in words)
    code = (
        f'. {script}; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _tosajit; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", code], check=True, capture_output=True, text=True, cwd=script.parent)
    return done.stdout.split()


def test_bash_completes_commands_options_and_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script"
    script.write_text(said(capsys, "completion", "bash")[0])
    (tmp_path / "model.tosa").touch()
    assert completed(script, "tosajit", "si") == ["simulate"]
    assert set(completed(script, "tosajit", "cache", "")) >= {"show", "warm", "clear"}
    assert completed(script, "tosajit", "explore", "--strategy", "n") == ["nsga2"]
    assert "ethos-u55-128" in completed(script, "tosajit", "simulate", "--machine", "etho")
    assert completed(script, "tosajit", "cache", "warm", "--thr") == ["--threads"]
    assert completed(script, "tosajit", "info", "mo") == ["model.tosa"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_of_other_shells_name_every_command_and_can_be_read(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "completion", shell)[0]
    for command in ALL:
        assert command.path[-1] in text
        for word in command.options:
            assert all(name.lstrip("-") in text for name in word.names)
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here to read its script; what it says was looked at")
    script = tmp_path / "script"
    script.write_text(text)
    subprocess.run([program, "-n", str(script)], check=True, env={**os.environ, "HOME": str(tmp_path)})
