"""Kernels of a single pixel of a depthwise convolution, all of whose taps lie in the input.

Streams have such, as their rows come one by one. Taps are interleaved in registers, and meet their weights.
"""

from __future__ import annotations

from tosajit.kernels.contract.slots import PixelSlot
from tosajit.kernels.contract.structure import (
    FUSED,
    RESCALE,
    epilogue,
    load_i64,
    pixel_rescale_i8,
    pixel_sums_i8,
    reload_sum,
    setup,
)


def kernel(args: int) -> None:
    """A pixel, all of its channels; what follows a sum is `epilogue`."""
    column, end = load_i64(args, PixelSlot.N_LO), load_i64(args, PixelSlot.N_HI)
    sums = (load_i64(args, PixelSlot.SCRATCH) + 63) & ~63
    if FUSED:
        pixel_rescale_i8(args, load_i64(args, PixelSlot.OUTPUT) + column)
    else:
        if RESCALE:
            pixel_rescale_i8(args, sums)
        else:
            pixel_sums_i8(args, sums)
        setup(args)
        for j in range(end - column):
            epilogue(reload_sum(sums, j), column + j, column + j)
