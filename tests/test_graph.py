"""Graphs: values, building by hand, orders and printing."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tosajit.checks.validation import check, validate
from tosajit.dtypes import (
    BF16,
    BOOL,
    DTYPES,
    FP16,
    FP32,
    INT4,
    INT8,
    INT16,
    INT32,
    INT48,
    SHAPE,
    DType,
    dtype_of,
)
from tosajit.errors import GraphError, Violation
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.binding import no_mode, types_of
from tosajit.graph.graph import constant_text
from tosajit.graph.operator import Operator, error_if
from tosajit.graph.order import cycle, topological
from tosajit.operators import (
    ADD,
    CAST,
    CLAMP,
    CONCAT,
    COND_IF,
    CONV2D,
    CUSTOM,
    IDENTITY,
    MATMUL,
    PAD,
    RESCALE,
    RESHAPE,
    RFFT2D,
    WHILE_LOOP,
    AccType,
)  # fmt: skip
from tosajit.tracing.builder import GraphBuilder


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_types_are_the_same_after_pickling(dtype: DType) -> None:
    assert pickle.loads(pickle.dumps(dtype)) is dtype


def test_types_are_found_by_how_numpy_stores_them() -> None:
    assert dtype_of(np.int8) is INT8
    assert dtype_of(np.zeros(1, BF16.storage).dtype) is BF16
    with pytest.raises(TypeError, match="no type that is stored as"):
        dtype_of(np.float64)


def test_sizes_of_elements_are_whole_bytes() -> None:
    assert [dtype.bytes for dtype in (BOOL, INT4, INT16, INT48)] == [1, 1, 2, 6]


def test_values_compare_by_their_data() -> None:
    one = Value("a", FP32, (2,), np.array([np.nan, 0], np.float32))
    other = Value("a", FP32, (2,), np.array([np.nan, 0], np.float32))
    assert one == other
    assert one != Value("a", FP32, (2,), np.array([np.nan, 1], np.float32))
    assert one != Value("a", FP32, (2,))
    assert hash(one) == hash(other)
    assert str(one) == "%a: FP32[2]"


def small() -> Graph:
    builder = GraphBuilder()
    x = builder.input("x", INT8, (1, 8, 8, 3))
    weight = builder.const(np.ones((4, 3, 3, 3), np.int8), name="weight")
    bias = builder.const(np.arange(4, dtype=np.int32), name="bias")
    zero = builder.const(np.zeros(1, np.int8), name="zero")
    operator = CONV2D(pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32)
    y = builder.add(operator, [x, weight, bias, zero, zero], name="y")
    builder.output(builder.add(RESHAPE(), [y, builder.shape([64, 4], "flat")], name="z"))
    return builder.build()


def test_types_and_shapes_follow_from_the_inputs() -> None:
    graph = small()
    assert [value.type for value in graph.outputs] == ["INT32[64, 4]"]
    assert graph.main.values["y"].type == "INT32[1, 8, 8, 4]"
    assert check(graph) is graph


def test_a_graph_prints_a_line_for_each_node() -> None:
    lines = str(small()).splitlines()
    assert lines == [
        "main(%x: INT8[1, 8, 8, 3]) -> (INT32[64, 4]) {",
        "  %weight = CONST(108 × 1…1) : INT8[4, 3, 3, 3]",
        "  %bias = CONST([0, 1, 2, 3]) : INT32[4]",
        "  %zero = CONST([0]) : INT8[1]",
        "  %y = CONV2D(%x, %weight, %bias, %zero, %zero, pad=[1, 1, 1, 1], stride=[1, 1], dilation=[1, 1], "
        "local_bound=false, acc_type=INT32) : INT32[1, 8, 8, 4]",
        "  %flat = CONST_SHAPE([64, 4]) : SHAPE[2]",
        "  %z = RESHAPE(%y, %flat) : INT32[64, 4]",
        "  return %z",
        "}",
    ]
    assert repr(small()) == "<Graph of TOSA 1.0.1: 6 nodes in 1 regions>"


def test_the_table_for_notebooks_escapes_names() -> None:
    builder = GraphBuilder()
    builder.output(builder.add(IDENTITY(), [builder.input("<x>", INT8, ())], name="y"))
    html = builder.build()._repr_html_()
    assert "&lt;x&gt;" in html
    assert "<x>" not in html
    assert "section 2.14.2" in html


def test_the_builder_copies_constants() -> None:
    builder = GraphBuilder()
    array = np.zeros(1, np.int8)
    name = builder.const(array)
    array[0] = 5
    data = builder.value(name).data
    assert data is not None
    assert data[0] == 0


def test_the_builder_says_what_is_wrong_at_once() -> None:
    builder = GraphBuilder()
    a, b = builder.input("a", INT32, (2, 3)), builder.input("b", INT32, (2, 4))
    with pytest.raises(GraphError, match=r"ADD \(ADD\) input2: dimension 1 is 4, but 3 in input1"):
        builder.add(ADD(), [a, b])
    c = builder.input("c", INT8, ())
    with pytest.raises(GraphError, match=r"no mode has in_out_t INT8; the nearest are"):
        builder.add(ADD(), [c, c])
    with pytest.raises(ValueError, match="a is declared twice"):
        builder.input("a", INT8, ())


def test_modes_that_differ_in_the_output_need_a_choice() -> None:
    builder = GraphBuilder()
    x = builder.input("x", FP16, (1, 2, 2))
    zero = builder.const(np.zeros(1, np.float16))
    with pytest.raises(GraphError, match="the output can be FP16, FP32: choose one with dtype"):
        builder.add(MATMUL(), [x, x, zero, zero])
    assert builder.value(builder.add(MATMUL(), [x, x, zero, zero], dtype=FP32)).type == "FP32[1, 2, 2]"
    assert builder.value(builder.add(CAST(), [x], dtype=INT16)).type == "INT16[1, 2, 2]"


def test_the_output_type_of_rescale_is_that_of_its_zero_point() -> None:
    builder = GraphBuilder()
    x = builder.input("x", INT32, (3,))
    one, shift = builder.const([1 << 30], INT32), builder.const([30], INT8)
    y = builder.add(
        RESCALE(scale32=True), [x, one, shift, builder.const([0], INT32), builder.const([0], INT8)]
    )
    assert builder.value(y).type == "INT8[3]"


def test_operators_can_have_several_outputs() -> None:
    builder = GraphBuilder()
    outputs = builder.add_all(RFFT2D(), [builder.input("x", FP32, (1, 4, 8))])
    assert [builder.value(name).type for name in outputs] == ["FP32[1, 4, 5]"] * 2


def test_custom_operators_need_to_be_told_their_outputs() -> None:
    builder = GraphBuilder()
    x = builder.input("x", INT8, (2,))
    custom = CUSTOM(operator_name="double", domain_name="example.org")
    (y,) = builder.add_all(custom, [x], [(INT16, (2,))])
    builder.output(y)
    assert validate(builder.build()) == ()


def test_control_flow_gives_what_its_regions_give() -> None:
    builder = GraphBuilder()
    then, other = builder.region("then"), builder.region("else")
    for region in (then, other):
        region.output(region.add(IDENTITY(), [region.input("a", INT8, (2,))]))
    condition, x = builder.input("c", BOOL, ()), builder.input("x", INT8, (2,))
    (y,) = builder.add_all(COND_IF(then_graph="then", else_graph="else"), [condition, x])
    builder.output(y)
    assert builder.value(y).type == "INT8[2]"
    assert validate(builder.build()) == ()


def test_a_loop_gives_what_it_takes() -> None:
    builder = GraphBuilder()
    test, body = builder.region("test"), builder.region("body")
    test.input("a", INT8, ())
    test.output(test.const(np.array(False)))
    body.output(body.input("a", INT8, ()))
    outputs = builder.add_all(
        WHILE_LOOP(cond_graph="test", body_graph="body"), [builder.input("x", INT8, ())]
    )
    builder.output(*outputs)
    assert validate(builder.build()) == ()


def test_a_graph_without_constants_still_needs_shapes_to_be_constant() -> None:
    builder = GraphBuilder()
    x, padding = builder.input("x", INT8, (2,)), builder.input("p", SHAPE, (2,))
    with pytest.raises(GraphError, match="its shape does not follow from the inputs"):
        builder.add(PAD(), [x, padding, builder.const([0], INT8)])


def chain(*pairs: tuple[str, str]) -> list[Node]:
    return [Node(IDENTITY(), (source,), (target,)) for source, target in pairs]


def test_nodes_are_put_in_order() -> None:
    nodes = chain(("b", "c"), ("a", "b"), ("c", "d"), ("x", "y"))
    assert [node.name for node in topological(nodes)] == ["b", "c", "d", "y"]


def test_a_cycle_is_named() -> None:
    nodes = chain(("b", "c"), ("c", "b"), ("c", "d"))
    writers = {node.name: node for node in nodes}
    assert cycle(nodes, writers) in (("c", "b", "c"), ("b", "c", "b"))
    assert cycle(chain(("b", "c"), ("a", "b")), {}) == ()


def test_errors_list_what_is_wrong() -> None:
    faults = [Violation("type", f"n{i}", "ADD", "input1", "rule", "is wrong", "2.5.1") for i in range(25)]
    error = GraphError(faults)
    assert str(error).splitlines()[0] == "25 violations"
    assert str(error).splitlines()[-1] == "  and 5 more"
    assert str(GraphError(faults[:1])) == "n0 (ADD) input1: is wrong [TOSA 1.0.1 section 2.5.1]"
    assert pickle.loads(pickle.dumps(error)).violations == tuple(faults)
    assert str(CLAMP(min_val=0, max_val=1)).startswith("CLAMP")


def test_the_main_block_is_where_a_run_starts() -> None:
    blocks = [Block(name, (), {}, (), ()) for name in "abc"]
    other = Region("other", (blocks[0], blocks[1]))
    assert Graph((other, Region("main", (blocks[2],)))).main is blocks[2]
    assert Graph((other, Region("main", ()))).main is blocks[0]
    assert Graph((other,)).main is blocks[0]
    assert Graph(()).version == (1, 0, 1, False)


@pytest.mark.parametrize(("more", "is_cut"), [(0, False), (1, True)])
def test_long_arguments_are_cut_in_tables(more: int, is_cut: bool) -> None:
    builder = GraphBuilder()
    name = builder.input("a" * (120 - len("%, %, axis=0") - 1 + more), INT8, (1,))
    builder.output(builder.add(CONCAT(axis=0), [name, builder.input("b", INT8, (1,))]))
    cell = builder.build()._repr_html_().split("<td>")[3].removesuffix("</td>")
    assert len(cell) == 120
    assert cell.endswith("axis…" if is_cut else "axis=0")


@pytest.mark.parametrize(
    ("elements", "text"),
    [
        ([1, 2, 3, 4], "[1, 2, 3, 4]"),
        ([1, 5, 3, 4, 2], "5 × 1…5"),
        (7, "7"),
    ],
)
def test_constants_are_told_by_their_elements_or_range(elements: object, text: str) -> None:
    data = np.array(elements, np.int32)
    assert constant_text(Value("a", INT32, data.shape, data)) == text
    assert constant_text(Value("a", INT32, data.shape)) == ""


def test_all_shapes_are_told_by_their_elements() -> None:
    data = np.arange(5, dtype=np.int64)
    assert constant_text(Value("a", SHAPE, (5,), data)) == "[0, 1, 2, 3, 4]"


def test_types_stand_for_those_of_all_modes() -> None:
    kinds: list[tuple[Any, str, set[DType]]] = [
        (ADD, "in_out_t", {INT32, FP16, BF16, FP32}),
        (RESHAPE, "shape_t", {SHAPE}),
        (RESCALE, "mul_t", set(DTYPES.values()) - {SHAPE}),
    ]
    for operator, variable, expected in kinds:
        assert types_of(operator, variable) == expected


@pytest.mark.parametrize(
    ("operator", "known", "end"),
    [
        (ADD(), {"in_out_t": INT8}, "in_out_t FP16 / in_out_t FP32 / in_out_t INT32 / in_out_t BF16"),
        (CAST(), {"in_t": INT8, "out_t": INT8}, "in_t INT8, out_t FP16 / in_t INT8, out_t FP32 / and 8 more"),
        (MATMUL(), {"in_t": INT8, "out_t": INT8}, "the nearest are in_t INT8, out_t INT32"),
    ],
)
def test_the_nearest_modes_are_listed_up_to_four(
    operator: Operator, known: dict[str, DType], end: str
) -> None:
    assert no_mode(operator, known).endswith(end)


def test_every_extent_that_does_not_fit_is_told_once() -> None:
    builder = GraphBuilder()
    a, b = builder.input("a", FP32, (2, 3, 4)), builder.input("b", FP32, (5, 6, 7))
    zero = builder.const(np.zeros(1, np.float32))
    with pytest.raises(GraphError) as caught:
        builder.add(MATMUL(), [a, b, zero, zero])
    assert [one.message for one in caught.value.violations] == ["N is 5, but 2 in A", "C is 6, but 4 in A"]


def test_the_message_of_a_rule_is_its_docstring_without_capitals() -> None:
    def told(self: object, OH: int, pad: int) -> bool:
        """Padding   is negative."""
        return True

    def spelt(self: object) -> bool:
        """OH is wrong."""
        return True

    def by_its_name(self: object) -> bool:
        return True

    rules = [error_if("input")(one) for one in (told, spelt, by_its_name)]
    assert [rule.template for rule in rules] == ["padding is negative", "OH is wrong", "by its name"]
    assert [rule.parameters for rule in rules] == [("OH", "pad"), (), ()]
