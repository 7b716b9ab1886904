"""Which resources a graph writes, itself or by the functions that it calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from tosajit.frontends.tensorflow.records import FunctionName, Model, Node

_WRITING = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")

_CHOOSING = ("If", "StatelessIf", "Case", "StatelessCase")
"""Operators whose first operand chooses a function."""


def written(model: Model) -> frozenset[str]:
    """The placeholders of the resources that a graph writes."""

    @cache
    def arguments(name: str) -> frozenset[int]:
        """The places of the arguments that a function writes."""
        function = model.functions.get(name)
        if function is None:
            return frozenset()
        names = _written(function.nodes)
        return frozenset(place for place, one in enumerate(function.arguments) if one in names)

    def _written(nodes: Sequence[Node]) -> frozenset[str]:
        found = {node.inputs[0].node for node in nodes if node.op in _WRITING and node.inputs}
        for node in nodes:
            operands = node.inputs[node.op in _CHOOSING :]
            for name in _called(node):
                places = arguments(name)
                found.update(one.node for place, one in enumerate(operands) if place in places)
        return frozenset(found)

    return _written(model.nodes)


def _called(node: Node) -> Iterator[str]:
    """The functions that a node names."""
    for value in node.attributes.values():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, FunctionName):
                yield one.name
