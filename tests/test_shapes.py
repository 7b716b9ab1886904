"""Inputs whose shapes a file leaves open, in every format: by `shapes=` and by `--shapes`."""

from __future__ import annotations

import json
import logging
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.raw_files import RawFile
from tests.raw_files import RawTensor as Unnamed
from tests.tensorflow_cases.files import RawGraph
from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
from tosajit import ops
from tosajit.cli import main
from tosajit.files.encode import write_graph
from tosajit.frontends.tensorflow.schema import Type as Kind
from tosajit.frontends.tflite.options import AddOptions, ReshapeOptions
from tosajit.frontends.tflite.schema import Type
from tosajit.graph import Block, Graph, Region

Array = np.ndarray[Any, Any]


def opened(graph: Graph, *names: str, target: tuple[int, ...] | None = None) -> bytes:
    """A file that leaves the first extents of tensors open, and perhaps an extent of a new shape."""
    values = dict(graph.main.values)
    for name in names:
        values[name] = replace(values[name], shape=(-1, *(values[name].shape or ())[1:]))
    for name, value in values.items():
        if target is not None and value.dtype is tj.dtypes.SHAPE:
            values[name] = replace(value, data=np.array(target, np.int64))
    main = graph.main
    block = Block(main.name, main.nodes, values, main.inputs, main.outputs)
    return write_graph(replace(graph, regions=(Region("main", (block,)),)))


def flat() -> bytes:
    """Twice a matrix, in a row for each batch; the batch is open, also in the new shape."""
    graph = tj.trace(lambda x: ops.reshape(x + x, (1, 6)), tj.Value("x", tj.FP32, (1, 2, 3)))
    names = [value.name for value in graph.main.values.values() if value.shape and value.shape[0] == 1]
    return opened(graph, *names, target=(-1, 6))


def tflite() -> bytes:
    """The same as TFLite writes it: batches of 1, with -1 in the signature."""
    shape = np.array([-1, 6], np.int32)
    tensors = [
        RawTensor("x", Type.FLOAT32, (1, 2, 3), signature=(-1, 2, 3)),
        RawTensor("sum", Type.FLOAT32, (1, 2, 3), signature=(-1, 2, 3)),
        RawTensor("shape", Type.INT32, (2,), shape.tobytes()),
        RawTensor("y", Type.FLOAT32, (1, 6), signature=(-1, 6)),
    ]
    nodes = [
        RawOperator("ADD", (0, 0), (1,), AddOptions()),
        RawOperator("RESHAPE", (1, 2), (3,), ReshapeOptions((-1, 6))),
    ]
    return RawModel([RawSubgraph(tensors, nodes, [0], [3])]).bytes()


def frozen() -> bytes:
    """The same as TensorFlow writes it."""
    graph = RawGraph()
    graph.input("x", (-1, 2, 3))
    graph.node("sum", "AddV2", "x", "x", T=Kind.FLOAT32)
    graph.const("shape", [-1, 6], np.int32)
    graph.node("y", "Reshape", "sum", "shape", T=Kind.FLOAT32)
    return graph.bytes()


FORMATS = {"tosa": flat, "tflite": tflite, "pb": frozen}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("batch", [None, 1, 4])
def test_a_batch_is_what_is_given_or_one(form: str, batch: int | None) -> None:
    shapes = None if batch is None else {"x": (batch, 2, 3)}
    graph = tj.load(FORMATS[form](), shapes=shapes)
    assert tj.validate(graph) == ()
    x = np.arange(6 * (batch or 1), dtype=np.float32).reshape(-1, 2, 3)
    np.testing.assert_array_equal(tj.compile(graph)(x), 2 * x.reshape(-1, 6))


@pytest.mark.parametrize("form", ["tosa", "pb"])
def test_a_batch_that_is_taken_as_one_is_noted(form: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tosajit"):
        tj.load(FORMATS[form]())
    assert caplog.messages == ["x: its shape is [?, 2, 3]; the batch is taken as 1: give shapes={'x': (…)}"]


@pytest.mark.parametrize("form", FORMATS)
def test_shapes_that_do_not_fit_are_refused(form: str) -> None:
    for wrong in ((4, 2, 2), (4, 6), (-1, 2, 3)):
        with pytest.raises((tj.FileError, tj.ModelError), match=r"x.*its shape is \[\?, 2, 3\], but \["):
            tj.load(FORMATS[form](), shapes={"x": wrong})
    with pytest.raises(tj.InputError, match="shapes has 'z', but the inputs are x"):
        tj.load(FORMATS[form](), shapes={"z": (1, 2, 3)})


def test_extents_beside_the_batch_are_asked_for() -> None:
    graph = tj.trace(lambda x: x + x, tj.Value("x", tj.FP32, (2, 3)))
    values = {name: replace(value, shape=(2, -1)) for name, value in graph.main.values.items()}
    block = replace(graph.main, values=values)
    data = write_graph(replace(graph, regions=(Region("main", (block,)),)))
    with pytest.raises(tj.FileError, match=r"input x: its shape is \[2, \?\]; give shapes=\{'x': \(…\)\}"):
        tj.load(data)
    assert [value.shape for value in tj.load(data, shapes={"x": (2, 7)}).outputs] == [(2, 7)]


def test_shapes_of_a_file_without_open_extents_are_held_against_it() -> None:
    data = tj.to_bytes(tj.trace(lambda x: x + x, tj.Value("x", tj.FP32, (2, 3))))
    assert tj.load(data, shapes={"x": (2, 3)}) == tj.load(data)
    with pytest.raises(tj.FileError, match=r"input x: its shape is \[2, 3\], but \[4, 3\] is given"):
        tj.load(data, shapes={"x": (4, 3)})


def test_open_constants_and_extents_below_are_damage() -> None:
    data = tj.to_bytes(tj.trace(lambda x: x + np.ones((1, 3), np.float32), tj.Value("x", tj.FP32, (5, 3))))
    with pytest.raises(tj.FileError, match=r"expected a constant to have extents from 0, found \[-1, 3\]"):
        tj.load(reshaped(data, (1, 3), (-1, 3)))
    with pytest.raises(tj.FileError, match=r"from 0, or -1 for open ones, found \[-2, 3\]"):
        tj.load(reshaped(data, (5, 3), (-2, 3)))


def test_an_open_tensor_that_nothing_computes_stays_open() -> None:
    with pytest.raises(tj.FileError, match=r"x: its shape is \[2, \?\], and no node says more of it"):
        tj.load(RawFile((Unnamed(shape=(2, -1)),)).bytes())


def reshaped(data: bytes, shape: tuple[int, ...], other: tuple[int, ...]) -> bytes:
    """A file with another shape in place of one that it has."""
    before, after = (struct.pack(f"<{1 + len(one)}i", len(one), *one) for one in (shape, other))
    assert before in data
    return data.replace(before, after)


def test_control_flow_keeps_its_shapes() -> None:
    graph = tj.trace(
        lambda flag, x: ops.cond_if(flag, lambda: x + x, lambda: x),
        tj.Value("flag", tj.BOOL, ()), tj.Value("x", tj.FP32, (1, 3)),
    )  # fmt: skip
    values = dict(graph.main.values)
    values["x"] = replace(values["x"], shape=(-1, 3))
    regions = tuple(
        Region(one.name, (replace(one.blocks[0], values=values),)) if one.blocks[0] is graph.main else one
        for one in graph.regions
    )
    with pytest.raises(tj.FileError, match="its extents are open, and it has control flow"):
        tj.load(write_graph(replace(graph, regions=regions)))


@pytest.fixture
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A model in a file."""
    found = tmp_path / f"model.{request.param}"
    found.write_bytes(FORMATS[request.param]())
    return found


@pytest.mark.parametrize("path", FORMATS, indirect=True)
@pytest.mark.parametrize("command", ["info", "check", "run", "program", "simulate", "convert"])
def test_every_command_takes_shapes(path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"run": ["--random"], "convert": [str(path.with_name("out.tosa"))]}.get(command, [])
    assert main([command, str(path), *more, "--shapes", "x=4x2x3", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    if command == "info":
        (given,) = json.loads(captured.out)["inputs"]
        assert (given["name"], given["dtype"], given["shape"]) == ("x", "FP32", [4, 2, 3])
    if command == "convert":
        assert [value.shape for value in tj.load(path.with_name("out.tosa")).outputs] == [(4, 6)]


@pytest.mark.parametrize("path", ["tosa"], indirect=True)
def test_commands_say_which_batch_they_take(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(path)]) == 0
    assert capsys.readouterr().err == (
        "tosajit: x: its shape is [?, 2, 3]; the batch is taken as 1: give shapes={'x': (…)}\n"
    )


@pytest.mark.parametrize("text", ["x", "=1x2", "x=1xa", "x=1x-2", "x=1,2"])
def test_a_shape_is_written_with_its_input(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["info", "model.pb", "--shapes", text])
    assert caught.value.code == 2
    assert f"expected NAME=1x224x224x3, got {text!r}" in capsys.readouterr().err
