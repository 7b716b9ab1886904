"""Register tiles of int8 that are rescaled to int8 without leaving the registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from tosajit.kernels.contract.products import INT8
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.requant import Panel, Rescaling, narrowed
from tosajit.kernels.contract.slots import TileJob
from tosajit.kernels.contract.tile import Operands, TileLoops
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors

LOW = 4
"""Rows of a tile that is not high enough to keep the units busy."""


def tile_rescale_i8(v: Vectors, address: Value) -> None:
    """Store rows of A times panels of B as int8 where no sum's sign matters to its rounding (`TileJob`)."""
    job = Record(v, address)

    def case(rows: int, columns: int) -> None:
        name = f"contract_tile_rescale_i8_{rows}x{columns}"
        v.call(name, partial(_column, TileLoops(INT8.on(v.isa), rows, columns)), address)

    wide = (job[TileJob.COLUMNS] + (v.isa.lanes - 1)) // v.isa.lanes
    sizes = [(rows, columns) for columns in range(1, v.isa.panels + 1) for rows in v.isa.rescaled]
    cases = {16 * columns + rows: partial(case, rows, columns) for rows, columns in sizes}
    v.switch(wide * 16 + _evenest(v, job[TileJob.HEIGHT]), cases)


def _evenest(v: Vectors, rows: Value) -> Value:
    """The height of tiles that cover so many rows with the least waste; taller ones may waste a row more."""
    low = [height for height in v.isa.rescaled if height <= LOW]
    height = v.number(1)
    for taller in low[1:]:
        height = v.choose(rows >= taller, v.number(taller), height)
    least = (rows + (height - 1)) // height * height
    for taller in v.isa.rescaled[len(low) :]:
        cover = (rows + (taller - 1)) // taller * taller
        better = (rows >= taller) & (cover <= least + 1)
        height, least = v.choose(better, v.number(taller), height), v.choose(better, cover, least)
    return height


def _column(body: TileLoops, v: Vectors, address: Value) -> None:
    """All tiles of one size down a column; the last may begin early: some rows are then stored twice."""
    job, height = Record(v, address), body.rows
    limits = Rescaling(False, job[TileJob.LOW], job[TileJob.HIGH])
    parameters, operands = job[TileJob.PARAMETERS], Operands.of(job)
    initial, rows = job[TileJob.INITIAL], job[TileJob.HEIGHT]
    places = _Places(job[TileJob.OUT], job[TileJob.OFFSETS])
    masks = [_mask(v, job[TileJob.COLUMNS], panel) for panel in range(body.panels)]

    def tile(index: Value) -> None:
        start = v.least(index * height, rows - height)
        totals = body.sums(v, replace(operands, a=operands.a + start * operands.a_row), initial)
        for panel, mask in enumerate(masks):
            loaded = Panel.at(v, parameters, panel)
            values = [narrowed(v, total, loaded, limits) for total in totals[panel :: body.panels]]
            places.store(v, values, start, v.isa.lanes * panel, mask)

    v.each((rows + (height - 1)) // height, tile)


def _mask(v: Vectors, columns: Value, panel: int) -> Value:
    return v.below(v.least(columns - v.isa.lanes * panel, v.isa.lanes))


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the rows of a column go: out + offsets[row]."""

    out: Value
    offsets: Value

    def store(self, v: Vectors, values: Sequence[Register], start: Value, column: int, mask: Value) -> None:
        """Store rows from `start` on."""
        first = self.offsets + start * 8
        for row, value in enumerate(values):
            v.store_part(value, self.out + column + v.loaded(first + 8 * row), mask)
