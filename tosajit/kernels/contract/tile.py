"""Register tiles: rows of A times panels of B, with the sums in registers.

A step takes four bytes of each row of A (four int8, two int16, one fp32) and, for each panel of columns, the
register of B that meets them: B is packed as [columns / lanes][steps][lanes][4 bytes].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from tiling.records import replace
from tosajit.kernels.contract.ending import Ending
from tosajit.kernels.contract.operands import Operands
from tosajit.kernels.contract.pairs import PairLoops
from tosajit.kernels.contract.products import Product
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.slots import FAR, TileJob
from tosajit.kernels.contract.spec import LINE
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors

HALVES = 2
"""Panels of upper and of lower bytes that int16 is split into."""


def tile(product: Product, v: Vectors, address: Value) -> None:
    """Store the sums of rows of A times panels of B (`TileJob`), from the start values of the columns.

    Those of float32 may be finished first, of several tiles.

    There is a function for each size of tile. Accumulation wraps at 32 bits. Steps may be 0.
    """
    job, product, isa = Record(v, address), product.on(v.isa), v.isa.tiles_of(product.kind)
    panels = HALVES if product.halves else isa.panels

    def case(rows: int, columns: int, half: bool) -> None:
        name = f"contract_tile_{product.name}_{rows}x{columns}{'_half' if half else ''}"
        v.call(name, partial(_stored, loops(v, product, rows, columns, half)), address)

    choice = job[TileJob.PANELS] * 16 + job[TileJob.HEIGHT]
    halves = (False, True) if product.ends and isa.masked else (False,)
    sizes = [
        (rows, columns, half) for half in halves for columns in range(1, panels + 1) for rows in isa.heights
    ]
    v.switch(choice, {16 * (size[1] + panels * size[2]) + size[0]: partial(case, *size) for size in sizes})


def _stored(body: TileLoops | PairLoops, v: Vectors, address: Value) -> None:
    job = Record(v, address)
    operands = Operands.of(job, body.product.fetches, body.product.floats)
    if body.product.ends:
        _ended(body, v, job, operands)
    else:
        _store(v, job, body, body.sums(v, operands, job[TileJob.INITIAL]))


def _store(v: Vectors, job: Record, body: TileLoops | PairLoops, sums: Sequence[Register]) -> None:
    words = job[TileJob.WORDS]
    for place, total in zip(places_of(v, body.rows, body.panels), sums, strict=True):
        v.store(total, words + place)


def _ended(body: TileLoops | PairLoops, v: Vectors, job: Record, operands: Operands) -> None:
    """Tiles one below the other, so that what is around sums overlaps with those of the next tile."""
    fused, step = job[TileJob.FUSED], operands.following[1]
    height, fetched = operands.a_row * body.rows, operands.segments * operands.steps * step

    def one(_: Value, values: Sequence[Value]) -> Sequence[Value]:
        a, following, offsets = values
        if v.isa.register_bytes == LINE:
            v.when(fused >= FAR, partial(_fetch_results, v, job, body, offsets))
        sums = body.sums(v, replace(operands, a=a, following=(following, step)), job[TileJob.INITIAL])
        end, store = partial(_end, v, job, body, offsets, sums), partial(_store, v, job, body, sums)
        v.when(fused > 0, end, store)
        return [a + height, following + fetched, offsets + 8 * body.rows]

    tiles = v.choose(fused > 0, job[TileJob.TILES], 1)
    v.loop(tiles, [operands.a, operands.following[0], job[TileJob.OFFSETS]], one)


def _end(
    v: Vectors, job: Record, body: TileLoops | PairLoops, offsets: Value, sums: Sequence[Register]
) -> None:
    words, out, other, done = (
        job[slot] for slot in (TileJob.WORDS, TileJob.OUT, TileJob.OTHER, TileJob.DONE)
    )
    places = [v.loaded(offsets + 8 * row) << 2 for row in range(body.rows)]
    # Results of rows that are done may lie where their addends were: those of now are none.
    rows = [v.choose(done > row, words, out + place) for row, place in enumerate(places)]
    others = [other + place for place in places]
    lanes = body.lanes(v, body.panels - 1) if isinstance(body, TileLoops) else None
    Ending.of_tile(v, job).store(sums, rows, v.number(0), others, lanes)


def _fetch_results(v: Vectors, job: Record, body: TileLoops | PairLoops, offsets: Value) -> None:
    """Have the lines that a tile will write come while it sums."""
    out = job[TileJob.OUT]
    for row in range(body.rows):
        first = out + (v.loaded(offsets + 8 * row) << 2)
        for panel in range(body.panels):
            v.fetch_to_write(first + panel * LINE)


def loops(v: Vectors, product: Product, rows: int, panels: int, half: bool = False) -> TileLoops | PairLoops:
    """Return the loops of one size of tile."""
    if product.kind in v.isa.row_pairs:
        return PairLoops(product, rows, panels)
    return TileLoops(product, rows, panels, half)


@dataclass(frozen=True, slots=True)
class TileLoops:
    """The loops of one size of tile."""

    product: Product
    rows: int
    panels: int
    half: bool = False
    """Whether only the first half of the last panel counts: its registers are half as long then."""

    def lanes(self, v: Vectors, panel: int) -> int:
        """Return the columns of a panel that count."""
        return v.isa.lanes // 2 if self.half and panel == self.panels - 1 else v.isa.lanes

    def sums(self, v: Vectors, operands: Operands, initial: Value) -> list[Register]:
        """Return the sums, row by row."""
        size = self.rows * self.panels
        chains = v.isa.sums_apart(size)
        lanes = [self.lanes(v, panel) for panel in range(self.panels)]
        zeros = [self.product.zero(v, count) for count in lanes]
        first = [
            self.product.start(v, initial + panel * v.isa.register_bytes, count)
            for panel, count in enumerate(lanes)
        ]
        totals = first * self.rows + zeros * (self.rows * (chains - 1))
        totals[:size] = self._continued(v, operands, totals[:size])
        walk = _Walk(self, v, operands, chains)

        def segment(index: Value, values: Sequence[Value]) -> Sequence[Value]:
            return walk.segment(operands.a + index * operands.segment, values)

        streams = [operands.b, *operands.following[:1]]
        values = v.loop(operands.segments, [*streams, *totals], segment)[len(streams) :]
        done = list(values[:size])
        for place in range(size, len(values)):
            done[place % size] = done[place % size] + values[place]
        return [self.product.finished(v, total) for total in done]

    def _continued(self, v: Vectors, operands: Operands, totals: Sequence[Register]) -> Sequence[Register]:
        """Return the totals so far, if there are any, in place of those that sums start with."""
        if not operands.sums:
            return totals
        there, words = operands.sums
        places = [words + place for place in places_of(v, self.rows, self.panels)]
        kind, lanes = self.product.total, [self.lanes(v, panel) for panel in range(self.panels)] * self.rows
        parts = list(zip(places, lanes, strict=True))
        return v.loop(there, totals, lambda _, now: [v.load(where, kind, count) for where, count in parts])


def places_of(v: Vectors, rows: int, panels: int) -> list[int]:
    """Return where the sums of a tile are, row by row: there is room for two panels."""
    return [(row * HALVES + panel) * v.isa.register_bytes for row in range(rows) for panel in range(panels)]


@dataclass(frozen=True, slots=True)
class _Walk:
    """The steps of a tile along rows of A; three rows share an address register."""

    body: TileLoops
    v: Vectors
    operands: Operands
    chains: int

    def segment(self, a: Value, values: Sequence[Value]) -> Sequence[Value]:
        """Add up a segment, from the addresses of B and the totals so far."""
        v, steps, a_row = self.v, self.operands.steps, self.operands.a_row
        groups = [a]
        while len(groups) < -(-self.body.rows // 3):
            groups.append(v.kept(groups[-1] + (a_row + a_row) + a_row))
        inner: Sequence[Value] = [*groups, *values]
        # Registers of two sizes leave LLVM none for more steps of the highest tiles.
        mixed = self.body.half and self.body.panels > 1
        several = max(self.chains, 1 if mixed else v.steps_at_once(self.body.product.kind, self.body.panels))
        if several > 1:
            inner = v.loop(steps // several, inner, lambda index, now: self.steps(now, several))
            steps = steps % several
        inner = v.loop(steps, inner, lambda index, now: self.steps(now, 1))
        return inner[len(groups) :]

    def steps(self, values: Sequence[Value], unroll: int) -> Sequence[Value]:
        """Take some steps, one for each chain in turn."""
        v, body, product = self.v, self.body, self.body.product
        count = -(-body.rows // 3)
        groups, b, rest = values[:count], values[count], list(values[count + 1 :])
        ahead = self._fetch(rest, unroll)
        totals = rest[len(ahead) :]
        step_bytes = v.isa.register_bytes
        rows = [self._row(groups[row // 3], row % 3) for row in range(body.rows)]
        together = v.broadcasts_at_once(product.kind, body.panels) if unroll > 1 else 1
        for step in range(unroll):
            if step:
                v.begin_step(product.kind)
            if step % together == 0:
                lefts = [product.broadcasts(v, row + 4 * step, together) for row in rows]
            panels = [b + step * step_bytes + (self.operands.b_panel if p else 0) for p in range(body.panels)]
            columns = [product.operand(v, where, body.lanes(v, p)) for p, where in enumerate(panels)]
            for row, left in enumerate(lefts):
                for panel, column in enumerate(columns):
                    place = (step % self.chains * body.rows + row) * body.panels + panel
                    factor, count = left[step % together], body.lanes(v, panel)
                    if count < v.isa.lanes:
                        factor = v.shuffled(factor, factor, range(count))
                    totals[place] = product.multiplied(v, totals[place], factor, column)
        moved = [group + 4 * unroll for group in groups]
        return [*moved, b + step_bytes * unroll, *ahead, *totals]

    def _fetch(self, values: Sequence[Value], steps: int) -> Sequence[Value]:
        """Fetch columns that tiles after this one take, if any; return where the next steps do so."""
        if not self.operands.following:
            return []
        where = values[0]
        times = max(1, steps * self.v.isa.register_bytes // (2 * LINE))  # each line, for two tiles or more
        for _ in range(times):
            for panel in range(self.body.panels):
                self.v.fetch(where + self.operands.b_panel if panel else where)
            where = where + self.operands.following[1] * (steps // times)
        return [where]

    def _row(self, first: Value, number: int) -> Value:
        a_row = self.operands.a_row
        return first if number == 0 else first + (a_row if number == 1 else a_row + a_row)


def least_bf16(v: Vectors, source: Value, count: Value, lanes: Value) -> None:
    """Keep the least magnitudes less one: zero wraps round, and counts as large as can be.

    `lanes` is the address of a register of int16, each at most what it was before.
    """
    many = v.isa.lanes * 2

    def least(where: Value, known: Value, kind_lanes: int) -> Value:
        size = (v.load(where, "i16", kind_lanes) & 0x7FFF) - 1
        return v.least_unsigned(size, known)

    def whole(index: Value, known: Sequence[Value]) -> Sequence[Value]:
        return [least(source + index * (2 * many), known[0], many)]

    (found,) = v.loop(count // many, [v.load(lanes, "i16")], whole)
    v.store(found, lanes)
    rest = count % many
    start = source + (count - rest) * 2

    def single(index: Value, known: Sequence[Value]) -> Sequence[Value]:
        return [least(start + index * 2, known[0], 1)]

    (found,) = v.loop(rest, [v.load(lanes, "i16", 1)], single)
    v.store(found, lanes)
