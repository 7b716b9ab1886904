"""Parts of tensors, and tensors of parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.borders import mirrored, padded, replicated
from tosajit.frontends.common.layout import joined, part, reshaped, sliced, transposed
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.common.slices import Range, cut, strided
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import MOVED, operator
from tosajit.frontends.onnx.schema import STORAGE
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class ConcatAttributes(Attributes):
    """The dimension."""

    axis: int


def _joined(node: Node) -> Array:
    return np.concatenate([one.raw for one in node.given], node.attributes(ConcatAttributes).axis)


@operator("Concat", ConcatAttributes, types=f"{MOVED} float64", fold=_joined)
def concat(node: Node, options: ConcatAttributes) -> Tensor:
    """Tensors one behind the other along a dimension."""
    (axis,) = axes_of([options.axis], node[0].rank)
    found = [one.tensor for one in node.given if one.shape[axis]]
    return joined(found, axis)


@dataclass(frozen=True, slots=True)
class SplitAttributes(Attributes):
    """The dimension, and the extents of parts, or how many there are."""

    axis: int = 0
    split: tuple[int, ...] | None = None
    num_outputs: int | None = None


def _split(node: Node) -> tuple[int, tuple[int, ...]]:
    """The dimension, and the extents of parts."""
    options, shape, given = node.attributes(SplitAttributes), node[0].shape, node.optional(1)
    (axis,) = axes_of([options.axis], len(shape))
    sizes = options.split if given is None else given.ints
    if sizes is None:
        count = options.num_outputs or len(node.record.outputs)
        each, extent = -(-shape[axis] // count), shape[axis]
        sizes = tuple(min(each, max(extent - place * each, 0)) for place in range(count))
    if sum(sizes) != shape[axis] or min(sizes) < 0:
        raise Refused(f"its parts {list(sizes)} are none of {shape[axis]} elements")
    return axis, sizes


def _parts(node: Node) -> tuple[Array, ...]:
    axis, sizes = _split(node)
    return tuple(np.split(node[0].raw, np.cumsum(sizes)[:-1], axis))


@operator("Split", SplitAttributes, types=f"{MOVED} float64", fold=_parts)
def split(node: Node, _: SplitAttributes) -> tuple[Tensor | Array, ...]:
    """Parts of a tensor along a dimension; one without elements may be joined to others."""
    value, (axis, sizes) = node[0].tensor, _split(node)
    starts = np.cumsum([0, *sizes]).tolist()
    return tuple(
        part(value, axis, start, size) if size else _nothing(node[0], axis)
        for start, size in zip(starts, sizes, strict=False)
    )


def _nothing(like: Operand, axis: int) -> Array:
    shape = [0 if place == axis else extent for place, extent in enumerate(like.shape)]
    return np.empty(shape, STORAGE[like.type])


@dataclass(frozen=True, slots=True)
class SliceAttributes(Attributes):
    """Where parts are: operands in later versions."""

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    axes: tuple[int, ...] | None = None


def _ranges(node: Node) -> list[Range]:
    """The elements of each dimension that are taken."""
    shape, options = node[0].shape, node.attributes(SliceAttributes)
    starts, ends, axes, steps = (
        given if (one := node.optional(place)) is None else one.ints
        for place, given in enumerate((options.starts, options.ends, options.axes, None), 1)
    )
    starts, ends = starts or (), ends or ()
    axes, steps = axes or tuple(range(len(starts))), steps or (1,) * len(starts)
    found = [Range(0, extent) for extent in shape]
    for axis, start, end, step in zip(axes_each(axes, len(shape)), starts, ends, steps, strict=True):
        if step == 0:
            raise Refused("its step is 0")
        first, last, by = slice(start, end, step).indices(shape[axis])
        found[axis] = Range(first, last, by)
    return found


def axes_each(given: Sequence[int], rank: int) -> list[int]:
    """Dimensions counted from the front, in the order in which they are named."""
    return [axes_of([one], rank)[0] for one in given]


@operator("Slice", types=f"{MOVED} float64", fold=lambda node: cut(node[0].raw, _ranges(node)))
def slice_(node: Node) -> Tensor:
    """A part of a tensor, also with steps."""
    ranges = _ranges(node)
    if any(one.count == 0 for one in ranges):
        raise Refused("its result has no elements, and TOSA's tensors have some")
    return strided(node[0].tensor, ranges)


@dataclass(frozen=True, slots=True)
class PadAttributes(Attributes):
    """What is outside."""

    mode: str = "constant"
    pads: tuple[int, ...] | None = None
    value: float = 0.0


@operator("Pad", PadAttributes, types=MOVED)
def pad(node: Node, options: PadAttributes) -> Tensor:
    """A tensor with more elements, or less, before and behind each dimension."""
    value, given, filling, chosen = node[0].tensor, node.optional(1), node.optional(2), node.optional(3)
    pads = options.pads if given is None else given.ints
    axes = list(range(value.ndim)) if chosen is None else axes_each(chosen.ints, value.ndim)
    if pads is None or len(pads) != 2 * len(axes):
        raise Refused(f"it has {len(pads or ())} numbers for {len(axes)} dimensions")
    borders = [(0, 0)] * value.ndim
    for place, axis in enumerate(axes):
        borders[axis] = pads[place], pads[place + len(axes)]
    starts = [max(-before, 0) for before, _ in borders]
    sizes = [
        extent - start - max(-behind, 0)
        for extent, start, (_, behind) in zip(value.shape, starts, borders, strict=True)
    ]
    value = sliced(value, starts, sizes)
    borders = [(max(before, 0), max(behind, 0)) for before, behind in borders]
    return _bordered(value, borders, options.mode, options.value if filling is None else filling.number)


def _bordered(value: Tensor, borders: Sequence[tuple[int, int]], mode: str, number: float) -> Tensor:
    if mode == "constant":
        return padded(value, borders, number)
    for axis, border in enumerate(borders):
        if not any(border):
            continue
        if mode == "reflect":
            value = mirrored(value, axis, border, edge=False)
        elif mode == "edge":
            value = replicated(value, axis, border)
        elif mode == "wrap":
            value = _wrapped(value, axis, border)
        else:
            raise Refused(f"its mode {mode!r} is not known")
    return value


def _wrapped(value: Tensor, axis: int, border: tuple[int, int]) -> Tensor:
    """A tensor that goes on at its other end."""
    before, behind = border
    extent = value.shape[axis]
    times = -(-before // extent) + 1 + -(-behind // extent)
    long = ops.tile(value, [times if place == axis else 1 for place in range(value.ndim)])
    return part(long, axis, -before % extent, before + extent + behind)


@dataclass(frozen=True, slots=True)
class BlockAttributes(Attributes):
    """The size of blocks, and which channels are in one."""

    blocksize: int
    mode: str = "DCR"


@operator("DepthToSpace", BlockAttributes, types=MOVED)
def depth_to_space(node: Node, options: BlockAttributes) -> Tensor:
    """Channels as square blocks of larger images."""
    value, block = node[0].tensor, options.blocksize
    count, channels, height, width = value.shape
    depth = channels // (block * block)
    if options.mode == "DCR":
        apart = reshaped(value, (count, block, block, depth, height, width))
        order = (0, 3, 4, 1, 5, 2)
    else:
        apart = reshaped(value, (count, depth, block, block, height, width))
        order = (0, 1, 4, 2, 5, 3)
    return reshaped(transposed(apart, order), (count, depth, height * block, width * block))


@operator("SpaceToDepth", BlockAttributes, types=MOVED)
def space_to_depth(node: Node, options: BlockAttributes) -> Tensor:
    """Square blocks of images as the channels of smaller ones."""
    value, block = node[0].tensor, options.blocksize
    count, channels, height, width = value.shape
    apart = reshaped(value, (count, channels, height // block, block, width // block, block))
    shape = (count, channels * block * block, height // block, width // block)
    if options.mode == "CRD":
        return reshaped(transposed(apart, (0, 1, 3, 5, 2, 4)), shape)
    return reshaped(transposed(apart, (0, 3, 5, 1, 2, 4)), shape)


@dataclass(frozen=True, slots=True)
class CenterAttributes(Attributes):
    """Which dimensions."""

    axes: tuple[int, ...] | None = None


@operator("CenterCropPad", CenterAttributes, types=MOVED)
def center_crop_pad(node: Node, options: CenterAttributes) -> Tensor:
    """The middle of a tensor, with zeros around it where it is small."""
    value, wanted = node[0].tensor, node[1].ints
    axes = range(value.ndim) if options.axes is None else axes_each(options.axes, value.ndim)
    for axis, size in zip(axes, wanted, strict=True):
        extent = value.shape[axis]
        if size < extent:
            value = part(value, axis, (extent - size) // 2, size)
        elif size > extent:
            before = (size - extent) // 2
            borders = [(0, 0)] * value.ndim
            borders[axis] = before, size - extent - before
            value = padded(value, borders)
    return value
