"""The kernels of convolutions by Winograd's F(4, 3), along x or both axes, and of float32 by F(2 × 2, 3 × 3).

F(4, 3) takes three taps along x, and four outputs at a time. Input rows are transformed once for the output
rows that share them. Then products are those of six matrices with tiles as rows, `transforms` makes sums of
them, and what follows is as everywhere. Along both axes, six rows are transformed along y first, products are
those of 36 matrices, and sums are made along y first, too. F(2 × 2, 3 × 3) takes nine taps, and two outputs
of two rows at a time: products are those of 16 matrices. See `structure` for the names.
"""

from __future__ import annotations

from typing import Any

from tosajit.kernels.contract.slots import RescaleJob, SquareJob, TileJob, WinogradSlot
from tosajit.kernels.contract.structure import (
    COLUMNS,
    FUSED,
    LANES,
    REGISTER,
    RESCALE,
    call,
    copy_run,
    epilogue,
    fill_run,
    height_of,
    load_i64,
    local,
    reload_i32,
    reload_sum,
    rescale_i8,
    setup,
    store_i64,
    transform_inputs,
    transform_line_sums,
    transform_lines,
    transform_square_sums,
    transform_squares,
    transform_sums,
    transform_sums_of_squares,
    transform_wide_inputs,
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
        transform_rows(args, scratch, tiles, m // O_h, y, lines)
        store_i64(tiling, TileJob.SEGMENT, tiles * load_i64(args, WinogradSlot.CHANNELS) * 2)
        for column in range(load_i64(args, WinogradSlot.N_LO), n_hi, COLUMNS):
            columns = min(COLUMNS, n_hi - column)
            store_i64(tiling, TileJob.PANELS, (columns + LANES - 1) // LANES)
            for line in range(0, lines, load_i64(args, WinogradSlot.CHUNK)):
                count = min(load_i64(args, WinogradSlot.CHUNK), lines - line)
                multiply(args, tiling, scratch, column, 6, line * tiles, count * tiles)
                for i in range(count):
                    place = place_of(args, m // O_h, y + line + i) + column
                    sums = scratch + load_i64(args, WinogradSlot.SUMS) + i * tiles * (2 * REGISTER)
                    sum_along_x(args, scratch, sums, tiles, column, columns)
                    finish_line(args, rescaling, scratch, place, column, columns)
        m += lines


def kernel_squares(args: int) -> None:
    """The same along both axes, by squares of 16 outputs: rows begin at four of them."""
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
        for line in range(0, lines, 4):
            transform_four(args, scratch, tiles, m // O_h, y + line, line // 4)
        for column in range(load_i64(args, WinogradSlot.N_LO), n_hi, COLUMNS):
            columns = min(COLUMNS, n_hi - column)
            store_i64(tiling, TileJob.PANELS, (columns + LANES - 1) // LANES)
            for line in range(0, lines, load_i64(args, WinogradSlot.CHUNK)):
                count = min(load_i64(args, WinogradSlot.CHUNK), lines - line)
                multiply(args, tiling, scratch, column, 36, line // 4 * tiles, (count + 3) // 4 * tiles)
                for i in range(count):
                    place = place_of(args, m // O_h, y + line + i) + column
                    sums = scratch + load_i64(args, WinogradSlot.SUMS) + i // 4 * tiles * (2 * REGISTER)
                    if i % 4 == 0:
                        transform_line_sums(sums, load_i64(args, WinogradSlot.SUM_PLANE), tiles)
                    sums += i % 4 * 6 * load_i64(args, WinogradSlot.SUM_PLANE)
                    sum_along_both(args, scratch, sums, tiles, column, columns)
                    finish_line(args, rescaling, scratch, place, column, columns)
        m += lines


def place_of(args: int, n: int, y: int) -> Any:
    """Where the first pixel of a row goes."""
    return n * load_i64(args, WinogradSlot.OUT_N) + y * load_i64(args, WinogradSlot.OUT_Y)


def transform_rows(args: int, scratch: int, tiles: int, n: int, y: int, lines: int) -> None:
    """Transform the input of some rows of the output."""
    channels = load_i64(args, WinogradSlot.CHANNELS)
    points, plane = load_i64(args, WinogradSlot.POINTS), load_i64(args, WinogradSlot.PLANE)
    for line in range(lines + load_i64(args, WinogradSlot.K_H) - 1):
        copy_padded(args, scratch, tiles, n, y - load_i64(args, WinogradSlot.PAD_TOP) + line)
        transform_inputs(scratch, channels, tiles, scratch + points + line * (tiles * channels * 2), plane)


def transform_four(args: int, scratch: int, tiles: int, n: int, y: int, square: int) -> None:
    """Transform the input of four rows of the output, along y and then along x."""
    channels, plane = load_i64(args, WinogradSlot.CHANNELS), load_i64(args, WinogradSlot.PLANE)
    count, rows = (tiles * 4 + 2) * channels, scratch + load_i64(args, WinogradSlot.TRANSFORMED)
    row_bytes = (count * 2 + REGISTER - 1) & -REGISTER
    for line in range(6):
        copy_padded(args, scratch + line * count, tiles, n, y - load_i64(args, WinogradSlot.PAD_TOP) + line)
    transform_lines(scratch, count, count, rows, row_bytes)
    target = scratch + load_i64(args, WinogradSlot.POINTS) + square * (tiles * channels * 2)
    for point in range(6):
        transform_wide_inputs(rows + point * row_bytes, channels, tiles, target + point * 6 * plane, plane)


def copy_padded(args: int, target: int, tiles: int, n: int, jy: int) -> None:
    """Copy the pixels of a row of the input that its tiles take."""
    channels, zero = load_i64(args, WinogradSlot.CHANNELS), load_i64(args, WinogradSlot.INPUT_ZP)
    in_x = load_i64(args, WinogradSlot.IN_X)
    I_h, I_w = load_i64(args, WinogradSlot.I_H), load_i64(args, WinogradSlot.I_W)
    image = load_i64(args, WinogradSlot.SOURCE) + n * load_i64(args, WinogradSlot.IN_N)
    taken, pad = tiles * 4 + 2, load_i64(args, WinogradSlot.PAD_LEFT)
    left = min(max(pad, 0), taken)
    begin = max(0, left - pad)
    right = min(taken, left + max(0, I_w - begin))
    if jy >= 0 and jy < I_h:
        row = image + jy * load_i64(args, WinogradSlot.IN_Y) + begin * in_x
        fill_run(target, zero, left * channels)
        if in_x == channels:
            copy_run(target + left * channels, row, (right - left) * channels)
        else:
            for x in range(right - left):
                copy_run(target + (left + x) * channels, row + x * in_x, channels)
        fill_run(target + right * channels, zero, (taken - right) * channels)
    else:
        fill_run(target, zero, taken * channels)


def start_tiling(args: int, tiling: int, zeros: int) -> None:
    """Set what all tiles have in common."""
    channels, K_h = load_i64(args, WinogradSlot.CHANNELS), load_i64(args, WinogradSlot.K_H)
    fill_run(zeros, 0, 2 * REGISTER)
    store_i64(tiling, TileJob.INITIAL, zeros)
    store_i64(tiling, TileJob.A_ROW, channels * 2)
    store_i64(tiling, TileJob.SEGMENTS, K_h)
    store_i64(tiling, TileJob.STEPS, channels // 2)
    store_i64(tiling, TileJob.B_PANEL, channels // 2 * K_h * REGISTER)
    store_i64(tiling, TileJob.TERMS, 0)
    store_i64(tiling, TileJob.FUSED, 0)


def multiply(args: int, tiling: int, scratch: int, column: int, points: int, first: int, rows: int) -> None:
    """Sum the products of each point, for some tiles."""
    a_row = load_i64(args, WinogradSlot.CHANNELS) * 2
    size = load_i64(args, WinogradSlot.CHANNELS) // 2 * load_i64(args, WinogradSlot.K_H) * REGISTER
    then = following_columns(args, column, size)
    for point in range(points):
        a = scratch + load_i64(args, WinogradSlot.POINTS) + point * load_i64(args, WinogradSlot.PLANE)
        a += first * a_row
        sums = scratch + load_i64(args, WinogradSlot.SUMS) + point * load_i64(args, WinogradSlot.SUM_PLANE)
        b = load_i64(args, WinogradSlot.WEIGHT) + point * load_i64(args, WinogradSlot.WEIGHT_POINT)
        b += column // LANES * size
        following = b + load_i64(args, WinogradSlot.WEIGHT_POINT) if point + 1 < points else then
        store_i64(tiling, TileJob.B, b)
        multiply_rows(args, tiling, a, a_row, sums, rows, following, size)


def following_columns(args: int, column: int, size: int) -> Any:
    """Where the weights are of the columns that follow: behind the last ones, the first."""
    first, more = load_i64(args, WinogradSlot.N_LO), column + COLUMNS < load_i64(args, WinogradSlot.N_HI)
    return load_i64(args, WinogradSlot.WEIGHT) + (column + COLUMNS if more else first) // LANES * size


def multiply_rows(
    args: int, tiling: int, a: int, a_row: int, sums: int, rows: int, following: int, size: int
) -> None:
    """Sum the products of rows, and fetch so many bytes of columns meanwhile."""
    row = 0
    while row < rows:
        height = height_of(rows - row, rows)
        first = min(row, rows - height)
        store_i64(tiling, TileJob.A, a + first * a_row)
        store_i64(tiling, TileJob.HEIGHT, height)
        store_i64(tiling, TileJob.WORDS, sums + first * (2 * REGISTER))
        store_i64(tiling, TileJob.FOLLOWING, following + size * first // rows)
        store_i64(tiling, TileJob.FOLLOWING_STEP, (REGISTER * height + rows - 1) // rows)
        call(load_i64(args, WinogradSlot.TILE), tiling)
        row = first + height


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


def sum_along_x(args: int, scratch: int, sums: int, tiles: int, column: int, columns: int) -> None:
    """Make the sums of a row of the output."""
    words, plane = scratch + load_i64(args, WinogradSlot.WORDS), load_i64(args, WinogradSlot.SUM_PLANE)
    initial, panels = load_i64(args, WinogradSlot.INITIAL) + column * 4, (columns + LANES - 1) // LANES
    transform_sums(sums, plane, tiles, panels, initial, words)


def sum_along_both(args: int, scratch: int, sums: int, tiles: int, column: int, columns: int) -> None:
    """The same of points that are sums along y."""
    words, plane = scratch + load_i64(args, WinogradSlot.WORDS), load_i64(args, WinogradSlot.SUM_PLANE)
    initial, panels = load_i64(args, WinogradSlot.INITIAL) + column * 4, (columns + LANES - 1) // LANES
    transform_sums_of_squares(sums, plane, tiles, panels, initial, words)


def finish_line(args: int, rescaling: int, scratch: int, place: int, column: int, columns: int) -> None:
    """Do what follows the sums of a row of the output."""
    words = scratch + load_i64(args, WinogradSlot.WORDS)
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


def kernel_floats(args: int) -> None:
    """The same of float32, by squares of four outputs; rows begin at pairs of them."""
    O_h, O_w, n_hi = (
        load_i64(args, WinogradSlot.O_H),
        load_i64(args, WinogradSlot.O_W),
        load_i64(args, WinogradSlot.N_HI),
    )
    scratch, tiles = (load_i64(args, WinogradSlot.SCRATCH) + 63) & ~63, (O_w + 1) // 2
    tiling, plainly, transforming, most = local(208), local(208), local(80), local(2 * REGISTER)
    start_squares(args, tiling, plainly, transforming, scratch)
    setup(args)
    m, last = load_i64(args, WinogradSlot.M_LO) // O_w, load_i64(args, WinogradSlot.M_HI) // O_w
    while m < last:
        y = m % O_h
        image = load_i64(args, WinogradSlot.SOURCE) + m // O_h * load_i64(args, WinogradSlot.IN_N)
        lines = min(min(load_i64(args, WinogradSlot.LINES), O_h - y), last - m)
        for line in range(0, lines, 2):
            transform_pair(args, transforming, scratch, image, tiles, y + line, line // 2)
        for column in range(load_i64(args, WinogradSlot.N_LO), n_hi, COLUMNS):
            columns = min(COLUMNS, n_hi - column)
            store_i64(tiling, TileJob.PANELS, (columns + LANES - 1) // LANES)
            store_i64(plainly, TileJob.PANELS, (columns + LANES - 1) // LANES)
            for line in range(0, lines, load_i64(args, WinogradSlot.CHUNK)):
                count = min(load_i64(args, WinogradSlot.CHUNK), lines - line)
                multiply_squares(args, tiling, scratch, column, tiles, line // 2, (count + 1) // 2)
                for i in range(0, count, 2):
                    row, pair = y + line + i, i // 2
                    make_pair(args, plainly, scratch, most, image, tiles, row, pair, column, columns)
                    for k in range(min(2, count - i)):
                        place = place_of(args, m // O_h, row + k) + column
                        finish_pixels(args, scratch, tiles, k, place, column, columns)
        m += lines


def start_squares(args: int, tiling: int, plainly: int, transforming: int, scratch: int) -> None:
    """Set what all tiles have in common: of points, and of pixels as they are."""
    channels, pixels = load_i64(args, WinogradSlot.CHANNELS), load_i64(args, WinogradSlot.O_W) + 2
    store_i64(tiling, TileJob.A_ROW, load_i64(args, WinogradSlot.ROW_BYTES))
    store_i64(tiling, TileJob.SEGMENTS, 1)
    store_i64(tiling, TileJob.SEGMENT, 0)
    store_i64(tiling, TileJob.STEPS, channels)
    store_i64(tiling, TileJob.B_PANEL, channels * REGISTER)
    store_i64(tiling, TileJob.CONTINUED, 0)
    store_i64(tiling, TileJob.FUSED, 0)
    store_i64(plainly, TileJob.A_ROW, channels * 4)
    store_i64(plainly, TileJob.SEGMENTS, 3)
    store_i64(plainly, TileJob.SEGMENT, pixels * channels * 4)
    store_i64(plainly, TileJob.STEPS, 3 * channels)
    store_i64(plainly, TileJob.B_PANEL, 9 * channels * REGISTER)
    store_i64(plainly, TileJob.CONTINUED, 0)
    store_i64(plainly, TileJob.FUSED, 0)
    store_i64(transforming, SquareJob.CHANNELS, channels)
    store_i64(transforming, SquareJob.ROW_BYTES, load_i64(args, WinogradSlot.ROW_BYTES))
    store_i64(transforming, SquareJob.PLANE, load_i64(args, WinogradSlot.PLANE))
    fill_run(scratch + load_i64(args, WinogradSlot.BLANK), 0, load_i64(args, WinogradSlot.BLANK_BYTES))


def transform_pair(
    args: int, transforming: int, scratch: int, image: int, tiles: int, y: int, pair: int
) -> None:
    """Transform the input of two rows of the output: tiles that reach outside one by one, from a copy."""
    I_w, pad = load_i64(args, WinogradSlot.I_W), load_i64(args, WinogradSlot.PAD_LEFT)
    top, blank = y - load_i64(args, WinogradSlot.PAD_TOP), scratch + load_i64(args, WinogradSlot.BLANK)
    begin = min(tiles, (max(pad, 0) + 1) // 2)
    end = max(begin, min(tiles, max(I_w + pad - 2, 0) // 2))
    row_bytes = load_i64(args, WinogradSlot.ROW_BYTES)
    target = scratch + load_i64(args, WinogradSlot.POINTS) + pair * tiles * row_bytes
    for line in range(4):
        inside = top + line >= 0 and top + line < load_i64(args, WinogradSlot.I_H)
        row = image + (top + line) * load_i64(args, WinogradSlot.IN_Y)
        row += (2 * begin - pad) * load_i64(args, WinogradSlot.IN_X)
        store_i64(transforming, SquareJob.LINE + line, row if inside else blank)
    store_i64(transforming, SquareJob.PIXEL, load_i64(args, WinogradSlot.IN_X))
    store_i64(transforming, SquareJob.TILES, end - begin)
    store_i64(transforming, SquareJob.TARGET, target + begin * row_bytes)
    transform_squares(transforming)
    store_i64(transforming, SquareJob.PIXEL, load_i64(args, WinogradSlot.CHANNELS) * 4)
    store_i64(transforming, SquareJob.TILES, 1)
    for k in range(tiles - (end - begin)):
        tile = k if k < begin else k + end - begin
        copy_pixels(args, scratch, image, top, 2 * tile - pad, 4)
        copy = blank + load_i64(args, WinogradSlot.BLANK_BYTES)
        for line in range(4):
            row = copy + line * 16 * load_i64(args, WinogradSlot.CHANNELS)
            store_i64(transforming, SquareJob.LINE + line, row)
        store_i64(transforming, SquareJob.TARGET, target + tile * row_bytes)
        transform_squares(transforming)


def copy_pixels(args: int, scratch: int, image: int, top: int, left: int, count: int) -> None:
    """Copy some pixels of four rows, with zeros for those outside."""
    I_w, pixel = load_i64(args, WinogradSlot.I_W), 4 * load_i64(args, WinogradSlot.CHANNELS)
    before = min(max(0 - left, 0), count)
    known = max(before, min(count, I_w - left))
    target = scratch + load_i64(args, WinogradSlot.BLANK) + load_i64(args, WinogradSlot.BLANK_BYTES)
    for jy in range(top, top + 4):
        if jy >= 0 and jy < load_i64(args, WinogradSlot.I_H):
            row = image + jy * load_i64(args, WinogradSlot.IN_Y)
            fill_run(target, 0, before * pixel)
            for k in range(before, known):
                copy_run(target + k * pixel, row + (left + k) * load_i64(args, WinogradSlot.IN_X), pixel)
            fill_run(target + known * pixel, 0, (count - known) * pixel)
        else:
            fill_run(target, 0, count * pixel)
        target += count * pixel


def multiply_squares(
    args: int, tiling: int, scratch: int, column: int, tiles: int, pair: int, pairs: int
) -> None:
    """Sum the products of each point, for the tiles of some pairs of rows."""
    row_bytes, point_bytes = load_i64(args, WinogradSlot.ROW_BYTES), load_i64(args, WinogradSlot.WEIGHT_POINT)
    size = load_i64(args, WinogradSlot.CHANNELS) * REGISTER
    then = following_columns(args, column, size)
    for point in range(16):
        a = scratch + load_i64(args, WinogradSlot.POINTS) + point * load_i64(args, WinogradSlot.PLANE)
        a += pair * tiles * row_bytes
        sums = scratch + load_i64(args, WinogradSlot.SUMS) + point * load_i64(args, WinogradSlot.SUM_PLANE)
        b = load_i64(args, WinogradSlot.WEIGHT) + point * point_bytes + column // LANES * size
        store_i64(tiling, TileJob.B, b)
        following = b + point_bytes if point < 15 else then
        multiply_rows(args, tiling, a, row_bytes, sums, pairs * tiles, following, size)


def make_pair(
    args: int,
    plainly: int,
    scratch: int,
    most: int,
    image: int,
    tiles: int,
    y: int,
    pair: int,
    column: int,
    columns: int,
) -> None:
    """Make the sums of two rows; all products of them where a sum of the points is not finite."""
    words, panels = scratch + load_i64(args, WinogradSlot.WORDS), (columns + LANES - 1) // LANES
    sums = scratch + load_i64(args, WinogradSlot.SUMS) + pair * tiles * (2 * REGISTER)
    line_bytes, finite = tiles * (4 * REGISTER), 1
    fill_run(most, 0, REGISTER)
    transform_square_sums(
        sums, load_i64(args, WinogradSlot.SUM_PLANE), tiles, panels, words, line_bytes, most
    )
    for lane in range(LANES):
        if reload_i32(most, lane) >= 0x7F800000:
            finite = 0
    if finite == 0:
        size = 9 * load_i64(args, WinogradSlot.CHANNELS) * REGISTER
        b, O_w = (
            load_i64(args, WinogradSlot.INITIAL) + column // LANES * size,
            load_i64(args, WinogradSlot.O_W),
        )
        top, left = y - load_i64(args, WinogradSlot.PAD_TOP), 0 - load_i64(args, WinogradSlot.PAD_LEFT)
        copy_pixels(args, scratch, image, top, left, O_w + 2)
        store_i64(plainly, TileJob.B, b)
        pixel = 4 * load_i64(args, WinogradSlot.CHANNELS)
        for line in range(2):
            a = scratch + load_i64(args, WinogradSlot.BLANK) + load_i64(args, WinogradSlot.BLANK_BYTES)
            a += line * (O_w + 2) * pixel
            multiply_rows(args, plainly, a, pixel, words + line * line_bytes, O_w, b, size)


def finish_pixels(
    args: int, scratch: int, tiles: int, line: int, place: int, column: int, columns: int
) -> None:
    """Run the epilogue for a row; a known number of sums is as many vectors."""
    words = scratch + load_i64(args, WinogradSlot.WORDS) + line * tiles * (4 * REGISTER)
    O_w, out_x = load_i64(args, WinogradSlot.O_W), load_i64(args, WinogradSlot.OUT_X)
    if columns == COLUMNS:
        for i in range(O_w):
            finish_pixel(words, i * 2 * LANES, place + i * out_x, column, COLUMNS)
    else:
        for i in range(O_w):
            finish_pixel(words, i * 2 * LANES, place + i * out_x, column, columns)
