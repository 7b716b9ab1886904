"""What contraction kernels import on a CPU with AVX-512 VNNI and VBMI."""

from tosajit.kernels.contract.fused import tile_rescale_i8
from tosajit.kernels.contract.interleave import (
    depthwise_f32,
    depthwise_i8,
    depthwise_i16,
    depthwise_rescale_i8,
    interleave_i8,
    interleave_i16,
)
from tosajit.kernels.contract.packing import pack_halves, pack_i8
from tosajit.kernels.contract.requant import rescale_i8
from tosajit.kernels.contract.rows import (
    add_row_sums,
    copy_run,
    fill_run,
    gather_rows,
    widen_add_rows,
)
from tosajit.kernels.contract.tile import (
    least_bf16,
    tile_bf16,
    tile_f32,
    tile_i8,
    tile_i16,
    tile_small_bf16,
)

__all__ = [
    "add_row_sums",
    "copy_run",
    "depthwise_f32",
    "depthwise_i8",
    "depthwise_i16",
    "depthwise_rescale_i8",
    "fill_run",
    "gather_rows",
    "interleave_i8",
    "interleave_i16",
    "least_bf16",
    "pack_halves",
    "pack_i8",
    "rescale_i8",
    "tile_bf16",
    "tile_f32",
    "tile_i8",
    "tile_i16",
    "tile_rescale_i8",
    "tile_small_bf16",
    "widen_add_rows",
]
