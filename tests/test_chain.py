"""Programs and counted loops that one compiled call runs, on one thread or several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import single
from tests.test_rounds import ROWS, WHOLE, WIDTH, X, by_rows, one, running
from tosajit import ops
from tosajit.frontends.common import steps
from tosajit.frontends.formats import load_bytes
from tosajit.graph import Graph
from tosajit.runtime.chain import Together

STEPS, BATCH, HIDDEN = 70, 24, 64
TOTAL = np.ones((1, 1, WIDTH), np.int32)
GIVEN = X, WHOLE, TOTAL


def lstm() -> tuple[bytes, np.ndarray]:
    """A layer whose products are worth two threads, and its input."""
    rng = np.random.default_rng(3)
    shapes = {"_w": (1, 4 * HIDDEN, 8), "_r": (1, 4 * HIDDEN, HIDDEN), "_b": (1, 8 * HIDDEN)}
    given = {name: rng.uniform(-0.3, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    x = rng.uniform(-1, 1, (STEPS, BATCH, 8)).astype(np.float32)
    return single("LSTM", {"x": x, **given}, 3, 18, hidden_size=HIDDEN), x


def assert_same(found: Any, wanted: Any) -> None:
    for left, right in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(left.view(np.uint8), right.view(np.uint8))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_network_with_a_loop_is_one_call_on_any_threads(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, x = lstm()
    executable = tj.compile(load_bytes(model, constants={}), threads=threads)
    monkeypatch.setattr(steps, "WRITTEN", 1 << 20)
    wanted = tj.compile(load_bytes(model, constants={}))(x)
    assert executable.body.chain is not None
    assert any(link.program.threads == threads for link in executable.body.chain._memory().links)
    for _ in range(5):
        assert_same(executable(x), wanted)


def with_all_results() -> Graph:
    """A loop from whose results all are read: its number, what stays, rows and a sum."""

    def rounds(x: Any, whole: Any, total: Any) -> Any:
        def body(number: Any, x: Any, whole: Any, total: Any) -> Any:
            at = ops.reshape(number, (1, 1))
            total = ops.add(total, ops.gather(x, at))
            return ops.add(number, one(1)), x, ops.scatter(whole, at, total), total

        number = ops.const(one(1))
        twice = ops.add(x, x)
        found = ops.while_loop(
            lambda n, *_: ops.greater(ops.const(one(5)), n), body, number, twice, whole, total
        )
        return *found, ops.add(found[2], twice)

    return tj.trace(rounds, *GIVEN)


def test_all_that_a_loop_gives_may_be_results() -> None:
    graph = with_all_results()
    executable = tj.compile(graph)
    assert executable.body.chain is not None
    assert_same(executable(*GIVEN), tj.compile(graph, interpret=True)(*GIVEN))


def test_the_arena_has_what_a_chain_makes_between_its_steps() -> None:
    executable = tj.compile(with_all_results())
    row = TOTAL.nbytes
    """Rounds have one row that they take, one that they make, and sums of even and of odd rounds."""
    assert executable.arena_bytes == X.nbytes + 4 * row


def test_calls_give_arrays_of_their_own_and_leave_inputs_alone() -> None:
    executable, arrays = tj.compile(with_all_results()), [array.copy() for array in GIVEN]
    first = executable(*arrays)
    kept = [array.copy() for array in first]
    executable(*(array + 1 for array in arrays))
    assert_same(first, kept)
    assert_same(arrays, GIVEN)


def test_bound_arrays_and_given_results_have_what_calls_give() -> None:
    executable, arrays = tj.compile(with_all_results()), [array.copy() for array in GIVEN]
    bound, into = executable.bind(*arrays), [np.zeros_like(array) for array in executable(*arrays)]
    for amount in (0, 1, 5):
        arrays[0][...] = X + amount
        wanted = executable(*arrays)
        assert_same(bound(), wanted)
        executable(*arrays, out=into)
        assert_same(into, wanted)


def test_steps_beside_others_are_chains_of_their_own() -> None:
    def network(x: Any, whole: Any, total: Any, flag: Any) -> Any:
        def body(number: Any, whole: Any, total: Any) -> Any:
            return ops.add(number, one(1)), *running(x, ops.reshape(number, (1, 1)), whole, total)

        def goes_on(number: Any, *_: Any) -> Any:
            return ops.greater(ops.const(one(ROWS)), number)

        _, rows, last = ops.while_loop(goes_on, body, ops.const(one(0)), ops.add(whole, whole), total)
        (chosen,) = ops.cond_if(flag, lambda a: (ops.add(a, a),), lambda a: (ops.sub(a, TOTAL),), last)
        return rows, chosen

    flag = np.array([True])
    graph = tj.trace(network, *GIVEN, flag)
    executable = tj.compile(graph)
    assert executable.body.chain is None
    assert any(isinstance(step, Together) for step in executable.body._joined)
    assert_same(executable(*GIVEN, flag), tj.compile(graph, interpret=True)(*GIVEN, flag))


def test_a_chain_takes_the_programs_that_its_runners_have() -> None:
    graph = by_rows(running)
    executable = tj.compile(graph, generic="always")
    other = tj.compile(graph, generic="never")
    arrays = [array.copy() for array in GIVEN]
    wanted = executable(*arrays)
    chain, better_chain = executable.body.chain, other.body.chain
    assert chain is not None
    assert better_chain is not None
    for part, better in zip(chain.parts, better_chain.parts, strict=True):
        part.runner.replace(better.runner.program)
    assert_same(executable(*arrays), wanted)
    (memory,) = chain._free
    assert memory.links[0].program is better_chain.parts[0].runner.program


def test_what_no_round_needs_of_an_operand_is_not_computed() -> None:
    def network(x: Any, whole: Any, total: Any) -> Any:
        def body(number: Any, whole: Any, total: Any) -> Any:
            return ops.add(number, one(1)), *running(x, ops.reshape(number, (1, 1)), whole, total)

        def goes_on(number: Any, *_: Any) -> Any:
            return ops.greater(ops.const(one(ROWS)), number)

        return ops.while_loop(goes_on, body, ops.const(one(0)), ops.add(whole, whole), total)[1]

    graph = tj.trace(network, *GIVEN)
    executable = tj.compile(graph)
    assert executable.body.runners == []
    assert_same([executable(*GIVEN)], [tj.compile(graph, interpret=True)(*GIVEN)])
