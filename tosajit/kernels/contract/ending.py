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
        self, totals: Sequence[Register], rows: Sequence[Value], first: Value, others: Sequence[Value] = ()
    ) -> None:
        """Store rows of sums, from column `first` on, at addresses; `others` are those of what is added."""
        v, left, panels = self.v, self.columns - first, len(totals) // len(rows)
        widths = [v.least(left - panel * v.isa.lanes, v.isa.lanes) for panel in range(panels)]
        masks = [v.below(width) for width in widths] if v.isa.masked else []
        bias = self.bias + first * FLOAT_BYTES
        biases, added, parts = (self._parts(panels, where) for where in ([bias], others, rows))
        totals = v.loop(self._has(BIASED), totals, partial(self._with, masks, biases * len(rows)))
        if others:
            totals = v.loop(self._has(JOINED), totals, partial(self._with, masks, added))
        totals = v.loop(self._has(BOUNDED), totals, self._bounded)
        totals = v.loop(self._has(GATED), totals, self._gated)
        totals = v.loop(self._has(SCALED), totals, self._scaled)

        def whole() -> None:
            for total, where in zip(totals, parts, strict=True):
                v.store(total, where)

        def masked() -> None:
            for place, (total, where) in enumerate(zip(totals, parts, strict=True)):
                v.store_part(v.view(total, "i32"), where, masks[place % panels])

        if masks:
            v.when(left >= panels * v.isa.lanes, whole, masked)
        else:
            whole()

    def _has(self, flag: int) -> Value:
        """How often a part of it is done: once, or never."""
        return self.v.choose(self.v.equal(self.kind & flag, 0), self.v.number(0), 1)

    def _parts(self, panels: int, rows: Sequence[Value]) -> list[Value]:
        """Where registers of rows are."""
        size = self.v.isa.register_bytes
        return [row + panel * size for row in rows for panel in range(panels)]

    def _with(
        self, masks: Sequence[Value], parts: Sequence[Value], _: Value, now: Sequence[Register]
    ) -> Sequence[Register]:
        """Totals with what is at these places."""
        return [total + self._load(masks, place, parts[place]) for place, total in enumerate(now)]

    def _load(self, masks: Sequence[Value], place: int, where: Value) -> Register:
        if not masks:
            return self.v.load(where, "f32")
        return self.v.view(self.v.load_part(where, masks[place % len(masks)], "i32"), "f32")

    def _bounded(self, _: Value, now: Sequence[Register]) -> Sequence[Register]:
        bounds = self._number(self.low), self._number(self.high)
        return [self._within(total, *bounds) for total in now]

    def _gated(self, _: Value, now: Sequence[Register]) -> Sequence[Register]:
        shift, *bounds = (self._number(bits) for bits in (self.shift, self.low, self.high))
        return [total * self._within(total + shift, *bounds) for total in now]

    def _within(self, total: Register, low: Register, high: Register) -> Register:
        above = self.v.choose(total < low, low, total)
        return self.v.choose(above > high, high, above)

    def _scaled(self, _: Value, now: Sequence[Register]) -> Sequence[Register]:
        scale = self._number(self.scale)
        return [total * scale for total in now]

    def _number(self, bits: Value) -> Register:
        """A number of float32 in all lanes."""
        return self.v.view(self.v.splat(bits, "i32"), "f32")
