"""Kernels that pack a matrix B [depth][columns] at run time, as `pack.pack_weights` does."""

from __future__ import annotations

import numpy as np

from tosajit.kernels.contract.slots import PackSlot
from tosajit.kernels.contract.structure import (
    APART,
    DEPTH,
    LANES,
    LEAST_BYTES,
    NEAR_STEPS,
    REGISTER,
    least_bf16,
    load_b,
    load_i64,
    load_u16,
    local,
    pack_halves,
    pack_i8,
    reload_i32,
    reload_u16,
    store_f32,
    store_i32,
)


def pack_bytes(args: int) -> None:
    """Pack int8, and find the values that the sums of its columns start with."""
    depth, columns = load_i64(args, PackSlot.DEPTH), load_i64(args, PackSlot.COLUMNS)
    source, row, sums = (
        load_i64(args, PackSlot.SOURCE),
        load_i64(args, PackSlot.ROW),
        load_i64(args, PackSlot.INITIAL),
    )
    pack_i8(source, row, depth, columns, load_i64(args, PackSlot.OUT), sums)
    factor, addend = load_i64(args, PackSlot.FACTOR), load_i64(args, PackSlot.ADDEND)
    for column in range((columns + 4 * LANES - 1) // (4 * LANES) * (4 * LANES)):
        store_i32(sums, column, np.int32(reload_i32(sums, column) * factor + addend))


def pack_words(args: int) -> None:
    """Pack int16 as upper and lower bytes."""
    depth, columns = load_i64(args, PackSlot.DEPTH), load_i64(args, PackSlot.COLUMNS)
    source, row, out = (
        load_i64(args, PackSlot.SOURCE),
        load_i64(args, PackSlot.ROW),
        load_i64(args, PackSlot.OUT),
    )
    pack_halves(source, row, depth, columns, out)


def pack_floats(args: int) -> None:
    """Pack numbers as float32, four panels at a time."""
    source, row_bytes = load_i64(args, PackSlot.SOURCE), load_i64(args, PackSlot.ROW)
    depth, columns = load_i64(args, PackSlot.DEPTH), load_i64(args, PackSlot.COLUMNS)
    for column in range(0, columns, 4 * LANES):
        target = load_i64(args, PackSlot.OUT) + column * depth * 4
        if columns - column >= 4 * LANES:
            for k in range(depth):
                for panel in range(4):
                    for j in range(LANES):
                        value = load_b(source + k * row_bytes, column + panel * LANES + j)
                        store_f32(target + panel * depth * REGISTER, k * LANES + j, value)
        else:
            for panel in range((columns - column + LANES - 1) // LANES):
                width = min(LANES, columns - column - panel * LANES)
                for k in range(depth):
                    for j in range(width):
                        value = load_b(source + k * row_bytes, column + panel * LANES + j)
                        store_f32(target + panel * depth * REGISTER, k * LANES + j, value)
                    for j in range(width, LANES):
                        store_f32(target + panel * depth * REGISTER, k * LANES + j, np.float32(0))


def pack_pairs(args: int) -> None:
    """Pack bfloat16: pairs of rows, whose number is even, side by side, behind the number nearest to zero."""
    source, row_bytes, out = (
        load_i64(args, PackSlot.SOURCE),
        load_i64(args, PackSlot.ROW),
        load_i64(args, PackSlot.OUT),
    )
    depth, columns = load_i64(args, PackSlot.DEPTH), load_i64(args, PackSlot.COLUMNS)
    lanes, least = local(REGISTER), np.int64(0xFFFF)
    for i in range(LANES):
        store_i32(lanes, i, np.int32(-1))
    start = out + LEAST_BYTES
    steps = (depth + DEPTH - 1) // DEPTH * (DEPTH // 2)
    for first in range(0, steps, NEAR_STEPS):
        last = min(first + NEAR_STEPS, steps)
        for k in range(2 * first, min(2 * last, depth)):
            least_bf16(source + k * row_bytes, columns, lanes)
        for column in range(0, columns, LANES):
            panel, width = start + column * steps * 4, min(LANES, columns - column)
            for step in range(first, last):
                to = panel + (step // APART * APART * LANES + step % APART) * 4
                pack_pair(source + 2 * step * row_bytes, row_bytes, depth - 2 * step, column, width, to)
    for i in range(2 * LANES):
        least = min(least, np.int64(reload_u16(lanes, i)))
    store_i32(out, 0, np.int32(least))


def pack_pair(source: int, row_bytes: int, rows: int, column: int, width: int, target: int) -> None:
    """Pack some columns of two rows, or zeros where there are no rows: words, `APART` of them apart."""
    second = source + row_bytes
    if width == LANES and rows > 0:
        for j in range(LANES):
            pair = load_u16(source, column + j) | (np.int32(load_u16(second, column + j)) << 16)
            store_i32(target, j * APART, np.int32(pair))
    else:
        there = width if rows > 0 else 0
        for j in range(there):
            pair = load_u16(source, column + j) | (np.int32(load_u16(second, column + j)) << 16)
            store_i32(target, j * APART, np.int32(pair))
        for j in range(there, LANES):
            store_i32(target, j * APART, np.int32(0))
