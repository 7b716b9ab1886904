"""What a model computes twice from the same operands: written once, unless it is less work to do it again.

Integers that are widened for a sum are larger than those they come from: to keep them for another sum costs
more than to widen them again. So elementwise results that are larger than what they are made of stay apart.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import prod

from tiling.records import replace
from tosajit.frontends.frame.names import with_inputs
from tosajit.frontends.frame.prune import ACTING, pruned
from tosajit.frontends.frame.turns import elementwise
from tosajit.graph import Block, Graph, Node, Region, Value

_SMALL = 1 << 12
"""Constants of up to as many bytes are compared by their elements, others by where these are."""


def once(graph: Graph) -> Graph:
    """The graph without nodes whose results are there already."""
    regions = (Region(one.name, tuple(_Walk(block).block() for block in one.blocks)) for one in graph.regions)
    return pruned(replace(graph, regions=tuple(regions)))


class _Walk:
    """A block, node by node."""

    def __init__(self, block: Block) -> None:
        self.given = block
        self.equal: dict[str, str] = {}
        """The first tensors that others are equal to."""
        self.left_out: dict[str, str] = {}
        """Those that are used in the place of others."""
        self.sources: dict[str, frozenset[str]] = {}
        """What larger tensors are computed of."""

    def block(self) -> Block:
        """The block again."""
        seen: dict[Hashable, Node] = {}
        kept: list[Node] = []
        for node in self.given.nodes:
            if node.inputs and not isinstance(node.operator, ACTING):
                first = seen.setdefault((node.operator, tuple(map(self._operand, node.inputs))), node)
                self.equal.update(zip(node.outputs, map(self._first, first.outputs), strict=True))
                is_larger = self._is_larger(node)
                if first is not node and not is_larger and not set(node.outputs) & set(self.given.outputs):
                    self.left_out.update(zip(node.outputs, first.outputs, strict=True))
                    continue
            kept.append(with_inputs(node, tuple(self.left_out.get(name, name) for name in node.inputs)))
        values = {name: value for name, value in self.given.values.items() if name not in self.left_out}
        return replace(self.given, nodes=tuple(kept), values=values)

    def _first(self, name: str) -> str:
        return self.equal.get(name, name)

    def _operand(self, name: str) -> Hashable:
        """What tells an operand from others: the first tensor like it, or the elements of a constant."""
        value = self.given.values[name]
        if value.data is None:
            return self._first(name)
        if value.data.nbytes <= _SMALL:
            return value.dtype.name, value.data.shape, value.data.tobytes()
        return value.dtype.name, value.data.shape, value.data.strides, value.data.ctypes.data

    def _is_larger(self, node: Node) -> bool:
        """Whether the result of an elementwise node is larger than what it is computed of."""
        count = elementwise(node)
        if not count:
            return False
        data = [name for name in node.inputs[:count] if self.given.values[name].data is None]
        sources = frozenset().union(*(self.sources.get(name, {name}) for name in data))
        (output,) = node.outputs
        if _bits(self.given.values[output]) <= sum(_bits(self.given.values[name]) for name in sources):
            return False
        self.sources[output] = sources
        return True


def _bits(value: Value) -> int:
    return prod(value.shape or ()) * value.dtype.bits
