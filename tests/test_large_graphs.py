"""Graphs of thousands of nodes, deep and wide: no limit of Python is met, and compiling takes linear time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import tosajit as tj
from tests import oracle
from tests.strategies import TARGETS, difference
from tosajit.operators import (
    ABS,
    ADD,
    BITWISE_OR,
    BITWISE_XOR,
    CLZ,
    CONCAT,
    CONV2D,
    IDENTITY,
    MAXIMUM,
    MUL,
    NEGATE,
    REDUCE_MAX,
    REDUCE_SUM,
    RESHAPE,
    REVERSE,
    SUB,
    TABLE,
    TRANSPOSE,
    AccType,
)

Step = Callable[[tj.GraphBuilder, str, int], str]
SHAPE = (2, 4)


def doubled(graph: tj.GraphBuilder, value: str, number: int) -> str:
    return graph.add(BITWISE_OR(), [value, value])


def absolute(graph: tj.GraphBuilder, value: str, number: int) -> str:
    return graph.add(CLZ() if number % 7 == 6 else ABS(), [value])


def shared(graph: tj.GraphBuilder, value: str, number: int) -> str:
    return graph.add(BITWISE_XOR(), [graph.add(BITWISE_OR(), [value, "x"]), value])


def added(graph: tj.GraphBuilder, value: str, number: int) -> str:
    return graph.add(ADD(), [value, graph.const(np.full(SHAPE, number, np.int32), tj.INT32)])


def mixed(graph: tj.GraphBuilder, value: str, number: int) -> str:
    shift = graph.const(np.zeros(1, np.int8), tj.INT8)
    return graph.add(MUL(), [graph.add(SUB(), [value, "x"]), graph.add(MAXIMUM(), [value, "x"]), shift])


def reversed_(graph: tj.GraphBuilder, value: str, number: int) -> str:
    return graph.add(REVERSE(axis=number % 2), [value])


def turned(graph: tj.GraphBuilder, value: str, number: int) -> str:
    flat = graph.add(RESHAPE(), [value, graph.shape([4, 2])])
    return graph.add(TRANSPOSE(perms=(1, 0)), [flat])


def reduced(graph: tj.GraphBuilder, value: str, number: int) -> str:
    return graph.add(SUB(), [graph.add(REDUCE_MAX(axis=1), [value]), value])


def looked_up(graph: tj.GraphBuilder, value: str, number: int) -> str:
    table = graph.const(np.roll(np.arange(-128, 128), number).astype(np.int8), tj.INT8)
    return graph.add(TABLE(), [value, table])


def negated(graph: tj.GraphBuilder, value: str, number: int) -> str:
    zeros = [graph.const(np.array([zero], np.int8), tj.INT8) for zero in (number % 9, 3)]
    return graph.add(NEGATE(), [value, *zeros])


STEPS: dict[Step, tj.DType] = {
    doubled: tj.INT32,
    absolute: tj.INT32,
    shared: tj.INT32,
    added: tj.INT32,
    mixed: tj.INT32,
    reversed_: tj.INT32,
    turned: tj.INT32,
    reduced: tj.INT32,
    looked_up: tj.INT8,
    negated: tj.INT8,
}


def chain(step: Step, length: int, dtype: tj.DType) -> tj.Graph:
    graph = tj.GraphBuilder()
    value = graph.input("x", dtype, SHAPE)
    for number in range(length):
        value = step(graph, value, number)
    graph.output(value)
    return graph.build()


def small(dtype: tj.DType = tj.INT32, shape: Sequence[int] = SHAPE) -> np.ndarray:
    return np.resize(np.arange(-3, 4), shape).astype(dtype.storage)


def check(graph: tj.Graph, *arrays: np.ndarray, level: str = "8K") -> None:
    expected = oracle.run_graph(graph, arrays)
    for name, target in TARGETS.items():
        outputs = tj.compile(graph, target=target, level=level)(*arrays)
        for array, wanted in zip(outputs if isinstance(outputs, tuple) else [outputs], expected, strict=True):
            fault = difference(array, wanted)
            assert not fault, f"{name}{fault}"


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_deep_chains_give_the_bits_of_the_oracle(step: Step) -> None:
    dtype = STEPS[step]
    check(chain(step, 300, dtype), small(dtype))


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_very_deep_chains_compile_in_a_minute(step: Step) -> None:
    dtype = STEPS[step]
    graph = chain(step, 10_000 if step in (absolute, doubled, added) else 4_000, dtype)
    x = small(dtype)
    start = time.process_time()
    result = tj.compile(graph)(x)
    assert time.process_time() - start < 60
    assert not difference(result, oracle.run_graph(graph, [x])[0])


def test_many_results_of_one_sum() -> None:
    graph = tj.GraphBuilder()
    value = graph.add(REDUCE_SUM(axis=1), [graph.input("x", tj.INT32, SHAPE)])
    results = [value]
    for _ in range(200):
        value = graph.add(ABS(), [graph.add(SUB(), [value, results[0]])])
        results.append(value)
    graph.output(*results)
    check(graph.build(), small())


def test_many_results_of_one_input_and_their_sum() -> None:
    graph = tj.GraphBuilder()
    x = graph.input("x", tj.INT32, SHAPE)
    results = [added(graph, x, number) for number in range(150)]
    total = results[0]
    for result in results[1:]:
        total = graph.add(ADD(), [total, result])
    graph.output(*results[:100], total)
    check(graph.build(), small())


def test_long_lists_of_tensors() -> None:
    graph = tj.GraphBuilder()
    x = graph.input("x", tj.INT32, SHAPE)
    graph.output(graph.add(CONCAT(axis=1), [added(graph, x, number) for number in range(64)]))
    check(graph.build(), small())


@pytest.mark.parametrize("rank", [6, 12])
def test_chains_of_operands_that_are_repeated_along_different_axes(rank: int) -> None:
    graph = tj.GraphBuilder()
    shape = (2,) * rank
    value = graph.input("x", tj.INT32, shape)
    for number in range(60):
        mask = (number * 0x9E37) >> 3
        other = tuple(2 if mask >> axis & 1 else 1 for axis in range(rank))
        value = graph.add(ADD(), [value, graph.const(small(shape=other) + number, tj.INT32)])
    graph.output(value)
    check(graph.build(), small(shape=shape), level="8K" if rank == 6 else "none")


def test_a_long_chain_behind_a_convolution() -> None:
    graph = tj.GraphBuilder()
    x = graph.input("x", tj.INT8, (1, 4, 4, 3))
    weight = graph.const(small(tj.INT8, (5, 2, 2, 3)), tj.INT8)
    bias = graph.const(small(tj.INT32, (5,)), tj.INT32)
    zeros = [graph.const(np.zeros(1, np.int8), tj.INT8) for _ in range(2)]
    operator = CONV2D(pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32)
    value = first = graph.add(operator, [x, weight, bias, *zeros])
    for _ in range(150):
        value = graph.add(BITWISE_XOR(), [graph.add(BITWISE_OR(), [value, value]), first])
    graph.output(value, graph.add(IDENTITY(), [value]))
    check(graph.build(), small(tj.INT8, (1, 4, 4, 3)))
