"""Small networks with what the samples lack, for which plans are kept as golden figures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tosajit as tj
from tosajit import ops
from tosajit.tracing.tensor import Tensor


def networks() -> dict[str, Callable[[], tj.Graph]]:
    """The makers of all graphs by name; the samples first."""
    made = {name: lambda name=name: tj.samples.load(name) for name in tj.samples.names()}
    return {**made, **{maker.__name__: maker for maker in (residual, attention, moving, resized, recurrent)}}


def residual() -> tj.Graph:
    """Convolutions on large maps with few channels, which stripes suit, and sums of what came before."""
    generator = np.random.default_rng(1)
    first, *others = [
        generator.integers(-127, 128, (16, 3, 3, deep), np.int8) for deep in (4, 16, 16, 16, 16)
    ]
    pointwise = generator.integers(-127, 128, (40, 1, 1, 16), np.int8)

    def network(image: Tensor) -> tuple[Tensor, Tensor]:
        value = _scaled(ops.conv2d(image, first, pad=(1, 1, 1, 1)))
        for number, weight in enumerate(others):
            made = _scaled(ops.conv2d(value, weight, pad=(1, 1, 1, 1)))
            value = made if number % 2 else _scaled(_wide(made) + _wide(value), 1)
        pooled = ops.max_pool2d(value, kernel=(2, 2), stride=(2, 2))
        return _scaled(ops.conv2d(pooled, pointwise)), value

    return tj.trace(network, np.zeros((1, 64, 48, 4), np.int8))


def attention() -> tj.Graph:
    """Two products of matrices, with a softmax in floating point between them."""

    def network(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = ops.matmul(query, ops.transpose(key, perms=(0, 2, 1)))
        powers = ops.exp(scores - ops.reduce_max(scores, axis=2))
        shares = ops.mul(powers, ops.reciprocal(ops.reduce_sum(powers, axis=2)))
        return ops.matmul(shares, value)

    heads = np.zeros((4, 48, 24), np.float32)
    return tj.trace(network, heads, heads, heads)


def moving() -> tj.Graph:
    """Layout operators, a table and a gather."""
    table = np.arange(-128, 128).astype(np.int8)[::-1].copy()

    def network(rows: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
        chosen = ops.gather(rows, indices)
        left, right = ops.slice(chosen, start=(0, 0, 0), size=(2, 20, 16)), ops.reverse(chosen, axis=1)
        joined = ops.concat([left, ops.tile(right, (1, 2, 1))], axis=1)
        turned = ops.transpose(ops.pad(joined, (0, 0, 1, 3, 0, 0)), perms=(2, 0, 1))
        return ops.reshape(ops.table(turned, table), (8, 2, 2, 84)), ops.argmax(joined, axis=2)

    return tj.trace(network, np.zeros((2, 40, 16), np.int8), np.zeros((2, 30), np.int32))


def resized() -> tj.Graph:
    """Maps that are made larger and smaller, with depthwise and transposed convolutions."""
    generator = np.random.default_rng(2)
    depthwise = generator.integers(-127, 128, (3, 3, 12, 1), np.int8)
    turned = generator.integers(-127, 128, (6, 2, 2, 12), np.int8)

    def network(image: Tensor) -> Tensor:
        small = _scaled(ops.depthwise_conv2d(image, depthwise, pad=(0, 1, 0, 1), stride=(2, 2)))
        larger = ops.resize(small, (4, 2, 4, 2), (-1, -1), (1, 1), mode="BILINEAR")
        up = ops.transpose_conv2d(_scaled(larger, 4), turned, stride=(2, 2))
        return ops.avg_pool2d(_scaled(up), kernel=(3, 4), pad=(1, 1, 1, 0), acc_type="INT32")

    return tj.trace(network, np.zeros((1, 32, 32, 12), np.int8))


def recurrent() -> tj.Graph:
    """Six steps of a cell whose weights all steps share."""
    generator = np.random.default_rng(3)
    weight = generator.integers(-127, 128, (1, 32, 32), np.int8)
    sigmoid = (255 / (1 + np.exp(-np.arange(-128, 128) / 32)) - 128).round().astype(np.int8)

    def network(steps: Tensor, state: Tensor) -> Tensor:
        for number in range(6):
            step = ops.slice(steps, start=(0, number, 0), size=(1, 1, 32))
            total = ops.add(ops.matmul(step, weight), ops.matmul(state, weight))
            state = ops.table(_scaled(total), sigmoid)
        return state

    return tj.trace(network, np.zeros((1, 6, 32), np.int8), np.zeros((1, 1, 32), np.int8))


def _scaled(value: Tensor, shift: int = 7) -> Tensor:
    return ops.rescale(value, multiplier=1 << 30, shift=30 + shift, dtype=tj.INT8)


def _wide(value: Tensor) -> Tensor:
    return ops.rescale(value, multiplier=1 << 30, shift=30, dtype=tj.INT32)
