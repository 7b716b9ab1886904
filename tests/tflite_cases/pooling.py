"""Pools."""

from __future__ import annotations

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.arithmetic import ACTIVATIONS
from tests.tflite_cases.convolution import out_size, window
from tests.tflite_cases.sketch import Quantized
from tosajit.frontends.tflite.options import Pool2DOptions
from tosajit.frontends.tflite.schema import Type


@case("L2_POOL_2D", "float32")
def roots(sketch: Sketch, kind: Type) -> None:
    pool(sketch, kind)


@case("AVERAGE_POOL_2D MAX_POOL_2D", "float32 int8 uint8 int16")
def pool(sketch: Sketch, kind: Type) -> None:
    kernel, stride, _, padding, image = window(sketch)
    channels = sketch.random.randint(1, 5)
    options = Pool2DOptions(
        padding, stride[1], stride[0], kernel[1], kernel[0], sketch.random.choice(ACTIVATIONS)
    )
    value = sketch.operand(kind, (2, *image, channels))
    same: Quantized = {"scale": sketch.tensors[value].scale, "zero_point": sketch.tensors[value].zero_point}
    size = out_size(image, kernel, stride, (1, 1), padding)
    result = sketch.result(kind, (2, *size, channels), **same if kind is not Type.FLOAT32 else {})
    sketch.add([value], result, options)
