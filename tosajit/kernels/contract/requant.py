"""RESCALE of 32-bit sums to int8: one multiplication a lane, no branch, no 64-bit shift.

With v' = v + 2**31 (the start values of the columns hold the 2**31) the product of v' and 2 * multiplier is
unsigned, and its upper word is floor(v * multiplier / 2**31) + multiplier. What remains of TOSA 1.0.1's
apply_scale_32 (section 4.5.5) for shifts above 31 then fits 32-bit lanes: the step of double rounding for
negative v, the rounding term, and the output zero point are added ahead of one arithmetic shift by shift -
31.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.slots import RescaleJob
from tosajit.kernels.sets.values import Number, Register, Value
from tosajit.kernels.sets.vectors import Vectors

PANEL_REGISTERS = 4
"""Parameters of a panel of channels: 2 * multiplier as words, addends of the even and of the odd channels as
quad words, shift - 31 as words; a register each."""
SIGNED = 31
"""What the slot SIGN has where the sign of a sum matters to its rounding."""


@dataclass(frozen=True, slots=True)
class Rescaling:
    """What stays the same in a kernel: whether the sign of a sum matters to its rounding, and the limits."""

    signed: bool
    low: Value
    high: Value


@dataclass(frozen=True, slots=True)
class Panel:
    """The parameters of a panel of channels."""

    even_factor: Register
    odd_factor: Register
    even_addend: Register
    odd_addend: Register
    shift: Register

    @classmethod
    def at(cls, v: Vectors, parameters: Value, number: Number = 0) -> Panel:
        """Load those of a panel by its number."""
        step = v.isa.register_bytes
        where = parameters + number * (PANEL_REGISTERS * step)
        kinds = {0: "i64", 4: "i64", step: "i64", 2 * step: "i64", 3 * step: "i32"}
        return cls(*(v.load(where + offset, kind) for offset, kind in kinds.items()))


def narrowed(v: Vectors, words: Register, panel: Panel, rescaling: Rescaling) -> Register:
    """Return sums of a panel's channels as bytes."""
    return v.narrow(scaled(v, words, panel, rescaling), rescaling.low, rescaling.high)


def scaled(v: Vectors, words: Register, panel: Panel, rescaling: Rescaling) -> Register:
    """Return sums of a panel's channels as what remains to be clipped to bytes."""
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


def switched(v: Vectors, sign: Value, low: Value, high: Value, run: Callable[[Rescaling], None]) -> None:
    """Run code for sums whose sign matters to their rounding, or code for others."""
    v.when(
        v.equal(sign, SIGNED),
        lambda: run(Rescaling(True, low, high)),
        lambda: run(Rescaling(False, low, high)),
    )


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
            loaded = Panel.at(v, parameters, index)
            source, target = words + index * step, out + index * v.isa.lanes

            def some(first: Value, count: int) -> None:
                places = [first + row for row in range(count)]
                sums = [v.load(source + place * (2 * step), "i32") for place in places]
                words = [scaled(v, total, loaded, rescaling) for total in sums]
                for place, value in zip(
                    places, v.narrow_all(words, rescaling.low, rescaling.high), strict=True
                ):
                    put(v, value, target + v.loaded(offsets + place * 8), mask)

            several = v.isa.narrowed
            done = rows // several * several if several > 1 else v.number(0)
            if several > 1:
                v.each(rows // several, lambda position: some(position * several, several))
            v.each(rows - done, lambda position: some(done + position, 1))

        panels(v, job[RescaleJob.COLUMNS], panel)

    switched(v, job[RescaleJob.SIGN], job[RescaleJob.LOW], job[RescaleJob.HIGH], run)
