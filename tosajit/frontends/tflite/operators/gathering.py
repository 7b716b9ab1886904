"""Gathering: elements at indices."""

from __future__ import annotations

import numpy as np

from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import GatherOptions
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
