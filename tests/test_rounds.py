"""Loops whose rounds are counted: how many there are, and which rows they take and make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tosajit as tj
from tests.building import assert_runs
from tosajit import ops
from tosajit.compiler.rounds import Count, counted
from tosajit.graph import Graph
from tosajit.runtime.body import Loop
from tosajit.runtime.scan import Scan

ROWS, WIDTH = 6, 3
X = np.arange(ROWS * WIDTH, dtype=np.int32).reshape(1, ROWS, WIDTH)
WHOLE = np.full((1, ROWS, WIDTH), -7, np.int32)


def one(value: int) -> np.ndarray:
    return np.array([value], np.int32)


def counting(first: int, limit: int, step: int, kind: str) -> Graph:
    """A loop that adds up its numbers."""

    def goes_on(number: Any, total: Any) -> Any:
        match kind:
            case ">":
                return (
                    ops.greater(ops.const(one(limit)), number)
                    if step > 0
                    else ops.greater(number, one(limit))
                )
            case ">=":
                bound = ops.const(one(limit))
                return ops.greater_equal(bound, number) if step > 0 else ops.greater_equal(number, one(limit))
        raise AssertionError(kind)

    def turn(number: Any, total: Any) -> tuple[Any, Any]:
        return ops.sub(number, one(-step)) if step % 2 else ops.add(one(step), number), ops.add(total, number)

    return tj.trace(lambda total: ops.while_loop(goes_on, turn, ops.const(one(first)), total), one(0))


@settings(deadline=None, max_examples=40)
@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-4, 4).filter(bool), st.sampled_from((">", ">=")))
def test_rounds_are_counted(first: int, limit: int, step: int, kind: str) -> None:
    (count,) = counted(counting(first, limit, step, kind)).values()
    end = limit + (step > 0) - (step < 0) if kind == ">=" else limit
    assert count == Count(0, first, step, len(range(first, end, step)))


@pytest.mark.parametrize("kind", [">", ">="])
@pytest.mark.parametrize(("first", "limit", "step"), [(0, 5, 2), (3, -4, -1), (4, 4, 1), (9, 0, 3)])
def test_what_counts_gives_what_the_loop_gives(first: int, limit: int, step: int, kind: str) -> None:
    assert_runs(counting(first, limit, step, kind), one(100))


def test_numbers_that_leave_their_type_are_not_counted() -> None:
    assert not counted(counting(0, (1 << 31) - 1, 3, ">"))


def test_a_limit_that_data_say_is_not_counted() -> None:
    def loop(limit: Any) -> Any:
        return ops.while_loop(
            lambda number: ops.greater(limit, number),
            lambda number: ops.add(number, one(1)),
            ops.const(one(0)),
        )

    assert not counted(tj.trace(loop, one(3)))


def by_rows(turn: Callable[..., Any], first: int = 0, end: int = ROWS, step: int = 1) -> Graph:
    """A loop over rows of `x`, which `turn` makes rows of `whole` and a sum of."""

    def goes_on(number: Any, *_: Any) -> Any:
        return ops.greater(ops.const(one(end)), number) if step > 0 else ops.greater(number, one(end))

    def rounds(x: Any, whole: Any, total: Any) -> Any:
        def body(number: Any, whole: Any, total: Any) -> Any:
            at = ops.reshape(number, (1, 1))
            return ops.add(number, one(step)), *turn(x, at, whole, total)

        return ops.while_loop(goes_on, body, ops.const(one(first)), whole, total)

    return tj.trace(rounds, X, WHOLE, np.zeros((1, 1, WIDTH), np.int32))


def running(x: Any, at: Any, whole: Any, total: Any) -> Any:
    """The sums of rows as far as each."""
    total = ops.add(total, ops.gather(x, at))
    return ops.scatter(whole, at, total), total


def scan_of(graph: Graph) -> Scan:
    (scan,) = (step for step in tj.compile(graph).body.steps if isinstance(step, Scan))
    return scan


def checked(graph: Graph) -> None:
    assert_runs(graph, X, WHOLE, np.ones((1, 1, WIDTH), np.int32))


@pytest.mark.parametrize(("first", "end", "step"), [(0, ROWS, 1), (ROWS - 1, -1, -1), (1, 5, 2), (5, 0, -3)])
def test_rounds_take_and_make_rows(first: int, end: int, step: int) -> None:
    graph = by_rows(running, first, end, step)
    scan = scan_of(graph)
    assert (scan.taken, scan.made, scan.fixed) == (((3, ROWS),), ((1, ROWS),), ())
    assert scan.states == (2,)
    checked(graph)


def test_rows_beyond_a_tensor_are_left_to_the_loop() -> None:
    scan = scan_of(by_rows(running, 0, ROWS + 1))
    assert (scan.taken, scan.made) == ((), ())


def test_what_else_looks_at_a_tensor_gets_all_of_it() -> None:
    def turn(x: Any, at: Any, whole: Any, total: Any) -> Any:
        most = ops.reduce_max(whole, axis=1)
        total = ops.add(total, ops.add(most, ops.reduce_max(ops.add(x, ops.gather(x, at)), axis=1)))
        return ops.scatter(whole, at, total), total

    graph = by_rows(turn)
    scan = scan_of(graph)
    assert (len(scan.taken), scan.made, scan.fixed) == (1, (), (3,))
    checked(graph)


def test_the_number_of_a_round_may_be_looked_at() -> None:
    def turn(x: Any, at: Any, whole: Any, total: Any) -> Any:
        row = ops.mul(ops.gather(x, at), ops.reshape(at, (1, 1, 1)), np.zeros(1, np.int8))
        return ops.scatter(whole, at, row), ops.add(total, row)

    graph = by_rows(turn)
    assert 0 in scan_of(graph).states
    checked(graph)


def test_rows_may_be_passed_on_as_they_are() -> None:
    graph = by_rows(lambda x, at, whole, total: (ops.scatter(whole, at, ops.gather(x, at)), total))
    assert len(scan_of(graph).made) == 1
    checked(graph)


def test_rows_that_another_order_has_are_not_taken() -> None:
    def turn(x: Any, at: Any, whole: Any, total: Any) -> Any:
        other = ops.sub(ops.const(np.array([[ROWS - 1]], np.int32)), at)
        total = ops.add(total, ops.gather(x, other))
        return ops.scatter(whole, at, total), total

    graph = by_rows(turn)
    assert scan_of(graph).taken == ()
    checked(graph)


def test_a_scratchpad_has_the_rows_as_well() -> None:
    graph = by_rows(running)
    arrays = X, WHOLE, np.ones((1, 1, WIDTH), np.int32)
    for one_, other in zip(
        tj.compile(graph, machine="tiny")(*arrays), tj.compile(graph)(*arrays), strict=True
    ):
        np.testing.assert_array_equal(one_, other)


def test_checked_programs_keep_the_loop() -> None:
    steps = tj.compile(by_rows(running), checked=True).body.steps
    assert any(isinstance(step, Loop) for step in steps)


@pytest.mark.parametrize("mode", ["events", "analytic"])
def test_known_rounds_are_timed_whatever_is_assumed(mode: Any) -> None:
    cycles = [tj.simulate(by_rows(running, 0, n), "tiny", mode=mode, loop_trips=9).cycles for n in (2, 4, 6)]
    assert cycles[2] - cycles[1] == cycles[1] - cycles[0] > 0
