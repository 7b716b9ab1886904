"""Lists of tensors, which loops of recurrent layers fill: they are there only while the model is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.frontends.common.layout import joined, part, reshaped, small
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.elements import STORAGE
from tosajit.frontends.tensorflow.node import Node, Operand, TensorList
from tosajit.frontends.tensorflow.operators import operator
from tosajit.frontends.tensorflow.schema import Type
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class ListAttributes(Attributes):
    """The type of items."""

    element_dtype: Type


def _extents(shape: Operand) -> tuple[int, ...]:
    """The shape of items; nothing is known of one that is a single number."""
    return shape.ints if shape.rank else (-1,)


@operator("TensorListReserve", ListAttributes)
def reserve(node: Node, options: ListAttributes) -> TensorList:
    """A list of as many items as a number says, none of which is set."""
    count = int(node[1].number)
    if count < 0 or not small((count,)):
        raise Refused(f"its {count} items are not from 0 to 65536")
    return TensorList(_extents(node[0]), options.element_dtype, (None,) * count)


@operator("EmptyTensorList", ListAttributes)
def empty(node: Node, options: ListAttributes) -> TensorList:
    """A list without items."""
    return TensorList(_extents(node[0]), options.element_dtype, ())


@operator("TensorListFromTensor", ListAttributes)
def from_tensor(node: Node, options: ListAttributes) -> TensorList:
    """The parts of a tensor along its first dimension."""
    value, shape = node[0], node[0].shape
    if not shape or not small(shape[:1]):
        raise Refused(f"its tensor {list(shape)} has too many parts, or none")
    if value.is_constant:
        return TensorList(shape[1:], value.type, tuple(value.raw))
    tensor = value.tensor
    parts = (reshaped(part(tensor, 0, place, 1), shape[1:]) for place in range(shape[0]))
    return TensorList(shape[1:], value.type, tuple(parts))


@operator("TensorListLength")
def length(node: Node) -> Array:
    """How many items there are."""
    return np.array(len(node[0].items.items), np.int32)


@operator("TensorListGetItem", ListAttributes)
def get_item(node: Node, options: ListAttributes) -> Tensor | Array:
    """An item; zeros where it is not set."""
    found = node[0].items
    item = found.items[_place(node[1], found)]
    return _zeros([found.shape, _extents(node[2])], options.element_dtype) if item is None else item


@operator("TensorListSetItem", ListAttributes)
def set_item(node: Node, options: ListAttributes) -> TensorList:
    """The list with an item that is set."""
    found = node[0].items
    place = _place(node[1], found)
    value = node[2].raw if node[2].is_constant else node[2].tensor
    return replace(found, items=(*found.items[:place], value, *found.items[place + 1 :]))


@operator("TensorListPushBack", ListAttributes)
def push_back(node: Node, options: ListAttributes) -> TensorList:
    """The list with one more item."""
    found = node[0].items
    if not small((len(found.items),)):
        raise Refused("its items are too many")
    return replace(found, items=(*found.items, node[1].raw if node[1].is_constant else node[1].tensor))


@operator("TensorListStack", ListAttributes)
def stack(node: Node, options: ListAttributes) -> Tensor:
    """All items, one behind the other along a new first dimension; zeros where one is not set."""
    found = node[0].items
    shapes = [item.shape for item in found.items if item is not None]
    shapes += [found.shape, _extents(node[1])]
    parts = [
        reshaped(_zeros(shapes, options.element_dtype) if item is None else item, (1, *_known(shapes)))
        for item in found.items
    ]
    if not parts:
        raise Refused("it puts the items of a list together that has none")
    return joined(parts, 0)


def _place(operand: Operand, found: TensorList) -> int:
    place = int(operand.number)
    if not 0 <= place < len(found.items):
        raise Refused(f"it takes item {place} of {len(found.items)}")
    return place


def _known(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    for shape in shapes:
        if all(extent >= 0 for extent in shape):
            return tuple(shape)
    raise Refused("the shape of an item that is not set is not known")


def _zeros(shapes: Sequence[Sequence[int]], kind: Type) -> Array:
    storage = STORAGE.get(kind)
    if storage is None:
        raise Refused(f"TOSA has no type for {kind.label}")
    return np.broadcast_to(np.zeros((), storage), _known(shapes))
