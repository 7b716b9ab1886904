"""Depthwise convolution for AVX-512: rows of the input interleaved by vertical taps, then multiplied by channel.

The input of an output row is laid out as [x][channels][4 bytes]: four (int8) or two (int16) vertical taps of one
channel side by side, as vpdpbusd and vpdpwssd add them up.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from tosajit.kernels.contract.code import (
    B64,
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
from tosajit.kernels.contract.requant import load_panel, narrow, scale
from tosajit.kernels.contract.rows import lanes_below, masked_load, masked_store, widen_add
from tosajit.kernels.contract.tile import INT8, INT16, Functor

PIXELS = (7, 2, 1)
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
        laid_out([load(b, address(b, row, index, 64), B64) for row in rows], address(b, out, index, 256))
        return []

    full = b.lshr(size, number(6))
    loop(b, full, [], whole)
    rest = b.and_(size, number(63))
    with b.if_then(b.icmp_signed("!=", rest, number(0))):
        mask = lanes_below(b, rest, 64)
        laid_out(
            [masked_load(b, address(b, row, full, 64), mask, B64) for row in rows], address(b, out, full, 256)
        )


def _interleave_i16(b: Builder, *arguments: Value) -> None:
    first, second, size, out = arguments

    def laid_out(sources: Sequence[Value], target: Value) -> None:
        for part, register in enumerate(zipped(b, *(b.bitcast(source, H32) for source in sources))):
            store(b, register, address(b, target, 64 * part))

    def whole(index: Value, _: Any) -> list[Value]:
        laid_out(
            [load(b, address(b, row, index, 64), B64) for row in (first, second)], address(b, out, index, 128)
        )
        return []

    full = b.lshr(size, number(6))
    loop(b, full, [], whole)
    rest = b.and_(size, number(63))
    with b.if_then(b.icmp_signed("!=", rest, number(0))):
        mask = lanes_below(b, rest, 64)
        rows = (first, second)
        laid_out(
            [masked_load(b, address(b, row, full, 64), mask, B64) for row in rows], address(b, out, full, 128)
        )


INTERLEAVE_SLACK = 256
"""How far `interleave_*` may write past the end."""

interleave_i8 = procedure("interleave_i8", 6, _interleave_i8)
"""`interleave_i8(row, row, row, row, size, out)`: `size` bytes of four rows, sign flipped, as [size][4]."""
interleave_i16 = procedure("interleave_i16", 4, _interleave_i16)
"""`interleave_i16(row, row, size, out)`: `size` bytes of two rows of int16 as [size / 2][2]."""


Finish = Callable[[Builder, Value, Value], None]
"""What happens to the sums of 16 channels of a pixel: (builder, pixel, sums)."""


def _pixels(
    b: Builder,
    functor: Functor,
    common: Sequence[Value],
    weights: Value,
    initial: Value,
    source: Value,
    finish: Finish,
) -> None:
    """Sum one panel of 16 channels for all pixels."""
    pixel_bytes, offsets, taps, count = common
    begin: Value = number(0)
    for size in PIXELS:
        done = begin

        def tile(index: Value, _: Any, size: int = size, done: Value = done) -> list[Value]:
            first = b.add(done, b.mul(index, number(size)))
            starts = [b.add(source, b.mul(b.add(first, number(pixel)), pixel_bytes)) for pixel in range(size)]

            def tap(position: Value, totals: Sequence[Value]) -> Sequence[Value]:
                offset = load(b, address(b, offsets, position, 8), I64)
                weight = load(b, address(b, weights, position, 64), W16)
                inputs = (load(b, b.add(start, offset), W16) for start in starts)
                return [
                    functor.multiply(b, total, value, weight)
                    for total, value in zip(totals, inputs, strict=True)
                ]

            for pixel, total in enumerate(loop(b, taps, [initial] * size, tap)):
                finish(b, b.add(first, number(pixel)), total)
            return []

        left = b.sub(count, done)
        rounds = b.udiv(left, number(size))
        loop(b, rounds, [], tile)
        begin = b.add(done, b.mul(rounds, number(size)))


def _depthwise_i8(b: Builder, *arguments: Value) -> None:
    source, pixel_bytes, offsets, taps, weights, initial, words, word_bytes, count, panels = arguments

    def panel(index: Value, _: Any) -> list[Value]:
        target = address(b, words, index, 64)

        def finish(b: Builder, pixel: Value, total: Value) -> None:
            store(b, total, b.add(target, b.mul(pixel, word_bytes)))

        first = load(b, address(b, initial, index, 64), W16)
        table = b.add(weights, b.mul(index, b.shl(taps, number(6))))
        _pixels(
            b, INT8, (pixel_bytes, offsets, taps, count), table, first, address(b, source, index, 64), finish
        )
        return []

    loop(b, panels, [], panel)


def _depthwise_i16(b: Builder, *arguments: Value) -> None:
    source, pixel_bytes, offsets, taps, weights, panel_taps, words, word_bytes, count, panels = arguments

    def panel(index: Value, _: Any) -> list[Value]:
        target = address(b, words, index, 128)

        def finish(b: Builder, pixel: Value, total: Value) -> None:
            where = b.add(target, b.mul(pixel, word_bytes))
            widen_add(b, total, where)

        table = b.add(weights, b.mul(index, b.shl(panel_taps, number(6))))
        common = (pixel_bytes, offsets, taps, count)
        _pixels(b, INT16, common, table, number(0, W16), address(b, source, index, 64), finish)
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
    sign = splat(b, b.trunc(scalars[0], I32), 16)
    low, high = (splat(b, b.trunc(limit, I8), 16) for limit in scalars[1:])

    def panel(index: Value, mask: Value | None) -> None:
        target = address(b, out, index, 16)
        loaded = load_panel(b, address(b, parameters, index, 256))

        def finish(b: Builder, pixel: Value, total: Value) -> None:
            value = narrow(b, scale(b, total, loaded, sign), low, high)
            where = b.add(target, b.mul(pixel, out_pixel))
            store(b, value, where) if mask is None else masked_store(b, value, where, mask)

        first = load(b, address(b, initial, index, 64), W16)
        table = b.add(weights, b.mul(index, b.shl(taps, number(6))))
        _pixels(
            b, INT8, (pixel_bytes, offsets, taps, count), table, first, address(b, source, index, 64), finish
        )

    def whole(index: Value, _: Any) -> list[Value]:
        panel(index, None)
        return []

    full = b.lshr(columns, number(4))
    loop(b, full, [], whole)
    rest = b.and_(columns, number(15))
    with b.if_then(b.icmp_signed("!=", rest, number(0))):
        panel(full, lanes_below(b, rest, 16))


depthwise_i8 = procedure("depthwise_i8", 10, _depthwise_i8)
"""`depthwise_i8(source, pixel_bytes, offsets, taps, weights, initial, words, word_bytes, pixels, panels)`."""
depthwise_i16 = procedure("depthwise_i16", 10, _depthwise_i16)
"""`depthwise_i16(source, pixel_bytes, offsets, taps, weights, panel_taps, words, word_bytes, pixels, panels)` adds to
quad words; `panel_taps` are the taps of a whole panel of weights, of which `taps` are taken."""
depthwise_rescale_i8 = procedure("depthwise_rescale_i8", 14, _depthwise_rescale_i8)
"""`depthwise_rescale_i8(source, pixel_bytes, offsets, taps, weights, initial, out, out_pixel, pixels, columns,
parameters, sign, low, high)` stores int8."""
