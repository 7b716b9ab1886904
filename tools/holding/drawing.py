"""Drawn layers and networks: quantised, as front ends write them, with sizes of all magnitudes."""

from __future__ import annotations

from collections.abc import Callable
from math import pow
from random import Random

import numpy as np
from numpy.typing import NDArray

import tosajit as tj
from tosajit import ops
from tosajit.tracing.tensor import Tensor

Bytes = NDArray[np.int8]


def layer(seed: int) -> tuple[str, tj.Graph]:
    """A layer of a kind that the seed draws; its name says which."""
    draw = _Draw(seed)
    kind = draw.random.choice(list(LAYERS))
    return f"{kind} {seed}", LAYERS[kind](draw)


def network(seed: int) -> tuple[str, tj.Graph]:
    """A network of 3 to 20 layers: a chain of blocks, some of them residual or inverted, and a classifier."""
    draw = _Draw(seed)
    side, channels = draw.size(8, 64), draw.size(3, 24)

    def made(image: Tensor) -> Tensor:
        value = image
        for _ in range(draw.random.randint(2, 7)):
            value = draw.random.choice(BLOCKS)(draw, value)
        pooled = ops.reduce_sum(ops.reduce_sum(ops.cast(value, "INT32"), axis=1), axis=2)
        return draw.dense(_scaled(pooled), draw.size(4, 300))

    return f"network {seed}", tj.trace(made, np.zeros((1, side, side, channels), np.int8))


class _Draw:
    """Random sizes, and the weights and operators of layers made with them."""

    def __init__(self, seed: int) -> None:
        self.random, self.generator = Random(seed), np.random.default_rng(seed)

    def size(self, least: int, most: int) -> int:
        """A size, its logarithm evenly drawn; half of the time a multiple of 8 where there is one near."""
        found = round(least * pow(most / least, self.random.random()))
        rounded = found // 8 * 8
        return rounded if rounded >= least and self.random.random() < 0.5 else found

    def weights(self, *shape: int) -> Bytes:
        """Weights."""
        return self.generator.integers(-127, 128, shape, np.int8)

    def convolved(self, value: Tensor, filters: int, size: int, stride: int = 1, sparse: int = 1) -> Tensor:
        """A convolution that keeps extents, apart from its stride, and its scaling by channel."""
        pad = _pad(value, size, stride, sparse)
        weight = self.weights(filters, size, size, value.shape[3])
        steps, holes = (stride, stride), (sparse, sparse)
        found = ops.conv2d(value, weight, _biases(filters), pad=pad, stride=steps, dilation=holes)
        return _scaled(found, filters)

    def filtered(self, value: Tensor, size: int, stride: int = 1, multiplier: int = 1) -> Tensor:
        """A depthwise convolution."""
        channels = value.shape[3]
        weight = self.weights(size, size, channels, multiplier)
        count, pad = channels * multiplier, _pad(value, size, stride, 1)
        found = ops.depthwise_conv2d(value, weight, _biases(count), pad=pad, stride=(stride, stride))
        return _scaled(found, count)

    def dense(self, value: Tensor, filters: int) -> Tensor:
        """A fully connected layer: a convolution of one point for each row."""
        deep = value.shape[-1]
        rows = ops.reshape(value, (int(np.prod(value.shape)) // deep, 1, 1, deep))
        weight = self.weights(filters, 1, 1, deep)
        return _scaled(ops.conv2d(rows, weight, _biases(filters)), filters)


def _biases(count: int) -> NDArray[np.int32]:
    return np.arange(count, dtype=np.int32)


def _pad(value: Tensor, size: int, stride: int, sparse: int) -> tuple[int, int, int, int]:
    found: list[int] = []
    for extent in value.shape[1:3]:
        reach = (size - 1) * sparse + 1
        total = max((-(-extent // stride) - 1) * stride + reach - extent, 0)
        total += (extent + total - reach) % stride
        found += [total // 2, total - total // 2]
    return found[0], found[1], found[2], found[3]


def _scaled(value: Tensor, channels: int = 1) -> Tensor:
    """Sums as int8."""
    multiplier = np.linspace(1 << 30, (1 << 31) - 1, channels).astype(np.int32)
    return ops.rescale(value, multiplier, np.full(channels, 42, np.int8), dtype="INT8")


def _wide(value: Tensor) -> Tensor:
    return ops.rescale(value, np.array([1 << 30], np.int32), np.array([20], np.int8), dtype="INT32")


def _sum(one: Tensor, other: Tensor) -> Tensor:
    return _scaled(_wide(one) + _wide(other))


def _image(draw: _Draw, most: int = 1 << 20) -> Bytes:
    """An image of at most so many bytes."""
    channels = draw.size(1, 512)
    height = draw.size(1, max(1, min(128, most // channels)))
    return np.zeros(
        (1, height, draw.size(1, max(1, min(128, most // channels // height))), channels), np.int8
    )


def _conv(draw: _Draw) -> tj.Graph:
    size, stride = draw.random.choice([1, 1, 3, 3, 5, 7]), draw.random.choice([1, 1, 2])
    filters, sparse = draw.size(1, 512), draw.random.choice([1, 1, 1, 2])
    return tj.trace(lambda image: draw.convolved(image, filters, size, stride, sparse), _image(draw))


def _depthwise(draw: _Draw) -> tj.Graph:
    size, stride, multiplier = (draw.random.choice(some) for some in ([3, 3, 5, 7], [1, 1, 2], [1, 1, 1, 2]))
    return tj.trace(lambda image: draw.filtered(image, size, stride, multiplier), _image(draw))


def _dense(draw: _Draw) -> tj.Graph:
    rows, deep = draw.random.choice([1, 1, 1, 4, 49]), draw.size(8, 4096)
    filters = draw.size(1, min(4096, (1 << 22) // deep))
    return tj.trace(lambda image: draw.dense(image, filters), np.zeros((rows, deep), np.int8))


def _matmul(draw: _Draw) -> tj.Graph:
    batch, rows, deep, columns = draw.size(1, 12), draw.size(1, 256), draw.size(1, 256), draw.size(1, 256)
    left, right = np.zeros((batch, rows, deep), np.int8), np.zeros((batch, deep, columns), np.int8)
    return tj.trace(lambda one, other: _scaled(ops.matmul(one, other)), left, right)


def _pool(draw: _Draw) -> tj.Graph:
    size, stride = draw.random.choice([2, 3, 5]), draw.random.choice([1, 2])
    image, largest = _image(draw), draw.random.random() < 0.5

    def made(value: Tensor) -> Tensor:
        kernel, steps, pad = (size, size), (stride, stride), _pad(value, size, stride, 1)
        if largest:
            return ops.max_pool2d(value, kernel=kernel, stride=steps, pad=pad)
        return ops.avg_pool2d(value, kernel=kernel, stride=steps, pad=pad, acc_type="INT32")

    return tj.trace(made, image)


def _elementwise(draw: _Draw) -> tj.Graph:
    image, lone = _image(draw), draw.random.random() < 0.3
    other = image[:, :1, :1] if lone else image
    table = np.arange(-128, 128).astype(np.int8)
    kind = draw.random.choice([_sum, lambda one, _: ops.table(one, table)])
    return tj.trace(kind, image, np.ascontiguousarray(other))


def _resize(draw: _Draw) -> tj.Graph:
    image, factor = _image(draw, 1 << 16), draw.random.choice([2, 3, 4])
    scale, far = (2 * factor, 2, 2 * factor, 2), 1 - factor

    def made(value: Tensor) -> Tensor:
        wide = ops.resize(value, scale, (far, far), (factor - 1, factor - 1), mode="BILINEAR")
        return _scaled(wide)

    return tj.trace(made, image)


def _transpose(draw: _Draw) -> tj.Graph:
    perms = draw.random.choice([(0, 3, 1, 2), (0, 2, 3, 1), (0, 2, 1, 3)])
    return tj.trace(lambda image: ops.transpose(image, perms), _image(draw))


def _plain(draw: _Draw, value: Tensor) -> Tensor:
    return draw.convolved(value, draw.size(8, 160), draw.random.choice([1, 3]), draw.random.choice([1, 2]))


def _residual(draw: _Draw, value: Tensor) -> Tensor:
    channels = value.shape[3]
    return _sum(value, draw.convolved(draw.convolved(value, channels, 3), channels, 3))


def _inverted(draw: _Draw, value: Tensor) -> Tensor:
    wide = draw.filtered(draw.convolved(value, 4 * value.shape[3], 1), 3)
    return _sum(value, draw.convolved(wide, value.shape[3], 1))


def _halved(draw: _Draw, value: Tensor) -> Tensor:
    return ops.max_pool2d(value, kernel=(2, 2), stride=(2, 2), pad=_pad(value, 2, 2, 1))


LAYERS: dict[str, Callable[[_Draw], tj.Graph]] = {
    "conv": _conv,
    "depthwise": _depthwise,
    "dense": _dense,
    "matmul": _matmul,
    "pool": _pool,
    "elementwise": _elementwise,
    "resize": _resize,
    "transpose": _transpose,
}
BLOCKS: tuple[Callable[[_Draw, Tensor], Tensor], ...] = (_plain, _plain, _residual, _inverted, _halved)
