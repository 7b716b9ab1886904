"""The frame of all front ends: what a file is, what is refused, what nodes are called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.tensorflow_cases.files import varint
from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
from tosajit.cli import main
from tosajit.frontends.formats import is_graph_def
from tosajit.frontends.frame import Declarations, Refused
from tosajit.frontends.tflite.options import AddOptions
from tosajit.frontends.tflite.schema import Type


def chain(*operators: str, kind: Type = Type.FLOAT32) -> bytes:
    """Operators of two operands, one behind the other; both operands are the result before."""
    tensors = [RawTensor(f"layer/{number};inner", kind, (2, 3)) for number in range(len(operators) + 1)]
    nodes = [
        RawOperator(name, (number, number), (number + 1,), AddOptions())
        for number, name in enumerate(operators)
    ]
    return RawModel([RawSubgraph(tensors, nodes, [0], [len(operators)], "main")]).bytes()


def test_nodes_have_the_names_of_the_model() -> None:
    graph = tj.load(chain("ADD", "SUB"))
    assert [value.name for value in graph.inputs] == ["layer/0"]
    assert [value.name for value in graph.outputs] == ["layer/2"]
    assert [node.name for node in graph.nodes] == ["layer/1", "layer/2"]
    assert [node.location for node in graph.nodes] == [
        "ADD layer/1;inner (main, operator 0)",
        "SUB layer/2;inner (main, operator 1)",
    ]


def test_names_and_places_stay_in_written_files() -> None:
    graph = tj.load(chain("ADD", "SUB"))
    again = tj.from_bytes(tj.to_bytes(graph))
    assert [(node.name, node.location) for node in again.nodes] == [
        (node.name, node.location) for node in graph.nodes
    ]


def test_equal_names_are_told_apart() -> None:
    tensors = [RawTensor("x", Type.FLOAT32, (2,)) for _ in range(3)]
    nodes = [RawOperator("ADD", (place, place), (place + 1,), AddOptions()) for place in range(2)]
    graph = tj.load(RawModel([RawSubgraph(tensors, nodes, [0], [2])]).bytes())
    assert len({node.name for node in graph.nodes} | {"x"}) == 3
    np.testing.assert_array_equal(tj.compile(graph)(np.ones(2, np.float32)), [4, 4])


def test_everything_that_is_refused_is_told_at_once() -> None:
    with pytest.raises(tj.ModelError) as caught:
        tj.load(chain("SKIP_GRAM", "ADD", "LSH_PROJECTION"))
    assert [(one.node, one.operator) for one in caught.value.refusals] == [
        ("layer/1", "SKIP_GRAM"),
        ("layer/3", "LSH_PROJECTION"),
    ]
    assert "layer/1 (SKIP_GRAM): " in str(caught.value)
    assert "layer/3 (LSH_PROJECTION): " in str(caught.value)


def test_what_breaks_a_rule_of_tosa_is_refused_with_it() -> None:
    tensors = [
        RawTensor(name, Type.FLOAT32, shape) for name, shape in (("a", (2,)), ("b", (3,)), ("c", (3,)))
    ]
    data = RawModel([RawSubgraph(tensors, [RawOperator("ADD", (0, 1), (2,))], [0, 1], [2])]).bytes()
    with pytest.raises(tj.ModelError, match=r"c \(ADD\): ADD input2: dimension 0 is 3, but 2 in input1"):
        tj.load(data)


def test_a_constant_that_several_nodes_use_is_there_once() -> None:
    ones = np.ones(300, np.float32).tobytes()
    tensors = [
        RawTensor("x", Type.FLOAT32, (300,)), RawTensor("k", Type.FLOAT32, (300,), ones),
        RawTensor("l", Type.FLOAT32, (300,), ones), RawTensor("y", Type.FLOAT32, (300,)),
        RawTensor("z", Type.FLOAT32, (300,)),
    ]  # fmt: skip
    nodes = [RawOperator("ADD", (0, 1), (3,)), RawOperator("ADD", (3, 2), (4,))]
    graph = tj.load(RawModel([RawSubgraph(tensors, nodes, [0], [4])]).bytes())
    assert [value.name for value in graph.main.values.values() if value.data is not None] == ["k"]


def test_a_signature_chooses_inputs_and_outputs_by_name() -> None:
    tensors = [RawTensor(name, Type.FLOAT32, (2,)) for name in "abcd"]
    nodes = [RawOperator("ADD", (0, 1), (2,)), RawOperator("ADD", (2, 1), (3,))]
    subgraph = RawSubgraph(tensors, nodes, [0, 1], [3])
    model = RawModel([subgraph], [("half", 0, {"second": 1, "first": 0}, {"sum": 2})])
    graph = tj.load(model.bytes(), signature="half")
    assert [value.name for value in graph.inputs] == ["second", "first"]
    assert [value.name for value in graph.outputs] == ["sum"]
    assert len(list(graph.nodes)) == 1
    with pytest.raises(tj.FileError, match="no signature 'other'; the file has 'half'"):
        tj.load(model.bytes(), signature="other")


def test_an_output_that_is_an_input_is_copied() -> None:
    subgraph = RawSubgraph([RawTensor("x", Type.FLOAT32, (2,))], [], [0], [0])
    graph = tj.load(RawModel([subgraph]).bytes())
    assert tj.validate(graph) == ()
    np.testing.assert_array_equal(tj.compile(graph)(np.ones(2, np.float32)), [1, 1])


def test_bytes_without_sign_keep_their_bits_outside() -> None:
    tensors = [RawTensor(name, Type.UINT8, (4,), scale=(0.5,), zero_point=(100,)) for name in "xy"]
    model = RawModel([RawSubgraph(tensors, [RawOperator("ADD", (0, 0), (1,), AddOptions())], [0], [1])])
    given = np.array([0, 100, 120, 255], np.uint8)
    found = tj.compile(tj.load(model.bytes()))(given.view(np.int8))
    assert found.view(np.uint8).tolist() == [0, 100, 140, 255]


@pytest.mark.parametrize(
    ("data", "seems"),
    [
        (b"\x89HDF\r\n\x1a\n" + bytes(40), "an HDF5 file"),
        (b"\x08\x01\x12\x07" + bytes(40), "the saved_model.pb of a TensorFlow SavedModel"),
        (b"\x80\x04\x95" + bytes(40), "a Python pickle"),
        (b"\x18\0\0\0ET12" + bytes(40), "an ExecuTorch program"),
        (b"\x18\0\0\0ORTM" + bytes(40), "a model in ONNX Runtime's own format"),
        (b"GGUF\x03\0\0\0" + bytes(40), "weights in GGUF"),
        (b"\x40" + bytes(7) + b'{"weight":{"dtype":"F32"', "weights as safetensors"),
        (b'<?xml version="1.0"?>\n<net name="a" version="11">', "an OpenVINO model"),
    ],
)
def test_other_formats_are_named(data: bytes, seems: str) -> None:
    with pytest.raises(
        tj.FileError,
        match=f"expected a .tosa, .tflite, .onnx, .pt2 or .pb file, .*, but this seems to be {seems}",
    ):
        tj.load(data)


@pytest.mark.parametrize("length", [5, 127, 128, 300, 1 << 14, 1 << 21, 1 << 28])
def test_a_message_that_begins_with_a_message_that_begins_with_a_text_is_a_graph(length: int) -> None:
    head = b"\n" + varint(length)
    assert is_graph_def(head + b"\n\x01x")
    assert not is_graph_def(head + b"\x12\x01x")
    assert not is_graph_def(head)
    assert not is_graph_def(b"\x12" + varint(length) + b"\n\x01x")


def test_a_length_has_no_more_than_five_bytes() -> None:
    assert not is_graph_def(b"\n" + varint(1 << 35) + b"\n\x01x")
    assert is_graph_def(b"  node {")
    assert not is_graph_def(b"  nodes {")


def test_folders_are_named(tmp_path: Path) -> None:
    (tmp_path / "graph.nnef").write_bytes(b"x")
    with pytest.raises(tj.FileError, match="this folder seems to be a model of NNEF 1"):
        tj.load(tmp_path)


def test_the_folder_of_a_saved_model_is_read_by_tensorflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    (tmp_path / "saved_model.pb").write_bytes(b"x")
    with pytest.raises(tj.InputError, match=r"not installed, .*: pip install tosajit\[tensorflow\]"):
        tj.load(tmp_path)
    assert main(["info", str(tmp_path)]) == 1
    assert "tosajit: TensorFlow is not installed" in capsys.readouterr().err


@pytest.mark.parametrize("choice", ["constants", "function", "narrow"])
@pytest.mark.parametrize("kind", ["tflite", "pt2", "tosa", "graph", "text", "nnef", "folder"])
def test_a_choice_that_a_format_does_not_have_is_refused(kind: str, choice: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {choice: {"constants": {"x": 1}, "function": "f", "narrow": True}[choice]}
    files = {
        "tflite": b"\x1c\0\0\0TFL3", "pt2": b"PK\x03\x04", "tosa": b"\x1c\0\0\0TOSA",
        "graph": b"\n\x05\n\x03abc", "text": b"node {", "nnef": b"graph",
    }  # fmt: skip
    if kind == "folder":
        (tmp_path / "saved_model.pb").write_bytes(b"")
        source = tmp_path
    else:
        source = tmp_path / {"nnef": "model.sknd"}.get(kind, "model")
        source.write_bytes(files[kind])
    with pytest.raises(tj.FileError, match=f"{choice} (is|are) .*, but only (MLIR|ONNX)"):
        tj.load(source, **given)


def test_what_is_no_model_at_all_is_refused_as_before() -> None:
    with pytest.raises(tj.FileError, match="expected the identifier b'TOSA'"):
        tj.load(bytes(64))


def test_an_operator_is_declared_once() -> None:
    declarations = Declarations("tosajit.frontends.tflite.operators")
    declarations.refuse("WHERE", "its result has no bound", "use a mask")
    with pytest.raises(ValueError, match="WHERE is declared twice"):
        declarations.refuse("WHERE", "again")
    with pytest.raises(Refused, match="its result has no bound"):
        declarations["WHERE"].check(1, None)


def test_a_tensor_can_be_several_outputs_of_a_signature() -> None:
    tensors = [RawTensor(name, Type.FLOAT32, (2,)) for name in "ab"]
    subgraph = RawSubgraph(tensors, [RawOperator("ADD", (0, 0), (1,))], [0], [1])
    model = RawModel([subgraph], [("twice", 0, {"x": 0}, {"first": 1, "second": 1})])
    graph = tj.load(model.bytes(), signature="twice")
    assert [value.name for value in graph.outputs] == ["first", "second"]
    for found in tj.compile(graph)(np.ones(2, np.float32)):
        np.testing.assert_array_equal(found, [2, 2])


def test_outputs_without_sign_have_the_names_of_the_model() -> None:
    tensors = [RawTensor(name, Type.UINT8, (4,), scale=(0.5,), zero_point=(100,)) for name in "xy"]
    model = RawModel([RawSubgraph(tensors, [RawOperator("ADD", (0, 0), (1,), AddOptions())], [0], [1])])
    graph = tj.load(model.bytes())
    assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["x", "y"]
    assert all(node.location for node in graph.nodes if node.inputs)


def test_what_takes_a_refused_input_is_looked_at_all_the_same() -> None:
    tensors = [RawTensor("words", Type.STRING, (2,)), RawTensor("found", Type.FLOAT32, (2,))]
    model = RawModel([RawSubgraph(tensors, [RawOperator("SKIP_GRAM", (0,), (1,))], [0], [1])])
    with pytest.raises(tj.ModelError) as caught:
        tj.load(model.bytes())
    assert [(one.node, one.operator) for one in caught.value.refusals] == [
        ("words", "input"),
        ("found", "SKIP_GRAM"),
    ]
