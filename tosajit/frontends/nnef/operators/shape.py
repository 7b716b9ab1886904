"""Constants, shapes, parts and order of elements (NNEF 2.0 sections 4.1.1 to 4.1.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.borders import mirrored, padded, replicated
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import constant_of, joined, part, reshaped, small, transposed
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.common.slices import Range, strided
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.model import tensors_of
from tosajit.frontends.nnef.node import Attributes, Node, dtype_of, each, shape_of
from tosajit.frontends.nnef.operators import ALL, operator
from tosajit.tracing.tensor import Tensor

_LONGEST = 1 << 24
"""Elements of a range: few numbers of a text can ask for many."""


def made(elements: Array, type: str) -> Tensor:
    """A constant of a type of NNEF."""
    found: Tensor = ops.const(np.asarray(elements).astype(dtype_of(type).storage))
    return found


@dataclass(frozen=True, slots=True)
class Elements(Attributes):
    """The elements of a constant, or one that all of them are."""

    value: tuple[int | float | bool, ...]


@operator("layout.tensor", Elements)
def tensor(node: Node, options: Elements) -> Tensor:
    """A constant."""
    shape, type = node.shape("output"), node.result("output").type
    if len(options.value) == 1:
        single = made(np.full((1,) * len(shape), options.value[0]), type)
        return expanded(single, shape)
    return made(np.array(options.value).reshape(shape), type)


@operator("layout.uniform", types=ALL)
def uniform(node: Node) -> Tensor:
    """A tensor all of whose elements are one number."""
    return expanded(node["value"], node.shape("output"))


@dataclass(frozen=True, slots=True)
class Progression(Attributes):
    """The first number, and the step to the next."""

    first: float
    stride: float


@operator("layout.range", Progression)
def range_(node: Node, options: Progression) -> Tensor:
    """Numbers with equal steps between them."""
    (count,) = node.shape("output")
    if count > _LONGEST:
        raise Refused(f"its {count} numbers are too many to be kept as a constant")
    return made(options.first + np.arange(count) * options.stride, node.result("output").type)


@operator("layout.shape")
def shape(node: Node) -> Tensor:
    """The shape of a tensor."""
    (given,) = tensors_of(node.operation.inputs["input"])
    return made(np.array(shape_of(given), np.int32), "int")


@operator(
    "layout.reshape layout.flatten layout.unflatten layout.squeeze layout.unsqueeze",
    types=ALL,
)
def reshape(node: Node) -> Tensor:
    """The same elements in another shape."""
    return reshaped(node["input"], node.shape("output"))


@dataclass(frozen=True, slots=True)
class Axis(Attributes):
    """A dimension."""

    axis: int


@operator("layout.concat", Axis, types=ALL)
def concat(node: Node, options: Axis) -> Tensor:
    """Tensors one behind the other along a dimension."""
    values = node.pack("inputs")
    (axis,) = axes_of([options.axis], values[0].ndim)
    return joined([one for one in values if one.shape[axis]] or values[:1], axis)


@operator("layout.stack", Axis, types=ALL)
def stack(node: Node, options: Axis) -> Tensor:
    """Tensors one behind the other along a new dimension."""
    shape, values = node.shape("output"), node.pack("inputs")
    axis = options.axis + values[0].ndim if options.axis < 0 else options.axis
    return joined([reshaped(one, (*shape[:axis], 1, *shape[axis + 1 :])) for one in values], axis)


@operator("layout.split", Axis, types=ALL)
def split(node: Node, options: Axis) -> tuple[Tensor, ...]:
    """Parts of a tensor along a dimension."""
    value, results = node["input"], tensors_of(node.operation.outputs["outputs"])
    (axis,) = axes_of([options.axis], value.ndim)
    sizes = [shape_of(one)[axis] for one in results]
    return tuple(part(value, axis, sum(sizes[:place]), size) for place, size in enumerate(sizes))


@operator("layout.unstack", Axis, types=ALL)
def unstack(node: Node, options: Axis) -> tuple[Tensor, ...]:
    """The parts of a tensor along a dimension, one element of that each."""
    value, results = node["input"], tensors_of(node.operation.outputs["outputs"])
    (axis,) = axes_of([options.axis], value.ndim)
    return tuple(reshaped(part(value, axis, place, 1), shape_of(one)) for place, one in enumerate(results))


@dataclass(frozen=True, slots=True)
class Repeats(Attributes):
    """How often a tensor is repeated along some dimensions."""

    axes: tuple[int, ...]
    repeats: tuple[int, ...]


@operator("layout.tile", Repeats, types=ALL)
def tile(node: Node, options: Repeats) -> Tensor:
    """A tensor repeated along dimensions."""
    value = node["input"]
    multiples = [1] * value.ndim
    for axis, count in zip(options.axes, each(options.repeats, len(options.axes)), strict=True):
        multiples[axis] = count
    return value if all(one == 1 for one in multiples) else ops.tile(value, multiples)


@operator("layout.broadcast", types=ALL)
def broadcast(node: Node) -> Tensor:
    """A tensor whose dimensions of one element are repeated."""
    return expanded(node["input"], node.shape("output"))


@dataclass(frozen=True, slots=True)
class Part(Attributes):
    """Which elements are taken along some dimensions."""

    axes: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    stride: tuple[int, ...]


@operator("layout.slice", Part, types=ALL)
def slice_(node: Node, options: Part) -> Tensor:
    """A part of a tensor, along each dimension every so many elements."""
    value, count = node["input"], len(options.axes)
    ranges = [Range(0, extent) for extent in value.shape]
    numbers = (each(one, count) for one in (options.begin, options.end, options.stride))
    for axis, begin, end, step in zip(options.axes, *numbers, strict=True):
        ranges[axis] = Range(begin, min(max(end, -1), value.shape[axis]), step)
    return strided(value, ranges)


@dataclass(frozen=True, slots=True)
class Border(Attributes):
    """How wide the border is before and behind some dimensions, and what it has."""

    axes: tuple[int, ...]
    padding: tuple[int, ...]
    method: str


@operator("layout.pad", Border, types=ALL)
def pad(node: Node, options: Border) -> Tensor:
    """A border of one number, or one that repeats or mirrors elements."""
    value, count = node["input"], len(options.axes)
    numbers = each(options.padding, 2 * count)
    borders = [(0, 0)] * value.ndim
    for axis, border in zip(options.axes, zip(numbers[:count], numbers[count:], strict=True), strict=True):
        borders[axis] = border
    if options.method == "CONSTANT":
        return _bordered(node, value, borders)
    for axis, border in enumerate(borders):
        if options.method == "REPLICATE":
            value = replicated(value, axis, border)
        else:
            value = _mirrored(value, axis, border, options.method == "SYMMETRIC")
    return value


def _bordered(node: Node, value: Tensor, borders: list[tuple[int, int]]) -> Tensor:
    filling = node.optional("value")
    if filling is None:
        return padded(value, borders)
    data = constant_of(filling)
    if data is not None:
        return padded(value, borders, data.reshape(-1)[0])
    shape = node.shape("output")
    inside = np.zeros(shape if small(shape) else (0,), np.bool_)
    if inside.size == 0:
        raise Refused("its border is of a number that is computed, and too large for a mask")
    inside[tuple(slice(one, one + extent) for (one, _), extent in zip(borders, value.shape, strict=True))] = 1
    mask: Tensor = ops.const(inside)
    return ops.select(mask, padded(value, borders), reshaped(filling, (1,) * value.ndim))


def _mirrored(value: Tensor, axis: int, border: tuple[int, int], edge: bool) -> Tensor:
    most = value.shape[axis] - (0 if edge else 1)
    if max(border) > most:
        raise Refused(f"its border of dimension {axis} is {max(border)} wide, but {most} can be mirrored")
    return mirrored(value, axis, border, edge=edge)


@dataclass(frozen=True, slots=True)
class Order(Attributes):
    """The order of the dimensions from one on."""

    axis: int
    perm: tuple[int, ...]


@operator("layout.transpose", Order, types=ALL)
def transpose(node: Node, options: Order) -> Tensor:
    """Dimensions in another order."""
    value = node["input"]
    start = options.axis % value.ndim if value.ndim else 0
    order = [one + value.ndim if one < 0 else one for one in options.perm]
    return transposed(value, [*range(start), *order])
