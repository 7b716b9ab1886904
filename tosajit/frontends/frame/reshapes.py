"""Reshapes of models that need none: moved behind what works element by element, until they cancel.

A RESHAPE is not written where it stands, but where its result is needed in that shape. A TRANSPOSE that moves
dimensions of one element only is a RESHAPE, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import SHAPE
from tosajit.frontends.frame.prune import pruned
from tosajit.frontends.frame.turns import elementwise
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.operators import CONST, CONST_SHAPE, IDENTITY, RESHAPE, TRANSPOSE

Shape: TypeAlias = tuple[int, ...]

_FLAT = "/reshaped"
_OPERATORS = (RESHAPE, TRANSPOSE)


def merged(graph: Graph) -> Graph:
    """The graph with as few reshapes as that leaves."""
    if not any(isinstance(node.operator, _OPERATORS) for node in graph.nodes):
        return graph
    regions = (Region(one.name, tuple(_Walk(block).block() for block in one.blocks)) for one in graph.regions)
    return pruned(replace(graph, regions=tuple(regions)))


class _Walk:
    """A block, node by node."""

    def __init__(self, block: Block) -> None:
        self.given = block
        self.values = {name: block.values[name] for name in block.inputs}
        self.nodes: list[Node] = []
        self.held: dict[str, str] = {}
        """The tensors that others are in another shape."""

    def block(self) -> Block:
        """The block again."""
        for node in self.given.nodes:
            if not self._put_off(node) and not self._turned(node) and not self._moved(node):
                self._write(replace(node, inputs=tuple(map(self._needed, node.inputs))))
        for name in self.given.outputs:
            if self._needed(name) != name:
                self._write(Node(IDENTITY(), (self.held[name],), (name,)))
        return replace(self.given, nodes=tuple(self.nodes), values=self.values)

    def _put_off(self, node: Node) -> bool:
        """Whether a node only changes a shape."""
        if not isinstance(node.operator, _OPERATORS):
            return False
        if isinstance(node.operator, TRANSPOSE):
            shape = self._shape(node.inputs[0])
            moved = [place for place in node.operator.perms if shape[place] != 1]
            if moved != sorted(moved):
                return False
        self.held[node.outputs[0]] = self._base(node.inputs[0])
        return True

    def _turned(self, node: Node) -> bool:
        """Whether a transpose has been written for its operand before that had other dimensions of 1."""
        if not isinstance(node.operator, TRANSPOSE) or node.inputs[0] not in self.held:
            return False
        own, source = self._shape(node.inputs[0]), self._base(node.inputs[0])
        shape = self._shape(source)
        places, before = _wide(own), _wide(shape)
        if shape == own or [own[one] for one in places] != [shape[one] for one in before]:
            return False
        moved = [place for place in node.operator.perms if own[place] != 1]
        perms = list(range(len(shape)))
        for place, one in zip(before, moved, strict=True):
            perms[place] = before[places.index(one)]
        flat = self._flat(node.outputs[0], tuple(shape[place] for place in perms))
        self.nodes.append(
            replace(node, operator=TRANSPOSE(perms=tuple(perms)), inputs=(source,), outputs=(flat,))
        )
        return True

    def _flat(self, output: str, shape: Shape) -> str:
        """The name of a result that gets its own shape where that is needed."""
        flat = output + _FLAT
        self.values[flat] = replace(self.given.values[output], name=flat, shape=shape)
        self.held[output] = flat
        return flat

    def _moved(self, node: Node) -> bool:
        """Whether a node has been written for operands before they were reshaped."""
        count = elementwise(node)
        data, rest = node.inputs[:count], node.inputs[count:]
        computed = [name for name in data if self.given.values[name].data is None]
        if not any(name in self.held for name in computed):
            return False
        (output,) = node.outputs
        own = self._shape(output)
        bases = {self._shape(self._base(name)) for name in computed}
        if len(bases) != 1 or any(self._shape(name) != own for name in computed):
            return False
        (shape,) = bases
        inputs = [self._base(name) if name in computed else self._constant(name, own, shape) for name in data]
        if shape == own or None in inputs:
            return False
        flat = self._flat(output, shape)
        self.nodes.append(replace(node, inputs=(*(one for one in inputs if one), *rest), outputs=(flat,)))
        return True

    def _base(self, name: str) -> str:
        return self.held.get(name, name)

    def _shape(self, name: str) -> Shape:
        found = self.values.get(name) or self.given.values[name]
        assert found.shape is not None
        return found.shape

    def _constant(self, name: str, own: Shape, shape: Shape) -> str | None:
        """A constant beside operands of another shape; None if its elements are of parts of them."""
        value = self.given.values[name]
        assert value.data is not None
        fitting = _fitting(value.data, own, shape)
        if fitting is None:
            return None
        return self._held(f"{name}/as_{'x'.join(map(str, fitting))}", value.data.reshape(fitting), value)

    def _held(self, name: str, data: Array, like: Value) -> str:
        if name not in self.values:
            data.flags.writeable = False
            self._write_constant(replace(like, name=name, shape=data.shape, data=data))
        return name

    def _write_constant(self, value: Value) -> None:
        self.values[value.name] = value
        operator = CONST_SHAPE() if value.dtype is SHAPE else CONST()
        self.nodes.append(Node(operator, (), (value.name,)))

    def _write(self, node: Node) -> None:
        self.values.update({name: self.given.values[name] for name in node.outputs})
        self.nodes.append(node)

    def _needed(self, name: str) -> str:
        """A tensor in its own shape: reshaped now, if it has not been."""
        if name not in self.held or name in self.values:
            return name
        source, own = self.held[name], self._shape(name)
        if self._shape(source) == own:
            return source
        shape = Value(f"{name}/shape", SHAPE, (len(own),), np.array(own, np.int64))
        if shape.name not in self.values:
            self._write_constant(shape)
        self._write(Node(RESHAPE(), (source, shape.name), (name,)))
        return name


def _wide(shape: Shape) -> list[int]:
    """The dimensions of more than one element."""
    return [place for place, extent in enumerate(shape) if extent != 1]


def _fitting(data: Array, own: Shape, shape: Sequence[int]) -> Shape | None:
    """The shape of a constant beside operands that have a shape in place of their own."""
    if data.size == 1:
        return (1,) * len(shape)
    if data.shape == own:
        return tuple(shape)
    last = data.shape[-1]
    if last == data.size and shape and shape[-1] == own[-1] == last:
        return (*(1,) * (len(shape) - 1), last)
    return None
