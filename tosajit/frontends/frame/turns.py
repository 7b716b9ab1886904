"""Transposes of models whose channels are first: moved behind what does not mind, until they cancel.

A TRANSPOSE is not written where it stands, but where its result is needed in that order. Elementwise
operators, reductions along a dimension, joints, parts and borders take operands of another order that they
share, and have results of it; constants are turned when the model is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from tiling.records import replace
from tosajit.dtypes import SHAPE
from tosajit.frontends.frame.names import NewNames, with_inputs, with_names
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.operator import Operator
from tosajit.operators import (
    CAST,
    CONCAT,
    CONST,
    CONST_SHAPE,
    IDENTITY,
    PAD,
    RESCALE,
    RESHAPE,
    REVERSE,
    SLICE,
    TABLE,
    TRANSPOSE,
)

Order: TypeAlias = tuple[int, ...]

_DATA = {"2.4": 1, "2.5": 2, "2.6": 1, "2.7": 3, "2.8": 2}
"""How many tensors elementwise operators of a section of TOSA 1.0.1 take."""
ALONG = ("REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PRODUCT", "REDUCE_SUM", "REVERSE")
"""Operators that work along one dimension, and keep the others."""
_SUFFIX = "/turned"
_ONLY_MOVING = (IDENTITY, RESHAPE, TRANSPOSE)
_NEVER, _WHERE_NEIGHBOURS, _ALWAYS = range(3)
"""Which reshapes are done before a transpose: of dimensions that are neighbours there, or become them."""


def cancelled(graph: Graph) -> Graph:
    """The graph with as few transposes as that leaves."""
    if not any(isinstance(node.operator, TRANSPOSE) for node in graph.nodes):
        return graph
    regions = (Region(one.name, tuple(map(_fewest, one.blocks))) for one in graph.regions)
    return replace(graph, regions=tuple(regions))


def _fewest(block: Block) -> Block:
    """A block whose reshapes are done in the order before a transpose, or in their own."""
    walks = [_Walk(block, _ALWAYS).done()]
    while reshaping := walks[-1].reshaped:  # with less, what has been done with all of this is done again
        walks.append(_Walk(block, reshaping - 1).done())
    fewest = min(reversed(walks), key=lambda one: (_count(one, *_ONLY_MOVING), _count(one, TRANSPOSE)))
    return fewest.block()


def _count(walk: _Walk, *operators: type[Operator]) -> int:
    return sum(isinstance(node.operator, operators) for node in walk.nodes)


class _Walk:
    """A block, node by node."""

    def __init__(self, block: Block, reshaping: int) -> None:
        self.given, self.reshaping, self.names = block, reshaping, NewNames(block)
        self.values = {name: block.values[name] for name in block.inputs}
        self.nodes: list[Node] = []
        self.held: dict[str, tuple[str, Order]] = {}
        """Tensors that are others transposed, and not written yet."""
        self.reshaped = _NEVER
        """Which reshapes have been done before a transpose so far."""

    def done(self) -> _Walk:
        """The walk to the end of the block."""
        for node in self.given.nodes:
            if not self._moved(node):
                self._keep(node)
        for name in self.given.outputs:
            self._needed(name)
            if name not in self.values:
                self._identity(name)
        return self

    def block(self) -> Block:
        """The block again."""
        found = replace(self.given, nodes=tuple(self.nodes), values=self.values)
        return with_names(found, ((name, source) for name, (source, _) in self.held.items()), _SUFFIX)

    def _moved(self, node: Node) -> bool:
        """Whether a node has been dealt with in another order than its own."""
        if isinstance(node.operator, TRANSPOSE):
            source, before = self._base(node.inputs[0])
            self.held[node.outputs[0]] = source, tuple(before[place] for place in node.operator.perms)
            return True
        if isinstance(node.operator, RESHAPE):
            return self.reshaping > _NEVER and self._regrouped(node)
        count = _operands(node)
        if count == 0:
            return False
        order = self._shared(node.inputs[:count])
        if order is None:
            return False
        inputs = [self._turned(name, order) for name in node.inputs[:count]]
        rest, operator = list(node.inputs[count:]), node.operator
        if isinstance(operator, CONCAT) or operator.opcode in ALONG:
            attributes = dict(operator)
            operator = type(operator)(**{**attributes, "axis": order[attributes["axis"]]})
        elif isinstance(operator, SLICE | PAD):
            width = 2 if isinstance(operator, PAD) else 1
            shapes = rest[:1] if isinstance(operator, PAD) else rest
            rest = [self._shape(name, order, width) for name in shapes] + rest[len(shapes) :]
        (output,) = node.outputs
        turned = self.names[output + _SUFFIX]
        self.values[turned] = replace(
            self.given.values[output], name=turned, shape=self._extents(output, order)
        )
        self.nodes.append(replace(node, operator=operator, inputs=(*inputs, *rest), outputs=(turned,)))
        self.held[output] = turned, order
        return True

    def _regrouped(self, node: Node) -> bool:
        """Whether a reshape has been written for a tensor before it is transposed."""
        name, (output,) = node.inputs[0], node.outputs
        source, order = self._base(name)
        before, behind = (self.given.values[one].shape or () for one in (name, output))
        if order == tuple(range(len(order))):
            return False
        groups = _groups(before, behind)
        wide = sorted(order[place] for place, extent in enumerate(before) if extent != 1)
        ranks = {place: wide.index(order[place]) for place, extent in enumerate(before) if extent != 1}
        ends, last, are_neighbours = [], -1, True
        for ins, _ in groups:
            found = [ranks[place] for place in ins if place in ranks]
            last = found[-1] if found else last
            ends.append(last)
            are_neighbours = are_neighbours and found == list(range(last - len(found) + 1, last + 1))
        reshaping = _WHERE_NEIGHBOURS if are_neighbours else _ALWAYS
        if self.reshaping < reshaping:
            return False
        self.reshaped = max(self.reshaped, reshaping)
        sequence = sorted(range(len(groups)), key=ends.__getitem__)
        if not are_neighbours:
            source = self._joined(name, [place for one in sequence for place in groups[one][0]])
        places = [place for one in sequence for place in groups[one][1]]
        turned = self.names[output + _SUFFIX]
        extents = tuple(behind[place] for place in places)
        self._reshape(source, replace(self.given.values[output], name=turned, shape=extents))
        self.held[output] = turned, tuple(places.index(place) for place in range(len(behind)))
        return True

    def _joined(self, name: str, places: Sequence[int]) -> str:
        """A tensor in another order, in which dimensions that a reshape joins are neighbours."""
        source, order = self._base(name)
        found = self.names[f"{name}{_SUFFIX}_for_{'_'.join(map(str, places))}"]
        if found not in self.values:
            value = self.given.values[name]
            assert value.shape is not None
            extents = tuple(value.shape[place] for place in places)
            self.values[found] = replace(value, name=found, shape=extents)
            perms = tuple(order[place] for place in places)
            self.nodes.append(Node(TRANSPOSE(perms=perms), (source,), (found,)))
        return found

    def _reshape(self, source: str, result: Value) -> None:
        """Write a reshape."""
        extents = result.shape or ()
        name = self.names[f"{result.name}/shape_{'x'.join(map(str, extents))}"]
        shape = Value(name, SHAPE, (len(extents),), np.array(extents, np.int64))
        if name not in self.values:
            self._constant(shape, CONST_SHAPE())
        self.values[result.name] = result
        self.nodes.append(Node(RESHAPE(), (source, name), (result.name,)))

    def _extents(self, name: str, order: Order) -> Order:
        """The shape of a tensor before it is transposed."""
        shape = self.given.values[name].shape
        assert shape is not None
        return tuple(shape[order.index(place)] for place in range(len(order)))

    def _base(self, name: str) -> tuple[str, Order]:
        shape = self.given.values[name].shape or ()
        return self.held.get(name, (name, tuple(range(len(shape)))))

    def _shared(self, names: Sequence[str]) -> Order | None:
        """The order of operands other than constants, if they have one and it is not their own."""
        computed = [name for name in names if self.given.values[name].data is None]
        strict = [name for name in computed if not self._is_line(name)]
        orders = {self._base(name)[1] for name in strict or computed}
        if len(orders) != 1:
            return None
        (order,) = orders
        return None if order == tuple(range(len(order))) else order

    def _turned(self, name: str, order: Order) -> str:
        """An operand before it was transposed."""
        value = self.given.values[name]
        if value.data is None:
            source, own = self._base(name)
            return source if own == order else self._reshaped(name, source, order)
        if value.data.size == 1:
            return name
        back = [order.index(place) for place in range(len(order))]
        turned = self.names[f"{name}{_SUFFIX}_{'_'.join(map(str, back))}"]
        if turned not in self.values:
            data = np.ascontiguousarray(value.data.transpose(back))
            data.flags.writeable = False
            self._constant(Value(turned, value.dtype, data.shape, data), CONST())
        return turned

    def _is_line(self, name: str) -> bool:
        """Whether a tensor has up to one dimension of more than one element: any order is a reshape then."""
        return sum(extent != 1 for extent in self.given.values[name].shape or ()) <= 1

    def _reshaped(self, name: str, source: str, order: Order) -> str:
        """Such a tensor before it would be transposed."""
        turned = self.names[f"{name}{_SUFFIX}_{'_'.join(map(str, order))}"]
        if turned not in self.values:
            extents = self._extents(name, order)
            self._reshape(source, replace(self.given.values[name], name=turned, shape=extents))
        return turned

    def _shape(self, name: str, order: Order, width: int) -> str:
        """A shape, or paddings, in another order."""
        data = self.given.values[name].data
        assert data is not None
        rows = data.reshape(len(order), width)
        turned = self.names[f"{name}{_SUFFIX}_{'_'.join(map(str, order))}"]
        if turned not in self.values:
            moved = np.empty_like(rows)
            moved[list(order)] = rows
            found = moved.reshape(-1)
            found.flags.writeable = False
            self._constant(Value(turned, SHAPE, found.shape, found), CONST_SHAPE())
        return turned

    def _constant(self, value: Value, operator: CONST | CONST_SHAPE) -> None:
        self.values[value.name] = value
        self.nodes.append(Node(operator, (), (value.name,)))

    def _keep(self, node: Node) -> None:
        """Write a node as it is."""
        inputs = tuple(map(self._needed, node.inputs))
        self.values.update({name: self.given.values[name] for name in node.outputs})
        self.nodes.append(with_inputs(node, inputs))

    def _needed(self, name: str) -> str:
        """A tensor in its own order: transposed now, if it has not been."""
        if name not in self.held or name in self.values:
            return name
        source, order = self.held[name]
        if order == tuple(range(len(order))):
            return source
        self.values[name] = self.given.values[name]
        self.nodes.append(Node(TRANSPOSE(perms=order), (source,), (name,)))
        return name

    def _identity(self, name: str) -> None:
        """An output that is another tensor, after all."""
        self.values[name] = self.given.values[name]
        self.nodes.append(Node(IDENTITY(), (self.held[name][0],), (name,)))


def _operands(node: Node) -> int:
    """How many tensors a node takes that may all have another order; 0 if it does mind the order."""
    operator = node.operator
    if isinstance(operator, CONCAT):
        return len(node.inputs)
    if isinstance(operator, SLICE | PAD | REVERSE) or operator.opcode in ALONG:
        return 1
    return elementwise(node)


def _groups(before: Sequence[int], behind: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The dimensions that a reshape makes of others, with these: as few together as can be."""
    found: list[tuple[list[int], list[int]]] = []
    left, right = list(range(len(before)))[::-1], list(range(len(behind)))[::-1]
    while left or right:
        ins, outs = ([one.pop()] if one else [] for one in (left, right))
        while (have := prod(before[one] for one in ins)) != (want := prod(behind[one] for one in outs)):
            (ins if have < want else outs).append((left if have < want else right).pop())
        found.append((ins, outs))
    return found


def elementwise(node: Node) -> int:
    """How many tensors a node takes, element by element; 0 if it does not work so."""
    operator = node.operator
    if isinstance(operator, RESCALE):
        return 0 if operator.per_channel else 1
    if isinstance(operator, TABLE | IDENTITY | CAST):
        return 1
    return _DATA.get(operator.section.rpartition(".")[0], 0)
