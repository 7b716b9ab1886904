"""Writes larger networks as TFLite files: `keras_models.py NAME FOLDER`, in an environment with TensorFlow.

Architectures are published ones; weights are random, and so is the input that is written beside. Batch
normalisation has statistics as if it had been trained, so that activations stay in their range.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

DEPTH, WIDTH, TOKENS, HEADS = 12, 512, 128, 8
"""Of the transformer: layers, channels, positions, heads."""
SAMPLES = 4
"""Inputs that ranges of bytes are found with."""


def main(name: str, folder: Path) -> None:
    """Write `model.tflite` and `case0_in0.npy`; the name ends in the type of the numbers."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    tf.keras.utils.set_random_seed(7)
    architecture, _, kind = name.rpartition("_")
    model = MODELS[architecture](tf.keras)
    random = np.random.default_rng(7)
    spread(model, random)
    samples = [random.standard_normal((1, *model.input_shape[1:])).astype(np.float32) for _ in range(SAMPLES)]
    content = converted(tf, model, samples if kind == "i8" else None)
    (folder / "model.tflite").write_bytes(content)
    sample = (samples[0] * 40).clip(-128, 127).astype(np.int8) if kind == "i8" else samples[0]
    np.save(folder / "case0_in0.npy", sample)


def spread(model: Any, random: np.random.Generator) -> None:
    """Give batch normalisation statistics of its own."""
    for weight in model.weights:
        if "moving_variance" in weight.path:
            weight.assign(random.uniform(0.5, 1.5, weight.shape))
        elif "moving_mean" in weight.path:
            weight.assign(random.normal(0, 0.2, weight.shape))


def converted(tf: Any, model: Any, samples: list[Any] | None, is_wide: bool = False) -> bytes:
    """The file; with samples, of bytes, or of words times bytes."""
    from tensorflow.python.framework import convert_to_constants

    shape = (1, *model.input_shape[1:])
    function = tf.function(lambda x: model(x, training=False))
    concrete = function.get_concrete_function(tf.TensorSpec(shape, tf.float32))
    frozen = convert_to_constants.convert_variables_to_constants_v2(concrete)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen], model)
    if samples is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: calls(samples)
        wide = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        converter.target_spec.supported_ops = [wide if is_wide else tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int16 if is_wide else tf.int8
    content: bytes = converter.convert()
    return content


def calls(samples: list[Any]) -> Iterator[list[Any]]:
    """The samples as the converter wants them."""
    return ([sample] for sample in samples)


def resnet50(keras: Any) -> Any:
    """25 million weights, 224 × 224."""
    return keras.applications.ResNet50(weights=None)


def mobilenet_v2(keras: Any) -> Any:
    """3.5 million weights, 224 × 224."""
    return keras.applications.MobileNetV2(weights=None)


def transformer(keras: Any) -> Any:
    """Twelve layers of an encoder, normalised first, with GELU."""
    layers = keras.layers
    x = given = keras.Input((TOKENS, WIDTH))
    for _ in range(DEPTH):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(y, y)])
        y = layers.LayerNormalization()(x)
        y = layers.Dense(4 * WIDTH, activation=lambda z: keras.activations.gelu(z, approximate=True))(y)
        x = layers.Add()([x, layers.Dense(WIDTH)(y)])
    return keras.Model(given, x)


def unet(keras: Any) -> Any:
    """256 × 256, 16 to 256 channels and back."""
    layers = keras.layers
    x = given = keras.Input((256, 256, 3))
    skips = []
    for channels in (16, 32, 64, 128):
        x = pair(layers, x, channels)
        skips.append(x)
        x = layers.MaxPool2D()(x)
    x = pair(layers, x, 256)
    for channels, skip in zip((128, 64, 32, 16), reversed(skips), strict=True):
        x = layers.Concatenate()([layers.UpSampling2D()(x), skip])
        x = pair(layers, x, channels)
    return keras.Model(given, layers.Conv2D(4, 1)(x))


def gru(keras: Any) -> Any:
    """Twenty steps, unrolled."""
    x = given = keras.Input((20, 32))
    x = keras.layers.GRU(48, unroll=True)(x)
    return keras.Model(given, keras.layers.Dense(10, activation="softmax")(x))


def lstm(keras: Any) -> Any:
    """Two layers of twelve steps, unrolled."""
    x = given = keras.Input((12, 24))
    for sequences in (True, False):
        x = keras.layers.LSTM(40, unroll=True, return_sequences=sequences)(x)
    return keras.Model(given, keras.layers.Dense(10, activation="softmax")(x))


def encoder(keras: Any) -> Any:
    """Four layers of an encoder, normalised last, and a classifier."""
    layers = keras.layers
    x = given = keras.Input((64, 128))
    for _ in range(4):
        x = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(4, 32)(x, x)]))
        y = layers.Dense(128)(layers.Dense(512, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(given, layers.Dense(10, activation="softmax")(x))


def mobilenet_v3(keras: Any) -> Any:
    """The small one, 224 × 224."""
    return keras.applications.MobileNetV3Small((224, 224, 3), weights=None)


def pair(layers: Any, x: Any, channels: int) -> Any:
    """Two convolutions."""
    for _ in range(2):
        x = layers.Conv2D(channels, 3, padding="same", activation="relu")(x)
    return x


MODELS: dict[str, Callable[[Any], Any]] = {
    "resnet50": resnet50,
    "mobilenet_v2": mobilenet_v2,
    "transformer": transformer,
    "unet": unet,
    "gru": gru,
    "lstm": lstm,
    "encoder": encoder,
    "mobilenet_v3": mobilenet_v3,
}

if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
