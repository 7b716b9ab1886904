"""Sums of products, as TOSA 1.0.1 section 2.3.3 defines them."""

import numpy as np


def summed(x, weights, g):
    """Convolve tap by tap, in the type of the image."""
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
        out += taken @ weights[(slice(None), *tap)].T
    return out
