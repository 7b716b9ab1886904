"""Diagonals of matrices."""

from __future__ import annotations

from tosajit import ops
from tosajit.frontends.common.diagonal import with_diagonal
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.numbers import number
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor

_TYPES = "float32 float16 bool int8 uint8 int16 int32 int64"


@operator("MATRIX_DIAG", types=_TYPES)
def matrix_diag(node: Node) -> Tensor:
    """Matrices that are zero but for their diagonals."""
    value, extent = node[0], node[0].shape[-1]
    zero = number(value.tensor, -128 if value.type is Type.UINT8 else 0)
    return with_diagonal(value.tensor, reshaped(ops.const(zero), (1,) * (value.rank + 1)), extent, extent)


@operator("MATRIX_SET_DIAG", types=_TYPES)
def matrix_set_diag(node: Node) -> Tensor:
    """Matrices with other diagonals."""
    value, diagonal = node[0], node[1]
    rows, columns = value.shape[-2:]
    if diagonal.shape != (*value.shape[:-2], min(rows, columns)):
        raise Refused(f"its diagonals are {list(diagonal.shape)}, but its matrices {list(value.shape)}")
    return with_diagonal(diagonal.tensor, value.tensor, rows, columns)
