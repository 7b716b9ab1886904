"""Shapes: the same elements in other ones, repeated, in another order, joined and cut."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.borders import bordered, spread
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import joined, part, reshaped, small, transposed
from tosajit.frontends.common.slices import Range, cut, strided
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.jax.node import Node, dtype_of
from tosajit.frontends.jax.operators import MOVED, operator
from tosajit.tracing.tensor import Tensor

_KNOWN = f"{MOVED} float64"


@dataclass(frozen=True, slots=True)
class BroadcastAttributes(Attributes):
    """The shape of the result, and which of its dimensions those of the operand are."""

    shape: tuple[int, ...]
    broadcast_dimensions: tuple[int, ...]


def _raised(node: Node) -> tuple[int, ...]:
    options = node.attributes(BroadcastAttributes)
    places = dict(zip(options.broadcast_dimensions, node[0].shape, strict=True))
    return tuple(places.get(axis, 1) for axis in range(len(options.shape)))


def _repeated(node: Node) -> Array:
    return np.broadcast_to(node[0].raw.reshape(_raised(node)), node.attributes(BroadcastAttributes).shape)


def _repeated_where_small(node: Node) -> Array | None:
    shape = node.attributes(BroadcastAttributes).shape
    return _repeated(node) if node[0].raw.size == 1 or small(shape) else None


@operator("broadcast_in_dim", BroadcastAttributes, types=_KNOWN, fold=_repeated_where_small)
def broadcast_in_dim(node: Node, options: BroadcastAttributes) -> Tensor:
    """A tensor whose elements are repeated along dimensions."""
    return expanded(reshaped(node[0].tensor, _raised(node)), options.shape)


@dataclass(frozen=True, slots=True)
class ReshapeAttributes(Attributes):
    """The shape, and the order in which dimensions are read."""

    new_sizes: tuple[int, ...]
    dimensions: tuple[int, ...] | None = None


@operator(
    "reshape", ReshapeAttributes, types=_KNOWN, fold=lambda node: node[0].raw.reshape(node.result.shape)
)
def reshape(node: Node, options: ReshapeAttributes) -> Tensor:
    """The same elements in another shape."""
    return reshaped(node[0].tensor, options.new_sizes)


@operator(
    "squeeze expand_dims", types=_KNOWN, fold=lambda node: node[0].raw.reshape(node.result.shape)
)  # fmt: skip
def squeeze(node: Node) -> Tensor:
    """A tensor without, or with more, dimensions of one element."""
    return reshaped(node[0].tensor, node.result.shape)


@dataclass(frozen=True, slots=True)
class TransposeAttributes(Attributes):
    """The order of dimensions."""

    permutation: tuple[int, ...]


@operator(
    "transpose", TransposeAttributes, types=_KNOWN,
    fold=lambda node: node[0].raw.transpose(node.attributes(TransposeAttributes).permutation),
)  # fmt: skip
def transpose(node: Node, options: TransposeAttributes) -> Tensor:
    """Dimensions in another order."""
    return transposed(node[0].tensor, options.permutation)


@dataclass(frozen=True, slots=True)
class DimensionAttributes(Attributes):
    """The dimension."""

    dimension: int


@operator(
    "concatenate", DimensionAttributes, types=_KNOWN,
    fold=lambda node: np.concatenate(
        [one.raw for one in node.operands], node.attributes(DimensionAttributes).dimension
    ),
)  # fmt: skip
def concatenate(node: Node, options: DimensionAttributes) -> Tensor:
    """Tensors one behind the other along a dimension."""
    axis = options.dimension
    return joined([one.tensor for one in node.operands if one.shape[axis]], axis)


@dataclass(frozen=True, slots=True)
class SplitAttributes(Attributes):
    """The extents of parts along a dimension."""

    sizes: tuple[int, ...]
    axis: int


@operator("split", SplitAttributes, types=MOVED)
def split(node: Node, options: SplitAttributes) -> tuple[Tensor | Array, ...]:
    """Parts of a tensor along a dimension."""
    value, starts = node[0].tensor, accumulate(options.sizes, initial=0)
    return tuple(
        part(value, options.axis, start, size) if size else np.zeros(output.shape)
        for start, size, output in zip(starts, options.sizes, node.record.outputs, strict=False)
    )


@dataclass(frozen=True, slots=True)
class RevAttributes(Attributes):
    """The dimensions that are turned."""

    dimensions: tuple[int, ...]


@operator(
    "rev", RevAttributes, types=_KNOWN,
    fold=lambda node: np.flip(node[0].raw, node.attributes(RevAttributes).dimensions),
)  # fmt: skip
def rev(node: Node, options: RevAttributes) -> Tensor:
    """Dimensions from their ends to their beginnings."""
    value = node[0].tensor
    for axis in options.dimensions:
        value = ops.reverse(value, axis=axis) if value.shape[axis] > 1 else value
    return value


@dataclass(frozen=True, slots=True)
class SliceAttributes(Attributes):
    """Where the part begins and ends, and its steps."""

    start_indices: tuple[int, ...]
    limit_indices: tuple[int, ...]
    strides: tuple[int, ...] | None = None

    @property
    def ranges(self) -> list[Range]:
        """The elements of each dimension."""
        steps = self.strides or (1,) * len(self.start_indices)
        return list(map(Range, self.start_indices, self.limit_indices, steps))


@operator(
    "slice", SliceAttributes, types=_KNOWN,
    fold=lambda node: cut(node[0].raw, node.attributes(SliceAttributes).ranges),
)  # fmt: skip
def slice_(node: Node, options: SliceAttributes) -> Tensor:
    """A part of a tensor, also with steps."""
    return strided(node[0].tensor, options.ranges)


@dataclass(frozen=True, slots=True)
class PadAttributes(Attributes):
    """For each dimension, how much is put before, behind and between elements."""

    padding_config: tuple[tuple[int, int, int], ...]


@operator("pad", PadAttributes, types=MOVED)
def pad(node: Node, options: PadAttributes) -> Tensor:
    """A border of one number, which is also put between elements; negative borders cut off."""
    value, filling = node[0].tensor, node[1]
    if filling.is_constant:
        return _padded(value, options, filling.number)
    truths = expanded(ops.const(np.ones((1,) * value.ndim, np.bool_)), value.shape)
    inside, zeros = _padded(truths, options, False), _padded(value, options, 0)
    return ops.select(inside, zeros, reshaped(filling.tensor, (1,) * value.ndim))


def _padded(value: Tensor, options: PadAttributes, number: float) -> Tensor:
    for axis, (_, _, gap) in enumerate(options.padding_config):
        value = spread(value, axis, gap + 1, number)
    return bordered(value, [(low, high) for low, high, _ in options.padding_config], number)


@dataclass(frozen=True, slots=True)
class IotaAttributes(Attributes):
    """The shape, and the dimension whose elements are numbered."""

    shape: tuple[int, ...]
    dimension: int


@operator("iota", IotaAttributes)
def iota(node: Node, options: IotaAttributes) -> Tensor | Array:
    """The numbers of the elements of a dimension."""
    rank, axis = len(options.shape), options.dimension
    numbers = numbered(options.shape[axis], axis, rank)
    if small(options.shape):
        return np.broadcast_to(numbers.astype(node.kind.storage), options.shape)
    dtype = dtype_of(node.kind)
    return expanded(node.trace.constant(numbers.astype(dtype.storage), dtype), options.shape)


@dataclass(frozen=True, slots=True)
class TileAttributes(Attributes):
    """How often each dimension is repeated."""

    reps: tuple[int, ...]


@operator("tile", TileAttributes, types=MOVED)
def tile(node: Node, options: TileAttributes) -> Tensor:
    """A tensor repeated along its dimensions."""
    value = node[0].tensor
    raised = reshaped(value, (1,) * (len(options.reps) - value.ndim) + value.shape)
    return ops.tile(raised, options.reps)
