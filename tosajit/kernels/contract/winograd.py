"""The kernel of convolutions by Winograd's F(4, 3): three taps along x, four outputs at a time.

Input rows are transformed once for the output rows that share them. Then products are those of six matrices
with tiles as rows, `transforms` makes sums of them, and what follows is as everywhere. See `structure` for
the names.
"""

from __future__ import annotations

from typing import Any

from tosajit.kernels.contract.slots import RescaleJob, TileJob, WinogradSlot
from tosajit.kernels.contract.structure import (
    COLUMNS,
    FUSED,
    LANES,
    REGISTER,
    RESCALE,
    ROWS,
    call,
    copy_run,
    epilogue,
    fill_run,
    highest,
    load_i64,
    local,
    lowest,
    reload_sum,
    rescale_i8,
    setup,
    store_i64,
    transform_inputs,
    transform_sums,
)


def kernel(args: int) -> None:
    """Rows of the output, from M_LO to M_HI, which are whole rows."""
    O_h, O_w, n_hi = (
        load_i64(args, WinogradSlot.O_H),
        load_i64(args, WinogradSlot.O_W),
        load_i64(args, WinogradSlot.N_HI),
    )
    scratch, tiles = (load_i64(args, WinogradSlot.SCRATCH) + 63) & ~63, (O_w + 3) // 4
    tiling, rescaling, zeros = local(192), local(128), local(3 * REGISTER)
    start_tiling(args, tiling, zeros)
    if RESCALE:
        start_rescaling(args, rescaling, scratch)
    setup(args)
    m, last = load_i64(args, WinogradSlot.M_LO) // O_w, load_i64(args, WinogradSlot.M_HI) // O_w
    while m < last:
        y = m % O_h
        lines = min(min(load_i64(args, WinogradSlot.LINES), O_h - y), last - m)
        transform_lines(args, scratch, tiles, m // O_h, y, lines)
        store_i64(tiling, TileJob.SEGMENT, tiles * load_i64(args, WinogradSlot.CHANNELS) * 2)
        for column in range(load_i64(args, WinogradSlot.N_LO), n_hi, COLUMNS):
            columns = min(COLUMNS, n_hi - column)
            store_i64(tiling, TileJob.PANELS, (columns + LANES - 1) // LANES)
            for line in range(0, lines, load_i64(args, WinogradSlot.CHUNK)):
                count = min(load_i64(args, WinogradSlot.CHUNK), lines - line)
                multiply(args, tiling, scratch, column, tiles, line, count)
                for i in range(count):
                    place = place_of(args, m // O_h, y + line + i) + column
                    finish_line(args, rescaling, scratch, tiles, i, place, column, columns)
        m += lines


def place_of(args: int, n: int, y: int) -> Any:
    """Where the first pixel of a row goes."""
    return n * load_i64(args, WinogradSlot.OUT_N) + y * load_i64(args, WinogradSlot.OUT_Y)


def transform_lines(args: int, scratch: int, tiles: int, n: int, y: int, lines: int) -> None:
    """Transform the input of some rows of the output."""
    channels, zero = load_i64(args, WinogradSlot.CHANNELS), load_i64(args, WinogradSlot.INPUT_ZP)
    points, plane = load_i64(args, WinogradSlot.POINTS), load_i64(args, WinogradSlot.PLANE)
    I_h, I_w = load_i64(args, WinogradSlot.I_H), load_i64(args, WinogradSlot.I_W)
    image = load_i64(args, WinogradSlot.SOURCE) + n * load_i64(args, WinogradSlot.IN_N)
    taken, pad = tiles * 4 + 2, load_i64(args, WinogradSlot.PAD_LEFT)
    left = min(max(pad, 0), taken)
    begin = max(0, left - pad)
    right = min(taken, left + max(0, I_w - begin))
    for line in range(lines + load_i64(args, WinogradSlot.K_H) - 1):
        jy = y - load_i64(args, WinogradSlot.PAD_TOP) + line
        if jy >= 0 and jy < I_h:
            row = image + jy * load_i64(args, WinogradSlot.IN_Y) + begin * channels
            fill_run(scratch, zero, left * channels)
            copy_run(scratch + left * channels, row, (right - left) * channels)
            fill_run(scratch + right * channels, zero, (taken - right) * channels)
        else:
            fill_run(scratch, zero, taken * channels)
        transform_inputs(scratch, channels, tiles, scratch + points + line * (tiles * channels * 2), plane)


def start_tiling(args: int, tiling: int, zeros: int) -> None:
    """Set what all tiles have in common."""
    channels, K_h = load_i64(args, WinogradSlot.CHANNELS), load_i64(args, WinogradSlot.K_H)
    fill_run(zeros, 0, 2 * REGISTER)
    store_i64(tiling, TileJob.INITIAL, zeros)
    store_i64(tiling, TileJob.A_ROW, channels * 2)
    store_i64(tiling, TileJob.SEGMENTS, K_h)
    store_i64(tiling, TileJob.STEPS, channels // 2)
    store_i64(tiling, TileJob.B_PANEL, channels // 2 * K_h * REGISTER)
    store_i64(tiling, TileJob.FACTOR, 0)
    store_i64(tiling, TileJob.FUSED, 0)


def multiply(args: int, tiling: int, scratch: int, column: int, tiles: int, line: int, lines: int) -> None:
    """Sum the products of each point, for the tiles of some rows."""
    a_row, rows = load_i64(args, WinogradSlot.CHANNELS) * 2, lines * tiles
    steps = load_i64(args, WinogradSlot.CHANNELS) // 2 * load_i64(args, WinogradSlot.K_H)
    for point in range(6):
        a = scratch + load_i64(args, WinogradSlot.POINTS) + point * load_i64(args, WinogradSlot.PLANE)
        a += line * tiles * a_row
        sums = scratch + load_i64(args, WinogradSlot.SUMS) + point * load_i64(args, WinogradSlot.SUM_PLANE)
        b = load_i64(args, WinogradSlot.WEIGHT) + point * load_i64(args, WinogradSlot.WEIGHT_POINT)
        store_i64(tiling, TileJob.B, b + column // LANES * steps * REGISTER)
        row = 0
        while row < rows:
            height = height_of(rows - row, rows)
            first = min(row, rows - height)
            store_i64(tiling, TileJob.A, a + first * a_row)
            store_i64(tiling, TileJob.HEIGHT, height)
            store_i64(tiling, TileJob.WORDS, sums + first * (2 * REGISTER))
            call(load_i64(args, WinogradSlot.TILE), tiling)
            row = first + height


def height_of(left: int, rows: int) -> Any:
    """The height of the next register tile; it may begin early, in rows that are done."""
    height = lowest(min(left, ROWS))
    return height if height <= rows else highest(rows)


def start_rescaling(args: int, rescaling: int, scratch: int) -> None:
    """Set what the rescaling of all rows has in common; an epilogue takes rows of two panels."""
    offsets = scratch + load_i64(args, WinogradSlot.OFFSETS)
    step = load_i64(args, WinogradSlot.OUT_X) if FUSED else 2 * LANES
    for i in range(load_i64(args, WinogradSlot.O_W)):
        store_i64(offsets, i, i * step)
    store_i64(rescaling, RescaleJob.WORDS, scratch + load_i64(args, WinogradSlot.WORDS))
    store_i64(rescaling, RescaleJob.ROWS, load_i64(args, WinogradSlot.O_W))
    store_i64(rescaling, RescaleJob.SIGN, load_i64(args, WinogradSlot.SIGN))
    store_i64(rescaling, RescaleJob.LOW, load_i64(args, WinogradSlot.LOW))
    store_i64(rescaling, RescaleJob.HIGH, load_i64(args, WinogradSlot.HIGH))
    store_i64(rescaling, RescaleJob.OUT, scratch + load_i64(args, WinogradSlot.NARROW))
    store_i64(rescaling, RescaleJob.OFFSETS, offsets)


def finish_line(
    args: int, rescaling: int, scratch: int, tiles: int, line: int, place: int, column: int, columns: int
) -> None:
    """Make the sums of a row of the output, and do what follows them."""
    words = scratch + load_i64(args, WinogradSlot.WORDS)
    sums = scratch + load_i64(args, WinogradSlot.SUMS) + line * tiles * (2 * REGISTER)
    initial, panels = load_i64(args, WinogradSlot.INITIAL) + column * 4, (columns + LANES - 1) // LANES
    transform_sums(sums, load_i64(args, WinogradSlot.SUM_PLANE), tiles, panels, initial, words)
    if RESCALE:
        store_i64(rescaling, RescaleJob.COLUMNS, columns)
        store_i64(rescaling, RescaleJob.PARAMETERS, load_i64(args, WinogradSlot.PARAMETERS) + column * 16)
        if FUSED:
            store_i64(rescaling, RescaleJob.OUT, load_i64(args, WinogradSlot.OUTPUT) + place)
        rescale_i8(rescaling)
    if not FUSED:
        sources = scratch + load_i64(args, WinogradSlot.NARROW) if RESCALE else words
        for i in range(load_i64(args, WinogradSlot.O_W)):
            finish_pixel(
                sources, i * 2 * LANES, place + i * load_i64(args, WinogradSlot.OUT_X), column, columns
            )


def finish_pixel(sums: int, base: int, place: int, column: int, columns: int) -> None:
    """Run the epilogue for each sum of a pixel."""
    for j in range(columns):
        epilogue(reload_sum(sums, base + j), column + j, place + j)
