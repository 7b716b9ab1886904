"""What goes through elements in an order: running sums, sequences, turned rows, the greatest elements."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.common.layout import reshaped, small
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.ordering import greatest, running_sums, turned_sequences
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import BucketizeOptions, CumsumOptions, ReverseSequenceOptions
from tosajit.tracing.tensor import Tensor


@operator("CUMSUM", CumsumOptions, types="float32 int32 int64")
def cumsum(node: Node, options: CumsumOptions) -> Tensor:
    """The sums of the elements of a dimension up to each of them."""
    value = node[0].tensor
    (axis,) = axes_of(node[1].ints, value.ndim)
    return running_sums(value, axis, exclusive=options.exclusive, reverse=options.reverse)


def _ranged(node: Node) -> Array:
    start, limit, step = (operand.raw.reshape(-1)[0] for operand in node.inputs)
    if step == 0:
        raise Refused("its numbers are 0 apart")
    count = max(int(np.ceil((limit - start) / step)), 0)  # real numbers in float32, as they are
    if not small((count,)):
        raise Refused(f"its result has {count} elements, which is too many to be written as a constant")
    steps = np.full(count, step)
    steps[:1] = start
    return np.add.accumulate(steps)


@operator("RANGE", types="float32 int32 int64", versions=2, fold=_ranged)
def range_(node: Node) -> Array:
    """Numbers from a first one to below a last one, all as far apart; known when the model is read."""
    return _ranged(node)


@operator("REVERSE_SEQUENCE", ReverseSequenceOptions, types="float32 uint8 int16 int32 int64")
def reverse_sequence(node: Node, options: ReverseSequenceOptions) -> Tensor:
    """The first elements of a dimension turned round, as many as a number for each index of another says."""
    value, lengths = node[0].tensor, node[1].tensor
    batch, axis = (axes_of([one], value.ndim)[0] for one in (options.batch_dim, options.seq_dim))
    return turned_sequences(value, lengths, batch, axis)


@operator("BUCKETIZE", BucketizeOptions, types="float32 int32 int64")
def bucketize(node: Node, options: BucketizeOptions) -> Tensor:
    """How many of some bounds are not above elements."""
    value, bounds = node[0], np.array(options.boundaries, np.float64)
    if value.dtype is INT32:
        bounds = np.ceil(bounds[bounds <= np.iinfo(np.int32).max]).clip(np.iinfo(np.int32).min)
    raised = reshaped(value.tensor, (*value.shape, 1))
    limits = bounds.astype(value.dtype.storage).reshape((1,) * value.rank + (-1,))
    if not limits.size:
        limits = number(raised, np.inf if value.dtype is FP32 else np.iinfo(np.int32).max)
    reached = ops.cast(ops.greater_equal(raised, limits), dtype=INT32)
    return reshaped(ops.reduce_sum(reached, axis=value.rank), value.shape)


@operator("TOPK_V2", types="float32 int8 uint8 int16 int32 int64", versions=3)
def top_k(node: Node) -> tuple[Tensor, Tensor]:
    """The greatest elements along the last dimension, and where they are; of equal ones the first."""
    value, (count,) = node[0], node[1].ints
    return greatest(value.tensor, count)
