"""Writes `held_out_networks.tar.xz`: drawn networks that nothing was changed for, to judge the simulator by.

`held_out_networks.py [--seed N]`, in an environment with TensorFlow. Once somebody has looked at what they
say and has mended it, another seed is due.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import archives
import numpy as np
from kernel_networks import INTEGERS, WORDS, converted, convolved, made

ARCHIVE = Path(__file__).with_suffix(".tar.xz")
FOLDER = Path(__file__).parents[1] / "build" / "held_out_networks"
SEED = 20270116


def main() -> None:
    """Write all networks, and the archive of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED, help="of structures and weights")
    options = parser.parse_args()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    random = np.random.default_rng(options.seed)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number, (name, draw, wide) in enumerate(KINDS):
        tf.keras.utils.set_random_seed(options.seed + number)
        model = made(tf.keras, draw(Draw(random)))
        for kind, operators in (("i8", INTEGERS), ("i16x8", WORDS))[: 1 + wide]:
            content = converted(tf, model, random, operators)
            (FOLDER / f"{name}_{number}_{kind}.tflite").write_bytes(content)
    archives.write(ARCHIVE, FOLDER, sorted(FOLDER.iterdir()))


Shape = tuple[int, ...]
Network = tuple[Callable[[Any, Any], Any], Shape]
"""What builds a network, and the shape of its input."""


class Draw:
    """Numbers that structures are made of."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random

    def one(self, *values: Any) -> Any:
        """One of some values."""
        return values[int(self.random.integers(len(values)))]

    def some(self, least: int, most: int, *values: Any) -> list[Any]:
        """So many of them."""
        return [self.one(*values) for _ in range(int(self.random.integers(least, most + 1)))]


def plain(draw: Draw) -> Network:
    """Convolutions of several sizes, pools, and dense layers."""
    sizes = draw.some(3, 5, (8, 3, 1), (16, 3, 2), (24, 5, 1), (40, 1, 1), (32, 3, 1), (12, 5, 2))
    pool, hidden, classes = draw.one("max", "average"), draw.one(24, 48, 0), draw.one(3, 7, 12)

    def build(layers: Any, x: Any) -> Any:
        for channels, size, stride in sizes:
            x = layers.Conv2D(channels, size, stride, padding="same", activation="relu")(x)
        x = (layers.MaxPool2D if pool == "max" else layers.AveragePooling2D)(2)(x)
        x = layers.Flatten()(x) if hidden else layers.GlobalAveragePooling2D()(x)
        return layers.Dense(classes)(layers.Dense(hidden, activation="relu")(x) if hidden else x)

    return build, (side := draw.one(28, 40, 56), side, draw.one(1, 3))


def residual(draw: Draw) -> Network:
    """Blocks with an addition, some of them with a stride."""
    blocks = draw.some(2, 4, (16, 1), (24, 2), (40, 2), (32, 1))

    def build(layers: Any, x: Any) -> Any:
        x = convolved(layers, x, 16)
        for channels, stride in blocks:
            y = convolved(layers, convolved(layers, x, channels, 3, stride), channels)
            x = layers.ReLU()(layers.Add()([convolved(layers, x, channels, 1, stride), y]))
        return layers.Dense(8, activation="softmax")(layers.GlobalAveragePooling2D()(x))

    return build, (side := draw.one(24, 36, 48), side, 3)


def separable(draw: Draw) -> Network:
    """Inverted bottlenecks with depthwise convolutions of several sizes and strides."""
    blocks = draw.some(3, 5, (16, 3, 1, 2), (24, 5, 2, 4), (24, 3, 2, 3), (32, 3, 1, 4), (16, 5, 1, 6))
    then = draw.one("relu", "relu6", "hard_swish")

    def build(layers: Any, x: Any) -> Any:
        x = layers.Conv2D(16, 3, 2, padding="same", activation=then)(x)
        for channels, size, stride, factor in blocks:
            y = layers.Conv2D(x.shape[-1] * factor, 1, activation=then)(x)
            y = layers.DepthwiseConv2D(size, stride, padding="same", activation=then)(y)
            y = layers.Conv2D(channels, 1)(y)
            x = layers.Add()([x, y]) if y.shape == x.shape else y
        return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))

    return build, (side := draw.one(32, 48, 64), side, 3)


def recurrent(draw: Draw) -> Network:
    """A layer with gates, or with a state, or two of them."""
    kind, units, more = draw.one("GRU", "LSTM"), draw.one(12, 20, 28, 48), draw.one(0, 16)

    def build(layers: Any, x: Any) -> Any:
        layer = getattr(layers, kind)
        x = layer(units, unroll=True, return_sequences=bool(more))(x)
        return layers.Dense(6)(layer(more, unroll=True)(x) if more else x)

    return build, (draw.one(3, 5, 7), draw.one(8, 24, 40))


def unet(draw: Draw) -> Network:
    """Down, and up again by transposed convolutions beside what came down."""
    channels = draw.one((8, 16), (12, 20), (16, 24, 32))
    size = draw.one(2, 3)

    def build(layers: Any, x: Any) -> Any:
        skips = []
        for some in channels:
            x = convolved(layers, x, some)
            skips.append(x)
            x = layers.MaxPool2D()(x)
        for some, skip in zip(channels[::-1], skips[::-1], strict=True):
            y = layers.Conv2DTranspose(some, size, 2, padding="same", activation="relu")(x)
            x = convolved(layers, layers.Concatenate()([y, skip]), some)
        return layers.Conv2D(classes, 1)(x)

    classes = draw.one(1, 3, 5)
    return build, (side := draw.one(32, 40, 56), side, draw.one(1, 3))


def upsampled(draw: Draw) -> Network:
    """Maps of several sizes, made as large as the first and joined."""
    way, channels, stages = draw.one("bilinear", "nearest"), draw.one(8, 16, 24), draw.one(1, 2)

    def build(layers: Any, x: Any) -> Any:
        x = convolved(layers, x, channels)
        parts = [x]
        for stage in range(1, stages + 1):
            x = convolved(layers, x, channels, 3, 2)
            parts.append(layers.UpSampling2D(2**stage, interpolation=way)(x))
        return layers.Conv2D(4, 1)(convolved(layers, layers.Concatenate()(parts), channels, 1))

    return build, (side := draw.one(24, 32, 40), side, 3)


def transformer(draw: Draw) -> Network:
    """Attention, normalised or not, and dense layers."""
    heads, size, width = draw.one(1, 2, 4), draw.one(8, 12, 16), draw.one(16, 24, 40)
    rounds, normed, then = draw.one(1, 2), draw.one(True, False), draw.one("relu", "gelu")

    def build(layers: Any, x: Any) -> Any:
        for _ in range(rounds):
            y = layers.LayerNormalization()(x) if normed else x
            x = layers.Add()([x, layers.MultiHeadAttention(heads, size)(y, y)])
            x = layers.Add()([x, layers.Dense(width)(layers.Dense(2 * width, activation=then)(x))])
        return layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling1D()(x))

    return build, (draw.one(8, 20, 28), width)


KINDS: tuple[tuple[str, Callable[[Draw], Network], bool], ...] = (
    *(("plain", plain, True), ("residual", residual, False), ("separable", separable, True)),
    *(("plain", plain, False), ("recurrent", recurrent, True), ("recurrent", recurrent, True)),
    *(("unet", unet, False), ("upsampled", upsampled, False), ("unet", unet, False)),
    *(("transformer", transformer, False), ("transformer", transformer, False)),
)
"""Names, what draws a network, and whether it is made for activations of 16 bits, too."""


if __name__ == "__main__":
    main()
