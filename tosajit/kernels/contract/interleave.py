"""Depthwise convolution: rows interleaved by vertical taps, then multiplied by channel.

The input of an output row is laid out as [x][channels][4 bytes]: four (int8) or two (int16) vertical taps of
one channel side by side, as products of bytes and of half words are added up; float32 as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from tosajit.kernels.contract.ending import Ending
from tosajit.kernels.contract.products import INT8, INT16, Product
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.requant import (
    PANEL_REGISTERS,
    Panel,
    Rescaling,
    narrowed,
    panels,
    put,
    switched,
)
from tosajit.kernels.contract.rows import signed_byte, widen_add, widened
from tosajit.kernels.contract.slots import SIDES, DepthwiseTile
from tosajit.kernels.sets.description import ALONE, Side
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
    groups: Mapping[Side, Value]
    """Of taps side by side: there are some of one kind."""
    weights: Value
    initial: Register

    @classmethod
    def of(cls, v: Vectors, product: Product, job: Record, index: Value, initial: Register) -> _Panel:
        """The panel of a number, with the start of its sums."""
        step, taps, own = v.isa.register_bytes, job[DepthwiseTile.TAPS], job[DepthwiseTile.PANEL_TAPS]
        source, weights = job[DepthwiseTile.SOURCE], job[DepthwiseTile.WEIGHTS]
        return cls(
            v,
            product,
            source + index * step,
            job[DepthwiseTile.PIXEL_BYTES],
            job[DepthwiseTile.OFFSETS],
            _groups(v, taps, job[DepthwiseTile.SIDE], v.isa.sides if product is INT8 else (ALONE,)),
            weights + index * (own * step),
            initial,
        )

    def sums(self, first: Value, size: int, finish: Finish) -> None:
        """Sum the taps of some pixels."""
        totals: Sequence[Register] = [self.initial] * size
        for side, groups in self.groups.items():
            totals = self._added(side, groups, first, totals)
        pixels = [first + pixel for pixel in range(size)]
        finish(pixels, [self.product.finished(self.v, total) for total in totals])

    def _added(self, side: Side, groups: Value, first: Value, totals: Sequence[Register]) -> list[Register]:
        """Add groups of taps side by side to the sums of pixels."""
        v, product, step = self.v, self.product, self.v.isa.register_bytes
        column, count = self.pixel_bytes // side.step, (len(totals) - 1) * side.step + side.taps
        starts = [self.source + first * side.step * column]
        while len(starts) < count:
            starts.append(starts[-1] + column)

        def taps(position: Value, before: Sequence[Value]) -> Sequence[Value]:
            offset = v.loaded(self.offsets + position * (8 * side.taps))
            place = self.weights + position * (side.taps * step)
            factors = [product.operand(v, place + tap * step) for tap in range(side.taps)]
            inputs = (product.operand(v, start + offset) for start in starts)
            return _with_taps(v, product, before, inputs, factors, side.step)

        return v.loop(groups, totals, taps)

    def row(self, count: Value, finish: Finish, again: bool) -> None:
        """Sum all pixels; with `again`, the last ones may be summed twice to fill a tile."""
        tile = partial(self._tile, finish)
        if again:
            even_tiles(self.v, count, tile)
        else:
            tiles_of(self.v, count, tile, again)

    def _tile(self, finish: Finish, first: Value, size: int) -> None:
        self.sums(first, size, finish)


def _with_taps(
    v: Vectors,
    product: Product,
    totals: Sequence[Register],
    inputs: Iterable[Register],
    factors: Sequence[Register],
    step: int = 1,
) -> Sequence[Register]:
    """Add products of taps side by side to the sums of pixels: each input is loaded once for all of them."""
    totals = list(totals)
    for column, value in enumerate(inputs):
        for tap, factor in enumerate(factors):
            pixel, rest = divmod(column - tap, step)
            if rest == 0 and 0 <= pixel < len(totals):
                totals[pixel] = product.multiplied(v, totals[pixel], value, factor)
    return totals


def _groups(v: Vectors, taps: Value, kind: Value, sides: Sequence[Side]) -> Mapping[Side, Value]:
    """The groups that taps are in, of each kind of taps side by side: none of those that are not there."""
    if len(sides) == 1:
        return {sides[0]: taps}
    return {side: v.choose(v.equal(kind, side.number), taps // side.taps, 0) for side in sides}


def even_tiles(v: Vectors, pixels: Value, tile: Callable[[Value, int], None]) -> None:
    """Run `tile(first, size)` for all pixels of a row; the last ones may be done twice to fill a tile.

    One or two tiles of a size between the greatest and the least cover a short row best.
    """
    most, few = v.isa.pixels
    short = (pixels > few) & (pixels <= 2 * most)
    half = (pixels + 1) // 2
    size = v.choose(short, v.choose(pixels <= most, pixels, half), most)

    def even(size: int) -> None:
        v.each((pixels + (most - 1)) // most, lambda index: tile(index * (pixels - size), size))

    least = min(few, most // 2) + 1
    sizes = {size: partial(even, size) for size in range(least, most)}
    v.switch(size, {**sizes, most: lambda: tiles_of(v, pixels, tile, again=True)})


def tiles_of(v: Vectors, count: Value, tile: Callable[[Value, int], None], again: bool) -> None:
    """Run `tile(first, size)` for all pixels of a row."""
    done = v.number(0)
    for size in v.isa.pixels:
        rounds = (count - done) // size
        _tiles(v, rounds, size, done, tile)
        done = done + rounds * size
    left, size = count - done, v.isa.pixels[-1]
    if again:
        several = (left > 1) & (count >= size)
        v.when(several, lambda: tile(count - size, size))
        left = v.choose(several, v.number(0), left)
    v.each(left, lambda index: tile(done + index, 1))


def _tiles(v: Vectors, rounds: Value, size: int, first: Value, tile: Callable[[Value, int], None]) -> None:
    v.each(rounds, lambda index: tile(first + index * size, size))


def depthwise(product: Product, v: Vectors, address: Value) -> None:
    """Store sums of taps times weights as words or float32 (`DepthwiseTile`)."""
    job, step, product = Record(v, address), v.isa.register_bytes, product.on(v.isa)
    if product.total == "f32":

        def floats(side: int) -> None:
            _Row.of(v, product, job, side).all(job[DepthwiseTile.PIXELS])

        v.switch(job[DepthwiseTile.SIDE], {side: partial(floats, side) for side in SIDES})
        return
    initial, words, word_bytes = (
        job[slot] for slot in (DepthwiseTile.INITIAL, DepthwiseTile.OUT, DepthwiseTile.OUT_BYTES)
    )
    count = job[DepthwiseTile.PIXELS]

    def panel(index: Value) -> None:
        def finish(pixels: Sequence[Value], totals: Sequence[Register]) -> None:
            for pixel, total in zip(pixels, totals, strict=True):
                v.store(total, words + index * step + pixel * word_bytes)

        start = product.start(v, initial + index * step)
        _Panel.of(v, product, job, index, start).row(count, finish, again=True)

    v.each(job[DepthwiseTile.PANELS], panel)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of pixels of float32: some at a time, with all of their channels, as these lie in memory."""

    v: Vectors
    product: Product
    side: int
    """Taps side by side, each of which is the tap before it of the next pixel."""
    source: Value
    pixel_bytes: Value
    offsets: Value
    groups: Value
    """Of taps side by side."""
    weights: Value
    out: Value
    out_bytes: Value
    panels: Value
    ending: Ending

    @classmethod
    def of(cls, v: Vectors, product: Product, job: Record, side: int) -> _Row:
        """Read the arguments once."""
        slot = DepthwiseTile
        groups, weights = job[slot.TAPS] // side, job[slot.WEIGHTS]
        places = (job[slot.SOURCE], job[slot.PIXEL_BYTES], job[slot.OFFSETS], groups, weights)
        out = job[slot.OUT], job[slot.OUT_BYTES], job[slot.PANELS]
        return cls(v, product, side, *places, *out, Ending.of_pixels(v, job))

    def all(self, pixels: Value) -> None:
        """Sum all pixels."""
        even_tiles(self.v, pixels, self.tile)

    def tile(self, first: Value, size: int) -> None:
        """Sum the taps of some pixels, panel by panel, and do what follows if they end here."""
        v, step = self.v, self.v.isa.register_bytes
        weight_bytes = self.groups * (self.side * step)

        def panel(index: Value, now: Sequence[Value]) -> Sequence[Value]:
            source, weights, out = now
            totals = self._sums(source, weights, size)

            def store() -> None:
                for total, where in zip(totals, self._rows(out, size), strict=True):
                    v.store(total, where)

            def end() -> None:
                self.ending.store(totals, self._rows(out, size), index * v.isa.lanes)

            v.when(self.ending.kind > 0, end, store)
            return [source + step, weights + weight_bytes, out + step]

        start, out = self.source + first * self.pixel_bytes, self.out + first * self.out_bytes
        v.loop(self.panels, [start, self.weights, out], panel)

    def _rows(self, out: Value, size: int) -> list[Value]:
        """Where some pixels go."""
        return list(accumulate([self.out_bytes] * (size - 1), initial=out))

    def _sums(self, source: Value, weights: Value, size: int) -> Sequence[Register]:
        """Return the sums of a panel; three pixels share an address register."""
        v, product, side, step = self.v, self.product, self.side, self.v.isa.register_bytes
        one, two = self.pixel_bytes, self.pixel_bytes + self.pixel_bytes

        def inputs(start: Value) -> Iterator[Register]:
            for column in range(size + side - 1):
                if column and column % 3 == 0:
                    start = start + (two + one)
                yield product.operand(v, start + (0, one, two)[column % 3])

        def taps(position: Value, before: Sequence[Value]) -> Sequence[Value]:
            place, *totals = before
            start = source + v.loaded(self.offsets + position * (8 * side))
            factors = [product.operand(v, place + tap * step) for tap in range(side)]
            return [place + side * step, *_with_taps(v, product, totals, inputs(start), factors)]

        totals = v.loop(self.groups, [weights, *[product.zero(v)] * size], taps)[1:]
        return [product.finished(v, total) for total in totals]


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

    limits = job[DepthwiseTile.LOW], job[DepthwiseTile.HIGH]
    together, columns = v.isa.narrowed, job[DepthwiseTile.COLUMNS]

    def some(index: Value, mask: Value | None, rescaling: Rescaling) -> None:
        target, loaded = out + index * v.isa.lanes, Panel.at(v, parameters, index, rescaling)

        def finish(pixels: Sequence[Value], totals: Sequence[Register]) -> None:
            where = target + pixels[0] * out_pixel
            for first in range(0, len(totals), together):
                for value in narrowed(v, totals[first : first + together], loaded, rescaling):
                    put(v, value, where, mask)
                    where = where + out_pixel

        start = product.start(v, initial + index * step)
        _Panel.of(v, product, job, index, start).row(count, finish, again=True)

    def panel(index: Value, mask: Value | None) -> None:
        own = parameters + index * (PANEL_REGISTERS * step)
        switched(v, job[DepthwiseTile.SIGN], limits, own, partial(some, index, mask))

    panels(v, columns, panel)
