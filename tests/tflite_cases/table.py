"""Functions of one operand."""

from __future__ import annotations

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.sketch import QUANTIZED
from tosajit.frontends.tflite.fields import Options
from tosajit.frontends.tflite.options import GeluOptions
from tosajit.frontends.tflite.schema import Type

SIGNED = "float32 int8 int16"
TYPES = "float32 int8 uint8 int16"


@case("TANH LOGISTIC", TYPES)
def sigmoids(sketch: Sketch, kind: Type) -> None:
    tangent = sketch.name == "TANH"
    fixed = {
        Type.INT8: (1 / 128, 0) if tangent else (1 / 256, -128),
        Type.UINT8: (1 / 128, 128) if tangent else (1 / 256, 0),
        Type.INT16: (1 / 32768, 0),
    }
    scale = sketch.random.choice([sketch.scale(1e-4, 2e-3), 2.0**-12, 2.0**-11, 2.0**-13])
    function(sketch, kind, fixed.get(kind), scale=scale if kind is Type.INT16 else sketch.scale())


@case("GELU", TYPES)
def gelu(sketch: Sketch, kind: Type) -> None:
    function(sketch, kind, None, options=GeluOptions(sketch.chance()), scale=word_scale(sketch, kind))


@case("EXP", SIGNED)
def exponential(sketch: Sketch, kind: Type) -> None:
    function(sketch, kind, None, scale=word_scale(sketch, kind))


@case("RSQRT LOG", SIGNED)
def positive(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    if kind is Type.FLOAT32:
        value = sketch.operand(kind, shape, constant=False, low=0.01, high=9.0)
        sketch.add([value], sketch.result(kind, shape))
        return
    point = -128 if kind is Type.INT8 else 0
    value = sketch.tensor(kind, shape, scale=(word_scale(sketch, kind),), zero_point=(point,))
    sketch.inputs.append(value)
    most = 32767 if kind is Type.INT16 else 127
    sketch.arrays.append(sketch.numbers.integers(point + 1, most, shape, endpoint=True).astype(
        np.int16 if kind is Type.INT16 else np.int8))  # fmt: skip
    sketch.add([value], sketch.result(kind, shape, scale=(word_scale(sketch, kind),)))


def word_scale(sketch: Sketch, kind: Type) -> float:
    """A scale with which the numbers of a type reach about as far as functions are interesting."""
    return sketch.scale(1e-4, 1e-3) if kind is Type.INT16 else sketch.scale(0.01, 0.1)


def function(
    sketch: Sketch,
    kind: Type,
    fixed: tuple[float, int] | None,
    scale: float,
    options: Options | None = None,
) -> None:
    """A function of one operand; `fixed` has the scale and the zero point that its result must have."""
    shape = sketch.shape()
    drawn = {"scale": (scale,)} if kind in QUANTIZED else {}
    value = sketch.operand(kind, shape, constant=False, **drawn)
    written = {"scale": (fixed[0],), "zero_point": (fixed[1],)} if fixed and kind in QUANTIZED else {}
    if not fixed and kind in QUANTIZED:
        written = {"scale": (word_scale(sketch, kind),)}
    sketch.add([value], sketch.result(kind, shape, **written), options)
