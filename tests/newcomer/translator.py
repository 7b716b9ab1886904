"""A block of a transformer that predicts the next of some tokens, for a batch of sentences."""

import numpy as np

import tosajit as tj
from tosajit import nn

generator = np.random.default_rng(2)
words = generator.normal(0, 1, (50, 16)).astype(np.float32)
query, key, value, out = generator.normal(0, 0.2, (4, 16, 16)).astype(np.float32)


def predict(tokens):
    x = nn.embedding(tokens, words)
    normal = nn.layer_norm(x)
    places = [nn.rope(nn.dense(normal, one)) for one in (query, key)]
    x = x + nn.dense(nn.attention(*places, nn.dense(normal, value), heads=4, causal=True), out)
    return nn.dense(nn.gelu(x), words)[-1]


sentences = generator.integers(0, 50, (3, 7)).astype(np.int32)
scores = tj.vmap(predict)(sentences)
one_by_one = np.stack([tj.jit(predict)(sentence) for sentence in sentences])
assert np.allclose(scores, one_by_one, atol=1e-4)
assert np.array_equal(scores.argmax(axis=1), one_by_one.argmax(axis=1))
print(scores.argmax(axis=1).shape)
