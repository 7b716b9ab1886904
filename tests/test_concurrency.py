"""Executables, contexts and the compiler are used by several Python threads, and after a fork."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tests import oracle
from tests.building import while_loop
from tests.strategies import TARGETS, difference
from tosajit import ops
from tosajit.operators import (
    ADD,
    CONV2D,
    CUSTOM,
    GREATER,
    IDENTITY,
    MATMUL,
    REDUCE_SUM,
    REVERSE,
    SUB,
    AccType,
)


def network(shape: tuple[int, ...] = (1, 9, 9, 8)) -> tj.Graph:
    """A convolution, work on its result, a reduction, and a matrix product of two results."""
    graph, random = tj.GraphBuilder(), np.random.default_rng(2)
    x = graph.input("x", tj.INT8, shape)
    weight = graph.const(random.integers(-128, 128, (16, 3, 3, shape[-1])).astype(np.int8), tj.INT8)
    bias = graph.const(random.integers(-1000, 1000, 16).astype(np.int32), tj.INT32)
    zeros = [graph.const(np.array([zero], np.int8), tj.INT8) for zero in (5, 0)]
    operator = CONV2D(pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32)
    sums = graph.add(operator, [x, weight, bias, *zeros])
    total = graph.add(REDUCE_SUM(axis=3), [sums])
    a = graph.input("a", tj.INT8, (3, 20, 30))
    b = graph.add(REVERSE(axis=1), [graph.input("b", tj.INT8, (3, 30, 40))])
    graph.output(graph.add(ADD(), [sums, total]), graph.add(MATMUL(), [a, b, *zeros]))
    return graph.build()


def drawn(graph: tj.Graph, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.integers(-128, 128, value.shape).astype(value.dtype.storage) for value in graph.inputs]


def same(outputs: tuple[np.ndarray, ...], expected: list[np.ndarray]) -> None:
    for array, wanted in zip(outputs, expected, strict=True):
        fault = difference(array, wanted)
        assert not fault, fault


def at_once(count: int, work: Callable[[int], None]) -> None:
    """Run `work` on so many threads that start together; raise what they raise."""
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait()
        work(number)

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(run, number) for number in range(count)]:
            future.result(timeout=120)


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("target", TARGETS)
def test_threads_share_tiles_and_give_the_same_bits(target: str, threads: int) -> None:
    graph = network()
    executable = tj.compile(graph, target=TARGETS[target], threads=threads)
    for seed in range(5):
        arrays = drawn(graph, seed)
        same(executable(*arrays), oracle.run_graph(graph, arrays))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_more_threads_than_there_is_work(threads: int) -> None:
    graph = tj.GraphBuilder()
    graph.output(graph.add(ADD(), [graph.input("x", tj.INT32, (1,)), graph.input("y", tj.INT32, (1,))]))
    executable = tj.compile(graph.build(), threads=threads)
    for number in range(200):
        assert executable(np.array([number], np.int32), np.array([1], np.int32)) == number + 1


@pytest.mark.parametrize("threads", [1, 2])
def test_several_threads_call_one_executable(threads: int) -> None:
    graph = network()
    executable = tj.compile(graph, threads=threads)
    cases = [drawn(graph, seed) for seed in range(4)]
    expected = [oracle.run_graph(graph, arrays) for arrays in cases]

    def call(number: int) -> None:
        for turn in range(25):
            case = (number + turn) % len(cases)
            same(executable(*cases[case]), expected[case])

    at_once(6, call)


def test_several_threads_compile_and_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOSAJIT_CACHE", str(tmp_path))
    graph = network((1, 5, 5, 3))
    arrays = drawn(graph, 0)
    expected = oracle.run_graph(graph, arrays)

    def compile_and_run(number: int) -> None:
        target = TARGETS["tiny"] if number % 2 else None
        same(tj.compile(graph, target=target)(*arrays), expected)

    at_once(4, compile_and_run)


def test_several_threads_trace_one_function() -> None:
    @tj.jit
    def doubled(x: np.ndarray) -> np.ndarray:
        return ops.add(x, x)

    def call(number: int) -> None:
        for size in range(1, 6):
            x = np.full((size,), number, np.int32)
            assert np.array_equal(doubled(x), 2 * x)

    at_once(4, call)


# Variables.


def counter() -> tj.Graph:
    """A variable that grows by the input; gives its new value."""
    graph = tj.GraphBuilder()
    graph.variable("state", tj.INT8, (1,), np.zeros(1, np.int8))
    state = graph.read("state", tj.INT8, (1,))
    zero = graph.const(np.zeros(1, np.int8), tj.INT8)
    wide = [graph.add(IDENTITY(), [value]) for value in (state, graph.input("x", tj.INT8, (1,)))]
    total = graph.add(tj.OPERATORS["BITWISE_XOR"](), wide)
    graph.write("state", total)
    graph.output(graph.add(tj.OPERATORS["BITWISE_OR"](), [total, zero]))
    return graph.build()


def test_threads_with_contexts_of_their_own_do_not_meet() -> None:
    executable = tj.compile(counter())

    def call(number: int) -> None:
        context, state = executable.context(), 0
        for turn in range(100):
            value = (7 * turn + number) % 100
            state ^= value
            assert executable(np.array([value], np.int8), context=context) == state

    at_once(5, call)


def test_threads_in_one_context_see_its_variables_declared() -> None:
    """Each execution declares its variables for itself: none takes the declarations of another away."""
    executable = tj.compile(counter())
    context = executable.context()

    def call(number: int) -> None:
        for _ in range(200):
            executable(np.array([number], np.int8), context=context)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        at_once(5, call)
    finally:
        sys.setswitchinterval(before)
    assert 0 <= int(context["state"][0]) < 8


def test_an_execution_within_another_leaves_its_declarations() -> None:
    graph = tj.GraphBuilder()
    graph.variable("state", tj.INT8, (1,), np.zeros(1, np.int8))
    x = graph.input("x", tj.INT8, (1,))
    called = CUSTOM(operator_name="call", domain_name="test", implementation_attrs=b"")
    (result,) = graph.add_all(called, [x], [(tj.INT8, (1,))])
    graph.write("state", result)
    graph.output(result)
    inner = tj.compile(counter())
    context = inner.context()

    def call(array: np.ndarray) -> np.ndarray:
        result: np.ndarray = inner(array, context=context)
        return result

    outer = tj.compile(graph.build(), custom={("test", "call"): tj.Custom(call)})
    assert outer(np.array([5], np.int8), context=context) == 5
    assert context["state"] == 5


# Control flow.


def test_threads_run_loops_at_the_same_time() -> None:
    graph = tj.GraphBuilder()
    start = graph.input("start", tj.INT32, (1,))

    def positive(region: tj.GraphBuilder, value: str) -> str:
        return region.add(GREATER(), [value, region.const(np.zeros(1, np.int32), tj.INT32)])

    def less(region: tj.GraphBuilder, value: str) -> str:
        return region.add(SUB(), [value, region.const(np.ones(1, np.int32), tj.INT32)])

    graph.output(*while_loop(graph, [start], positive, less))
    executable = tj.compile(graph.build())

    def call(number: int) -> None:
        for turn in range(20):
            assert executable(np.array([10 * number + turn], np.int32)) == 0

    at_once(4, call)


# Forks.


def _child(executable: tj.Executable, arrays: list[np.ndarray], expected: list[np.ndarray]) -> None:
    same(executable(*arrays), expected)
    again = tj.compile(executable.graph, threads=2)
    same(again(*arrays), expected)
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_forked_process_goes_on_with_an_executable(threads: int) -> None:
    graph = network()
    arrays = drawn(graph, 1)
    expected = oracle.run_graph(graph, arrays)
    executable = tj.compile(graph, threads=threads)
    same(executable(*arrays), expected)
    child = multiprocessing.get_context("fork").Process(target=_child, args=(executable, arrays, expected))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    same(executable(*arrays), expected)
