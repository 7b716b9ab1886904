"""The greatest elements of windows, for rows of neighbours whose windows are alike.

A row is covered by registers of one width, the last of which may overlap: no byte beside it is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

from tosajit.kernels.contract.moving import by_registers
from tosajit.kernels.sets.values import BYTES, Register, Value
from tosajit.kernels.sets.vectors import Vectors

BITS = {"i8": "i8", "i16": "i16", "f32": "i32"}
LARGE = 16
"""Bytes of registers that are worth a text of their own for each common width of windows."""
MOST = 4
"""Registers of results at once, of windows that may have many taps."""
FEW = 2
"""The side of squares of so few taps that all of their addresses stay in registers."""
NAN = 0x7FC00000
"""The bits of one."""


def greatest(
    kind: str,
    v: Vectors,
    source: Value,
    target: Value,
    size: Value,
    height: Value,
    width: Value,
    row_step: Value,
    step: Value,
    count: Value,
    gap: Value,
    pitch: Value,
    before: Value,
) -> None:
    """Store the greatest of windows of height by width taps; windows are `gap` apart, results `pitch`.

    It is not less than what has the bits of `before`. Of float32 that is NaN if there is one.
    """

    def rows(register: int, side: int | None = None) -> None:
        window = _Window(v, kind, register // BYTES[kind], side, height, width, row_step, step, before)
        registers, last = (size + (register - 1)) // register, size - register

        def position(index: Value) -> None:
            begin, end = source + index * gap, target + index * pitch

            def part(*offsets: Value) -> None:
                found = window.greatest([begin + offset for offset in offsets])
                for register, offset in zip(found, offsets, strict=True):
                    v.store(register, end + offset)

            def several(first: Value, many: int) -> None:
                part(first, *(v.least(first + place * register, last) for place in range(1, many)))

            most = MOST if side is None and register == v.isa.register_bytes else 2
            v.each(registers // most, lambda number: several(number * (most * register), most))
            if most > 2:
                rest = registers // most * (most * register)
                v.when((registers & 2) > 0, lambda: several(rest, 2))
            v.when((registers & 1) > 0, partial(part, last))

        v.each(count, position)

    def run(register: int) -> None:
        if register < LARGE:
            rows(register)
        else:
            side = v.choose(v.equal(width, height), width, 0)
            others = partial(v.when, v.equal(side, 3), partial(rows, register, 3), partial(rows, register))
            v.when(v.equal(side, 2), partial(rows, register, 2), others)

    by_registers(v, size, run, BYTES[kind])


@dataclass(frozen=True, slots=True)
class _Window:
    """Windows in registers of so many lanes."""

    v: Vectors
    kind: str
    lanes: int
    side: int | None
    """That of squares, if they are known to be such."""
    height: Value
    width: Value
    row_step: Value
    step: Value
    before: Value

    def greatest(self, starts: Sequence[Value]) -> Sequence[Register]:
        """The greatest of windows whose first taps are at these places."""
        v, kind, lanes = self.v, self.kind, self.lanes
        totals = [v.view(v.splat(self.before, BITS[kind], lanes), kind)] * len(starts)
        if kind == "f32":
            totals += [v.constant(0, "i32", lanes)] * len(starts)  # whether there was NaN
        totals = self._combined(starts, totals)
        if kind != "f32":
            return totals
        nan = v.view(v.constant(NAN, "i32", lanes), kind)
        pairs = zip(totals[: len(starts)], totals[len(starts) :], strict=True)
        return [v.choose(found < 0, nan, total) for total, found in pairs]

    def _combined(self, starts: Sequence[Value], before: list[Register]) -> list[Register]:
        """With all taps."""
        columns = [self.step * x for x in range(self.side or 0)]
        if self.side == FEW:
            return self._taps(starts, [*columns, *(self.row_step + column for column in columns)], before)

        def line(y: Value, totals: Sequence[Register]) -> Sequence[Register]:
            first = y * self.row_step
            if columns:
                return self._taps(starts, [first + column for column in columns], totals)
            return self.v.loop(
                self.width, totals, lambda x, inner: self._taps(starts, [first + x * self.step], inner)
            )

        return self.v.loop(self.height, before, line)

    def _taps(
        self, starts: Sequence[Value], offsets: Sequence[Value], before: Sequence[Register]
    ) -> list[Register]:
        """With some taps of each window; whether two are NaN is one comparison."""
        v, totals, nans = self.v, list[Register](), list[Register]()
        for number, start in enumerate(starts):
            values = [v.load(start + offset, self.kind, self.lanes) for offset in offsets]
            totals.append(reduce(lambda total, value: v.greater(value, total), values, before[number]))
            if self.kind == "f32":
                found = [
                    v.unordered(values[i], values[min(i + 1, len(values) - 1)])
                    for i in range(0, len(values), 2)
                ]
                nans.append(reduce(v.least, found, before[len(starts) + number]))
        return [*totals, *nans]
