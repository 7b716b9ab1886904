"""Kernels of convolutions and matrix products.

Each function is a kernel, or a part of one that `source` puts in its place; see `structure` for the names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tosajit.kernels.contract.slots import GatherJob, RescaleJob, RowsJob, Slot, TileJob
from tosajit.kernels.contract.structure import (
    BLOCK,
    CAREFUL,
    CHUNK,
    COLUMNS,
    DEPTH,
    FLIPPED,
    FLOAT,
    FUSED,
    HALVES,
    IN_REGISTERS,
    LANES,
    LEAST_BYTES,
    LOW,
    MASKED,
    MATRICES,
    NARROW,
    OFFSETS_BYTES,
    PARTS,
    REGISTER,
    RESCALE,
    ROWS,
    SHORT_STEPS,
    SIGNED,
    SPLIT,
    STEP,
    WIDE,
    WIDTH,
    add_row_sums,
    add_terms,
    call,
    copy_run,
    end_matrices,
    epilogue,
    fill_run,
    flip_rows,
    gather_rows,
    height_of,
    least_bf16,
    load_i32,
    load_i64,
    local,
    lowest,
    reload_i64,
    reload_sum,
    reload_u16,
    rescale_i8,
    setup,
    start_matrices,
    store_i16,
    store_i32,
    store_i64,
    tile,
    tile_rescale_i8,
    tile_small_bf16,
    widen_add_rows,
    widen_rows,
)


def gather(job: int) -> None:
    """Find where the outputs of some rows of A go, and gather the rows unless they are there."""
    args = load_i64(job, GatherJob.ARGS)
    m, rows = load_i64(job, GatherJob.M), load_i64(job, GatherJob.ROWS)
    offsets, table = load_i64(job, GatherJob.OFFSETS), load_i64(job, GatherJob.TABLE)
    O_d, O_h, O_w = load_i64(args, Slot.O_D), load_i64(args, Slot.O_H), load_i64(args, Slot.O_W)
    out_n, out_z = load_i64(args, Slot.OUT_N), load_i64(args, Slot.OUT_Z)
    out_y, out_x = load_i64(args, Slot.OUT_Y), load_i64(args, Slot.OUT_X)
    direct, a_row = load_i64(args, Slot.DIRECT), load_i64(args, Slot.ROW_BYTES)
    panel = (table + load_i64(args, Slot.TABLE_BYTES) + 63) & ~63
    gathering = local(120)
    missing = direct == 0
    if reload_i64(job, GatherJob.UNTIL) > m:
        line = load_i64(args, Slot.STRIDE_Y) * segment_bytes(args, rows)
        store_i64(job, GatherJob.A, reload_i64(job, GatherJob.A) + line)
        missing = False
    start_gathering(gathering, args, table)
    x, y = m % O_w, m // O_w
    z, y = y // O_h, y % O_h
    n, z = z // O_d, z % O_d
    row = 0
    while row < rows:
        count = min(rows - row, O_w - x)
        place = n * out_n + z * out_z + y * out_y + x * out_x
        for i in range(count):
            store_i64(offsets, row + i, place + i * out_x)
        if missing:
            lines = lines_at(args, m, y, count)
            list_runs(args, table, n, z, y, lines)
            gather_positions(gathering, args, panel + row * a_row, panel, count, x, lines)
            store_i64(job, GatherJob.A, panel)
            store_i64(job, GatherJob.UNTIL, m + lines * O_w if lines > 1 else 0)
        row += count
        x = 0
        y += 1
        if y == O_h:
            y = 0
            z += 1
            if z == O_d:
                z = 0
                n += 1


def lines_at(args: int, m: int, y: int, count: int) -> Any:
    """How many lines of the output to gather the input of: several if they are whole, from row m on."""
    O_w, found = load_i64(args, Slot.O_W), 1
    if count == O_w and load_i64(args, Slot.LINES) > 1:
        whole = (load_i64(args, Slot.M_HI) - m) // O_w
        found = max(1, min(min(load_i64(args, Slot.LINES), load_i64(args, Slot.O_H) - y), whole))
    return found


def start_gathering(gathering: int, args: int, table: int) -> None:
    """Set what all rows have in common."""
    run_taps, tap_bytes = load_i64(args, Slot.RUN_TAPS), load_i64(args, Slot.TAP_BYTES)
    store_i64(gathering, RowsJob.TABLE, table)
    store_i64(gathering, RowsJob.TAP_BYTES, tap_bytes)
    store_i64(gathering, RowsJob.STRIDE, load_i64(args, Slot.STRIDE_X))
    store_i64(gathering, RowsJob.WIDTH, load_i64(args, Slot.I_W))
    store_i64(gathering, RowsJob.IN_X, load_i64(args, Slot.IN_X))
    store_i64(gathering, RowsJob.ZERO, load_i64(args, Slot.INPUT_ZP))
    store_i64(gathering, RowsJob.FLIP, load_i64(args, Slot.FLIP))
    store_i64(gathering, RowsJob.ROW_BYTES, load_i64(args, Slot.ROW_BYTES))
    store_i64(gathering, RowsJob.RUN_TAPS, run_taps)
    store_i64(gathering, RowsJob.RUN_BYTES, run_taps * tap_bytes)
    runs = load_i64(args, Slot.K_D) * load_i64(args, Slot.K_H) * load_i64(args, Slot.RUNS)
    store_i64(gathering, RowsJob.RUNS, runs)
    store_i64(gathering, RowsJob.REACH, load_i64(args, Slot.REACH))


def list_runs(args: int, table: int, n: int, z: int, y: int, lines: int) -> None:
    """List where the runs of some lines of the output begin, and which of them exist."""
    source, I_d, I_h = load_i64(args, Slot.SOURCE), load_i64(args, Slot.I_D), load_i64(args, Slot.I_H)
    K_d, K_h, runs = load_i64(args, Slot.K_D), load_i64(args, Slot.K_H), load_i64(args, Slot.RUNS)
    in_z, in_y, in_x = load_i64(args, Slot.IN_Z), load_i64(args, Slot.IN_Y), load_i64(args, Slot.IN_X)
    first_z = z * load_i64(args, Slot.STRIDE_Z) - load_i64(args, Slot.PAD_FRONT)
    first_y = y * load_i64(args, Slot.STRIDE_Y) - load_i64(args, Slot.PAD_TOP)
    step_x, image = load_i64(args, Slot.DILATION_X), source + n * load_i64(args, Slot.IN_N)
    step_z, step_y = load_i64(args, Slot.DILATION_Z), load_i64(args, Slot.DILATION_Y)
    entry = table
    for kz in range(K_d):
        jz = first_z + kz * step_z
        for ky in range(K_h + (lines - 1) * load_i64(args, Slot.STRIDE_Y)):
            jy = first_y + ky * step_y
            known = -1 if jz >= 0 and jz < I_d and jy >= 0 and jy < I_h else 0
            for kx in range(runs):
                store_i64(entry, 0, image + jz * in_z + jy * in_y + kx * step_x * in_x)
                store_i64(entry, 1, kx * step_x)
                store_i64(entry, 2, known)
                entry += 24


def gather_positions(
    gathering: int, args: int, target: int, panel: int, count: int, x: int, lines: int
) -> None:
    """Gather rows for positions along x, or the segments that they are parts of, for some lines."""
    segments, run_taps = load_i64(args, Slot.SEGMENTS), load_i64(args, Slot.RUN_TAPS)
    stride_x, tap_bytes = load_i64(args, Slot.STRIDE_X), load_i64(args, Slot.TAP_BYTES)
    store_i64(gathering, RowsJob.COLUMN, x * stride_x - load_i64(args, Slot.PAD_LEFT))
    if segments > 0:
        more = (count - 1) * stride_x
        taps = more + run_taps
        store_i64(gathering, RowsJob.TARGET, panel)
        store_i64(gathering, RowsJob.COUNT, 1)
        store_i64(gathering, RowsJob.RUNS, segments + (lines - 1) * load_i64(args, Slot.STRIDE_Y))
        store_i64(gathering, RowsJob.RUN_BYTES, (taps * tap_bytes + REGISTER - 1) & -REGISTER)
        store_i64(gathering, RowsJob.RUN_TAPS, taps)
        store_i64(gathering, RowsJob.REACH, more + load_i64(args, Slot.REACH))
    else:
        store_i64(gathering, RowsJob.TARGET, target)
        store_i64(gathering, RowsJob.COUNT, count)
    gather_rows(gathering)


def tile_bytes(job: int) -> None:
    """A register tile of int8."""
    if load_i64(job, TileJob.FUSED) > 0:
        tile_rescale_i8(job)
    else:
        tile(job)
        terms = load_i64(job, TileJob.TERMS)
        if terms != 0:
            add_terms(terms, load_i64(job, TileJob.WORDS), load_i64(job, TileJob.HEIGHT))


def tile_halves(job: int) -> None:
    """A register tile of int16: sums of chunks that cannot overflow 32 bits are added to quad words."""
    a, b, steps = load_i64(job, TileJob.A), load_i64(job, TileJob.B), load_i64(job, TileJob.STEPS)
    segments, segment = load_i64(job, TileJob.SEGMENTS), load_i64(job, TileJob.SEGMENT)
    words, split = load_i64(job, TileJob.WORDS), 1 if SPLIT else 0
    rows, panels = load_i64(job, TileJob.HEIGHT), load_i64(job, TileJob.PANELS)
    chunk, sums, zero = local(168), local(ROWS * 2 * REGISTER), local(3 * REGISTER)
    fill_run(zero, 0, 2 * REGISTER)
    store_i64(chunk, TileJob.A_ROW, load_i64(job, TileJob.A_ROW))
    store_i64(chunk, TileJob.B_PANEL, load_i64(job, TileJob.B_PANEL))
    store_i64(chunk, TileJob.SEGMENTS, 1)
    store_i64(chunk, TileJob.SEGMENT, 0)
    store_i64(chunk, TileJob.INITIAL, zero)
    store_i64(chunk, TileJob.WORDS, sums)
    store_i64(chunk, TileJob.HEIGHT, rows)
    store_i64(chunk, TileJob.PANELS, panels)
    for part in range(segments):
        for step in range(0, steps, CHUNK):
            store_i64(chunk, TileJob.A, a + part * segment + step * 4)
            store_i64(chunk, TileJob.B, b + (part * steps + step) * REGISTER)
            store_i64(chunk, TileJob.STEPS, min(CHUNK, steps - step))
            tile(chunk)
            widen_add_rows(sums, words, rows, panels, split)


def tile_floats(job: int) -> None:
    """A register tile of floating-point numbers."""
    tile(job)


def tile_pairs(job: int) -> None:
    """A register tile of bfloat16, by instructions that keep subnormal numbers where there could be any."""
    if load_i64(job, TileJob.SMALL) == 0:
        tile(job)
    elif MATRICES:
        tile_small_rows(job)
    else:
        tile_small_bf16(job)


def tile_small_rows(job: int) -> None:
    """The rows of a tile of matrices, by vectors: two at a time."""
    a, words, rows = load_i64(job, TileJob.A), load_i64(job, TileJob.WORDS), load_i64(job, TileJob.HEIGHT)
    for row in range(0, rows, 2):
        store_i64(job, TileJob.A, a + row * load_i64(job, TileJob.A_ROW))
        store_i64(job, TileJob.WORDS, words + row * 2 * REGISTER)
        store_i64(job, TileJob.HEIGHT, min(2, rows - row))
        tile_small_bf16(job)
    store_i64(job, TileJob.WORDS, words)
    store_i64(job, TileJob.HEIGHT, rows)


def kernel(args: int) -> None:
    """Rows of A times columns of B: panels of A, then tiles; what follows a sum is `epilogue`."""
    table, output = load_i64(args, Slot.SCRATCH), load_i64(args, Slot.OUTPUT)
    m, m_hi, n_hi = load_i64(args, Slot.M_LO), load_i64(args, Slot.M_HI), load_i64(args, Slot.N_HI)
    offsets, words = local(OFFSETS_BYTES), local(ROWS * 2 * LANES * 8 + REGISTER)
    gathering, tiling, rescaling = local(64), local(192), local(128)
    narrow, places, room = local(ROWS * 2 * LANES), local(ROWS * 8), local(OFFSETS_BYTES // 2)
    panel = (table + load_i64(args, Slot.TABLE_BYTES) + 63) & ~63
    store_i64(gathering, GatherJob.ARGS, args)
    store_i64(gathering, GatherJob.OFFSETS, offsets)
    store_i64(gathering, GatherJob.TABLE, table)
    store_i64(gathering, GatherJob.A, panel)
    store_i64(gathering, GatherJob.UNTIL, 0)
    start_tiling(args, tiling, words, offsets)
    if RESCALE:
        start_rescaling(args, rescaling, words, narrow, places)
    fused = IN_REGISTERS and load_i64(args, Slot.WEIGHT_ZP) == 0
    if not SIGNED:
        fused = fused and load_i64(args, Slot.SIGN) == 32
    setup(args)
    panel_height = 0
    while m < m_hi:
        rows = rows_at(args, m, m_hi)
        panel_height = start_registers(rows, panel_height)
        store_i64(gathering, GatherJob.M, m)
        store_i64(gathering, GatherJob.ROWS, rows)
        store_i64(tiling, TileJob.SEGMENT, segment_bytes(args, rows) * (WIDTH if WIDE else 1))
        call(load_i64(args, Slot.GATHER), gathering)
        a_row = row_bytes(args)
        a = start_of(args, table, reload_i64(gathering, GatherJob.A), m, rows)
        tell_first(args, tiling, m)
        terms = terms_of(args, tiling, a, rows, room)
        for column in range(load_i64(args, Slot.N_LO), n_hi, COLUMNS):
            columns = min(COLUMNS, n_hi - column)
            start_columns(args, tiling, column, columns)
            row, share = 0, (REGISTER << 16) // rows
            if IN_REGISTERS:
                row = rescale_in_registers(args, tiling, fused, a, rows, share, column, columns)
            while row < rows:
                height = height_of(rows - row, rows)
                first = min(row, rows - height)
                start_rows(args, tiling, a + first * a_row, height, first, share, column)
                store_i64(tiling, TileJob.TERMS, terms + 4 * first if terms != 0 else 0)
                if not NARROW:
                    start_sums(args, words, height, column, columns)
                call(load_i64(args, Slot.TILE), tiling)
                if RESCALE:
                    rescale_tile(
                        args, rescaling, height, column, columns, output + column, offsets + first * 8
                    )
                if not FUSED:
                    done, sums = row - first, narrow if RESCALE else words
                    finish_tile(offsets + first * 8, sums, done, height, column, columns)
                row = first + height
        m += rows
    end_registers()


def kernel_floats(args: int) -> None:
    """The same for floating-point numbers, in blocks of steps: sums go on from those of the block before."""
    table, place = load_i64(args, Slot.SCRATCH), load_i64(args, Slot.SUMS)
    m, m_hi, n_hi = load_i64(args, Slot.M_LO), load_i64(args, Slot.M_HI), load_i64(args, Slot.N_HI)
    offsets, words = local(OFFSETS_BYTES), local(ROWS * 2 * REGISTER)
    gathering, tiling = local(64), local(240)
    panel, kept = (table + load_i64(args, Slot.TABLE_BYTES) + 63) & ~63, (table + place + 63) & ~63
    store_i64(gathering, GatherJob.ARGS, args)
    store_i64(gathering, GatherJob.OFFSETS, offsets)
    store_i64(gathering, GatherJob.TABLE, table)
    store_i64(gathering, GatherJob.A, panel)
    store_i64(gathering, GatherJob.UNTIL, 0)
    start_tiling(args, tiling, words, offsets)
    steps, block = steps_of(load_i64(args, Slot.K)), load_i64(args, Slot.BLOCK_STEPS)
    setup(args)
    panel_height = 0
    while m < m_hi:
        rows = rows_at(args, m, m_hi)
        share = (REGISTER << 16) // rows
        panel_height = start_registers(rows, panel_height)
        store_i64(gathering, GatherJob.M, m)
        store_i64(gathering, GatherJob.ROWS, rows)
        store_i64(tiling, TileJob.SEGMENT, segment_bytes(args, rows))
        call(load_i64(args, Slot.GATHER), gathering)
        a_row = row_bytes(args)
        a = start_of(args, table, reload_i64(gathering, GatherJob.A), m, rows)
        if CAREFUL:
            look_for_small(args, tiling, a, rows)
        if MATRICES:
            clear_ends(args, a, rows)
        for step in range(0, max(steps, 1), block):
            start_block(tiling, step, min(block, steps - step))
            last = step + block >= steps
            turn, sums = -step if last else block, kept
            for column in range(load_i64(args, Slot.N_LO), n_hi, COLUMNS):
                columns = min(COLUMNS, n_hi - column)
                start_columns(args, tiling, column, columns)
                start_half(tiling, columns)
                store_i64(tiling, TileJob.B, load_i64(tiling, TileJob.B) + step * REGISTER)
                inside = start_ending(args, tiling, last, column, columns)
                row = 0
                while row < rows:
                    height = height_of_floats(rows - row, rows, steps, columns)
                    tiles = tiles_of(rows - row, height) if inside and block >= steps else 1
                    first = min(row, rows - height)
                    store_i64(tiling, TileJob.A, a + first * a_row + 4 * step)
                    store_i64(tiling, TileJob.HEIGHT, height)
                    if block < steps:
                        store_i64(tiling, TileJob.WORDS, sums)
                    fetch_following(args, tiling, first, share, column, turn)
                    store_i64(tiling, TileJob.OFFSETS, offsets + first * 8)
                    store_i64(tiling, TileJob.DONE, row - first)
                    store_i64(tiling, TileJob.TILES, tiles)
                    call(load_i64(args, Slot.TILE), tiling)
                    if last and not inside:
                        done, totals = row - first, load_i64(tiling, TileJob.WORDS)
                        finish_tile(offsets + first * 8, totals, done, height, column, columns)
                    row = first + tiles * height
                    sums += ROWS * 2 * REGISTER
        m += rows
    end_registers()


def height_of_floats(left: int, rows: int, steps: int, columns: int) -> Any:
    """The height of the next tile: low ones where steps are few.

    What is left in the end is evened out, unless one of each covers it.
    """
    height = LOW if steps <= SHORT_STEPS and columns > LANES else lowest(BLOCK)
    covered = left == height + LOW and LOW > 1
    return height if left >= 2 * height or covered else height_of(left, rows)


def tiles_of(left: int, height: int) -> Any:
    """How many tiles follow one another that are as high."""
    return max(1, left // height - 1)


def start_block(tiling: int, step: int, steps: int) -> None:
    """Set what tiles of some steps have in common."""
    store_i64(tiling, TileJob.STEPS, steps // load_i64(tiling, TileJob.SEGMENTS))
    store_i64(tiling, TileJob.CONTINUED, 1 if step > 0 else 0)


def start_ending(args: int, tiling: int, last: bool, column: int, columns: int) -> Any:
    """Have tiles do what follows their sums, if these are complete; tell whether they do.

    Only whole registers where parts of them are not stored at once.
    """
    inside = last and IN_REGISTERS
    if not MASKED:
        inside = inside and columns % LANES == 0
    store_i64(tiling, TileJob.FUSED, load_i64(args, Slot.SIGN) if inside else 0)
    store_i64(tiling, TileJob.PARAMETERS, load_i64(args, Slot.PARAMETERS) + column * 4)
    store_i64(tiling, TileJob.OTHER, load_i64(args, Slot.OTHER) + column * 4)
    store_i64(tiling, TileJob.SHIFT, load_i64(args, Slot.SHIFT))
    store_i64(tiling, TileJob.SCALE, load_i64(args, Slot.SCALE))
    store_i64(tiling, TileJob.OUT, load_i64(args, Slot.OUTPUT) + column * 4)
    return inside


def start_registers(rows: int, before: int) -> Any:
    """Let registers of matrices have as many rows as tiles of a panel, which takes as long as a tile does.

    `before` is how many they have already.
    """
    height = min(rows, LANES)
    if MATRICES:
        if height != before:
            start_matrices(height)
    return height


def end_registers() -> None:
    """Give the registers of matrices back."""
    if MATRICES:
        end_matrices()


def rows_at(args: int, m: int, m_hi: int) -> Any:
    """How many rows to work on at a time; with segments, of one row of the output."""
    rows, O_w = min(load_i64(args, Slot.PANEL_ROWS), m_hi - m), load_i64(args, Slot.O_W)
    rest = O_w - m % O_w
    return min(rows, rest) if load_i64(args, Slot.SEGMENTS) > 0 else rows


def row_bytes(args: int) -> Any:
    """Bytes from row to row of A, as tiles take them."""
    row, K, direct = load_i64(args, Slot.ROW_BYTES), load_i64(args, Slot.K), load_i64(args, Slot.DIRECT)
    return (WIDTH * K if direct > 0 else WIDTH * row) if WIDE or FLIPPED else row


def start_of(args: int, table: int, panel: int, m: int, rows: int) -> Any:
    """Where tiles find rows of A."""
    a = load_i64(args, Slot.SOURCE) + m * load_i64(args, Slot.ROW_BYTES)
    if load_i64(args, Slot.DIRECT) == 0:
        a = panel
    elif FLIPPED:
        a = flip(args, a, panel, rows)
    if WIDE:
        a = widen(args, table, a, rows)
    return a


def flip(args: int, a: int, target: int, rows: int) -> Any:
    """Copy rows in place, with other signs; return where they are."""
    row, K = load_i64(args, Slot.ROW_BYTES), load_i64(args, Slot.K)
    if row == K:
        flip_rows(a, 0, rows * K, target, 1)
    else:
        flip_rows(a, row, K, target, rows)
    return target


def widen(args: int, table: int, a: int, rows: int) -> Any:
    """Widen gathered rows, or segments, or rows in place; return where they are."""
    target = (table + load_i64(args, Slot.WIDENED) + 63) & ~63
    row, K = load_i64(args, Slot.ROW_BYTES), load_i64(args, Slot.K)
    size = load_i64(args, Slot.SEGMENTS) * segment_bytes(args, rows)
    if size == 0:
        size = rows * row
    if load_i64(args, Slot.DIRECT) > 0 and row != K:
        widen_rows(a, row, K, target, rows)
    else:
        widen_rows(a, 0, size, target, 1)
    return target


def taken_bytes(args: int, rows: int) -> Any:
    """Bytes of a segment that so many rows are parts of."""
    taps = (rows - 1) * load_i64(args, Slot.STRIDE_X) + load_i64(args, Slot.RUN_TAPS)
    return taps * load_i64(args, Slot.TAP_BYTES)


def segment_bytes(args: int, rows: int) -> Any:
    """Bytes from segment to segment; 0 without."""
    taken = taken_bytes(args, rows)
    return (taken + REGISTER - 1) & -REGISTER if load_i64(args, Slot.SEGMENTS) > 0 else 0


def steps_of(K: int) -> Any:
    """Steps of a row of A, in whole blocks of them."""
    return (K + DEPTH - 1) // DEPTH * (DEPTH // STEP)


def start_tiling(args: int, tiling: int, words: int, offsets: int) -> None:
    """Set what all tiles have in common."""
    segments, steps = max(load_i64(args, Slot.SEGMENTS), 1), steps_of(load_i64(args, Slot.K))
    store_i64(tiling, TileJob.A_ROW, row_bytes(args))
    store_i64(tiling, TileJob.STEPS, steps // segments)
    store_i64(tiling, TileJob.SEGMENTS, segments)
    store_i64(tiling, TileJob.B_PANEL, steps * REGISTER)
    store_i64(tiling, TileJob.WORDS, words)
    store_i64(tiling, TileJob.OFFSETS, offsets)
    store_i64(tiling, TileJob.FUSED, 0)
    store_i64(tiling, TileJob.LOW, load_i64(args, Slot.LOW))
    store_i64(tiling, TileJob.HIGH, load_i64(args, Slot.HIGH))


def start_columns(args: int, tiling: int, column: int, columns: int) -> None:
    """Set what tiles of some columns have in common."""
    b_panel = steps_of(load_i64(args, Slot.K)) * REGISTER
    first = load_i64(args, Slot.WEIGHT) + (LEAST_BYTES if CAREFUL else 0)
    store_i64(tiling, TileJob.B, first + column // LANES * b_panel * PARTS)
    store_i64(tiling, TileJob.INITIAL, load_i64(args, Slot.INITIAL) + column * 4)
    store_i64(tiling, TileJob.PANELS, (columns + LANES - 1) // LANES * PARTS)
    store_i64(tiling, TileJob.COLUMNS, columns)


def start_half(tiling: int, columns: int) -> None:
    """Have tiles leave out the half of the last panel that has no columns; there are none behind it."""
    if HALVES:
        if (columns - 1) % LANES < LANES // 2:
            store_i64(tiling, TileJob.PANELS, load_i64(tiling, TileJob.PANELS) + COLUMNS // LANES)


def start_rows(args: int, tiling: int, a: int, height: int, row: int, share: int, column: int) -> None:
    """Set which rows a tile takes, and what it fetches for those that follow."""
    store_i64(tiling, TileJob.A, a)
    store_i64(tiling, TileJob.HEIGHT, height)
    if WIDE:
        fetch_following(args, tiling, row, share, column, 0)


def fetch_following(args: int, tiling: int, row: int, share: int, column: int, turn: int) -> None:
    """Have each tile of some rows fetch a part of the columns that follow: behind the last ones, the first.

    `turn` is how many steps these are ahead then; `share` is what a row fetches in a step, in bytes / 65536.
    """
    height, steps = load_i64(tiling, TileJob.HEIGHT), load_i64(tiling, TileJob.STEPS)
    b, b_panel = load_i64(tiling, TileJob.B), load_i64(tiling, TileJob.B_PANEL)
    before = load_i64(tiling, TileJob.SEGMENTS) * steps * (share * row) >> 16
    following = b + load_i64(tiling, TileJob.PANELS) * b_panel
    if column + COLUMNS >= load_i64(args, Slot.N_HI):
        following = b + turn * REGISTER - (column - load_i64(args, Slot.N_LO)) // LANES * b_panel
    store_i64(tiling, TileJob.FOLLOWING, following + before)
    store_i64(tiling, TileJob.FOLLOWING_STEP, (share * height + 65535) >> 16)


def start_sums(args: int, words: int, height: int, column: int, columns: int) -> None:
    """Let sums of quad words start."""
    initial, size = load_i64(args, Slot.INITIAL), (columns + LANES - 1) // LANES * 2 * REGISTER
    for i in range(height):
        copy_run(words + i * 4 * REGISTER, initial + column * 8, size)


def terms_of(args: int, tiling: int, a: int, rows: int, room: int) -> Any:
    """What rows of int8 add to their sums for the zero point of B, which counts with the sum of each row.

    A word each, in some room; 0 if that is nothing.
    """
    terms = 0
    if NARROW:
        if load_i64(args, Slot.WEIGHT_ZP) != 0:
            terms = room
            segments, segment = load_i64(tiling, TileJob.SEGMENTS), load_i64(tiling, TileJob.SEGMENT)
            size = load_i64(args, Slot.K) // segments * WIDTH
            fill_run(terms, 0, 4 * rows)
            for part in range(segments):
                add_row_sums(
                    a + part * segment, row_bytes(args), size, -load_i64(args, Slot.WEIGHT_ZP), terms, rows
                )
    return terms


def tell_first(args: int, tiling: int, m: int) -> None:
    """Tell tiles whether they are the first ones for their columns."""
    if MATRICES:
        store_i64(tiling, TileJob.FETCH, 1 if m == load_i64(args, Slot.M_LO) else 0)


def rescale_in_registers(
    args: int, tiling: int, fused: bool, a: int, rows: int, share: int, column: int, columns: int
) -> Any:
    """Do all rows at once, or none: whole registers alone where bytes of a mask are not stored at once."""
    inside = fused
    if not MASKED:
        inside = fused and columns % LANES == 0
    store_i64(tiling, TileJob.FUSED, 0)
    if inside:
        start_rows(args, tiling, a, rows, 0, share, column)
        store_i64(tiling, TileJob.FUSED, load_i64(args, Slot.SIGN))
        store_i64(tiling, TileJob.PARAMETERS, load_i64(args, Slot.PARAMETERS) + column * 16)
        store_i64(tiling, TileJob.OUT, load_i64(args, Slot.OUTPUT) + column)
        call(load_i64(args, Slot.TILE), tiling)
    return rows if inside else 0


def rescale_tile(
    args: int, rescaling: int, height: int, column: int, columns: int, out: int, offsets: int
) -> None:
    """Rescale the sums of a tile: to the output if that is all, else to rows for the epilogue."""
    store_i64(rescaling, RescaleJob.ROWS, height)
    store_i64(rescaling, RescaleJob.COLUMNS, columns)
    store_i64(rescaling, RescaleJob.PARAMETERS, load_i64(args, Slot.PARAMETERS) + column * 16)
    if FUSED:
        store_i64(rescaling, RescaleJob.OUT, out)
        store_i64(rescaling, RescaleJob.OFFSETS, offsets)
    rescale_i8(rescaling)


def start_rescaling(args: int, rescaling: int, words: int, narrow: int, offsets: int) -> None:
    """Set what the rescaling of all tiles has in common; an epilogue takes rows of two panels."""
    store_i64(rescaling, RescaleJob.WORDS, words)
    store_i64(rescaling, RescaleJob.SIGN, load_i64(args, Slot.SIGN))
    store_i64(rescaling, RescaleJob.LOW, load_i64(args, Slot.LOW))
    store_i64(rescaling, RescaleJob.HIGH, load_i64(args, Slot.HIGH))
    store_i64(rescaling, RescaleJob.OUT, narrow)
    store_i64(rescaling, RescaleJob.OFFSETS, offsets)
    if not FUSED:
        for i in range(ROWS):
            store_i64(offsets, i, i * 2 * LANES)


def finish_tile(places: int, sums: int, done: int, height: int, column: int, columns: int) -> None:
    """Run the epilogue for each sum of a tile but for rows that are done.

    A row of a known number of floating-point sums is as many vectors.
    """
    if FLOAT:
        if columns == COLUMNS:
            for i in range(done, height):
                finish_row(reload_i64(places, i) + column, sums, i * 2 * LANES, column, COLUMNS)
        else:
            for i in range(done, height):
                finish_row(reload_i64(places, i) + column, sums, i * 2 * LANES, column, columns)
    else:
        for i in range(done, height):
            finish_row(reload_i64(places, i) + column, sums, i * 2 * LANES, column, columns)


def finish_row(place: int, sums: int, base: int, column: int, columns: int) -> None:
    """Run the epilogue for a row of sums."""
    for j in range(columns):
        epilogue(reload_sum(sums, base + j), column + j, place + j)


def clear_ends(args: int, a: int, rows: int) -> None:
    """Let rows of bf16 that were gathered have zeros behind their depth: what is there meets zeros."""
    K, row_bytes = load_i64(args, Slot.K), load_i64(args, Slot.ROW_BYTES)
    if load_i64(args, Slot.DIRECT) == 0 and load_i64(args, Slot.SEGMENTS) == 0:
        for i in range(rows):
            for k in range(K, (K + DEPTH - 1) // DEPTH * DEPTH):
                store_i16(a + i * row_bytes, k, np.int16(0))


def look_for_small(args: int, tiling: int, a: int, rows: int) -> None:
    """Tell whether products of bf16, or their sums, could be subnormal.

    They are not if both operands are normal, and their exponents add up to -112 at least: products and sums
    are then multiples of 2**-126.
    """
    segments, lanes = load_i64(args, Slot.SEGMENTS), local(REGISTER)
    least_b = load_i32(load_i64(args, Slot.WEIGHT), 0) + 1
    for i in range(LANES):
        store_i32(lanes, i, np.int32(-1))
    if segments > 0:
        taken = taken_bytes(args, rows)
        for part in range(segments):
            least_bf16(a + part * ((taken + REGISTER - 1) & -REGISTER), taken // 2, lanes)
    else:
        for i in range(rows):
            least_bf16(a + i * load_i64(args, Slot.ROW_BYTES), load_i64(args, Slot.K), lanes)
    least_a = 0x10000
    for i in range(2 * LANES):
        least_a = min(least_a, 1 + reload_u16(lanes, i))
    small = min(least_a, least_b) < 0x80 or (least_a >> 7) + (least_b >> 7) < 142
    store_i64(tiling, TileJob.SMALL, 1 if small else 0)
