"""Bytes whose functions are the greatest or the least of two lines, in integers of 16 bits."""

from __future__ import annotations

from tosajit.kernels.contract.agreed import SHIFT
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors


def lines_i8(
    greatest: bool,
    v: Vectors,
    source: Value,
    target: Value,
    count: Value,
    low: Value,
    first: Value,
    first_offset: Value,
    second: Value,
    second_offset: Value,
) -> None:
    """Replace bytes by those of two lines, where the set has `byte_lines`: slopes, and what is added."""
    step, below = v.isa.register_bytes, v.splat(low, "i8")
    lines = [
        (v.splat(m, "i16"), v.splat(c, "i16")) for m, c in ((first, first_offset), (second, second_offset))
    ]

    def half(scaled: Register) -> Register:
        one, other = (v.high_products(scaled, slope) + offset for slope, offset in lines)
        return v.choose(one > other if greatest else one < other, one, other) >> SHIFT

    def made(register: Register) -> Register:
        return v.packed(*map(half, v.unpacked(below, register)))

    def whole(index: Value) -> None:
        v.store(made(v.load(source + index * step, "i8")), target + index * step)

    v.each(count // step, whole)
    done, mask = count // step * step, v.below(count % step)
    v.store_part(made(v.load_part(source + done, mask, "i8")), target + done, mask)
