"""Integers of fewer bits, which NNEF has with 32: casts there and back are dropped.

A cast to fewer bits is moved in front of what only copies elements, up to the cast that made them 32 bits
wide. The rest of such a chain is then needed by nobody.
"""

from __future__ import annotations

from tiling.records import replace
from tosajit.dtypes import INT8, INT16, INT32
from tosajit.frontends.frame.prune import pruned
from tosajit.graph import Block, Graph, Node, Region
from tosajit.graph.operator import Operator
from tosajit.operators import (
    CAST,
    CLAMP,
    CONCAT,
    IDENTITY,
    MAXIMUM,
    MINIMUM,
    RESHAPE,
    REVERSE,
    SLICE,
    TILE,
    TRANSPOSE,
)

_COPIES = CONCAT, IDENTITY, RESHAPE, REVERSE, SLICE, TILE, TRANSPOSE


def uncast(graph: Graph) -> Graph:
    """The graph without casts that cancel."""
    regions = (
        Region(one.name, tuple(_Narrowing(block).block() for block in one.blocks)) for one in graph.regions
    )
    return pruned(replace(graph, regions=tuple(regions)))


class _Narrowing:
    """A block, node by node."""

    def __init__(self, block: Block) -> None:
        self._given, self._values = block, dict(block.values)
        self._nodes: list[Node] = []
        self._twins: dict[str, str] = {}
        """For integers of 32 bits that were fewer, the tensor that has as many bits as they had."""
        self._names: dict[str, str] = {}
        """For results of casts that are dropped, what they are."""

    def block(self) -> Block:
        """The block again: each copy is there with both widths, and the one that nobody needs is pruned."""
        for given in self._given.nodes:
            node = replace(given, inputs=tuple(self._names.get(one, one) for one in given.inputs))
            if isinstance(node.operator, CAST):
                self._cast(node)
                continue
            self._nodes.append(node)
            if isinstance(node.operator, _COPIES):
                self._copy(node)
            elif isinstance(node.operator, MAXIMUM | MINIMUM):
                self._clamp(node)
        return replace(self._given, nodes=tuple(self._nodes), values=self._values)

    def _cast(self, node: Node) -> None:
        (name,), (output,) = node.inputs, node.outputs
        before, behind = (self._values[one].dtype for one in (name, output))
        twin = self._twins.get(name)
        if twin is not None and self._values[twin].dtype is behind:
            if output in self._given.outputs:
                self._nodes.append(Node(IDENTITY(), (twin,), (output,), node.location))
            else:
                self._names[output] = twin
            return
        if behind is INT32 and before in (INT8, INT16):
            self._twins[output] = name
        self._nodes.append(node)

    def _copy(self, node: Node) -> None:
        count = len(node.inputs) if isinstance(node.operator, CONCAT) else 1
        twins = [self._twins.get(one) for one in node.inputs[:count]]
        known = [one for one in twins if one is not None]
        if known and len(known) == count and len({self._values[one].dtype for one in known}) == 1:
            self._twin(node, node.operator, (*known, *node.inputs[count:]))

    def _clamp(self, node: Node) -> None:
        """A bound of numbers that have fewer bits."""
        twin = self._twins.get(node.inputs[0])
        bound = self._values[node.inputs[1]].data
        if twin is None or bound is None or bound.size != 1:
            return
        dtype, number = self._values[twin].dtype, int(bound.reshape(-1)[0])
        if dtype.minimum <= number <= dtype.maximum:
            low, high = int(dtype.minimum), int(dtype.maximum)
            is_low = isinstance(node.operator, MAXIMUM)
            clamp = CLAMP(min_val=number if is_low else low, max_val=high if is_low else number)
            self._twin(node, clamp, (twin,))

    def _twin(self, node: Node, operator: Operator, inputs: tuple[str, ...]) -> None:
        """The same of integers with fewer bits."""
        (output,) = node.outputs
        name = f"{output}/narrow"
        if name in self._values:
            return
        self._values[name] = replace(self._values[output], name=name, dtype=self._values[inputs[0]].dtype)
        self._nodes.append(Node(operator, inputs, (name,), node.location))
        self._twins[output] = name
