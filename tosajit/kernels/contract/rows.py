"""Runs of bytes: copying, filling and summing rows of A."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tosajit.kernels.contract.products import INT8
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.slots import RowsJob
from tosajit.kernels.sets.values import Number, Register, Value
from tosajit.kernels.sets.vectors import Vectors

RUN_ENTRY = 24
"""Bytes of an entry of the table of runs: address of its first byte for input column 0, column of its first
tap, and -1 or, for a run in the padding, 0."""
SHORT = 16
"""Bytes of runs that are worth registers of their own."""


def copy_run(v: Vectors, target: Value, source: Value, size: Value) -> None:
    """Copy bytes; may write a register past the end."""
    step = v.isa.register_bytes
    full = size // step

    def whole(index: Value) -> None:
        v.store(v.load(source + index * step, "i8"), target + index * step)

    v.each(full, whole)
    done = full * step
    v.store(v.load_part(source + done, v.below(size - done), "i8"), target + done)


def fill_run(v: Vectors, target: Value, value: Value, size: Value) -> None:
    """Fill bytes; may write a register past the end."""
    step = v.isa.register_bytes
    register = v.splat(value, "i8")
    v.each((size + (step - 1)) // step, lambda index: v.store(register, target + index * step))


@dataclass(frozen=True, slots=True)
class _Runs:
    """The runs of one position: where their table is, and what they have in common."""

    v: Vectors
    table: Value
    count: Value
    size: Value
    stride: Value
    shift: Value
    zero: Value
    flip: Value

    def each(self, target: Value, copy: Callable[[Value, Value, Value], None]) -> None:
        """Run `copy(to, entry, known bits)` for each."""

        def run(index: Value, to: list[Value]) -> list[Value]:
            entry = self.table + index * RUN_ENTRY
            copy(to[0], entry, self.v.loaded(entry + 16))
            return [to[0] + self.stride]

        self.v.loop(self.count, [target], lambda index, to: run(index, list(to)))

    def zeros(self, lanes: int) -> Register:
        """Zero points in all bytes."""
        return self.v.splat(self.zero, "i8", lanes)

    def register(self, to: Value, where: Value, known: Value) -> None:
        """Copy a register of a run that exists, or zero points; without masks no byte is looked at alone."""
        v, step = self.v, self.v.isa.register_bytes
        if v.isa.masked:
            self.part(to, where, known, step)
        else:
            flip = v.splat(self.flip, "i8")
            zeros = partial(v.store, self.zeros(step) ^ flip, to)
            v.when(known < 0, lambda: v.store(v.load(where, "i8") ^ flip, to), zeros)

    def part(self, to: Value, where: Value, mask: Value, lanes: int) -> None:
        """Copy a register, with zero points for the bytes that the mask does not have."""
        loaded = self.v.load_part(where, mask, "i8", self.zeros(lanes), lanes)
        self.v.store(loaded ^ self.v.splat(self.flip, "i8", lanes), to)

    def within(self, target: Value, mask: Value, lanes: int) -> None:
        """Copy runs that fit a register, of which the same bytes exist in all."""

        def copy(to: Value, entry: Value, known: Value) -> None:
            self.part(to, self.v.loaded(entry) + self.shift, mask & known, lanes)

        self.each(target, copy)

    def whole(self, target: Value) -> None:
        """Copy long runs that exist, but for those in the padding above and below."""
        v, step = self.v, self.v.isa.register_bytes
        full, rest = self.size // step, self.size % step
        tail = v.below(rest)

        def copy(to: Value, entry: Value, known: Value) -> None:
            where = v.loaded(entry) + self.shift
            v.each(full, lambda chunk: self.register(to + chunk * step, where + chunk * step, known))
            done = full * step
            v.when(rest > 0, lambda: self.part(to + done, where + done, tail & known, step))

        self.each(target, copy)

    def clipped(self, target: Value, bounds: Callable[[Value], tuple[Value, Value]]) -> None:
        """Copy runs of which only the bytes within bounds(entry) exist."""
        v, step = self.v, self.v.isa.register_bytes
        chunks = (self.size + (step - 1)) // step

        def copy(to: Value, entry: Value, known: Value) -> None:
            where = v.loaded(entry) + self.shift
            low, high = bounds(entry)

            def chunk(position: Value) -> None:
                done = position * step
                first, last = low - done, high - done

                def some() -> Value:
                    start, end = clamped(v, first, v.number(step)), clamped(v, last, v.number(step))
                    return v.choose(start < end, v.between(start, end), 0)

                def part() -> None:
                    self.part(to + done, where + done, v.usually(whole, -1, some) & known, step)

                whole = (last >= step) & (first <= 0)
                if v.isa.masked:
                    part()
                else:
                    v.when(whole, lambda: self.register(to + done, where + done, known), part)

            v.each(chunks, chunk)

        self.each(target, copy)


def clamped(v: Vectors, value: Value, limit: Value) -> Value:
    """Return a number within 0 and a limit."""
    return v.least(v.choose(value > 0, value, 0), limit)


def gather_rows(v: Vectors, address: Value) -> None:
    """Gather rows of A for outputs along x (`RowsJob`); taps outside of the input are zero points.

    May write a register past the end.
    """
    job = Record(v, address)
    target, row_bytes, step = job[RowsJob.TARGET], job[RowsJob.ROW_BYTES], v.isa.register_bytes
    run_taps, tap_bytes, reach = job[RowsJob.RUN_TAPS], job[RowsJob.TAP_BYTES], job[RowsJob.REACH]
    column, stride, width = job[RowsJob.COLUMN], job[RowsJob.STRIDE], job[RowsJob.WIDTH]
    table, runs, run_bytes = job[RowsJob.TABLE], job[RowsJob.RUNS], job[RowsJob.RUN_BYTES]
    in_x, zero, size = job[RowsJob.IN_X], job[RowsJob.ZERO], run_taps * tap_bytes
    joined = v.equal(run_taps, reach)
    every = v.below(size)

    def position(index: Value) -> None:
        first, to = column + index * stride, target + index * row_bytes
        row = _Runs(v, table, runs, size, run_bytes, first * in_x, zero, job[RowsJob.FLIP])
        inside = (first >= 0) & (first + reach <= width)

        def bounds(start: Value) -> tuple[Value, Value]:
            low, high = clamped(v, 0 - start, run_taps), clamped(v, width - start, run_taps)
            return low * tap_bytes, high * tap_bytes

        def some() -> Value:
            low, high = bounds(first)
            return v.choose(low < high, v.between(low, high), 0)

        def short() -> None:
            mask = v.usually(inside, every, some)
            if step > SHORT:
                v.when(size <= SHORT, lambda: row.within(to, mask, SHORT), lambda: row.within(to, mask, step))
            else:
                row.within(to, mask, step)

        def long() -> None:
            v.when(
                inside,
                lambda: row.whole(to),
                lambda: row.clipped(to, lambda entry: bounds(first + v.loaded(entry + 8))),
            )

        v.when(joined & (size <= step), short, long)

    v.each(job[RowsJob.COUNT], position)


def signed_byte(value: int) -> int:
    """Return the int8 that has the bits of an unsigned byte."""
    return value - 256 * (value > 127)


def flip_rows(v: Vectors, source: Value, source_row: Value, size: Value, target: Value, rows: Value) -> None:
    """Copy rows of `size` int8 to dense rows that count from -bias; may write a register past the end."""
    step, flip = v.isa.register_bytes, signed_byte(v.isa.bias)
    full, rest = size // step, size % step

    def row(index: Value) -> None:
        first, to = source + index * source_row, target + index * size
        v.each(full, lambda at: v.store(v.load(first + at * step, "i8") ^ flip, to + at * step))
        last = v.load_part(first + full * step, v.below(rest), "i8")
        v.when(rest > 0, lambda: v.store(last ^ flip, to + full * step))

    v.each(rows, row)


def widened(v: Vectors, register: Register) -> list[Register]:
    """Return bytes as int16, in two registers."""
    half = v.isa.register_bytes // 2
    parts = [v.shuffled(register, register, range(first, first + half)) for first in (0, half)]
    return [v.extended(part, "i16") for part in parts]


def widen_rows(v: Vectors, source: Value, source_row: Value, size: Value, target: Value, rows: Value) -> None:
    """Widen rows of `size` bytes to dense rows of int16; may write a register past the end of each."""
    count = v.isa.register_bytes // 2
    full, rest = size // count, size % count

    def row(index: Value) -> None:
        first, to = source + index * source_row, target + index * (size * 2)

        def put(register: Register, position: Value) -> None:
            v.store(v.extended(register, "i16"), to + position * (2 * count))

        v.each(full, lambda at: put(v.load(first + at * count, "i8", count), at))
        last = v.load_part(first + full * count, v.below(rest), "i8", lanes=count)
        v.when(rest > 0, lambda: put(last, full))

    v.each(rows, row)


def add_row_sums(
    v: Vectors, a: Value, a_row: Value, size: Value, factor: Value, terms: Value, rows: Value
) -> None:
    """Add factor * (sum of int8 along the row of A) to a word of each row."""
    step, product, flip = v.isa.register_bytes, INT8.on(v.isa), signed_byte(v.isa.bias)
    ones = v.constant(1, product.kind)

    def row(index: Value) -> None:
        start, term = a + index * a_row, terms + index * 4

        def part(position: Value, totals: list[Value]) -> list[Value]:
            offset = position * step
            mask = v.below(v.least(size - offset, step))
            some = v.load_part(start + offset, mask, "i8", v.constant(flip, "i8"))
            signed = some ^ flip if flip else some
            return [product.multiplied(v, totals[0], ones, v.view(signed, product.kind))]

        zero = v.constant(0, "i32")
        parts = v.loop((size + (step - 1)) // step, [zero], lambda at, totals: part(at, list(totals)))
        total = v.loaded_word(term) + v.sum(parts[0]) * factor
        v.store(v.splat(total, "i32", 1), term)

    v.each(rows, row)


def add_terms(v: Vectors, terms: Value, words: Value, rows: Value) -> None:
    """Add a word of each row to its sums, those of two panels."""
    step = v.isa.register_bytes

    def row(index: Value) -> None:
        sums, term = words + index * (2 * step), v.splat(v.loaded_word(terms + index * 4), "i32")
        for offset in (0, step):
            v.store(v.load(sums + offset, "i32") + term, sums + offset)

    v.each(rows, row)


def widen_add(v: Vectors, words: Register, where: Number) -> None:
    """Add words to as many quad words at an address."""
    for half, quads in enumerate(_quads(v, words)):
        there = where + half * v.isa.register_bytes
        v.store(v.load(there, "i64") + quads, there)


def _quads(v: Vectors, words: Register) -> list[Register]:
    half = v.isa.lanes // 2
    parts = [v.shuffled(words, words, range(first, first + half)) for first in (0, half)]
    return [v.extended(part, "i64") for part in parts]


def widen_add_rows(v: Vectors, sums: Value, words: Value, rows: Value, panels: Value, split: Value) -> None:
    """Add rows of two panels of words to rows of quad words.

    If `split`, the panels are the upper and the lower bytes of the same columns.
    """
    step = v.isa.register_bytes

    def row(index: Value) -> None:
        source, target = sums + index * (2 * step), words + index * (4 * step)
        first, second = v.load(source, "i32"), v.load(source + step, "i32")

        def halves() -> None:
            for half, (upper, lower) in enumerate(zip(_quads(v, first), _quads(v, second), strict=True)):
                there = target + half * step
                v.store(v.load(there, "i64") + ((upper << 8) + lower), there)

        def columns() -> None:
            widen_add(v, first, target)
            v.when(panels > 1, lambda: widen_add(v, second, target + 2 * step))

        v.when(split > 0, halves, columns)

    v.each(rows, row)
