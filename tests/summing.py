"""Sums of products, as TOSA 1.0.1 sections 2.3.3 and 2.3.5 define them."""

import numpy as np

from tosajit.kernels.contract.geometry import Geometry


def summed(x, weights, g):
    """Convolve tap by tap, in the type of the image."""
    return _by_taps(x, g, lambda taken, tap: taken @ weights[(slice(None), *tap)].T)


def summed_by_channel(x, weights, g):
    """Convolve depthwise, [N][H][W][C] with [KH][KW][C][M]."""
    kernel, stride, pad, dilation = (1, *g.kernel), (1, *g.stride), (0, *g.pad), (1, *g.dilation)
    input, output = (g.input[0], 1, *g.input[1:]), (g.output[0], 1, *g.output[1:])
    full = Geometry(input, output, g.in_channels, g.out_channels, kernel, stride, pad, dilation)

    def product(taken, tap):
        return (taken[..., np.newaxis] * weights[tap[1:]]).reshape(*taken.shape[:-1], -1)

    return _by_taps(x[:, np.newaxis], full, product)[:, 0]


def _by_taps(x, g, product):
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
