"""Graphs that keep their state in variables are one program, with the bits of the interpretation."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import tosajit as tj
from tests.building import cond_if, truth
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, FP32, INT8
from tosajit.graph import Graph
from tosajit.operators import ADD, BITWISE_XOR, CONCAT, IDENTITY, MATMUL, MUL, SIGMOID, SLICE, SUB, TANH
from tosajit.tracing.builder import GraphBuilder


def counter() -> Graph:
    """The calls so far, as an output and a variable at the same time, and the input in another."""
    builder = GraphBuilder()
    x = builder.input("x", INT8, (3,))
    builder.variable("calls", INT8, (3,), (0, 0, 0))
    builder.variable("last", INT8, (3,), (9, 9, 9))
    before = builder.read("last", INT8, (3,))
    one = builder.const(np.ones(3, np.int8), INT8)
    calls = builder.add(BITWISE_XOR(), [builder.read("calls", INT8, (3,)), one])
    builder.write("calls", calls)
    builder.write("last", x)
    builder.output(calls, before, builder.read("last", INT8, (3,)), x)
    return builder.build()


def ring() -> Graph:
    """A convolution along time, whose last rows a variable keeps."""
    builder, rows = GraphBuilder(), 4
    x = builder.input("x", FP32, (1, 1, 6))
    builder.variable("rows", FP32, (1, rows, 6), np.zeros((1, rows, 6), np.float32))
    whole = builder.add(CONCAT(axis=1), [builder.read("rows", FP32, (1, rows, 6)), x])
    start, size = (builder.shape(one) for one in ((0, 1, 0), (1, rows, 6)))
    builder.write("rows", builder.add(SLICE(), [whole, start, size]))
    weights = np.random.default_rng(1).standard_normal((1, 6, 5)).astype(np.float32)
    builder.output(_product(builder, whole, weights))
    return builder.build()


def _product(builder: GraphBuilder, x: str, weights: Array) -> str:
    zero = builder.const(np.zeros(1, np.float32), FP32)
    return builder.add(MATMUL(), [x, builder.const(weights, FP32), zero, zero])


def gru() -> Graph:
    """A step of a recurrent cell, whose state is a variable."""
    builder, numbers = GraphBuilder(), np.random.default_rng(2)
    shape = (1, 1, 8)
    x = builder.input("x", FP32, shape)
    builder.variable("h", FP32, shape, np.zeros(shape, np.float32))
    h = builder.read("h", FP32, shape)
    shift = builder.const(np.zeros(1, np.int8), INT8)

    def mixed(a: str, b: str) -> str:
        weights = numbers.standard_normal((2, 1, 8, 8)).astype(np.float32)
        return builder.add(ADD(), [_product(builder, a, weights[0]), _product(builder, b, weights[1])])

    update = builder.add(SIGMOID(), [mixed(x, h)])
    reset = builder.add(SIGMOID(), [mixed(x, h)])
    new = builder.add(TANH(), [mixed(x, builder.add(MUL(), [reset, h, shift]))])
    step = builder.add(MUL(), [update, builder.add(SUB(), [h, new]), shift])
    builder.write("h", builder.add(ADD(), [new, step]))
    builder.output(builder.read("h", FP32, shape))
    return builder.build()


GRAPHS = {"counter": counter, "ring": ring, "gru": gru}


def drawn(graph: Graph, seed: int) -> list[Array]:
    numbers, values = np.random.default_rng(seed), [graph.main.values[name] for name in graph.main.inputs]
    return [numbers.integers(-9, 9, one.shape).astype(one.dtype.storage) for one in values]


def results(given: Array | tuple[Array, ...]) -> list[Array]:
    return list(given) if isinstance(given, tuple) else [given]


def same(found: list[Array], expected: list[Array]) -> None:
    for one, other in zip(found, expected, strict=True):
        if one.dtype == np.float32:
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_with_variables_is_one_program_that_does_what_its_operators_say(name: str) -> None:
    graph = GRAPHS[name]()
    made, reference = tj.compile(graph), tj.compile(graph, interpret=True)
    assert len(made.programs) == 1
    bound = made.bind(*drawn(graph, 0))
    for step in range(9):
        inputs = drawn(graph, step)
        expected = results(reference(*inputs))
        if step % 3 == 0:
            found = results(made(*inputs))
        elif step % 3 == 1:
            found = [np.empty_like(one) for one in expected]
            made(*inputs, out=found)
        else:
            for place, array in zip(bound.inputs, inputs, strict=True):
                place[...] = array
            found = results(bound())
        same(found, expected)
    for one in made.own_context.variables:
        same([made.own_context[one]], [reference.own_context[one]])


@pytest.mark.parametrize("name", GRAPHS)
def test_a_saved_executable_keeps_its_variables_from_call_to_call(name: str, tmp_path: Path) -> None:
    graph = GRAPHS[name]()
    made = tj.compile(graph)
    made.save(tmp_path / "made")
    loaded = tj.load_executable(tmp_path / "made")
    for step in range(3):
        inputs = drawn(graph, step)
        same(results(loaded(*inputs)), results(made(*inputs)))


def test_results_and_inputs_share_no_memory_with_variables() -> None:
    made, x = tj.compile(counter()), np.array([1, 2, 3], np.int8)
    for array in (x, *results(made(x))):
        array[...] = 77
    assert made.own_context["calls"].tolist() == [1, 1, 1]
    assert made.own_context["last"].tolist() == [1, 2, 3]


def test_each_context_has_a_state_of_its_own() -> None:
    made, x = tj.compile(counter()), np.zeros(3, np.int8)
    first, second = made.context(), made.context()
    calls = [int(made(x, context=one)[0][0]) for one in (first, first, second, first)]
    assert calls == [1, 0, 1, 1]
    assert not made.own_context.variables


def test_a_profile_says_how_long_groups_take_and_leaves_variables_alone() -> None:
    made, inputs = tj.compile(ring()), drawn(ring(), 1)
    made.wait()
    made(*inputs)
    before = made.own_context["rows"]
    assert "CONCAT" in str(made.profile(*inputs, runs=2))
    np.testing.assert_array_equal(made.own_context["rows"], before)


def test_threads_see_whole_variables() -> None:
    """Which of two calls at once writes last is open, but never parts of both."""
    made = tj.compile(counter())

    def call(value: int) -> None:
        for _ in range(50):
            assert len({*made(np.full(3, value, np.int8))[1].tolist()}) == 1

    threads = [Thread(target=call, args=(value,)) for value in (1, 2, 3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert set(made.own_context["last"].tolist()) in ({1}, {2}, {3})


def test_regions_see_what_was_written_before_them_and_write_for_what_follows() -> None:
    builder = GraphBuilder()
    condition, x = builder.input("condition", BOOL, (1,)), builder.input("x", INT8, (3,))
    builder.variable("state", INT8, (3,), (1, 1, 1))
    before = builder.read("state", INT8, (3,))
    builder.write("state", builder.add(BITWISE_XOR(), [before, x]))

    def doubled(block: GraphBuilder, x: str) -> str:
        found = block.read("state", INT8, (3,))
        block.write("state", x)
        return found

    outputs = cond_if(builder, condition, [x], doubled, lambda block, x: block.add(IDENTITY(), [x]))
    builder.output(before, *outputs, builder.read("state", INT8, (3,)))
    graph = builder.build()
    made, reference = tj.compile(graph), tj.compile(graph, interpret=True)
    for step in range(4):
        inputs = [truth(step % 2 == 0, 1), *drawn(graph, step)[1:]]
        same(results(made(*inputs)), results(reference(*inputs)))


def test_arrays_that_variables_have_held_are_used_again_unless_somebody_has_them() -> None:
    made, x = tj.compile(counter()), np.zeros(3, np.int8)
    variables = made.own_context.variables
    made(x)
    kept = variables["calls"].data
    assert kept is not None
    before = kept.copy()
    for _ in range(4):
        made(x)
    np.testing.assert_array_equal(kept, before)
    made(x)
    places = set()
    for _ in range(6):
        made(x)
        data = variables["calls"].data
        assert data is not None
        places.add(data.ctypes.data)
        del data
    assert len(places) <= 3


def test_bound_calls_take_turns_between_two_arrays_and_leave_those_alone_that_somebody_has() -> None:
    made, x = tj.compile(ring()), np.zeros((1, 1, 6), np.float32)
    made.wait()
    bound = made.bind(x)
    places = set()
    for number in range(1, 10):
        x[...] = number
        bound()
        rows = held(made, "rows")
        assert rows[0, -1].tolist() == [number] * 6
        places.add(rows.ctypes.data)
        del rows
    assert len(places) <= 3
    for kept in (held(made, "rows"), held(made, "rows")[0, 1:]):
        before = kept.copy()
        for _ in range(5):
            x += 1
            bound()
        np.testing.assert_array_equal(kept, before)


def test_nothing_is_lost_when_variables_are_read_between_bound_calls_and_during_them() -> None:
    builder = GraphBuilder()
    builder.variable("calls", FP32, (3,), (0, 0, 0))
    builder.variable("steps", FP32, (1,), (1,))
    step = builder.read("steps", FP32, (1,))
    calls = builder.add(ADD(), [builder.read("calls", FP32, (3,)), step])
    builder.write("calls", calls)
    builder.output(calls)
    made = tj.compile(builder.build(), generic="never")
    bound, done = made.bind(), False
    seen: list[int] = []

    def watch() -> None:
        while not done:
            seen.append(int(made.own_context["calls"][0]))

    watcher = Thread(target=watch)
    bound()
    watcher.start()
    for _ in range(20000):
        bound()
    done = True
    watcher.join()
    assert made.own_context["calls"].tolist() == [20001] * 3
    assert seen == sorted(seen)
    made.own_context.variables["steps"].data = np.full(1, 5, np.float32)
    for _ in range(3):
        bound()
    assert made.own_context["calls"].tolist() == [20016] * 3
    assert bound.outputs[0].tolist() == [20016] * 3


def held(made: tj.Executable, name: str) -> Array:
    """What a variable holds, not copied."""
    data = made.own_context.variables[name].data
    assert data is not None
    return data


def test_a_variable_lies_in_the_tensor_that_it_is_a_slice_of() -> None:
    made, x = tj.compile(ring()), np.ones((1, 1, 6), np.float32)
    assert not any("SLICE" in str(section.nest.members) for section in made.program.sections)
    for _ in range(5):
        made(x)
    np.testing.assert_array_equal(made.own_context["rows"], np.ones((1, 4, 6), np.float32))
