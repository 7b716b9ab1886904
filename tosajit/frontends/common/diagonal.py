"""Matrices by their diagonals."""

from __future__ import annotations

from tosajit import ops
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import reshaped
from tosajit.tracing.tensor import Tensor


def with_diagonal(diagonal: Tensor, matrices: Tensor, rows: int, columns: int) -> Tensor:
    """Matrices whose main diagonals are others."""
    leading = diagonal.shape[:-1]
    whole = padded(diagonal, [*((0, 0) for _ in leading), (0, rows - diagonal.shape[-1])])
    column = reshaped(whole, (*leading, rows, 1))
    rank = len(leading) + 2
    here = ops.equal(ops.const(numbered(rows, rank - 2, rank)), numbered(columns, rank - 1, rank))
    found: Tensor = ops.select(here, column, matrices)
    return found
