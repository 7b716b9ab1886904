"""Elements by indices along several dimensions, elements put at indices, and orders of elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from tosajit import ops
from tosajit.dtypes import BOOL
from tosajit.frontends.common.indices import gathered_nd, linear, one_hot
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.ordering import greatest, turned_sequences
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.common.scatter import combined, filled, placed, unique
from tosajit.frontends.frame import Refused, alike
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.tensorflow.node import Node, Operand
from tosajit.frontends.tensorflow.operators import MOVED, NARROW, NUMBERS, WHOLE, operator
from tosajit.tracing.tensor import Tensor


@operator("GatherNd", types=MOVED)
def gather_nd(node: Node) -> Tensor:
    """The elements, or parts, of a tensor at indices along its first dimensions."""
    _check_depth(node[1], node[0].shape)
    return gathered_nd(node[0].tensor, node[1].tensor)


@dataclass(frozen=True, slots=True)
class OneHotAttributes(Attributes):
    """The new dimension."""

    axis: int = -1


@operator("OneHot", OneHotAttributes, types=f"{NUMBERS} {NARROW} bool", typed=2)
@widened
def one_hot_(node: Node, options: OneHotAttributes) -> Tensor:
    """One value where the number along a new dimension is the index, another one elsewhere."""
    (axis,) = axes_of([options.axis], node[0].rank + 1)
    return one_hot(node[0].tensor, axis, int(node[1].number), node[2].tensor, node[3].tensor)


def _rows(indices: Operand, values: Operand, shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The numbers of rows, and the rows that are put there."""
    depth = indices.shape[-1]
    rows = reshaped(linear(indices.tensor, shape[:depth]), (-1,))
    return rows, reshaped(values.tensor, (rows.shape[0], prod(shape[depth:])))


@operator("ScatterNd", types=MOVED, typed=1)
@widened
def scatter_nd(node: Node) -> Tensor:
    """Zeros with elements, or parts, at indices along the first dimensions; those of one index are summed."""
    shape = node[2].ints
    _check_depth(node[0], shape)
    rows, values = _rows(node[0], node[1], shape)
    count = prod(shape[: node[0].shape[-1]])
    if unique(rows):
        return reshaped(placed(filled(values, 0, count, values.shape[1]), rows, values), shape)
    return reshaped(combined(_any if values.dtype is BOOL else _sum, values, rows, count, 0), shape)


def _sum(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_sum(value, axis=axis)


def _any(value: Tensor, axis: int) -> Tensor:
    return ops.reduce_any(value, axis=axis)


@operator("TensorScatterUpdate", types=MOVED)
def tensor_scatter_update(node: Node) -> Tensor:
    """A tensor with elements, or parts, replaced at indices along its first dimensions."""
    shape = node[0].shape
    _check_depth(node[1], shape)
    rows, values = _rows(node[1], node[2], shape)
    base = reshaped(node[0].tensor, (-1, values.shape[1]))
    return reshaped(placed(base, rows, values), shape)


@operator("TensorScatterAdd", types=f"{NUMBERS} {NARROW}")
@widened
def tensor_scatter_add(node: Node) -> Tensor:
    """A tensor with elements, or parts, added at indices along its first dimensions."""
    return ops.add(node[0].tensor, _scattered(node))


@operator("TensorScatterSub", types=f"{NUMBERS} {NARROW}")
@widened
def tensor_scatter_sub(node: Node) -> Tensor:
    """A tensor with elements, or parts, taken away at indices along its first dimensions."""
    return ops.sub(node[0].tensor, _scattered(node))


def _scattered(node: Node) -> Tensor:
    """The sums of what is scattered, zero elsewhere."""
    shape = node[0].shape
    _check_depth(node[1], shape)
    rows, values = _rows(node[1], node[2], shape)
    count = prod(shape[: node[1].shape[-1]])
    return reshaped(combined(_sum, values, rows, count, 0), shape)


def _check_depth(indices: Operand, shape: Sequence[int]) -> None:
    if not indices.rank or indices.shape[-1] > len(shape):
        raise Refused(f"its indices {list(indices.shape)} are of more dimensions than {list(shape)} has")


@operator("TopKV2", types=f"float32 {WHOLE} {NARROW}")
def top_k(node: Node) -> tuple[Tensor, Tensor]:
    """The greatest elements along the last dimension, and where they are; of equal ones the first."""
    count = int(node[1].number)
    if not node[0].rank or not 0 < count <= node[0].shape[-1]:
        raise Refused(f"it takes {count} elements of {list(node[0].shape)}")
    return greatest(node[0].tensor, count)


@dataclass(frozen=True, slots=True)
class CumulativeAttributes(Attributes):
    """Whether an element is left out of its own sum, and which way sums go."""

    exclusive: bool = False
    reverse: bool = False


_accumulated = partial(operator, attributes=CumulativeAttributes, types=f"{NUMBERS} {NARROW}")
_accumulated("Cumsum")(alike.cumulative_sum)
_accumulated("Cumprod")(alike.cumulative_product)


@dataclass(frozen=True, slots=True)
class SequenceAttributes(Attributes):
    """The dimension of sequences, and that of their lengths."""

    seq_dim: int
    batch_dim: int = 0


@operator("ReverseSequence", SequenceAttributes, types="float32 float16 int16 int32 int64")
def reverse_sequence(node: Node, options: SequenceAttributes) -> Tensor:
    """The first elements of a dimension turned round, as many as a number for each index of another says."""
    value, lengths = node[0].tensor, node[1].tensor
    (batch,), (axis,) = (axes_of([one], value.ndim) for one in (options.batch_dim, options.seq_dim))
    return turned_sequences(value, lengths, batch, axis)
