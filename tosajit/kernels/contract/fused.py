"""Register tiles of int8 that are rescaled to int8 without leaving the registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tiling.records import replace
from tosajit.kernels.contract.operands import Operands
from tosajit.kernels.contract.pairs import PairLoops
from tosajit.kernels.contract.products import INT8
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.requant import (
    FloatPanel,
    Panel,
    Rescaling,
    put,
    scaled,
    switched,
)
from tosajit.kernels.contract.slots import TileJob
from tosajit.kernels.contract.tile import TileLoops, loops
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors

LOW = 4
"""Rows of a tile that is not high enough to keep the units busy."""


def tile_rescale_i8(v: Vectors, address: Value) -> None:
    """Store rows of A times panels of B as int8, by a rescale that the set does in registers (`TileJob`)."""
    job = Record(v, address)

    def case(rows: int, columns: int) -> None:
        name = f"contract_tile_rescale_i8_{rows}x{columns}"
        v.call(name, partial(_column, loops(v, INT8.on(v.isa), rows, columns)), address)

    wide = (job[TileJob.COLUMNS] + (v.isa.lanes - 1)) // v.isa.lanes
    sizes = [(rows, columns) for columns in range(1, v.isa.panels + 1) for rows in v.isa.rescaled_of(columns)]
    cases = {32 * columns + rows: partial(case, rows, columns) for rows, columns in sizes}
    height = evenest(v, job[TileJob.HEIGHT], v.isa.rescaled)
    if v.isa.alone:
        height = v.choose(v.equal(wide, 1), evenest(v, job[TileJob.HEIGHT], v.isa.rescaled_of(1)), height)
    v.switch(wide * 32 + height, cases)


def evenest(v: Vectors, rows: Value, heights: Sequence[int]) -> Value:
    """The height of tiles that cover so many rows with the least waste.

    Taller ones may waste a row more, and another one of each `2**spare` rows if the set says so.
    """
    low = [height for height in heights if height <= LOW]
    height = v.number(1)
    for taller in low[1:]:
        height = v.choose(rows >= taller, v.number(taller), height)
    least = (rows + (height - 1)) // height * height
    for taller in heights[len(low) :]:
        cover = (rows + (taller - 1)) // taller * taller
        wasted = 1 + (least >> v.isa.spare) if v.isa.spare else 1
        better = (rows >= taller) & (cover <= least + wasted)
        height, least = v.choose(better, v.number(taller), height), v.choose(better, cover, least)
    return height


def _column(body: TileLoops | PairLoops, v: Vectors, address: Value) -> None:
    """All tiles of one size down a column; the last may begin early: some rows are then stored twice."""
    job, height = Record(v, address), body.rows
    initial, rows = job[TileJob.INITIAL], job[TileJob.HEIGHT]
    operands = _shared(Operands.of(job, body.product.fetches), height, rows)

    def tile(index: Value) -> None:
        start = v.least(index * height, rows - height)
        totals = body.sums(v, _at(operands, index, start), initial)

        def finish(limits: Rescaling) -> None:
            # LLVM would otherwise first do what both rescales begin with, and run out of registers.
            hidden = v.opaque if limits.signed else lambda same: same
            found = Finish.of(v, Record(v, hidden(address)), body.panels, limits)
            found.rows([hidden(total) for total in totals], start)

        rescaled(v, job, finish)

    v.each((rows + (height - 1)) // height, tile)


def _shared(operands: Operands, height: int, rows: Value) -> Operands:
    """Operands of tiles, each of which fetches its part of what all rows do."""
    if not operands.following:
        return operands
    where, step = operands.following
    return replace(operands, following=[where, (step * height + (rows - 1)) // rows])


def _at(operands: Operands, index: Value, start: Value) -> Operands:
    """Operands of a tile, from row `start` on."""
    a, following = operands.a + start * operands.a_row, operands.following
    if following:
        before = operands.segments * operands.steps * index * following[1]
        following = [following[0] + before, following[1]]
    return replace(operands, a=a, following=following)


def rescaled(v: Vectors, job: Record, run: Callable[[Rescaling], None]) -> None:
    """Run code for the rescale of a tile."""
    limits = job[TileJob.LOW], job[TileJob.HIGH]
    if v.isa.signed:
        switched(v, job[TileJob.FUSED], limits, job[TileJob.PARAMETERS], run)
    else:
        run(Rescaling(False, False, *limits))


@dataclass(frozen=True, slots=True)
class Finish:
    """What makes bytes of rows of sums, and stores the columns of a mask."""

    v: Vectors
    limits: Rescaling
    panels: Sequence[Panel | FloatPanel]
    out: Value
    offsets: Value
    mask: Value | None
    """None if columns are whole registers, as where the set stores no masks."""

    @classmethod
    def of(cls, v: Vectors, job: Record, panels: int, limits: Rescaling) -> Finish:
        """Load what is known from the arguments."""
        loaded = [Panel.at(v, job[TileJob.PARAMETERS], panel, limits) for panel in range(panels)]
        mask = v.below(job[TileJob.COLUMNS]) if v.isa.masked else None
        return cls(v, limits, loaded, job[TileJob.OUT], job[TileJob.OFFSETS], mask)

    @property
    def several(self) -> int:
        """Return how many rows are narrowed together."""
        return max(1, self.v.isa.narrowed // len(self.panels))

    def rows(self, totals: Sequence[Register], start: Value) -> None:
        """Store rows of sums, from row `start` on."""
        count = self.several * len(self.panels)
        for first in range(0, len(totals), count):
            self._together(totals[first : first + count], start + first // len(self.panels))

    def _together(self, totals: Sequence[Register], start: Value) -> None:
        v, panels, offsets = self.v, len(self.panels), self.offsets + start * 8
        words = [scaled(v, total, self.panels[n % panels], self.limits) for n, total in enumerate(totals)]
        values = v.narrow_all(words, self.limits.low, self.limits.high)
        for row in range(len(totals) // panels):
            value = v.joined(values[row * panels : (row + 1) * panels])
            put(v, value, self.out + v.loaded(offsets + 8 * row), self.mask)
