"""Writes a Keras network as float and as LiteRT's converter quantises it: `converted.py NAME FOLDER COUNT`.

Beside `float.tflite`, `int8.tflite` and, if the converter can, `int16.tflite` are samples: those that show
ranges, and others.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from benching.keras_models import MODELS, converted, spread


def main(name: str, folder: Path, count: int, seed: int) -> None:
    """Write the three files, and two of samples."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    tf.keras.utils.set_random_seed(seed)
    model = MODELS[name](tf.keras)
    random = np.random.default_rng(seed)
    spread(model, random)
    if getattr(model.layers[-1], "activation", None) is tf.keras.activations.softmax:
        model.layers[-1].activation = tf.keras.activations.linear  # weights are random: all classes are alike
    shape = (1, *model.input_shape[1:])
    known, others = (
        [random.standard_normal(shape).astype(np.float32) for _ in range(count)] for _ in range(2)
    )
    (folder / "float.tflite").write_bytes(converted(tf, model, None))
    (folder / "int8.tflite").write_bytes(converted(tf, model, known))
    try:
        (folder / "int16.tflite").write_bytes(converted(tf, model, known, is_wide=True))
    except Exception as error:  # the converter's own, of many kinds: it has no words for some operators
        print(f"int16: {error}")
    np.savez(folder / "samples.npz", known=np.stack(known), others=np.stack(others))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
