"""What front ends write, without what models do not need: transposes, reshapes, and work done twice."""

from __future__ import annotations

from tosajit.frontends.frame.once import once
from tosajit.frontends.frame.reshapes import merged
from tosajit.frontends.frame.turns import cancelled
from tosajit.graph import Graph


def tidied(graph: Graph) -> Graph:
    """The graph with as few nodes as that leaves; transposes that are reshapes count as such."""
    return once(merged(cancelled(merged(graph))))
