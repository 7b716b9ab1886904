"""Tiles by products of whole matrices: two registers of rows of A times two panels of B.

Rows of A and panels of B are whole blocks of `Matrices.row_bytes`; what a row of A has behind its depth meets
zeros. Of few rows, all are in one register; of more, the last two registers may have rows in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tosajit.kernels.contract.fused import Finish, rescaled
from tosajit.kernels.contract.operands import Operands
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.requant import Rescaling
from tosajit.kernels.contract.slots import TileJob
from tosajit.kernels.sets.values import Value
from tosajit.kernels.sets.vectors import Vectors

PAIR = 2
"""Registers of rows of A, and of columns of B, that meet."""
LEFT, RIGHT = (4, 5), (6, 7)
"""The numbers of registers; the first four are for sums."""

AHEAD = 4096
"""Bytes that weights are fetched ahead: by itself the CPU does not look beyond a page."""


def _total(row: int, panel: int) -> int:
    return row * PAIR + panel


def start_matrices(v: Vectors, height: Value) -> None:
    """Let registers of rows of A, and of sums, have so many rows until `end_matrices`."""
    v.start_matrices([(number, height) for number in (*range(PAIR * PAIR), *LEFT)])


def end_matrices(v: Vectors) -> None:
    """Give all registers of rows back."""
    v.end_matrices()


def tile_matrices(kind: str, v: Vectors, address: Value) -> None:
    """Store the sums of rows of A times panels of B (`TileJob`).

    Those of int8 begin with the start values of the columns.
    """
    job = Record(v, address)
    rows, words = job[TileJob.HEIGHT], job[TileJob.WORDS]
    height = _height(v, rows)

    def case(lefts: int, panels: int) -> None:
        tile, starts = _Tile.of(v, job, kind, panels), [v.number(0), rows - height][:lefts]
        tile.multiply(starts, fetch=False)
        for row, start in enumerate(starts):
            tile.store(row, words + start * tile.pitch)

    _by_size(v, rows, job[TileJob.PANELS], case)


def tile_rescale_matrices(v: Vectors, address: Value) -> None:
    """Store rows of A times panels of B as int8, by a rescale that the set does in registers (`TileJob`)."""
    job = Record(v, address)
    panels = (job[TileJob.COLUMNS] + (v.isa.lanes - 1)) // v.isa.lanes

    def case(count: int) -> None:
        v.call(f"contract_tile_rescale_matrices_{count}", partial(_column, count), address)

    v.switch(panels, {count: partial(case, count) for count in (1, PAIR)})


def _column(panels: int, v: Vectors, address: Value) -> None:
    """All tiles down a column; the last may begin early: some rows are then stored twice."""
    job = Record(v, address)
    tile, rows = _Tile.of(v, job, "i8", panels), job[TileJob.HEIGHT]
    height = _height(v, rows)
    lefts = (rows + (height - 1)) // height
    fetched = v.choose(job[TileJob.FETCH] > 0, v.number(PAIR), 0)

    def several(finish: Finish, first: Value, count: int) -> None:
        starts = [v.least((first + one) * height, rows - height) for one in range(count)]
        v.when(
            first < fetched,
            lambda: tile.multiply(starts, fetch=True),
            lambda: tile.multiply(starts, fetch=False),
        )
        places = [job[TileJob.WORDS] + row * v.isa.lanes * tile.pitch for row in range(count)]
        for row, words in enumerate(places):
            tile.store(row, words)
        for start, words in zip(starts, places, strict=True):
            _finish(v, finish, words, start, height)

    def every(limits: Rescaling) -> None:
        finish = Finish.of(v, job, panels, limits)
        v.each(lefts // PAIR, lambda index: several(finish, index * PAIR, PAIR))
        v.when(lefts % PAIR > 0, lambda: several(finish, lefts - 1, 1))

    rescaled(v, job, every)


def _height(v: Vectors, rows: Value) -> Value:
    assert v.isa.matrices is not None
    return v.least(rows, v.isa.matrices.rows)


def _by_size(v: Vectors, rows: Value, panels: Value, case: Callable[[int, int], None]) -> None:
    """Run `case(registers of A, panels)`."""
    assert v.isa.matrices is not None
    sizes = [(lefts, columns) for lefts in (1, PAIR) for columns in (1, PAIR)]
    lefts = v.choose(rows > v.isa.matrices.rows, v.number(PAIR), 1)
    v.switch(lefts * 16 + panels, {16 * left + count: partial(case, left, count) for left, count in sizes})


@dataclass(frozen=True, slots=True)
class _Tile:
    """Rows of A times some panels of B."""

    v: Vectors
    kind: str
    operands: Operands
    initial: Value
    panels: int

    @classmethod
    def of(cls, v: Vectors, job: Record, kind: str, panels: int) -> _Tile:
        """Load what is known from the arguments."""
        return cls(v, kind, Operands.of(job), job[TileJob.INITIAL], panels)

    @property
    def pitch(self) -> int:
        """Return the bytes from row to row of the sums."""
        return PAIR * self.v.isa.register_bytes

    def multiply(self, starts: Sequence[Value], fetch: bool) -> None:
        """Leave sums in their registers: of the rows of A from each start on.

        Panels of B are as a rule in the second-level cache, or `fetch` has them brought there.
        """
        v, operands, step = self.v, self.operands, self.v.isa.register_bytes
        assert v.isa.matrices is not None
        rows, block = range(len(starts)), v.isa.matrices.row_bytes
        for panel in range(self.panels):
            for row in rows:
                self._start(_total(row, panel), panel)
        firsts = [operands.a + start * operands.a_row for start in starts]

        def products(_: Value, values: Sequence[Value]) -> Sequence[Value]:
            b, *lefts = values
            for panel in range(self.panels):
                column = b + (operands.b_panel if panel else 0)
                for line in range(v.isa.lanes if fetch else 0):
                    v.fetch(column + (AHEAD + line * step))
                v.load_rows(RIGHT[panel], column, step)
                for row in rows:
                    if panel == 0:
                        v.load_rows(LEFT[row], lefts[row], operands.a_row)
                    v.multiply_rows(self.kind, _total(row, panel), LEFT[row], RIGHT[panel])
            return [b + step * v.isa.lanes, *(left + block for left in lefts)]

        def segment(index: Value, values: Sequence[Value]) -> Sequence[Value]:
            inner = [values[0], *(first + index * operands.segment for first in firsts)]
            return v.loop(operands.steps // v.isa.lanes, inner, products)[:1]

        v.loop(operands.segments, [operands.b], segment)

    def _start(self, total: int, panel: int) -> None:
        """Let a register of sums of a panel begin."""
        if self.kind == "i8":
            self.v.load_rows(total, self.initial + panel * self.v.isa.register_bytes, 0)
        else:
            self.v.clear_rows(total)

    def store(self, row: int, words: Value) -> None:
        """Store the sums of a register of rows of A."""
        for panel in range(self.panels):
            place = words + panel * self.v.isa.register_bytes
            self.v.store_rows(_total(row, panel), place, self.pitch)


def _finish(v: Vectors, finish: Finish, words: Value, start: Value, height: Value) -> None:
    """Rescale and store so many rows of sums, some at a time; the last of these may begin early."""
    panels, step = len(finish.panels), v.isa.register_bytes

    def together(count: int) -> None:
        def some(index: Value) -> None:
            first = v.least(index * count, height - count)
            places = [words + (first + row) * (PAIR * step) for row in range(count)]
            totals = [v.load(place + panel * step, "i32") for place in places for panel in range(panels)]
            finish.rows(totals, start + first)

        v.each((height + (count - 1)) // count, some)

    v.when(height >= finish.several, lambda: together(finish.several), lambda: together(1))
