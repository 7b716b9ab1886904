"""The text of convolution and matrix product kernels."""

HEADER = '''"""{title}."""

import numpy as np
from tosajit.kernels.intrinsics import *
{imports}

{slots}
{functions}

def kernel(args):
'''

GATHER = """
    m, rows = load_i64(args, JOB_M), load_i64(args, JOB_ROWS)
    offsets, table = load_i64(args, JOB_OFFSETS), load_i64(args, JOB_TABLE)
    args = load_i64(args, JOB_ARGS)
    source, input_zp = load_i64(args, SOURCE), load_i64(args, INPUT_ZP)
    OD, OH, OW = load_i64(args, O_D), load_i64(args, O_H), load_i64(args, O_W)
    ID, IH, IW = load_i64(args, I_D), load_i64(args, I_H), load_i64(args, I_W)
    KD, KH, runs = load_i64(args, K_D), load_i64(args, K_H), load_i64(args, RUNS)
    run_taps, tap_bytes = load_i64(args, RUN_TAPS), load_i64(args, TAP_BYTES)
    stride_z, stride_y = load_i64(args, STRIDE_Z), load_i64(args, STRIDE_Y)
    stride_x, step_x = load_i64(args, STRIDE_X), load_i64(args, DILATION_X)
    front, top, left = load_i64(args, PAD_FRONT), load_i64(args, PAD_TOP), load_i64(args, PAD_LEFT)
    step_z, step_y = load_i64(args, DILATION_Z), load_i64(args, DILATION_Y)
    in_n, in_z = load_i64(args, IN_N), load_i64(args, IN_Z)
    in_y, in_x = load_i64(args, IN_Y), load_i64(args, IN_X)
    out_n, out_z = load_i64(args, OUT_N), load_i64(args, OUT_Z)
    out_y, out_x = load_i64(args, OUT_Y), load_i64(args, OUT_X)
    direct, a_row, segments = load_i64(args, DIRECT), load_i64(args, ROW_BYTES), load_i64(args, SEGMENTS)
    panel, reach = (table + load_i64(args, TABLE_BYTES) + 63) & ~63, load_i64(args, REACH)
    x, y = m % OW, m // OW
    z, y = y // OH, y % OH
    n, z = z // OD, z % OD
    row = 0
    while row < rows:
        count = min(rows - row, OW - x)
        place = n * out_n + z * out_z + y * out_y + x * out_x
        for i in range(count):
            store_i64(offsets, row + i, place + i * out_x)
        if direct == 0:
            entry = table
            for kz in range(KD):
                jz = z * stride_z - front + kz * step_z
                for ky in range(KH):
                    jy = y * stride_y - top + ky * step_y
                    known = -1 if jz >= 0 and jz < ID and jy >= 0 and jy < IH else 0
                    line = source + n * in_n + jz * in_z + jy * in_y
                    for kx in range(runs):
                        store_i64(entry, 0, line + kx * step_x * in_x)
                        store_i64(entry, 1, kx * step_x)
                        store_i64(entry, 2, known)
                        entry += 24
            if segments > 0:
                taps = (count - 1) * stride_x + reach
                gather_rows(panel, 0, 1, table, segments, (taps * tap_bytes + 63) & ~63, taps, tap_bytes,
                            x * stride_x - left, stride_x, IW, taps, in_x, input_zp)
            else:
                gather_rows(panel + row * a_row, a_row, count, table, KD * KH * runs, run_taps * tap_bytes,
                            run_taps, tap_bytes, x * stride_x - left, stride_x, IW, reach, in_x, input_zp)
        row += count
        x = 0
        y += 1
        if y == OH:
            y = 0
            z += 1
            if z == OD:
                z = 0
                n += 1
"""
"""Output offsets of the rows of a panel, and the rows themselves unless they are used in place."""

TILE_I8 = """
    rows, a, a_row = load_i64(args, TILE_HEIGHT), load_i64(args, TILE_A), load_i64(args, TILE_A_ROW)
    b, b_panel, steps = load_i64(args, TILE_B), load_i64(args, TILE_B_PANEL), load_i64(args, TILE_STEPS)
    segments, segment = load_i64(args, TILE_SEGMENTS), load_i64(args, TILE_SEGMENT)
    initial, words = load_i64(args, TILE_INITIAL), load_i64(args, TILE_WORDS)
    factor = load_i64(args, TILE_FACTOR)
    if load_i64(args, TILE_FUSED) == 1:
        height = 4 if rows > 3 else max(rows & 2, 1)
        least = (rows + height - 1) // height * height
        for taller in range(8, 14, 2):
            if taller <= rows and (rows + taller - 1) // taller * taller <= least + 1:
                height = taller
                least = (rows + taller - 1) // taller * taller
        tile_rescale_i8(a, a_row, segments, segment, steps, b, b_panel, initial, rows,
                        load_i64(args, TILE_COLUMNS), load_i64(args, TILE_PARAMETERS),
                        load_i64(args, TILE_LOW), load_i64(args, TILE_HIGH), args + TILE_OUT * 8, height)
    else:
        panels = load_i64(args, TILE_PANELS)
        tile_i8(a, a_row, segments, segment, steps, b, b_panel, initial, words, rows, panels)
        if factor != 0:
            for part in range(segments):
                size = load_i64(args, TILE_DEPTH) // segments
                add_row_sums(a + part * segment, a_row, size, factor, words, rows)
"""

TILE_I16 = """
    rows, a, a_row = load_i64(args, TILE_HEIGHT), load_i64(args, TILE_A), load_i64(args, TILE_A_ROW)
    b, b_panel, panels = load_i64(args, TILE_B), load_i64(args, TILE_B_PANEL), load_i64(args, TILE_PANELS)
    steps, words, factor = load_i64(args, TILE_STEPS), load_i64(args, TILE_WORDS), load_i64(args, TILE_FACTOR)
    segments, segment = load_i64(args, TILE_SEGMENTS), load_i64(args, TILE_SEGMENT)
    sums, zero = local(1536), local(192)
    fill_run(zero, 0, 128)
    for part in range(segments):
        for step in range(0, steps, {chunk}):
            some = min({chunk}, steps - step)
            tile_i16(a + part * segment + step * 4, a_row, 1, 0, some, b + (part * steps + step) * 64,
                     b_panel, zero, sums, rows, panels)
            widen_add_rows(sums, words, rows, panels, factor)
"""
"""Sums of chunks that cannot overflow 32 bits are added to quad words."""

TILE_FLOAT = """
    rows, a, a_row = load_i64(args, TILE_HEIGHT), load_i64(args, TILE_A), load_i64(args, TILE_A_ROW)
    b, b_panel, panels = load_i64(args, TILE_B), load_i64(args, TILE_B_PANEL), load_i64(args, TILE_PANELS)
    steps, words = load_i64(args, TILE_STEPS), load_i64(args, TILE_WORDS)
    segments, segment = load_i64(args, TILE_SEGMENTS), load_i64(args, TILE_SEGMENT)
    tile_{left}(a, a_row, segments, segment, steps, b, b_panel, 0, words, rows, panels)
"""

TILE_BF16 = """
    rows, a, a_row = load_i64(args, TILE_HEIGHT), load_i64(args, TILE_A), load_i64(args, TILE_A_ROW)
    b, b_panel, panels = load_i64(args, TILE_B), load_i64(args, TILE_B_PANEL), load_i64(args, TILE_PANELS)
    steps, words = load_i64(args, TILE_STEPS), load_i64(args, TILE_WORDS)
    segments, segment = load_i64(args, TILE_SEGMENTS), load_i64(args, TILE_SEGMENT)
    if load_i64(args, TILE_SMALL):
        tile_small_bf16(a, a_row, segments, segment, steps, b, b_panel, 0, words, rows, panels)
    else:
        tile_bf16(a, a_row, segments, segment, steps, b, b_panel, 0, words, rows, panels)
"""

LEAST_PROLOGUE = """
    least_b, lanes = load_i32(weight, 0) + 1, local(64)
    weight += {least_bytes}
"""

LEAST = """
        for i in range(16):
            store_i32(lanes, i, np.int32(-1))
        if segments > 0:
            taken = ((rows - 1) * stride_x + reach) * tap_bytes
            for part in range(segments):
                least_bf16(a + part * ((taken + 63) & ~63), taken // 2, lanes)
        else:
            for i in range(rows):
                least_bf16(a + i * a_row, depth, lanes)
        least_a = 0x10000
        for i in range(32):
            least_a = min(least_a, 1 + reload_u16(lanes, i))
        small = min(least_a, least_b) < 0x80 or (least_a >> 7) + (least_b >> 7) < 142
        store_i64(tile_job, TILE_SMALL, 1 if small else 0)"""
"""Products of bf16 are quick where neither they nor their sums are subnormal.

That is certain if both operands are normal, and their exponents add up to -112 at least: products and sums
are then multiples of 2**-126.
"""

PROLOGUE = """
    m_lo, m_hi = load_i64(args, M_LO), load_i64(args, M_HI)
    n_lo, n_hi, depth = load_i64(args, N_LO), load_i64(args, N_HI), load_i64(args, K)
    source, weight, output = load_i64(args, SOURCE), load_i64(args, WEIGHT), load_i64(args, OUTPUT)
    panel, initial = load_i64(args, SCRATCH), load_i64(args, INITIAL)
    panel_rows, direct, a_row = load_i64(args, PANEL_ROWS), load_i64(args, DIRECT), load_i64(args, ROW_BYTES)
    gather, tile = load_i64(args, GATHER), load_i64(args, TILE)
    steps = (depth + {step_elements} - 1) // {step_elements}
    b_panel = steps * 64
    offsets, words = local({offset_bytes}), local({word_bytes})
    gather_job, tile_job = local(64), local(192)
    store_i64(gather_job, JOB_ARGS, args)
    store_i64(gather_job, JOB_OFFSETS, offsets)
    store_i64(gather_job, JOB_TABLE, panel)
    panel = (panel + load_i64(args, TABLE_BYTES) + 63) & ~63
    store_i64(tile_job, TILE_A_ROW, a_row)
    segments, O_w = load_i64(args, SEGMENTS), load_i64(args, O_W)
    store_i64(tile_job, TILE_STEPS, steps // max(segments, 1))
    store_i64(tile_job, TILE_SEGMENTS, max(segments, 1))
    store_i64(tile_job, TILE_SEGMENT, 0)
    tap_bytes, stride_x = load_i64(args, TAP_BYTES), load_i64(args, STRIDE_X)
    reach = load_i64(args, REACH)
    store_i64(tile_job, TILE_B_PANEL, b_panel)
    store_i64(tile_job, TILE_WORDS, words)
    store_i64(tile_job, TILE_DEPTH, depth)
    store_i64(tile_job, TILE_FACTOR, {factor})
    store_i64(tile_job, TILE_FUSED, 0)
"""

TILES = """
    m = m_lo
    while m < m_hi:
        rows = min(panel_rows, m_hi - m)
        if segments > 0:
            rows = min(rows, O_w - m % O_w)
            store_i64(tile_job, TILE_SEGMENT, (((rows - 1) * stride_x + reach) * tap_bytes + 63) & ~63)
        store_i64(gather_job, JOB_M, m)
        store_i64(gather_job, JOB_ROWS, rows)
        call(gather, gather_job)
        a = source + m * a_row if direct else panel{least}
        for column in range(n_lo, n_hi, {tile_columns}):
            columns = min({tile_columns}, n_hi - column)
            panels = (columns + 15) // 16
            store_i64(tile_job, TILE_B, weight + column // 16 * b_panel * {parts})
            store_i64(tile_job, TILE_INITIAL, initial + column * 4)
            store_i64(tile_job, TILE_PANELS, panels * {parts})
            row = 0{fused}
            while row < rows:
                left = rows - row
                tiles = (left + {tile_rows} - 1) // {tile_rows}
                height = (left + tiles - 1) // tiles
                height = 12 if height > 11 else 8 if height > 7 else 4 if height > 3 else max(height & 2, 1)
                store_i64(tile_job, TILE_A, a + row * a_row)
                store_i64(tile_job, TILE_HEIGHT, height){start}
                call(tile, tile_job)
"""

FUSED = """
            if sign == 32 and weight_zp == 0:
                store_i64(tile_job, TILE_A, a)
                store_i64(tile_job, TILE_HEIGHT, rows)
                store_i64(tile_job, TILE_COLUMNS, columns)
                store_i64(tile_job, TILE_PARAMETERS, parameters + column * 16)
                store_i64(tile_job, TILE_OUT, output + column)
                call(tile, tile_job)
                row = rows"""
"""Sums whose sign does not matter to their rescale do not pass through memory."""

FUSED_PROLOGUE = """
    weight_zp = load_i64(args, WEIGHT_ZP)
    store_i64(tile_job, TILE_FUSED, 1 if sign == 32 and weight_zp == 0 else 0)
    store_i64(tile_job, TILE_LOW, low)
    store_i64(tile_job, TILE_HIGH, high)
    store_i64(tile_job, TILE_OFFSETS, offsets)
"""

START = """
                for i in range(height):
                    copy_run(words + i * 256, initial + column * 8, panels * 128)"""

RESCALE_PROLOGUE = """
    parameters, sign = load_i64(args, PARAMETERS), load_i64(args, SIGN)
    low, high = load_i64(args, LOW), load_i64(args, HIGH)
"""

NARROW = """
    narrow, narrow_offsets = local(384), local(96)
    for i in range(12):
        store_i64(narrow_offsets, i, i * 32)
"""

RESCALE = """
                rescale_i8(words, height, columns, parameters + column * 16, sign, low, high, {where})
"""

BODY = """
                for i in range(height):
                    place = {place} + column
                    base = i * {pitch}
                    for j in range(columns):
                        acc = {load}
                        channel = column + j
                        index = place + j
{body}
"""

BODY_FLOAT = """
                if columns == {tile_columns}:
                    for i in range(height):
                        place = reload_i64(offsets, row + i) + column
                        for j in range({tile_columns}):
                            acc = load_f32(words, i * {tile_columns} + j)
                            channel = column + j
                            index = place + j
{body}
                else:
                    for i in range(height):
                        place = reload_i64(offsets, row + i) + column
                        for j in range(columns):
                            acc = load_f32(words, i * {tile_columns} + j)
                            channel = column + j
                            index = place + j
{body}
"""
"""A row of a known number of sums is as many vectors, without a loop."""

NEXT = """
                row += height
        m += rows
"""

PACK_F32 = """
    source, row_bytes, out = load_i64(args, PACK_SOURCE), load_i64(args, PACK_ROW), load_i64(args, PACK_OUT)
    depth, columns = load_i64(args, PACK_DEPTH), load_i64(args, PACK_COLUMNS)
    for column in range(0, columns, 64):
        target = out + column * depth * 4
        if columns - column >= 64:
            for k in range(depth):
                for panel in range(4):
                    for j in range(16):
                        value = load_{right}(source + k * row_bytes, column + panel * 16 + j)
                        store_f32(target + panel * depth * 64, k * 16 + j, value)
        else:
            for panel in range((columns - column + 15) // 16):
                width = min(16, columns - column - panel * 16)
                for k in range(depth):
                    for j in range(width):
                        value = load_{right}(source + k * row_bytes, column + panel * 16 + j)
                        store_f32(target + panel * depth * 64, k * 16 + j, value)
                    for j in range(width, 16):
                        store_f32(target + panel * depth * 64, k * 16 + j, np.float32(0))
"""

PACK_BF16 = """
    source, row_bytes, out = load_i64(args, PACK_SOURCE), load_i64(args, PACK_ROW), load_i64(args, PACK_OUT)
    depth, columns = load_i64(args, PACK_DEPTH), load_i64(args, PACK_COLUMNS)
    lanes, least = local(64), 0xFFFF
    for i in range(16):
        store_i32(lanes, i, np.int32(-1))
    for k in range(depth):
        least_bf16(source + k * row_bytes, columns, lanes)
    for i in range(32):
        least = min(least, np.int64(reload_u16(lanes, i)))
    store_i32(out, 0, np.int32(least))
    out += {least_bytes}
    for column in range(0, columns, 16):
        target, width = out + column * depth * 2, min(16, columns - column)
        for k in range(0, depth, 2):
            first, second = source + k * row_bytes, source + (k + 1) * row_bytes
            if width == 16:
                for j in range(16):
                    pair = load_u16(first, column + j) | (np.int32(load_u16(second, column + j)) << 16)
                    store_i32(target, k * 8 + j, np.int32(pair))
            else:
                for j in range(width):
                    pair = load_u16(first, column + j) | (np.int32(load_u16(second, column + j)) << 16)
                    store_i32(target, k * 8 + j, np.int32(pair))
                for j in range(width, 16):
                    store_i32(target, k * 8 + j, np.int32(0))
"""
"""Pairs of rows, whose number is even, side by side."""

PACK_I8 = """
    depth, columns, out = load_i64(args, PACK_DEPTH), load_i64(args, PACK_COLUMNS), load_i64(args, PACK_OUT)
    sums = load_i64(args, PACK_INITIAL)
    pack_i8(load_i64(args, PACK_SOURCE), load_i64(args, PACK_ROW), depth, columns, out, sums)
    factor, addend = load_i64(args, PACK_FACTOR), load_i64(args, PACK_ADDEND)
    for column in range((columns + 63) // 64 * 64):
        store_i32(sums, column, np.int32(reload_i32(sums, column) * factor + addend))
"""

PACK_I16 = """
    pack_halves(load_i64(args, PACK_SOURCE), load_i64(args, PACK_ROW), load_i64(args, PACK_DEPTH),
                load_i64(args, PACK_COLUMNS), load_i64(args, PACK_OUT))
"""
