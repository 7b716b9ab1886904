"""Which nodes results depend on, and in which order they follow each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from tosajit.frontends.onnx import records
from tosajit.frontends.onnx.records import Graph


def needed(nodes: Sequence[records.Node], wanted: Iterable[str]) -> list[records.Node]:
    """The nodes that results depend on, in order."""
    names, found = set(wanted), []
    for node in reversed(_ordered(nodes)):
        if names.intersection(node.outputs):
            found.append(node)
            names.update(used(node))
    return found[::-1]


def _ordered(nodes: Sequence[records.Node]) -> Sequence[records.Node]:
    """Nodes behind those whose results they use: some converters leave them before.

    What depends on itself stays where it is, and is refused there.
    """
    makers = {name: place for place, node in enumerate(nodes) for name in node.outputs if name}
    needs = [{makers[name] for name in used(node) if name in makers} for node in nodes]
    if all(max(places, default=-1) < place for place, places in enumerate(needs)):
        return nodes
    try:
        return [nodes[place] for place in TopologicalSorter(dict(enumerate(needs))).static_order()]
    except CycleError:
        return nodes


def used(node: records.Node) -> Iterator[str]:
    """The names that a node uses, and the graphs inside of it."""
    yield from node.inputs
    for one in node.attributes.values():
        if isinstance(one, Graph):
            yield from (value.name for value in one.outputs)
            for inner in one.nodes:
                yield from used(inner)
