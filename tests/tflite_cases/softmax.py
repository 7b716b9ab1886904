"""Softmax."""

from __future__ import annotations

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.sketch import Quantized
from tosajit.frontends.tflite.options import SoftmaxOptions
from tosajit.frontends.tflite.schema import Type


@case("SOFTMAX", "float32 int8 uint8 int16")
def soft_max(sketch: Sketch, kind: Type) -> None:
    shape = (*sketch.shape(0 if kind is not Type.FLOAT32 else 1, 3, 5), sketch.random.choice([2, 7, 40, 300]))
    beta = sketch.random.choice([1.0, 1.0, 0.5, 1.7])
    results = {Type.INT8: (1 / 256, -128), Type.UINT8: (1 / 256, 0), Type.INT16: (1 / 32768, 0)}
    value = sketch.operand(kind, shape)
    scale, point = results.get(kind, (0, 0))
    fixed: Quantized = {"scale": (scale,), "zero_point": (point,)} if scale else {}
    sketch.add([value], sketch.result(kind, shape, **fixed), SoftmaxOptions(beta))


@case("LOG_SOFTMAX", "float32 int8 uint8")
def log_soft_max(sketch: Sketch, kind: Type) -> None:
    shape = (*sketch.shape(0, 3, 5), sketch.random.choice([1, 2, 7, 40, 300]))
    results = {Type.INT8: 127, Type.UINT8: 255}
    drawn: Quantized = {"scale": (sketch.scale(1e-3, 4.0),)} if kind in results else {}
    fixed: Quantized = {"scale": (1 / 16,), "zero_point": (results[kind],)} if kind in results else {}
    sketch.add([sketch.operand(kind, shape, **drawn)], sketch.result(kind, shape, **fixed), version=1)
