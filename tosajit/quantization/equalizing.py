"""Cross-layer equalisation: channels between two convolutions get ranges alike; the network stays the same.

What one convolution divides a channel by, the next multiplies it by; a ReLU in between lets factors through
(Nagel et al., Data-Free Quantization Through Weight Equalization and Bias Correction, section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.graph import Graph, Node, Value
from tosajit.operators import CLAMP, CONST
from tosajit.quantization.uses import Uses

_ROUNDS = 20
_LARGEST = 3.0e38
_AXES = {"CONV2D": (0, 3), "CONV3D": (0, 4), "TRANSPOSE_CONV2D": (0, 3), "DEPTHWISE_CONV2D": (2, 2)}
"""The dimensions of weights that are output and input channels."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two convolutions with one value between them."""

    first: Node
    second: Node


def equalized(graph: Graph) -> Graph:
    """The same graph with other weights."""
    block = graph.main
    uses = Uses(block)
    pairs = list(_pairs(uses))
    if not pairs:
        return graph
    held = {
        node: [np.array(block.values[name].data, np.float64) for name in node.inputs[1:3]]
        for pair in pairs
        for node in (pair.first, pair.second)
    }
    for _ in range(_ROUNDS):
        for pair in pairs:
            _balance(pair, held[pair.first], held[pair.second])
    return _with(graph, held)


def _pairs(uses: Uses) -> Iterator[_Pair]:
    """Convolutions behind each other, with at most a ReLU between them."""
    for second in uses.block.nodes:
        if not _is_known(second, uses):
            continue
        name = second.inputs[0]
        clamp = uses.makers.get(name)
        if clamp is not None and _is_relu(clamp) and uses.is_once(name):
            name = clamp.inputs[0]
        first = uses.makers.get(name)
        if first is not None and _is_known(first, uses) and uses.is_once(name):
            yield _Pair(first, second)


def _is_known(node: Node, uses: Uses) -> bool:
    """Whether a node is a convolution with known weights, and a bias that each channel has."""
    axes = _AXES.get(node.operator.opcode)
    if axes is None or not all(uses.is_real(name) and uses.is_constant(name) for name in node.inputs[1:3]):
        return False
    weights, bias = (uses.block.values[name].data for name in node.inputs[1:3])
    assert weights is not None
    assert bias is not None
    return bias.size == weights.shape[axes[0]] and (axes[0] == 0 or weights.shape[3] == 1)


def _is_relu(node: Node) -> bool:
    return isinstance(node.operator, CLAMP) and (
        float(node.operator.min_val) == 0 and float(node.operator.max_val) >= _LARGEST
    )


def _balance(pair: _Pair, first: list[Array], second: list[Array]) -> None:
    """Give each channel between two convolutions weights as large on either side."""
    axis, other = _AXES[pair.first.operator.opcode][0], _AXES[pair.second.operator.opcode][1]
    before, behind = _largest(first[0], axis), _largest(second[0], other)
    usable = (before > 1e-12) & (behind > 1e-12)
    factors = np.where(usable, np.sqrt(before / np.where(usable, behind, 1)), 1)
    factors = np.where(usable, factors, 1)
    first[0] /= _along(factors, first[0].ndim, axis)
    first[1] /= factors
    second[0] *= _along(factors, second[0].ndim, other)


def _largest(weights: Array, axis: int) -> Array:
    others = tuple(place for place in range(weights.ndim) if place != axis)
    found: Array = np.abs(weights).max(others)
    return found


def _along(factors: Array, rank: int, axis: int) -> Array:
    return factors.reshape([-1 if place == axis else 1 for place in range(rank)])


def _with(graph: Graph, held: dict[Node, list[Array]]) -> Graph:
    """The graph with other weights, which are constants of their own: others may share the old ones."""
    block = graph.main
    values, constants = dict(block.values), []
    nodes: list[Node] = []
    for node in block.nodes:
        inputs = list(node.inputs)
        for place, elements in enumerate(held.get(node, ()), 1):
            name = f"{node.name}/equalized_{node.operator.operands_read[place].name}"
            data = elements.astype(np.float32)
            values[name] = Value(name, values[inputs[place]].dtype, data.shape, data)
            constants.append(Node(CONST(), (), (name,)))
            inputs[place] = name
        nodes.append(replace(node, inputs=tuple(inputs)))
    inside = replace(block, nodes=(*constants, *nodes), values=values)
    regions = tuple(
        replace(one, blocks=tuple(inside if each is block else each for each in one.blocks))
        for one in graph.regions
    )
    return replace(graph, regions=regions)
