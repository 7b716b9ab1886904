"""Fourier transforms of rows and of columns: all steps of one, then the next, in the thread's own memory."""

from __future__ import annotations

from enum import IntEnum

from tosajit.kernels.contract.numbered import Numbered, auto
from tosajit.kernels.contract.structure import (
    IN_TURN,
    copy_rows,
    fill_rows,
    halves,
    load_i64,
    quarters_apart,
    quarters_first,
    quarters_first_of_pairs,
    quarters_second,
    spectrum,
)

BLOCK = 16
"""Columns that are transformed together: a cache line of each row."""


class Fourier(Numbered):
    """The arguments of the kernels; those of `Around` follow them."""

    REAL = auto()
    """Address of the first number's real part; of its imaginary part, or 0 if there are none."""
    IMAG = auto()
    OUT_REAL = auto()
    OUT_IMAG = auto()
    FACTORS = auto()
    """Address of the factors of all steps."""
    PAIRS = auto()
    """Address of those that make spectra of real numbers."""
    SCRATCH = auto()
    PLANE = auto()
    """Bytes of each of four arrays in SCRATCH."""
    LENGTH = auto()
    """Numbers that are transformed together: complex ones of a row, of all columns of a block."""
    HEIGHT = auto()
    """Those of a column."""
    SOURCE_PITCH = auto()
    """Bytes between neighbours of a column."""
    TARGET_PITCH = auto()


class Loop(Numbered):
    """What is known of an axis, from its slot on."""

    LOW = auto()
    """The first coordinate of the tile."""
    HIGH = auto()
    SOURCE_STEP = auto()
    """Bytes between neighbours."""
    TARGET_STEP = auto()


class Around(IntEnum):
    """The slots of axes, behind all others; loops that there are not go round once."""

    OUTER = len(Fourier)
    MIDDLE = OUTER + len(Loop)
    INNER = MIDDLE + len(Loop)


def rows(args: int) -> None:
    """Transform rows."""
    for a in range(load_i64(args, Around.OUTER + Loop.LOW), load_i64(args, Around.OUTER + Loop.HIGH)):
        source_a = a * load_i64(args, Around.OUTER + Loop.SOURCE_STEP)
        target_a = a * load_i64(args, Around.OUTER + Loop.TARGET_STEP)
        for b in range(load_i64(args, Around.MIDDLE + Loop.LOW), load_i64(args, Around.MIDDLE + Loop.HIGH)):
            source_b = source_a + b * load_i64(args, Around.MIDDLE + Loop.SOURCE_STEP)
            target_b = target_a + b * load_i64(args, Around.MIDDLE + Loop.TARGET_STEP)
            for c in range(load_i64(args, Around.INNER + Loop.LOW), load_i64(args, Around.INNER + Loop.HIGH)):
                source_c = source_b + c * load_i64(args, Around.INNER + Loop.SOURCE_STEP)
                row(args, source_c, target_b + c * load_i64(args, Around.INNER + Loop.TARGET_STEP))


def row(args: int, source: int, target: int) -> None:
    """Transform a row; pairs of real numbers are taken for complex ones."""
    real, imag = load_i64(args, Fourier.REAL) + source, load_i64(args, Fourier.IMAG) + source
    out_real, out_imag = load_i64(args, Fourier.OUT_REAL) + target, load_i64(args, Fourier.OUT_IMAG) + target
    near, plane = load_i64(args, Fourier.SCRATCH), load_i64(args, Fourier.PLANE)
    far, factors = near + 2 * plane, load_i64(args, Fourier.FACTORS)
    pairs, length = load_i64(args, Fourier.PAIRS), load_i64(args, Fourier.LENGTH)
    quarter, stride = length // 4, 1
    while stride < length:
        to_real, to_imag = near, near + plane
        if pairs == 0 and 4 * stride >= length:
            to_real, to_imag = out_real, out_imag
        if 4 * stride > length:
            halves(real, imag, to_real, to_imag, stride)
        elif stride == 1:
            if pairs != 0:
                quarters_first_of_pairs(real, real, to_real, to_imag, factors, quarter)
            else:
                quarters_first(real, imag, to_real, to_imag, factors, quarter)
            factors = factors + 24 * quarter
        elif IN_TURN and stride == 4:
            quarters_second(real, imag, to_real, to_imag, factors, quarter)
            factors = factors + 24 * quarter
        else:
            quarters_apart(real, imag, to_real, to_imag, factors, quarter, stride)
            factors = factors + 24 * (quarter // stride)
        real, imag = to_real, to_imag
        near, far = far, near
        stride = 4 * stride
    if pairs != 0:
        spectrum(real, imag, out_real, out_imag, pairs, length)


def columns(args: int) -> None:
    """Transform columns, blocks of them together."""
    for a in range(load_i64(args, Around.OUTER + Loop.LOW), load_i64(args, Around.OUTER + Loop.HIGH)):
        source_a = a * load_i64(args, Around.OUTER + Loop.SOURCE_STEP)
        target_a = a * load_i64(args, Around.OUTER + Loop.TARGET_STEP)
        for b in range(load_i64(args, Around.MIDDLE + Loop.LOW), load_i64(args, Around.MIDDLE + Loop.HIGH)):
            source_b = source_a + b * load_i64(args, Around.MIDDLE + Loop.SOURCE_STEP)
            target_b = target_a + b * load_i64(args, Around.MIDDLE + Loop.TARGET_STEP)
            last = load_i64(args, Around.INNER + Loop.HIGH)
            for first in range(load_i64(args, Around.INNER + Loop.LOW), last, BLOCK):
                block(args, source_b + 4 * first, target_b + 4 * first, 4 * min(BLOCK, last - first))


def block(args: int, source: int, target: int, width: int) -> None:
    """Transform columns of a block, of which a row has so many bytes."""
    near, plane = load_i64(args, Fourier.SCRATCH), load_i64(args, Fourier.PLANE)
    height, length = load_i64(args, Fourier.HEIGHT), load_i64(args, Fourier.LENGTH)
    pitch, factors = load_i64(args, Fourier.SOURCE_PITCH), load_i64(args, Fourier.FACTORS)
    if width < 4 * BLOCK or load_i64(args, Fourier.IMAG) == 0:
        fill_rows(near, 0, 4 * BLOCK, 4 * BLOCK, 0, height, 4 * BLOCK)
        fill_rows(near + plane, 0, 4 * BLOCK, 4 * BLOCK, 0, height, 4 * BLOCK)
    copy_rows(load_i64(args, Fourier.REAL) + source, near, width, height, pitch, 4 * BLOCK)
    if load_i64(args, Fourier.IMAG) != 0:
        copy_rows(load_i64(args, Fourier.IMAG) + source, near + plane, width, height, pitch, 4 * BLOCK)
    far, stride, quarter = near + 2 * plane, BLOCK, length // 4
    while 4 * stride <= length:
        quarters_apart(near, near + plane, far, far + plane, factors, quarter, stride)
        factors = factors + 24 * (quarter // stride)
        near, far = far, near
        stride = 4 * stride
    if stride < length:
        halves(near, near + plane, far, far + plane, stride)
        near, far = far, near
    pitch = load_i64(args, Fourier.TARGET_PITCH)
    copy_rows(near, load_i64(args, Fourier.OUT_REAL) + target, width, height, 4 * BLOCK, pitch)
    copy_rows(near + plane, load_i64(args, Fourier.OUT_IMAG) + target, width, height, 4 * BLOCK, pitch)
