"""Activations."""

from __future__ import annotations

from dataclasses import replace

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.sketch import QUANTIZED, Quantized
from tosajit.frontends.tflite.fields import Options
from tosajit.frontends.tflite.options import LeakyReluOptions
from tosajit.frontends.tflite.schema import Type


@case("RELU RELU6", "float32 int8 uint8 int16")
def rectifiers(sketch: Sketch, kind: Type) -> None:
    one_operand(sketch, kind)


@case("RELU_N1_TO_1 RELU_0_TO_1 HARD_SWISH", "float32 int8 uint8")
def activations(sketch: Sketch, kind: Type) -> None:
    one_operand(sketch, kind)


@case("LEAKY_RELU", "float32 int8 uint8 int16")
def leaky(sketch: Sketch, kind: Type) -> None:
    one_operand(sketch, kind, LeakyReluOptions(sketch.random.choice([0.1, 0.3, 0.01, 0.5, 1.0, 1.7, -0.4])))


@case("PRELU", "float32 int8 uint8 int16")
def slopes(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    value = sketch.operand(kind, shape, constant=False)
    narrow = Type.INT8 if kind is Type.INT16 else kind  # the kernel of int16 reads slopes as bytes
    slope = sketch.operand(narrow, sketch.broadcast(shape), low=-1.0, high=sketch.random.choice([1.0, 2.0]))
    if kind is Type.INT16:
        sketch.tensors[slope] = replace(sketch.tensors[slope], zero_point=(0,))
    scale: Quantized = {"scale": (sketch.scale(0.01, 1.0),)} if kind in QUANTIZED else {}
    sketch.add([value, slope], sketch.result(kind, shape, **scale), version=1)


def one_operand(sketch: Sketch, kind: Type, options: Options | None = None) -> None:
    """An operand, and a result of its shape, sometimes of its scale."""
    shape = sketch.shape(1, 4, 9)
    scale: Quantized = (
        {"scale": (sketch.scale(),), "zero_point": (sketch.zero_point(kind),)} if kind in QUANTIZED else {}
    )
    value = sketch.operand(kind, shape, low=-8.0, high=8.0, **scale)
    factor = sketch.random.choice([1.0, 0.5, 1.3, 0.9, 4.0])
    if scale and not sketch.chance(0.3):
        scale = {"scale": (scale["scale"][0] * factor,), "zero_point": (sketch.zero_point(kind),)}
    sketch.add([value], sketch.result(kind, shape, **scale), options, version=1)
