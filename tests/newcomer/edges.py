"""Edges in a picture, by slices and by a convolution: both find the same."""

import numpy as np

import tosajit as tj

picture = np.zeros((12, 12), np.float32)
picture[3:9, 4:8] = 1


@tj.jit
def by_slices(x):
    across = x[1:-1, 2:] - x[1:-1, :-2]
    down = x[2:, 1:-1] - x[:-2, 1:-1]
    return abs(across) + abs(down)


@tj.jit
def by_convolution(x):
    kernels = np.zeros((2, 3, 3, 1), np.float32)
    kernels[0, 1, :, 0] = kernels[1, :, 1, 0] = -1, 0, 1
    found = tj.nn.conv2d(x[None, :, :, None], kernels)
    return abs(found).sum(axis=-1)[0]


edges = by_slices(picture)
assert np.array_equal(edges, by_convolution(picture))
print(int(edges.sum()))
