"""What reports call the groups of a graph: by the node that tells best what a group does."""

from __future__ import annotations

from tosajit.graph import Graph, Node


def labels_of(graph: Graph) -> dict[str, str]:
    """Names of nodes; groups are called by those that come first."""
    return {node.name: f"{node.operator.opcode} {node.name}" for node in sorted(graph.nodes, key=rank)}


def rank(node: Node) -> int:
    """How well a node tells what a group does: tensor operators best, then reductions, conversions last."""
    chapter = int(node.operator.section.split(".")[1])
    return {3: 0, 9: 1, 10: 3, 13: 3, 14: 3}.get(chapter, 2)
