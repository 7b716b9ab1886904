"""What contraction kernels call on any other CPU: plain loops over the same forms; their text is copied.

Everything here has its namesake, and its meaning, in `avx512`.
"""

from typing import Any

import numpy as np

from tosajit.kernels import intrinsics
from tosajit.kernels.intrinsics import (
    load_i8,
    load_i16,
    load_i32,
    load_i64,
    load_u32,
    reload_i32,
    reload_i64,
    store_i8,
    store_i16,
    store_i32,
    store_i64,
)

copy_bytes: Any = intrinsics.copy_bytes
fill_bytes: Any = intrinsics.fill_bytes
local: Any = intrinsics.local
tile_rows_f32: Any = None


def copy_run(target: int, source: int, size: int) -> None:
    """Copy bytes."""
    if size > 0:
        copy_bytes(target, source, size)


def fill_run(target: int, value: int, size: int) -> None:
    """Fill bytes."""
    if size > 0:
        fill_bytes(target, value, size)


def gather_rows(
    target: int,
    row_bytes: int,
    count: int,
    table: int,
    runs: int,
    run_bytes: int,
    run_taps: int,
    tap_bytes: int,
    column: int,
    stride: int,
    width: int,
    reach: int,
    in_x: int,
    zero: int,
) -> None:
    """Gather rows of A for outputs along x."""
    for i in range(count):
        first = column + i * stride
        to = target + i * row_bytes
        for run in range(runs):
            start = first + reload_i64(table, 3 * run + 1)
            source = reload_i64(table, 3 * run) + first * in_x
            low = min(max(-start, 0), run_taps)
            high = max(min(width - start, run_taps), low) & reload_i64(table, 3 * run + 2)
            low = min(low, high)
            fill_run(to, zero, low * tap_bytes)
            copy_run(to + low * tap_bytes, source + low * tap_bytes, (high - low) * tap_bytes)
            fill_run(to + high * tap_bytes, zero, (run_taps - high) * tap_bytes)
            to += run_bytes


def tile_i8(
    a: int,
    a_row: int,
    segments: int,
    segment: int,
    steps: int,
    b: int,
    b_panel: int,
    initial: int,
    words: int,
    rows: int,
    panels: int,
) -> None:
    """Sum rows of A, taken as A + 128, times panels of B."""
    for row in range(rows):
        for panel in range(panels):
            out, right = words + row * 128 + panel * 64, b + panel * b_panel
            for j in range(16):
                store_i32(out, j, load_i32(initial + panel * 64, j))
            for step in range(segments * steps):
                left = a + row * a_row + step // steps * segment + step % steps * 4
                a0, a1 = (
                    np.int32(load_i8(left, 0) + 128),
                    np.int32(load_i8(left, 1) + 128),
                )
                a2, a3 = (
                    np.int32(load_i8(left, 2) + 128),
                    np.int32(load_i8(left, 3) + 128),
                )
                column = right + step * 64
                for j in range(16):
                    total = reload_i32(out, j) + a0 * load_i8(column, 4 * j) + a1 * load_i8(column, 4 * j + 1)
                    total += a2 * load_i8(column, 4 * j + 2) + a3 * load_i8(column, 4 * j + 3)
                    store_i32(out, j, np.int32(total))


def tile_i16(
    a: int,
    a_row: int,
    segments: int,
    segment: int,
    steps: int,
    b: int,
    b_panel: int,
    initial: int,
    words: int,
    rows: int,
    panels: int,
) -> None:
    """Sum rows of A times panels of B."""
    for row in range(rows):
        for panel in range(panels):
            out, right = words + row * 128 + panel * 64, b + panel * b_panel
            for j in range(16):
                store_i32(out, j, load_i32(initial + panel * 64, j))
            for step in range(segments * steps):
                left = a + row * a_row + step // steps * segment + step % steps * 4
                a0, a1 = (
                    np.int32(load_i16(left, 0)),
                    np.int32(load_i16(left, 1)),
                )
                column = right + step * 64
                for j in range(16):
                    total = (
                        reload_i32(out, j) + a0 * load_i16(column, 2 * j) + a1 * load_i16(column, 2 * j + 1)
                    )
                    store_i32(out, j, np.int32(total))


def tile_f32(
    a: int,
    a_row: int,
    segments: int,
    segment: int,
    steps: int,
    b: int,
    b_panel: int,
    initial: int,
    words: int,
    rows: int,
    panels: int,
) -> None:
    """Sum rows of A times panels of B, in pieces of four rows and a panel."""
    for panel in range(panels):
        row = 0
        while row < rows:
            height = 4 if rows - row > 3 else 2 if rows - row > 1 else 1
            tile_rows_f32(
                a + row * a_row,
                a_row,
                segments,
                segment,
                steps,
                b + panel * b_panel,
                b_panel,
                initial,
                words + row * 128 + panel * 64,
                height,
            )
            row += height


def add_row_sums(a: int, a_row: int, size: int, factor: int, words: int, rows: int) -> None:
    """Add factor * (sum of the row of A) to the row of sums."""
    for row in range(rows):
        total = np.int64(0)
        for k in range(size):
            total += load_i8(a + row * a_row, k)
        for j in range(32):
            store_i32(
                words + row * 128,
                j,
                np.int32(reload_i32(words + row * 128, j) + factor * total),
            )


def widen_add_rows(sums: int, words: int, rows: int, panels: int, split: int) -> None:
    """Add words to quad words, as columns or as halves of columns."""
    for row in range(rows):
        source, target = sums + row * 128, words + row * 256
        for j in range(16):
            if split != 0:
                both = (np.int64(reload_i32(source, j)) << 8) + reload_i32(source, 16 + j)
                store_i64(target, j, reload_i64(target, j) + both)
            else:
                store_i64(target, j, reload_i64(target, j) + reload_i32(source, j))
                if panels > 1:
                    store_i64(
                        target,
                        16 + j,
                        reload_i64(target, 16 + j) + reload_i32(source, 16 + j),
                    )


def rescaled(value: Any, parameters: int, lane: int, sign: int, low: int, high: int) -> Any:
    """Return one sum (plus 2**31) as int8; the parameters are those of its panel."""
    bits = np.int64(value) & 0xFFFFFFFF
    addend = load_i64(parameters + 64 + (lane & 1) * 64, lane >> 1)
    upper = (bits * load_u32(parameters, lane) + addend) >> 32
    positive = bits >> sign
    result = np.int64(np.int32(upper + positive)) >> load_i32(parameters + 192, lane)
    return np.int8(max(low, min(high, result)))


def rescale_i8(
    words: int,
    rows: int,
    columns: int,
    parameters: int,
    sign: int,
    low: int,
    high: int,
    out: int,
    offsets: int,
) -> None:
    """Rescale rows of sums to int8."""
    for row in range(rows):
        target = out + reload_i64(offsets, row)
        for j in range(columns):
            value = reload_i32(words + row * 128, j)
            store_i8(
                target,
                j,
                rescaled(value, parameters + (j >> 4) * 256, j & 15, sign, low, high),
            )


def tile_rescale_i8(
    a: int,
    a_row: int,
    segments: int,
    segment: int,
    steps: int,
    b: int,
    b_panel: int,
    initial: int,
    rows: int,
    columns: int,
    parameters: int,
    low: int,
    high: int,
    places: int,
    height: int,
) -> None:
    """Sum rows of A times up to 32 columns, and rescale to int8."""
    words = local(128)
    for row in range(rows):
        tile_i8(
            a + row * a_row,
            a_row,
            segments,
            segment,
            steps,
            b,
            b_panel,
            initial,
            words,
            1,
            (columns + 15) // 16,
        )
        out, offsets = reload_i64(places, 0), reload_i64(places, 1)
        rescale_i8(words, 1, columns, parameters, 32, low, high, out, offsets + row * 8)


def interleave_i8(row0: int, row1: int, row2: int, row3: int, size: int, out: int) -> None:
    """Lay four rows side by side, sign flipped."""
    for i in range(size):
        store_i8(out, 4 * i, np.int8(load_i8(row0, i) ^ -128))
        store_i8(out, 4 * i + 1, np.int8(load_i8(row1, i) ^ -128))
        store_i8(out, 4 * i + 2, np.int8(load_i8(row2, i) ^ -128))
        store_i8(out, 4 * i + 3, np.int8(load_i8(row3, i) ^ -128))


def interleave_i16(row0: int, row1: int, size: int, out: int) -> None:
    """Lay two rows side by side."""
    for i in range(size >> 1):
        store_i16(out, 2 * i, load_i16(row0, i))
        store_i16(out, 2 * i + 1, load_i16(row1, i))


def depthwise_i8(
    source: int,
    pixel_bytes: int,
    offsets: int,
    taps: int,
    weights: int,
    initial: int,
    words: int,
    word_bytes: int,
    pixels: int,
    panels: int,
) -> None:
    """Sum taps times weights, channel by channel."""
    for panel in range(panels):
        for pixel in range(pixels):
            out = words + pixel * word_bytes + panel * 64
            for j in range(16):
                store_i32(out, j, load_i32(initial + panel * 64, j))
            for tap in range(taps):
                left = source + pixel * pixel_bytes + panel * 64 + reload_i64(offsets, tap)
                right = weights + (panel * taps + tap) * 64
                for j in range(16):
                    total = np.int32(reload_i32(out, j))
                    for t in range(4):
                        total = np.int32(total + (load_i8(left, 4 * j + t) & 255) * load_i8(right, 4 * j + t))
                    store_i32(out, j, total)


def depthwise_i16(
    source: int,
    pixel_bytes: int,
    offsets: int,
    taps: int,
    weights: int,
    panel_taps: int,
    words: int,
    word_bytes: int,
    pixels: int,
    panels: int,
) -> None:
    """Add taps times weights to quad words, channel by channel."""
    for panel in range(panels):
        for pixel in range(pixels):
            out = words + pixel * word_bytes + panel * 128
            for tap in range(taps):
                left = source + pixel * pixel_bytes + panel * 64 + reload_i64(offsets, tap)
                right = weights + (panel * panel_taps + tap) * 64
                for j in range(16):
                    total = np.int64(load_i16(left, 2 * j)) * load_i16(right, 2 * j)
                    total += np.int64(load_i16(left, 2 * j + 1)) * load_i16(right, 2 * j + 1)
                    store_i64(out, j, reload_i64(out, j) + total)


def depthwise_rescale_i8(
    source: int,
    pixel_bytes: int,
    offsets: int,
    taps: int,
    weights: int,
    initial: int,
    out: int,
    out_pixel: int,
    pixels: int,
    columns: int,
    parameters: int,
    sign: int,
    low: int,
    high: int,
) -> None:
    """Sum taps times weights, and rescale to int8."""
    for pixel in range(pixels):
        for j in range(columns):
            panel, lane = j >> 4, j & 15
            total = np.int32(load_i32(initial, j))
            left, right = (
                source + pixel * pixel_bytes + j * 4,
                weights + panel * taps * 64 + lane * 4,
            )
            for tap in range(taps):
                offset = reload_i64(offsets, tap)
                for t in range(4):
                    total = np.int32(total + (load_i8(left + offset, t) & 255) * load_i8(right + tap * 64, t))
            value = rescaled(total, parameters + panel * 256, lane, sign, low, high)
            store_i8(out + pixel * out_pixel, j, value)


def pack_i8(source: int, row_bytes: int, depth: int, columns: int, out: int, sums: int) -> None:
    """Pack a matrix B, and sum its columns."""
    panel_bytes = (depth + 3) // 4 * 64
    fill_bytes(sums, 0, (columns + 63) // 64 * 256)
    for panel in range((columns + 15) // 16):
        for k in range((depth + 3) // 4 * 4):
            target = out + panel * panel_bytes + (k >> 2) * 64 + (k & 3)
            for j in range(16):
                column = panel * 16 + j
                if k < depth and column < columns:
                    value = load_i8(source + k * row_bytes, column)
                    store_i8(target, 4 * j, value)
                    store_i32(sums, column, np.int32(reload_i32(sums, column) + value))
                else:
                    store_i8(target, 4 * j, np.int8(0))


def pack_halves(source: int, row_bytes: int, depth: int, columns: int, out: int) -> None:
    """Pack a matrix B of int16 as panels of upper and of lower bytes."""
    panel_bytes = (depth + 1) // 2 * 64
    for panel in range((columns + 15) // 16):
        for k in range((depth + 1) // 2 * 2):
            target = out + panel * 2 * panel_bytes + (k >> 1) * 64 + (k & 1) * 2
            for j in range(16):
                column = panel * 16 + j
                value = np.int16(0)
                if k < depth and column < columns:
                    value = load_i16(source + k * row_bytes, column)
                store_i16(target, 2 * j, np.int16(value >> 8))
                store_i16(target + panel_bytes, 2 * j, np.int16(value & 255))
