"""What contraction kernels import on a CPU with AVX-512 VNNI."""

from tosajit.kernels.contract.requant import rescale_i8
from tosajit.kernels.contract.rows import add_row_sums, copy_run, fill_run
from tosajit.kernels.contract.tile import tile_i8, tile_i16

__all__ = ["add_row_sums", "copy_run", "fill_run", "rescale_i8", "tile_i8", "tile_i16"]
