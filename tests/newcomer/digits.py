"""A classifier of small pictures, written as NumPy is."""

import numpy as np

import tosajit as tj

generator = np.random.default_rng(0)
weights = generator.normal(0, 0.1, (64, 32)).astype(np.float32)
more = generator.normal(0, 0.1, (32, 10)).astype(np.float32)


@tj.jit
def classify(pictures):
    hidden = np.maximum(pictures @ weights, 0)
    scores = hidden @ more
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


pictures = generator.random((5, 64), np.float32)
shares = classify(pictures)
expected = np.exp(np.maximum(pictures @ weights, 0) @ more)
assert np.allclose(shares, expected / expected.sum(axis=1, keepdims=True), atol=1e-6)
print(shares.argmax(axis=1))
