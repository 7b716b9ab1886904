"""A transposed convolution as ordinary ones, each on a strided sub-grid of the output."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tosajit.kernels.contract.geometry import Geometry


@dataclass(frozen=True, slots=True)
class Subgrid:
    """One of the convolutions: its shape, where its output starts (in elements), and which taps it has."""

    geometry: Geometry
    offset: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def weights(self, weights: NDArray[np.int8], weight_zp: int = 0) -> NDArray[np.int8]:
        """Return its part of [OC][KH][KW][IC]; without any, one tap that counts nothing."""
        if not self.rows or not self.columns:
            return np.full((weights.shape[0], 1, 1, weights.shape[3]), weight_zp, weights.dtype)
        return weights[:, list(self.rows)][:, :, list(self.columns)]


def subgrids(
    input: tuple[int, int, int],
    output: tuple[int, int, int],
    in_channels: int,
    out_channels: int,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    out_pad: tuple[int, int],
    element_bytes: int = 1,
) -> tuple[Subgrid, ...]:
    """Return the convolutions of TRANSPOSE_CONV2D (TOSA 1.0.1 section 2.3.10) of (N, H, W) tensors.

    `out_pad` is top and left.
    """
    batch, ih, iw = input
    _, oh, ow = output
    strides = (
        oh * ow * out_channels,
        0,
        stride[0] * ow * out_channels,
        stride[1] * out_channels,
    )
    result = []
    for first_y, rows, top, height in _phases(oh, kernel[0], stride[0], out_pad[0]):
        for first_x, columns, left, width in _phases(ow, kernel[1], stride[1], out_pad[1]):
            taps = (1, len(rows), len(columns)) if rows and columns else (1, 1, 1)
            geometry = Geometry(
                (batch, 1, ih, iw),
                (batch, 1, height, width),
                in_channels,
                out_channels,
                taps,
                pad=(0, top, left),
                element_bytes=element_bytes,
                out_strides=strides,
            )
            result.append(Subgrid(geometry, (first_y * ow + first_x) * out_channels, rows, columns))
    return tuple(result)


def _phases(extent: int, taps: int, stride: int, pad: int) -> Iterator[tuple[int, tuple[int, ...], int, int]]:
    """Yield, per residue of the output index: first index, taps in input order, padding, extent."""
    for first in range(min(stride, extent)):
        start = (first - pad) % stride
        mine = tuple(range(start, taps, stride))[::-1]
        origin = (first - pad - start) // stride
        yield first, mine, len(mine) - 1 - origin, len(range(first, extent, stride))
