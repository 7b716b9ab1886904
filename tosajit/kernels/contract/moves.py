"""Rows of bytes copied from place to place, with fills for what lies outside of where they come from."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from tosajit.kernels.contract.numbered import Numbered, auto
from tosajit.kernels.contract.structure import (
    copy_rows,
    copy_rows_by,
    fill_rows,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
)


class Move(Numbered):
    """The arguments of the kernel; those of `Axis` follow them."""

    SOURCE = auto()
    """Address of the source where all coordinates are 0."""
    TARGET = auto()
    FILL = auto()
    """Address of what is found outside, or 0."""
    ELEMENT = auto()
    """Bytes of an element."""
    PART = auto()
    """Rows that are copied before the next of the loop around them."""


class Along(Numbered):
    """What is known of an axis, from its slot on."""

    LOW = auto()
    """The first coordinate of the tile."""
    HIGH = auto()
    FIRST = auto()
    """The first coordinate that is not outside of the source."""
    END = auto()
    SOURCE_STEP = auto()
    """Bytes between neighbours."""
    TARGET_STEP = auto()
    TABLE = auto()
    """Address of the place in the source for each coordinate, or 0 if that is the coordinate."""
    LIMIT = auto()
    """The last place in the source."""


class Axis(IntEnum):
    """The slots of axes, behind all others."""

    OUTER = len(Move)
    MIDDLE = OUTER + len(Along)
    INNER = MIDDLE + len(Along)
    ROWS = INNER + len(Along)
    """The innermost loop, whose rows are copied together."""
    RUN = ROWS + len(Along)
    """Neighbours in both operands."""


def rows(args: int) -> None:
    """Copy the rows of a tile."""
    word = 0
    if load_i64(args, Move.FILL) != 0:
        word = pattern(load_i64(args, Move.FILL), load_i64(args, Move.ELEMENT))
    for a in range(load_i64(args, Axis.OUTER + Along.LOW), load_i64(args, Axis.OUTER + Along.HIGH)):
        source_a = load_i64(args, Move.SOURCE) + place(args, Axis.OUTER, a)
        target_a = load_i64(args, Move.TARGET) + a * load_i64(args, Axis.OUTER + Along.TARGET_STEP)
        for b in range(load_i64(args, Axis.MIDDLE + Along.LOW), load_i64(args, Axis.MIDDLE + Along.HIGH)):
            source_b = source_a + place(args, Axis.MIDDLE, b)
            target_b = target_a + b * load_i64(args, Axis.MIDDLE + Along.TARGET_STEP)
            for part in range(
                load_i64(args, Axis.ROWS + Along.LOW),
                load_i64(args, Axis.ROWS + Along.HIGH),
                load_i64(args, Move.PART),
            ):
                for c in range(
                    load_i64(args, Axis.INNER + Along.LOW), load_i64(args, Axis.INNER + Along.HIGH)
                ):
                    there = inside(args, Axis.OUTER, a) * inside(args, Axis.MIDDLE, b)
                    there = there * inside(args, Axis.INNER, c)
                    target_c = target_b + c * load_i64(args, Axis.INNER + Along.TARGET_STEP)
                    block(args, source_b + place(args, Axis.INNER, c), target_c, part, word, there)


def block(args: int, source: int, target: int, low: int, word: int, there: int) -> None:
    """Copy a part of the rows of the innermost loop, or fill all of them if they are not there."""
    element, pitch = load_i64(args, Move.ELEMENT), load_i64(args, Axis.ROWS + Along.TARGET_STEP)
    high = min(low + load_i64(args, Move.PART), load_i64(args, Axis.ROWS + Along.HIGH))
    first = min(max(low, load_i64(args, Axis.ROWS + Along.FIRST)), high) if there != 0 else high
    end = max(first, min(high, load_i64(args, Axis.ROWS + Along.END)))
    left, right = load_i64(args, Axis.RUN + Along.LOW), load_i64(args, Axis.RUN + Along.HIGH)
    start = min(max(left, load_i64(args, Axis.RUN + Along.FIRST)), right)
    stop = max(start, min(right, load_i64(args, Axis.RUN + Along.END)))
    size, to = (right - left) * element, target + left * element
    if first > low:
        fill_rows(to + low * pitch, word, size, size, 0, first - low, pitch)
    if high > end:
        fill_rows(to + end * pitch, word, size, size, 0, high - end, pitch)
    if stop - start < right - left and end > first:
        front, back = (start - left) * element, (right - stop) * element
        fill_rows(to + first * pitch, word, size, front, back, end - first, pitch)
    if stop > start and end > first:
        size, to = (stop - start) * element, target + start * element + first * pitch
        copy(args, source + start * element, to, size, first, end - first)


def copy(args: int, source: int, target: int, size: int, first: int, count: int) -> None:
    """Copy what is inside of some rows."""
    step, table = load_i64(args, Axis.ROWS + Along.SOURCE_STEP), load_i64(args, Axis.ROWS + Along.TABLE)
    pitch, limit = load_i64(args, Axis.ROWS + Along.TARGET_STEP), load_i64(args, Axis.ROWS + Along.LIMIT)
    if table == 0:
        copy_rows(source + first * step, target, size, count, step, pitch)
    else:
        copy_rows_by(table + 4 * first, limit, source, target, size, count, step, pitch)


def place(args: int, axis: int, coordinate: int) -> Any:
    """Where a coordinate is in the source, in bytes along the axis."""
    found, table = coordinate, load_i64(args, axis + Along.TABLE)
    if table != 0:
        found = min(max(load_i32(table, coordinate), 0), load_i64(args, axis + Along.LIMIT))
    return found * load_i64(args, axis + Along.SOURCE_STEP)


def inside(args: int, axis: int, coordinate: int) -> int:
    """1 if a coordinate is inside of the source, else 0."""
    if coordinate < load_i64(args, axis + Along.FIRST):
        return 0
    return 1 if coordinate < load_i64(args, axis + Along.END) else 0


def pattern(where: int, element: int) -> Any:
    """An element of 1, 2 or 4 bytes as often as it goes into a word."""
    if element == 1:
        return load_u8(where, 0) * 0x01010101
    if element == 2:
        return load_u16(where, 0) * 0x00010001
    return load_u32(where, 0) + 0
