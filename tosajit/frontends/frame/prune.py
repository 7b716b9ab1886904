"""Dropping what nobody needs: constants that were folded, operators whose results are not used."""

from __future__ import annotations

from tiling.records import replace
from tosajit.graph import Block, Graph, Node, Region
from tosajit.operators import COND_IF, CUSTOM, VARIABLE, VARIABLE_WRITE, WHILE_LOOP

ACTING = (VARIABLE, VARIABLE_WRITE, COND_IF, WHILE_LOOP, CUSTOM)
"""Operators that do something, or may run what does, beside giving results."""


def pruned(graph: Graph) -> Graph:
    """The graph without nodes that no output and no variable depends on."""
    regions = (Region(one.name, tuple(map(_block, one.blocks))) for one in graph.regions)
    return replace(graph, regions=tuple(regions))


def _block(block: Block) -> Block:
    needed = {*block.outputs, *block.inputs}
    kept: list[Node] = []
    for node in reversed(block.nodes):
        if isinstance(node.operator, ACTING) or needed.intersection(node.outputs):
            kept.append(node)
            needed.update(node.inputs)
            needed.update(node.outputs)
    values = {name: value for name, value in block.values.items() if name in needed}
    return replace(block, nodes=tuple(reversed(kept)), values=values)
