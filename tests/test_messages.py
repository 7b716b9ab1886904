"""What is said of the mistakes that people make first: what is wrong, and what to do."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.cli import main

MODEL = tj.samples.path("ds_cnn", "model.tflite")
X = np.arange(6, dtype=np.int8).reshape(1, 2, 3)
SPACE = {"base": "systolic-16", "fields": {"array.rows": [8, 16]}}


@tj.jit
def doubled(x: Any, scale: Any = 1.0) -> Any:
    return ops.add(x, x)


def small() -> tj.Graph:
    return tj.trace(lambda x: ops.add(x, x), np.array([1, 2], np.int32))


MISTAKES: list[tuple[Callable[[], object], str]] = [
    (
        lambda: doubled(np.array([1], np.int32), scale=3.0),
        "argument scale: the Python number 3.0 has no TOSA type: write np.float32(3.0), or bind it with "
        "functools.partial",
    ),
    (lambda: doubled(np.array([1], np.int32), 3), "write np.int32(3)"),
    (lambda: doubled(np.array([1], np.int32), True), "write np.bool_(True)"),
    (lambda: ops.add(np.array([1], np.float32), 2.5), "write np.float32(2.5)"),  # type: ignore[arg-type]
    (lambda: tj.compile(small(), target="tiny"), "expected a tj.Target, got 'tiny': machine='tiny' compiles"),  # type: ignore[arg-type]
    (lambda: tj.compile(small(), target=3), "expected a tj.Target, got int: tj.TINY is one"),  # type: ignore[arg-type]
    (
        lambda: tj.compile(small(), machine=3),  # type: ignore[arg-type]
        "machine: expected a tj.Machine, a name from tj.machines() or the path of a file, got int",
    ),
    (lambda: tj.compile(small(), threads="2"), "threads is '2', but must be an integer of at least 1"),  # type: ignore[arg-type]
    (lambda: tj.compile(small(), threads=10**6), "threads is 1000000, but must be at most 1024"),
    (
        lambda: tj.compile(small(), custom=3),  # type: ignore[arg-type]
        "custom is 3, but must be a mapping of (domain, name) to tj.Custom",
    ),
    (
        lambda: tj.compile(small(), custom={("shop", "Mine"): abs}),  # type: ignore[dict-item]
        "custom has ('shop', 'Mine'): <built-in function abs>, but must map (domain, name) to tj.Custom",
    ),
    (lambda: tj.compile(small(), custom={"Mine": tj.Custom(abs)}), "custom has 'Mine': "),  # type: ignore[dict-item]
    (lambda: tj.register_custom("shop", "Mine", 3), "its function is 3, but must be one that can be called"),  # type: ignore[arg-type]
    (lambda: tj.explore(small(), "tiny"), "space: expected a tj.Space, got str: tj.Space("),  # type: ignore[arg-type]
    (
        lambda: tj.load(MODEL, weights=0.0),
        "weights is 0.0 (--zeros), but only NNEF models have attributes and such choices: leave it out",
    ),
    (
        lambda: tj.load(MODEL, shape={"x": (1,)}),  # type: ignore[arg-type]
        "shape is {'x': (1,)}, but only NNEF models have attributes and such choices: did you mean shapes?",
    ),
    (lambda: tj.simulate(small(), machine=None), "machine: expected a tj.Machine, a name"),  # type: ignore[arg-type]
    (lambda: tj.simulate(doubled), "doubled has not been called: give the arguments that are meant"),
    (lambda: tj.simulate(lambda x: x), "make a graph of it with tj.trace(function, *arguments)"),  # type: ignore[arg-type]
    (lambda: tj.simulate(3), "expected a graph, an executable or the path of a model, got int"),  # type: ignore[arg-type]
    (lambda: tj.compile(doubled), "doubled.graph(*arguments) gives its graph for such arguments"),  # type: ignore[arg-type]
    (lambda: tj.save(doubled, "x.tosa"), "as in example_inputs=(x,)"),
    (lambda: tj.to_bytes(doubled), "got a jitted function"),  # type: ignore[arg-type]
    (lambda: tj.to_bytes(tj.compile(small())), "expected a graph, got Executable: pass its .graph"),  # type: ignore[arg-type]
    (lambda: tj.validate(doubled), "got a jitted function"),  # type: ignore[arg-type]
    (lambda: tj.validate("model.tosa"), "expected a graph, got str"),  # type: ignore[arg-type]
    (lambda: pickle.dumps(tj.compile(small())), "cannot be pickled or copied: send its graph"),
    (lambda: copy.deepcopy(tj.compile(small())), "cannot be pickled or copied"),
    (lambda: pickle.dumps(doubled), "a jitted function holds addresses of this process"),
]


@pytest.mark.parametrize(("mistake", "text"), MISTAKES, ids=[text[:40] for _, text in MISTAKES])
def test_a_mistake_is_told_with_its_remedy(mistake: Callable[[], object], text: str) -> None:
    with pytest.raises(tj.TosaError) as caught:
        mistake()
    assert text in str(caught.value)


def test_a_level_that_there_is_not_is_told_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="level is 'x', but must be one of 8K, none"):
        tj.compile(small(), level="x")


def test_jit_compiles_for_a_machine() -> None:
    function = tj.jit(machine="tiny")(lambda x: ops.add(x, x))
    assert function(np.array([3], np.int32)).tolist() == [6]
    assert function.executable(np.array([3], np.int32)).program.target == tj.machine("tiny").target


def test_what_an_operator_needs_may_be_given_by_place() -> None:
    assert np.array_equal(ops.transpose(X, (0, 2, 1)), X.transpose(0, 2, 1))
    assert np.array_equal(ops.reduce_max(X, 2), X.max(2, keepdims=True))
    assert np.array_equal(ops.concat([X, X], 0), np.concatenate([X, X]))
    assert np.array_equal(ops.clamp(X, 1, 3), X.clip(1, 3))
    assert ops.cast(X, tj.INT16).dtype == np.int16


def test_an_overflow_names_the_bits_of_its_type() -> None:
    with pytest.raises(tj.RequireError, match="no overflow of 32 bits"):
        tj.jit(ops.sub, checked=True)(np.array([-(2**31)], np.int32), np.array([1], np.int32))  # type: ignore[call-overload]


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    try:
        code = main([str(one) for one in arguments])
    except SystemExit as end:
        code = int(str(end.code))
    captured = capsys.readouterr()
    return code, captured.out + captured.err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["simulat"], "there is no 'simulat'; did you mean simulate?"),
        (["explor", "x"], "did you mean explore?"),
        (["check", "x.tosa", "--extension", "EXT-INT61"], "did you mean EXT-INT16"),
        (["explore", "a", "b", "--strategy", "sobel"], "did you mean sobol?"),
        (["run", "x.tosa", "--target", "tinny"], "did you mean tiny?"),
    ],
)
def test_a_word_that_is_spelt_alike_is_suggested(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = said(capsys, *arguments)
    assert (code, text in out) == (2, True), out


def test_machines_whose_names_contain_a_word_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = said(capsys, "machines", "ethos")
    assert code == 0
    listed = [name for name in tj.machines() if name in out.split()]
    assert listed == [name for name in tj.machines() if "ethos" in name]
    assert len(out.splitlines()) == 1 + len(listed)
    code, out = said(capsys, "machines", "tpu", "--json")
    assert [one["name"] for one in json.loads(out)] == ["tpu-v1"]


def test_a_part_of_a_name_is_answered_with_all_that_have_it() -> None:
    with pytest.raises(tj.MachineError, match=r"did you mean ethos-u55-32 or .* or ethos-u85-2048"):
        tj.machine("ethos")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"model": "none.tosa"}, "none.tosa"),
        ({"space": "none.json"}, "none.json"),
        ({"objective": "latensy"}, "did you mean latency?"),
        ({"weight": "other=2"}, "there is a weight for other"),
        ({"workers": "2", "scheduler": "here"}, "exclude each other"),
        ({}, "--out FOLDER is needed, for the results"),
    ],
)
def test_other_faults_are_told_before_a_missing_folder(
    change: dict[str, str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tj.save(small(), tmp_path / "small.tosa")
    (tmp_path / "space.json").write_text(json.dumps(SPACE))
    space, model = tmp_path / change.pop("space", "space.json"), tmp_path / change.pop("model", "small.tosa")
    options = [part for name, value in change.items() for part in (f"--{name}", value)]
    code, out = said(capsys, "explore", space, model, *options)
    assert code == (2 if "exclude" in text or "--out" in text else 1)
    assert text in out
    assert ("--out FOLDER" in out) == ("--out" in text)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.tosa", "space.json"]
