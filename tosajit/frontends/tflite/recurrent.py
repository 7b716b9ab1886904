"""What recurrent operators share: sequences step by step, and weights that all steps have in common."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.common.steps import stepped
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.tracing.tensor import Tensor

States = tuple[Tensor, ...]
Step = Callable[[Tensor, States], tuple[Tensor, States]]
"""From the rows of a step and what is kept, the result of the step and what is kept then."""

_LONGEST = 4096
"""Steps that a sequence may have."""


def time_first(value: Tensor, time_major: bool) -> Tensor:
    """A sequence of steps, each with a row for each batch."""
    if len(value.shape) == 2:  # one step
        return reshaped(value, (1, *value.shape))
    if len(value.shape) != 3:
        raise Refused(f"its input has {len(value.shape)} dimensions, but must have 2 or 3")
    sequence = value if time_major else transposed(value, (1, 0, 2))
    if not 0 < sequence.shape[0] <= _LONGEST:
        raise Refused(f"its input has {sequence.shape[0]} steps, but must have 1 to {_LONGEST}")
    return sequence


def unrolled(sequence: Tensor, step: Step, states: States, backwards: bool = False) -> tuple[Tensor, States]:
    """The results of all steps in their order, and what is kept after the last one."""

    def taken(elements: States, kept: States) -> tuple[States, States]:
        found, new = step(elements[0], kept)
        return (found,), new

    (results,), last = stepped(taken, [sequence], states, backwards)
    return results, last


def given_back(sequence: Tensor, node: Node, time_major: bool, number: int = 0) -> Tensor:
    """A sequence of steps in the order of dimensions that a result has."""
    turned = sequence if time_major else transposed(sequence, (1, 0, 2))
    return reshaped(turned, node.results[number].record.shape)


def products(rows: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
    """Rows of real numbers times a matrix of weights."""
    count, depth = weights.shape
    if rows.shape[-1] != depth:
        raise Refused(f"its weights are {[count, depth]}, but rows have {rows.shape[-1]} numbers")
    total = ops.conv2d(reshaped(rows, (-1, 1, 1, depth)), reshaped(weights, (count, 1, 1, depth)), bias)
    return reshaped(total, (*rows.shape[:-1], count))


def byte_products(
    rows: Tensor, weights: Array, bias: Array | None, zero_point: int, weight_zp: int = 0
) -> Tensor:
    """Rows of bytes times a matrix of weights."""
    count, depth = weights.shape
    if rows.shape[-1] != depth:
        raise Refused(f"its weights are {[count, depth]}, but rows have {rows.shape[-1]} numbers")
    total = ops.conv2d(
        reshaped(rows, (-1, 1, 1, depth)),
        weights.reshape(count, 1, 1, depth),
        np.zeros(1, np.int32) if bias is None else bias,
        np.array([zero_point], np.int8),
        np.array([weight_zp], np.int8),
    )
    return reshaped(total, (*rows.shape[:-1], count))


def reals(node: Node, *places: int) -> Tensor:
    """The real numbers of weights, one matrix below the other; integers of hybrid models are scaled."""
    parts = [node[place].real for place in places]
    whole = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return node.trace.constant(whole, FP32, "" if len(parts) > 1 else node[places[0]].name)
