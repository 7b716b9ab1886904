"""The greatest elements of windows, for rows of neighbours whose windows are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from tosajit.kernels.contract.covering import Window, Windows, cover
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors

BITS = {"i8": "i8", "i16": "i16", "f32": "i32"}
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
    """Store the greatest of windows (see `Windows`), which is not less than what has the bits of `before`.

    Of float32 that is NaN if there is one.
    """
    where = Windows(height, width, row_step, step, count, gap, pitch)

    def make(lanes: int, side: int | None) -> Window:
        return _Greatest(v, kind, lanes, side, where, before)

    cover(v, kind, source, target, size, where, make)


@dataclass(frozen=True, slots=True)
class _Greatest(Window):
    """Their greatest elements."""

    before: Value

    def results(self, starts: Sequence[Value]) -> Sequence[Register]:
        """The greatest of each."""
        v, kind, lanes = self.v, self.kind, self.lanes
        totals = [v.view(v.splat(self.before, BITS[kind], lanes), kind)] * len(starts)
        if kind == "f32":
            totals += [v.constant(0, "i32", lanes)] * len(starts)  # whether there was NaN
        totals = self.combined(starts, totals)
        if kind != "f32":
            return totals
        nan = v.view(v.constant(NAN, "i32", lanes), kind)
        pairs = zip(totals[: len(starts)], totals[len(starts) :], strict=True)
        return [v.choose(found < 0, nan, total) for total, found in pairs]

    def taps(
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
