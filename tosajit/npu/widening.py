"""Graphs whose first layer has more input channels: weights of zeros, and inputs that have room for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from tiling.records import replace
from tosajit.graph import Graph
from tosajit.graph.graph import Block, Node, Value

PASSING = frozenset({"RESCALE", "CAST", "IDENTITY", "CLAMP", "PAD", "TRANSPOSE"})
"""Operators between an input and its layer that more channels pass."""


def widened(
    graph: Graph, members: Collection[str], channels: int
) -> tuple[Graph, Mapping[str, tuple[int, ...]]] | None:
    """The graph with so many channels at the first layer, and the new shapes of its inputs.

    None if none of the nodes is a first layer, or if it has as many.
    """
    block = graph.main
    node = next((one for one in block.nodes if one.name in members and one.operator.opcode == "CONV2D"), None)
    if node is None:
        return None
    weights = block.values[node.inputs[1]]
    if (
        weights.data is None
        or weights.shape is None
        or weights.shape[-1] >= channels
        or _readers(block, weights.name) > 1
    ):
        return None
    path = list(_path(block, node.inputs[0]))
    if not path:
        return None
    more = channels - weights.shape[-1]
    padded = np.pad(weights.data, [(0, 0)] * (len(weights.shape) - 1) + [(0, more)])
    values = {weights.name: replace(weights, shape=padded.shape, data=padded)}
    for value, axis in path:
        assert value.shape is not None
        values[value.name] = replace(value, shape=_with(value.shape, axis, channels))
    shapes = {name: value.shape for name, value in values.items() if name in block.inputs and value.shape}
    return _replaced(graph, block, replace(block, values={**block.values, **values})), shapes


def _path(block: Block, name: str) -> Iterator[tuple[Value, int]]:
    """The values from an operand back to an input, each with the axis of its channels, if there is a way."""
    made = {output: node for node in block.nodes for output in node.outputs}
    found: list[tuple[Value, int]] = []
    axis = 3
    while True:
        value = block.values[name]
        if value.shape is None or len(value.shape) != 4 or _readers(block, name) > 1 or name in block.outputs:
            return
        found.append((value, axis))
        if name in block.inputs:
            yield from found
            return
        node = made.get(name)
        if node is None or not _passes(node):
            return
        if node.operator.opcode == "TRANSPOSE":
            axis = dict(node.operator)["perms"][axis]
        name = node.inputs[0]


def _passes(node: Node) -> bool:
    return node.operator.opcode in PASSING and not dict(node.operator).get("per_channel", False)


def _readers(block: Block, name: str) -> int:
    return sum(node.inputs.count(name) for node in block.nodes)


def _with(shape: tuple[int, ...], axis: int, extent: int) -> tuple[int, ...]:
    return (*shape[:axis], extent, *shape[axis + 1 :])


def _replaced(graph: Graph, old: Block, new: Block) -> Graph:
    regions = tuple(
        replace(region, blocks=tuple(new if block is old else block for block in region.blocks))
        for region in graph.regions
    )
    return replace(graph, regions=regions)
