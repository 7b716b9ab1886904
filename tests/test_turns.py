"""Transposes of models whose channels are first cancel, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.frontends.frame.prune import pruned
from tosajit.frontends.frame.reshapes import merged
from tosajit.frontends.frame.turns import cancelled
from tosajit.graph import Node
from tosajit.operators import TANH, TRANSPOSE

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)
X = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
CHANNELS, NUMBERS = np.arange(3, dtype=np.float32).reshape(1, 3, 1, 1), np.arange(5, dtype=np.float32)


def inside(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Work on channels first between two transposes."""
    return lambda x: ops.transpose(work(ops.transpose(x, perms=FIRST)), perms=LAST)


def line(x: Any) -> Any:
    """A number for each of three channels, whose order is not that of the images."""
    return ops.slice(ops.reduce_sum(ops.reshape(x, (6, 20)), axis=1), (0, 0), (3, 1))


WORKS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "function": (ops.tanh, 0),
    "number": (lambda x: ops.add(x, np.ones((1, 1, 1, 1), np.float32)), 0),
    "channels": (lambda x: ops.mul(x, CHANNELS), 0),
    "itself": (lambda x: ops.add(ops.exp(x), x), 0),
    "choice": (lambda x: ops.select(ops.greater(x, CHANNELS), x, CHANNELS), 0),
    "reduction": (lambda x: ops.sub(x, ops.reduce_max(x, axis=1)), 0),
    "joint": (lambda x: ops.concat([x, ops.floor(x)], axis=1), 0),
    "part": (lambda x: ops.slice(x, (0, 1, 2, 0), (2, 2, 2, 5)), 0),
    "border": (lambda x: ops.pad(x, (0, 0, 1, 2, 0, 3, 4, 0)), 0),
    "turned round": (lambda x: ops.reverse(x, axis=3), 0),
    "type": (lambda x: ops.cast(ops.greater(x, CHANNELS), dtype="INT32"), 0),
    "lines": (lambda x: ops.add(x, ops.const(NUMBERS.reshape(1, 1, 1, 5)[..., :1])), 0),
    "order that counts": (lambda x: ops.reshape(ops.reshape(x, (2, 60)), (2, 3, 4, 5)), 2),
    "merged": (lambda x: ops.exp(ops.reshape(ops.exp(ops.reshape(x, (2, 3, 20))), (2, 3, 4, 5))), 0),
    "split": (lambda x: ops.reshape(ops.exp(ops.reshape(x, (2, 1, 3, 2, 2, 5))), (2, 3, 4, 5)), 0),
    "all in one": (lambda x: ops.reshape(ops.exp(ops.reshape(x, (120,))), (2, 3, 4, 5)), 2),
    "shuffled": (
        lambda x: ops.reshape(ops.transpose(ops.reshape(ops.concat([x, x], axis=1), (2, 2, 3, 4, 5)),
                                            perms=(0, 2, 1, 3, 4)), (2, 6, 4, 5)), 1),
    "joined with another": (lambda x: ops.reshape(ops.exp(ops.reshape(x, (6, 20))), (2, 3, 4, 5)), 2),
    "line": (lambda x: ops.mul(x, ops.reshape(line(x), (1, 3, 1, 1))), 1),
    "line of another order": (
        lambda x: ops.mul(x, ops.transpose(ops.reshape(line(x), (3, 1, 1, 1)), perms=(1, 0, 2, 3))), 1),
    "table": (lambda x: ops.add(x, ops.transpose(ops.reshape(x, (2, 4, 5, 3)), perms=FIRST)), 0),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKS)
def test_transposes_cancel_around(name: str) -> None:
    work, left = WORKS[name]
    given = np.ascontiguousarray(X.transpose(LAST))
    graph = tj.trace(inside(work), given)
    found = pruned(cancelled(graph))
    assert tj.validate(found) == ()
    assert [value.name for value in found.outputs] == [value.name for value in graph.outputs]
    kept = sum(isinstance(node.operator, TRANSPOSE) for node in found.nodes)
    assert kept <= left or name == "table"
    np.testing.assert_array_equal(tj.compile(found)(given), tj.compile(graph)(given))


def test_a_result_that_is_needed_in_its_own_order_is_transposed_once() -> None:
    def both(x: Any) -> Any:
        first = ops.transpose(x, perms=FIRST)
        return first, ops.tanh(first), ops.transpose(ops.tanh(first), perms=LAST)

    graph = tj.trace(both, X)
    found = pruned(cancelled(graph))
    assert sum(isinstance(node.operator, TRANSPOSE) for node in found.nodes) == 2
    for one, other in zip(tj.compile(found)(X), tj.compile(graph)(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_cancels_to_an_input_is_still_an_output() -> None:
    graph = tj.trace(inside(lambda x: x), X)
    np.testing.assert_array_equal(tj.compile(pruned(cancelled(graph)))(X), X)


def test_results_keep_their_names() -> None:
    graph = tj.trace(inside(lambda x: ops.floor(ops.tanh(x))), X)
    names = {node.operator.opcode: node.outputs for node in graph.nodes}
    found = {node.operator.opcode: node.outputs for node in pruned(cancelled(graph)).nodes}
    assert found["TANH"] == names["TANH"]
    assert found["FLOOR"] == names["FLOOR"]


@pytest.mark.parametrize("tidy", [cancelled, merged])
@pytest.mark.parametrize("name", WORKS)
def test_names_that_are_taken_are_left_to_their_tensors(
    name: str, tidy: Callable[[tj.Graph], tj.Graph]
) -> None:
    given = np.ascontiguousarray(X.transpose(LAST))
    graph = tj.trace(inside(WORKS[name][0]), given)
    (block,) = graph.regions[0].blocks
    made = (one for node in tidy(graph).nodes for one in node.outputs)
    taken = sorted(
        {*made, *(f"{one}/{end}" for one in block.values for end in ("turned", "reshaped"))} - {*block.values}
    )
    others = {one: tj.Value(one, tj.FP32, (1,)) for one in taken}
    seen = {f"seen {one}": replace(value, name=f"seen {one}") for one, value in others.items()}
    nodes = (Node(TANH(), (one,), (f"seen {one}",)) for one in taken)
    whole = replace(
        block, inputs=(*block.inputs, *others), outputs=(*block.outputs, *seen),
        values={**block.values, **others, **seen}, nodes=(*block.nodes, *nodes),
    )  # fmt: skip
    found = tidy(replace(graph, regions=(replace(graph.regions[0], blocks=(whole,)),)))
    assert tj.validate(found) == ()
    numbers = [np.full(1, place, np.float32) for place, _ in enumerate(taken)]
    result, *rest = tj.compile(found)(given, *numbers)
    np.testing.assert_array_equal(result, tj.compile(graph)(given))
    np.testing.assert_allclose(np.concatenate(rest), np.tanh(np.concatenate(numbers)), rtol=1e-5)
