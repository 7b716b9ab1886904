"""Rows of a table, looked up by numbers and by keys."""

from __future__ import annotations

from math import prod

import numpy as np

from tosajit import ops
from tosajit.dtypes import FP32, INT8
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import linear
from tosajit.frontends.common.layout import part, reshaped
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.scatter import combined
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.fields import Combiner
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import EmbeddingLookupSparseOptions
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor


@operator("EMBEDDING_LOOKUP", types="int32", versions=4)
def embedding_lookup(node: Node) -> Tensor:
    """The rows of a matrix at indices; those of a quantised matrix may become real numbers."""
    places, table = node[0].tensor, node[1]
    if table.quantized and node.result.type is Type.FLOAT32:
        return _dequantized_rows(table, places)
    return gathered(table.tensor, places, 0)


def _dequantized_rows(table: Operand, places: Tensor) -> Tensor:
    """Rows as real numbers, of which the matrix may have a scale each."""
    if any(table.zero_points):
        raise Refused(f"{table.name} has zero points, but must have none")
    whole = table.trace.constant(table.array, INT8, table.name)
    rows = ops.cast(gathered(whole, places, 0), dtype=FP32)
    scales = np.array(table.scales, np.float32)
    if scales.size == 1:
        return ops.mul(rows, scales.reshape((1,) * table.rank))
    if table.axis or scales.size != table.shape[0]:
        raise Refused(f"{table.name} has {scales.size} scales, but must have one, or one for each row")
    own = gathered(ops.const(scales.reshape((-1,) + (1,) * (table.rank - 1))), places, 0)
    return ops.mul(rows, own)


@operator("EMBEDDING_LOOKUP_SPARSE", EmbeddingLookupSparseOptions, types="float32", typed=4)
def embedding_lookup_sparse(node: Node, options: EmbeddingLookupSparseOptions) -> Tensor:
    """Sums of weighted rows of a matrix, or their means; zeros where no row is meant."""
    places, indices, extents, weights, table = node.inputs
    if indices.shape != (*places.shape, len(extents.ints)) or weights.shape != places.shape:
        raise Refused(f"its indices are {list(indices.shape)}, but it looks up {list(places.shape)}")
    shape = extents.ints[:-1]
    count, rank = prod(shape), len(shape)
    zeros = ops.mul(places.tensor, number(places.tensor, 0))
    rows = linear(part(indices.tensor, 1, 0, rank), shape) if rank else zeros
    weight = reshaped(weights.tensor, (-1, 1))
    values = reshaped(gathered(table.tensor, places.tensor, 0), (places.shape[0], -1))
    total = _summed(ops.mul(values, weight), rows, count)
    if options.combiner is not Combiner.SUM:
        is_mean = options.combiner is Combiner.MEAN
        divisor = _summed(weight if is_mean else ops.mul(weight, weight), rows, count)
        inverse = ops.reciprocal(divisor) if is_mean else ops.rsqrt(divisor)
        there = reshaped(ops.equal(places.tensor, places.tensor), (-1, 1))
        found = combined(lambda one, axis: ops.reduce_any(one, axis=axis), there, rows, count, False)
        total = ops.select(found, ops.mul(total, inverse), number(total, 0))
    return reshaped(total, (*shape, *table.shape[1:]))


def _summed(values: Tensor, rows: Tensor, count: int) -> Tensor:
    return combined(lambda one, axis: ops.reduce_sum(one, axis=axis), values, rows, count, 0)


@operator("HASHTABLE_LOOKUP", types="float32 int8 uint8 int16 int32 int64", typed=2)
def hashtable_lookup(node: Node) -> tuple[Tensor, ...]:
    """The rows of a table by keys, zeros for keys that it has not; and which keys it has."""
    wanted, values = node[0], node[2]
    keys = node[1].array.reshape(1, -1)
    if keys.size != values.shape[0] or np.any(keys[:, 1:] <= keys[:, :-1]):
        raise Refused("its keys are not one for each row of its table, each greater than the one before")
    size, count = wanted.shape[0], keys.size
    hit = ops.equal(reshaped(wanted.tensor, (size, 1)), keys)
    numbers = np.arange(count, dtype=np.int32).reshape(1, -1)
    place = ops.reduce_sum(ops.select(hit, numbers, np.zeros((1, 1), np.int32)), axis=1)
    has = ops.reduce_any(hit, axis=1)
    rows = gathered(values.tensor, reshaped(place, (-1,)), 0)
    zero = number(rows, -128 if values.type is Type.UINT8 else 0)
    found = ops.select(reshaped(has, (size,) + (1,) * (values.rank - 1)), rows, zero)
    return found, ops.select(reshaped(has, (size,)), *(np.array([one], np.int8) for one in (-127, -128)))
