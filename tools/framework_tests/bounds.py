"""How far results of floating point may be from those of a framework that rounds in an order of its own.

Sums of products may be off by a rounding of every product (TOSA 1.0.1 section 1.10.3), of magnitudes: those
are what the graph gives for operands without signs, where differences are sums. TANH hands on the error of
its operand, which it makes no greater; it and others add an error of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.tflite_cases.running import listed
from tosajit import accuracy
from tosajit.arrays import Array
from tosajit.display.summary import macs
from tosajit.dtypes import FP32
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.binding import constants_of, use_of
from tosajit.operators import (
    ADD,
    CLAMP,
    EXP,
    IDENTITY,
    NEGATE,
    REDUCE_SUM,
    RESIZE,
    RFFT2D,
    SIGMOID,
    SUB,
    TANH,
)

UNIT = 2.0**-24
"""Half a step of float32."""


def bound(graph: Graph, inputs: Sequence[Array], run: Callable[[Graph], Callable[..., Any]]) -> Array:
    """The error that is allowed for each element of a graph's first output."""
    sizes = listed(run(_of_magnitudes(graph))(*map(np.abs, inputs)))[0].astype(np.float64)
    allowed = sizes * sum(_roundings(graph.main)) * UNIT
    for node in graph.main.nodes:
        allowed = allowed + _own(node, sizes, inputs)
    return allowed


def _own(node: Node, sizes: Array, inputs: Sequence[Array]) -> Array | float:
    """What the specification allows an operator beside what it is handed."""
    first = np.asarray(inputs[0], np.float64)
    match node.operator:
        case TANH():
            return accuracy.bound("TANH", np.tanh(sizes), FP32, sizes)
        case EXP() if first.shape == sizes.shape:  # of numbers below 0, as ELU takes it
            return accuracy.bound("EXP", np.exp(np.minimum(first, 0)), FP32, first)
        case RESIZE():
            return accuracy.bound("RESIZE", sizes, FP32, first)
        case RFFT2D():  # sums of all elements of an image
            image = prod(first.shape[-2:])
            return float(np.abs(first).sum(axis=(-2, -1)).max(initial=0) * image * UNIT)
    return 0.0


def _roundings(block: Block) -> Iterator[float]:
    """How many each node makes for an element of its result."""
    constants = constants_of(block)
    for node in block.nodes:
        use = use_of(node, block, constants)
        size = max(1, prod(use.outputs[0].shape or ()))
        terms = prod(use.inputs[0].shape or ()) if isinstance(node.operator, REDUCE_SUM) else macs(use)
        yield max(1.0, 2 * terms / size)


def _of_magnitudes(graph: Graph) -> Graph:
    block = graph.main
    values = {name: _magnitude(value) for name, value in block.values.items()}
    steady = replace(block, nodes=tuple(map(_growing, block.nodes)), values=values)
    return replace(graph, regions=(Region(graph.regions[0].name, (steady,)),))


def _growing(node: Node) -> Node:
    """A node that gives the greatest magnitude of its result for those of its operands."""
    match node.operator:
        case SUB():
            return replace(node, operator=ADD())
        case EXP():
            return replace(node, operator=SIGMOID())  # no more than 1
        case CLAMP() | TANH() | NEGATE():
            return replace(node, operator=IDENTITY(), inputs=node.inputs[:1])
    return node


def _magnitude(value: Value) -> Value:
    return value if value.data is None or value.dtype is not FP32 else replace(value, data=np.abs(value.data))
