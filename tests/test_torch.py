"""PyTorch programs as records become graphs: names, writes in place, variables, refusals."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.torch_cases.programs import node, program
from tosajit.frontends.torch.lowering import lowered
from tosajit.frontends.torch.records import Argument, Graph, Node, Program, Reference, Type, Value

Array = np.ndarray[Any, Any]
X = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)


def run(given: Program, *arrays: Array) -> Any:
    graph = lowered(given)
    assert tj.validate(graph) == ()
    return tj.compile(graph)(*arrays)


def test_a_node_keeps_its_name_and_its_module() -> None:
    nodes = [
        node("y", "aten.neg.default", X, "encoder.0", self="x"),
        node("z", "aten.add.Tensor", X, self="y", other="w"),
    ]
    graph = lowered(program(nodes, "z", {"x": X}, {"w": X}))
    found = {one.operator.opcode: one for one in graph.nodes}
    assert found["NEGATE"].outputs == ("encoder.0/y",)
    assert found["NEGATE"].location == "aten.neg.default encoder.0/y (node 0)"
    assert found["CONST"].outputs == ("layer.w",)
    assert [one.name for one in graph.outputs] == ["output_0"]


def test_torch_is_imported_by_nobody_else() -> None:
    lowered(program([node("y", "aten.neg.default", X, self="x")], "y", {"x": X}))
    assert "torch" not in sys.modules


def test_everything_that_is_refused_is_told_at_once() -> None:
    nodes = [
        node("a", "aten.nothing.default", X, "head", self="x"),
        node("b", "aten.neg.default", X, self="a"),
        node("c", "custom.what.default", X, self="b"),
        node("d", "aten.relu.default", X, self="x", strange=3),
        node("e", "aten.cos.default", X.astype(np.float64), self="x"),
    ]
    with pytest.raises(tj.ModelError) as caught:
        lowered(program(nodes, "cde", {"x": X}))
    assert [(one.node, one.operator) for one in caught.value.refusals] == [
        ("head/a", "aten.nothing.default"), ("c", "custom.what.default"), ("d", "aten.relu.default"),
        ("e", "aten.cos.default"),
    ]  # fmt: skip
    assert "its argument strange is 3" in caught.value.refusals[2].reason
    assert caught.value.refusals[3].remedy == "convert the module: module.float()"


def test_spectra_are_in_proportion_to_their_program() -> None:
    line, waves = np.zeros(1024, np.float32), np.zeros(1024, np.complex64)
    nodes = [
        node("a", "aten._fft_r2c.default", waves, self="x", dim=(0,), normalization=0, onesided=False),
        *(
            node(name, "aten._fft_c2c.default", waves, self=before, dim=(0,), normalization=0, forward=True)
            for before, name in pairwise("abcdefghijk")
        ),
        node("z", "aten.real.default", line, self="k"),
    ]
    with pytest.raises(tj.FileError, match="in proportion to its file: its constants"):
        lowered(program(nodes, "z", {"x": line}))


def test_a_result_has_the_shape_and_the_type_of_the_program() -> None:
    wrong = [node("y", "aten.neg.default", X[:1], self="x"), node("z", "aten.neg.default", X[0], self="x")]
    with pytest.raises(tj.ModelError, match=r"y \(aten.neg.default\): its result is \[2, 3\], but \[1, 3\]"):
        lowered(program(wrong, "yz", {"x": X}))


def test_a_write_in_place_is_seen_under_both_names() -> None:
    nodes = [
        node("a", "aten.neg.default", X, self="x"),
        node("b", "aten.relu_.default", X, self="a"),
        node("c", "aten.add.Tensor", X, self="a", other="b"),
    ]
    np.testing.assert_array_equal(run(program(nodes, "c", {"x": X}), X), 2 * np.maximum(-X, 0))


def test_a_write_to_a_view_is_seen_in_the_tensor_and_in_other_views() -> None:
    nodes = [
        node("a", "aten.neg.default", X, self="x"),
        node("b", "aten.view.default", X.reshape(6), self="a", size=(6,)),
        node("c", "aten.transpose.int", X.T, self="a", dim0=0, dim1=1),
        node("d", "aten.mul_.Tensor", X.T, self="c", other=3),
        node("e", "aten.add.Tensor", X, self="a", other=1),
        node("f", "aten.add.Tensor", X.reshape(6), self="b", other=2),
    ]
    found = run(program(nodes, "def", {"x": X}), X)
    for one, expected in zip(found, (-3 * X.T, 1 - 3 * X, 2 - 3 * X.reshape(6)), strict=True):
        np.testing.assert_array_equal(one, expected)


def test_views_of_views_that_are_written_again_and_again_are_bounded() -> None:
    letters = "abcdefghijklmnopqrstuvw"
    nodes = [node("a", "aten.neg.default", X, self="x")]
    nodes += [node(new, "aten.view.default", X, self=old, size=(2, 3)) for old, new in pairwise(letters)]
    write = node("w", "aten.relu_.default", X, self="w")
    nodes += [replace(write, outputs=(Value(f"w{one}", Type.FLOAT32, X.shape),)) for one in range(900)]
    with pytest.raises(tj.FileError, match="its views are written too often"):
        lowered(program(nodes, "a", {"x": X}))


@pytest.mark.parametrize("dims", [None, (0, "x"), (0,)])
def test_arguments_that_make_no_sense_are_told(dims: Argument) -> None:
    nodes = [
        node("a", "aten.neg.default", X, self="x"),
        node("b", "aten.permute.default", X.T, self="a", dims=dims),
        node("c", "aten.relu_.default", X.T, self="b"),
    ]
    with pytest.raises(tj.TosaError, match=r"expected arguments that its operators take|make no sense"):
        lowered(program(nodes, "a", {"x": X}))


@pytest.mark.parametrize(
    ("target", "names"), [("swapaxes.default", ("axis0", "axis1")), ("swapdims.default", ("dim0", "dim1"))]
)
def test_swapped_dimensions_are_called_as_in_the_schema(target: str, names: tuple[str, str]) -> None:
    given: dict[str, Argument] = {"self": Reference("x"), names[0]: -2, names[1]: 1}
    swapped = replace(node("y", f"aten.{target}", X.T), arguments=given)
    np.testing.assert_array_equal(run(program([swapped], "y", {"x": X}), X), X.T)


def test_a_buffer_that_is_written_is_a_variable() -> None:
    nodes = [
        node("y", "aten.add_.Tensor", X, self="b", other="x"),
        node("z", "aten.neg.default", X, self="b"),
    ]
    model = tj.compile(lowered(program(nodes, "z", {"x": X}, {"b": X})))
    np.testing.assert_array_equal(model(X), -2 * X)
    np.testing.assert_array_equal(model(X), -3 * X)
    np.testing.assert_array_equal(model(X, context=model.context()), -2 * X)


def test_a_wrapped_graph_stands_in_place() -> None:
    value = Value("inner", Type.FLOAT32, X.shape)
    body = (Node("n", "aten.neg.default", {"self": Reference("inner")}, (Value("n", value.type, X.shape),)),)
    graph = Graph(body, (value,), (Reference("n"), Reference("inner")))
    arguments: dict[str, Argument] = {"0": False, "1": graph, "2": Reference("x")}
    outputs = (Value("w.0", value.type, X.shape), Value("w.1", value.type, X.shape))
    wrapped = Node("w", "higher_order.wrap_with_set_grad_enabled", arguments, outputs)
    total = Node(
        "y", "aten.sub.Tensor", {"self": Reference("w.0"), "other": Reference("w.1")},
        (Value("y", value.type, X.shape),),
    )  # fmt: skip
    given = program([], "y", {"x": X})
    whole = Graph((wrapped, total), given.graph.inputs, given.graph.outputs)
    found = run(Program(whole, {}, given.results, size=1000), X)
    np.testing.assert_array_equal(found, -2 * X)


@pytest.mark.parametrize(
    ("kind", "other", "result"),
    [("int64", 2.5, "float32"), ("float32", 2, "float32"), ("bool", 2, "int64"), ("int32", "w", "int64")],
)
def test_operands_of_several_types_have_that_of_the_result(kind: str, other: Any, result: str) -> None:
    x = np.array([0, 1, 5]).astype(kind)
    w = np.array([7, 8, 9], np.int64)
    nodes = [node("y", "aten.add.Tensor", np.empty(3, result), self="x", other=other)]
    found = run(program(nodes, "y", {"x": x}, {"w": w}), x)
    np.testing.assert_array_equal(found, (x.astype(result) + (w if other == "w" else other)).astype(result))
    assert found.dtype == result


def normalized(*nodes: Node) -> tj.Graph:
    """The graph of a convolution and a normalisation, with what else uses it."""
    image, rows = np.zeros((1, 2, 5, 5), np.float32), np.arange(1, 4, dtype=np.float32)
    weights = np.arange(3 * 2 * 3 * 3, dtype=np.float32).reshape(3, 2, 3, 3)
    result = np.zeros((1, 3, 3, 3), np.float32)
    chain = [
        node("c", "aten.conv2d.default", result, input="x", weight="w", bias="r"),
        node("y", "aten.batch_norm.default", result, input="c", weight="r", bias="r", running_mean="r",
             running_var="r", training=False),
    ]  # fmt: skip
    return lowered(program([*chain, *nodes], "z" if nodes else "y", {"x": image}, {"w": weights, "r": rows}))


def test_normalisation_moves_into_the_convolution_before() -> None:
    graph = normalized()
    assert {"MUL", "ADD"}.isdisjoint(one.operator.opcode for one in graph.nodes)
    image = np.random.default_rng(1).normal(size=(1, 2, 5, 5)).astype(np.float32)
    other = normalized(node("z", "aten.add.Tensor", np.zeros((1, 3, 3, 3), np.float32), self="y", other="c"))
    assert "MUL" in {one.operator.opcode for one in other.nodes}
    found, both = tj.compile(graph)(image), tj.compile(other)(image)
    rows = np.arange(1, 4, dtype=np.float32).reshape(1, 3, 1, 1)
    plain = (found - rows) / rows * np.sqrt(rows + np.float32(1e-5)) + rows
    np.testing.assert_allclose(both, found + plain, rtol=1e-5)


def test_without_torch_the_error_says_how_to_get_it() -> None:
    if "torch" not in sys.modules:
        with pytest.raises(tj.InputError, match=r"pip install tosajit\[torch\]"):
            tj.from_torch(object())


@pytest.mark.parametrize(
    ("mode", "padding", "text"),
    [
        (2, 1, "cubics that go on beyond the border"),
        (3, 0, "its mode 3 or its padding 0 is not known"),
        (0, -1, "its mode 0 or its padding -1 is not known"),
    ],
)
def test_samples_of_images_that_are_not_known_are_refused(mode: int, padding: int, text: str) -> None:
    image, grid = np.zeros((1, 2, 4, 4), np.float32), np.zeros((1, 3, 3, 2), np.float32)
    modes: dict[str, Any] = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": False}
    found = np.zeros((1, 2, 3, 3), np.float32)
    nodes = [node("y", "aten.grid_sampler.default", found, input="x", grid="g", **modes)]
    with pytest.raises(tj.ModelError) as caught:
        lowered(program(nodes, "y", {"x": image, "g": grid}))
    assert text in caught.value.refusals[0].reason
