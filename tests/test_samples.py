"""The networks that come with the package."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tosajit.cli import main

each_sample = pytest.mark.parametrize("name", tj.samples.names())


def test_the_documented_samples_are_there() -> None:
    folder = Path(str(tj.samples.__file__)).parent
    assert sorted(path.parent.name for path in folder.glob("*/model.tosa")) == sorted(tj.samples.names())


@each_sample
def test_a_sample_is_legal_and_its_cases_fit_it(name: str) -> None:
    graph = tj.samples.load(name)
    assert tj.validate(graph) == ()
    cases = tj.samples.cases(name)
    assert len(cases) >= 2
    for case in cases:
        for arrays, values in ((case.inputs, graph.inputs), (case.outputs, graph.outputs)):
            assert [array.shape for array in arrays] == [value.shape for value in values]
            assert [array.dtype for array in arrays] == [value.dtype.storage for value in values]


@each_sample
def test_the_files_of_a_sample_are_its_models_and_arrays(name: str) -> None:
    assert all(tj.samples.path(name, file).is_file() for file in tj.samples.files(name))
    assert tj.samples.path(name, "model.tflite").read_bytes()[4:8] == b"TFL3"
    arrays = [array for case in tj.samples.cases(name) for part in case for array in part]
    assert len(tj.samples.files(name)) == 2 + len(arrays)


def test_the_first_case_is_that_of_the_files() -> None:
    first = tj.samples.cases("ds_cnn")[0]
    np.testing.assert_array_equal(first.inputs[0], np.load(tj.samples.path("ds_cnn", "case0_in0.npy")))
    np.testing.assert_array_equal(first.outputs[1], np.load(tj.samples.path("ds_cnn", "case0_out1.npy")))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ds_cn"], "no sample is called 'ds_cn': did you mean ds_cnn?"),
        (["bert"], f"no sample is called 'bert': there are {', '.join(tj.samples.names())}"),
        ([".."], "no sample is called '..': there are"),
        (
            ["ds_cnn", "model.tfl"],
            "no file of the sample 'ds_cnn' is called 'model.tfl': did you mean model.",
        ),
        (["ds_cnn", "../__init__.py"], "no file of the sample 'ds_cnn' is called '../__init__.py'"),
    ],
)
def test_what_is_not_there_is_told(arguments: list[str], message: str) -> None:
    with pytest.raises(tj.FileError, match=re.escape(message)):
        tj.samples.path(*arguments)
    if len(arguments) == 1:
        for function in (tj.samples.load, tj.samples.cases, tj.samples.files):
            with pytest.raises(tj.FileError, match=re.escape(message)):
                function(*arguments)


def test_the_command_lists_samples_and_writes_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["samples", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(tj.samples.names())
    files = list(tj.samples.files("resnet8"))
    assert main(["samples", "resnet8"]) == 0
    assert capsys.readouterr().out == f"resnet8: {', '.join(files)}\n"
    assert main(["samples", "resnet8", "--out", "else/where", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"folder": "else/where", "files": files}
    for folder in ("resnet8", "else/where"):
        assert sorted(path.name for path in (tmp_path / folder).iterdir()) == files
        for file in files:
            written = (tmp_path / folder / file).read_bytes()
            assert written == tj.samples.path("resnet8", file).read_bytes()


def test_the_command_refuses_what_is_not_there_and_what_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["samples", "resnet9"]) == 1
    assert "did you mean resnet8?" in capsys.readouterr().err
    assert main(["samples", "resnet8", "--out", str(tmp_path / "file")]) == 1
    assert f"{tmp_path / 'file'}: File exists" in capsys.readouterr().err
