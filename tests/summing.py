"""Sums of products, as TOSA 1.0.1 sections 2.3.3 and 2.3.5 define them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tosajit.arrays import Array
from tosajit.kernels.contract.geometry import DepthwiseGeometry, Geometry


def summed(x: Array, weights: Array, g: Geometry) -> Array:
    """Convolve tap by tap, in the type of the image."""
    return _by_taps(x, g, lambda taken, tap: np.asarray(taken @ np.moveaxis(weights, 0, -1)[tap]))


def summed_by_channel(x: Array, weights: Array, g: DepthwiseGeometry) -> Array:
    """Convolve depthwise, [N][H][W][C] with [KH][KW][C][M]."""
    kernel, stride, pad, dilation = (1, *g.kernel), (1, *g.stride), (0, *g.pad), (1, *g.dilation)
    input, output = (g.input[0], 1, *g.input[1:]), (g.output[0], 1, *g.output[1:])
    full = Geometry(input, output, g.in_channels, g.out_channels, kernel, stride, pad, dilation)

    def product(taken: Array, tap: tuple[int, ...]) -> Array:
        products = taken[..., np.newaxis] * weights[tap[1:]]
        return np.reshape(products, (*taken.shape[:-1], -1))

    return _by_taps(x[:, np.newaxis], full, product)[:, 0]


def _by_taps(x: Array, g: Geometry, product: Callable[[Array, tuple[int, ...]], Array]) -> Array:
    out = np.zeros((*g.output, g.out_channels), x.dtype)
    position = [np.arange(extent) for extent in g.output[1:]]
    for tap in np.ndindex(*g.kernel):
        index = [
            p * s - a + t * d
            for p, s, a, t, d in zip(position, g.stride, g.pad, tap, g.dilation, strict=True)
        ]
        inside = [(i >= 0) & (i < extent) for i, extent in zip(index, g.input[1:], strict=True)]
        index = [np.clip(i, 0, extent - 1) for i, extent in zip(index, g.input[1:], strict=True)]
        taken = x[np.ix_(range(g.input[0]), *index)] * np.einsum("d,h,w->dhw", *inside)[None, ..., None]
        out += product(taken, tap)
    return out
