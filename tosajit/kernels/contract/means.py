"""The means of windows, for rows of neighbours whose windows are alike.

Sums of float32 are taken in the order of the taps. Of integers the mean is the nearest one, and of two the
one farther from zero: that is what the specification's multipliers give for as many taps as `host.means`
lets through, and so does float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tosajit.kernels.contract.covering import Window, Windows, cover
from tosajit.kernels.sets.values import BYTES, Register, Value
from tosajit.kernels.sets.vectors import Vectors

SUMS = {"i8": "i16", "i16": "i32", "f32": "f32"}
"""The types of sums."""
HALF = 0x3F000000
SIGN = -(1 << 31)
"""The bits of a half, and the sign's."""


def mean(
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
    divisor: Value,
    input_zp: Value,
    output_zp: Value,
) -> None:
    """Store the sums of windows (see `Windows`) without their zero points, divided."""
    where = Windows(height, width, row_step, step, count, gap, pitch)
    zero = height * width * input_zp

    def make(lanes: int, side: int | None) -> Window:
        return _Mean(v, kind, lanes, side, where, divisor, zero, output_zp)

    cover(v, kind, source, target, size, where, make)


@dataclass(frozen=True, slots=True)
class _Mean(Window):
    """Their means."""

    divisor: Value
    zero: Value
    """The sum of elements that stand for zero."""
    output_zp: Value

    def results(self, starts: Sequence[Value]) -> Sequence[Register]:
        """The mean of each."""
        v, lanes = self.v, self.lanes
        zero = v.view(v.constant(0, "i32" if self.kind == "f32" else SUMS[self.kind], lanes), SUMS[self.kind])
        totals = self.combined(starts, [zero] * len(starts))
        divisor = v.converted(v.splat(self.divisor, "i32", lanes), "f32")
        if self.kind == "f32":
            return [total / divisor for total in totals]
        return [self._nearest(v.extended(total, "i32"), divisor) for total in totals]

    def taps(
        self, starts: Sequence[Value], offsets: Sequence[Value], before: Sequence[Register]
    ) -> list[Register]:
        """With some taps of each window, one after the other."""
        totals = list(before)
        for offset in offsets:
            for place, start in enumerate(starts):
                value = self.v.load(start + offset, self.kind, self.lanes)
                wide = value if self.kind == "f32" else self.v.extended(value, SUMS[self.kind])
                totals[place] = totals[place] + wide
        return totals

    def _nearest(self, total: Register, divisor: Register) -> Register:
        """The nearest element to a sum of integers, divided."""
        v, lanes, bits = self.v, self.lanes, 8 * BYTES[self.kind]
        sums = v.converted(total - v.splat(self.zero, "i32", lanes), "f32")
        mean = sums / divisor
        sign = v.view(mean, "i32") & v.constant(SIGN, "i32", lanes)
        half = v.view(sign + v.constant(HALF, "i32", lanes), "f32")
        result = v.truncated(mean + half) + v.splat(self.output_zp, "i32", lanes)
        low, high = (v.constant(limit, "i32", lanes) for limit in (-(1 << bits - 1), (1 << bits - 1) - 1))
        return v.shortened(v.greater(v.least(result, high), low), self.kind)
