"""Norms."""

from __future__ import annotations

from litert import Kernels

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.sketch import Quantized
from tosajit.frontends.tflite.options import FusedOptions, LocalResponseNormalizationOptions
from tosajit.frontends.tflite.schema import Type


@case("L2_NORMALIZATION", "float32 int8 uint8")
def norms(sketch: Sketch, kind: Type) -> None:
    shape = (*sketch.shape(0, 3, 5), sketch.random.choice([1, 2, 3, 17, 300, 9000]))
    results = {Type.INT8: 0, Type.UINT8: 128}
    value = sketch.operand(kind, shape, constant=False)
    if kind in results and sketch.chance(0.3):  # all but a few elements are zero
        point = sketch.tensors[value].zero_point[0]
        sketch.arrays[0][sketch.numbers.random(shape) < 0.97] = point
    fixed: Quantized = {"scale": (1 / 128,), "zero_point": (results[kind],)} if kind in results else {}
    sketch.add([value], sketch.result(kind, shape, **fixed), FusedOptions(), version=1)


@case("LOCAL_RESPONSE_NORMALIZATION", "float32")
def responses(sketch: Sketch, kind: Type) -> None:
    # The reference kernel leaves the last channel of a window out, which TensorFlow does not.
    sketch.kernels = Kernels.OPTIMISED
    shape = (*(sketch.random.randint(1, 5) for _ in range(3)), sketch.random.randint(1, 20))
    uniform = sketch.random.uniform
    options = LocalResponseNormalizationOptions(
        sketch.random.randint(0, 6), uniform(0.5, 2), uniform(0, 1), sketch.random.choice([0.5, 0.75, 1.0])
    )
    sketch.add([sketch.operand(kind, shape)], sketch.result(kind, shape), options)
