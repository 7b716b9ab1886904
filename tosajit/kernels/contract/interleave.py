"""Depthwise convolution: rows interleaved by vertical taps, then multiplied by channel.

The input of an output row is laid out as [x][channels][4 bytes]: four (int8) or two (int16) vertical taps of
one channel side by side, as products of bytes and of half words are added up; float32 as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tosajit.kernels.contract.products import INT8, INT16, Product
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.requant import Panel, Rescaling, narrowed, panels, put, switched
from tosajit.kernels.contract.rows import signed_byte, widen_add, widened
from tosajit.kernels.contract.slots import SIDES, DepthwiseTile
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors


def _interleaved(
    v: Vectors,
    rows: Sequence[Value],
    size: Value,
    out: Value,
    lay: Callable[..., list[Register]],
    registers: int = 4,
) -> None:
    """Lay registers of all rows side by side, as so many; may write registers past the end."""
    step = v.isa.register_bytes

    def store(loaded: list[Register], target: Value) -> None:
        for part, register in enumerate(lay(*loaded)):
            v.store(register, target + part * step)

    full, rest = size // step, size % step
    v.each(
        full,
        lambda i: store([v.load(row + i * step, "i8") for row in rows], out + i * (registers * step)),
    )

    def last() -> None:
        mask = v.below(rest)
        some = [v.load_part(row + full * step, mask, "i8") for row in rows]
        store(some, out + full * (registers * step))

    v.when(rest > 0, last)


def quads_of_bytes(v: Vectors, rows: Sequence[Register]) -> list[Register]:
    """Return four rows of bytes as [bytes][4], in four registers."""
    low, high = v.zipped(rows[0], rows[1]), v.zipped(rows[2], rows[3])
    return [
        register
        for half in range(2)
        for register in v.zipped(v.view(low[half], "i16"), v.view(high[half], "i16"))
    ]


def pairs_of_bytes(v: Vectors, rows: Sequence[Register]) -> list[Register]:
    """Return two rows of bytes as [bytes][2] int16, in four registers."""
    pairs = zip(*(widened(v, row) for row in rows), strict=True)
    return [register for pair in pairs for register in v.zipped(*pair)]


def interleave_i8(
    v: Vectors, first: Value, second: Value, third: Value, fourth: Value, size: Value, out: Value
) -> None:
    """Lay `size` bytes of four rows as [size][4], counted from -bias."""

    def lay(*rows: Register) -> list[Register]:
        flip = signed_byte(v.isa.bias)
        return quads_of_bytes(v, [row ^ flip for row in rows] if flip else rows)

    _interleaved(v, [first, second, third, fourth], size, out, lay)


def interleave_wide_i8(v: Vectors, first: Value, second: Value, size: Value, out: Value) -> None:
    """Lay `size` bytes of two rows as [size][2] int16."""
    _interleaved(v, [first, second], size, out, lambda *rows: pairs_of_bytes(v, rows))


def interleave_i16(v: Vectors, first: Value, second: Value, size: Value, out: Value) -> None:
    """Lay `size` bytes of two rows of int16 as [size / 2][2]."""

    def lay(*rows: Register) -> list[Register]:
        return list(v.zipped(v.view(rows[0], "i16"), v.view(rows[1], "i16")))

    _interleaved(v, [first, second], size, out, lay, 2)


Finish = Callable[[Sequence[Value], Sequence[Register]], None]
"""What happens to the sums of a panel of channels of some pixels: (pixels, sums)."""


@dataclass(frozen=True, slots=True)
class _Panel:
    """A panel of channels of a row of pixels."""

    v: Vectors
    product: Product
    source: Value
    pixel_bytes: Value
    offsets: Value
    taps: Value
    weights: Value
    initial: Register
    side: int
    """Taps side by side, each of which is the tap before it of the next pixel."""

    @classmethod
    def of(
        cls, v: Vectors, product: Product, job: Record, index: Value, initial: Register, side: int = 1
    ) -> _Panel:
        """The panel of a number, with the start of its sums."""
        step, taps, own = v.isa.register_bytes, job[DepthwiseTile.TAPS], job[DepthwiseTile.PANEL_TAPS]
        source, weights = job[DepthwiseTile.SOURCE], job[DepthwiseTile.WEIGHTS]
        return cls(
            v,
            product,
            source + index * step,
            job[DepthwiseTile.PIXEL_BYTES],
            job[DepthwiseTile.OFFSETS],
            taps,
            weights + index * (own * step),
            initial,
            side,
        )

    def sums(self, first: Value, size: int, finish: Finish) -> None:
        """Sum the taps of some pixels."""
        v, product, side = self.v, self.product, self.side
        pixels = [first + pixel for pixel in range(size)]
        starts = [self.source + (first + column) * self.pixel_bytes for column in range(size + side - 1)]

        def taps(position: Value, before: Sequence[Value]) -> Sequence[Value]:
            totals, offset = list(before), v.loaded(self.offsets + position * (8 * side))
            place = self.weights + position * (side * v.isa.register_bytes)
            weights = [product.operand(v, place + tap * v.isa.register_bytes) for tap in range(side)]
            for column, start in enumerate(starts):
                value = product.operand(v, start + offset)
                for tap, weight in enumerate(weights):
                    if 0 <= column - tap < size:
                        totals[column - tap] = product.multiplied(v, totals[column - tap], value, weight)
            return totals

        totals = v.loop(self.taps // side, [self.initial] * size, taps)
        finish(pixels, [product.finished(v, total) for total in totals])

    def row(self, count: Value, finish: Finish, again: bool) -> None:
        """Sum all pixels; with `again`, the last ones may be summed twice to fill a tile."""
        v, done = self.v, self.v.number(0)
        for size in v.isa.pixels:
            rounds = (count - done) // size
            self._tiles(rounds, size, done, finish)
            done = done + rounds * size
        left, size = count - done, v.isa.pixels[-1]
        if again:
            several = (left > 1) & (count >= size)
            v.when(several, lambda: self.sums(count - size, size, finish))
            left = v.choose(several, v.number(0), left)
        v.each(left, lambda index: self.sums(done + index, 1, finish))

    def _tiles(self, rounds: Value, size: int, first: Value, finish: Finish) -> None:
        self.v.each(rounds, lambda index: self.sums(first + index * size, size, finish))


def depthwise(product: Product, v: Vectors, address: Value) -> None:
    """Store sums of taps times weights as words or float32 (`DepthwiseTile`)."""
    job, step, product = Record(v, address), v.isa.register_bytes, product.on(v.isa)
    initial, words, word_bytes = (
        job[slot] for slot in (DepthwiseTile.INITIAL, DepthwiseTile.OUT, DepthwiseTile.OUT_BYTES)
    )
    count = job[DepthwiseTile.PIXELS]

    def panel(side: int, index: Value) -> None:
        def finish(pixels: Sequence[Value], totals: Sequence[Register]) -> None:
            for pixel, total in zip(pixels, totals, strict=True):
                v.store(total, words + index * step + pixel * word_bytes)

        start = product.start(v, initial + index * step)
        _Panel.of(v, product, job, index, start, side).row(count, finish, again=True)

    def all_panels(side: int) -> None:
        v.each(job[DepthwiseTile.PANELS], partial(panel, side))

    if product.total == "f32":
        v.switch(job[DepthwiseTile.SIDE], {side: partial(all_panels, side) for side in SIDES})
    else:
        all_panels(1)


def depthwise_i16(v: Vectors, address: Value) -> None:
    """Add sums of taps times weights to quad words (`DepthwiseTile`)."""
    job, step = Record(v, address), v.isa.register_bytes
    words, word_bytes, count = (
        job[slot] for slot in (DepthwiseTile.OUT, DepthwiseTile.OUT_BYTES, DepthwiseTile.PIXELS)
    )

    def panel(index: Value) -> None:
        def finish(pixels: Sequence[Value], totals: Sequence[Register]) -> None:
            for pixel, total in zip(pixels, totals, strict=True):
                widen_add(v, total, words + index * (2 * step) + pixel * word_bytes)

        _Panel.of(v, INT16, job, index, INT16.zero(v)).row(count, finish, again=False)

    v.each(job[DepthwiseTile.PANELS], panel)


def depthwise_rescale_i8(v: Vectors, address: Value) -> None:
    """Store sums of taps times weights, rescaled to int8 (`DepthwiseTile`)."""
    job, step = Record(v, address), v.isa.register_bytes
    out, out_pixel = job[DepthwiseTile.OUT], job[DepthwiseTile.OUT_BYTES]
    initial, count = job[DepthwiseTile.INITIAL], job[DepthwiseTile.PIXELS]
    parameters, product = job[DepthwiseTile.PARAMETERS], INT8.on(v.isa)

    def panel(index: Value, mask: Value | None, limits: Rescaling) -> None:
        target, loaded = out + index * v.isa.lanes, Panel.at(v, parameters, index)

        def finish(pixels: Sequence[Value], totals: Sequence[Register]) -> None:
            for pixel, total in zip(pixels, totals, strict=True):
                put(v, narrowed(v, total, loaded, limits), target + pixel * out_pixel, mask)

        start = product.start(v, initial + index * step)
        _Panel.of(v, product, job, index, start).row(count, finish, again=True)

    def run(limits: Rescaling) -> None:
        panels(v, job[DepthwiseTile.COLUMNS], lambda index, mask: panel(index, mask, limits))

    switched(v, job[DepthwiseTile.SIGN], job[DepthwiseTile.LOW], job[DepthwiseTile.HIGH], run)
