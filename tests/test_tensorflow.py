"""Frozen GraphDefs are read without TensorFlow: names, shapes, constants, folding, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.tensorflow_cases.files import (
    TYPES,
    Called,
    RawFunction,
    RawGraph,
    RawNode,
    Shape,
    integer,
    message,
    shape_of,
    varint,
)
from tosajit.files.prototext import to_wire
from tosajit.files.wire import message_of
from tosajit.frontends.tensorflow import schema
from tosajit.frontends.tensorflow.elements import array_of
from tosajit.frontends.tensorflow.lowering import Captured, Interface, lowered
from tosajit.frontends.tensorflow.reader import read_model
from tosajit.frontends.tensorflow.records import Reference
from tosajit.frontends.tensorflow.schema import Type
from tosajit.frontends.tensorflow.writing import written

Array = np.ndarray[Any, Any]


def dense() -> RawGraph:
    """A layer: weights, a bias and an activation."""
    graph = RawGraph()
    graph.input("x", (-1, 3))
    graph.const("dense/kernel", np.arange(6.0).reshape(3, 2), np.float32)
    graph.const("dense/bias", [1.0, -40.0], np.float32)
    graph.node("dense/MatMul", "MatMul", "x", "dense/kernel", T=Type.FLOAT32)
    graph.node("dense/BiasAdd", "BiasAdd", "dense/MatMul", "dense/bias", T=Type.FLOAT32)
    graph.node("dense/Relu", "Relu", "dense/BiasAdd", T=Type.FLOAT32)
    return graph


def expected(x: Array) -> Array:
    found: Array = np.maximum(
        x @ np.arange(6, dtype=np.float32).reshape(3, 2) + np.array([1, -40], np.float32), 0
    )
    return found


def test_a_layer_is_one_convolution_with_its_names() -> None:
    graph = tj.load(dense().bytes())
    assert [(value.name, value.shape) for value in graph.inputs] == [("x", (1, 3))]
    assert [value.name for value in graph.outputs] == ["dense/Relu"]
    computed = [node for node in graph.nodes if node.inputs]
    assert [node.operator.opcode for node in computed] == ["RESHAPE", "CONV2D", "RESHAPE", "CLAMP"]
    assert {node.name.rsplit("/", 1)[0] for node in computed[1:]} <= {"dense", "dense/BiasAdd"}
    assert computed[-1].location == "Relu dense/Relu (graph, node 5)"
    x = np.array([[1, 2, 3]], np.float32)
    np.testing.assert_array_equal(tj.compile(graph)(x), expected(x))


def test_shapes_are_given_where_they_are_open(tmp_path: Path) -> None:
    path = tmp_path / "model.pb"
    path.write_bytes(dense().bytes())
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    for graph in (tj.load(path, shapes={"x": (4, 3)}), tj.from_tensorflow(path, shapes={"x:0": (4, 3)})):
        np.testing.assert_array_equal(tj.compile(graph)(x), expected(x))
    with pytest.raises(
        tj.ModelError, match=r"x \(Placeholder\): its shape is \[\?, 3\], but \[4, 2\] is given"
    ):
        tj.load(path, shapes={"x": (4, 2)})


def test_a_shape_of_which_nothing_is_known_is_asked_for() -> None:
    graph = RawGraph()
    graph.input("x", None)
    graph.input("y", (2, -1))
    graph.node("z", "AddV2", "x", "y", T=Type.FLOAT32)
    with pytest.raises(tj.ModelError) as caught:
        tj.load(graph.bytes())
    assert [(one.node, one.reason, one.remedy) for one in caught.value.refusals] == [
        ("x", "its shape is not known", "give shapes={'x': (…)}"),
        ("y", "its shape is [2, ?]", "give shapes={'y': (…)}"),
    ]


def test_outputs_can_be_chosen() -> None:
    graph = tj.from_tensorflow(dense().bytes(), outputs=["dense/BiasAdd:0", "dense/Relu"])
    assert [value.name for value in graph.outputs] == ["dense/BiasAdd:0", "dense/Relu"]
    with pytest.raises(tj.FileError, match="node 'dense/Tanh' is used, but is not there"):
        tj.from_tensorflow(dense().bytes(), outputs=["dense/Tanh"])


def test_placeholders_of_which_only_the_shape_is_used_are_inputs() -> None:
    graph = dense()
    graph.input("idle", (2, 3))
    graph.input("open", (-1, 3))
    assert [value.name for value in tj.load(graph.bytes()).inputs] == ["x", "idle"]
    chosen = tj.from_tensorflow(graph.bytes(), outputs=["dense/Relu"])
    assert [value.name for value in chosen.inputs] == ["x"]


def test_everything_that_is_refused_is_told_at_once() -> None:
    graph = RawGraph()
    graph.input("x", (2,))
    graph.node("a", "Mystery", "x")
    graph.node("b", "Relu", "a", T=Type.FLOAT32)
    graph.node("c", "MaxPoolGrad", "b")
    graph.node("d", "Exp", "x:3", T=Type.FLOAT32)
    graph.node("e", "AddN", "c", "d", T=Type.FLOAT32)
    with pytest.raises(tj.ModelError) as caught:
        tj.load(graph.bytes())
    assert [(one.node, one.operator) for one in caught.value.refusals] == [
        ("a", "Mystery"), ("c", "MaxPoolGrad"), ("d", "Exp"),
    ]  # fmt: skip


def test_arithmetic_of_shapes_is_done_when_the_model_is_read() -> None:
    graph = RawGraph()
    graph.input("x", (-1, 4, 6))
    graph.node("shape", "Shape", "x", T=Type.FLOAT32, out_type=Type.INT32)
    for name, value in (("zero", [0]), ("one", [1]), ("axis", 0), ("minus", -1)):
        graph.const(name, value, np.int32)
    graph.node("batch", "StridedSlice", "shape", "zero", "one", "one", T=Type.INT32, shrink_axis_mask=1)
    graph.node("all", "Prod", "shape", "zero", T=Type.INT32)
    graph.node("size", "FloorDiv", "all", "batch", T=Type.INT32)
    graph.node("new", "Pack", "batch", "size", T=Type.INT32, axis=0, N=2)
    graph.node("flat", "Reshape", "x", "new", T=Type.FLOAT32)
    found = tj.load(graph.bytes(), shapes={"x": (2, 4, 6)})
    assert [node.operator.opcode for node in found.nodes if node.inputs] == ["RESHAPE"]
    assert [value.shape for value in found.outputs] == [(2, 24)]


def test_control_inputs_and_checks_compute_nothing() -> None:
    graph = RawGraph()
    graph.input("x", (2,))
    graph.input("fine", (), Type.BOOL)
    graph.node("check", "Assert", "fine", "x", T=[Type.FLOAT32])
    graph.node("y", "Relu", "x", "^check", T=Type.FLOAT32)
    found = tj.load(graph.bytes())
    assert [value.name for value in found.inputs] == ["x"]
    assert [value.name for value in found.outputs] == ["y"]


def test_functions_are_inlined() -> None:
    double = RawFunction(
        "double", ["a"], {"r": "halves:output:1"}, [
            RawNode("axis", "Const", (), {"value": np.array(0, np.int32), "dtype": Type.INT32}),
            RawNode("twice", "AddV2", ("a", "a"), {"T": Type.FLOAT32}),
            RawNode("halves", "Split", ("axis:output:0", "twice:z:0"), {"T": Type.FLOAT32, "num_split": 2}),
        ],
    )  # fmt: skip
    graph = RawGraph(functions=[double])
    graph.input("x", (4,))
    graph.node("call", "PartitionedCall", "x", f=Called("double"), Tin=[Type.FLOAT32])
    found = tj.load(graph.bytes())
    assert "call/twice" in {node.name for node in found.nodes}
    np.testing.assert_array_equal(tj.compile(found)(np.arange(4, dtype=np.float32)), [4, 6])


def number(name: str, value: Any, kind: type[Any]) -> RawNode:
    """A constant of a function."""
    array = np.array(value, kind)
    return RawNode(name, "Const", (), {"value": array, "dtype": TYPES[array.dtype]})


def loop(limit_is_known: bool) -> RawGraph:
    """Doubles a tensor as often as a limit says, and adds a weight each time."""
    condition = RawFunction(
        "goes_on", ["turn", "limit", "value", "weight"], {"r": "less:z:0"},
        [RawNode("less", "Less", ("turn", "limit"), {"T": Type.INT32})],
    )  # fmt: skip
    body = RawFunction(
        "turn_round",
        ["turn", "limit", "value", "weight"],
        {"a": "next:z:0", "b": "same:output:0", "c": "more:z:0", "d": "weight"},
        [
            number("one", 1, np.int32),
            RawNode("next", "AddV2", ("turn", "one:output:0"), {"T": Type.INT32}),
            RawNode("same", "Identity", ("limit",), {"T": Type.INT32}),
            RawNode("twice", "AddV2", ("value", "value"), {"T": Type.FLOAT32}),
            RawNode("more", "AddV2", ("twice:z:0", "weight"), {"T": Type.FLOAT32}),
        ],
    )
    graph = RawGraph(functions=[condition, body])
    graph.const("start", 0, np.int32)
    if limit_is_known:
        graph.const("limit", 3, np.int32)
    else:
        graph.input("limit", (), Type.INT32)
    graph.input("x", (2,))
    graph.const("weight", [1.0, 10.0], np.float32)
    names = {"cond": Called("goes_on"), "body": Called("turn_round")}
    graph.node("loop", "StatelessWhile", "start", "limit", "x", "weight", **names, T=[Type.INT32])
    graph.node("y", "Identity", "loop:2", T=Type.FLOAT32)
    return graph


def test_loops_whose_turns_are_known_are_unrolled() -> None:
    graph = tj.from_tensorflow(loop(True).bytes(), outputs=["y"])
    assert [node.operator.opcode for node in graph.nodes if node.inputs] == ["ADD"] * 6
    assert any(node.name.startswith("loop/twice") for node in graph.nodes)
    np.testing.assert_array_equal(tj.compile(graph)(np.array([1, 2], np.float32)), [15, 86])


def test_other_loops_run_in_the_graph() -> None:
    graph = tj.from_tensorflow(loop(False).bytes(), outputs=["y"])
    loops = [node for node in graph.main.nodes if node.operator.opcode == "WHILE_LOOP"]
    assert len(loops) == 1
    assert tj.validate(graph) == ()
    run, x = tj.compile(graph), np.array([1, 2], np.float32)
    for turns, expected in ((0, [1, 2]), (3, [15, 86])):
        np.testing.assert_array_equal(run(np.array(turns, np.int32), x), expected)


def test_branches_are_chosen_by_a_truth() -> None:
    functions = [
        RawFunction("up", ["a"], {"r": "y:y:0"}, [RawNode("y", "Exp", ("a",), {"T": Type.FLOAT32})]),
        RawFunction("down", ["a"], {"r": "y:y:0"}, [RawNode("y", "Neg", ("a",), {"T": Type.FLOAT32})]),
    ]
    graph = RawGraph(functions=functions)
    graph.input("c", (), Type.BOOL)
    graph.input("x", (2,))
    graph.node("y", "If", "c", "x", then_branch=Called("up"), else_branch=Called("down"))
    run, x = tj.compile(tj.load(graph.bytes())), np.array([0, 2], np.float32)
    np.testing.assert_array_equal(run(np.array(False), x), -x)
    np.testing.assert_allclose(run(np.array(True), x), np.exp(x), rtol=1e-6)


def test_loops_of_tensorflow_1_are_refused_with_what_to_do() -> None:
    graph = RawGraph()
    graph.input("x", (2,))
    graph.node("enter", "Enter", "x", T=Type.FLOAT32, frame_name="loop")
    graph.node("merge", "Merge", "enter", "next", T=Type.FLOAT32)
    graph.node("turn", "Neg", "merge", T=Type.FLOAT32)
    graph.node("guard", "Identity", "turn", "^merge", T=Type.FLOAT32)
    graph.node("next", "NextIteration", "guard", T=Type.FLOAT32)
    graph.node("y", "Exit", "merge", T=Type.FLOAT32)
    with pytest.raises(tj.ModelError, match=r"merge \(Merge\).*lower_control_flow=False"):
        tj.load(graph.bytes())


@pytest.mark.parametrize("is_constant", [False, True])
def test_branches_are_chosen_by_a_number(is_constant: bool) -> None:
    graph = RawGraph(
        functions=[
            RawFunction(op, ["a"], {"r": "y:y:0"}, [RawNode("y", op, ("a",), {"T": Type.FLOAT32})])
            for op in ("Neg", "Square", "Abs")
        ]
    )
    x = np.array([-1, 3], np.float32)
    branches = [Called("Neg"), Called("Square"), Called("Abs")]
    for number, expected in ((0, -x), (1, x * x), (2, abs(x)), (3, abs(x)), (-1, abs(x))):
        graph.nodes.clear()
        if is_constant:
            graph.const("n", number, np.int32)
        else:
            graph.input("n", (), Type.INT32)
        graph.input("x", (2,))
        graph.node("y", "Case", "n", "x", branches=branches)
        run = tj.compile(tj.load(graph.bytes()))
        given = [x] if is_constant else [np.array(number, np.int32), x]
        np.testing.assert_array_equal(run(*given), expected)


def test_many_branches_are_no_deeper_than_tosa_allows() -> None:
    functions = [
        RawFunction(f"f{place}", ["a"], {"r": "y:y:0"}, [
            RawNode("k", "Const", (), {"dtype": Type.FLOAT32, "value": np.array([place], np.float32)}),
            RawNode("y", "AddV2", ("a", "k:output:0"), {"T": Type.FLOAT32}),
        ])
        for place in range(20)
    ]  # fmt: skip
    graph = RawGraph(functions=functions)
    graph.input("n", (), Type.INT32)
    graph.input("x", (1,))
    graph.node("y", "Case", "n", "x", branches=[Called(one.name) for one in functions])
    found = tj.load(graph.bytes())
    assert tj.validate(found) == ()
    run, x = tj.compile(found), np.ones(1, np.float32)
    for number, expected in ((-5, 20), (0, 1), (7, 8), (13, 14), (19, 20), (400, 20)):
        assert run(np.array(number, np.int32), x).tolist() == [expected]


def test_few_numbers_ask_for_little_memory() -> None:
    graph = RawGraph()
    graph.input("x", (2, 2))
    graph.const("rows", [0, 1 << 30], np.int32)
    graph.node("y", "SegmentMean", "x", "rows", T=Type.FLOAT32)
    with pytest.raises(tj.ModelError, match=r"y \(SegmentMean\): its 1073741825 segments are too many"):
        tj.load(graph.bytes())
    graph = RawGraph(functions=[RawFunction("f", ["a"], {"r": "a"}, [])])
    graph.input("n", (), Type.INT32)
    graph.input("x", (2,))
    graph.node("y", "Case", "n", "x", branches=[Called("f")] * 5000)
    with pytest.raises(tj.ModelError, match=r"y \(Case\): it chooses among 5000 functions"):
        tj.load(graph.bytes())


def test_branches_that_a_number_chooses_write_variables() -> None:
    body = [
        RawNode("w", "AssignVariableOp", ("v", "a"), {"dtype": Type.FLOAT32}),
        RawNode("y", "Identity", ("a",), {"T": Type.FLOAT32}),
    ]
    graph = RawGraph(functions=[RawFunction("keep", ["v", "a"], {"r": "y:output:0"}, body)])
    graph.input("n", (), Type.INT32)
    graph.node("state", "Placeholder", dtype=Type.RESOURCE, shape=Shape(()))
    graph.input("x", (2,))
    graph.node("y", "Case", "n", "state", "x", branches=[Called("keep"), Called("keep")])
    assert written(read_model(graph.bytes())) == {"state"}


def test_a_tensor_is_given_out_in_two_types() -> None:
    graph = RawGraph()
    graph.input("x", (3,), Type.UINT8)
    graph.node("bytes", "AddV2", "x", "x", T=Type.UINT8)
    graph.node("whole", "Cast", "bytes", SrcT=Type.UINT8, DstT=Type.INT32)
    for outputs in (["bytes", "whole"], ["whole", "bytes"]):
        found = tj.from_tensorflow(graph.bytes(), outputs=outputs)
        assert tj.validate(found) == ()
        results = tj.compile(found)(np.array([1, 100, 200], np.uint8))
        for name, one in zip(outputs, results, strict=True):
            assert (one.dtype == np.uint8) == (name == "bytes")
            assert one.tolist() == [2, 200, 144]


def test_variables_that_are_written_persist() -> None:
    graph = RawGraph()
    graph.input("x", (2,))
    for name in ("total", "turns", "scale"):
        graph.node(name, "Placeholder", dtype=Type.RESOURCE, shape=Shape(()))
    graph.const("one", 1, np.int32)
    graph.node("add", "AssignAddVariableOp", "total", "x", dtype=Type.FLOAT32)
    graph.node("sub", "AssignSubVariableOp", "turns", "one", dtype=Type.INT32)
    graph.node("sum", "ReadVariableOp", "total", "^add", dtype=Type.FLOAT32)
    graph.node("left", "ReadVariableOp", "turns", "^sub", dtype=Type.INT32)
    graph.node("factor", "ReadVariableOp", "scale", dtype=Type.FLOAT32)
    graph.node("y", "Mul", "sum", "factor", T=Type.FLOAT32)
    model = read_model(graph.bytes())
    assert written(model) == {"total", "turns"}
    captured = {
        "total": Captured("m/total", np.array([1, 2], np.float32), True),
        "turns": Captured("m/total", np.array(3, np.int32), True),
        "scale": Captured("m/scale", np.array([2, 0.5], np.float32), False),
    }
    outputs = {"y": Reference("y"), "left": Reference("left")}
    found = lowered(model, {}, Interface({"x": "x"}, outputs, captured))
    assert tj.validate(found) == ()
    run, x = tj.compile(found), np.array([4, 6], np.float32)
    for expected, left in (([10, 4], 2), ([18, 7], 1)):
        results = run(x)
        np.testing.assert_array_equal(results[0], expected)
        assert results[1] == left


def test_what_is_refused_in_a_function_is_told_with_its_place() -> None:
    inner = [RawNode("odd", "Mystery", ("a",)), RawNode("y", "Exp", ("odd:y:0",), {"T": Type.FLOAT32})]
    graph = RawGraph(functions=[RawFunction("f", ["a"], {"r": "y:y:0"}, inner)])
    graph.input("x", (2,))
    graph.node("call", "PartitionedCall", "x", f=Called("f"))
    with pytest.raises(tj.ModelError) as caught:
        tj.load(graph.bytes())
    assert [(one.node, one.operator) for one in caught.value.refusals] == [("call/odd", "Mystery")]


def test_functions_that_call_each_other_end() -> None:
    again = [RawNode("y", "PartitionedCall", ("a",), {"f": Called("f")})]
    graph = RawGraph(functions=[RawFunction("f", ["a"], {"r": "y:output:0"}, again)])
    graph.input("x", (2,))
    graph.node("call", "PartitionedCall", "x", f=Called("f"))
    with pytest.raises(tj.FileError, match="functions that call each other to a depth of 32"):
        tj.load(graph.bytes())


def test_lists_of_tensors_are_filled_when_the_model_is_read() -> None:
    graph = RawGraph()
    graph.input("x", (3, 2))
    graph.const("shape", [2], np.int32)
    for name, value in (("zero", 0), ("one", 1), ("two", 2)):
        graph.const(name, value, np.int32)
    kind = {"element_dtype": Type.FLOAT32}
    graph.node("rows", "TensorListFromTensor", "x", "shape", **kind)
    graph.node("row", "TensorListGetItem", "rows", "two", "shape", **kind)
    graph.node("list", "TensorListReserve", "shape", "two", **kind)
    graph.node("set", "TensorListSetItem", "list", "one", "row", **kind)
    graph.node("y", "TensorListStack", "set", "shape", **kind)
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(tj.compile(tj.load(graph.bytes()))(x), [[0, 0], [4, 5]])


def test_detections_are_an_operator_of_our_own() -> None:
    graph = RawGraph()
    graph.input("boxes", (3, 4))
    graph.input("scores", (3,))
    graph.const("most", 2, np.int32)
    graph.const("overlap", 0.5, np.float32)
    graph.const("least", 0.1, np.float32)
    names = ("boxes", "scores", "most", "overlap", "least")
    graph.node("y", "NonMaxSuppressionV4", *names, T=Type.FLOAT32, pad_to_max_output_size=True)
    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]], np.float32)
    run = tj.compile(tj.from_tensorflow(graph.bytes(), outputs=["y", "y:1"]))
    places, count = run(boxes, np.array([0.5, 0.9, 0.3], np.float32))
    assert places.tolist() == [1, 2]
    assert count == 2
    graph.nodes[-1].attributes["pad_to_max_output_size"] = False
    with pytest.raises(tj.ModelError, match="how many results it has depends on its boxes"):
        tj.load(graph.bytes())


def test_nodes_that_wait_for_each_other_are_refused() -> None:
    graph = RawGraph()
    graph.node("a", "Relu", "b", T=Type.FLOAT32)
    graph.node("b", "Relu", "a", T=Type.FLOAT32)
    graph.node("c", "Relu", "b", T=Type.FLOAT32)
    with pytest.raises(tj.FileError, match="node 'a' depends on itself"):
        tj.load(graph.bytes())


def test_bytes_without_sign_keep_their_bits_outside() -> None:
    graph = RawGraph()
    graph.input("x", (4,), Type.UINT8)
    graph.node("real", "Cast", "x", SrcT=Type.UINT8, DstT=Type.FLOAT32)
    graph.node("twice", "AddV2", "real", "real", T=Type.FLOAT32)
    graph.node("low", "Cast", "twice", SrcT=Type.FLOAT32, DstT=Type.UINT8)
    given = np.array([0, 100, 128, 255], np.uint8)
    found = tj.load(graph.bytes())
    assert tj.validate(found) == ()
    assert tj.compile(found)(given.view(np.int8)).view(np.uint8).tolist() == [0, 200, 0, 254]


def listed(number: int, kind: Type, shape: tuple[int, ...], values: bytes) -> Array:
    """A constant whose elements are in one of the fields for lists."""
    data = integer(1, kind) + message(2, shape_of(shape)) + message(number, values)
    found = array_of(message_of(data, schema.TENSOR, "tensor"), shape)
    assert isinstance(found, np.ndarray)
    return found


def test_constants_list_their_elements_in_many_ways() -> None:
    reals = np.array([1.5, -2], "<f4")
    assert listed(5, Type.FLOAT32, (2,), reals.tobytes()).tolist() == [1.5, -2]
    assert listed(5, Type.FLOAT32, (2, 2), reals.tobytes()).tolist() == [[1.5, -2], [-2, -2]]
    assert listed(7, Type.INT8, (2,), varint(-3) + varint(4)).tolist() == [-3, 4]
    assert listed(10, Type.INT64, (1,), varint(-(1 << 40))).tolist() == [-(1 << 40)]
    assert listed(11, Type.BOOL, (3,), bytes([1, 0])).tolist() == [True, False, False]
    half = np.array([0.25], np.float16).view(np.uint16)
    assert listed(13, Type.FLOAT16, (2,), varint(int(half[0]))).tolist() == [0.25, 0.25]
    assert listed(7, Type.INT32, (1 << 20, 1 << 20), varint(7)).strides == (0, 0)


def test_a_constant_with_too_few_bytes_is_damage() -> None:
    graph = RawGraph()
    graph.input("x", (2,))
    graph.const("k", [1.0, 2.0], np.float32)
    graph.node("y", "AddV2", "x", "k", T=Type.FLOAT32)
    short = graph.bytes().replace(
        message(4, np.array([1, 2], np.float32).tobytes()), message(4, bytes(4)) + bytes([40, 0, 40, 0])
    )
    with pytest.raises(
        tj.FileError, match=r"byte \d+ \(graph\.node\[1\].*tensor_content\): expected 8 bytes"
    ):
        tj.load(short)


TEXT = b"""
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } } }
node { name: "k" op: 'Const' attr { key: "value" value { tensor { dtype: DT_FLOAT
  tensor_shape { dim { size: 2 } } tensor_content: "\\000\\000\\200?" "\\000\\000\\000\\300" } } } }  # 1, -2
node { name: "a" op: "LeakyRelu" input: "x" attr { key: "alpha" value { f: 5e-1 } } }
node { name: "y" op: "Mul" input: ["a", "k"] device: "" attr < key: "T" value < type: 1 > > }
versions { producer: 2167 }
"""


def test_texts_are_read_as_well() -> None:
    found = tj.compile(tj.load(TEXT))(np.array([[-4, 3]], np.float32))
    np.testing.assert_array_equal(found, [[-2, -6]])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"node { name: ", "expected a value, found the end"),
        (b'node { name: "x"', "expected the end of node"),
        (b"node { attr }", "expected the value of attr"),
        (b"node { : }", "expected the name of a field"),
        (b"node { attr { value { i: maybe } } }", "expected an integer, found b'maybe'"),
        (b"node {" * 100, "to a depth of 64"),
        (b"node { \x00 }", "expected a word of a text"),
    ],
)
def test_damaged_texts_are_refused(text: bytes, fault: str) -> None:
    with pytest.raises(tj.FileError, match=fault):
        tj.load(text)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"\x0a\x03\x0a\x09x", "expected a value up to byte 5, found 9 bytes"),
        (b"\x0a\x02\x0a\xff", "expected a number of up to 10 bytes"),
        (b"\x0a\x03\x0a\x01x\x0b", "expected a field of wire type 0, 1, 2 or 5, found 3"),
        (b"\x0a\x03\x0a\x01x", "expected the name of an operator"),
        (b"\x0a\x06\x0a\x01x\x12\x01A" * 2, "expected a name that no other node has, found 'x'"),
        (b"\x0a\x06\x0a\x01\xff\x12\x01A", "expected UTF-8"),
    ],
)
def test_damaged_files_are_refused(data: bytes, fault: str) -> None:
    with pytest.raises(tj.FileError, match=fault):
        tj.from_tensorflow(data)


def test_what_is_not_declared_is_skipped() -> None:
    data = dense().bytes() + message(4, integer(1, 2167)) + integer(3, 24)
    assert len(read_model(data).nodes) == 6
    assert to_wire(b"versions { producer: 1 bad: [1, 2] } node { op: 'A' }", schema.GRAPH, _words())


def _words() -> Any:
    from tosajit.frontends.tensorflow.reader import _WORDS

    return _WORDS


def test_reading_a_graph_imports_no_tensorflow() -> None:
    code = f"import sys, tosajit as tj; tj.load({dense().bytes()!r}); print('tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
