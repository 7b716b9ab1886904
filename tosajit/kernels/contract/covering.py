"""Rows of neighbours whose windows are alike, covered by registers of results.

The last register may overlap: no byte beside a row is touched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tosajit.kernels.contract.moving import by_registers
from tosajit.kernels.sets.values import BYTES, Register, Value
from tosajit.kernels.sets.vectors import Vectors

LARGE = 16
"""Bytes of registers that are worth a text of their own for each common width of windows."""
MOST = 4
"""Registers of results at once, of windows that may have many taps."""
FEW = 2
"""The side of squares of so few taps that all of their addresses stay in registers."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Where windows lie: of height by width taps, `gap` apart, and their results `pitch`."""

    height: Value
    width: Value
    row_step: Value
    step: Value
    count: Value
    gap: Value
    pitch: Value


@dataclass(frozen=True, slots=True)
class Window(ABC):
    """Windows in registers of so many lanes, and what is made of them."""

    v: Vectors
    kind: str
    lanes: int
    side: int | None
    """That of squares, if they are known to be such."""
    where: Windows

    @abstractmethod
    def results(self, starts: Sequence[Value]) -> Sequence[Register]:
        """What is made of windows whose first taps are at these places."""

    @abstractmethod
    def taps(
        self, starts: Sequence[Value], offsets: Sequence[Value], before: Sequence[Register]
    ) -> list[Register]:
        """The registers that are carried, with some taps of each window."""

    def combined(self, starts: Sequence[Value], before: list[Register]) -> list[Register]:
        """With all taps, row by row."""
        where = self.where
        columns = [where.step * x for x in range(self.side or 0)]
        if self.side == FEW:
            return self.taps(starts, [*columns, *(where.row_step + column for column in columns)], before)

        def line(y: Value, totals: Sequence[Register]) -> Sequence[Register]:
            first = y * where.row_step
            if columns:
                return self.taps(starts, [first + column for column in columns], totals)
            return self.v.loop(
                where.width, totals, lambda x, inner: self.taps(starts, [first + x * where.step], inner)
            )

        return self.v.loop(where.height, before, line)


def cover(
    v: Vectors,
    kind: str,
    source: Value,
    target: Value,
    size: Value,
    where: Windows,
    make: Callable[[int, int | None], Window],
) -> None:
    """Store the results of windows; `make` says them for so many lanes, and for squares of a known side."""

    def rows(register: int, side: int | None = None) -> None:
        window = make(register // BYTES[kind], side)
        registers, last = (size + (register - 1)) // register, size - register

        def position(index: Value) -> None:
            begin, end = source + index * where.gap, target + index * where.pitch

            def part(*offsets: Value) -> None:
                found = window.results([begin + offset for offset in offsets])
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

        v.each(where.count, position)

    def run(register: int) -> None:
        if register < LARGE:
            rows(register)
        else:
            side = v.choose(v.equal(where.width, where.height), where.width, 0)
            others = partial(v.when, v.equal(side, 3), partial(rows, register, 3), partial(rows, register))
            v.when(v.equal(side, 2), partial(rows, register, 2), others)

    by_registers(v, size, run, BYTES[kind])
