"""Determinants, by elimination column by column."""

from __future__ import annotations

from math import prod

import numpy as np

from tosajit import ops
from tosajit.dtypes import FP32
from tosajit.frontends.common.division import divided
from tosajit.frontends.common.indices import one_hot
from tosajit.frontends.common.layout import part, reshaped
from tosajit.frontends.common.numbers import number, typed
from tosajit.frontends.frame import Refused
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import REAL, operator
from tosajit.tracing.tensor import Tensor

_MOST_ROWS = 32
"""Each row of a matrix is a dozen operators."""


@operator("Det", types=REAL)
def det(node: Node) -> Tensor:
    """The determinant of each matrix."""
    value = node[0].tensor
    lead, (rows, columns) = value.shape[:-2], value.shape[-2:]
    if rows != columns or rows > _MOST_ROWS:
        raise Refused(f"its matrices are {rows} x {columns}, but must be square, of up to {_MOST_ROWS} rows")
    rest = typed(reshaped(value, (prod(lead), rows, rows)), FP32)
    found = ops.const(np.ones((prod(lead), 1, 1), np.float32))
    while rest.shape[1] > 1:
        rest, pivot = _eliminated(rest)
        found = ops.mul(found, pivot)
    return typed(reshaped(ops.mul(found, rest), lead), value.dtype)


def _eliminated(matrices: Tensor) -> tuple[Tensor, Tensor]:
    """Matrices without their first column and the row that is greatest there, and the factor this leaves."""
    count, rows, columns = matrices.shape
    column = part(matrices, 2, 0, 1)
    place = ops.argmax(reshaped(ops.abs(column), (count, rows)), axis=1)
    is_chosen = reshaped(
        one_hot(place, 1, rows, *map(ops.const, np.array([[True], [False]]))), (count, rows, 1)
    )
    chosen = ops.reduce_sum(ops.select(is_chosen, matrices, number(matrices, 0)), axis=1)
    left = part(ops.select(is_chosen, part(matrices, 1, 0, 1), matrices), 1, 1, rows - 1)
    pivot, is_first = part(chosen, 2, 0, 1), part(is_chosen, 1, 0, 1)
    divisor = ops.select(ops.equal(pivot, number(pivot, 0)), number(pivot, 1), pivot)
    factors = divided(part(left, 2, 0, 1), divisor)
    rest = ops.sub(part(left, 2, 1, columns - 1), ops.mul(factors, part(chosen, 2, 1, columns - 1)))
    return rest, ops.select(is_first, pivot, ops.negate(pivot))
