"""Elements in another shape or order."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import joined, part, reshaped, transposed
from tosajit.frontends.common.sampling import repeated
from tosajit.frontends.common.slices import Range, cut, strided
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import MOVED, operator
from tosajit.tracing.tensor import Tensor

ANY = f"{MOVED} float64 complex64"


def _reshaped(node: Node) -> Array:
    return node[0].raw.reshape(node.shape)


@operator(
    "aten.view.default aten.reshape.default aten._unsafe_view.default aten.flatten.using_ints "
    "aten.unflatten.int aten.unsqueeze.default aten.squeeze.default aten.squeeze.dim aten.squeeze.dims "
    "aten.view_as.default aten.reshape_as.default aten.atleast_1d.default aten.atleast_2d.default "
    "aten.atleast_3d.default "
    "aten.ravel.default",
    types=ANY,
    fold=_reshaped,
)
def view(node: Node) -> Tensor:
    """The same elements in another shape."""
    return reshaped(node[0].tensor, node.shape)


@operator(
    "aten.alias.default aten.detach.default aten.clone.default aten.contiguous.default "
    "aten.lift_fresh_copy.default aten.lift_fresh.default aten.positive.default "
    "aten.resolve_conj.default aten.resolve_neg.default aten.detach_copy.default aten.alias_copy.default",
)
def same(node: Node) -> Operand:
    """The same tensor."""
    return node[0]


def _permuted(node: Node, self: Operand, dims: Sequence[int]) -> Array:
    return self.raw.transpose(dims)


@operator("aten.permute.default", types=ANY, fold=_permuted)
def permute(node: Node, self: Operand, dims: Sequence[int]) -> Tensor:
    """Dimensions in another order."""
    return transposed(self.tensor, [one % self.rank for one in dims])


def _swapped(node: Node, self: Operand, dim0: int = 0, dim1: int = -1) -> Array:
    return np.swapaxes(self.raw, dim0, dim1) if self.rank > 1 else self.raw


@operator("aten.transpose.int aten.t.default", types=ANY, fold=_swapped)
def transpose(node: Node, self: Operand, dim0: int = 0, dim1: int = -1) -> Tensor:
    """Two dimensions swapped."""
    order = list(range(self.rank))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return transposed(self.tensor, order)


@operator("aten.swapaxes.default", types=ANY)
def swapaxes(node: Node, self: Operand, axis0: int, axis1: int) -> Tensor:
    """Two dimensions swapped."""
    return transpose(node, self, axis0, axis1)


@operator("aten.swapdims.default", types=ANY)
def swapdims(node: Node, self: Operand, dim0: int, dim1: int) -> Tensor:
    """Two dimensions swapped."""
    return transpose(node, self, dim0, dim1)


def _widened(node: Node) -> Array:
    return np.broadcast_to(node[0].raw, node.shape)


@operator(
    "aten.expand.default aten.expand_as.default aten.broadcast_to.default aten.expand_copy.default",
    types=ANY,
    fold=_widened,
)
def expand(node: Node) -> Tensor:
    """Dimensions of one element repeated."""
    return expanded(node[0].tensor, node.shape)


def _tiled(node: Node) -> Array | None:
    times = node.given("repeats", node.given("dims"))
    return np.tile(node[0].raw, times) if prod(node.shape) <= 1 << 16 else None


@operator("aten.repeat.default aten.tile.default", types=ANY, fold=_tiled)
def repeat(node: Node) -> Tensor:
    """A tensor several times along dimensions."""
    value, times = node[0].tensor, node.given("repeats", node.given("dims"))
    rank = max(value.ndim, len(times))
    times = (*(1,) * (rank - len(times)), *times)
    if not rank:
        return value
    return ops.tile(reshaped(value, (*(1,) * (rank - value.ndim), *value.shape)), times)


@operator("aten.repeat_interleave.self_int", types=ANY, ignored="output_size")
def repeat_interleave(node: Node, self: Operand, repeats: int, dim: int | None = None) -> Tensor:
    """Each element of a dimension several times."""
    value = reshaped(self.tensor, (-1,)) if dim is None else self.tensor
    return repeated(value, (dim or 0) % value.ndim, repeats)


def _joined(node: Node, tensors: Sequence[Operand], dim: int = 0) -> Array:
    return np.concatenate([one.raw for one in tensors if one.shape != (0,)], dim)


@operator("aten.cat.default aten.concat.default aten.concatenate.default", types=ANY, fold=_joined)
def cat(node: Node, tensors: Sequence[Operand], dim: int = 0) -> Tensor:
    """Tensors one behind the other along a dimension."""
    axis = dim % len(node.shape)
    kept = [one.typed(node.type).tensor for one in tensors if one.shape != (0,) and one.shape[axis]]
    return joined(kept, axis)


def _stacked(node: Node, tensors: Sequence[Operand], dim: int = 0) -> Array:
    return np.stack([one.raw for one in tensors], dim)


@operator("aten.stack.default", types=ANY, fold=_stacked)
def stack(node: Node, tensors: Sequence[Operand], dim: int = 0) -> Tensor:
    """Tensors one behind the other along a new dimension."""
    axis = dim % len(node.shape)
    shape = (*node.shape[:axis], 1, *node.shape[axis + 1 :])
    return joined([reshaped(one.typed(node.type).tensor, shape) for one in tensors], axis)


@operator("aten.hstack.default aten.vstack.default aten.column_stack.default", types=ANY)
def stacked(node: Node, tensors: Sequence[Operand]) -> Tensor:
    """Tensors one behind the other along the first or second dimension."""
    is_first = ".vstack." in node.record.target or (".hstack." in node.record.target and tensors[0].rank < 2)
    axis = 0 if is_first else 1
    return joined([reshaped(one.tensor, _stackable(node, one, axis)) for one in tensors], axis)


def _stackable(node: Node, one: Operand, axis: int) -> tuple[int, ...]:
    """The shape of an operand with the dimensions of the result."""
    if one.rank == len(node.shape):
        return one.shape
    return (*one.shape, 1) if axis else (1, *one.shape)


@operator(
    "aten.split.Tensor aten.split.default aten.split_with_sizes.default aten.chunk.default "
    "aten.tensor_split.sections aten.tensor_split.indices aten.split.sizes aten.split_copy.Tensor",
    types=ANY,
)
def split(node: Node) -> tuple[Tensor | Operand, ...]:
    """Parts of a tensor along a dimension."""
    value = node[0]
    axis = node.given("dim", 0) % value.rank
    results: list[Tensor | Operand] = []
    start = 0
    for output in node.record.outputs:
        extent = output.shape[axis]
        if extent == 0:
            results.append(node.of(np.empty(output.shape, value.type.storage), value.type))
        else:
            results.append(part(value.tensor, axis, start, extent))
        start += extent
    return tuple(results)


@operator("aten.unbind.int", types=ANY)
def unbind(node: Node, self: Operand, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts of a tensor that have one number along a dimension, without that."""
    axis = dim % self.rank
    shape = (*self.shape[:axis], *self.shape[axis + 1 :])
    return tuple(reshaped(part(self.tensor, axis, place, 1), shape) for place in range(self.shape[axis]))


def ranges_of(shape: Sequence[int], dim: int, start: int | None, end: int | None, step: int) -> list[Range]:
    """The elements of each dimension that a slice takes."""
    found = [Range(0, extent) for extent in shape]
    axis = dim % len(shape)
    first, last, by = slice(start, end, step).indices(shape[axis])
    found[axis] = Range(first, max(last, first), by)
    return found


def _cut(
    node: Node,
    self: Operand,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    return cut(self.raw, ranges_of(self.shape, dim, start, end, step))


@operator("aten.slice.Tensor aten.slice_copy.Tensor", types=ANY, fold=_cut)
def slice_(
    node: Node,
    self: Operand,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor | Operand:
    """A part of a dimension, also with steps."""
    if 0 in node.shape:
        return node.of(np.empty(node.shape, self.type.storage), self.type)
    return strided(self.tensor, ranges_of(self.shape, dim, start, end, step))


@operator("aten.narrow.default", types=ANY)
def narrow(node: Node, self: Operand, dim: int, start: int, length: int) -> Tensor:
    """A part of a dimension."""
    axis = dim % self.rank
    return part(self.tensor, axis, start % self.shape[axis], length)


def _taken(node: Node, self: Operand, dim: int, index: int) -> Array:
    return np.asarray(np.take(self.raw, index, dim))


@operator("aten.select.int aten.select_copy.int", types=ANY, fold=_taken)
def select(node: Node, self: Operand, dim: int, index: int) -> Tensor:
    """The part of a tensor that has one number along a dimension, without that."""
    axis = dim % self.rank
    return reshaped(part(self.tensor, axis, index % self.shape[axis], 1), node.shape)


@operator("aten.slice_scatter.default", types=ANY)
def slice_scatter(
    node: Node,
    self: Operand,
    src: Operand,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor | Operand:
    """A tensor with a part of a dimension replaced."""
    axis = dim % self.rank
    taken = range(*slice(start, end, step).indices(self.shape[axis]))
    if not len(taken):
        return self
    new = src.typed(self.type).tensor
    if step != 1:
        pieces = [
            part(new, axis, taken.index(one), 1) if one in taken else part(self.tensor, axis, one, 1)
            for one in range(self.shape[axis])
        ]
        return joined(pieces, axis)
    behind = self.shape[axis] - taken[-1] - 1
    parts = [(self.tensor, 0, taken[0]), (new, 0, len(taken)), (self.tensor, taken[-1] + 1, behind)]
    return joined([part(value, axis, first, size) for value, first, size in parts if size], axis)


@operator("aten.select_scatter.default", types=ANY)
def select_scatter(node: Node, self: Operand, src: Operand, dim: int, index: int) -> Tensor | Operand:
    """A tensor with the part that has one number along a dimension replaced."""
    axis = dim % self.rank
    place = index % self.shape[axis]
    shape = (*self.shape[:axis], 1, *self.shape[axis + 1 :])
    whole = node.of(reshaped(src.typed(self.type).tensor, shape), self.type)
    return slice_scatter(node, self, whole, axis, place, place + 1)


@operator("aten.copy.default", ignored="self non_blocking")
def copy(node: Node, src: Operand) -> Tensor:
    """Elements of another tensor in place of all."""
    return expanded(src.typed(node.type).tensor, node.shape)


@operator("aten.flip.default", types=ANY)
def flip(node: Node, self: Operand, dims: Sequence[int]) -> Tensor:
    """Dimensions from their ends to their beginnings."""
    value = self.tensor
    for axis in {one % self.rank for one in dims}:
        value = ops.reverse(value, axis=axis) if value.shape[axis] > 1 else value
    return value


@operator("aten.roll.default", types=ANY)
def roll(node: Node, self: Operand, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """Elements moved along dimensions; those that leave an end come back at the other one."""
    value = self.tensor if dims else reshaped(self.tensor, (-1,))
    for shift, dim in zip(shifts, dims or (0,), strict=True):
        axis = dim % value.ndim
        extent = value.shape[axis]
        first = -shift % extent
        if first:
            halves = part(value, axis, first, extent - first), part(value, axis, 0, first)
            value = ops.concat(halves, axis=axis)
    return reshaped(value, node.shape)


@operator("aten.movedim.intlist aten.movedim.int aten.moveaxis.intlist aten.moveaxis.int", types=ANY)
def movedim(
    node: Node, self: Operand, source: int | Sequence[int], destination: int | Sequence[int]
) -> Tensor:
    """Dimensions moved to other places."""
    places = range(self.rank)
    given, wanted = ([one] if isinstance(one, int) else list(one) for one in (source, destination))
    moved = {to % self.rank: place % self.rank for place, to in zip(given, wanted, strict=True)}
    rest = iter([place for place in places if place not in moved.values()])
    return transposed(self.tensor, [moved[place] if place in moved else next(rest) for place in places])


@operator("aten.numpy_T.default aten.mT.default", types=ANY)
def turned(node: Node, self: Operand) -> Tensor:
    """Dimensions in the opposite order, or the last two swapped."""
    rank = self.rank
    whole = ".numpy_T." in node.record.target
    return transposed(self.tensor, range(rank)[::-1] if whole else (*range(rank - 2), rank - 1, rank - 2))


@operator("aten.pixel_shuffle.default", types=ANY)
def pixel_shuffle(node: Node, self: Operand, upscale_factor: int) -> Tensor:
    """Channels as square blocks of larger images."""
    *lead, channels, height, width = self.shape
    size = upscale_factor
    apart = reshaped(self.tensor, (prod(lead), channels // size**2, size, size, height, width))
    return reshaped(transposed(apart, (0, 1, 4, 2, 5, 3)), node.shape)


@operator("aten.pixel_unshuffle.default", types=ANY)
def pixel_unshuffle(node: Node, self: Operand, downscale_factor: int) -> Tensor:
    """Square blocks of images as the channels of smaller ones."""
    *lead, channels, height, width = self.shape
    size = downscale_factor
    apart = reshaped(self.tensor, (prod(lead) * channels, height // size, size, width // size, size))
    return reshaped(transposed(apart, (0, 2, 4, 1, 3)), node.shape)


@operator("aten.channel_shuffle.default", types=ANY)
def channel_shuffle(node: Node, self: Operand, groups: int) -> Tensor:
    """Channels of groups by turns."""
    apart = reshaped(self.tensor, (self.shape[0], groups, self.shape[1] // groups, -1))
    return reshaped(transposed(apart, (0, 2, 1, 3)), node.shape)


@operator("aten.meshgrid.indexing aten.meshgrid.default", types=ANY)
def meshgrid(node: Node, tensors: Sequence[Operand], indexing: str = "ij") -> tuple[Tensor, ...]:
    """Tensors along dimensions of their own, repeated along the others."""
    if indexing not in ("ij", "xy"):
        raise Refused(f"its indexing {indexing!r} is not known")
    rank = len(tensors)
    order = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    found = []
    for place, (one, output) in enumerate(zip(tensors, node.record.outputs, strict=True)):
        shape = [1] * rank
        shape[order[place]] = prod(one.shape)
        found.append(expanded(reshaped(one.tensor, shape), output.shape))
    return tuple(found)


@operator("aten.broadcast_tensors.default", types=ANY)
def broadcast_tensors(node: Node, tensors: Sequence[Operand]) -> tuple[Tensor, ...]:
    """Tensors with the shape that they have together."""
    pairs = zip(tensors, node.record.outputs, strict=True)
    return tuple(expanded(one.tensor, output.shape) for one, output in pairs)


@operator("aten.unfold.default", types=ANY)
def unfold(node: Node, self: Operand, dimension: int, size: int, step: int) -> Tensor:
    """Windows of a dimension, along a new one."""
    axis = dimension % self.rank
    starts = range(0, self.shape[axis] - size + 1, step)
    pieces = [part(self.tensor, axis, start, size) for start in starts]
    shape = (*self.shape[:axis], 1, size, *self.shape[axis + 1 :])
    whole = joined([reshaped(one, shape) for one in pieces], axis)
    places = [place for place in range(whole.ndim) if place != axis + 1]
    return transposed(whole, (*places, axis + 1))
