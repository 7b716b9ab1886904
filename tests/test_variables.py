"""VARIABLE, VARIABLE_WRITE and VARIABLE_READ, every line of their pseudo-code (TOSA 1.0.1 section 2.17)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

import tosajit as tj
from tests import oracle
from tests.building import assert_runs, cond_if, truth, while_loop
from tests.strategies import difference
from tosajit.checks.validation import validate
from tosajit.dtypes import BOOL, INT8, INT16, INT32
from tosajit.files import from_bytes, to_bytes
from tosajit.graph import Graph, Region
from tosajit.operators import BITWISE_XOR, CAST, GREATER, IDENTITY, SUB
from tosajit.tracing.builder import GraphBuilder


def bytes_(*values: int) -> np.ndarray:
    """Make an INT8 tensor of rank one."""
    return np.array(values, np.int8)


def accumulator(initial: Any = (0, 0, 0), name: str = "state") -> Graph:
    """Read a variable, combine it with the input, write it back, and return it."""
    builder = GraphBuilder()
    x = builder.input("x", INT8, (3,))
    builder.variable(name, INT8, (3,), initial)
    mixed = builder.add(BITWISE_XOR(), [builder.read(name, INT8, (3,)), x])
    builder.write(name, mixed)
    builder.output(mixed)
    return builder.build()


def reader(
    name: str = "state", shape: tuple[int, ...] = (3,), declare: bool = False, dtype: Any = INT8
) -> Graph:
    """Return what a variable holds."""
    builder = GraphBuilder()
    if declare:
        builder.variable(name, dtype, shape)
    builder.output(builder.read(name, dtype, shape))
    return builder.build()


def writer(
    name: str = "state", shape: tuple[int, ...] = (3,), declare: bool = True, dtype: Any = INT8
) -> Graph:
    """Write the input to a variable, and return the input."""
    builder = GraphBuilder()
    x = builder.input("x", dtype, shape)
    if declare:
        builder.variable(name, dtype, shape)
    builder.write(name, x)
    builder.output(builder.add(IDENTITY(), [x]))
    return builder.build()


def both_fail(
    graph: Graph, *arrays: np.ndarray, before: tuple[Graph, tuple[np.ndarray, ...]] | None = None
) -> None:
    """Expect the oracle to call a run unpredictable, and the executable to refuse it, when built or when run.

    `before` is run first in the same context.
    """
    context, known = tj.Context(), oracle.Context()
    if before is not None:
        oracle.run_graph(before[0], before[1], known)
        tj.compile(before[0])(*before[1], context=context)
    with pytest.raises(oracle.Unpredictable):
        oracle.run_graph(graph, arrays, known)
    with pytest.raises(tj.TosaError, match="state"):
        tj.compile(graph)(*arrays, context=context)


# VARIABLE


def test_a_variable_starts_with_its_initial_value() -> None:
    assert_runs(accumulator((1, 2, 3)), bytes_(0, 0, 0))


def test_the_initial_value_is_used_only_once() -> None:
    graph, context, known = accumulator((1, 2, 3)), tj.Context(), oracle.Context()
    for x in (bytes_(4, 4, 4), bytes_(0, 0, 0), bytes_(8, 0, 1)):
        assert_runs(graph, x, context=context, known=known)


@pytest.mark.parametrize("graph", [accumulator((1, 2, 3)), tj.trace(lambda x: x ^ x, bytes_(1, 2, 3))])
def test_what_is_no_context_is_refused_whether_there_are_variables_or_not(graph: Graph) -> None:
    executable, given = tj.compile(graph), cast("tj.Context", {})
    (name,) = (value.name for value in graph.inputs)
    text = r"context is of type dict, but must be a tj\.Context: executable\.context\(\) makes one"
    calls = (
        lambda: executable(bytes_(1, 2, 3), context=given),
        lambda: executable(bytes_(1, 2, 3), context=given, out=bytes_(0, 0, 0)),
        lambda: executable.bind(bytes_(1, 2, 3), context=given),
        lambda: executable.run({name: bytes_(1, 2, 3)}, context=given),
    )
    for call in calls:
        with pytest.raises(tj.InputError, match=text):
            call()


def test_a_variable_without_initial_value_can_be_written_and_then_read() -> None:
    builder = GraphBuilder()
    x = builder.input("x", INT8, (2,))
    builder.variable("state", INT8, (2,))
    builder.write("state", x)
    builder.output(builder.read("state", INT8, (2,)))
    assert_runs(builder.build(), bytes_(5, -5))


def test_a_variable_may_have_rank_zero() -> None:
    builder = GraphBuilder()
    x = builder.input("x", INT8, ())
    builder.variable("state", INT8, (), 7)
    before = builder.read("state", INT8, ())
    builder.write("state", x)
    builder.output(before)
    graph, context, known = builder.build(), tj.Context(), oracle.Context()
    for value in (1, 2, 3):
        assert_runs(graph, np.array(value, np.int8), context=context, known=known)


def test_declaring_a_variable_twice_in_one_execution_fails() -> None:
    builder = GraphBuilder()
    builder.variable("state", INT8, (3,), (1, 2, 3))
    builder.variable("state", INT8, (3,), (4, 5, 6))
    builder.output(builder.read("state", INT8, (3,)))
    both_fail(builder.build())


def test_declaring_it_again_in_the_next_execution_keeps_its_value() -> None:
    graph, context, known = reader(declare=True), tj.Context(), oracle.Context()
    assert_runs(accumulator((1, 2, 3)), bytes_(1, 1, 1), context=context, known=known)
    (result,) = assert_runs(graph, context=context, known=known)
    assert result.tolist() == [0, 3, 2]


def test_a_later_declaration_with_another_shape_changes_nothing() -> None:
    """The text looks at shape and type only when a variable is first declared."""
    builder = GraphBuilder()
    builder.variable("state", INT8, (5,), (9,) * 5)
    builder.output(builder.read("state", INT8, (3,)))
    graph, context, known = builder.build(), tj.Context(), oracle.Context()
    assert_runs(accumulator((1, 2, 3)), bytes_(0, 0, 0), context=context, known=known)
    expected = oracle.run_graph(graph, [], known)
    try:
        executable = tj.compile(graph)
    except tj.GraphError:
        return  # seen alone, the graph reads a variable in a shape that it has not
    assert not difference(executable(context=context), expected[0])


def test_an_initial_value_of_another_shape_fails() -> None:
    graph = reader(declare=True)
    block = graph.main
    (node, *_) = block.nodes
    wrong = replace(block.values[node.outputs[0]], data=bytes_(1, 2))
    changed = replace(block, values={**block.values, node.outputs[0]: wrong})
    both_fail(Graph((Region("main", (changed,)),)))


# VARIABLE_WRITE


def test_a_write_is_seen_by_the_next_run() -> None:
    context, known = tj.Context(), oracle.Context()
    assert_runs(writer(), bytes_(7, 8, 9), context=context, known=known)
    assert assert_runs(reader(), context=context, known=known)[0].tolist() == [7, 8, 9]


def test_writing_an_unknown_variable_fails() -> None:
    both_fail(writer(declare=False), bytes_(1, 2, 3))


def test_writing_a_variable_that_this_execution_has_not_declared_fails() -> None:
    both_fail(writer(declare=False), bytes_(1, 2, 3), before=(accumulator(), (bytes_(1, 1, 1),)))


def test_writing_before_the_declaration_fails() -> None:
    builder = GraphBuilder()
    x = builder.input("x", INT8, (3,))
    builder.write("state", x)
    builder.variable("state", INT8, (3,), (0, 0, 0))
    builder.output(builder.read("state", INT8, (3,)))
    both_fail(builder.build(), bytes_(1, 2, 3))


@pytest.mark.parametrize("shape", [(2,), (4,), (1, 3), (3, 1), ()])
def test_writing_another_shape_fails(shape: tuple[int, ...]) -> None:
    value = np.zeros(shape, np.int8)
    both_fail(writer(shape=shape), value, before=(accumulator(), (bytes_(1, 1, 1),)))


def test_writing_another_shape_than_the_declared_one_fails() -> None:
    builder = GraphBuilder()
    x = builder.input("x", INT8, (2,))
    builder.variable("state", INT8, (3,), (0, 0, 0))
    builder.write("state", x)
    builder.output(builder.read("state", INT8, (3,)))
    both_fail(builder.build(), bytes_(1, 2))


def test_the_last_write_counts_and_reads_see_what_was_written_before_them() -> None:
    builder = GraphBuilder()
    x, y = builder.input("x", INT8, (2,)), builder.input("y", INT8, (2,))
    builder.variable("state", INT8, (2,), (0, 0))
    first = builder.read("state", INT8, (2,))
    builder.write("state", x)
    second = builder.read("state", INT8, (2,))
    builder.write("state", builder.add(BITWISE_XOR(), [second, y]))
    third = builder.read("state", INT8, (2,))
    builder.output(first, second, third)
    graph, context, known = builder.build(), tj.Context(), oracle.Context()
    for x_value, y_value in ((bytes_(1, 2), bytes_(3, 4)), (bytes_(5, 6), bytes_(7, 8))):
        assert_runs(graph, x_value, y_value, context=context, known=known)


def test_a_variable_keeps_a_copy() -> None:
    context, given = tj.Context(), bytes_(1, 2, 3)
    tj.compile(writer())(given, context=context)
    given[:] = 99
    read = tj.compile(reader())
    first = read(context=context)
    assert first.tolist() == [1, 2, 3]
    first[:] = 77
    assert read(context=context).tolist() == [1, 2, 3]
    context["state"][:] = 55
    assert read(context=context).tolist() == [1, 2, 3]


# VARIABLE_READ


def test_reading_an_unknown_variable_fails() -> None:
    both_fail(reader())


def test_reading_a_declared_variable_before_it_is_written_fails() -> None:
    both_fail(reader(declare=True))


def test_reading_needs_no_declaration_in_the_same_execution() -> None:
    context, known = tj.Context(), oracle.Context()
    assert_runs(accumulator((1, 2, 3)), bytes_(0, 0, 0), context=context, known=known)
    assert_runs(reader(), context=context, known=known)


@pytest.mark.parametrize("shape", [(2,), (4,), (1, 3), ()])
def test_reading_another_shape_fails(shape: tuple[int, ...]) -> None:
    both_fail(reader(shape=shape), before=(accumulator(), (bytes_(1, 1, 1),)))


def test_reading_another_shape_than_the_declared_one_fails() -> None:
    builder = GraphBuilder()
    builder.variable("state", INT8, (3,), (0, 0, 0))
    builder.output(builder.read("state", INT8, (2,)))
    both_fail(builder.build())


# Types


@pytest.mark.parametrize("dtype", [BOOL, INT16, INT32])
@pytest.mark.parametrize("graph_of", [reader, writer])
def test_integer_variables_are_int8(dtype: Any, graph_of: Any) -> None:
    """The enumeration of types has more members than the type table has rows."""
    assert {v.kind for v in validate(graph_of(declare=True, dtype=dtype))} & {"type", "profile"}


def test_variables_need_their_extension() -> None:
    assert not validate(accumulator(), extensions=["EXT-VARIABLE"])
    assert "profile" in {violation.kind for violation in validate(accumulator(), extensions=[])}


@pytest.mark.parametrize("rank", [6, 7])
def test_the_level_limits_the_rank(rank: int) -> None:
    graph = writer(shape=(1,) * rank)
    assert bool(validate(graph)) == (rank > 6)
    assert not validate(graph, level="none")


# Contexts


def test_contexts_do_not_see_each_other() -> None:
    graph = accumulator((0, 0, 0))
    executable = tj.compile(graph)
    contexts = [(executable.context(), oracle.Context()), (tj.Context(), oracle.Context())]
    for step in range(3):
        for number, (context, known) in enumerate(contexts):
            x = bytes_(step, number, 3 * step + number)
            assert_runs(graph, x, context=context, known=known, executable=executable)


def test_an_executable_has_a_context_of_its_own() -> None:
    graph, known = accumulator((1, 1, 1)), oracle.Context()
    executable, other = tj.compile(graph), tj.compile(graph)
    for x in (bytes_(1, 2, 4), bytes_(8, 16, 32)):
        assert_runs(graph, x, known=known, executable=executable)
    assert_runs(graph, bytes_(0, 0, 0), executable=other)
    assert_runs(graph, bytes_(0, 0, 0), context=tj.Context(), executable=executable)
    assert_runs(graph, bytes_(64, 0, 0), known=known, executable=executable)


def test_executables_share_variables_through_a_context() -> None:
    context, known = tj.Context(), oracle.Context()
    first, second = tj.compile(accumulator((1, 2, 3))), tj.compile(accumulator((9, 9, 9)))
    for executable in (first, second, first, second):
        assert_runs(executable.graph, bytes_(1, 2, 4), context=context, known=known, executable=executable)


def test_variables_have_their_own_names() -> None:
    builder = GraphBuilder()
    x = builder.input("x", INT8, (2,))
    for name in ("a", "b"):
        builder.variable(name, INT8, (2,), (0, 0))
    a, b = (builder.read(name, INT8, (2,)) for name in ("a", "b"))
    builder.write("a", builder.add(BITWISE_XOR(), [b, x]))
    builder.write("b", a)
    builder.output(a, b)
    graph, context, known = builder.build(), tj.Context(), oracle.Context()
    for step in range(4):
        assert_runs(graph, bytes_(step, 7 - step), context=context, known=known)


def test_runs_by_name_use_the_context_too() -> None:
    graph, context = accumulator((0, 0, 0)), tj.Context()
    executable = tj.compile(graph)
    executable.run({"x": bytes_(1, 2, 3)}, context=context)
    (result,) = executable.run({"x": bytes_(0, 0, 0)}, context=context).values()
    assert result.tolist() == [1, 2, 3]


# Control flow: the same context, the same variables


def test_branches_read_and_write_the_variables_of_the_graph() -> None:
    builder = GraphBuilder()
    condition, x = builder.input("condition", BOOL, (1,)), builder.input("x", INT8, (2,))
    builder.variable("state", INT8, (2,), (10, 20))

    def store(block: GraphBuilder, x: str) -> str:
        block.write("state", x)
        return x

    outputs = cond_if(builder, condition, [x], store, lambda block, x: block.read("state", INT8, (2,)))
    builder.output(*outputs, builder.read("state", INT8, (2,)))
    graph, context, known = builder.build(), tj.Context(), oracle.Context()
    for value, x_value in ((False, bytes_(1, 1)), (True, bytes_(3, 4)), (False, bytes_(0, 0))):
        assert_runs(graph, truth(value, 1), x_value, context=context, known=known)


def test_a_loop_updates_a_variable_in_every_round() -> None:
    builder = GraphBuilder()
    n, x = builder.input("n", INT32, (1,)), builder.input("x", INT8, (1,))
    builder.variable("state", INT8, (1,), (1,))

    def body(block: GraphBuilder, n: str, x: str) -> tuple[str, str]:
        state = block.read("state", INT8, (1,))
        block.write("state", block.add(BITWISE_XOR(), [state, block.add(CAST(), [n], dtype=INT8)]))
        return block.add(SUB(), [n, block.const(np.array([1], np.int32))]), state

    def more(block: GraphBuilder, n: str, x: str) -> str:
        return block.add(GREATER(), [n, block.const(np.array([0], np.int32))])

    builder.output(*while_loop(builder, [n, x], more, body), builder.read("state", INT8, (1,)))
    graph, context, known = builder.build(), tj.Context(), oracle.Context()
    for rounds in (3, 0, 5):
        assert_runs(graph, np.array([rounds], np.int32), bytes_(0), context=context, known=known)


def test_a_branch_may_declare_a_variable() -> None:
    builder = GraphBuilder()
    condition, x = builder.input("condition", BOOL, (1,)), builder.input("x", INT8, (2,))

    def declare(block: GraphBuilder, x: str) -> str:
        block.variable("state", INT8, (2,), (3, 3))
        before = block.read("state", INT8, (2,))
        block.write("state", x)
        return before

    builder.output(*cond_if(builder, condition, [x], declare, lambda block, x: x))
    graph, context, known = builder.build(), tj.Context(), oracle.Context()
    for value in (False, True, True, False):
        assert_runs(graph, truth(value, 1), bytes_(7, 8), context=context, known=known)


def test_a_body_may_declare_its_variable_in_every_round() -> None:
    """A sub-graph is a graph that is executed: "seen" is clear whenever it starts."""
    builder = GraphBuilder()
    n = builder.input("n", INT32, (1,))

    def body(block: GraphBuilder, n: str) -> str:
        block.variable("state", INT8, (1,), (0,))
        state = block.read("state", INT8, (1,))
        block.write("state", block.add(BITWISE_XOR(), [state, block.add(CAST(), [n], dtype=INT8)]))
        return block.add(SUB(), [n, block.const(np.array([1], np.int32))])

    def more(block: GraphBuilder, n: str) -> str:
        return block.add(GREATER(), [n, block.const(np.array([0], np.int32))])

    (rest,) = while_loop(builder, [n], more, body)
    builder.output(rest, builder.read("state", INT8, (1,)))
    assert_runs(builder.build(), np.array([4], np.int32))


# Files


def test_variables_survive_a_file() -> None:
    graph = from_bytes(to_bytes(accumulator((5, 6, 7))))
    context, known = tj.Context(), oracle.Context()
    for x in (bytes_(1, 2, 3), bytes_(0, 0, 0)):
        assert_runs(graph, x, context=context, known=known)


def test_what_is_put_into_a_variable_by_hand_fits_it() -> None:
    model, context = tj.compile(accumulator()), tj.Context()
    model(bytes_(0, 0, 0), context=context)
    state = context.variables["state"]
    for given, text in (
        (bytes_(1, 2), r"it is INT8\[3\], stored as int8, but is given int8\[2\]"),
        (np.zeros(3, np.int32), r"is given int32\[3\]"),
        ([1, 2, 3], "is given list"),
        (None, "is given NoneType"),
    ):
        with pytest.raises(tj.InputError, match=text):
            state.data = given
    state.data = np.arange(6, dtype=np.int8)[::2]
    assert model(bytes_(0, 0, 0), context=context).tolist() == [0, 2, 4]


def test_arrays_that_are_put_into_variables_by_hand_stay_as_they_are() -> None:
    model, context = tj.compile(accumulator()), tj.Context()
    model(bytes_(0, 0, 0), context=context)
    given = bytes_(5, 6, 7, 8)
    context.variables["state"].data = given[:3]
    for _ in range(3):
        model(bytes_(1, 1, 1), context=context)
    assert given.tolist() == [5, 6, 7, 8]
