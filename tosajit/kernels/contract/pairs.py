"""The loops of a tile by products of pairs: two rows of A times two columns of B, eight bytes at a time.

B is packed as [columns / lanes][depth][lanes] by eight bytes. Sums are in blocks of two rows by two columns.
Rows of A are made up to eight bytes; what they have behind their depth meets zeros, and is zeros of bfloat16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tosajit.kernels.contract.operands import Operands
from tosajit.kernels.contract.products import Product
from tosajit.kernels.sets.description import EIGHT
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors

PAIR, STEPS = 2, EIGHT // 4
"""Rows or columns that meet at once, and the steps of four bytes that each has."""
SIDES = range(2)
"""A panel of columns takes two registers of blocks: one for each half of its columns."""


@dataclass(frozen=True, slots=True)
class PairLoops:
    """The loops of one size of tile; the last of an odd number of rows is paired with itself."""

    product: Product
    rows: int
    panels: int

    def sums(self, v: Vectors, operands: Operands, initial: Value) -> list[Register]:
        """Return the sums, row by row."""
        starts = [
            self.product.start(v, initial + panel * v.isa.register_bytes) for panel in range(self.panels)
        ]
        first = [v.shuffled(start, start, _doubled(v, side)) for start in starts for side in SIDES]
        pairs = -(-self.rows // PAIR)

        def segment(index: Value, values: Sequence[Value]) -> Sequence[Value]:
            a = [operands.a + index * operands.segment]
            while len(a) < pairs:
                a.append(a[-1] + operands.a_row * PAIR)
            eights, inner = operands.steps // STEPS, [*a, *values]
            inner = v.loop(eights // 2, inner, lambda _, now: self._eights(v, operands, now, 2))
            inner = v.loop(eights % 2, inner, lambda _, now: self._eights(v, operands, now, 1))
            return inner[pairs:]

        blocks = v.loop(operands.segments, [operands.b, *first * pairs], segment)[1:]
        return [
            v.shuffled(blocks[place], blocks[place + 1], _row_of_blocks(v, row % PAIR))
            for row in range(self.rows)
            for place in range(row // PAIR * len(first), (row // PAIR + 1) * len(first), len(SIDES))
        ]

    def _eights(self, v: Vectors, operands: Operands, now: Sequence[Value], count: int) -> Sequence[Value]:
        """Take one or two eights of each row."""
        pairs, step = -(-self.rows // PAIR), v.isa.register_bytes
        a, b, totals = now[:pairs], now[pairs], list(now[pairs + 1 :])
        lefts = [
            self._pairs(v, first, operands.a_row, 2 * pair + 1 < self.rows, count)
            for pair, first in enumerate(a)
        ]
        for eight in range(count):
            place = 0
            rights = [
                v.load(
                    b + (STEPS * eight + side) * step + (operands.b_panel if panel else 0), self.product.kind
                )
                for panel in range(self.panels)
                for side in SIDES
            ]
            for left in lefts:
                for right in rights:
                    totals[place] = self.product.paired(v, totals[place], left[eight], right)
                    place += 1
        return [*(first + EIGHT * count for first in a), b + count * STEPS * step, *totals]

    def _pairs(self, v: Vectors, first: Value, a_row: Value, second: bool, count: int) -> list[Register]:
        """Load eights of two rows; return each of the first beside that of the second, again and again."""
        upper = v.load(first, "i64", count)
        lower = v.load(first + a_row, "i64", count) if second else upper
        times = v.isa.lanes // 4
        return [
            v.view(v.shuffled(upper, lower, [eight, count + eight] * times), self.product.kind)
            for eight in range(count)
        ]


def _doubled(v: Vectors, side: int) -> list[int]:
    """The lanes of a row of sums that blocks of two equal rows have."""
    half = v.isa.lanes // 2
    return [column + one for column in range(side * half, (side + 1) * half, PAIR) for one in (0, 1, 0, 1)]


def _row_of_blocks(v: Vectors, row: int) -> list[int]:
    """The lanes of blocks, in two registers, that are a row."""
    return [block + PAIR * row + column for block in range(0, 2 * v.isa.lanes, 4) for column in range(PAIR)]
