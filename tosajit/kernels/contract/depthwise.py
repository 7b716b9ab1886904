"""Kernels of depthwise convolutions.

Each function is a kernel, or a part of one that `source` puts in its place; see `structure` for the names.
"""

from __future__ import annotations

from typing import Any

from tosajit.kernels.contract.slots import DepthwiseSlot, DepthwiseTile, LinesJob
from tosajit.kernels.contract.structure import (
    BIAS,
    CHUNK,
    ELEMENT,
    FUSED,
    GROUP,
    IN_REGISTERS,
    LANES,
    MASKED,
    NARROW,
    REGISTER,
    RESCALE,
    SHORT_ROW,
    WIDE,
    call,
    copy_run,
    depthwise,
    depthwise_rescale_i8,
    epilogue,
    fill_run,
    interleave_i8,
    interleave_i16,
    interleave_wide_i8,
    load_a,
    load_i64,
    local,
    reload_i64,
    reload_sum,
    setup,
    store_a,
    store_i64,
)


def interleave(job: int) -> None:
    """Have the input of some pixels as [vertical taps / group][x][channels][group].

    A group of lines stays where it is for output rows below that begin with a later one of these.
    """
    args = load_i64(job, LinesJob.ARGS)
    n, y = load_i64(job, LinesJob.N), load_i64(job, LinesJob.Y)
    panel, groups = load_i64(args, DepthwiseSlot.SCRATCH), load_i64(args, DepthwiseSlot.LINES)
    table, kept = (
        panel + load_i64(args, DepthwiseSlot.TAP_TABLE),
        panel + load_i64(args, DepthwiseSlot.LINE_TABLE),
    )
    across = load_i64(args, DepthwiseSlot.DILATION_X) * load_i64(job, LinesJob.CHANNELS) * 4
    step = GROUP * load_i64(args, DepthwiseSlot.DILATION_Y)
    for group in range(groups):
        line = y + group * step
        number = line + load_i64(args, DepthwiseSlot.PAD_TOP)
        place, known = number // step % groups, (n << 32) + number
        start = place * load_i64(args, DepthwiseSlot.GROUP_BYTES)
        if reload_i64(kept, place) != known:
            store_i64(kept, place, known)
            lay_group(args, job, panel + start, line)
        list_line(args, table, group, start, across)


def lay_group(args: int, job: int, out: int, line: int) -> None:
    """Lay a group of lines side by side, from one on."""
    x, columns = load_i64(job, LinesJob.X), load_i64(job, LinesJob.COLUMNS)
    channels = load_i64(job, LinesJob.CHANNELS)
    in_x, multiplier = load_i64(args, DepthwiseSlot.IN_X), load_i64(args, DepthwiseSlot.CHANNEL_MULTIPLIER)
    rows, steps = local(32), local(32)
    first = min(max(-x, 0), columns)
    last = max(min(load_i64(args, DepthwiseSlot.I_W) - x, columns), first)
    pieces, size = last - first, channels * ELEMENT
    if multiplier > 1 or size == in_x:
        size *= pieces
        pieces = min(pieces, 1)
    for tap in range(GROUP):
        find_line(
            args, job, rows, steps, line + tap * load_i64(args, DepthwiseSlot.DILATION_Y), tap, first, last
        )
    if first > 0:
        blank_pixels(args, out, first * channels)
    for piece in range(pieces):
        place = out + (first + piece) * channels * 4
        if WIDE:
            interleave_wide_i8(
                reload_i64(rows, 0) + piece * reload_i64(steps, 0),
                reload_i64(rows, 1) + piece * reload_i64(steps, 1),
                size,
                place,
            )
        elif NARROW:
            interleave_i8(
                reload_i64(rows, 0) + piece * reload_i64(steps, 0),
                reload_i64(rows, 1) + piece * reload_i64(steps, 1),
                reload_i64(rows, 2) + piece * reload_i64(steps, 2),
                reload_i64(rows, 3) + piece * reload_i64(steps, 3),
                size,
                place,
            )
        else:
            interleave_i16(
                reload_i64(rows, 0) + piece * reload_i64(steps, 0),
                reload_i64(rows, 1) + piece * reload_i64(steps, 1),
                size,
                place,
            )
    if last < columns:
        blank_pixels(args, out + last * channels * 4, (columns - last) * channels)


def blank_pixels(args: int, out: int, count: int) -> None:
    """Fill so many groups of taps with zero points."""
    if WIDE:
        zeros = load_i64(args, DepthwiseSlot.SCRATCH) + load_i64(args, DepthwiseSlot.BLANK)
        interleave_wide_i8(zeros, zeros, count, out)
    else:
        fill_run(out, load_i64(args, DepthwiseSlot.BLANK_BYTE), count * 4)


def find_line(args: int, job: int, rows: int, steps: int, line: int, tap: int, first: int, last: int) -> None:
    """Find the input of a tap, or zero points if it is padding, or copy it where channels are multiplied."""
    x, channel = load_i64(job, LinesJob.X), load_i64(job, LinesJob.CHANNEL)
    channels, multiplier = load_i64(job, LinesJob.CHANNELS), load_i64(args, DepthwiseSlot.CHANNEL_MULTIPLIER)
    in_x, scratch = load_i64(args, DepthwiseSlot.IN_X), load_i64(args, DepthwiseSlot.SCRATCH)
    image = load_i64(args, DepthwiseSlot.SOURCE) + load_i64(job, LinesJob.N) * load_i64(
        args, DepthwiseSlot.IN_N
    )
    start = image + line * load_i64(args, DepthwiseSlot.IN_Y)
    store_i64(steps, tap, 0)
    if line < 0 or line >= load_i64(args, DepthwiseSlot.I_H):
        store_i64(rows, tap, scratch + load_i64(args, DepthwiseSlot.BLANK))
    elif multiplier == 1:
        store_i64(rows, tap, start + (x + first) * in_x + channel * ELEMENT)
        store_i64(steps, tap, in_x)
    else:
        target = (
            scratch + load_i64(args, DepthwiseSlot.EXPAND) + tap * load_i64(args, DepthwiseSlot.EXPAND_BYTES)
        )
        for column in range(last - first):
            for i in range(channels):
                value = load_a(start + (x + first + column) * in_x, (channel + i) // multiplier)
                store_a(target, column * channels + i, value)
        store_i64(rows, tap, target)


def keep(job: int) -> None:
    """Keep the input of some pixels as lines of [x][channels] that the next rows find again."""
    args = load_i64(job, LinesJob.ARGS)
    n, y = load_i64(job, LinesJob.N), load_i64(job, LinesJob.Y)
    panel, I_h = load_i64(args, DepthwiseSlot.SCRATCH), load_i64(args, DepthwiseSlot.I_H)
    table, kept = (
        panel + load_i64(args, DepthwiseSlot.TAP_TABLE),
        panel + load_i64(args, DepthwiseSlot.LINE_TABLE),
    )
    K_h = load_i64(args, DepthwiseSlot.K_H)
    step_y, step_x = load_i64(args, DepthwiseSlot.DILATION_Y), load_i64(args, DepthwiseSlot.DILATION_X)
    pixel = (load_i64(job, LinesJob.CHANNELS) + LANES - 1) // LANES * REGISTER
    for ky in range(K_h):
        line = y + ky * step_y
        start = load_i64(args, DepthwiseSlot.BLANK)
        if line >= 0 and line < I_h:
            place = line % load_i64(args, DepthwiseSlot.LINES)
            start = place * load_i64(args, DepthwiseSlot.GROUP_BYTES)
            if reload_i64(kept, place) != n * I_h + line:
                store_i64(kept, place, n * I_h + line)
                copy_line(args, job, panel + start, n, line, pixel)
        list_line(args, table, ky, start, step_x * pixel)


def list_line(args: int, table: int, number: int, start: int, across: int) -> None:
    """List where the taps of a line are, or of a group of lines."""
    columns, parts = load_i64(args, DepthwiseSlot.K_W), load_i64(args, DepthwiseSlot.PARTS)
    t = number * columns * parts
    for column in range(columns):
        for _ in range(parts):
            store_i64(table, t, start + column * across)
            t += 1


def copy_line(args: int, job: int, target: int, n: int, line: int, pixel: int) -> None:
    """Copy a line of the input, with zeros for padding."""
    x, columns, channels = (
        load_i64(job, LinesJob.X),
        load_i64(job, LinesJob.COLUMNS),
        load_i64(job, LinesJob.CHANNELS),
    )
    in_x, image = load_i64(args, DepthwiseSlot.IN_X), n * load_i64(args, DepthwiseSlot.IN_N)
    row = load_i64(args, DepthwiseSlot.SOURCE) + image + line * load_i64(args, DepthwiseSlot.IN_Y)
    row += x * in_x + load_i64(job, LinesJob.CHANNEL) * 4
    first = min(max(-x, 0), columns)
    last = max(min(load_i64(args, DepthwiseSlot.I_W) - x, columns), first)
    fill_run(target, 0, first * pixel)
    if pixel == in_x:
        copy_run(target + first * pixel, row + first * in_x, (last - first) * pixel)
    else:
        for column in range(first, last):
            copy_run(target + column * pixel, row + column * in_x, channels * 4)
    fill_run(target + last * pixel, 0, (columns - last) * pixel)


def kernel(args: int) -> None:
    """Channels by channels, rows of pixels; what follows a sum is `epilogue`."""
    panel, output = load_i64(args, DepthwiseSlot.SCRATCH), load_i64(args, DepthwiseSlot.OUTPUT)
    words, table = (
        panel + load_i64(args, DepthwiseSlot.WORDS),
        panel + load_i64(args, DepthwiseSlot.TAP_TABLE),
    )
    n_hi, block = load_i64(args, DepthwiseSlot.N_HI), load_i64(args, DepthwiseSlot.CHANNEL_BLOCK)
    m_lo, m_hi = load_i64(args, DepthwiseSlot.M_LO), load_i64(args, DepthwiseSlot.M_HI)
    O_h, O_w = load_i64(args, DepthwiseSlot.O_H), load_i64(args, DepthwiseSlot.O_W)
    taps, initial = load_i64(args, DepthwiseSlot.TAPS), load_i64(args, DepthwiseSlot.INITIAL)
    stride_x, pixel_block = load_i64(args, DepthwiseSlot.STRIDE_X), load_i64(args, DepthwiseSlot.PIXEL_BLOCK)
    pair_bytes, lines_kernel = load_i64(args, DepthwiseSlot.PAIR_BYTES), load_i64(args, DepthwiseSlot.GATHER)
    kept, groups = panel + load_i64(args, DepthwiseSlot.LINE_TABLE), load_i64(args, DepthwiseSlot.LINES)
    reach = load_i64(args, DepthwiseSlot.REACH)
    job, tile = local(64), local(144)
    start_rows(args, job, tile)
    setup(args)
    for column in range(load_i64(args, DepthwiseSlot.N_LO), n_hi, block):
        columns = min(block, n_hi - column)
        pitch = (columns + LANES - 1) // LANES * LANES
        start_channels(args, job, tile, table, column, columns)
        for x in range(0, O_w, pixel_block):
            height = min(pixel_block, O_w - x)
            store_i64(job, LinesJob.X, x * stride_x - load_i64(args, DepthwiseSlot.PAD_LEFT))
            store_i64(job, LinesJob.COLUMNS, (height - 1) * stride_x + reach)
            store_i64(tile, DepthwiseTile.PIXELS, height)
            for group in range(groups):
                store_i64(kept, group, -1)
            m = m_lo
            while m < m_hi:
                n, y = m // O_h, m % O_h
                line = y * load_i64(args, DepthwiseSlot.STRIDE_Y) - load_i64(args, DepthwiseSlot.PAD_TOP)
                lines = 2 if pair_bytes > 0 and y + 1 < O_h and m + 1 < m_hi else 1
                store_i64(job, LinesJob.N, n)
                store_i64(job, LinesJob.Y, line)
                call(lines_kernel, job)
                for line in range(lines):
                    place = first_place(args, n, y + line, x) + column
                    weights = load_i64(args, DepthwiseSlot.WEIGHT) + column // LANES * taps * REGISTER
                    sum_row(args, tile, words, weights + line * pair_bytes, initial, column, pitch, height)
                    if RESCALE:
                        store_i64(tile, DepthwiseTile.OUT, output + place if FUSED else words)
                        store_i64(
                            tile,
                            DepthwiseTile.OUT_BYTES,
                            load_i64(args, DepthwiseSlot.OUT_X) if FUSED else columns,
                        )
                        depthwise_rescale_i8(tile)
                    if not FUSED:
                        finish_row(args, words, columns if RESCALE else pitch, place, height, column, columns)
                m += lines


def start_rows(args: int, job: int, tile: int) -> None:
    """Set what all rows have in common, and a row of zero points."""
    panel, blank = load_i64(args, DepthwiseSlot.SCRATCH), load_i64(args, DepthwiseSlot.BLANK_BYTE)
    store_i64(job, LinesJob.ARGS, args)
    store_i64(tile, DepthwiseTile.SOURCE, panel)
    store_i64(tile, DepthwiseTile.TAPS, load_i64(args, DepthwiseSlot.TAPS))
    store_i64(tile, DepthwiseTile.PANEL_TAPS, load_i64(args, DepthwiseSlot.TAPS))
    store_i64(tile, DepthwiseTile.SIDE, load_i64(args, DepthwiseSlot.SIDE))
    store_i64(tile, DepthwiseTile.SIGN, load_i64(args, DepthwiseSlot.SIGN))
    store_i64(tile, DepthwiseTile.LOW, load_i64(args, DepthwiseSlot.LOW))
    store_i64(tile, DepthwiseTile.HIGH, load_i64(args, DepthwiseSlot.HIGH))
    fill_run(
        panel + load_i64(args, DepthwiseSlot.BLANK), blank ^ BIAS, load_i64(args, DepthwiseSlot.BLANK_BYTES)
    )


def start_channels(args: int, job: int, tile: int, table: int, column: int, columns: int) -> None:
    """Set what rows of some channels have in common."""
    store_i64(job, LinesJob.CHANNEL, column)
    store_i64(job, LinesJob.CHANNELS, columns)
    store_i64(tile, DepthwiseTile.PIXEL_BYTES, load_i64(args, DepthwiseSlot.STRIDE_X) * columns * 4)
    store_i64(tile, DepthwiseTile.OFFSETS, table)
    store_i64(tile, DepthwiseTile.COLUMNS, columns)
    store_i64(tile, DepthwiseTile.PANELS, (columns + LANES - 1) // LANES)
    store_i64(tile, DepthwiseTile.INITIAL, load_i64(args, DepthwiseSlot.INITIAL) + column * 4)
    store_i64(tile, DepthwiseTile.PARAMETERS, load_i64(args, DepthwiseSlot.PARAMETERS) + column * 16)


def first_place(args: int, n: int, y: int, x: int) -> Any:
    """Where the first channel of a pixel goes."""
    out_n, out_y, out_x = (
        load_i64(args, DepthwiseSlot.OUT_N),
        load_i64(args, DepthwiseSlot.OUT_Y),
        load_i64(args, DepthwiseSlot.OUT_X),
    )
    return n * out_n + y * out_y + x * out_x


def sum_row(
    args: int, tile: int, words: int, weights: int, initial: int, column: int, pitch: int, height: int
) -> None:
    """Sum the taps of a row of pixels, unless its sums are rescaled at once."""
    store_i64(tile, DepthwiseTile.WEIGHTS, weights)
    if not RESCALE:
        store_i64(tile, DepthwiseTile.OUT, words)
        if NARROW:
            store_i64(tile, DepthwiseTile.OUT_BYTES, pitch * 4)
            depthwise(tile)
        else:
            store_i64(tile, DepthwiseTile.OUT_BYTES, pitch * 8)
            for i in range(height):
                copy_run(words + i * pitch * 8, initial + column * 8, pitch * 8)
            table = load_i64(args, DepthwiseSlot.SCRATCH) + load_i64(args, DepthwiseSlot.TAP_TABLE)
            taps = load_i64(args, DepthwiseSlot.TAPS)
            for t in range(0, taps, CHUNK):
                store_i64(tile, DepthwiseTile.OFFSETS, table + t * 8)
                store_i64(tile, DepthwiseTile.WEIGHTS, weights + t * REGISTER)
                store_i64(tile, DepthwiseTile.TAPS, min(CHUNK, taps - t))
                depthwise(tile)


def finish_row(args: int, sums: int, pitch: int, place: int, height: int, column: int, columns: int) -> None:
    """Run the epilogue for each sum of a row of pixels."""
    out_x = load_i64(args, DepthwiseSlot.OUT_X)
    for i in range(height):
        first, base = place + i * out_x, i * pitch
        for j in range(columns):
            epilogue(reload_sum(sums, base + j), column + j, first + j)


def kernel_floats(args: int) -> None:
    """Channels by channels, columns by columns, rows of pixels of float32.

    Where no tap of a row of pixels is padding, the input is used in place, else as the kernel `keep` has it.
    Rows follow each other, so that the lines that they share are kept, or in the cache. What is left of a
    panel reads up to a register of the pixel behind, so one has to be there.
    """
    panel = load_i64(args, DepthwiseSlot.SCRATCH)
    words, table = (
        panel + load_i64(args, DepthwiseSlot.WORDS),
        panel + load_i64(args, DepthwiseSlot.TAP_TABLE),
    )
    output = load_i64(args, DepthwiseSlot.OUTPUT)
    kept, kept_lines = panel + load_i64(args, DepthwiseSlot.LINE_TABLE), load_i64(args, DepthwiseSlot.LINES)
    n_hi, block = load_i64(args, DepthwiseSlot.N_HI), load_i64(args, DepthwiseSlot.CHANNEL_BLOCK)
    O_h, O_w = load_i64(args, DepthwiseSlot.O_H), load_i64(args, DepthwiseSlot.O_W)
    I_w, stride_x = load_i64(args, DepthwiseSlot.I_W), load_i64(args, DepthwiseSlot.STRIDE_X)
    reach, lines_kernel = load_i64(args, DepthwiseSlot.REACH), load_i64(args, DepthwiseSlot.GATHER)
    job, tile, places = local(64), local(160), kept + kept_lines * 8
    start_rows(args, job, tile)
    setup(args)
    list_places(args, places)
    for column in range(load_i64(args, DepthwiseSlot.N_LO), n_hi, block):
        columns = min(block, n_hi - column)
        pitch = (columns + LANES - 1) // LANES * LANES
        start_channels_floats(args, job, tile, column, columns)
        ended = start_ending(args, tile, column, columns)
        x = 0
        while x < O_w:
            first = x * stride_x - load_i64(args, DepthwiseSlot.PAD_LEFT)
            inside = (I_w - reach - first) // stride_x + 1 if first >= 0 else 0
            height = min(load_i64(args, DepthwiseSlot.PIXEL_BLOCK), O_w - x)
            if O_w > SHORT_ROW and inside > 0:
                height = min(height, inside)
            elif O_w > SHORT_ROW and first < 0:
                height = min(height, (stride_x - 1 - first) // stride_x)
            store_i64(job, LinesJob.X, first)
            store_i64(job, LinesJob.COLUMNS, (height - 1) * stride_x + reach)
            store_i64(tile, DepthwiseTile.PIXELS, height)
            for line in range(kept_lines):
                store_i64(kept, line, -1)
            for m in range(load_i64(args, DepthwiseSlot.M_LO), load_i64(args, DepthwiseSlot.M_HI)):
                n, y = m // O_h, m % O_h
                line = y * load_i64(args, DepthwiseSlot.STRIDE_Y) - load_i64(args, DepthwiseSlot.PAD_TOP)
                behind = bytes_behind(args, line)
                if height <= inside and line >= 0 and behind >= (0 if columns == pitch else REGISTER):
                    take_in_place(args, tile, places, n, line, first, column)
                else:
                    store_i64(job, LinesJob.N, n)
                    store_i64(job, LinesJob.Y, line)
                    call(lines_kernel, job)
                    store_i64(tile, DepthwiseTile.SOURCE, panel)
                    store_i64(tile, DepthwiseTile.PIXEL_BYTES, stride_x * pitch * 4)
                    store_i64(tile, DepthwiseTile.OFFSETS, table)
                place = first_place(args, n, y, x) + column
                store_i64(tile, DepthwiseTile.OUT, output + place * 4 if ended else words)
                depthwise(tile)
                if not ended:
                    finish_row(args, words, pitch, place, height, column, columns)
            x += height


def list_places(args: int, places: int) -> None:
    """List where taps are in the input."""
    down = load_i64(args, DepthwiseSlot.DILATION_Y) * load_i64(args, DepthwiseSlot.IN_Y)
    across = load_i64(args, DepthwiseSlot.DILATION_X) * load_i64(args, DepthwiseSlot.IN_X)
    for line in range(load_i64(args, DepthwiseSlot.K_H)):
        list_line(args, places, line, line * down, across)


def start_channels_floats(args: int, job: int, tile: int, column: int, columns: int) -> None:
    """Set what rows of some channels have in common."""
    panels, taps = (columns + LANES - 1) // LANES, load_i64(args, DepthwiseSlot.TAPS)
    store_i64(job, LinesJob.CHANNEL, column)
    store_i64(job, LinesJob.CHANNELS, columns)
    weights = load_i64(args, DepthwiseSlot.WEIGHT) + column // LANES * taps * REGISTER
    store_i64(tile, DepthwiseTile.WEIGHTS, weights)
    store_i64(tile, DepthwiseTile.OUT_BYTES, panels * REGISTER)
    store_i64(tile, DepthwiseTile.PANELS, panels)


def start_ending(args: int, tile: int, column: int, columns: int) -> Any:
    """Have rows of pixels do what follows their sums; tell whether they do.

    Only whole registers where parts of them are not stored at once.
    """
    ended = IN_REGISTERS
    if not MASKED:
        ended = ended and columns % LANES == 0
    if ended:
        store_i64(tile, DepthwiseTile.OUT_BYTES, load_i64(args, DepthwiseSlot.OUT_X) * 4)
    store_i64(tile, DepthwiseTile.SIGN, load_i64(args, DepthwiseSlot.SIGN) if ended else 0)
    store_i64(tile, DepthwiseTile.COLUMNS, columns)
    store_i64(tile, DepthwiseTile.PARAMETERS, load_i64(args, DepthwiseSlot.PARAMETERS) + column * 4)
    store_i64(tile, DepthwiseTile.SHIFT, load_i64(args, DepthwiseSlot.SHIFT))
    store_i64(tile, DepthwiseTile.SCALE, load_i64(args, DepthwiseSlot.SCALE))
    return ended


def bytes_behind(args: int, line: int) -> Any:
    """How many bytes of the input are behind the last line that a row of pixels takes."""
    span = (load_i64(args, DepthwiseSlot.K_H) - 1) * load_i64(args, DepthwiseSlot.DILATION_Y)
    return (load_i64(args, DepthwiseSlot.I_H) - 1 - span - line) * load_i64(args, DepthwiseSlot.IN_Y)


def take_in_place(args: int, tile: int, places: int, n: int, line: int, first: int, column: int) -> None:
    """Take pixels from the input itself."""
    in_x, source = load_i64(args, DepthwiseSlot.IN_X), load_i64(args, DepthwiseSlot.SOURCE)
    image = source + n * load_i64(args, DepthwiseSlot.IN_N) + line * load_i64(args, DepthwiseSlot.IN_Y)
    store_i64(tile, DepthwiseTile.SOURCE, image + first * in_x + column * 4)
    store_i64(tile, DepthwiseTile.PIXEL_BYTES, load_i64(args, DepthwiseSlot.STRIDE_X) * in_x)
    store_i64(tile, DepthwiseTile.OFFSETS, places)
