"""Kernels of a single row of A: a vector times a matrix.

Nothing is gathered, and nothing is the same for several tiles: weights go by once, from the first column to
the last, and their sums end in registers.
"""

from __future__ import annotations

from typing import Any

from tosajit.kernels.contract.slots import RowSlot
from tosajit.kernels.contract.structure import (
    DEPTH,
    FUSED,
    RESCALE,
    WIDE,
    copy_run,
    epilogue,
    load_i64,
    reload_sum,
    row_rescale_i8,
    row_sums_i8,
    setup,
    widen_rows,
)


def kernel(args: int) -> None:
    """One row of A times columns of B; what follows a sum is `epilogue`."""
    column, columns = (
        load_i64(args, RowSlot.N_LO),
        load_i64(args, RowSlot.N_HI) - load_i64(args, RowSlot.N_LO),
    )
    room = (load_i64(args, RowSlot.SCRATCH) + 63) & ~63
    a, sums = start_of(args, room), room + load_i64(args, RowSlot.SUMS)
    if FUSED:
        row_rescale_i8(args, a, load_i64(args, RowSlot.OUTPUT) + column)
    else:
        if RESCALE:
            row_rescale_i8(args, a, sums)
        else:
            row_sums_i8(args, a, sums)
        setup(args)
        for j in range(columns):
            epilogue(reload_sum(sums, j), column + j, column + j)


def start_of(args: int, room: int) -> Any:
    """Where products find the row: in its place, or where it is made as wide and as long as they want it."""
    a, K = load_i64(args, RowSlot.SOURCE), load_i64(args, RowSlot.K)
    if WIDE:
        widen_rows(a, 0, K, room, 1)
        a = room
    elif K % DEPTH != 0:
        copy_run(room, a, K)
        a = room
    return a
