"""Matrices whose rows become columns, in squares or all of few columns, and bytes looked up in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tosajit.kernels.contract.spec import side_of
from tosajit.kernels.sets.values import BYTES, Register, Value
from tosajit.kernels.sets.vectors import Vectors


def transpose(
    kind: str, v: Vectors, source: Value, target: Value, source_pitch: Value, target_pitch: Value
) -> None:
    """Turn a square; pitches in bytes."""
    side = side_of(v.isa, int(kind[1:]) // 8)
    rows = [v.load(source + source_pitch * row, kind, side) for row in range(side)]
    for column, register in enumerate(_turned(v, rows)):
        v.store(register, target + target_pitch * column)


def _turned(v: Vectors, rows: Sequence[Register]) -> list[Register]:
    """The columns of a square: each zip of its halves doubles how many elements of a column are together."""
    turned, half = list(rows), len(rows) // 2
    for _ in range(len(rows).bit_length() - 1):
        pairs = zip(turned[:half], turned[half:], strict=True)
        turned = [register for pair in pairs for register in v.zipped(*pair)]
    return turned


def interleave_rows(
    kind: str, rows: int, v: Vectors, source: Value, target: Value, count: Value, pitch: Value
) -> None:
    """Put the elements of few rows side by side: at least a register of each; the pitch is in bytes."""

    def part(first: Value) -> None:
        loaded = [v.load(source + first + pitch * row, kind) for row in range(rows)]
        lanes = loaded[0].lanes
        turned = [lanes * row + lane for lane in range(lanes) for row in range(rows)]
        whole = _side_by_side(v, loaded)
        v.store(v.shuffled(whole, whole, turned), target + first * rows)

    _by_registers(v, kind, count, part)


def part_columns(
    kind: str, columns: int, v: Vectors, source: Value, target: Value, count: Value, pitch: Value
) -> None:
    """Put the elements of few columns into a row each, of at least a register."""
    lanes = v.isa.register_bytes // BYTES[kind]

    def part(first: Value) -> None:
        whole = v.load(source + first * columns, kind, columns * lanes)
        for column in range(columns):
            row = v.shuffled(whole, whole, range(column, columns * lanes, columns))
            v.store(row, target + first + pitch * column)

    _by_registers(v, kind, count, part)


def _by_registers(v: Vectors, kind: str, count: Value, part: Callable[[Value], None]) -> None:
    """Run `part(first byte)` for each register of some elements; the last may begin within the one before."""
    step = v.isa.register_bytes
    size = count * BYTES[kind]
    v.each((size + (step - 1)) // step, lambda index: part(v.least(index * step, size - step)))


def _side_by_side(v: Vectors, registers: Sequence[Register]) -> Register:
    """Return the lanes of some registers in one."""
    whole, *others = registers
    for register in others:
        lanes, more = whole.lanes, register.lanes
        long = v.shuffled(register, register, [lane % more for lane in range(lanes)])
        whole = v.shuffled(whole, long, range(lanes + more))
    return whole


def lookup_i8(v: Vectors, source: Value, target: Value, table: Value, count: Value) -> None:
    """Look up bytes + 128, where the set has `byte_tables`."""
    step = v.isa.register_bytes
    # A byte counts as unsigned, so the entries of negative values come last.
    entries = [v.load(table + step * part, "i8") for part in range(256 // step)]

    def whole(index: Value) -> None:
        v.store(v.looked_up(entries, v.load(source + index * step, "i8")), target + index * step)

    v.each(count // step, whole)
    done, mask = count // step * step, v.below(count % step)
    last = v.looked_up(entries, v.load_part(source + done, mask, "i8"))
    v.store_part(last, target + done, mask)
