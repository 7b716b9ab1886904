"""Makes models with TensorFlow, graphs of them, and what TensorFlow computes: runs where TensorFlow is.

`python models.py FOLDER SITE NAME…` writes NAME.tosa and NAME.npz; SITE has what tosajit needs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Made = tuple[Any, Callable[..., Any], list[tuple[Array, ...]]]
"""What a graph is made of, what computes the results, and the operands of each call."""


def main() -> None:
    """Write the models that are asked for."""
    folder, site, *names = sys.argv[1:]
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    sys.path[:0] = [str(Path(__file__).parents[2])]
    sys.path.append(site)
    import keras

    import tosajit as tj

    for name in names:
        keras.utils.set_random_seed(1)
        source, compute, calls = MODELS[name](folder)
        graph = tj.from_tensorflow(source)
        assert tj.validate(graph) == ()
        tj.save(graph, f"{folder}/{name}.tosa")
        arrays: dict[str, Array] = {}
        for call, operands in enumerate(calls):
            results = compute(*operands)
            listed = results if isinstance(results, list) else [results]
            for kind, ones in (("in", operands), ("out", listed)):
                arrays |= {f"{kind}{number}_{call}": np.asarray(one) for number, one in enumerate(ones)}
        save: Any = np.savez
        save(f"{folder}/{name}.npz", **arrays)


def drawn(*shape: int) -> Array:
    """Random numbers."""
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def keras_model(model: Any, *inputs: Array) -> Made:
    """A Keras model whose weights are none of those that it begins with."""
    numbers = np.random.default_rng(0)
    for weight in model.weights:
        if not weight.path.endswith(("kernel", "embeddings")):
            weight.assign(numbers.uniform(0.5, 1.5, weight.shape))
    return model, lambda *given: model(given[0] if len(given) == 1 else list(given), training=False), [inputs]


def mlp(folder: str) -> Made:
    from keras import Sequential, layers

    stack = [layers.Input((20,)), layers.Dense(64, activation="gelu"), layers.LayerNormalization()]
    return keras_model(
        Sequential([*stack, layers.Dense(32, activation="elu"), layers.Dense(5)]), drawn(1, 20)
    )


def cnn(folder: str) -> Made:
    from keras import Sequential, layers

    stack = [
        layers.Input((28, 28, 1)), layers.Conv2D(8, 3, activation="relu"), layers.BatchNormalization(),
        layers.MaxPool2D(), layers.Conv2D(16, 3, padding="same", use_bias=False), layers.BatchNormalization(),
        layers.ReLU(), layers.DepthwiseConv2D(3, strides=2, padding="same"),
        layers.GlobalAveragePooling2D(), layers.Dropout(0.5), layers.Dense(10, activation="softmax"),
    ]  # fmt: skip
    return keras_model(Sequential(stack), drawn(1, 28, 28, 1))


def unet(folder: str) -> Made:
    from keras import Model, layers

    image = layers.Input((16, 16, 3))
    wide = layers.Conv2D(8, 3, padding="same", activation="relu")(image)
    back = layers.Conv2DTranspose(8, 3, strides=2, padding="same")(layers.MaxPool2D()(wide))
    both = layers.AveragePooling2D(2)(layers.Concatenate()([back, wide]))
    large = layers.UpSampling2D(2, interpolation="bilinear")(both)
    results = [layers.Conv2D(2, 1, activation="sigmoid")(large)]
    results.append(layers.SeparableConv2D(4, 3, padding="same")(large))
    return keras_model(Model(image, results), drawn(1, 16, 16, 3))


def lstm(folder: str) -> Made:
    from keras import Sequential, layers

    stack = [layers.Input((6, 8)), layers.LSTM(16, return_sequences=True), layers.LSTM(8), layers.Dense(3)]
    return keras_model(Sequential(stack), drawn(1, 6, 8))


def gru(folder: str) -> Made:
    from keras import Sequential, layers

    stack = [layers.Input((5, 8)), layers.Bidirectional(layers.GRU(8)), layers.Dense(3)]
    return keras_model(Sequential(stack), drawn(1, 5, 8))


def transformer(folder: str) -> Made:
    from keras import Model, layers

    tokens = layers.Input((16,), dtype="int32")
    value = layers.Embedding(50, 32)(tokens)
    value = layers.LayerNormalization()(value + layers.MultiHeadAttention(4, 8)(value, value))
    value = layers.LayerNormalization()(value + layers.Dense(32)(layers.Dense(64, activation="relu")(value)))
    result = layers.Dense(4, activation="softmax")(layers.GlobalAveragePooling1D()(value))
    return keras_model(
        Model(tokens, result), np.random.default_rng(1).integers(0, 50, (1, 16)).astype(np.int32)
    )


def mobilenet_v2(folder: str) -> Made:
    from keras import applications

    model = applications.MobileNetV2(weights=None, input_shape=(96, 96, 3), classes=10)
    return keras_model(model, drawn(1, 96, 96, 3))


def saved_model(folder: str) -> Made:
    import tensorflow as tf
    from keras import Model, layers

    one, other = layers.Input((4,), name="first"), layers.Input((3,), name="second")
    model = Model([one, other], layers.Dense(2)(layers.Concatenate()([one, other])))
    path = f"{folder}/saved"
    specs = [
        tf.TensorSpec([1, 4], tf.float32, name="first"),
        tf.TensorSpec([1, 3], tf.float32, name="second"),
    ]
    function = tf.function(lambda first, second: {"sum": model([first, second]), "twice": 2 * first})
    module = tf.Module()
    module.model = model
    tf.saved_model.save(module, path, signatures=function.get_concrete_function(*specs))
    made = function.get_concrete_function(*specs)

    def compute(first: Array, second: Array) -> list[Any]:
        found = made(tf.constant(first), tf.constant(second))
        return [found["sum"], found["twice"]]

    return path, compute, [(drawn(1, 4), drawn(1, 3))]


def control_flow(folder: str) -> Made:
    import tensorflow as tf

    def step(value: Any, count: Any) -> Any:
        turn, weights = tf.constant(0), tf.constant([1.0, 0.5, 0.25, 2.0])
        while turn < count:
            value, turn = value * weights + 1.0, turn + 1
        return tf.cond(tf.reduce_sum(value) > 0.0, lambda: tf.exp(-value), lambda: value - weights)

    function = tf.function(
        step, input_signature=[tf.TensorSpec([4], tf.float32), tf.TensorSpec([], tf.int32)]
    )
    calls = [(drawn(4), np.array(count, np.int32)) for count in (0, 1, 5)]
    calls.append((-drawn(4) - 3, np.array(0, np.int32)))
    return function, lambda *given: function(*map(tf.constant, given)), [*calls]


def variables(folder: str) -> Made:
    import tensorflow as tf

    total, turns = tf.Variable([1.0, 2.0], trainable=False), tf.Variable(3)
    scale = tf.Variable([2.0, 0.5])

    def step(value: Any) -> Any:
        total.assign_add(value * scale)
        turns.assign_sub(1)
        return total * tf.cast(turns, tf.float32)

    function = tf.function(step, input_signature=[tf.TensorSpec([2], tf.float32)])
    calls = [(drawn(2),), (drawn(2) + 1,), (drawn(2),)]
    return function, lambda value: function(tf.constant(value)), [*calls]


def spectrum(folder: str) -> Made:
    import tensorflow as tf

    def step(sound: Any) -> list[Any]:
        found = tf.signal.stft(sound, 32, 16)
        return [tf.abs(found), tf.signal.inverse_stft(found, 32, 16)]

    function = tf.function(step, input_signature=[tf.TensorSpec([1, 128], tf.float32)])
    return function, lambda sound: function(tf.constant(sound)), [(drawn(1, 128),)]


def choices(folder: str) -> Made:
    import tensorflow as tf

    def step(value: Any, which: Any) -> Any:
        branches = [lambda: value * 2.0, lambda: tf.exp(value), lambda: tf.atan2(value, value[0])]
        return tf.switch_case(which, branches)

    function = tf.function(
        step, input_signature=[tf.TensorSpec([4], tf.float32), tf.TensorSpec([], tf.int32)]
    )
    calls = [(drawn(4), np.array(which, np.int32)) for which in (-1, 0, 1, 2, 3)]
    return function, lambda *given: function(*map(tf.constant, given)), [*calls]


def volumes(folder: str) -> Made:
    from keras import Sequential, layers

    stack = [
        layers.Input((4, 6, 6, 2)), layers.Conv3D(3, 3, padding="same"), layers.MaxPooling3D(2),
        layers.Conv3DTranspose(2, 3, strides=2, padding="same"), layers.AveragePooling3D(2, padding="same"),
    ]  # fmt: skip
    return keras_model(Sequential(stack), drawn(1, 4, 6, 6, 2))


MODELS: dict[str, Callable[[str], Made]] = {
    made.__name__: made
    for made in (
        mlp, cnn, unet, lstm, gru, transformer, mobilenet_v2, saved_model, control_flow, variables,
        spectrum, choices, volumes,
    )
}  # fmt: skip

if __name__ == "__main__":
    main()
