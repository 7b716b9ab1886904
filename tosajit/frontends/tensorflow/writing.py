"""Which resources a graph writes, itself or by the functions that it calls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tosajit.frontends.tensorflow.records import FunctionName, Model, Node

_WRITING = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")


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
            first = 1 if node.op in ("If", "StatelessIf") else 0
            for value in node.attributes.values():
                if isinstance(value, FunctionName):
                    operands = node.inputs[first:]
                    places = arguments(value.name)
                    found.update(one.node for place, one in enumerate(operands) if place in places)
        return frozenset(found)

    return _written(model.nodes)
