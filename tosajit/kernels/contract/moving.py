"""Rows of bytes that are copied or filled, by the widest registers that fit into them.

A row of at least one register and at most two is covered by two, which may overlap: no byte beside it is
touched, and there is no loop over what is left.
"""

from __future__ import annotations

from collections.abc import Callable

from tosajit.kernels.sets.values import Number, Value
from tosajit.kernels.sets.vectors import Vectors

WORDS = {1: "i8", 2: "i16", 4: "i32"}
"""What registers of so many bytes, or of more, are made of."""


def copy_rows(
    v: Vectors, source: Value, target: Value, size: Value, count: Value, step: Value, pitch: Value
) -> None:
    """Copy rows of `size` bytes, which are `step` apart, to where they are `pitch` apart."""
    _copied(v, lambda row: source + row * step, target, size, count, pitch)


def copy_rows_by(
    v: Vectors,
    table: Value,
    limit: Value,
    source: Value,
    target: Value,
    size: Value,
    count: Value,
    step: Value,
    pitch: Value,
) -> None:
    """Copy rows whose numbers in the source are int32 of a table, kept within 0 and a limit."""

    def where(row: Value) -> Value:
        number = v.loaded_word(table + row * 4)
        return source + v.least(v.choose(number > 0, number, 0), limit) * step

    _copied(v, where, target, size, count, pitch)


def fill_rows(
    v: Vectors,
    target: Value,
    word: Value,
    size: Value,
    front: Value,
    back: Value,
    count: Value,
    pitch: Value,
) -> None:
    """Fill the first and the last bytes of rows; what is between them may be filled, too."""

    def fill(register: int) -> None:
        kind = WORDS[min(register, 4)]
        filling = v.splat(word, kind, register // min(register, 4))
        last = size - register
        firsts, lasts = ((some + (register - 1)) // register for some in (front, back))

        def row(number: Value) -> None:
            to = target + number * pitch
            v.each(firsts, lambda index: v.store(filling, to + v.least(index * register, last)))
            v.each(lasts, lambda index: v.store(filling, to + _not_negative(v, last - index * register)))

        v.each(count, row)

    by_registers(v, size, fill)


def _copied(
    v: Vectors, where: Callable[[Value], Value], target: Value, size: Value, count: Value, pitch: Value
) -> None:
    def copy(register: int) -> None:
        kind = WORDS[min(register, 4)]
        lanes, last = register // min(register, 4), size - register
        whole = (size - 1) // register

        def row(number: Value) -> None:
            source, to = where(number), target + number * pitch

            def part(offset: Value) -> None:
                v.store(v.load(source + offset, kind, lanes), to + offset)

            if register == v.isa.register_bytes:
                v.each(whole, lambda index: part(index * register))
            else:
                part(v.number(0))
            part(last)

        v.each(count, row)

    by_registers(v, size, copy)


def by_registers(v: Vectors, size: Value, run: Callable[[int], None], least: int = 1) -> None:
    """Run what is written for the widest register that is not larger than a row, of `least` bytes or more."""
    if 2 * least > v.isa.register_bytes:
        run(least)
        return
    v.when(size < 2 * least, lambda: run(least), lambda: by_registers(v, size, run, 2 * least))


def _not_negative(v: Vectors, number: Value) -> Number:
    return v.choose(number > 0, number, 0)
