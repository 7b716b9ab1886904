"""The spectrum of a picture, held against NumPy's."""

import numpy as np

import tosajit as tj
from tosajit import ops


@tj.jit
def power(picture):
    real, imaginary = ops.rfft2d(picture[None])
    return (real**2 + imaginary**2)[0]


picture = np.random.default_rng(4).random((16, 16), np.float32)
assert np.allclose(power(picture), abs(np.fft.rfft2(picture)) ** 2, rtol=1e-3, atol=1e-3)
print(power(picture).shape)
