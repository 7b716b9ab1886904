"""ONNX models: reading, constants in other files, shapes, functions, graphs inside of nodes, refusals."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import (
    External,
    RawFunction,
    RawGraph,
    RawNode,
    RawValue,
    Reference,
    model,
    single,
)
from tests.tensorflow_cases.files import integer, message, text
from tosajit.frontends.onnx.reader import read_model
from tosajit.frontends.onnx.schema import Type

Array = np.ndarray[Any, Any]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def run(data: bytes, *given: Array, **options: Any) -> Any:
    graph = tj.load(data, **options)
    assert tj.validate(graph) == ()
    return tj.compile(graph)(*given)


def test_a_node_keeps_its_name_and_its_place() -> None:
    graph = tj.load(single("Add", {"x": X, "_w": X}))
    (node,) = (one for one in graph.nodes if one.operator.opcode == "ADD")
    assert node.outputs == ("y0",)
    assert node.location == "Add layer (node 0)"
    assert [one.name for one in graph.inputs] == ["x"]
    assert [one.name for one in graph.outputs] == ["y0"]


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(single("Neg", {"x": X}))
    np.testing.assert_array_equal(tj.compile(tj.load(path))(X), -X)


def test_what_is_no_tensor_of_the_model_is_told_all_at_once() -> None:
    nodes = [
        RawNode("RandomNormal", [], ["a"], {"shape": [2]}, "draw"),
        RawNode("Neg", ["a"], ["b"], {}, "turn"),
        RawNode("Mystery", ["b"], ["c"], {}, "what"),
        RawNode("Neg", ["x"], ["d"], {}, "far", "com.microsoft"),
    ]
    outputs = [RawValue(one, None) for one in "cd"]
    with pytest.raises(tj.ModelError) as caught:
        tj.load(model(RawGraph(nodes, [RawValue("x", (2,))], outputs)))
    assert [(one.node, one.operator) for one in caught.value.refusals] == [
        ("draw", "RandomNormal"), ("what", "Mystery"), ("far", "com.microsoft.Neg"),
    ]  # fmt: skip
    assert "random numbers" in caught.value.refusals[0].reason
    assert "domain com.microsoft is not known" in caught.value.refusals[2].reason


def test_what_no_output_needs_is_not_looked_at() -> None:
    nodes = [RawNode("Mystery", ["x"], ["a"]), RawNode("Neg", ["x"], ["y"])]
    data = model(RawGraph(nodes, [RawValue("x", (2, 3))], [RawValue("y", None)]))
    np.testing.assert_array_equal(run(data, X), -X)


def test_nodes_come_in_any_order() -> None:
    """As converters of types leave them: casts behind what uses them, also in graphs of nodes."""
    branch = RawGraph(
        [RawNode("Neg", ["b"], ["c"]), RawNode("Add", ["a", "x"], ["b"])], [], [RawValue("c", None)]
    )
    other = RawGraph([RawNode("Neg", ["x"], ["d"])], [], [RawValue("d", None)])
    nodes = [
        RawNode("If", ["yes"], ["y"], {"then_branch": branch, "else_branch": other}),
        RawNode("Mul", ["x", "x"], ["a"]),
    ]
    data = model(RawGraph(nodes, [RawValue("x", (2, 3))], [RawValue("y", None)], {"yes": np.array(True)}))
    np.testing.assert_array_equal(run(data, X), -(X * X + X))


def test_what_is_computed_from_itself_is_refused() -> None:
    nodes = [RawNode("Add", ["x", "b"], ["a"]), RawNode("Neg", ["a"], ["b"])]
    with pytest.raises(
        tj.ModelError, match=r"b has no form in TOSA: no node computes it, or only from itself"
    ):
        tj.load(model(RawGraph(nodes, [RawValue("x", (2, 3))], [RawValue("b", None)])))


@pytest.mark.parametrize(("opset", "fits"), [(0, False), (1, True), (28, True), (29, False)])
def test_operator_sets_that_are_not_known_are_refused(opset: int, fits: bool) -> None:
    data = single("Neg", {"x": X}, 1, opset)
    if fits:
        np.testing.assert_array_equal(run(data, X), -X)
    else:
        with pytest.raises(tj.FileError, match=f"of set {opset}, but those of 1 to 28 are known: convert"):
            tj.load(data)


def open_model(*shapes: tuple[int | str, ...]) -> bytes:
    names = [f"x{place}" for place in range(len(shapes))]
    inputs = [RawValue(name, shape) for name, shape in zip(names, shapes, strict=True)]
    return model(RawGraph([RawNode("Sum", names, ["y"])], inputs, [RawValue("y", None)]))


def test_open_extents_are_given_or_those_of_batches(caplog: pytest.LogCaptureFixture) -> None:
    data = open_model(("n", 3), ("n", 3))
    with caplog.at_level(logging.WARNING, "tosajit"):
        assert [one.shape for one in tj.load(data).inputs] == [(1, 3), (1, 3)]
    assert "the batch is taken as 1" in caplog.text
    assert [one.shape for one in tj.load(data, shapes={"x0": (5, 3)}).inputs] == [(5, 3), (5, 3)]


def test_an_open_extent_that_is_no_batch_has_to_be_given() -> None:
    data = open_model((1, "length"))
    with pytest.raises(tj.ModelError, match=r"its shape is \[1, \?\].*shapes=\{'x0'"):
        tj.load(data)
    assert tj.load(data, shapes={"x0": (1, 7)}).inputs[0].shape == (1, 7)
    with pytest.raises(tj.InputError, match="shapes has 'x1'"):
        tj.load(data, shapes={"x1": (1, 7)})


def test_an_input_may_be_known_when_a_model_is_read() -> None:
    axes = np.array([1])
    data = single("ReduceSum", {"x": X, "axes": axes}, keepdims=0)
    with pytest.raises(tj.ModelError, match=r"axes is computed when the model runs.*constants=\{'axes': …\}"):
        tj.load(data)
    np.testing.assert_array_equal(run(data, X, constants={"axes": [1]}), X.sum(1))
    with pytest.raises(tj.InputError, match="constants has 'z', but the inputs are x, axes"):
        tj.load(data, constants={"z": [1]})
    with pytest.raises(tj.InputError, match=r"axes is int64, which does not hold 0\.5"):
        tj.load(data, constants={"axes": 0.5})
    with pytest.raises(tj.FileError, match="only ONNX models"):
        tj.load(b"\x1c\0\0\0TOSA", constants={})


def test_integers_of_64_bits_and_bytes_without_sign_are_arrays_of_these() -> None:
    numbers = np.array([[1, -5]], np.int64)
    found = run(single("Add", {"x": numbers, "_one": np.array(1)}), numbers)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, numbers + 1)
    raw = np.array([[0, 200, 255]], np.uint8)
    found = run(single("Add", {"x": raw, "_one": np.array(1, np.uint8)}), raw)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, raw + np.uint8(1))


def test_a_constant_beyond_32_bits_is_refused() -> None:
    with pytest.raises(tj.ModelError, match="beyond 32 bits"):
        tj.load(single("Add", {"x": np.zeros(1, np.int64), "_much": np.array([1 << 40])}))


def test_shapes_are_folded() -> None:
    nodes = [
        RawNode("Shape", ["x"], ["s"]), RawNode("Gather", ["s", "zero"], ["n"], {"axis": 0}),
        RawNode("Unsqueeze", ["n", "axis"], ["row"]),
        RawNode("Concat", ["row", "rest"], ["new"], {"axis": 0}), RawNode("Reshape", ["x", "new"], ["y"]),
    ]  # fmt: skip
    held = {"zero": np.array(0), "axis": np.array([0]), "rest": np.array([-1, 1])}
    graph = tj.load(model(RawGraph(nodes, [RawValue("x", (2, 3))], [RawValue("y", None)], held)))
    assert graph.outputs[0].shape == (2, 3, 1)
    assert [one.operator.opcode for one in graph.nodes] == ["CONST_SHAPE", "RESHAPE"]


@pytest.mark.parametrize("code", ["<f4", "<f2", "i1", "<i2", "<i4", "?", "u1"])
def test_elements_are_listed_or_raw(code: str) -> None:
    array = np.array([[1, 0, 1]]).astype(code)
    kept = read_model(single("Neg", {"_x": array})).graph.constants["_x"]
    assert isinstance(kept, np.ndarray)
    assert kept.dtype == array.dtype
    np.testing.assert_array_equal(kept, array)
    kind = next(one for one in Type if one.label == {"<f2": "float16"}.get(code, array.dtype.name))
    field = 4 if code == "<f4" else 5
    if code == "<f4":
        listed = message(field, array.tobytes())
    else:
        numbers = array.view(np.uint16) if code == "<f2" else array
        listed = b"".join(integer(field, int(one)) for one in numbers.reshape(-1))
    tensor = integer(1, 1) + integer(1, 3) + integer(2, kind) + text(8, "_x") + listed
    graph = message(5, tensor)
    found = read_model(integer(1, 8) + message(7, graph)).graph.constants["_x"]
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, array)


def test_two_elements_of_four_bits_are_in_a_byte() -> None:
    raw = np.array([0x21, 0xF3], np.uint8)
    tensor = integer(1, 3) + integer(2, Type.INT4) + text(8, "w") + message(9, raw.tobytes())
    found = read_model(integer(1, 8) + message(7, message(5, tensor))).graph.constants["w"]
    assert isinstance(found, np.ndarray)
    assert found.dtype == ml_dtypes.int4
    assert found.astype(np.int8).tolist() == [1, 2, 3]
    assert read_model(integer(1, 8) + message(7, message(5, tensor[:2] + integer(2, 22) + tensor[4:])))


@pytest.mark.parametrize(
    ("tensor", "fault"),
    [
        (integer(1, 3) + integer(2, 1) + message(9, bytes(8)), "expected 12 bytes for float32[3], found 8"),
        (integer(1, 1 << 41) + integer(2, 1), "expected extents of up to"),
        (integer(1, -1) + integer(2, 1), "expected extents of up to"),
        (integer(1, 3) + integer(2, 6) + integer(5, 1), "expected 3 elements of int32, found 1"),
        (
            b"".join(integer(1, 1) for _ in range(65)) + integer(2, 1),
            "expected up to 64 dimensions, found 65",
        ),
    ],
)
def test_elements_that_do_not_fit_their_shape_are_refused(tensor: bytes, fault: str) -> None:
    with pytest.raises(tj.FileError) as caught:
        read_model(integer(1, 8) + message(7, message(5, tensor)))
    assert fault in str(caught.value)
    assert "byte " in str(caught.value)


def external(tmp_path: Path, **changes: Any) -> tj.Graph:
    rest: dict[str, Any] = {"location": "weights.bin", "offset": 4, "length": 24, **changes}
    data = model(
        RawGraph([RawNode("Add", ["x", "w"], ["y"])], [RawValue("x", (2, 3))], [RawValue("y", None)],
                 {"w": External(X, **rest)})
    )  # fmt: skip
    (tmp_path / "inside").mkdir(exist_ok=True)
    (tmp_path / "inside" / "weights.bin").write_bytes(bytes(4) + X.tobytes())
    (tmp_path / "outside.bin").write_bytes(X.tobytes())
    path = tmp_path / "inside" / "model.onnx"
    path.write_bytes(data)
    return tj.load(path)


def test_constants_may_be_in_a_file_beside_the_model(tmp_path: Path) -> None:
    np.testing.assert_array_equal(tj.compile(external(tmp_path))(X), 2 * X)
    np.testing.assert_array_equal(tj.compile(external(tmp_path, length=None))(X), 2 * X)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"location": "../outside.bin"}, "expected a file beside the model, found '../outside.bin'"),
        ({"location": "/etc/passwd"}, "expected a file beside the model, found '/etc/passwd'"),
        ({"location": ""}, "expected a file beside the model, found ''"),
        ({"location": "missing.bin"}, "missing.bin: expected the file that has the constants"),
        ({"location": "link.bin"}, "expected a file inside of the folder of the model"),
        ({"offset": 8}, "expected bytes inside of 'weights.bin', which has 28, found 32"),
        ({"offset": "x"}, "expected offset to be a number, found 'x'"),
        ({"offset": 1 << 70}, "expected offset to be a number"),
        ({"length": 20}, "external_data): expected 24 bytes for float32[2, 3], found 20"),
    ],
)
def test_what_is_not_in_a_file_beside_the_model_is_refused(
    tmp_path: Path, changes: dict[str, Any], fault: str
) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link.bin").symlink_to(tmp_path / "outside.bin")
    with pytest.raises(tj.FileError) as caught:
        external(tmp_path, **changes)
    assert fault in str(caught.value)


def test_bytes_of_a_model_say_that_its_constants_are_elsewhere(tmp_path: Path) -> None:
    external(tmp_path)
    with pytest.raises(tj.FileError, match=r"in the file 'weights.bin': load the model by its path"):
        tj.load((tmp_path / "inside" / "model.onnx").read_bytes())


def scaled(factor: Any) -> list[RawNode]:
    return [
        RawNode("Constant", [], ["c"], {"value_float": factor}),
        RawNode("Mul", ["a", "c"], ["b"]),
    ]


def test_functions_are_written_in_place_with_their_attributes() -> None:
    function = RawFunction("mine", "Scale", ["a"], ["b"], scaled(Reference("factor", 1)), ["factor"])
    nodes = [
        RawNode("Scale", ["x"], ["h"], {"factor": 3.0}, "first", "mine"),
        RawNode("Scale", ["h"], ["y"], {"factor": 0.5}, "second", "mine"),
    ]
    graph = RawGraph(nodes, [RawValue("x", (2, 3))], [RawValue("y", None)])
    data = model(graph, functions=[function])
    np.testing.assert_array_equal(run(data, X), X * 1.5)
    places = [one.location for one in tj.load(data).nodes if one.operator.opcode == "MUL"]
    assert places == ["Mul first/b (node 1)", "Mul second/b (node 1)"]


def test_a_function_that_calls_itself_is_refused() -> None:
    function = RawFunction("mine", "Again", ["a"], ["b"], [RawNode("Again", ["a"], ["b"], {}, "n", "mine")])
    graph = RawGraph([RawNode("Again", ["x"], ["y"], {}, "n", "mine")], [RawValue("x")], [RawValue("y")])
    with pytest.raises(tj.FileError, match="call each other to a depth of 32"):
        tj.load(model(graph, functions=[function]))


def test_an_output_that_is_known_keeps_its_name() -> None:
    held = {"a": np.ones(2, np.float32), "b": np.ones(2, np.float32)}
    graph = tj.load(model(RawGraph([RawNode("Add", ["a", "b"], ["y"])], [], [RawValue("y", (2,))], held)))
    assert [one.name for one in graph.outputs] == ["y"]
    np.testing.assert_array_equal(tj.compile(graph)(), [2, 2])


def branch(op: str) -> RawGraph:
    return RawGraph([RawNode(op, ["x"], ["z"])], [], [RawValue("z", None)])


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("truth", [True, False])
def test_a_branch_is_chosen_when_a_model_is_read_or_when_it_runs(is_known: bool, truth: bool) -> None:
    node = RawNode("If", ["c"], ["y"], {"then_branch": branch("Neg"), "else_branch": branch("Abs")})
    given = [RawValue("x", (2, 3))] + [RawValue("c", (), Type.BOOL)] * (not is_known)
    held = {"c": np.array(truth)} if is_known else {}
    data = model(RawGraph([node], given, [RawValue("y", None)], held))
    arrays = [X - 2] if is_known else [X - 2, np.array(truth)]
    np.testing.assert_array_equal(run(data, *arrays), 2 - X if truth else np.abs(X - 2))


def test_a_branch_without_a_form_is_no_matter_where_the_other_is_always_taken() -> None:
    node = RawNode("If", ["c"], ["y"], {"then_branch": branch("Neg"), "else_branch": branch("Det")}, "choice")
    given = [RawValue("x", (2, 3)), RawValue("c", (), Type.BOOL)]
    data = model(RawGraph([node], given, [RawValue("y", None)]))
    with pytest.raises(
        tj.ModelError, match=r"choice .If.: a branch has no form.*c, which chooses.*constants="
    ):
        tj.load(data)
    graph = tj.load(data, constants={"c": np.array(True)})
    np.testing.assert_array_equal(tj.compile(graph)(X), -X)


def counting(collects: bool) -> RawGraph:
    nodes = [RawNode("Add", ["s", "x"], ["t"]), RawNode("Identity", ["on"], ["again"])]
    nodes += [RawNode("Identity", ["t"], ["seen"])] * collects
    inputs = [RawValue("i", (), Type.INT64), RawValue("on", (), Type.BOOL), RawValue("s", (2, 3))]
    outputs = [RawValue("again", None), RawValue("t", None)] + [RawValue("seen", None)] * collects
    return RawGraph(nodes, inputs, outputs)


def test_a_loop_of_known_turns_is_unrolled_and_collects() -> None:
    node = RawNode("Loop", ["count", "", "x"], ["y", "all"], {"body": counting(True)})
    held = {"count": np.array(3)}
    outputs = [RawValue("y", None), RawValue("all", None)]
    last, seen = run(model(RawGraph([node], [RawValue("x", (2, 3))], outputs, held)), X)
    np.testing.assert_array_equal(last, 4 * X)
    np.testing.assert_array_equal(seen, np.stack([2 * X, 3 * X, 4 * X]))


def summing(axis: int) -> RawGraph:
    """Rows or columns of `x` that are added up, as converters write it: by a number of their own."""
    nodes = [
        RawNode("Gather", ["x", "place"], ["element"], {"axis": axis}),
        RawNode("Add", ["sum", "element"], ["sum_now"]),
        RawNode("Add", ["place", "step"], ["next"]),
        RawNode("Less", ["next", "end"], ["is_left"]),
        RawNode("And", ["is_left", "on"], ["again"]),
        RawNode("Mul", ["sum_now", "weight"], ["seen"]),
    ]
    inputs = [
        RawValue("i", (), Type.INT64), RawValue("on", (), Type.BOOL), RawValue("place", (), Type.INT64),
        RawValue("sum"), RawValue("weight"),
    ]  # fmt: skip
    outputs = [RawValue("again"), RawValue("next"), RawValue("sum_now"), RawValue("weight"), RawValue("seen")]
    return RawGraph(nodes, inputs, outputs)


@pytest.mark.parametrize(("start", "end"), [(0, 7), (3, 80), (0, 101)])
def test_a_loop_of_many_turns_stays_one(start: int, end: int) -> None:
    x = np.random.default_rng(end).normal(size=(3, 120)).astype(np.float32)
    node = RawNode("Loop", ["most", "", "start", "zero", "w"], ["p", "s", "v", "all"], {"body": summing(1)})
    held = {
        "most": np.array((1 << 63) - 1), "start": np.array(start), "end": np.array(end), "step": np.array(1),
        "zero": np.zeros(3, np.float32), "w": np.array([1, 2, 3], np.float32),
    }  # fmt: skip
    outputs = [RawValue("p"), RawValue("s"), RawValue("all")]
    data = model(RawGraph([node], [RawValue("x", x.shape)], outputs, held))
    place, last, seen = run(data, x)
    sums = np.cumsum(x[:, start:end].T, 0, dtype=np.float64)
    assert place == end
    np.testing.assert_allclose(last, sums[-1], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(seen, sums * [1, 2, 3], rtol=1e-4, atol=1e-4)
    assert any(one.operator.opcode == "WHILE_LOOP" for one in tj.load(data).nodes) == (end - start > 32)


def test_a_loop_whose_shapes_grow_is_written_out() -> None:
    body = RawGraph(
        [RawNode("Concat", ["s", "x"], ["t"], {"axis": 0}), RawNode("Identity", ["on"], ["again"])],
        [RawValue("i", (), Type.INT64), RawValue("on", (), Type.BOOL), RawValue("s")],
        [RawValue("again"), RawValue("t")],
    )
    node = RawNode("Loop", ["count", "", "x"], ["y"], {"body": body})
    data = model(RawGraph([node], [RawValue("x", X.shape)], [RawValue("y")], {"count": np.array(40)}))
    np.testing.assert_array_equal(run(data, X), np.tile(X, (41, 1)))


def test_what_a_turn_computes_is_not_asked_for() -> None:
    body = RawGraph(
        [RawNode("Slice", ["x", "i1", "end", "one"], ["p"]),
         RawNode("ReduceSum", ["p"], ["t"], {"keepdims": 0}),
         RawNode("Unsqueeze", ["i", "zero"], ["i1"]), RawNode("Identity", ["on"], ["again"])],
        [RawValue("i", (), Type.INT64), RawValue("on", (), Type.BOOL), RawValue("s", ())],
        [RawValue("again"), RawValue("t")],
    )  # fmt: skip
    node = RawNode("Loop", ["count", "", "s0"], ["y"], {"body": body})
    held = {"end": np.array([9]), "one": np.array([1]), "zero": np.array([0]), "s0": np.zeros((), np.float32)}
    inputs = [RawValue("x", X.shape), RawValue("count", (), Type.INT64)]
    with pytest.raises(tj.ModelError, match=r"i1 is computed when the model runs, but must be a constant$"):
        tj.load(model(RawGraph([node], inputs, [RawValue("y")], held)))


def test_a_loop_without_end_is_told() -> None:
    body = RawGraph(
        [], [RawValue("i", (), Type.INT64), RawValue("on", (), Type.BOOL), RawValue("s")],
        [RawValue("on"), RawValue("s")],
    )  # fmt: skip
    data = model(
        RawGraph(
            [RawNode("Loop", ["", "", "x"], ["y"], {"body": body})], [RawValue("x", X.shape)], [RawValue("y")]
        )
    )
    with pytest.raises(tj.FileError, match="in proportion to its file"):
        tj.load(data)


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_a_loop_of_unknown_turns_goes_round(turns: int) -> None:
    node = RawNode("Loop", ["count", "", "x"], ["y"], {"body": counting(False)})
    inputs = [RawValue("x", (2, 3)), RawValue("count", (), Type.INT64)]
    found = run(model(RawGraph([node], inputs, [RawValue("y", None)])), X, np.array(turns))
    np.testing.assert_array_equal(found, (turns + 1) * X)


def test_a_loop_of_unknown_turns_collects_nothing() -> None:
    node = RawNode("Loop", ["count", "", "x"], ["y", "all"], {"body": counting(True)})
    inputs = [RawValue("x", (2, 3)), RawValue("count", (), Type.INT64)]
    outputs = [RawValue("y", None), RawValue("all", None)]
    with pytest.raises(tj.ModelError, match="collects results, but how many turns it has is not known"):
        tj.load(model(RawGraph([node], inputs, outputs)))


@pytest.mark.parametrize("length", [3, 77])
@pytest.mark.parametrize("back", [0, 1])
@pytest.mark.parametrize("outward", [0, 1])
def test_a_scan_goes_through_its_sequence_in_either_direction(back: int, length: int, outward: int) -> None:
    x = np.arange(2 * length, dtype=np.float32).reshape(2, length)
    nodes = [RawNode("Add", ["s", "e"], ["t"]), RawNode("Identity", ["t"], ["seen"])]
    body = RawGraph(nodes, [RawValue("s", (2,)), RawValue("e", (2,))],
                    [RawValue("t", None), RawValue("seen", None)])  # fmt: skip
    node = RawNode(
        "Scan", ["start", "x"], ["last", "all"],
        {"body": body, "num_scan_inputs": 1, "scan_input_axes": [1], "scan_input_directions": [back],
         "scan_output_axes": [-1], "scan_output_directions": [outward]},
    )  # fmt: skip
    outputs = [RawValue("last", None), RawValue("all", None)]
    held = {"start": np.ones(2, np.float32)}
    last, seen = run(model(RawGraph([node], [RawValue("x", x.shape)], outputs, held)), x)
    sums = 1 + np.cumsum(x[:, ::-1] if back else x, 1)
    np.testing.assert_array_equal(last, 1 + x.sum(1))
    np.testing.assert_array_equal(seen, sums[:, ::-1] if outward else sums)


def test_transposes_of_images_cancel() -> None:
    weights = np.ones((4, 4, 1, 1), np.float32)
    nodes = [
        RawNode("Conv", ["x", "w"], ["a"]), RawNode("Relu", ["a"], ["b"]), RawNode("Conv", ["b", "w"], ["c"]),
        RawNode("Add", ["c", "a"], ["y"]),
    ]  # fmt: skip
    graph = tj.load(
        model(RawGraph(nodes, [RawValue("x", (1, 4, 5, 5))], [RawValue("y", None)], {"w": weights}))
    )
    assert [one.operator.opcode for one in graph.nodes].count("TRANSPOSE") == 2


def test_an_input_without_elements_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    empty = np.empty(0, np.float16)
    with caplog.at_level(logging.WARNING, "tosajit"):
        graph = tj.load(single("CastLike", {"x": X, "like": empty}))
    assert [one.name for one in graph.inputs] == ["x"]
    assert "like: the input has no elements, and is left out" in caplog.text
    assert tj.compile(graph)(X).dtype == np.float16


@pytest.mark.parametrize(
    ("op", "given", "attributes", "fault"),
    [
        ("Gather", {"x": X, "_i": np.array([2])}, {"axis": 0}, "indices are from 2 to 2 of 2 elements"),
        ("Slice", {"x": X, "_s": np.array([1]), "_e": np.array([1])}, {}, "result has no elements"),
        ("Conv", {"x": X, "_w": X}, {}, "windows have 0 dimensions"),
        ("Squeeze", {"x": X, "_a": np.array([0])}, {}, "have more than one element"),
        ("Pad", {"x": X, "_p": np.array([1])}, {}, "it has 1 numbers for 2 dimensions"),
        ("Pad", {"x": X, "_p": np.array([1] * 4)}, {"mode": "odd"}, "its mode 'odd' is not known"),
        ("Concat", {"x": X, "z": X}, {}, "its attribute axis is missing"),
        ("Concat", {"x": X, "z": X}, {"axis": "1"}, "its attribute axis is '1', but must be int"),
        ("Hardmax", {}, {}, "operand 0 is missing"),
        ("Sin", {"x": np.zeros(2, np.int32)}, {}, "operand 0 is int32, but must be float32"),
        ("Softmax", {"x": X}, {"axis": 5}, "make no sense"),
        ("MaxPool", {"x": X[None]}, {"kernel_shape": [1, 2]}, "2 numbers for 1 dimensions"),
        ("LSTM", {"x": X[None], "_w": X[None], "_r": X[None]},
         {"hidden_size": 1, "direction": "up"}, "its direction 'up' is not known"),
        ("GRU", {"x": X[None, None], "_w": X[None], "_r": X[None]}, {"hidden_size": 1},
         "its sequences have 4 dimensions, and must have 3"),
    ],
)  # fmt: skip
def test_what_an_operator_cannot_do_is_said(
    op: str, given: dict[str, Array], attributes: dict[str, Any], fault: str
) -> None:
    with pytest.raises(tj.ModelError) as caught:
        tj.load(single(op, given, 1, 18, **attributes))
    assert fault in str(caught.value)
    assert f"layer ({op})" in str(caught.value)


@pytest.mark.parametrize("type", ["?", "u1", "i2", "f4"])
def test_parts_of_any_type_are_turned_round(type: str) -> None:
    x = (np.arange(12).reshape(3, 4) % 5).astype(type)
    graph = single("ReverseSequence", {"x": x, "_l": np.array([4, 1, 2])}, batch_axis=0, time_axis=1)
    rows = zip(x, [4, 1, 2], strict=True)
    expected = np.array([[*row[:length][::-1], *row[length:]] for row, length in rows])
    np.testing.assert_array_equal(run(graph, x), expected)


def test_a_graph_inside_of_itself_is_bounded() -> None:
    graph = RawGraph([], [], [])
    for _ in range(40):
        graph = RawGraph([RawNode("If", ["c"], ["y"], {"then_branch": graph})], [], [RawValue("y")])
    with pytest.raises(tj.FileError, match="to a depth of 32"):
        tj.load(model(graph))


def test_what_an_output_cannot_be_is_told() -> None:
    with pytest.raises(tj.ModelError, match="TOSA has no type for float64; give narrow=True"):
        tj.load(single("Identity", {"_c": np.ones(2)}))
    with pytest.raises(tj.ModelError, match=r"its shape \[0\] has no elements"):
        tj.load(single("Shape", {"x": X}, 1, 18, start=2, end=1))


THIRD = np.array(1 / 3)


def _softmax_in_float64() -> bytes:
    nodes = [
        RawNode("Mul", ["third", "third"], ["ninth"]),
        RawNode("Cast", ["x"], ["wide"], {"to": int(Type.FLOAT64)}),
        RawNode("Mul", ["wide", "ninth"], ["less"]),
        RawNode("Add", ["less", "b"], ["sum"]),
        RawNode("Softmax", ["sum"], ["y"], {"axis": -1}),
    ]
    inputs = [RawValue("x", X.shape), RawValue("b", (3,), Type.FLOAT64)]
    return model(RawGraph(nodes, inputs, [RawValue("y"), RawValue("ninth")], {"third": THIRD}))


def test_float64_is_computed_in_float32_if_that_is_wanted() -> None:
    with pytest.raises(tj.ModelError, match="TOSA has no type for float64; give narrow=True") as refused:
        tj.load(_softmax_in_float64())
    assert [one.node for one in refused.value.refusals] == ["b", "wide"]
    b = np.array([1, -1, 0.5], np.float32)
    y, ninth = run(_softmax_in_float64(), X, b, narrow=True)
    powers = np.exp(X.astype(np.float64) / 9 + b)
    np.testing.assert_allclose(y, powers / powers.sum(-1, keepdims=True), rtol=1e-6)
    assert (y.dtype, ninth.dtype, ninth) == (np.float32, np.float32, np.float32(THIRD * THIRD))


def test_constants_of_float64_are_computed_when_the_model_is_read() -> None:
    nodes = [
        RawNode("Shape", ["x"], ["extents"]),
        RawNode("Cast", ["extents"], ["wide"], {"to": int(Type.FLOAT64)}),
        RawNode("Mul", ["wide", "third"], ["parts"]),
        RawNode("ReduceSum", ["parts"], ["all"], {"keepdims": 0}),
        RawNode("Cast", ["all"], ["scale"], {"to": int(Type.FLOAT32)}),
        RawNode("Mul", ["x", "scale"], ["y"]),
    ]
    data = model(RawGraph(nodes, [RawValue("x", X.shape)], [RawValue("y")], {"third": THIRD}))
    np.testing.assert_array_equal(run(data, X), X * np.float32(5 * THIRD))


def test_an_output_that_nothing_gives_is_told() -> None:
    data = model(RawGraph([RawNode("Neg", ["x"], ["y"])], [RawValue("x", (2,))], [RawValue("z")]))
    with pytest.raises(tj.ModelError, match=r"z \(output\): z has no form in TOSA"):
        tj.load(data)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("extents", [(5, 6), (3, 3), (7,)])
def test_normalisation_moves_into_the_convolution_before_it(groups: int, extents: tuple[int, ...]) -> None:
    random = np.random.default_rng(7)
    x = random.normal(size=(2, 4, *extents)).astype(np.float32)
    w = random.normal(size=(8, 4 // groups, *(3,) * len(extents))).astype(np.float32)
    held = {
        name: random.uniform(0.5, 2, 8).astype(np.float32) for name in ("b", "scale", "offset", "mean", "var")
    }
    conv = RawNode("Conv", ["x", "w", "b"], ["h"], {"group": groups})
    norm = RawNode("BatchNormalization", ["h", "scale", "offset", "mean", "var"], ["y"], {"epsilon": 0.5})
    inputs = [RawValue("x", x.shape)]
    alone = model(RawGraph([conv], inputs, [RawValue("h", None)], {"w": w, "b": held["b"]}))
    both = model(RawGraph([conv, norm], inputs, [RawValue("y", None)], {"w": w, **held}))
    row = {name: one.reshape(1, -1, *(1,) * len(extents)) for name, one in held.items()}
    wanted = (run(alone, x) - row["mean"]) / np.sqrt(row["var"] + 0.5) * row["scale"] + row["offset"]
    np.testing.assert_allclose(run(both, x), wanted, rtol=1e-4, atol=1e-5)
    graph = tj.load(both)
    assert {"MUL", "ADD"}.isdisjoint(one.operator.opcode for one in graph.nodes)
    used = model(RawGraph([conv, norm], inputs, [RawValue("h", None), RawValue("y", None)], {"w": w, **held}))
    np.testing.assert_allclose(run(used, x)[1], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 4])
def test_taps_may_be_farther_apart_than_windows_of_tosa_reach(groups: int) -> None:
    rng, gap, extent = np.random.default_rng(3), 4096, 7500
    x = rng.integers(-9, 9, (1, 4, extent)).astype(np.float32)
    w = rng.integers(-9, 9, (4, 4 // groups, 3)).astype(np.float32)
    data = single("Conv", {"x": x, "_w": w}, dilations=[gap], pads=[gap, gap], group=groups)
    wide = np.pad(x, ((0, 0), (0, 0), (gap, gap)))
    taps = np.stack([wide[0, :, tap * gap : tap * gap + extent] for tap in range(3)], -1)
    apart = taps.reshape(groups, 4 // groups, extent, 3)
    expected = np.einsum("gclk,gock->gol", apart, w.reshape(groups, 4 // groups, -1, 3))
    np.testing.assert_array_equal(tj.compile(tj.load(data))(x), expected.reshape(1, 4, extent))
