"""Squares of matrices whose rows become columns, and bytes looked up in a table of 256."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit.kernels.contract.spec import side_of
from tosajit.kernels.sets.values import Register, Value
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
