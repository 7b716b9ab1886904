"""What is known when an ONNX model is read: it is computed then, or asked for."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import RawGraph, RawNode, RawValue, model, single
from tosajit.frontends.onnx.schema import Type

Array = np.ndarray[Any, Any]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def run(data: bytes, *given: Array, **options: Any) -> Any:
    graph = tj.load(data, **options)
    assert tj.validate(graph) == ()
    return tj.compile(graph)(*given)


def test_the_inputs_that_a_number_follows_from_are_asked_for() -> None:
    nodes = [
        RawNode("Add", ["n", "m"], ["count"]),
        RawNode("Unsqueeze", ["count", "zero"], ["row"]),
        RawNode("Tile", ["x", "row"], ["y"]),
    ]
    inputs = [RawValue("x", (6,)), RawValue("n", (), Type.INT64), RawValue("m", (), Type.INT64)]
    data = model(RawGraph(nodes, inputs, [RawValue("y", None)], {"zero": np.array([0])}))
    with pytest.raises(tj.ModelError, match=r"give what it follows from.*constants=\{'m': …, 'n': …\}"):
        tj.load(data)
    found = run(data, X.reshape(-1), constants={"n": 1, "m": 2})
    np.testing.assert_array_equal(found, np.tile(X.reshape(-1), 3))


def test_a_number_that_follows_from_many_is_not_asked_for() -> None:
    nodes = [RawNode("ReduceSum", ["v"], ["n"], {"keepdims": 0}), RawNode("Range", ["a", "n", "b"], ["y"])]
    held = {"a": np.array(0), "b": np.array(1)}
    data = model(RawGraph(nodes, [RawValue("v", (500,), Type.INT64)], [RawValue("y", None)], held))
    with pytest.raises(tj.ModelError, match="give shapes for all inputs"):
        tj.load(data)


def test_a_loop_that_collects_asks_how_many_turns_it_has() -> None:
    body = RawGraph(
        [RawNode("Identity", ["on"], ["again"]), RawNode("Cast", ["turn"], ["found"], {"to": 1})],
        [RawValue("turn", (), Type.INT64), RawValue("on", (), Type.BOOL)],
        [RawValue("again", None), RawValue("found", None)],
    )
    nodes = [RawNode("Loop", ["n", ""], ["y"], {"body": body})]
    data = model(RawGraph(nodes, [RawValue("n", (), Type.INT64)], [RawValue("y", None)]))
    with pytest.raises(tj.ModelError, match=r"how many turns it has is not known; give it .*\{'n': …\}"):
        tj.load(data)
    np.testing.assert_array_equal(run(data, constants={"n": 3}), np.arange(3, dtype=np.float32))


def test_a_constant_in_the_type_of_what_is_computed_is_known() -> None:
    nodes = [RawNode("CastLike", ["low", "x"], ["filling"]), RawNode("Pad", ["x", "pads", "filling"], ["y"])]
    held = {"low": np.array(-inf), "pads": np.array([0, 1, 0, 0])}
    data = model(RawGraph(nodes, [RawValue("x", X.shape)], [RawValue("y", None)], held))
    np.testing.assert_array_equal(run(data, X), np.pad(X, [(0, 0), (1, 0)], constant_values=-inf))


def test_a_part_without_elements_is_joined_to_others() -> None:
    nodes = [
        RawNode("Split", ["x", "sizes"], ["a", "b"], {"axis": 1}),
        RawNode("Concat", ["b", "a"], ["y"], {"axis": 1}),
    ]
    data = model(
        RawGraph(nodes, [RawValue("x", X.shape)], [RawValue("y", None)], {"sizes": np.array([3, 0])})
    )
    np.testing.assert_array_equal(run(data, X), X)


@pytest.mark.parametrize(
    ("op", "wanted"),
    [
        ("ReduceSum", 0), ("ReduceProd", 1), ("ReduceMax", -inf), ("ReduceMin", inf), ("ReduceL1", 0),
        ("ReduceL2", 0), ("ReduceSumSquare", 0), ("ReduceLogSum", -inf), ("ReduceLogSumExp", -inf),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_reduction_of_no_elements_is_known(op: str, wanted: float) -> None:
    nothing = np.empty((2, 0, 4), np.float32)
    data = single(op, {"x": nothing, "_axes": np.array([1])})
    np.testing.assert_array_equal(run(data), np.full((2, 1, 4), wanted, np.float32))


def test_shares_are_computed_in_another_type_than_their_operands() -> None:
    generator = np.random.default_rng(0)
    q, k, v = (generator.normal(size=(1, 2, 3, 4)).astype(np.float16) for _ in range(3))
    given = {"q": q, "k": k, "v": v}
    data = single("Attention", given, 1, 24, softmax_precision=int(Type.FLOAT32), qk_matmul_output_mode=3)
    scores = (q.astype(np.float32) @ k.transpose(0, 1, 3, 2).astype(np.float32)) / 2
    shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(run(data, q, k, v), shares @ v.astype(np.float32), atol=4e-3)
