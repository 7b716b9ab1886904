"""Gathering: elements at indices."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.dtypes import FP32, INT8
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import GatherOptions
from tosajit.frontends.tflite.schema import Type
from tosajit.graph import Array
from tosajit.tracing.tensor import Tensor

_TYPES = "float32 float16 int8 uint8 int16 int32 int64 bool"


def _taken(node: Node) -> Array | None:
    options = node.attributes(GatherOptions)
    return None if options.batch_dims else np.take(node[0].raw, node[1].raw, options.axis)


@operator(
    "GATHER",
    GatherOptions,
    types="float32 float16 int8 uint8 int16 int32 int64 bool",
    versions=7,
    fold=_taken,
)
def gather(node: Node, options: GatherOptions) -> Tensor:
    """The elements of a dimension at indices."""
    values, indices = node[0], node[1]
    (axis,) = axes_of([options.axis], values.rank)
    batch_dims = options.batch_dims % max(indices.rank, 1) if options.batch_dims < 0 else options.batch_dims
    if not 0 <= batch_dims <= min(axis, indices.rank):
        raise Refused(f"its {batch_dims} batch dimensions are not all before dimension {axis}")
    return gathered(values.tensor, indices.tensor, axis, batch_dims)


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
