"""A small network of convolutions: saved, loaded, and run from the file."""

import tempfile
from pathlib import Path

import numpy as np

import tosajit as tj
from tosajit import nn

generator = np.random.default_rng(1)
first = generator.normal(0, 0.3, (8, 3, 3, 3)).astype(np.float32)
second = generator.normal(0, 0.3, (3, 3, 8, 1)).astype(np.float32)
last = generator.normal(0, 0.3, (4, 8)).astype(np.float32)


@tj.jit
def network(images):
    x = nn.relu6(nn.conv2d(images, first, stride=2, padding="same"))
    x = nn.relu6(nn.depthwise_conv2d(x, second, padding="same"))
    x = nn.max_pool2d(x, 2)
    return nn.softmax(nn.dense(x.mean(axis=(1, 2)), last))


images = generator.random((2, 16, 16, 3), np.float32)
shares = network(images)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "network.tosa"
    tj.save(network, path)
    again = tj.compile(tj.load(path))(images)
assert np.array_equal(shares, again)
assert np.allclose(shares.sum(axis=1), 1, atol=1e-6)
print(shares.shape)
