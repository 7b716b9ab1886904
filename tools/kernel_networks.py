"""Writes `kernel_networks.tar.xz`: small networks of all common kinds as TFLite files, for their kernels.

`kernel_networks.py [NAME …]`, in an environment with TensorFlow. Their structures are those of published
networks, and so are then their kernels; sizes and weights are none that anybody would use.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import archives
import numpy as np

ARCHIVE = Path(__file__).with_suffix(".tar.xz")
FOLDER = Path(__file__).parents[1] / "build" / "kernel_networks"
SAMPLES = 4
"""Inputs that ranges of integers are found with."""
INTEGERS = "TFLITE_BUILTINS_INT8"
WORDS = "EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8"


def main(names: list[str]) -> None:
    """Write all networks, or anew those that are named, and the archive of all."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    random = np.random.default_rng(7)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or NETWORKS:
        tf.keras.utils.set_random_seed(7)
        model = made(tf.keras, NETWORKS[name])
        for kind, convert in (("f32", None), ("i8", INTEGERS), ("i16x8", WORDS)):
            if kind != "i16x8" or name in WITH_WORDS:
                content = converted(tf, model, random, convert)
                (FOLDER / f"{name}_{kind}.tflite").write_bytes(content)
                print(f"{name}_{kind}: {len(content)} bytes", flush=True)
    archives.write(ARCHIVE, FOLDER, sorted(FOLDER.iterdir()))
    print(f"{ARCHIVE.name}: {ARCHIVE.stat().st_size} bytes")


def made(keras: Any, network: Network) -> Any:
    """A network with weights drawn."""
    build, shape = network
    given = keras.layers.Input(shape)
    model = keras.Model(given, build(keras.layers, given))
    random = np.random.default_rng(7)
    for weight in model.weights:
        if "moving_variance" in weight.path:
            weight.assign(random.uniform(0.5, 1.5, weight.shape))
        elif "moving_mean" in weight.path or "bias" in weight.path or "beta" in weight.path:
            weight.assign(random.normal(0, 0.2, weight.shape))
    return model


def converted(tf: Any, model: Any, random: np.random.Generator, operators: str | None) -> bytes:
    """A network as a file, of integers if operators are given."""
    from tensorflow.python.framework import convert_to_constants

    shape = (1, *model.input_shape[1:])
    function = tf.function(lambda x: model(x, training=False))
    concrete = function.get_concrete_function(tf.TensorSpec(shape, tf.float32))
    frozen = convert_to_constants.convert_variables_to_constants_v2(concrete)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen], model)
    if operators:
        samples = [random.standard_normal(shape).astype(np.float32) for _ in range(SAMPLES)]
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([sample] for sample in samples)
        converter.target_spec.supported_ops = [getattr(tf.lite.OpsSet, operators)]
        kind = tf.int8 if operators == INTEGERS else tf.int16
        converter.inference_input_type = converter.inference_output_type = kind
    content: bytes = converter.convert()
    return content


def convolved(layers: Any, x: Any, channels: int, size: int = 3, stride: int = 1, then: str = "relu") -> Any:
    """A convolution with what is mostly behind it."""
    x = layers.Conv2D(channels, size, stride, padding="same", use_bias=False)(x)
    return layers.Activation(then)(layers.BatchNormalization()(x))


def _classified(layers: Any, x: Any, classes: int = 6) -> Any:
    x = layers.GlobalAveragePooling2D()(x)
    return layers.Dense(classes, activation="softmax")(x)


def cnn(layers: Any, x: Any) -> Any:
    """Convolutions, largest values, dense layers."""
    for channels in (8, 16):
        x = layers.Conv2D(channels, 3, padding="valid", activation="relu")(x)
        x = layers.MaxPool2D()(x)
    x = layers.Dense(24, activation="relu")(layers.Flatten()(x))
    x = layers.Dense(12, activation="tanh")(x)
    return layers.Dense(1, activation="sigmoid")(x)


def resnet(layers: Any, x: Any) -> Any:
    """Residual blocks, with and without a bottleneck."""
    x = layers.MaxPool2D(3, 2, padding="same")(convolved(layers, x, 8, 7, 2))
    for channels, stride in ((8, 1), (16, 2)):
        y = convolved(layers, x, channels, 3, stride)
        y = convolved(layers, y, channels, then="linear")
        near = x if stride == 1 else convolved(layers, x, channels, 1, stride, "linear")
        x = layers.Activation("relu")(layers.Add()([y, near]))
    y = convolved(layers, convolved(layers, x, 16, 1), 16)
    y = convolved(layers, y, 16, 1, then="linear")
    return _classified(layers, layers.ReLU()(layers.Add()([x, y])))


def mobilenet(layers: Any, x: Any) -> Any:
    """Depthwise and pointwise convolutions, with inverted residuals."""
    x = convolved(layers, x, 8, 3, 2, "relu6")
    for channels, stride in ((8, 1), (16, 2), (16, 1)):
        y = convolved(layers, x, 24, 1, then="relu6")
        y = layers.DepthwiseConv2D(3, stride, padding="same", use_bias=False)(y)
        y = layers.Activation("relu6")(layers.BatchNormalization()(y))
        y = convolved(layers, y, channels, 1, then="linear")
        x = layers.Add()([x, y]) if y.shape == x.shape else y
    return _classified(layers, convolved(layers, x, 32, 1, then="relu6"))


def _excited(layers: Any, x: Any, gate: str) -> Any:
    """Squeeze and excitation."""
    channels = x.shape[-1]
    y = layers.GlobalAveragePooling2D(keepdims=True)(x)
    y = layers.Conv2D(8, 1, activation="relu" if gate == "hard_sigmoid" else "swish")(y)
    y = layers.Conv2D(channels, 1)(y)
    if gate == "hard_sigmoid":
        y = layers.Rescaling(1 / 6)(layers.ReLU(6.0)(layers.Rescaling(1.0, 3.0)(y)))
    else:
        y = layers.Activation(gate)(y)
    return layers.Multiply()([x, y])


def _hard_swish(layers: Any, x: Any) -> Any:
    gate = layers.Rescaling(1 / 6)(layers.ReLU(6.0)(layers.Rescaling(1.0, 3.0)(x)))
    return layers.Multiply()([x, gate])


def mobilenet_v3(layers: Any, x: Any) -> Any:
    """Hard swish, squeeze and excitation."""
    x = _hard_swish(layers, convolved(layers, x, 8, 3, 2, "linear"))
    for channels, stride, size in ((8, 1, 3), (16, 2, 5), (16, 1, 5)):
        y = convolved(layers, x, 24, 1, then="linear")
        y = layers.ReLU()(y) if size == 3 else _hard_swish(layers, y)
        y = layers.DepthwiseConv2D(size, stride, padding="same")(y)
        y = layers.BatchNormalization()(y)
        y = layers.ReLU()(y) if size == 3 else _hard_swish(layers, y)
        y = convolved(layers, _excited(layers, y, "hard_sigmoid"), channels, 1, then="linear")
        x = layers.Add()([x, y]) if y.shape == x.shape else y
    x = _hard_swish(layers, layers.GlobalAveragePooling2D(keepdims=True)(x))
    x = layers.Flatten()(layers.Conv2D(6, 1)(x))
    return layers.Softmax()(x)


def efficientnet(layers: Any, x: Any) -> Any:
    """Swish, squeeze and excitation; inputs are normalised."""
    x = layers.Rescaling(1 / 2.0, -0.5)(x)
    x = convolved(layers, x, 8, 3, 2, "swish")
    for size in (3, 5):
        y = layers.DepthwiseConv2D(size, padding="same", use_bias=False)(
            convolved(layers, x, 16, 1, then="swish")
        )
        y = layers.Activation("swish")(layers.BatchNormalization()(y))
        x = layers.Add()([x, convolved(layers, _excited(layers, y, "sigmoid"), 8, 1, then="linear")])
    return _classified(layers, x)


def inception(layers: Any, x: Any) -> Any:
    """Branches that are concatenated, averages, leaky rectifiers, dense blocks."""
    x = layers.ZeroPadding2D(1)(convolved(layers, x, 8, 3, 2))
    parts = [convolved(layers, x, 8, 1), convolved(layers, x, 8, 5)]
    parts.append(convolved(layers, layers.AveragePooling2D(3, 1, padding="same")(x), 8, 1))
    parts.append(layers.MaxPool2D(3, 1, padding="same")(x))
    x = layers.Concatenate()(parts)
    for _ in range(2):
        y = layers.Conv2D(8, 3, padding="same")(layers.ReLU()(layers.BatchNormalization()(x)))
        x = layers.Concatenate()([x, y])
    x = layers.LeakyReLU()(layers.Conv2D(8, 1)(layers.AveragePooling2D(2)(x)))
    x = layers.SeparableConv2D(8, 3, padding="same", activation="elu")(x)
    return _classified(layers, layers.PReLU(shared_axes=[1, 2])(x))


def unet(layers: Any, x: Any) -> Any:
    """Down and up again: convolutions that are transposed or dilated, both kinds of resizing."""
    skips = []
    for channels in (8, 12):
        x = convolved(layers, convolved(layers, x, channels), channels)
        skips.append(x)
        x = layers.MaxPool2D()(x)
    x = layers.Conv2D(16, 3, padding="same", dilation_rate=2, activation="relu")(x)
    x = layers.Conv2DTranspose(12, 2, 2)(x)
    x = layers.Conv2DTranspose(12, 3, padding="same", activation="relu")(layers.Concatenate()([x, skips[1]]))
    x = layers.Concatenate()([layers.UpSampling2D(interpolation="bilinear")(x), skips[0]])
    x = layers.UpSampling2D()(convolved(layers, x, 8))
    y = layers.Conv2D(3, 1, activation="softmax")(x)
    z = layers.Conv2D(1, 1, activation="sigmoid")(x)
    return layers.Concatenate()([y, z])


def autoencoder(layers: Any, x: Any) -> Any:
    """Dense layers, with normalisation between them."""
    for width in (24, 8, 24):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Dense(width)(x)))
    return layers.Dense(40)(x)


def lstm(layers: Any, x: Any) -> Any:
    """A recurrent layer, unrolled."""
    x = layers.LSTM(12, unroll=True, return_sequences=True)(x)
    x = layers.LSTM(8, unroll=True)(x)
    return layers.Dense(4, activation="softmax")(x)


def gru(layers: Any, x: Any) -> Any:
    """Recurrent layers of both kinds of gates, unrolled."""
    x = layers.GRU(12, unroll=True, return_sequences=True)(x)
    x = layers.GRU(8, unroll=True, reset_after=False)(x)
    return layers.Dense(4, activation="sigmoid")(x)


def transformer(layers: Any, x: Any) -> Any:
    """Attention, normalisation of layers, both forms of GELU."""
    for activation in ("gelu", "relu"):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(2, 8)(y, y)])
        y = layers.Dense(32, activation=activation)(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(16)(y)])
    x = layers.LayerNormalization()(x)
    return layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling1D()(x))


def temporal(layers: Any, x: Any) -> Any:
    """Convolutions over time, of the past alone, and other activations."""
    for dilation, then in ((1, "relu"), (2, "tanh"), (4, "swish")):
        x = layers.Conv1D(12, 3, padding="causal", dilation_rate=dilation, activation=then)(x)
    x = layers.Add()([x, layers.Conv1D(12, 1, activation="sigmoid")(x)])
    x = layers.Conv1D(8, 5, strides=2, activation="elu")(layers.MaxPool1D()(x))
    x = layers.Flatten()(layers.AveragePooling1D(2)(x))
    return layers.Dense(3, activation="softplus")(x)


def volume(layers: Any, x: Any) -> Any:
    """Convolutions in three dimensions."""
    x = layers.Conv3D(6, 3, padding="same", activation="relu")(x)
    x = layers.Conv3D(6, 3, strides=2)(x)
    return layers.Dense(3)(layers.Flatten()(x))


Network = tuple[Callable[[Any, Any], Any], tuple[int, ...]]
NETWORKS: dict[str, Network] = {
    "cnn": (cnn, (28, 28, 1)),
    "resnet": (resnet, (40, 40, 3)),
    "mobilenet": (mobilenet, (40, 40, 3)),
    "mobilenet_v3": (mobilenet_v3, (40, 40, 3)),
    "efficientnet": (efficientnet, (40, 40, 3)),
    "inception": (inception, (24, 24, 3)),
    "unet": (unet, (32, 32, 3)),
    "autoencoder": (autoencoder, (40,)),
    "lstm": (lstm, (4, 10)),
    "gru": (gru, (4, 10)),
    "transformer": (transformer, (12, 16)),
    "temporal": (temporal, (40, 6)),
    "volume": (volume, (6, 10, 10, 2)),
}
"""What builds a network, and the shape of its input."""
WITH_WORDS = ("cnn", "resnet", "mobilenet", "efficientnet", "autoencoder", "lstm", "gru")
"""Those that are made for activations of 16 bits, too."""


if __name__ == "__main__":
    main(sys.argv[1:])
