"""What follows sums of float32 in registers: a bias, another operand, bounds or a gate, a factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.slots import (
    BIASED,
    BOUNDED,
    GATED,
    JOINED,
    SCALED,
    DepthwiseTile,
    TileJob,
)
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors

FLOAT_BYTES = 4
Mask = tuple[Value, int]
"""The columns of a panel that there are, and its lanes."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What a tile does with its sums, and where its columns go; which of it is known when it runs."""

    v: Vectors
    kind: Value
    bias: Value
    low: Value
    high: Value
    shift: Value
    scale: Value
    columns: Value
    """From the addresses on; whole registers where the set stores no masks."""

    @classmethod
    def of_tile(cls, v: Vectors, job: Record) -> Ending:
        """What a register tile is told."""
        slot = TileJob
        numbers = job[slot.LOW], job[slot.HIGH], job[slot.SHIFT], job[slot.SCALE]
        return cls(v, job[slot.FUSED], job[slot.PARAMETERS], *numbers, job[slot.COLUMNS])

    @classmethod
    def of_pixels(cls, v: Vectors, job: Record) -> Ending:
        """What a row of pixels of a depthwise convolution is told."""
        slot = DepthwiseTile
        numbers = job[slot.LOW], job[slot.HIGH], job[slot.SHIFT], job[slot.SCALE]
        return cls(v, job[slot.SIGN], job[slot.PARAMETERS], *numbers, job[slot.COLUMNS])

    def store(
        self,
        totals: Sequence[Register],
        rows: Sequence[Value],
        first: Value,
        others: Sequence[Value] = (),
        last: int | None = None,
    ) -> None:
        """Store rows of sums, from column `first` on, at addresses; `others` are those of what is added.

        The last panel may have fewer lanes.
        """
        v, left, panels = self.v, self.columns - first, len(totals) // len(rows)
        lanes = [v.isa.lanes] * (panels - 1) + [last or v.isa.lanes]
        widths = [v.least(left - panel * v.isa.lanes, count) for panel, count in enumerate(lanes)]
        pairs = zip(widths, lanes, strict=True)
        masks = [(v.below(width), count) for width, count in pairs] if v.isa.masked else []
        bias = self.bias + first * FLOAT_BYTES
        biases, added, parts = (self._parts(panels, where) for where in ([bias], others, rows))
        totals = v.loop(self._has(BIASED), totals, partial(self._with, masks, biases * len(rows)))
        if others:
            totals = v.loop(self._has(JOINED), totals, partial(self._with, masks, added))
        totals = v.loop(self._has(BOUNDED), totals, self._bounded)
        totals = v.loop(self._has(GATED | SCALED), totals, self._gated_or_scaled)

        def whole() -> None:
            for total, where in zip(totals, parts, strict=True):
                v.store(total, where)

        def masked() -> None:
            for place, (total, where) in enumerate(zip(totals, parts, strict=True)):
                v.store_part(v.view(total, "i32"), where, masks[place % panels][0])

        if masks:
            v.when(left >= sum(lanes), whole, masked)
        else:
            whole()

    def _has(self, flags: int) -> Value:
        """How often a part with one of these flags is done: once, or never."""
        return self.v.choose(self.v.equal(self.kind & flags, 0), self.v.number(0), 1)

    def _parts(self, panels: int, rows: Sequence[Value]) -> list[Value]:
        """Where registers of rows are."""
        size = self.v.isa.register_bytes
        return [row + panel * size for row in rows for panel in range(panels)]

    def _with(
        self, masks: Sequence[Mask], parts: Sequence[Value], _: Value, now: Sequence[Register]
    ) -> Sequence[Register]:
        """Totals with what is at these places."""
        return [total + self._load(masks, place, parts[place]) for place, total in enumerate(now)]

    def _load(self, masks: Sequence[Mask], place: int, where: Value) -> Register:
        if not masks:
            return self.v.load(where, "f32")
        mask, lanes = masks[place % len(masks)]
        return self.v.view(self.v.load_part(where, mask, "i32", lanes=lanes), "f32")

    def _bounded(self, _: Value, now: Sequence[Register]) -> Sequence[Register]:
        bounds = self._numbers(self.low, now), self._numbers(self.high, now)
        return [self._within(*given) for given in zip(now, *bounds, strict=True)]

    def _gated_or_scaled(self, _: Value, now: Sequence[Register]) -> Sequence[Register]:
        """What is rarer, behind one test of both."""
        now = self.v.loop(self._has(GATED), now, self._gated)
        return self.v.loop(self._has(SCALED), now, self._scaled)

    def _gated(self, _: Value, now: Sequence[Register]) -> Sequence[Register]:
        shifts, lows, highs = (self._numbers(bits, now) for bits in (self.shift, self.low, self.high))
        return [
            total * self._within(total + shift, low, high)
            for total, shift, low, high in zip(now, shifts, lows, highs, strict=True)
        ]

    def _within(self, total: Register, low: Register, high: Register) -> Register:
        above = self.v.choose(total < low, low, total)
        return self.v.choose(above > high, high, above)

    def _scaled(self, _: Value, now: Sequence[Register]) -> Sequence[Register]:
        return [total * scale for total, scale in zip(now, self._numbers(self.scale, now), strict=True)]

    def _numbers(self, bits: Value, like: Sequence[Register]) -> list[Register]:
        """A number of float32 in all lanes of registers like others."""
        v, lanes = self.v, [self.v.lanes_of(register) for register in like]
        made = {count: v.view(v.splat(bits, "i32", count), "f32") for count in dict.fromkeys(lanes)}
        return [made[count] for count in lanes]
