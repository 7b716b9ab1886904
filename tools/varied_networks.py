"""Writes `varied_networks.tar.xz`: networks of bytes whose kernels those of `kernel_networks.py` lack.

`varied_networks.py`, in an environment with TensorFlow. A group's kernel depends on how values are scaled: on
which of two factors is a power of two, what can be negative or must be saturated. Each step of a recurrent
network has scales of its own, so that long ones meet most of these cases.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import archives
import numpy as np
from kernel_networks import INTEGERS, Network, converted, made

ARCHIVE = Path(__file__).with_suffix(".tar.xz")
FOLDER = Path(__file__).parents[1] / "build" / "varied_networks"
SEED = 19


def main() -> None:
    """Write all networks, and the archive of all."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    random = np.random.default_rng(SEED)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, network in NETWORKS.items():
        tf.keras.utils.set_random_seed(SEED)
        content = converted(tf, made(tf.keras, network), random, INTEGERS)
        (FOLDER / f"{name}_i8.tflite").write_bytes(content)
        print(f"{name}: {len(content)} bytes", flush=True)
    archives.write(ARCHIVE, FOLDER, sorted(FOLDER.iterdir()))


def scores(layers: Any, x: Any) -> Any:
    """Probabilities of many classes, whose sum has more bits than that of few."""
    return layers.Dense(1000, activation="softmax")(x)


def gru(layers: Any, x: Any) -> Any:
    """A recurrent layer in both directions."""
    x = layers.Bidirectional(layers.GRU(8, unroll=True))(x)
    return layers.Dense(4, activation="softmax")(x)


def lstm(layers: Any, x: Any) -> Any:
    """Recurrent layers in both directions, and the greatest of their results."""
    x = layers.Bidirectional(layers.LSTM(8, unroll=True, return_sequences=True))(x)
    return layers.Dense(4, activation="softmax")(layers.GlobalMaxPooling1D()(x))


def encoder(layers: Any, x: Any) -> Any:
    """Attention and dense layers, each normalised behind its sum."""
    for _ in range(3):
        x = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(2, 8)(x, x)]))
        y = layers.Dense(16)(layers.Dense(32, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    return layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling1D()(x))


NETWORKS: dict[str, Network] = {
    "scores": (scores, (4,)),
    "gru_both": (gru, (12, 10)),
    "lstm_both": (lstm, (12, 10)),
    "encoder": (encoder, (24, 16)),
}
"""What builds a network, and the shape of its input."""


if __name__ == "__main__":
    main()
