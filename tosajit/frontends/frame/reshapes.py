"""Reshapes of models that need none: moved behind what works element by element, until they cancel.

A RESHAPE is not written where it stands, but where its result is needed in that shape. A TRANSPOSE that moves
dimensions of one element only is a RESHAPE, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import SHAPE
from tosajit.frontends.frame.names import NewNames, with_inputs, with_names
from tosajit.frontends.frame.prune import pruned
from tosajit.frontends.frame.turns import ALONG, elementwise
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.operators import CONST, CONST_SHAPE, IDENTITY, RESHAPE, SLICE, TRANSPOSE

Shape: TypeAlias = tuple[int, ...]

_FLAT = "/reshaped"
_NOTHING, _ELEMENTWISE, _PARTS = _MOVING = range(3)
_OPERATORS = (RESHAPE, TRANSPOSE)


def merged(graph: Graph) -> Graph:
    """The graph with as few reshapes as that leaves."""
    if not any(isinstance(node.operator, _OPERATORS) for node in graph.nodes):
        return graph
    regions = (Region(one.name, tuple(map(_fewest, one.blocks))) for one in graph.regions)
    return pruned(replace(graph, regions=tuple(regions)))


def _fewest(block: Block) -> Block:
    """A block in which elementwise nodes are before reshapes, parts and reductions too, or neither are."""
    walks = [_Walk(block, _MOVING[-1]).done()]
    while moving := walks[-1].moved:  # with less, what has been done with all of this would be done again
        walks.append(_Walk(block, moving - 1).done())
    return min(walks, key=lambda one: sum(isinstance(node.operator, RESHAPE) for node in one.nodes)).block()


class _Walk:
    """A block, node by node."""

    def __init__(self, block: Block, moving: int) -> None:
        self.given, self.moving, self.names = block, moving, NewNames(block)
        self.values = {name: block.values[name] for name in block.inputs}
        self.nodes: list[Node] = []
        self.held: dict[str, str] = {}
        """The tensors that others are in another shape."""
        self.moved = _NOTHING
        """The most that has been moved so far."""

    def done(self) -> _Walk:
        """The walk to the end of the block."""
        for node in self.given.nodes:
            if node.operator.holds_data and node.outputs[0] in self.values:
                continue  # it has been written already, for what was moved before it
            if not self._put_off(node) and not self._turned(node) and not self._moved(node):
                self._write(with_inputs(node, tuple(map(self._needed, node.inputs))))
        for name in self.given.outputs:
            if self._needed(name) != name:
                self._write(Node(IDENTITY(), (self.held[name],), (name,)))
        return self

    def block(self) -> Block:
        """The block again."""
        found = replace(self.given, nodes=tuple(self.nodes), values=self.values)
        return with_names(found, self.held.items(), _FLAT)

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
        flat = self.names[output + _FLAT]
        self.values[flat] = replace(self.given.values[output], name=flat, shape=shape)
        self.held[output] = flat
        return flat

    def _moved(self, node: Node) -> bool:
        """Whether a node has been written for operands before they were reshaped."""
        if count := elementwise(node):
            is_moved, what = self.moving > _NOTHING and self._computed(node, count), _ELEMENTWISE
        elif isinstance(node.operator, SLICE) or node.operator.opcode in ALONG:
            is_moved, what = self.moving > _ELEMENTWISE and self._along(node), _PARTS
        else:
            return False
        self.moved = max(self.moved, what) if is_moved else self.moved
        return is_moved

    def _computed(self, node: Node, count: int) -> bool:
        """An elementwise node, in the shape for which the fewest operands have to be reshaped."""
        data, rest = node.inputs[:count], node.inputs[count:]
        if self.held.keys().isdisjoint(data):
            return False
        computed = dict.fromkeys(name for name in data if self.given.values[name].data is None)
        (output,) = node.outputs
        own = self._shape(output)
        bases = (self._shape(self._base(name)) for name in computed if self._shape(name) == own)
        options: list[tuple[int, Shape, list[Shape]]] = []
        for shape in dict.fromkeys((own, *bases)):
            wanted = [found for name in data if (found := self._fitting(name, own, shape)) is not None]
            if len(wanted) == len(data):
                pairs = {*zip(data, wanted, strict=True)}
                missing = sum(name in computed and not self._is_there(name, one) for name, one in pairs)
                options.append((missing, shape, wanted))
        _, shape, wanted = min(options, key=itemgetter(0))
        if shape == own:
            return False
        flat = self._flat(output, shape)
        inputs = map(self._as, data, wanted)
        self.nodes.append(replace(node, inputs=(*inputs, *rest), outputs=(flat,)))
        return True

    def _fitting(self, name: str, own: Shape, shape: Shape) -> Shape | None:
        """The shape of an operand beside results that have a shape in place of their own."""
        given = self._shape(name)
        places, before = _wide(own), _wide(shape)
        if given == own:
            return shape
        if len(given) == len(own) and [own[one] for one in places] == [shape[one] for one in before]:
            found = dict(zip(before, (given[one] for one in places), strict=True))
            return tuple(found.get(place, 1) for place in range(len(shape)))
        if prod(given) == 1:
            return (1,) * len(shape)
        is_last = prod(given) == given[-1] == own[-1]
        return (*(1,) * (len(shape) - 1), given[-1]) if is_last and shape and shape[-1] == own[-1] else None

    def _along(self, node: Node) -> bool:
        """A part, or what is done along a dimension, where reshaping only has moved dimensions of 1."""
        name, rest, (output,) = node.inputs[0], node.inputs[1:], node.outputs
        if name not in self.held or name in self.values:
            return False
        own, source = self._shape(name), self.held[name]
        shape = list(self._shape(source))
        places, before = _wide(own), _wide(shape)
        if [own[one] for one in places] != [shape[one] for one in before]:
            return False
        operator, found = node.operator, self._shape(output)
        if isinstance(operator, SLICE):
            rest = tuple(
                self._numbers(one, places, before, ones)
                for one, ones in zip(rest, ([0] * len(shape), [1] * len(shape)), strict=True)
            )
        else:
            attributes = dict(operator)
            if attributes["axis"] not in places:
                return False
            axis = before[places.index(attributes["axis"])]
            operator = type(operator)(**{**attributes, "axis": axis})
        for place, one in zip(before, places, strict=True):
            shape[place] = found[one]
        flat = self._flat(output, tuple(shape))
        self.nodes.append(replace(node, operator=operator, inputs=(source, *rest), outputs=(flat,)))
        return True

    def _numbers(self, name: str, places: Sequence[int], before: Sequence[int], ones: list[int]) -> str:
        """Starts or sizes for other dimensions of 1."""
        value = self.given.values[name]
        assert value.data is not None
        for place, one in zip(before, places, strict=True):
            ones[place] = int(value.data[one])
        data = np.array(ones, value.data.dtype)
        return self._held(self._as_name(name, ones), data, value)

    def _is_there(self, name: str, shape: Shape) -> bool:
        """Whether a tensor need not be reshaped."""
        return shape == self._shape(self._base(name)) or (name in self.values and shape == self._shape(name))

    def _as(self, name: str, shape: Shape) -> str:
        """A tensor in a shape."""
        source, value = self._base(name), self.given.values[name]
        if shape == self._shape(source):
            return source
        if value.data is not None:
            return self._held(self._as_name(name, shape), value.data.reshape(shape), value)
        if shape == self._shape(name):
            return self._needed(name)
        found = self._as_name(name, shape)
        if found not in self.values:
            self._reshape(source, replace(self.given.values[name], name=found, shape=shape))
        return found

    def _as_name(self, name: str, shape: Sequence[int]) -> str:
        return self.names[f"{name}/as_{'x'.join(map(str, shape))}"]

    def _base(self, name: str) -> str:
        return self.held.get(name, name)

    def _shape(self, name: str) -> Shape:
        found = self.values.get(name) or self.given.values[name]
        assert found.shape is not None
        return found.shape

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
        self._reshape(source, self.given.values[name])
        return name

    def _reshape(self, source: str, result: Value) -> None:
        """Write a reshape."""
        extents = result.shape or ()
        name = self.names[f"{result.name}/shape_{'x'.join(map(str, extents))}"]
        shape = Value(name, SHAPE, (len(extents),), np.array(extents, np.int64))
        if name not in self.values:
            self._write_constant(shape)
        self.values[result.name] = result
        self.nodes.append(Node(RESHAPE(), (source, name), (result.name,)))


def _wide(shape: Sequence[int]) -> list[int]:
    """The dimensions of more than one element."""
    return [place for place, extent in enumerate(shape) if extent != 1]
