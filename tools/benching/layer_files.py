"""Writes files of single layers: `layer_files.py FOLDER NAME …`, in an environment with TensorFlow or ONNX.

A name is `tflite_LAYER_` with `f32`, `i8`, `i16` or `i32`, or `onnx_LAYER_` with `f32`, `f16` or `qdq`; each
has a folder with `model.tflite` or `model.onnx` and its inputs. Weights are random, and so are the inputs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benching.common_layers import ONNX, SPECTRA, TFLITE
from benching.unusual_layers import HALVES, INTEGER_LAYERS, ONNX_UNUSUAL, TFLITE_UNUSUAL, WORDS

OF_TFLITE, OF_ONNX = {**TFLITE, **TFLITE_UNUSUAL}, {**ONNX, **ONNX_UNUSUAL}
NAMES = (
    *(f"tflite_{name}_f32" for name in OF_TFLITE),
    *(f"tflite_{name}_i8" for name in OF_TFLITE if name not in SPECTRA),
    *(f"tflite_{name}_i16" for name in WORDS),
    *(f"tflite_{name}_i32" for name in INTEGER_LAYERS),
    *(f"onnx_{name}_f32" for name in OF_ONNX),
    *(f"onnx_{name}_f16" for name in HALVES),
)
"""Of all layers, with their types."""
QUANTIZED = {
    "i8": ("TFLITE_BUILTINS_INT8", 40),
    "i16": ("EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8", 10_000),
}
"""The operators that the converter may use, and about how many steps one is."""


def main(folder: Path, names: list[str]) -> None:
    """Write the files of the layers; what a converter refuses is told and left out."""
    for name in names:
        source, _, rest = name.partition("_")
        layer, _, kind = rest.rpartition("_")
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        try:
            write = tflite_file if source == "tflite" else onnx_file
            for number, array in enumerate(write(place, layer, kind)):
                np.save(place / f"in{number}.npy", array)
        except Exception as error:  # a converter's own, of any kind
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)


def tflite_file(place: Path, layer: str, kind: str) -> list[Any]:
    """Write `model.tflite`; the inputs."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    shapes, body = (INTEGER_LAYERS if kind == "i32" else OF_TFLITE)[layer]
    random = np.random.default_rng(7)
    type_, size = (np.int32, 1000) if kind == "i32" else (np.float32, 1)
    samples = [[(size * random.standard_normal(s)).astype(type_) for s in shapes] for _ in range(2)]

    class Module(tf.Module):  # type: ignore[misc]
        """The layer: the converter wants someone who owns the function."""

        def __call__(self, *values: Any) -> Any:
            return body(tf, *values)

    module = Module()
    function = tf.function(module.__call__)
    concrete = function.get_concrete_function(*(tf.TensorSpec(s, type_) for s in shapes))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], module)
    if kind in QUANTIZED:
        operators, scale = QUANTIZED[kind]
        integer, limits = np.dtype(kind.replace("i", "int")), np.iinfo(kind.replace("i", "int"))
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: iter(samples)
        converter.target_spec.supported_ops = [getattr(tf.lite.OpsSet, operators)]
        converter.inference_input_type = converter.inference_output_type = tf.dtypes.as_dtype(integer)
    (place / "model.tflite").write_bytes(converter.convert())
    if kind in QUANTIZED:
        return [(one * scale).clip(limits.min, limits.max).astype(integer) for one in samples[0]]
    return samples[0]


def onnx_file(place: Path, layer: str, kind: str) -> list[Any]:
    """Write `model.onnx`; the inputs."""
    import onnx
    from onnx import helper

    from benching.onnx_models import Network, quantized

    shapes, body = OF_ONNX[layer]
    type_ = np.float16 if kind == "f16" else np.float32
    network = Network(type_)
    names = ["x", "y", "z"][: len(shapes)]
    result = body(network, *names)
    given = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(type_)), s)
        for n, s in zip(names, shapes, strict=True)
    ]
    info = helper.make_tensor_value_info(result, onnx.TensorProto.UNDEFINED, None)
    info.ClearField("type")
    graph = helper.make_graph(network.nodes, "layer", given, [info], network.held)
    model = onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    )
    random = np.random.default_rng(7)
    samples = [random.standard_normal(shapes[0]).astype(np.float32) for _ in range(2)]
    if kind == "qdq":
        onnx.save(model, place / "real.onnx")
        quantized(place / "real.onnx", place / "model.onnx", samples)
        return samples[:1]
    onnx.save(model, place / "model.onnx")
    return [random.standard_normal(shape).astype(type_) for shape in shapes]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
