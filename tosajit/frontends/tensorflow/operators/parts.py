"""Parts of tensors, tensors put together, and tensors repeated, turned round or bordered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.borders import Border, mirrored, padded
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import joined, part, reshaped, small
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.common.slices import Masks, Range, cut, masked, strided
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.node import Node, Operand
from tosajit.frontends.tensorflow.operators import MOVED, operator
from tosajit.tracing.tensor import Tensor


@operator("Slice", types=MOVED, fold=lambda node: cut(node[0].raw, _slice_ranges(node)))
def slice_(node: Node) -> Tensor:
    """A part of a tensor."""
    return strided(node[0].tensor, _slice_ranges(node))


def _slice_ranges(node: Node) -> list[Range]:
    ones = zip(node[0].shape, node[1].ints, node[2].ints, strict=True)
    found = [Range(start, extent if size < 0 else start + size) for extent, start, size in ones]
    for one, extent in zip(found, node[0].shape, strict=True):
        if not 0 <= one.start <= one.stop <= extent:
            raise Refused(f"its part from {one.start} to {one.stop} is not inside of {extent} elements")
    return found


@dataclass(frozen=True, slots=True)
class StridedSliceAttributes(Attributes):
    """What the bits say of each dimension."""

    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0


@operator("StridedSlice", types=MOVED, fold=lambda node: _strided_part(node, node[0].raw))
def strided_slice(node: Node) -> Tensor:
    """A part of a tensor, along each dimension every so many elements."""
    ranges, shape = _strided_ranges(node)
    return reshaped(strided(node[0].tensor, ranges), shape)


def _strided_part(node: Node, data: Array) -> Array:
    ranges, shape = _strided_ranges(node)
    return cut(data, ranges).reshape(shape)


def _strided_ranges(node: Node) -> tuple[list[Range], tuple[int, ...]]:
    given = node.attributes(StridedSliceAttributes)
    masks = Masks(
        given.begin_mask, given.end_mask, given.ellipsis_mask, given.new_axis_mask, given.shrink_axis_mask
    )
    begin, end, step = (node[number].ints for number in (1, 2, 3))
    return masked(node[0].shape, begin, end, step, masks)


def _joined(values: tuple[Operand, ...], axis: Operand) -> Array:
    (place,) = axes_of(axis.ints, values[0].rank)
    return np.concatenate([one.raw for one in values], place)


def _concat(values: tuple[Operand, ...], axis: Operand) -> Tensor:
    (place,) = axes_of(axis.ints, values[0].rank)
    parts = [one.tensor for one in values if one.shape[place]] or [values[0].tensor]
    return joined(parts, place)


@operator("ConcatV2", types=MOVED, fold=lambda node: _joined(node.operands[:-1], node.operands[-1]))
def concat_v2(node: Node) -> Tensor:
    """Tensors one behind the other along a dimension, which is the last operand."""
    return _concat(node.operands[:-1], node.operands[-1])


@operator("Concat", types=MOVED, typed=1, fold=lambda node: _joined(node.operands[1:], node[0]))
def concat(node: Node) -> Tensor:
    """Tensors one behind the other along a dimension, which is the first operand."""
    return _concat(node.operands[1:], node[0])


@dataclass(frozen=True, slots=True)
class AxisAttributes(Attributes):
    """A dimension."""

    axis: int = 0


def _stacked(node: Node) -> Array:
    return np.stack([operand.raw for operand in node.operands], node.attributes(AxisAttributes).axis)


@operator("Pack", AxisAttributes, types=MOVED, fold=_stacked)
def pack(node: Node, options: AxisAttributes) -> Tensor:
    """Tensors one behind the other along a new dimension."""
    shape = node[0].shape
    (axis,) = axes_of([options.axis], len(shape) + 1)
    parts = [reshaped(one, (*shape[:axis], 1, *shape[axis:])) for one in node.tensors]
    return joined(parts, axis)


def _unstacked(node: Node) -> tuple[Array, ...]:
    axis = node.attributes(AxisAttributes).axis
    return tuple(np.ascontiguousarray(one) for one in np.moveaxis(node[0].raw, axis, 0))


@operator("Unpack", AxisAttributes, types=MOVED, fold=_unstacked)
def unpack(node: Node, options: AxisAttributes) -> tuple[Tensor, ...]:
    """The parts of a tensor along a dimension, without it."""
    value = node[0].tensor
    (axis,) = axes_of([options.axis], value.ndim)
    shape = (*value.shape[:axis], *value.shape[axis + 1 :])
    return tuple(reshaped(part(value, axis, place, 1), shape) for place in range(value.shape[axis]))


@dataclass(frozen=True, slots=True)
class SplitAttributes(Attributes):
    """How many parts there are."""

    num_split: int


def _sections(value: Operand, axis: Operand, sizes: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """The dimension, the start and the extent of each part; -1 stands for what is left."""
    (place,) = axes_of(axis.ints, value.rank)
    rest = value.shape[place] - sum(size for size in sizes if size >= 0)
    found = [rest if size < 0 else size for size in sizes]
    if sum(found) != value.shape[place] or min(found) < 0:
        raise Refused(f"its parts {list(sizes)} are not {value.shape[place]} elements together")
    return [(place, sum(found[:number]), size) for number, size in enumerate(found)]


@operator("Split", SplitAttributes, types=MOVED, typed=1)
def split(node: Node, options: SplitAttributes) -> tuple[Tensor | Array, ...]:
    """Equal parts of a tensor along a dimension."""
    (axis,) = axes_of(node[0].ints, node[1].rank)
    count, extent = options.num_split, node[1].shape[axis]
    if not 0 < count <= max(extent, 1) or extent % count:
        raise Refused(f"its {extent} elements are not {count} equal parts")
    return _parts(node[1], node[0], (extent // count,) * count)


@operator("SplitV", types=MOVED)
def split_v(node: Node) -> tuple[Tensor | Array, ...]:
    """Parts of a tensor of given extents along a dimension."""
    return _parts(node[0], node[2], node[1].ints)


def _parts(value: Operand, axis: Operand, sizes: tuple[int, ...]) -> tuple[Tensor | Array, ...]:
    sections = _sections(value, axis, sizes)
    if value.is_constant:
        return tuple(np.take(value.raw, range(start, start + size), place) for place, start, size in sections)
    return tuple(part(value.tensor, *section) for section in sections)


def _bordered(node: Node) -> Array | None:
    borders = _borders(node[1], node[0].rank)
    whole = [extent + sum(border) for extent, border in zip(node[0].shape, borders, strict=True)]
    filling = node[2].number if len(node.operands) > 2 else 0
    return np.pad(node[0].raw, borders, constant_values=filling) if small(whole) else None


@operator("Pad PadV2", types=MOVED, fold=_bordered)
def pad(node: Node) -> Tensor:
    """A border of zeros, or of one number."""
    filling = node[2].number if len(node.operands) > 2 else 0
    return padded(node[0].tensor, _borders(node[1], node[0].rank), filling)


@dataclass(frozen=True, slots=True)
class MirrorAttributes(Attributes):
    """Whether the border itself is repeated."""

    mode: str


@operator("MirrorPad", MirrorAttributes, types=MOVED)
def mirror_pad(node: Node, options: MirrorAttributes) -> Tensor:
    """A border that mirrors the elements inside of it, with or without those at the edge."""
    value, edge = node[0].tensor, options.mode == "SYMMETRIC"
    for axis, border in enumerate(_borders(node[1], value.ndim)):
        most = value.shape[axis] - (0 if edge else 1)
        if max(border) > most:
            raise Refused(f"its border of dimension {axis} is {max(border)} wide, but {most} can be mirrored")
        value = mirrored(value, axis, border, edge=edge)
    return value


def _borders(operand: Operand, count: int) -> list[Border]:
    """The borders that a matrix of two columns says."""
    numbers = operand.ints
    if len(numbers) != 2 * count or any(number < 0 for number in numbers):
        raise Refused(f"its borders {list(numbers)} are not two from 0 for each of {count} dimensions")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _tiled(node: Node) -> Array | None:
    multiples = node[1].ints
    whole = [extent * one for extent, one in zip(node[0].shape, multiples, strict=True)]
    return np.tile(node[0].raw, multiples) if small(whole) else None


@operator("Tile", types=MOVED, fold=_tiled)
def tile(node: Node) -> Tensor:
    """A tensor repeated along its dimensions."""
    multiples = node[1].ints
    return node[0].tensor if all(one == 1 for one in multiples) else ops.tile(node[0].tensor, multiples)


@operator("BroadcastTo", types=MOVED, fold=lambda node: np.broadcast_to(node[0].raw, node[1].ints))
def broadcast_to(node: Node) -> Tensor:
    """A tensor whose dimensions of one element are repeated to fill a shape."""
    return expanded(node[0].tensor, node[1].ints)


@operator("Fill", types=MOVED, typed=1, fold=lambda node: np.broadcast_to(node[1].number, node[0].ints))
def fill(node: Node) -> Tensor:
    """A tensor of a shape, all of whose elements are one number."""
    return expanded(node[1].tensor, node[0].ints)


@operator("ZerosLike", types=MOVED)
def zeros_like(node: Node) -> Array:
    """Zeros in the shape of a tensor."""
    return np.broadcast_to(np.zeros((), node[0].dtype.storage), node[0].shape)


@operator("OnesLike", types=MOVED)
def ones_like(node: Node) -> Array:
    """Ones in the shape of a tensor."""
    return np.broadcast_to(np.ones((), node[0].dtype.storage), node[0].shape)


def _turned(node: Node) -> Array:
    return np.flip(node[0].raw, axes_of(node[1].ints, node[0].rank))


@operator("ReverseV2", types=MOVED, fold=_turned)
def reverse_v2(node: Node) -> Tensor:
    """A tensor turned round along dimensions."""
    value = node[0].tensor
    for axis in axes_of(node[1].ints, value.ndim):
        value = ops.reverse(value, axis=axis)
    return value


@operator("Roll", types=MOVED)
def roll(node: Node) -> Tensor:
    """Elements moved on along dimensions; what is behind the end comes in at the beginning."""
    value = node[0].tensor
    for shift, given in zip(node[1].ints, node[2].ints, strict=True):
        (axis,) = axes_of([given], value.ndim)
        extent = value.shape[axis]
        rest = -shift % extent if extent else 0
        if rest:
            value = ops.concat(
                [part(value, axis, rest, extent - rest), part(value, axis, 0, rest)], axis=axis
            )
    return value
