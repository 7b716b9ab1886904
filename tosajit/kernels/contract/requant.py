"""RESCALE of 32-bit sums to int8: one multiplication a lane, no branch, no 64-bit shift.

With v' = v + 2**31 (the start values of the columns hold the 2**31) the product of v' and 2 * multiplier is
unsigned, and its upper word is floor(v * multiplier / 2**31) + multiplier. What remains of TOSA 1.0.1's
apply_scale_32 (section 4.5.5) for shifts above 31 then fits 32-bit lanes: the step of double rounding for
negative v, the rounding term, and the output zero point are added ahead of one arithmetic shift by shift -
31.

Sets that multiply int16 may do it by one product of float32 instead: `float_table` says when that is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tosajit.kernels.contract.float_table import MAGIC_BITS
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.slots import RescaleJob
from tosajit.kernels.sets.values import Number, Register, Value
from tosajit.kernels.sets.vectors import Vectors

PANEL_REGISTERS = 4
"""Parameters of a panel of channels: 2 * multiplier as words, addends of the even and of the odd channels as
quad words, shift - 31 as words; a register each."""
SIGNED, UNSIGNED = 31, 32
"""What the slot SIGN has where the sign of a sum matters to its rounding, and where it does not."""
FLOATING, SIGNED_FLOATING = 0, -1
"""What the last parameters of a panel are where they are those of `float_table`; others are more."""


@dataclass(frozen=True, slots=True)
class Rescaling:
    """What stays the same for a panel: how its sums are rescaled, and the limits."""

    kind: int
    low: Value
    high: Value

    @property
    def signed(self) -> bool:
        """Tell whether the sign of a sum matters to its rounding."""
        return self.kind == SIGNED


@dataclass(frozen=True, slots=True)
class FloatPanel:
    """The parameters of a panel of channels that float32 rescale."""

    factor: Register
    addend: Register
    correction: Register
    """What is subtracted from negative sums."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The parameters of a panel of channels."""

    even_factor: Register
    odd_factor: Register
    even_addend: Register
    odd_addend: Register
    shift: Register

    @classmethod
    def at(cls, v: Vectors, parameters: Value, number: Number, rescaling: Rescaling) -> Panel | FloatPanel:
        """Load those of a panel by its number."""
        step = v.isa.register_bytes
        where = parameters + number * (PANEL_REGISTERS * step)
        if rescaling.kind <= FLOATING:
            return FloatPanel(
                v.load(where, "f32"), v.load(where + step, "f32"), v.load(where + 2 * step, "i32")
            )
        kinds = {0: "i64", 4: "i64", step: "i64", 2 * step: "i64", 3 * step: "i32"}
        return cls(*(v.load(where + offset, kind) for offset, kind in kinds.items()))


def narrowed(
    v: Vectors, words: Sequence[Register], panel: Panel | FloatPanel, rescaling: Rescaling
) -> list[Register]:
    """Return sums of a panel's channels as bytes, a register each."""
    rest = [scaled(v, total, panel, rescaling) for total in words]
    return v.narrow_all(rest, rescaling.low, rescaling.high)


def scaled(v: Vectors, words: Register, panel: Panel | FloatPanel, rescaling: Rescaling) -> Register:
    """Return sums of a panel's channels as what remains to be clipped to bytes."""
    if isinstance(panel, FloatPanel):
        if rescaling.kind == SIGNED_FLOATING:
            words = words - ((words >> 31) & panel.correction)
        return v.view(v.fused(panel.addend, v.converted(words, "f32"), panel.factor), "i32") - MAGIC_BITS
    lanes = range(v.isa.lanes)
    odds = v.shuffled(words, words, [lane | 1 for lane in lanes])
    even = v.even_products(v.view(words, "i64"), panel.even_factor) + panel.even_addend
    odd = v.even_products(v.view(odds, "i64"), panel.odd_factor) + panel.odd_addend
    uppers = [lane + 1 + half for lane in lanes[::2] for half in (0, len(lanes))]
    upper = v.shuffled(v.view(even, "i32"), v.view(odd, "i32"), uppers)
    if rescaling.signed:
        upper = upper + v.down(words, 31)
    return upper >> panel.shift


def put(v: Vectors, register: Register, where: Value, mask: Value | None) -> None:
    """Store bytes, or those of the mask."""
    if mask is None:
        v.store(register, where)
    else:
        v.store_part(register, where, mask)


def switched(
    v: Vectors, sign: Value, limits: tuple[Value, Value], parameters: Value, run: Callable[[Rescaling], None]
) -> None:
    """Run code for float32 if the parameters say so, else for sums whose sign matters or does not."""

    def either(condition: Value, first: int, second: int) -> None:
        v.when(condition, lambda: run(Rescaling(first, *limits)), lambda: run(Rescaling(second, *limits)))

    if v.isa.byte_factors:
        kind = v.loaded(parameters + (PANEL_REGISTERS - 1) * v.isa.register_bytes)
        v.when(
            kind > FLOATING,
            lambda: either(v.equal(sign, SIGNED), SIGNED, UNSIGNED),
            lambda: either(v.equal(kind, FLOATING), FLOATING, SIGNED_FLOATING),
        )
    else:
        either(v.equal(sign, SIGNED), SIGNED, UNSIGNED)


def panels(v: Vectors, columns: Value, run: Callable[[Value, Value | None], None]) -> None:
    """Run `run(panel, mask)` for whole panels of columns, and with a mask for a last partial one."""
    full, rest = columns // v.isa.lanes, columns % v.isa.lanes
    v.each(full, lambda index: run(index, None))
    v.when(rest > 0, lambda: run(full, v.below(rest)))


def rescale_i8(v: Vectors, address: Value) -> None:
    """Rescale rows of two panels of sums to int8 (`RescaleJob`)."""
    job, step = Record(v, address), v.isa.register_bytes
    words, parameters, out = (job[slot] for slot in (RescaleJob.WORDS, RescaleJob.PARAMETERS, RescaleJob.OUT))
    rows, offsets = job[RescaleJob.ROWS], job[RescaleJob.OFFSETS]

    def run(rescaling: Rescaling) -> None:
        def panel(index: Value, mask: Value | None) -> None:
            loaded = Panel.at(v, parameters, index, rescaling)
            source, target = words + index * step, out + index * v.isa.lanes

            def some(first: Value, count: int) -> None:
                places = [first + row for row in range(count)]
                sums = [v.load(source + place * (2 * step), "i32") for place in places]
                for place, value in zip(places, narrowed(v, sums, loaded, rescaling), strict=True):
                    put(v, value, target + v.loaded(offsets + place * 8), mask)

            several = v.isa.narrowed
            done = rows // several * several if several > 1 else v.number(0)
            if several > 1:
                v.each(rows // several, lambda position: some(position * several, several))
            v.each(rows - done, lambda position: some(done + position, 1))

        panels(v, job[RescaleJob.COLUMNS], panel)

    limits = job[RescaleJob.LOW], job[RescaleJob.HIGH]
    switched(v, job[RescaleJob.SIGN], limits, parameters, run)
