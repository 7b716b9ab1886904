"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.cli import main
from tosajit.cli.output import Bar, bytes_text, seconds_text
from tosajit.cli.run import drawn_for
from tosajit.dtypes import DTYPES
from tosajit.kernels import ready
from tosajit.operators import OPERATORS
from tosajit.operators.lowering import Lowering

ROOT = Path(__file__).parents[1]
MODEL = tj.samples.path("ds_cnn")
DATA = MODEL.parent


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A model that doubles INT32 and compares."""
    graph = tj.trace(lambda x: (x + x, x > np.int32(3)), tj.Value("x", tj.INT32, (2, 3)))
    path = tmp_path / "small.tosa"
    tj.save(graph, path)
    return path


@pytest.fixture
def illegal(tmp_path: Path) -> Path:
    """A model with two operators outside of PRO-INT: rows of EXT-INT16."""
    graph = tj.trace(
        lambda x: (ops.clamp(x, min_val=0, max_val=9), ops.clamp(x, min_val=0, max_val=5)),
        tj.Value("x", tj.INT16, (4,)),
    )
    path = tmp_path / "illegal.tosa"
    tj.save(graph, path)
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    assert main([str(argument) for argument in arguments]) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.out if code == 0 or captured.out else captured.err


def test_help_is_quick_and_imports_no_numpy() -> None:
    code = "import sys; from tosajit.cli import main\ntry: main(['--help'])\n"
    code += "except SystemExit as end: print(end.code)\n"
    code += "print(sorted({'numpy', 'numba', 'llvmlite', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-2:] == ["0", "[]"]


@pytest.mark.parametrize(
    "arguments",
    [[], ["what"], ["run"], ["run", "x.tosa", "--threads", "0"], ["run", "x.tosa", "--input", "x"],
     ["check", "x.tosa", "--extension", "EXT-NONE"]],
)  # fmt: skip
def test_wrong_usage_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("usage: tosajit")


@pytest.mark.parametrize("command", ["info", "check", "run", "program"])
def test_what_is_no_model_ends_with_1(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.tosa"
    path.write_bytes(MODEL.read_bytes()[:999])
    assert said(capsys, command, path, code=1).startswith(f"tosajit: {path}: ")
    assert said(capsys, command, tmp_path / "none.tosa", code=1).startswith("tosajit: ")


def test_info_counts_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "info", MODEL, "--json"))
    assert found["operators"]["CONV2D"] == 6
    assert found["needs"] == ["PRO-INT", "EXT-DOUBLEROUND", "EXT-INT16"]
    assert found["violations"] == 0
    (given,) = found["inputs"]
    assert (given["name"], given["dtype"], given["shape"]) == ("TosaInput_0", "INT8", [1, 49, 10, 1])
    text = said(capsys, "info", MODEL, "--graph")
    assert f"{found['macs']:,}" in text
    assert "= CONV2D(%" in text


def test_macs_are_those_of_the_nests() -> None:
    from tosajit.display.summary import macs
    from tosajit.graph.binding import constants_of, use_of

    graph = tj.load(MODEL)
    block, constants = graph.main, constants_of(graph.main)
    for node in block.nodes:
        use = use_of(node, block, constants)
        if node.operator.opcode in ("CONV2D", "DEPTHWISE_CONV2D"):
            nests = node.operator.lower(Lowering(use))  # type: ignore[attr-defined]
            assert macs(use) == sum(nest.points for nest in nests if nest.verb == "contract") > 0


def test_needs_are_the_fewest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "any.tosa"
    tj.save(tj.trace(lambda x: ~x, tj.Value("x", tj.BOOL, (4,))), path)
    assert json.loads(said(capsys, "info", path, "--json"))["needs"] == ["PRO-FP or PRO-INT"]


def test_info_names_variables_and_regions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def counted(x: tj.ops.Tensor) -> object:
        held = ops.variable("held", np.array([0], np.int8))
        held.write(ops.cond_if(ops.reshape(ops.cast(x, dtype="BOOL"), ()), lambda: x, lambda: held.read()))
        return held.read()

    path = tmp_path / "counted.tosa"
    tj.save(tj.trace(counted, tj.Value("x", tj.INT8, (1,))), path)
    found = json.loads(said(capsys, "info", path, "--json"))
    (held,) = found["variables"]
    assert (held["name"], held["dtype"], held["shape"]) == ("held", "INT8", [1])
    assert len(found["regions"]) == 3
    assert {"EXT-VARIABLE", "EXT-CONTROLFLOW"} <= set(found["needs"])


def test_check_is_silent_about_legal_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "check", MODEL) == f"{MODEL}: no violations\n"


def test_check_lists_all_violations(illegal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "check", illegal, "--extension", "none", code=1)
    assert [line.split(": ")[1] for line in text.splitlines()[:2]] == [
        "signed 16 needs EXT-INT16 [TOSA 1.0.1 section 1.6]"
    ] * 2
    found = json.loads(said(capsys, "check", illegal, "--profile", "PRO-FP", "--json", code=1))
    assert not found["legal"]
    assert {one["kind"] for one in found["violations"]} == {"profile"}
    assert json.loads(said(capsys, "check", illegal, "--extension", "EXT-INT16", "--json"))["legal"]


def test_run_gives_the_golden_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "run",
        MODEL,
        "--input",
        f"TosaInput_0={DATA}/case0_in0.npy",
        "--threads",
        "2",
        "--repeat",
        "3",
    ]
    text = said(
        capsys,
        *arguments,
        "--output-dir",
        tmp_path / "out",
        "--output",
        f"TosaOutput_1={tmp_path}/second.npy",
    )
    assert "fastest of 3" in text
    for path, golden in ((tmp_path / "out" / "TosaOutput_0.npy", 0), (tmp_path / "second.npy", 1)):
        np.testing.assert_array_equal(np.load(path), np.load(DATA / f"case0_out{golden}.npy"))
    assert not (tmp_path / "out" / "TosaOutput_1.npy").exists()


def test_random_inputs_follow_the_seed(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [
        json.loads(said(capsys, "run", small, "--random", "--seed", seed, "--target", target, "--json"))[
            "outputs"
        ]
        for seed, target in ((1, "host"), (1, "tiny"), (2, "host"))
    ]
    assert runs[0] == runs[1] != runs[2]
    assert runs[0][0]["shape"] == [2, 3]


def test_random_elements_fill_their_type() -> None:
    generator = np.random.default_rng(0)
    for dtype in DTYPES.values():
        if dtype.kind in ("int", "bool"):
            array = drawn_for(tj.Value("x", dtype, (4000,)), generator)
            assert array.dtype == dtype.storage
            reach = int(dtype.maximum) - int(dtype.minimum)
            assert int(array.max()) - int(array.min()) > 0.9 * reach
            assert dtype.minimum <= array.min() <= array.max() <= dtype.maximum


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "input x is missing: give --input x=FILE, or --random"),
        (["--input", "y=y.npy"], "there is no input y; the inputs are x"),
        (["--random", "--output", "y=y.npy"], "there is no output y; the outputs are "),
        (["--input", "x=/none.npy"], "/none.npy: No such file"),
    ],
)
def test_wrong_tensors_are_named(
    small: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in said(capsys, "run", small, *arguments, code=1)


def test_an_input_of_the_wrong_type_leaves_old_outputs(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    (tmp_path / "out.npy").write_bytes(b"old")
    name = tj.load(small).outputs[0].name
    said(
        capsys,
        "run",
        small,
        "--input",
        f"x={tmp_path}/x.npy",
        "--output",
        f"{name}={tmp_path}/out.npy",
        code=1,
    )
    assert (tmp_path / "out.npy").read_bytes() == b"old"


def test_program_prints_loops_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "program", MODEL, "--target", "tiny")
    assert text.startswith("program for tiny: ")
    assert "    for " in text
    commands = said(capsys, "program", MODEL, "--target", "tiny", "--commands").splitlines()
    assert {line.split()[0] for line in commands[1:]} == {"LOAD", "COMPUTE", "STORE"}


def test_operators_are_all_listed(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "operators", "--json"))
    assert [one["operator"] for one in found] == list(OPERATORS)
    assert len(said(capsys, "operators", "--markdown").splitlines()) == len(OPERATORS) + 2
    assert [line.split()[0] for line in said(capsys, "operators").splitlines()] == list(OPERATORS)


def test_operators_of_an_extension(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "operators", "--profile", "EXT-FFT").splitlines()
    assert [line.split()[0] for line in lines] == ["FFT2D", "RFFT2D"]
    assert len(said(capsys, "operators", "--profile", "EXT-FFT", "--markdown").splitlines()) == 4


WITHOUT_PACKAGED = """
import sys
from pathlib import Path
from tosajit.cli import main
from tosajit.kernels import ready
ready.FOLDER = Path(sys.executable)
sys.exit(main(["cache", *sys.argv[1:]]))
"""


def test_the_cache_is_warmed_and_cleared(small: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        environment = {**os.environ, "TOSAJIT_CACHE": str(tmp_path / "cache")}
        command = [sys.executable, "-c", WITHOUT_PACKAGED, *arguments]
        done = subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout

    assert run().endswith("cache: 0 kernels, 0 executables, 0 graphs, 0 bytes\n")
    assert int(run("warm", str(small)).split(": ")[1].split()[0]) > 1
    assert json.loads(run("show", "--json"))["kernels"] > 1
    assert run("warm", str(small)).endswith(": 0 kernels compiled\n")
    assert "kernels deleted" in run("clear")
    assert run("show").endswith("cache: 0 kernels, 0 executables, 0 graphs, 0 bytes\n")


def test_kernels_of_the_package_are_told_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ready, "FOLDER", tmp_path)
    (folder := tmp_path / "native").mkdir()
    (folder / ready.COMPILER).write_text("00")
    (folder / f"{'0' * 32}.o").touch()
    assert said(capsys, "cache").endswith(f"{folder}: 1 kernel of the package\n")
    assert json.loads(said(capsys, "cache", "--json"))["packaged"] == {str(folder): 1}


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"set -o pipefail; {sys.executable} -m tosajit operators --json | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[\n", "")


def test_results_that_cannot_be_written_are_an_error_without_a_trace() -> None:
    command = f"{sys.executable} -m tosajit operators > /dev/full"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "tosajit: No space left on device\n")


def test_an_output_that_lacks_characters_has_question_marks_in_their_place(small: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "tosajit", "simulate", str(small), "--machine", "tiny"]
    done = subprocess.run(command, env=environment, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "????????" in done.stdout


def test_a_seed_is_no_negative_number(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", str(small), "--random", "--seed", "-1"])
    assert "argument --seed: expected a number of at least 0, got '-1'" in capsys.readouterr().err


def test_the_bar_is_for_terminals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bar = Bar(width=4)
    bar(1, 2)
    bar.close()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar(1, 2)
    bar.close()
    assert capsys.readouterr().err == "\r██░░ 1/2 kernels\r\033[K"


def test_sizes_and_times_have_units() -> None:
    assert [bytes_text(size) for size in (12, 2048, 3 << 20)] == ["12 bytes", "2.0 KiB", "3.0 MiB"]
    assert [seconds_text(time) for time in (2.0, 0.0123, 5e-6)] == ["2.00 s", "12.30 ms", "5.0 µs"]


def test_convert_writes_what_load_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, written = tj.samples.path("ds_cnn", "model.tflite"), tmp_path / "model.tosa"
    assert main(["convert", str(source), str(written)]) == 0
    assert f"{written}: " in capsys.readouterr().out
    assert str(tj.load(written)) == str(tj.load(source))


def test_convert_writes_nothing_but_tosa(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tj.samples.path("ds_cnn", "model.tflite")
    assert main(["convert", str(source), str(tmp_path / "model.onnx")]) == 1
    assert "only .tosa and .mlir files and .nnef2 folders can be written" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_operators_of_another_format_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operators", "--from", "tflite", "--json"]) == 0
    found = {row["operator"]: row for row in json.loads(capsys.readouterr().out)}
    assert len(found) > 200
    assert found["ADD"]["becomes"] == "lowered"
    assert "int8" in found["ADD"]["types"].split()
    assert found["HASHTABLE"]["becomes"] == "refused"
    assert main(["operators", "--from", "tflite", "--profile", "PRO-INT"]) == 1
    assert "leave one of them out" in capsys.readouterr().err


def test_every_command_that_takes_one_model_takes_a_signature(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
    from tosajit.frontends.tflite.schema import Type

    tensors = [RawTensor(name, Type.FLOAT32, (2,)) for name in "abc"]
    nodes = [RawOperator("ABS", (0,), (1,)), RawOperator("NEG", (1,), (2,))]
    model = RawModel([RawSubgraph(tensors, nodes, [0], [2])], [("half", 0, {"x": 0}, {"y": 1})])
    path = tmp_path / "model.tflite"
    path.write_bytes(model.bytes())
    for command in ("info", "check", "program", "simulate", "run"):
        said(capsys, command, path, "--signature", "half", *(["--random"] if command == "run" else []))
        assert main([command, str(path), "--signature", "other"]) != 0
        assert "no signature 'other'; the file has 'half'" in capsys.readouterr().err
    assert json.loads(said(capsys, "info", path, "--signature", "half", "--json"))["operators"] == {"ABS": 1}


@pytest.mark.parametrize("where", ["parser", "import_module"])
def test_ctrl_c_ends_with_130_also_while_a_command_is_imported(
    where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"tosajit.cli.arguments.{where}", interrupted)
    assert main(["info", "model.tosa"]) == 130
    assert capsys.readouterr() == ("", "")
