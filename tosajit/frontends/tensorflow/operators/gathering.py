"""Gathering: elements at indices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import MOVED, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class GatherAttributes(Attributes):
    """How many dimensions data and indices share."""

    batch_dims: int = 0


def _taken(node: Node) -> Array | None:
    if node.attributes(GatherAttributes).batch_dims:
        return None
    return np.take(node[0].raw, node[1].raw, int(node[2].number) if len(node.operands) > 2 else 0)


@operator("Gather GatherV2 ResourceGather", GatherAttributes, types=MOVED, fold=_taken)
def gather(node: Node, options: GatherAttributes) -> Tensor:
    """The elements of a dimension at indices."""
    values, indices = node[0].tensor, node[1].tensor
    (axis,) = axes_of(node[2].ints if len(node.operands) > 2 else (0,), values.ndim)
    batch_dims = options.batch_dims + indices.ndim if options.batch_dims < 0 else options.batch_dims
    if not 0 <= batch_dims <= min(axis, indices.ndim):
        raise Refused(f"its {batch_dims} batch dimensions are not all before dimension {axis}")
    return gathered(values, indices, axis, batch_dims)
