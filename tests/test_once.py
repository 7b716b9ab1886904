"""What a model computes twice is computed once, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.frontends.frame.once import once

X = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
BYTES = np.arange(-12, 12, dtype=np.int8).reshape(6, 4)
LARGE = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)


def wide(x: Any, zp: int = 3) -> Any:
    """Bytes as words."""
    points = np.array([zp], np.int8), np.array([0], np.int32)
    return ops.rescale(x, np.array([1 << 30], np.int32), np.array([30], np.int8), *points, dtype="INT32",
                       scale32=True, rounding_mode="SINGLE_ROUND", per_channel=False)  # fmt: skip


WORKS: dict[str, tuple[Callable[[Any], Any], Any, int]] = {
    "same": (lambda x: ops.add(ops.exp(x), ops.exp(x)), X, 2),
    "same of the same": (lambda x: ops.sub(ops.tanh(ops.exp(x)), ops.tanh(ops.exp(x))), X, 3),
    "other order": (lambda x: ops.mul(ops.sub(x, ops.exp(x)), ops.sub(ops.exp(x), x)), X, 4),
    "other attribute": (lambda x: ops.add(ops.reduce_max(x, axis=0), ops.reduce_max(x, axis=1)), X, 3),
    "other constant": (lambda x: ops.add(ops.mul(x, X[:1]), ops.mul(x, X[1:2])), X, 3),
    "equal constants": (lambda x: ops.add(ops.mul(x, X[:1]), ops.mul(x, X[:1].copy())), X, 2),
    "equal bits of other types": (
        lambda x: ops.concat([ops.cast(ops.add(x, np.zeros((1, 1), np.float32)), dtype="INT32"),
                              ops.add(ops.cast(x, dtype="INT32"), np.zeros((1, 1), np.int32))], axis=0),
        X, 5,
    ),
    "large constants": (lambda x: ops.add(ops.mul(x, LARGE), ops.mul(x, LARGE.T.copy())), LARGE, 3),
    "widened": (lambda x: ops.sub(wide(x), ops.maximum(wide(x), wide(x, 2))), BYTES, 5),
    "sums of what is widened": (
        lambda x: ops.mul(ops.reduce_sum(wide(x), axis=1), ops.reduce_sum(wide(x), axis=1)), BYTES, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKS)
def test_nodes_are_written_once(name: str) -> None:
    work, given, left = WORKS[name]
    graph = tj.trace(work, given)
    found = once(graph)
    assert tj.validate(found) == ()
    assert found.outputs == graph.outputs
    assert sum(not node.operator.opcode.startswith("CONST") for node in found.nodes) == left
    np.testing.assert_array_equal(tj.compile(found)(given), tj.compile(graph)(given))


def test_outputs_that_are_equal_stay_two() -> None:
    graph = tj.trace(lambda x: (ops.exp(x), ops.exp(x)), X)
    found = once(graph)
    assert found.outputs == graph.outputs
    for result in tj.compile(found)(X):
        np.testing.assert_array_equal(result, tj.compile(graph)(X)[0])
