"""The greatest or the mean of each window: loops over positions; those at the sides have fewer taps."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from tosajit.kernels.contract.numbered import Numbered, auto
from tosajit.kernels.contract.structure import MEAN, greatest, load_i64, mean


class Window(Numbered):
    """The arguments of the kernel; those of `Axis` follow them."""

    SOURCE = auto()
    """Address of the first tap where all coordinates are 0."""
    TARGET = auto()
    SIZE = auto()
    """Bytes of neighbours that have windows alike."""
    LEAST = auto()
    """The bits of what is greater than no element."""
    FILL = auto()
    """The bits of what is outside of the source."""
    DIVISOR = auto()
    """Of means; 0 if that is how many taps are inside of the source."""
    INPUT_ZP = auto()
    OUTPUT_ZP = auto()


class Along(Numbered):
    """What is known of an axis, from its slot on."""

    LOW = auto()
    """The first coordinate of the tile."""
    HIGH = auto()
    SOURCE_STEP = auto()
    """Bytes between the windows of neighbours."""
    TARGET_STEP = auto()
    TAPS = auto()
    TAP_STEP = auto()
    """Bytes between taps."""
    FIRST = auto()
    """Where the first tap of coordinate 0 is in the source, which may be before its beginning."""
    STRIDE = auto()
    """Elements between the windows of neighbours."""
    EXTENT = auto()
    """Elements of the source."""
    INNER_END = auto()
    """The end of the coordinates behind whose windows the source goes on."""


class Axis(IntEnum):
    """The slots of axes, behind all others."""

    OUTER = len(Window)
    ROWS = OUTER + len(Along)
    COLUMNS = ROWS + len(Along)


def windows(args: int) -> None:
    """Compute the results of a tile."""
    for a in range(load_i64(args, Axis.OUTER + Along.LOW), load_i64(args, Axis.OUTER + Along.HIGH)):
        source = load_i64(args, Window.SOURCE) + a * load_i64(args, Axis.OUTER + Along.SOURCE_STEP)
        target = load_i64(args, Window.TARGET) + a * load_i64(args, Axis.OUTER + Along.TARGET_STEP)
        for y in range(load_i64(args, Axis.ROWS + Along.LOW), load_i64(args, Axis.ROWS + Along.HIGH)):
            above, below = first_tap(args, Axis.ROWS, y), end_tap(args, Axis.ROWS, y)
            from_y = source + y * load_i64(args, Axis.ROWS + Along.SOURCE_STEP)
            to_y = target + y * load_i64(args, Axis.ROWS + Along.TARGET_STEP)
            row(args, from_y + above * load_i64(args, Axis.ROWS + Along.TAP_STEP), to_y, below - above)


def row(args: int, source: int, target: int, height: int) -> None:
    """Compute a row of results from so many rows of taps, those inside of the source together."""
    step = load_i64(args, Axis.COLUMNS + Along.SOURCE_STEP)
    pitch = load_i64(args, Axis.COLUMNS + Along.TARGET_STEP)
    tap_row, tap = load_i64(args, Axis.ROWS + Along.TAP_STEP), load_i64(args, Axis.COLUMNS + Along.TAP_STEP)
    taps = load_i64(args, Axis.ROWS + Along.TAPS) * load_i64(args, Axis.COLUMNS + Along.TAPS)
    high, size = load_i64(args, Axis.COLUMNS + Along.HIGH), load_i64(args, Window.SIZE)
    x = load_i64(args, Axis.COLUMNS + Along.LOW)
    while x < high:
        first, end = first_tap(args, Axis.COLUMNS, x), end_tap(args, Axis.COLUMNS, x)
        count = 1
        if first == 0:
            count = max(1, min(high, load_i64(args, Axis.COLUMNS + Along.INNER_END)) - x)
        start, to, width = source + x * step + first * tap, target + x * pitch, end - first
        x, run = x + count, size
        if step == size and pitch == size:  # neighbours are one run
            run, count = size * count, 1
        if MEAN:
            divisor = load_i64(args, Window.DIVISOR)
            if divisor == 0:
                divisor = height * width
            zero, zp = load_i64(args, Window.INPUT_ZP), load_i64(args, Window.OUTPUT_ZP)
            mean(start, to, run, height, width, tap_row, tap, count, step, pitch, divisor, zero, zp)
        else:
            before = load_i64(args, Window.LEAST)
            if height * width < taps:
                before = load_i64(args, Window.FILL)
            greatest(start, to, run, height, width, tap_row, tap, count, step, pitch, before)


def first_tap(args: int, axis: int, coordinate: int) -> Any:
    """The first tap that is inside of the source."""
    place = coordinate * load_i64(args, axis + Along.STRIDE) + load_i64(args, axis + Along.FIRST)
    return max(0, -place)


def end_tap(args: int, axis: int, coordinate: int) -> Any:
    """The end of the taps that are inside of the source."""
    place = coordinate * load_i64(args, axis + Along.STRIDE) + load_i64(args, axis + Along.FIRST)
    return min(load_i64(args, axis + Along.TAPS), load_i64(args, axis + Along.EXTENT) - place)
