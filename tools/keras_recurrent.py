"""Writes TFLite files of recurrent Keras layers: runs in an environment that has TensorFlow, not tosajit.

Layers are unrolled or loops, in floating point or, where they are unrolled, in bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

STEPS, DEPTH = 6, 5


def main(folder: Path) -> None:
    """Write all models into a folder."""
    import tensorflow as tf

    tf.keras.utils.set_random_seed(7)
    for name, layers in models(tf.keras):
        model = tf.keras.Sequential([tf.keras.Input((STEPS, DEPTH), batch_size=1), *layers])
        (folder / f"{name}.tflite").write_bytes(converted(tf, model, in_bytes=False))
        if name.endswith("unrolled"):
            (folder / f"{name}_bytes.tflite").write_bytes(converted(tf, model, in_bytes=True))


def models(keras: Any) -> Iterator[tuple[str, list[Any]]]:
    """The layers of each model."""
    for kind in ("GRU", "LSTM", "SimpleRNN"):
        for unroll in (False, True):
            layer = getattr(keras.layers, kind)
            layers = [
                layer(6, unroll=unroll, return_sequences=True),
                layer(4, unroll=unroll),
                keras.layers.Dense(3),
            ]
            yield f"{kind.lower()}_{'unrolled' if unroll else 'loop'}", layers
    both = keras.layers.Bidirectional(keras.layers.LSTM(5, return_sequences=True))
    yield "bidirectional_loop", [both, keras.layers.Dense(3)]


def converted(tf: Any, model: Any, *, in_bytes: bool) -> bytes:
    """A model with its weights as constants, by TensorFlow's converter."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    signature = [tf.TensorSpec((1, STEPS, DEPTH), tf.float32)]
    function = tf.function(lambda x: model(x, training=False), input_signature=signature)
    frozen = convert_variables_to_constants_v2(function.get_concrete_function())
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
    if in_bytes:
        numbers = np.random.default_rng(3)
        examples = [[numbers.normal(size=(1, STEPS, DEPTH)).astype(np.float32)] for _ in range(10)]
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: iter(examples)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    data: bytes = converter.convert()
    return data


if __name__ == "__main__":
    main(Path(sys.argv[1]))
