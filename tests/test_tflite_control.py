"""Control flow of TFLite models: regions of the graph, what they capture, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases.files import RawModel, RawOperator, RawSubgraph, RawTensor
from tosajit.frontends.tflite.fields import Options
from tosajit.frontends.tflite.options import (
    AddOptions,
    CallOptions,
    ConcatenationOptions,
    IfOptions,
    WhileOptions,
)
from tosajit.frontends.tflite.schema import Type
from tosajit.operators import COND_IF, WHILE_LOOP


def tensor(name: str, shape: tuple[int, ...] = (3,), kind: Type = Type.FLOAT32) -> RawTensor:
    return RawTensor(name, kind, shape)


def unary(name: str, operator: str, stem: str) -> RawSubgraph:
    """A subgraph with one operator, whose tensors begin with a stem."""
    tensors = [tensor(f"{stem}/in"), tensor(f"{stem}/out")]
    return RawSubgraph(tensors, [RawOperator(operator, (0,), (1,))], [0], [1], name)


def choice(then: RawSubgraph, otherwise: RawSubgraph) -> bytes:
    tensors = [tensor("truth", (), Type.BOOL), tensor("x"), tensor("y")]
    main = RawSubgraph(tensors, [RawOperator("IF", (0, 1), (2,), IfOptions(1, 2))], [0, 1], [2], "main")
    return RawModel([main, then, otherwise]).bytes()


def test_branches_are_regions_with_the_names_of_the_model() -> None:
    graph = tj.load(choice(unary("up", "EXP", "a"), unary("down", "RELU", "b")))
    (node,) = graph.main.nodes
    assert isinstance(node.operator, COND_IF)
    assert node.name == "y"
    inner = [[one.name for one in region.blocks[0].nodes if one.inputs] for region in graph.regions[1:]]
    assert inner == [["a/out"], ["b/out"]]
    places = [one.location for one in graph.regions[2].blocks[0].nodes if one.inputs]
    assert places == ["RELU b/out (down, operator 0)"]
    model = tj.compile(graph)
    x = np.array([0.5, 1, -2.5], np.float32)
    np.testing.assert_array_equal(model(np.array(False), x), np.maximum(x, 0))
    np.testing.assert_allclose(model(np.array(True), x), np.exp(x), rtol=1e-6)


def test_what_is_refused_in_both_branches_is_told_at_once() -> None:
    with pytest.raises(tj.ModelError) as caught:
        tj.load(choice(unary("up", "SKIP_GRAM", "a"), unary("down", "SKIP_GRAM", "b")))
    assert [(one.node, one.operator) for one in caught.value.refusals] == [
        ("a/out", "SKIP_GRAM"),
        ("b/out", "SKIP_GRAM"),
    ]


def test_a_branch_that_is_refused_makes_no_other_refusals() -> None:
    with pytest.raises(tj.ModelError) as caught:
        tj.load(choice(unary("up", "SKIP_GRAM", "a"), unary("down", "RELU", "b")))
    assert [(one.node, one.operator) for one in caught.value.refusals] == [("a/out", "SKIP_GRAM")]


def loop(turn: RawSubgraph, carried: Sequence[tuple[int, ...]] = ((3,),)) -> bytes:
    """Turns as long as the count is below the limit: count and limit stand before what else is carried."""
    whole = [tensor("count", (), Type.INT32), tensor("limit", (), Type.INT32)]
    whole += [tensor(f"x{number}", shape) for number, shape in enumerate(carried)]
    less = RawOperator("LESS", (0, 1), (len(whole),))
    condition = RawSubgraph(
        [*whole, tensor("less", (), Type.BOOL)], [less], range(len(whole)), [len(whole)], "more"
    )
    results = [RawTensor(f"{one.name}/end", one.type, one.shape) for one in whole]
    places = range(len(whole)), range(len(whole), 2 * len(whole))
    node = RawOperator("WHILE", tuple(places[0]), tuple(places[1]), WhileOptions(1, 2))
    main = RawSubgraph([*whole, *results], [node], places[0], places[1], "main")
    return RawModel([main, condition, turn]).bytes()


X = np.array([1, 2, 3], np.float32)
ONE = RawTensor("one", Type.INT32, (), np.int32(1).tobytes())


def doubling(*more: RawOperator, extent: int = 3) -> RawSubgraph:
    scalars = [tensor(name, (), Type.INT32) for name in ("count", "limit")]
    tensors = [*scalars, tensor("x"), ONE, tensor("next", (), Type.INT32), tensor("twice", (extent,))]
    add = RawOperator("ADD", (0, 3), (4,), AddOptions())
    return RawSubgraph(tensors, [add, *more], [0, 1, 2], [4, 1, 5], "turn")


def test_what_a_loop_does_not_change_is_captured() -> None:
    graph = tj.load(loop(doubling(RawOperator("ADD", (2, 2), (5,), AddOptions()))))
    (node,) = [one for one in graph.main.nodes if isinstance(one.operator, WHILE_LOOP)]
    assert node.inputs == ("count", "x0", "limit")
    assert graph.main.outputs[0] == "count/end"
    count, limit, doubled = tj.compile(graph)(
        np.array(2, np.int32), np.array(5, np.int32), np.ones(3, np.float32)
    )
    assert (count, limit, doubled.tolist()) == (5, 5, [8.0] * 3)


def test_a_loop_whose_tensors_grow_is_refused() -> None:
    turn = doubling(RawOperator("CONCATENATION", (2, 2), (5,)), extent=6)
    with pytest.raises(tj.ModelError, match=r"count/end \(WHILE\): x0 is \[3\], but \[6\] behind a turn"):
        tj.load(loop(turn))


def test_a_loop_that_changes_nothing_is_refused() -> None:
    scalars = [tensor(name, (), Type.INT32) for name in ("count", "limit")]
    turn = RawSubgraph([*scalars, tensor("x")], [], [0, 1, 2], [0, 1, 2], "turn")
    with pytest.raises(tj.ModelError, match="nothing changes from one turn to the next"):
        tj.load(loop(turn))


def test_a_loop_whose_body_gives_less_is_refused() -> None:
    turn = RawSubgraph([tensor("count", (), Type.INT32)], [], [0], [0], "turn")
    with pytest.raises(tj.ModelError, match="its body gives 1 tensors, but must give 3"):
        tj.load(loop(turn))


def items() -> RawSubgraph:
    """A turn that puts a vector into a list, where the count says, and doubles the vector."""

    def ints(name: str, *numbers: int) -> RawTensor:
        return RawTensor(name, Type.INT32, (len(numbers),), np.array(numbers, np.int32).tobytes())

    whole = [
        tensor("count", (), Type.INT32),
        tensor("limit", (), Type.INT32),
        tensor("list", (4, 3)),
        tensor("x"),
    ]
    constants = [ONE, ints("one_number", 1), ints("rest", -1), ints("zero", 0), ints("row", 1, 3),
                 ints("begin", 0, 0), ints("end", -1, -1)]  # fmt: skip
    results = [tensor("next", (), Type.INT32), tensor("twice"), tensor("item", (1, 3))]
    sizes = [tensor(name, (extent,), Type.INT32) for name in ("here", "there") for extent in (1, 2)]
    slices = [tensor("before", (1, 1)), tensor("behind", (1, 3)), tensor("written", (4, 3))]
    tensors = [*whole, *constants, *results, *sizes, *slices]
    place = {one.name: number for number, one in enumerate(tensors)}
    here, whole_here, there, whole_there = range(14, 18)

    def node(name: str, inputs: str, output: int | str, options: Options | None = None) -> RawOperator:
        found = output if isinstance(output, int) else place[output]
        return RawOperator(
            name, tuple(place.get(one) or int(one) for one in inputs.split()), (found,), options
        )

    operators = [
        node("RESHAPE", "0 one_number", here),
        node("CONCATENATION", f"{here} rest", whole_here, ConcatenationOptions(0)),
        node("SLICE", f"list begin {whole_here}", "before"),
        node("ADD", "0 one", "next", AddOptions()),
        node("RESHAPE", "next one_number", there),
        node("CONCATENATION", f"{there} zero", whole_there, ConcatenationOptions(0)),
        node("SLICE", f"list {whole_there} end", "behind"),
        node("RESHAPE", "x row", "item"),
        node("CONCATENATION", "before item behind", "written", ConcatenationOptions(0)),
        node("ADD", "x x", "twice", AddOptions()),
    ]
    outputs = [place[name] for name in ("next", "limit", "written", "twice")]
    return RawSubgraph(tensors, operators, [0, 1, 2, 3], outputs, "turn")


def test_an_item_is_put_into_a_list_as_converters_say_it() -> None:
    graph = tj.load(loop(items(), [(4, 3), (3,)]))
    assert tj.validate(graph) == ()
    arrays = np.array(1, np.int32), np.array(4, np.int32), np.zeros((4, 3), np.float32), X
    found = tj.compile(graph)(*arrays)[2]
    np.testing.assert_array_equal(found, [0 * X, X, 2 * X, 4 * X])


def call(number: int, *others: RawSubgraph) -> bytes:
    main = RawSubgraph(
        [tensor("x"), tensor("y")], [RawOperator("CALL", (0,), (1,), CallOptions(number))], [0], [1], "main"
    )
    return RawModel([main, *others]).bytes()


def test_a_call_stands_in_place() -> None:
    graph = tj.load(call(1, unary("turned", "RELU", "inner")))
    (node,) = [one for one in graph.nodes if one.inputs and one.operator.opcode == "CLAMP"]
    assert node.name == "y"
    assert len(graph.regions) == 1


def test_a_subgraph_that_is_not_there_is_refused() -> None:
    with pytest.raises(tj.ModelError, match=r"y \(CALL\): it runs subgraph 7, but there are 1"):
        tj.load(call(7))


def test_subgraphs_that_call_each_other_without_end_are_an_error() -> None:
    with pytest.raises(tj.FileError, match="call each other to a depth of 32"):
        tj.load(call(0))
