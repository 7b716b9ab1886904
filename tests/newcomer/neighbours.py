"""The nearest of some points, for many at once by `vmap`."""

import numpy as np

import tosajit as tj

generator = np.random.default_rng(5)
centres = generator.normal(0, 1, (6, 3)).astype(np.float32)
points = generator.normal(0, 1, (40, 3)).astype(np.float32)


def nearest(point, centres):
    away = ((centres - point) ** 2).sum(axis=1)
    return (-away).argmax(0)


found = tj.vmap(nearest, in_axes=(0, None))(points, centres)
expected = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
assert np.array_equal(found, expected)
print(np.bincount(found, minlength=6).sum())
