"""Depthwise convolution for AVX-512: rows interleaved by vertical taps, then multiplied by channel.

The input of an output row is laid out as [x][channels][4 bytes]: four (int8) or two (int16) vertical taps of
one channel side by side, as vpdpbusd and vpdpwssd add them up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from tosajit.kernels.contract.code import (
    B64,
    F16,
    H32,
    I8,
    I32,
    I64,
    W16,
    Builder,
    Value,
    address,
    load,
    loop,
    number,
    procedure,
    splat,
    store,
    vector,
)
from tosajit.kernels.contract.requant import (
    PANEL_BYTES,
    Rescaling,
    load_panel,
    narrow,
    panels,
    put,
    scale,
    switched,
)
from tosajit.kernels.contract.rows import lanes_below, masked_load, widen_add
from tosajit.kernels.contract.tile import FLOAT32, INT8, INT16, Functor

PIXELS = (8, 4)
"""Pixels that a register tile takes at a time."""


def zipped(b: Builder, first: Value, second: Value) -> tuple[Value, Value]:
    """Return the elements of two registers in turn, as two registers."""
    count = first.type.count
    halves = []
    for start in (0, count // 2):
        lanes = [start + lane // 2 + count * (lane % 2) for lane in range(count)]
        mask = ir.Constant(vector(I32, count), [number(lane, I32) for lane in lanes])
        halves.append(b.shuffle_vector(first, second, mask))
    return halves[0], halves[1]


def _interleave_i8(b: Builder, *arguments: Value) -> None:
    *rows, size, out = arguments
    flip = splat(b, number(-128, I8), 64)

    def laid_out(sources: Sequence[Value], target: Value) -> None:
        first, second, third, fourth = (b.xor(source, flip) for source in sources)
        low, high = zipped(b, first, second), zipped(b, third, fourth)
        for half in range(2):
            pair = zipped(b, b.bitcast(low[half], H32), b.bitcast(high[half], H32))
            for part, register in enumerate(pair):
                store(b, register, address(b, target, 128 * half + 64 * part))

    def whole(index: Value, _: Any) -> list[Value]:
        laid_out(
            [load(b, address(b, row, index, 64), B64) for row in rows],
            address(b, out, index, 256),
        )
        return []

    full = b.lshr(size, number(6))
    loop(b, full, [], whole)
    rest = b.and_(size, number(63))
    with b.if_then(b.icmp_signed("!=", rest, number(0))):
        mask = lanes_below(b, rest, 64)
        laid_out(
            [masked_load(b, address(b, row, full, 64), mask, B64) for row in rows],
            address(b, out, full, 256),
        )


def _interleave_i16(b: Builder, *arguments: Value) -> None:
    first, second, size, out = arguments

    def laid_out(sources: Sequence[Value], target: Value) -> None:
        for part, register in enumerate(zipped(b, *(b.bitcast(source, H32) for source in sources))):
            store(b, register, address(b, target, 64 * part))

    def whole(index: Value, _: Any) -> list[Value]:
        laid_out(
            [load(b, address(b, row, index, 64), B64) for row in (first, second)],
            address(b, out, index, 128),
        )
        return []

    full = b.lshr(size, number(6))
    loop(b, full, [], whole)
    rest = b.and_(size, number(63))
    with b.if_then(b.icmp_signed("!=", rest, number(0))):
        mask = lanes_below(b, rest, 64)
        rows = (first, second)
        laid_out(
            [masked_load(b, address(b, row, full, 64), mask, B64) for row in rows],
            address(b, out, full, 128),
        )


INTERLEAVE_SLACK = 256
"""How far `interleave_*` may write past the end."""

interleave_i8 = procedure("interleave_i8", 6, _interleave_i8)
"""`interleave_i8(row, row, row, row, size, out)`: `size` bytes of four rows, sign flipped, as [size][4]."""
interleave_i16 = procedure("interleave_i16", 4, _interleave_i16)
"""`interleave_i16(row, row, size, out)`: `size` bytes of two rows of int16 as [size / 2][2]."""


Finish = Callable[[Sequence[Value], Sequence[Value]], None]
"""What happens to the sums of 16 channels of some pixels: (pixels, sums)."""


@dataclass(frozen=True, slots=True)
class _Panel:
    """16 channels of a row of pixels."""

    functor: Functor
    source: Value
    pixel_bytes: Value
    offsets: Value
    taps: Value
    weights: Value
    initial: Value
    sizes: tuple[int, int] = PIXELS

    def sums(self, b: Builder, first: Value, size: int, finish: Finish) -> None:
        """Sum the taps of some pixels."""
        pixels = [b.add(first, number(pixel)) for pixel in range(size)]
        starts = [b.add(self.source, b.mul(pixel, self.pixel_bytes)) for pixel in pixels]

        def tap(position: Value, totals: Sequence[Value]) -> Sequence[Value]:
            offset = load(b, address(b, self.offsets, position, 8), I64)
            weight = load(b, address(b, self.weights, position, 64), self.functor.lanes)
            inputs = [load(b, b.add(start, offset), self.functor.lanes) for start in starts]
            pairs = zip(totals, inputs, strict=True)
            return [self.functor.multiply(b, total, value, weight) for total, value in pairs]

        finish(pixels, loop(b, self.taps, [self.initial] * size, tap))

    def row(self, b: Builder, count: Value, finish: Finish, again: bool) -> None:
        """Sum all pixels; with `again`, the last ones may be summed twice to fill a tile."""
        done: Value = number(0)
        for size in self.sizes:

            def tile(index: Value, _: Any, size: int = size, done: Value = done) -> list[Value]:
                self.sums(b, b.add(done, b.mul(index, number(size))), size, finish)
                return []

            rounds = b.udiv(b.sub(count, done), number(size))
            loop(b, rounds, [], tile)
            done = b.add(done, b.mul(rounds, number(size)))
        left, size = b.sub(count, done), self.sizes[-1]
        if again:
            several = b.and_(
                b.icmp_signed(">", left, number(1)),
                b.icmp_signed(">=", count, number(size)),
            )
            with b.if_then(several):
                self.sums(b, b.sub(count, number(size)), size, finish)
            left = b.select(several, number(0), left)

        def one(index: Value, _: Any) -> list[Value]:
            self.sums(b, b.add(done, index), 1, finish)
            return []

        loop(b, left, [], one)


def depthwise(functor: Functor, sizes: tuple[int, int] = PIXELS) -> Callable[..., None]:
    """Return the body of a procedure that stores words; floating-point sums start at zero."""

    def emit(b: Builder, *arguments: Value) -> None:
        source, pixel_bytes, offsets, taps, weights, *places, count, panels = arguments
        initial, words, word_bytes = places

        def panel(index: Value, _: Any) -> list[Value]:
            target = address(b, words, index, 64)

            def finish(pixels: Sequence[Value], totals: Sequence[Value]) -> None:
                for pixel, total in zip(pixels, totals, strict=True):
                    store(b, total, b.add(target, b.mul(pixel, word_bytes)))

            floating = functor.total is F16
            first = number(0, F16) if floating else load(b, address(b, initial, index, 64), W16)
            table = b.add(weights, b.mul(index, b.shl(taps, number(6))))
            source_panel = address(b, source, index, 64)
            row = _Panel(functor, source_panel, pixel_bytes, offsets, taps, table, first, sizes)
            row.row(b, count, finish, again=True)
            return []

        loop(b, panels, [], panel)

    return emit


def _depthwise_i16(b: Builder, *arguments: Value) -> None:
    (
        source,
        pixel_bytes,
        offsets,
        taps,
        weights,
        panel_taps,
        words,
        word_bytes,
        count,
        panels,
    ) = arguments

    def panel(index: Value, _: Any) -> list[Value]:
        target = address(b, words, index, 128)

        def finish(pixels: Sequence[Value], totals: Sequence[Value]) -> None:
            for pixel, total in zip(pixels, totals, strict=True):
                widen_add(b, total, b.add(target, b.mul(pixel, word_bytes)))

        table = b.add(weights, b.mul(index, b.shl(panel_taps, number(6))))
        source_panel, zero = address(b, source, index, 64), number(0, W16)
        _Panel(INT16, source_panel, pixel_bytes, offsets, taps, table, zero).row(
            b, count, finish, again=False
        )
        return []

    loop(b, panels, [], panel)


def _depthwise_rescale_i8(b: Builder, *arguments: Value) -> None:
    (
        source,
        pixel_bytes,
        offsets,
        taps,
        weights,
        initial,
        out,
        out_pixel,
        count,
        columns,
        parameters,
        *scalars,
    ) = arguments

    def panel(index: Value, mask: Value | None, limits: Rescaling) -> None:
        target = address(b, out, index, 16)
        loaded = load_panel(b, address(b, parameters, index, PANEL_BYTES))

        def finish(pixels: Sequence[Value], totals: Sequence[Value]) -> None:
            for pixel, total in zip(pixels, totals, strict=True):
                value = narrow(b, scale(b, total, loaded, limits.signed), limits)
                put(b, value, b.add(target, b.mul(pixel, out_pixel)), mask)

        start = load(b, address(b, initial, index, 64), W16)
        table = b.add(weights, b.mul(index, b.shl(taps, number(6))))
        source_panel = address(b, source, index, 64)
        _Panel(INT8, source_panel, pixel_bytes, offsets, taps, table, start).row(b, count, finish, again=True)

    def emit(limits: Rescaling) -> None:
        panels(b, columns, lambda index, mask: panel(index, mask, limits))

    sign, low, high = scalars
    switched(b, sign, low, high, emit)


depthwise_i8 = procedure("depthwise_i8", 10, depthwise(INT8))
"""`depthwise_i8(source, pixel_bytes, offsets, taps, weights, initial, words, word_bytes, pixels, panels)`."""
depthwise_f32 = procedure("depthwise_f32", 10, depthwise(FLOAT32))
"""The same of float32; `initial` counts for nothing."""
depthwise_i16 = procedure("depthwise_i16", 10, _depthwise_i16)
"""`depthwise_i16(source, pixel_bytes, offsets, taps, weights, panel_taps, words, word_bytes, pixels, panels)`
adds to quad words; `panel_taps` are the taps of a whole panel of weights, of which `taps` are taken."""
depthwise_rescale_i8 = procedure("depthwise_rescale_i8", 14, _depthwise_rescale_i8)
"""`depthwise_rescale_i8(source, pixel_bytes, offsets, taps, weights, initial, out, out_pixel, pixels,
columns, parameters, sign, low, high)` stores int8."""
