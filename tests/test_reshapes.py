"""Reshapes that models do not need cancel, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.frontends.frame.reshapes import merged
from tosajit.frontends.frame.tidy import tidied
from tosajit.operators import IDENTITY, RESHAPE, SUB, TANH, TRANSPOSE

X = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
PIXELS, ROWS = (6, 1, 1, 4), (6, 4)
LINE = np.arange(4, dtype=np.float32)


def inside(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Work on rows between two reshapes to pixels."""
    return lambda x: ops.exp(ops.reshape(work(ops.reshape(ops.floor(x), ROWS)), PIXELS))


WORKS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "function": (ops.tanh, 0),
    "number": (lambda x: ops.mul(x, np.full((1, 1), 0.5, np.float32)), 0),
    "line": (lambda x: ops.add(x, LINE.reshape(1, 4)), 0),
    "whole": (lambda x: ops.add(x, X), 0),
    "column": (lambda x: ops.add(x, X[:, :1]), 0),
    "part": (lambda x: ops.add(ops.slice(x, (2, 0), (1, 4)), x), 0),
    "turned": (lambda x: ops.reverse(x, axis=0), 0),
    "two shapes": (lambda x: ops.add(ops.reshape(ops.exp(ops.reshape(ops.abs(x), (6, 4, 1))), (6, 4)), x), 0),
    "itself": (lambda x: ops.sub(ops.exp(x), x), 0),
    "reshapes": (lambda x: ops.reshape(ops.reshape(x, (3, 8)), (6, 4)), 0),
    "type": (lambda x: ops.cast(ops.cast(x, dtype="INT32"), dtype="FP32"), 0),
    "reduction": (lambda x: ops.sub(x, ops.reduce_max(x, axis=1)), 0),
    "spread": (lambda x: ops.add(x, ops.reshape(ops.slice(x, (0, 0), (1, 4)), (1, 4))), 0),
    "ones moved": (lambda x: ops.reshape(ops.transpose(ops.reshape(x, (6, 1, 4)), perms=(1, 0, 2)), ROWS), 0),
    "turned twice": (lambda x: ops.transpose(ops.transpose(ops.reshape(x, (1, 6, 4)), perms=(2, 0, 1)),
                                             perms=(2, 1, 0)), 0),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKS)
def test_reshapes_cancel_around(name: str) -> None:
    work, left = WORKS[name]
    given = X.reshape(PIXELS)
    graph = tj.trace(inside(work), given)
    found = merged(graph)
    assert tj.validate(found) == ()
    assert found.outputs == graph.outputs
    assert sum(isinstance(node.operator, RESHAPE) for node in found.nodes) == left
    np.testing.assert_array_equal(tj.compile(found)(given), tj.compile(graph)(given))


def test_a_result_that_is_needed_in_its_own_shape_is_reshaped_once() -> None:
    def both(x: Any) -> Any:
        rows = ops.tanh(ops.reshape(x, ROWS))
        return ops.reduce_max(rows, axis=1), ops.reduce_min(rows, axis=1), rows

    given = X.reshape(PIXELS)
    graph = tj.trace(both, given)
    found = merged(graph)
    assert sum(isinstance(node.operator, RESHAPE) for node in found.nodes) == 1
    for one, other in zip(tj.compile(found)(given), tj.compile(graph)(given), strict=True):
        np.testing.assert_array_equal(one, other)


def test_outputs_keep_their_names_and_shapes() -> None:
    def same(x: Any) -> Any:
        rows = ops.reshape(x, ROWS)
        return ops.reshape(rows, PIXELS), rows

    graph = tj.trace(same, X.reshape(PIXELS))
    found = merged(graph)
    assert tj.validate(found) == ()
    assert found.outputs == graph.outputs
    assert sum(isinstance(node.operator, IDENTITY) for node in found.nodes) == 1


def test_transposes_work_on_tensors_before_they_were_reshaped() -> None:
    def turned(x: Any) -> Any:
        heads = ops.transpose(ops.reshape(x, (2, 3, 4)), perms=(1, 0, 2))
        return ops.transpose(ops.reshape(heads, (1, 3, 2, 4)), perms=(0, 1, 3, 2))

    graph = tj.trace(turned, X)
    found = merged(graph)
    assert tj.validate(found) == ()
    perms = [tuple(node.operator.perms) for node in found.nodes if isinstance(node.operator, TRANSPOSE)]
    assert perms == [(1, 0, 2), (0, 2, 1)]
    np.testing.assert_array_equal(tj.compile(found)(X), tj.compile(graph)(X))


def test_names_that_are_taken_are_left_to_their_tensors() -> None:
    builder = tj.GraphBuilder()
    x = builder.input("x", tj.FP32, PIXELS)
    other = builder.input("y/reshaped", tj.FP32, PIXELS)
    rows = builder.add(RESHAPE(), [x, builder.shape(ROWS)], name="rows")
    y = builder.add(TANH(), [rows], name="y")
    back = builder.add(RESHAPE(), [y, builder.shape(PIXELS)], name="back")
    builder.output(builder.add(SUB(), [back, other], name="result"))
    graph = builder.build()
    found = tidied(graph)
    assert tj.validate(found) == ()
    given = X.reshape(PIXELS), 2 * X.reshape(PIXELS)
    np.testing.assert_array_equal(tj.compile(found)(*given), tj.compile(graph)(*given))
