"""Matrices by their diagonals, one or several of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.diagonal import with_diagonal
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import reshaped, small
from tosajit.frontends.common.numbers import constant, number
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.node import Node, Operand
from tosajit.frontends.tensorflow.operators import MOVED, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Band:
    """The diagonals of a matrix from `low` to `high`, as rows of their elements, the highest first."""

    rows: int
    columns: int
    low: int
    high: int
    align: str

    def __post_init__(self) -> None:
        if not -self.rows < self.low <= self.high < self.columns:
            text = f"{self.low} to {self.high} are no diagonals of {self.rows} by {self.columns} elements"
            raise Refused(text)
        if not small((self.rows, self.columns)):
            raise Refused(f"its matrices of {self.rows} by {self.columns} elements are too large")

    @property
    def length(self) -> int:
        """How many elements the longest diagonal has."""
        return min(self.rows + min(self.high, 0), self.columns - max(self.low, 0))

    @property
    def count(self) -> int:
        """How many diagonals there are."""
        return self.high - self.low + 1

    def places(self) -> Iterator[tuple[int, int, int, int]]:
        """For each element its diagonal, its place there, its row and its column."""
        above, below = self.align.split("_")
        for order, diagonal in enumerate(range(self.high, self.low - 1, -1)):
            size = min(self.rows + min(diagonal, 0), self.columns - max(diagonal, 0))
            start = self.length - size if (above if diagonal >= 0 else below) == "RIGHT" else 0
            for place in range(size):
                yield order, start + place, place - min(diagonal, 0), place + max(diagonal, 0)

    def of_matrix(self) -> Array:
        """For each element of a matrix its place in the diagonals; what is in none is behind them."""
        found = np.full((self.rows, self.columns), self.count * self.length, np.int32)
        for diagonal, place, row, column in self.places():
            found[row, column] = diagonal * self.length + place
        return found

    def of_diagonals(self) -> Array:
        """For each place in the diagonals the element of a matrix; what is none is behind it."""
        found = np.full((self.count, self.length), self.rows * self.columns, np.int32)
        for diagonal, place, row, column in self.places():
            found[diagonal, place] = row * self.columns + column
        return found


@dataclass(frozen=True, slots=True)
class AlignAttributes(Attributes):
    """At which end shorter diagonals are filled: those above the main one, and those below."""

    align: str = ""


_RIGHT = ("MatrixDiagV3", "MatrixDiagPartV3", "MatrixSetDiagV3")
"""Operators that align diagonals to the right where nothing is said."""


def _align(node: Node) -> str:
    given = node.attributes(AlignAttributes).align or (
        "RIGHT_LEFT" if node.record.op in _RIGHT else "LEFT_LEFT"
    )
    if any(one not in ("LEFT", "RIGHT") for one in given.split("_")) or given.count("_") != 1:
        raise Refused(f"its attribute align is {given!r}")
    return given


def _ends(k: Operand) -> tuple[int, int]:
    return min(k.ints), max(k.ints)


@operator("MatrixDiag", types=MOVED)
def matrix_diag(node: Node) -> Tensor:
    """Matrices that are zero but for their main diagonals."""
    value, extent = node[0].tensor, node[0].shape[-1]
    nothing = reshaped(constant(value, 0), (1,) * (value.ndim + 1))
    return with_diagonal(value, nothing, extent, extent)


@operator("MatrixDiagV2 MatrixDiagV3", types=MOVED)
def matrix_diags(node: Node) -> Tensor:
    """Matrices that are one number but for some diagonals."""
    value, (low, high) = node[0].tensor, _ends(node[1])
    length, leading = value.shape[-1], value.shape[: -1 if low == high else -2]
    least = length - min(high, 0), length + max(low, 0)
    rows, columns = (int(one.number) for one in node.operands[2:4])
    if rows < 0 and columns < 0:
        rows = columns = max(least)
    rows, columns = (size if size >= 0 else one for size, one in zip((rows, columns), least, strict=True))
    band = Band(rows, columns, low, high, _align(node))
    if (band.count, band.length) != (prod(value.shape[len(leading) : -1]), length):
        raise Refused(f"its diagonals {list(value.shape)} are not those of {rows} by {columns} elements")
    return _taken(value, leading, band.of_matrix(), node[4])


@operator("MatrixDiagPart", types=MOVED)
def matrix_diag_part(node: Node) -> Tensor:
    """The main diagonals of matrices."""
    rows, columns = node[0].shape[-2:]
    places = Band(rows, columns, 0, 0, "LEFT_LEFT").of_diagonals()[0]
    return _taken(node[0].tensor, node[0].shape[:-2], places, None)


@operator("MatrixDiagPartV2 MatrixDiagPartV3", types=MOVED)
def matrix_diag_parts(node: Node) -> Tensor:
    """Some diagonals of matrices, filled up with one number."""
    low, high = _ends(node[1])
    rows, columns = node[0].shape[-2:]
    places = Band(rows, columns, low, high, _align(node)).of_diagonals()
    return _taken(node[0].tensor, node[0].shape[:-2], places[0] if low == high else places, node[2])


@operator("MatrixSetDiag", types=MOVED)
def matrix_set_diag(node: Node) -> Tensor:
    """Matrices with other main diagonals."""
    rows, columns = node[0].shape[-2:]
    if node[1].shape != (*node[0].shape[:-2], min(rows, columns)):
        raise Refused(f"its diagonals are {list(node[1].shape)}, but its matrices {list(node[0].shape)}")
    return with_diagonal(node[1].tensor, node[0].tensor, rows, columns)


@operator("MatrixSetDiagV2 MatrixSetDiagV3", types=MOVED)
def matrix_set_diags(node: Node) -> Tensor:
    """Matrices with some other diagonals."""
    matrices, diagonals, (low, high) = node[0].tensor, node[1].tensor, _ends(node[2])
    *leading, rows, columns = matrices.shape
    band = Band(rows, columns, low, high, _align(node))
    if diagonals.shape != (*leading, *((band.count,) if low != high else ()), band.length):
        raise Refused(f"its diagonals are {list(diagonals.shape)}, but its matrices {list(matrices.shape)}")
    places = band.of_matrix()
    inside = places < band.count * band.length
    given = _taken(diagonals, leading, np.where(inside, places, 0).astype(np.int32), None)
    chosen: Tensor = ops.const(inside.reshape((1,) * len(leading) + inside.shape))
    return ops.select(chosen, given, matrices)


def _taken(value: Tensor, leading: Sequence[int], places: Array, filling: Operand | None) -> Tensor:
    """The elements of rows at places; one number for what is behind them."""
    rows = reshaped(value, (prod(leading), -1))
    if filling is not None and (places == rows.shape[1]).any():
        border = np.full((rows.shape[0], 1), filling.number, value.dtype.storage)
        rows = ops.concat([rows, ops.const(border)], axis=1)
    found = gathered(rows, ops.const(places.reshape(-1)), 1, 0)
    return reshaped(found, (*leading, *places.shape))


@operator("MatrixBandPart", types=MOVED)
def matrix_band_part(node: Node) -> Tensor:
    """Matrices that are zero but for so many diagonals below and above the main one; -1 means all."""
    value, (below, above) = node[0].tensor, (int(node[place].number) for place in (1, 2))
    rows, columns = value.shape[-2:]
    across: Tensor = ops.const(numbered(columns, value.ndim - 1, value.ndim))
    offset = ops.sub(across, numbered(rows, value.ndim - 2, value.ndim))
    least, most = (-rows if below < 0 else -below), (columns if above < 0 else above)
    inside = ops.logical_and(
        ops.greater_equal(offset, number(offset, least)), ops.greater_equal(constant(offset, most), offset)
    )
    return ops.select(inside, value, number(value, 0))
