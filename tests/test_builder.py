"""The builder of graphs: names of what is added, renaming, constants and the budget of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.dtypes import FP32, INT4, INT8, INT32
from tosajit.graph import Graph
from tosajit.graph.binding import infer_outputs
from tosajit.operators import ABS, ADD, IDENTITY, RESHAPE
from tosajit.runtime.executable import Executable
from tosajit.tracing import eager
from tosajit.tracing.builder import GraphBuilder
from tosajit.tracing.call import Call


def started() -> tuple[GraphBuilder, str]:
    builder = GraphBuilder()
    return builder, builder.input("x", FP32, (2,))


def names(builder: GraphBuilder) -> list[tuple[str, ...]]:
    return [node.outputs for node in builder.block().nodes]


def test_results_are_named_after_operators() -> None:
    builder, x = started()
    assert [builder.add(ABS(), [x]) for _ in range(3)] == ["abs_1", "abs_2", "abs_3"]
    assert builder.add(IDENTITY(), [x]) == "identity_4"
    assert builder.const(np.zeros(1, np.float32)) == "const_5"
    assert builder.add(ABS(), [x], name="mine") == "mine"
    with pytest.raises(ValueError, match="mine is declared twice"):
        builder.add(ABS(), [x], name="mine")


def test_what_is_alike_but_for_names_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(*arguments: Any, **options: Any) -> Any:
        asked.append(arguments)
        return infer_outputs(*arguments, **options)

    monkeypatch.setattr("tosajit.tracing.builder.infer_outputs", counted)
    builder, x = started()
    y, z = builder.input("y", FP32, (2,)), builder.input("z", FP32, (3,))
    for one in (x, y, z, x):
        builder.add(ABS(), [one])
    assert len(asked) == 2
    shapes = [builder.shape(extents) for extents in ((2, 1), (1, 2), (2, 1))]
    made = [builder.value(builder.add(RESHAPE(), [y, shape])).shape for shape in shapes]
    assert made == [(2, 1), (1, 2), (2, 1)]


def test_results_are_named_after_where_they_are() -> None:
    builder, x = started()
    with builder.at("layer", "file:7"):
        assert [builder.add(ABS(), [x]) for _ in range(3)] == ["layer/abs", "layer/abs_1", "layer/abs_2"]
        with builder.inside("part"):
            assert builder.add(ABS(), [x]) == "layer/part/abs"
        assert builder.add(IDENTITY(), [x]) == "layer/identity"
    with builder.inside("part"):
        assert builder.add(ABS(), [x]) == "part/abs"
    assert builder.add(ABS(), [x]) == "abs_7"
    assert [node.location for node in builder.block().nodes] == ["file:7"] * 5 + ["", ""]


def test_results_are_renamed_with_what_uses_them() -> None:
    builder, x = started()
    outside = builder.add(ABS(), [x])
    with builder.at("layer", "") as rename:
        one = builder.add(ABS(), [outside])
        builder.add(ADD(), [one, outside])
        assert rename(one, "mine") == "mine"
        assert rename("mine", "mine") == "mine"
        assert rename(outside, "theirs") == outside
        assert rename(x, "input") == x
        assert rename("layer/add", outside) == f"{outside}_1"
    nodes = builder.block().nodes
    assert [(node.inputs, node.outputs) for node in nodes] == [
        ((x,), (outside,)),
        ((outside,), ("mine",)),
        (("mine", outside), (f"{outside}_1",)),
    ]
    assert "layer/abs" not in builder
    assert builder.value("mine").name == "mine"


def test_results_from_a_place_on_can_be_renamed() -> None:
    builder, x = started()
    first, second = builder.add(ABS(), [x]), builder.add(ABS(), [x])
    with builder.at("", "", 1) as rename:
        assert rename(first, "one") == first
        assert rename(second, "two") == "two"


def test_constants_keep_their_names() -> None:
    builder, _ = started()
    with builder.at("layer", "") as rename:
        constant = builder.const(np.zeros(1, np.float32))
        assert rename(constant, "mine") == constant == "layer/const"


def test_the_producer_of_a_tensor_is_found() -> None:
    builder, x = started()
    y = builder.add(ABS(), [x])
    builder.add(ABS(), [y])
    producer = builder.producer(y)
    assert producer is not None
    assert producer.inputs == (x,)
    assert builder.producer(x) is None
    assert builder.is_input(x)
    assert not builder.is_input(y)


def test_a_graph_has_so_many_nodes() -> None:
    builder, x = started()
    builder.budget.nodes = 2
    inner = builder.region("inner")
    y = inner.input("y", FP32, (2,))
    builder.add(ABS(), [x])
    inner.add(ABS(), [y])
    with pytest.raises(MemoryError, match="the graph has more nodes than it may have"):
        builder.add(ABS(), [x])
    assert len(list(builder.build().nodes)) == 2


def test_regions_begin_where_they_are_made() -> None:
    builder, _ = started()
    with builder.at("layer", "file:3"):
        inner = builder.region("inner")
    inner.add(ABS(), [inner.input("y", FP32, (1,))])
    assert inner.block().nodes[0].location == "file:3"
    assert isinstance(builder.build(), Graph)
    assert [region.name for region in builder.build().regions] == ["main", "inner"]


def test_outputs_are_as_many_as_names() -> None:
    builder, x = started()
    with pytest.raises(ValueError, match="2 names are given, but ABS has 1 outputs"):
        builder.add_all(ABS(), [x], names=["a", "b"])
    assert builder.add_all(ABS(), [x], names=["a"]) == ("a",)


def test_what_nobody_can_write_into_is_not_copied() -> None:
    builder, _ = started()
    frozen = np.arange(3, dtype=np.float32)
    frozen.flags.writeable = False
    view = np.frombuffer(bytes(8), np.int8)
    writable = np.frombuffer(bytearray(8), np.int8)
    through = np.arange(3, dtype=np.float32)[:]
    through.flags.writeable = False
    given: list[tuple[Any, bool]] = [(frozen, True), (view, True), (writable, False), (through, False)]
    for array, is_shared in given:
        data = builder.value(builder.const(array)).data
        assert data is not None
        assert np.shares_memory(data, array) == is_shared
        assert not data.flags.writeable
    assert builder.value(builder.const([1, 2], INT4)).type == "INT4[2]"
    assert builder.value(builder.const(np.int8(3))).type == "INT8[]"
    assert builder.value(builder.const(np.arange(2), INT32)).dtype is INT32
    assert builder.value(builder.const(np.zeros(1, np.int8), INT8)).dtype is INT8


def test_operators_on_arrays_keep_those_used_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "KEPT", 2)
    monkeypatch.setattr(eager, "_executables", type(eager._executables)())
    made: list[object] = []
    compiled = eager._compiled

    def counted(call: Call) -> Executable:
        made.append(call)
        return compiled(call)

    monkeypatch.setattr(eager, "_compiled", counted)
    one, two, three = (np.ones(size, np.float32) for size in (1, 2, 3))
    for array, count in ((one, 1), (two, 2), (one, 2), (three, 3), (one, 3), (two, 4), (two, 4)):
        assert ops.abs(array).tolist() == array.tolist()
        assert len(made) == count
    assert len(eager._executables) == 2


def test_functions_with_defaults_run_again_as_they_did() -> None:
    scale = np.float32(3)

    @tj.jit
    def function(x: Any, y: Any = None, by: Any = scale) -> Any:
        total = ops.mul(x, np.full((1,), by, np.float32))
        return total if y is None else ops.add(total, y)

    x, y = np.arange(2, dtype=np.float32), np.ones(2, np.float32)
    for _ in range(3):
        assert function(x).tolist() == [0, 3]
        assert function(x, y).tolist() == [1, 4]
        assert function(x, y=y).tolist() == [1, 4]
    info = function.cache_info()
    assert (info.hits, info.misses, info.currsize) == (7, 2, 2)
