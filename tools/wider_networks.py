"""Writes `wider_networks.tar.xz`: networks to judge the simulator by, beside those of `kernel_networks.py`.

`wider_networks.py`, in an environment with TensorFlow. They are of the same kinds, wider and deeper, and of
others.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import archives
import numpy as np
from kernel_networks import INTEGERS, WORDS, Network, converted, convolved, made

ARCHIVE = Path(__file__).with_suffix(".tar.xz")
FOLDER = Path(__file__).parents[1] / "build" / "wider_networks"
SEED = 11


def main() -> None:
    """Write all networks, and the archive of all."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    random = np.random.default_rng(SEED)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, network in NETWORKS.items():
        tf.keras.utils.set_random_seed(SEED)
        model = made(tf.keras, network)
        for kind, operators in (("i8", INTEGERS), ("i16x8", WORDS)):
            if kind == "i8" or name in WITH_WORDS:
                content = converted(tf, model, random, operators)
                (FOLDER / f"{name}_{kind}.tflite").write_bytes(content)
    archives.write(ARCHIVE, FOLDER, sorted(FOLDER.iterdir()))


def vgg(layers: Any, x: Any) -> Any:
    """Pairs of convolutions, and a wide dense layer."""
    for channels in (16, 32, 48):
        x = convolved(layers, convolved(layers, x, channels), channels)
        x = layers.MaxPool2D()(x)
    return layers.Dense(10)(layers.Dense(64, activation="relu")(layers.Flatten()(x)))


def squeezenet(layers: Any, x: Any) -> Any:
    """Modules that squeeze channels, and concatenate what they expand to."""
    x = layers.MaxPool2D(3, 2)(layers.Conv2D(16, 3, 2, activation="relu")(x))
    for squeezed, expanded in ((8, 16), (8, 16), (16, 32)):
        y = layers.Conv2D(squeezed, 1, activation="relu")(x)
        near = layers.Conv2D(expanded, 1, activation="relu")(y)
        far = layers.Conv2D(expanded, 3, padding="same", activation="relu")(y)
        x = layers.Concatenate()([near, far])
    return layers.GlobalAveragePooling2D()(layers.Conv2D(10, 1, activation="relu")(x))


def keywords(layers: Any, x: Any) -> Any:
    """Depthwise separable convolutions of a spectrogram."""
    x = layers.Conv2D(32, (10, 4), (2, 2), padding="same", activation="relu")(x)
    for _ in range(3):
        x = layers.DepthwiseConv2D(3, padding="same", activation="relu")(x)
        x = convolved(layers, x, 32, 1)
    return layers.Dense(12)(layers.Flatten()(layers.AveragePooling2D((25, 5))(x)))


def segmentation(layers: Any, x: Any) -> Any:
    """Branches of different dilations, and two steps up to a class for each position."""
    x = convolved(layers, convolved(layers, x, 16, 3, 2), 24, 3, 2)
    parts = [
        layers.Conv2D(12, 3, padding="same", dilation_rate=rate, activation="relu")(x) for rate in (1, 2, 4)
    ]
    x = convolved(layers, layers.Concatenate()(parts), 24, 1)
    x = layers.Conv2DTranspose(16, 2, 2, activation="relu")(x)
    x = layers.UpSampling2D(interpolation="bilinear")(x)
    return layers.Conv2D(4, 1)(x)


def unet(layers: Any, x: Any) -> Any:
    """Down twice, and up by transposed convolutions."""
    skips = []
    for channels in (12, 24):
        x = convolved(layers, x, channels)
        skips.append(x)
        x = layers.MaxPool2D()(x)
    x = convolved(layers, x, 32)
    for channels, skip in ((24, skips[1]), (12, skips[0])):
        x = layers.Concatenate()([layers.Conv2DTranspose(channels, 2, 2)(x), skip])
        x = convolved(layers, x, channels)
    return layers.Conv2D(1, 1, activation="sigmoid")(x)


def gru(layers: Any, x: Any) -> Any:
    """A wide layer with gates."""
    return layers.Dense(8)(layers.GRU(40, unroll=True)(x))


def lstm(layers: Any, x: Any) -> Any:
    """A wide layer with a state."""
    return layers.Dense(8)(layers.LSTM(32, unroll=True)(x))


def transformer(layers: Any, x: Any) -> Any:
    """Attention of four heads, without normalisation."""
    x = layers.Add()([x, layers.MultiHeadAttention(4, 8)(x, x)])
    y = layers.Dense(32)(layers.Dense(64, activation="relu")(x))
    return layers.Dense(6)(layers.Flatten()(layers.Add()([x, y])))


def temporal(layers: Any, x: Any) -> Any:
    """Residual blocks over time."""
    x = layers.Conv1D(24, 1)(x)
    for dilation in (1, 2, 4, 8):
        y = layers.Conv1D(24, 3, padding="same", dilation_rate=dilation, activation="relu")(x)
        x = layers.Add()([x, layers.Conv1D(24, 1)(y)])
    return layers.Dense(5)(layers.GlobalAveragePooling1D()(x))


NETWORKS: dict[str, Network] = {
    "vgg": (vgg, (48, 48, 3)),
    "squeezenet": (squeezenet, (64, 64, 3)),
    "keywords": (keywords, (49, 10, 1)),
    "segmentation": (segmentation, (48, 48, 3)),
    "unet_deep": (unet, (48, 48, 1)),
    "gru_wide": (gru, (6, 20)),
    "lstm_wide": (lstm, (5, 16)),
    "transformer_four": (transformer, (16, 32)),
    "temporal_residual": (temporal, (64, 8)),
}
"""What builds a network, and the shape of its input."""
WITH_WORDS = ("vgg", "keywords", "gru_wide", "lstm_wide")
"""Those that are made for activations of 16 bits, too."""


if __name__ == "__main__":
    main()
