"""Validation of whole graphs: structure, control flow, variables, constants, profiles and levels."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from tosajit.checks.validation import check, late_faults, late_operands, validate
from tosajit.dtypes import BOOL, FP8E4M3, FP16, FP32, INT4, INT8, INT16, INT32, INT48, SHAPE, DType
from tosajit.errors import GraphError
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.operator import Operator
from tosajit.operators import (
    ADD,
    ARITHMETIC_RIGHT_SHIFT,
    CAST,
    CLAMP,
    CONCAT,
    COND_IF,
    CONST,
    CONST_SHAPE,
    IDENTITY,
    MUL,
    NEGATE,
    RESCALE,
    RESHAPE,
    TABLE,
    VARIABLE,
    VARIABLE_READ,
    VARIABLE_WRITE,
    WHILE_LOOP,
)
from tosajit.operators.types import RoundingMode
from tosajit.profiles import EXTENSIONS
from tosajit.tracing.builder import GraphBuilder

STATIC = set(EXTENSIONS) - {"EXT-DYNAMIC"}


def graph_of(
    nodes: Iterable[Node],
    values: Iterable[Value],
    inputs: Iterable[str] = (),
    outputs: Iterable[str] = (),
    **regions: Block,
) -> Graph:
    block = Block(
        "main", tuple(nodes), {value.name: value for value in values}, tuple(inputs), tuple(outputs)
    )
    others = [Region(name, (other,)) for name, other in regions.items()]
    return Graph((Region("main", (block,)), *others))


def texts(graph: Graph, **options: Any) -> list[str]:
    return [str(fault) for fault in validate(graph, **options)]


def identity(source: str, target: str) -> Node:
    return Node(IDENTITY(), (source,), (target,))


def int8(*names: str) -> list[Value]:
    return [Value(name, INT8, (2,)) for name in names]


# Structure


def test_nodes_may_come_in_any_order() -> None:
    assert texts(graph_of([identity("b", "c"), identity("a", "b")], int8(*"abc"), "a", "c")) == []


def test_every_illegal_node_is_named_among_others_like_it() -> None:
    zeros = [Value(f"zp{number}", INT32, (1,), np.array([number], np.int32)) for number in range(2)]
    consts = [
        *zeros,
        Value("multiplier", INT32, (1,), np.array([1 << 30], np.int32)),
        Value("shift", INT8, (1,), np.array([30], np.int8)),
        Value("out_zp", INT8, (1,), np.zeros(1, np.int8)),
    ]
    nodes = [Node(CONST(), (), (value.name,)) for value in consts]
    operator = RESCALE(scale32=True)
    for number, (shape, zp) in enumerate([("x", 0), ("x", 1), ("x", 0), ("x", 1), ("y", 0)]):
        inputs = shape, "multiplier", "shift", f"zp{zp}", "out_zp"
        nodes.append(Node(operator, inputs, (f"r{number}",)))
    tensors = [Value("x", INT32, (2,)), Value("y", INT32, (3,))]
    results = [Value(f"r{number}", INT8, (2,)) for number in range(5)]
    outputs = [value.name for value in results]
    found = validate(graph_of(nodes, [*consts, *tensors, *results], ["x", "y"], outputs))
    assert [fault.node for fault in found] == ["r1", "r3", "r4"]


def test_a_cycle_is_named() -> None:
    nodes = [identity("b", "c"), identity("c", "b")]
    (text,) = texts(graph_of(nodes, int8(*"bc"), "", "c"))
    assert text == "c: needs its own result: c → b → c [TOSA 1.0.1 section 2.2]"
    longer = [identity("a", "b"), identity("d", "c"), identity("c", "e"), identity("e", "d")]
    (text,) = texts(graph_of(longer, int8(*"abcde"), "a", "b"))
    assert text == "c: needs its own result: c → e → d → c [TOSA 1.0.1 section 2.2]"


def test_a_tensor_that_is_not_declared_is_named() -> None:
    assert texts(graph_of([identity("a", "b")], int8("b"), "", "b")) == [
        "b (IDENTITY) a: is not declared in the block [TOSA 1.0.1 section 2.2]",
    ]


def test_a_tensor_that_is_never_written_is_named() -> None:
    assert texts(graph_of([identity("a", "b")], int8(*"ab"), "", "b")) == [
        "b (IDENTITY) a: is never written [TOSA 1.0.1 section 2.2]",
    ]


def test_a_tensor_is_written_once() -> None:
    (text,) = texts(graph_of([identity("a", "b"), identity("a", "b")], int8(*"ab"), "a", "b"))
    assert text == "b: is written twice [TOSA 1.0.1 section 2.2]"
    (text,) = texts(graph_of([identity("b", "a")], int8(*"ab"), "ab", "a"))
    assert text.startswith("a: is written twice")


def test_inputs_and_outputs_of_a_graph_are_declared_and_written() -> None:
    assert texts(graph_of([], int8(), "a", "b")) == [
        "a: is an input of the graph, but is not declared [TOSA 1.0.1 section 2.2]",
        "b: is an output of the graph, but is not declared [TOSA 1.0.1 section 2.2]",
    ]
    assert texts(graph_of([], int8("a"), "", "a")) == ["a: is never written [TOSA 1.0.1 section 2.2]"]
    assert "an input is listed twice" in texts(graph_of([], int8("a"), "aa", "a"))[0]


def test_unused_tensors_and_inputs_are_fine() -> None:
    assert texts(graph_of([identity("a", "b")], int8(*"abcd"), "ac", "ab")) == []


def test_shapes_do_not_pass_the_border_of_a_graph() -> None:
    values = [Value("s", SHAPE, (1,))]
    (text, *_) = texts(graph_of([], values, "s", ""))
    assert "is an input of the graph, but has the type SHAPE" in text


def test_a_graph_needs_a_block_for_each_region() -> None:
    assert "it has no block to run" in texts(Graph(()))[0]
    block = Block("b", (), {}, (), ())
    assert "it has 2 blocks, but must have 1" in texts(Graph((Region("main", (block, block)),)))[0]
    twice = Graph((Region("main", (block,)), Region("main", (block,))))
    assert "two regions have this name" in texts(twice)[0]


def test_names_may_repeat_across_regions() -> None:
    nodes = (identity("a", "b"),)
    values = {value.name: value for value in int8(*"ab")}
    other = Block("other", nodes, values, ("a",), ("b",))
    assert texts(graph_of(nodes, int8(*"ab"), "a", "b", other=other)) == []


# Tensors


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((0,), "its shape is [0], but extents must be at least 1"),
        ((2, -1), "its shape is [2, -1], but extents must be at least 1"),
        ((1 << 31,), "it takes 2147483648 bytes, but must take less than 2147483648"),
        ((1 << 62, 1 << 62), f"it takes {1 << 124} bytes, but must take less than 2147483648"),
    ],
)
def test_extents_and_sizes_have_limits(shape: tuple[int, ...] | None, text: str) -> None:
    values = [Value("a", INT8, shape), Value("b", INT8, shape)]
    found = texts(graph_of([identity("a", "b")], values, "a", "b"))
    assert len(found) == 2
    assert all(text in one for one in found)


def test_sizes_count_bytes() -> None:
    values = [Value("a", INT32, (1 << 29,))]
    assert "it takes 2147483648 bytes" in texts(graph_of([], values, "a", "a"))[0]
    assert texts(graph_of([], [Value("a", INT32, ((1 << 29) - 1,))], "a", "a")) == []
    assert texts(graph_of([], [Value("a", INT8, ((1 << 31) - 1,))], "a", "a")) == []


def test_without_a_level_sizes_go_up_to_63_bits() -> None:
    assert texts(graph_of([], [Value("a", INT8, (1 << 62,))], "a", "a"), level="none") == []
    (text,) = texts(graph_of([], [Value("a", INT8, (1 << 62, 2))], "a", "a"), level="none")
    assert "it takes 9223372036854775808 bytes" in text


def test_ranks_have_a_limit_of_the_level() -> None:
    values = [Value(name, INT8, (1,) * 7) for name in "ab"]
    graph = graph_of([identity("a", "b")], values, "a", "b")
    assert texts(graph) == [
        "b (IDENTITY) input1: its rank is 7, but MAX_RANK is 6 [TOSA 1.0.1 section 2.14.2]",
        "b (IDENTITY) output: its rank is 7, but MAX_RANK is 6 [TOSA 1.0.1 section 2.14.2]",
    ]
    assert {fault.kind for fault in validate(graph)} == {"level"}
    assert texts(graph, level="none") == []


def test_lists_have_a_limit_of_the_level() -> None:
    values = [Value("a", INT8, (1,)), Value("b", INT8, (65,))]
    graph = graph_of([Node(CONCAT(axis=0), ("a",) * 65, ("b",))], values, "a", "b")
    (text,) = texts(graph)
    assert "b (CONCAT) input1: there are 65 tensors, but MAX_TENSOR_LIST_SIZE is 64" in text
    assert texts(graph, level="none") == []


def test_a_list_of_no_tensors_is_named() -> None:
    (text,) = texts(graph_of([Node(CONCAT(axis=0), (), ("b",))], int8("b"), "", "b"))
    assert "b (CONCAT) input1: there are 0 tensors, but must be at least 1" in text


@pytest.mark.parametrize(
    ("dtype", "data", "text"),
    [
        (INT8, None, "is a constant without data"),
        (INT8, np.zeros(3, np.int8), "is INT8[2], but its data are int8[3]"),
        (INT8, np.zeros(2, np.int16), "is INT8[2], but its data are int16[2]"),
        (INT4, np.array([0, 8], np.int8), "its data are from 0 to 8, which INT4 cannot hold"),
        (INT48, np.array([-(1 << 47) - 1, 0], np.int64), "which INT48 cannot hold"),
    ],
)
def test_constants_have_data_of_their_type(dtype: DType, data: Any, text: str) -> None:
    found = texts(graph_of([Node(CONST(), (), ("a",))], [Value("a", dtype, (2,), data)], "", "a"))
    assert any(text in one for one in found), found


@pytest.mark.parametrize(
    ("dtype", "data"),
    [
        (INT4, np.array([-8, 7], np.int8)),
        (INT8, np.array([-128, 127], np.int8)),
        (INT48, np.array([-(1 << 47), (1 << 47) - 1], np.int64)),
        (FP32, np.array([-np.inf, np.nan], np.float32)),
        (BOOL, np.array([True, False])),
    ],
)
def test_constants_have_all_numbers_of_their_type(dtype: DType, data: Any) -> None:
    assert texts(graph_of([Node(CONST(), (), ("a",))], [Value("a", dtype, (2,), data)], "", "a")) == []


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [(INT4, -9, 0), (INT4, 0, 8), (INT48, 0, 1 << 47), (INT48, -(1 << 47) - 1, 0)]
)
def test_constants_have_no_other_numbers(dtype: DType, low: int, high: int) -> None:
    value = Value("a", dtype, (2,), np.array([low, high], dtype.storage))
    (text,) = texts(graph_of([Node(CONST(), (), ("a",))], [value], "", "a"))
    assert text.startswith(f"a: its data are from {low} to {high}, which {dtype} cannot hold")


def test_an_empty_constant_has_no_numbers_that_are_wrong() -> None:
    value = Value("a", INT4, (0,), np.zeros(0, np.int8))
    (text,) = texts(graph_of([Node(CONST(), (), ("a",))], [value], "", "a"))
    assert text.startswith("a: its shape is [0], but extents must be at least 1")


def test_the_data_of_inputs_do_not_count() -> None:
    stale = Value("n", SHAPE, (1,), np.array([6]))
    values = [Value("a", INT8, (2, 3)), stale, Value("b", INT8, (6,))]
    (text,) = texts(graph_of([Node(RESHAPE(), ("a", "n"), ("b",))], values, "a", "b"))[:1]
    assert "b (RESHAPE) n: is never written" in text


# Compile-time constants


def dynamic(operand: Operator, *inputs: Value) -> Graph:
    values = [*inputs, Value("y", inputs[0].dtype, inputs[0].shape)]
    names = [value.name for value in inputs]
    return graph_of([Node(operand, tuple(names), ("y",))], values, names, "y")


def test_ext_dynamic_lifts_compile_time_constants() -> None:
    x, shift = Value("x", INT32, (2,)), Value("shift", INT8, (1,))
    graph = dynamic(MUL(), x, x, shift)
    graph = graph_of(graph.main.nodes, graph.main.values.values(), ("x", "shift"), "y")
    assert texts(graph) == []
    (text,) = texts(graph, extensions=STATIC)
    assert "y (MUL) shift: must come from a CONST, or the graph needs EXT-DYNAMIC" in text


def test_what_depends_on_late_operands_is_checked_when_they_are_known() -> None:
    values = [Value(name, INT16, (2,)) for name in "xy"] + [Value(name, INT16, (1,)) for name in ("a", "b")]
    graph = graph_of([Node(NEGATE(), ("x", "a", "b"), ("y",))], values, ("x", "a", "b"), "y")
    (node,) = graph.main.nodes
    assert texts(graph) == []
    assert late_operands(node, ()) == ("a", "b")
    assert late_operands(node, ("a",)) == ("b",)
    known = {"a": np.zeros(1, np.int16), "b": np.array([3], np.int16)}
    assert [str(fault) for fault in late_faults(node, graph.main, known)] == [
        "y (NEGATE) output_zp: it is 3, but must be 0 for INT16 [TOSA 1.0.1 section 2.6.10]"
    ]
    known["b"] = known["a"]
    assert late_faults(node, graph.main, known) == ()


def test_the_table_is_a_constant_of_the_integer_profile() -> None:
    table = Value("table", INT8, (256,))
    graph = dynamic(TABLE(), Value("x", INT8, (2,)), table)
    assert texts(graph) == []
    assert ["constant"] == [fault.kind for fault in validate(graph, ["PRO-INT"], [])]
    assert ["profile"] == [fault.kind for fault in validate(graph, ["PRO-FP"], [])]


def test_an_identity_of_a_constant_is_no_constant() -> None:
    values = [Value("c", INT8, (1,), np.zeros(1, np.int8)), Value("shift", INT8, (1,)), Value("x", INT32, ())]
    nodes = [Node(CONST(), (), ("c",)), identity("c", "shift"), Node(MUL(), ("x", "x", "shift"), ("y",))]
    graph = graph_of(nodes, [*values, Value("y", INT32, ())], "x", "y")
    assert texts(graph) == []
    assert ["constant"] == [fault.kind for fault in validate(graph, extensions=STATIC)]


def test_shapes_are_constant_even_with_ext_dynamic() -> None:
    values = [Value("a", INT8, (6,)), Value("n", SHAPE, (1,)), Value("b", INT8, (6,))]
    graph = graph_of([Node(RESHAPE(), ("a", "n"), ("b",))], values, ("a", "n"), "b")
    assert any("b (RESHAPE) shape: must come from a CONST_SHAPE" in text for text in texts(graph))


def test_constants_that_enter_a_region_are_not_constant_there() -> None:
    builder = GraphBuilder()
    regions = [builder.region(name) for name in ("then", "else")]
    for region in regions:
        x, shift = region.input("x", INT32, ()), region.input("shift", INT8, (1,))
        region.output(region.add(MUL(), [x, x, shift]))
    condition, x = builder.input("c", BOOL, ()), builder.input("x", INT32, ())
    outputs = builder.add_all(
        COND_IF(then_graph="then", else_graph="else"), [condition, x, builder.const([1], INT8)]
    )
    builder.output(*outputs)
    assert texts(builder.build()) == []
    found = validate(builder.build(), extensions=STATIC)
    assert [fault.node for fault in found] == ["then/mul_2", "else/mul_2"]


# Profiles


@pytest.mark.parametrize(
    ("dtype", "profiles", "extensions", "text"),
    [
        (INT8, ["PRO-FP"], [], ""),
        (INT16, ["PRO-FP"], [], ""),
        (INT48, ["PRO-INT"], ["EXT-INT16"], ""),
        (INT48, ["PRO-INT"], [], "y (IDENTITY): 48-bit needs EXT-INT16 [TOSA 1.0.1 section 1.6]"),
        (INT48, ["PRO-FP"], ["EXT-INT16"], "48-bit needs EXT-INT16"),
        (INT4, ["PRO-INT"], ["EXT-INT16"], "4-bit needs EXT-INT4"),
        (FP16, ["PRO-INT"], [], "fp16 needs PRO-FP"),
        (FP8E4M3, ["PRO-FP"], ["EXT-FP8E5M2"], "fp8e4m3 needs EXT-FP8E4M3"),
    ],
)
def test_modes_belong_to_profiles_and_extensions(
    dtype: DType, profiles: Iterable[str], extensions: Iterable[str], text: str
) -> None:
    found = texts(dynamic(IDENTITY(), Value("x", dtype, (2,))), profiles=profiles, extensions=extensions)
    assert [text in one for one in found] == ([True] if text else [])


def test_a_mode_can_need_two_extensions() -> None:
    values = [Value("x", FP8E4M3, ()), Value("y", FP32, ())]
    graph = graph_of([Node(CAST(), ("x",), ("y",))], values, "x", "y")
    assert texts(graph, extensions=["EXT-FP8E4M3"]) == []
    assert "needs EXT-FP8E4M3" in texts(graph, extensions=["EXT-BF16"])[0]


@pytest.mark.parametrize(
    ("mode", "name"),
    [(RoundingMode.DOUBLE_ROUND, "EXT-DOUBLEROUND"), (RoundingMode.INEXACT_ROUND, "EXT-INEXACTROUND")],
)
def test_rounding_modes_are_extensions(mode: RoundingMode, name: str) -> None:
    builder = GraphBuilder()
    x = builder.input("x", INT32, (3,))
    zero, shift, one = builder.const([0], INT32), builder.const([30], INT8), builder.const([1], INT32)
    builder.output(
        builder.add(RESCALE(scale32=True, rounding_mode=mode), [x, one, shift, zero, zero], name="y")
    )
    graph = builder.build()
    assert texts(graph) == []
    assert texts(graph, extensions=STATIC - {name}) == [
        f"y (RESCALE): its attributes need {name} [TOSA 1.0.1 section 1.6]"
    ]


def test_unknown_profiles_extensions_and_levels_are_refused() -> None:
    graph = graph_of([], int8("a"), "a", "a")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"profiles": ["PRO-X"]}, "no such"),
        ({"extensions": ["EXT-X"]}, "no such"),
        ({"level": "4K"}, "level is '4K', but must be one of 8K, none"),
    ]
    for options, message in refused:
        with pytest.raises(ValueError, match=message):
            validate(graph, **options)


# Control flow


def branch(
    *outputs: str, inputs: Iterable[str] = ("a",), values: Iterable[Value] = (), nodes: Iterable[Node] = ()
) -> Block:
    declared = {value.name: value for value in (*int8("a"), *values)}
    return Block("block", tuple(nodes), declared, tuple(inputs), tuple(outputs))


def conditional(
    then: Block | None = None,
    other: Block | None = None,
    condition: tuple[int, ...] = (),
    condition_type: DType = BOOL,
    names: tuple[str, str] = ("then", "other"),
) -> Graph:
    node = Node(COND_IF(then_graph=names[0], else_graph=names[1]), ("c", "x"), ("y",))
    values = [Value("c", condition_type, condition), *int8("x", "y")]
    legal = branch("a")
    return graph_of([node], values, ("c", "x"), "y", then=then or legal, other=other or legal)


@pytest.mark.parametrize("condition", [(), (1,), (1, 1, 1)])
def test_a_condition_has_one_element_of_any_rank(condition: tuple[int, ...]) -> None:
    assert texts(conditional(condition=condition)) == []


def test_conditions_are_single_booleans() -> None:
    assert (
        "condition: it has the shape [2], but must have one element" in texts(conditional(condition=(2,)))[0]
    )
    assert "condition: is INT8, but must be BOOL" in texts(conditional(condition_type=INT8))[0]


def test_regions_have_the_signature_of_the_operator() -> None:
    other = Block("b", (), {"a": Value("a", INT8, (3,))}, ("a",), ("a",))
    assert [text.split("(COND_IF): ")[1] for text in texts(conditional(then=other))] == [
        "input 0 is INT8[2], but INT8[3] in then_graph then [TOSA 1.0.1 section 2.16.1]",
        "output 0 is INT8[2], but INT8[3] in then_graph then [TOSA 1.0.1 section 2.16.1]",
    ]
    wide = Block("b", (), {"a": Value("a", INT16, (2,))}, ("a",), ("a",))
    assert "input 0 is INT8[2], but INT16[2] in else_graph other" in texts(conditional(other=wide))[0]
    more = branch("a", "a")
    assert "there are 1 outputs, but 2 in else_graph other" in texts(conditional(other=more))[0]


def test_regions_that_are_missing_are_named() -> None:
    (text,) = texts(conditional(names=("then", "nowhere")))
    assert "else_graph is 'nowhere', but there is no such region" in text


def loop(
    test: Block | None = None,
    body: Block | None = None,
    outputs: tuple[DType, tuple[int, ...]] = (INT8, (2,)),
) -> Graph:
    node = Node(WHILE_LOOP(cond_graph="test", body_graph="body"), ("x",), ("y",))
    values = [*int8("x"), Value("y", *outputs)]
    verdict = Value("t", BOOL, (1,), np.array([False]))
    legal = branch("t", values=[verdict], nodes=[Node(CONST(), (), ("t",))])
    return graph_of([node], values, "x", "y", test=test or legal, body=body or branch("a"))


def test_loops_are_consistent() -> None:
    assert texts(loop()) == []
    assert "output 0 is INT8[3], but INT8[2] in input_list" in texts(loop(outputs=(INT8, (3,))))[0]
    wide = Block("b", (), {"a": Value("a", INT16, (2,))}, ("a",), ("a",))
    assert "input 0 is INT8[2], but INT16[2] in body_graph body" in texts(loop(body=wide))[0]
    assert "cond_graph test gives INT8[2], but must give one BOOL" in texts(loop(test=branch("a")))[0]
    assert "there are 1 inputs, but 0 in cond_graph test" in texts(loop(test=branch("a", inputs=())))[0]
    truths = {"a": Value("a", INT8, (2,)), "t": Value("t", BOOL, (2,)), "u": Value("u", BOOL, (1,))}
    for outputs, given in ((("t",), "BOOL[2]"), (("u", "u"), "BOOL[1], BOOL[1]"), ((), "nothing")):
        test = Block("test", (), truths, ("a",), outputs)
        assert any(f"test gives {given}, but must give one BOOL" in text for text in texts(loop(test=test)))


def nested(depth: int) -> Graph:
    """Loops that contain each other, `depth` deep."""
    builder = GraphBuilder()
    test = builder.region("test")
    test.input("a", INT8, ())
    test.output(test.const(np.array(False)))
    regions = [builder, *(builder.region(f"body{level}") for level in range(1, depth + 1))]
    for level in range(depth, -1, -1):
        region = regions[level]
        x = region.input("a", INT8, ())
        if level < depth:
            (x,) = region.add_all(WHILE_LOOP(cond_graph="test", body_graph=f"body{level + 1}"), [x])
        region.output(x)
    return builder.build()


def test_control_flow_nests_to_the_limit_of_the_level() -> None:
    assert texts(nested(6)) == []
    (fault,) = validate(nested(7))
    assert (fault.kind, fault.rule, fault.operator) == ("error_if", "nesting", "WHILE_LOOP")
    assert "its nesting is deeper than MAX_NESTING, which is 6" in fault.message
    assert texts(nested(7), level="none") == []


def test_a_region_that_runs_itself_is_too_deep() -> None:
    node = Node(COND_IF(then_graph="main", else_graph="main"), ("c", "x"), ("y",))
    values = [Value("c", BOOL, ()), *int8("x", "y")]
    found = validate(graph_of([node], values, ("c", "x"), "y"))
    assert any(fault.rule == "nesting" for fault in found)


def test_faults_inside_regions_name_the_region() -> None:
    broken = branch("b", values=int8("b"), nodes=[Node(IDENTITY(), (), ("b",))])
    (text,) = texts(conditional(then=broken))
    assert text.startswith("then/b (IDENTITY) inputs: there are 0, but must be 1")


# Variables


def stateful(*nodes: Node, values: Iterable[Value] = ()) -> Graph:
    declared = [Value("v", INT8, (2,), np.zeros(2, np.int8), "state"), *int8("x", "y"), *values]
    return graph_of(nodes, declared, "x", "y")


DECLARE = Node(VARIABLE(name="state"), (), ("v",))
WRITE = Node(VARIABLE_WRITE(name="state"), ("x",), ())
READ = Node(VARIABLE_READ(name="state"), (), ("y",))


def test_variables_are_declared_read_and_written() -> None:
    assert texts(stateful(DECLARE, READ, WRITE)) == []
    assert texts(stateful(DECLARE, READ, WRITE), extensions=[]) == [
        f"{name} ({operator}): signed 8 needs EXT-VARIABLE and PRO-INT [TOSA 1.0.1 section 1.6]"
        for name, operator in (
            ("v", "VARIABLE"),
            ("y", "VARIABLE_READ"),
            ("VARIABLE_WRITE", "VARIABLE_WRITE"),
        )
    ]


def test_a_variable_is_declared_once() -> None:
    again = Value("w", INT8, (2,), None, "state")
    graph = stateful(DECLARE, Node(VARIABLE(name="state"), (), ("w",)), READ, values=[again])
    assert "w (VARIABLE) name: state is declared twice" in texts(graph)[0]


def test_a_variable_that_is_written_is_declared() -> None:
    graph = graph_of([WRITE], int8("x"), "x", "")
    assert texts(graph) == [
        "VARIABLE_WRITE (VARIABLE_WRITE) name: state is not declared [TOSA 1.0.1 section 2.17.2]"
    ]


def test_a_variable_may_have_been_declared_by_another_graph() -> None:
    assert texts(graph_of([READ], int8("y"), "", "y")) == []


def test_reads_and_writes_have_the_type_of_the_variable() -> None:
    other = Node(VARIABLE_READ(name="state"), (), ("z",))
    graph = stateful(DECLARE, READ, other, values=[Value("z", INT8, (3,))])
    assert "z (VARIABLE_READ) name: state is INT8[2], but INT8[3] is used" in texts(graph)[0]
    write = Node(VARIABLE_WRITE(name="state"), ("z",), ())
    graph = stateful(DECLARE, READ, identity("x", "z"), write, values=[Value("z", FP32, (2,))])
    assert any("state is INT8[2], but FP32[2] is used" in text for text in texts(graph))


# As a whole


def test_everything_that_is_wrong_is_listed() -> None:
    values = [
        Value("a", INT32, (2,)),
        Value("b", INT32, (3,)),
        Value("c", INT8, (2,)),
        Value("d", INT8, (4,)),
    ]
    nodes = [
        Node(ADD(), ("a", "b"), ("e",)),
        Node(CLAMP(min_val=3, max_val=2), ("c",), ("d",)),
        Node(ARITHMETIC_RIGHT_SHIFT(round=True), ("c", "a"), ("f",)),
    ]
    graph = graph_of(nodes, [*values, *int8("f"), Value("e", INT32, (2,))], "abc", "edf")
    found = validate(graph)
    assert [(fault.node, fault.operator) for fault in found] == [
        ("e", "ADD"),
        ("d", "CLAMP"),
        ("d", "CLAMP"),
        ("f", "ARITHMETIC_RIGHT_SHIFT"),
    ]
    with pytest.raises(GraphError) as caught:
        check(graph)
    assert caught.value.violations == found


def test_broken_constants_do_not_stop_validation() -> None:
    values = [Value("s", SHAPE, (2,), np.array([1, 2, 3])), Value("x", INT8, (2,)), Value("y", INT8, (1, 2))]
    nodes = [Node(CONST_SHAPE(), (), ("s",)), Node(RESHAPE(), ("x", "s"), ("y",))]
    (text,) = texts(graph_of(nodes, values, "x", "y"))
    assert "s: is SHAPE[2], but its data are int64[3]" in text


def test_a_long_graph_in_the_worst_order_is_quick() -> None:
    count = 20_000
    nodes = [identity(f"t{number}", f"t{number + 1}") for number in range(count)]
    graph = graph_of(nodes[::-1], int8(*(f"t{number}" for number in range(count + 1))), ["t0"], [f"t{count}"])
    start = time.perf_counter()
    assert validate(graph) == ()
    assert time.perf_counter() - start < 5
