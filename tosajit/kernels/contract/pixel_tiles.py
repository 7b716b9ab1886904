"""Sums of a single pixel of a depthwise convolution: a register of channels of each tap at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tosajit.kernels.contract.interleave import pairs_of_bytes, quads_of_bytes
from tosajit.kernels.contract.products import INT8
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.requant import PANEL_REGISTERS, Panel, Rescaling, put_panels, switched
from tosajit.kernels.contract.slots import PixelSlot
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors

BLOCK = 4
"""Panels of words whose bytes are a register."""
Ended = Callable[[Sequence[Register], Value, Value], None]
"""What is done with the sums of a block, of (sums, the first of its channels, channels left)."""


def pixel_sums_i8(v: Vectors, address: Value, words: Value) -> None:
    """Store the sums of a pixel (`PixelSlot`), a word each; may write up to a whole block."""
    job = Record(v, address)
    first = job[PixelSlot.N_LO]

    def store(sums: Sequence[Register], channel: Value, left: Value) -> None:
        for panel, total in enumerate(sums):
            v.store(total, words + (channel - first) * 4 + panel * v.isa.register_bytes)

    _each_block(v, job, store)


def pixel_rescale_i8(v: Vectors, address: Value, out: Value) -> None:
    """Store the same as int8."""
    job, lanes, together = Record(v, address), v.isa.lanes, v.isa.panels
    limits, sign = (job[PixelSlot.LOW], job[PixelSlot.HIGH]), job[PixelSlot.SIGN]
    first, parameters = job[PixelSlot.N_LO], job[PixelSlot.PARAMETERS]

    def some(sums: Sequence[Register], channel: Value, left: Value) -> None:
        """Panels that float32 rescales together, or does not."""
        own = parameters + channel * (4 * PANEL_REGISTERS)
        where = out + (channel - first)
        last = (left - 1) // lanes

        def finish(rescaling: Rescaling) -> None:
            numbers = [v.least(v.number(number), last) for number in range(len(sums))]
            panels = [Panel.at(v, own, number, rescaling) for number in numbers]
            put_panels(v, sums, panels, rescaling, where, left)

        switched(v, sign, limits, own, finish)

    def rescale(sums: Sequence[Register], channel: Value, left: Value) -> None:
        for panel in range(0, BLOCK, together):
            skipped = panel * lanes
            part = sums[panel : panel + together]
            v.when(left > skipped, lambda: some(part, channel + skipped, left - skipped))  # noqa: B023  (at once)

    _each_block(v, job, rescale)


def _each_block(v: Vectors, job: Record, ended: Ended) -> None:
    """Have the sums of a block of channels, again and again; behind the last panel it is taken once more."""
    lanes, step, product = v.isa.lanes, v.isa.register_bytes, INT8.on(v.isa)
    group, lay = (4, quads_of_bytes) if v.isa.byte_width == 1 else (2, pairs_of_bytes)
    source, weights, initial = (job[slot] for slot in (PixelSlot.SOURCE, PixelSlot.WEIGHT, PixelSlot.INITIAL))
    first, end = job[PixelSlot.N_LO], job[PixelSlot.N_HI]
    height, width = job[PixelSlot.K_H], job[PixelSlot.K_W]
    down, across = job[PixelSlot.IN_Y], job[PixelSlot.IN_X]
    groups = (height + (group - 1)) // group
    sign = v.opaque(v.constant(-v.isa.bias, "i8")) if v.isa.bias else None

    def block(channel: Value, load: Callable[[Value], Register]) -> None:
        last = (end - 1) // lanes
        panels = [v.least(channel // lanes + number, last) for number in range(BLOCK)]
        factors = [weights + panel * (groups * width * step) for panel in panels]

        def line(number: Value, sums: Sequence[Value]) -> Sequence[Value]:
            taps = [v.least(number * group + tap, height - 1) for tap in range(group)]
            rows = [source + channel + tap * down for tap in taps]

            def column(x: Value, now: Sequence[Value]) -> Sequence[Value]:
                loaded = [load(row + x * across) for row in rows]
                lefts = lay(v, [one ^ sign for one in loaded] if sign is not None else loaded)
                place = (number * width + x) * step
                rights = [product.operand(v, factor + place) for factor in factors]
                every = zip(now, lefts, rights, strict=True)
                return [
                    product.multiplied(v, total, v.view(left, product.kind), right)
                    for total, left, right in every
                ]

            return v.loop(width, sums, column)

        starts = [product.start(v, initial + panel * step) for panel in panels]
        ended(v.loop(groups, starts, line), channel, end - channel)

    whole, size = (end - first) // step, end - first
    v.each(whole, lambda index: block(first + index * step, lambda where: v.load(where, "i8")))
    rest = size - whole * step

    def part() -> None:
        mask = v.below(rest)
        block(first + whole * step, lambda where: v.load_part(where, mask, "i8"))

    v.when(rest > 0, part)
