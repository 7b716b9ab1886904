"""RESCALE of 32-bit sums to int8: one multiplication a lane, no branch, no 64-bit shift.

With v' = v + 2**31 (the start values of the columns hold the 2**31) the product of v' and 2 * multiplier is
unsigned, and its upper word is floor(v * multiplier / 2**31) + multiplier. What remains of TOSA 1.0.1's
apply_scale_32 (section 4.5.5) for shifts above 31 then fits 32-bit lanes: the step of double rounding for
negative v, the rounding term, and the output zero point are added ahead of one arithmetic shift by shift -
31.

Sets with `float_rescale` do it by two products of float32 where these are exact: see `float_table`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tosajit.kernels.contract.float_table import MAGIC_BITS
from tosajit.kernels.contract.pack import MAX_SHIFT
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.slots import RescaleJob
from tosajit.kernels.sets.values import Number, Register, Value
from tosajit.kernels.sets.vectors import Vectors

PANEL_REGISTERS = 4
"""Parameters of a panel of channels: 2 * multiplier as words, addends of the even and of the odd channels as
quad words, shift - 31 as words; a register each."""
SIGNED, UNSIGNED = 31, 32
"""What the slot SIGN has where the sign of a sum matters to its rounding, and where it does not."""
SIGN_BIT = -(1 << 31)
"""Of a float32."""


@dataclass(frozen=True, slots=True)
class Rescaling:
    """What stays the same for a panel: how its sums are rescaled, and the limits."""

    signed: bool
    """Whether the sign of a sum matters to its rounding."""
    floating: bool
    """Whether float32 rescale."""
    low: Value
    high: Value


@dataclass(frozen=True, slots=True)
class FloatPanel:
    """The parameters of a panel of channels that float32 rescale."""

    factor: Register
    offset: Register
    scale: Register
    addend: Register


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
        if rescaling.floating:
            return FloatPanel(*(v.load(where + number * step, "f32") for number in range(PANEL_REGISTERS)))
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
        number, offset = v.converted(words, "f32"), panel.offset
        if rescaling.signed:
            offset = v.view((v.view(number, "i32") & SIGN_BIT) ^ v.view(offset, "i32"), "f32")
        number = v.fused(offset, number, panel.factor)
        return v.view(v.fused(panel.addend, number, panel.scale), "i32") - MAGIC_BITS
    lanes = range(v.isa.lanes)
    odds = v.shuffled(words, words, [lane | 1 for lane in lanes])
    even = v.even_products(v.view(words, "i64"), panel.even_factor) + panel.even_addend
    odd = v.even_products(v.view(odds, "i64"), panel.odd_factor) + panel.odd_addend
    uppers = [lane + 1 + half for lane in lanes[::2] for half in (0, len(lanes))]
    upper = v.shuffled(v.view(even, "i32"), v.view(odd, "i32"), uppers)
    if rescaling.signed:
        upper = upper + v.down(words, 31)
    return upper >> panel.shift


def put_panels(
    v: Vectors, sums: Sequence[Register], panels: Sequence[Panel | FloatPanel], rescaling: Rescaling,
    where: Value, left: Value,
) -> None:  # fmt: skip
    """Store sums of neighbouring panels, rescaled, as bytes behind each other, of which so many are left."""
    words = [scaled(v, total, panel, rescaling) for total, panel in zip(sums, panels, strict=True)]
    value = v.joined(v.narrow_all(words, rescaling.low, rescaling.high))
    whole = left >= len(sums) * v.isa.lanes
    v.when(whole, lambda: v.store(value, where), lambda: put(v, value, where, v.below(left)))


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

    def either(floating: bool) -> None:
        signed, other = (Rescaling(signed, floating, *limits) for signed in (True, False))
        v.when(v.equal(sign, SIGNED), lambda: run(signed), lambda: run(other))

    if v.isa.float_rescale:
        kind = v.loaded_word(parameters + (PANEL_REGISTERS - 1) * v.isa.register_bytes)
        v.when(kind > MAX_SHIFT, lambda: either(True), lambda: either(False))
    else:
        either(False)


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
