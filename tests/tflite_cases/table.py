"""Functions of one operand."""

from __future__ import annotations

import numpy as np
from litert import Kernels

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.sketch import QUANTIZED, STORAGE, Quantized
from tosajit.frontends.tflite.fields import Options
from tosajit.frontends.tflite.options import GeluOptions
from tosajit.frontends.tflite.schema import Type

SIGNED = "float32 int8 int16"
TYPES = "float32 int8 uint8 int16"


@case("TANH LOGISTIC", f"float16 {TYPES}")
def sigmoids(sketch: Sketch, kind: Type) -> None:
    rounded_to(sketch, kind)
    tangent = sketch.name == "TANH"
    fixed = {
        Type.INT8: (1 / 128, 0) if tangent else (1 / 256, -128),
        Type.UINT8: (1 / 128, 128) if tangent else (1 / 256, 0),
        Type.INT16: (1 / 32768, 0),
    }
    scale = sketch.random.choice([sketch.scale(1e-4, 2e-3), 2.0**-12, 2.0**-11, 2.0**-13])
    function(sketch, kind, fixed.get(kind), scale=scale if kind is Type.INT16 else sketch.scale())


@case("GELU", f"float16 {TYPES}")
def gelu(sketch: Sketch, kind: Type) -> None:
    rounded_to(sketch, kind)
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


@case("ABS", "float32 int8 int16 int32")
def absolutes(sketch: Sketch, kind: Type) -> None:
    shape, alike = sketch.shape(), sketch.chance()
    scale: Quantized = {"scale": (sketch.scale(),)} if kind in QUANTIZED else {}
    if kind is Type.INT16 and sketch.chance(0.3):
        scale, alike = {"scale": (), "zero_point": ()}, True
    value = sketch.operand(kind, shape, constant=False, **scale)
    if kind is Type.INT16:
        sketch.arrays[0].reshape(-1)[0] = -32768
    sketch.add([value], sketch.result(kind, shape, **scale if alike else {}))


@case("NEG", "float32 float16 int8 int16 int32 int64")
def opposites(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    value = sketch.operand(kind, shape, constant=False)
    if kind in QUANTIZED:
        sketch.arrays[0].reshape(-1)[0] = np.iinfo(STORAGE[kind]).min
    sketch.add([value], sketch.result(kind, shape))


@case("SIGN", "float32 int32")
def signs(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    value = sketch.operand(kind, shape, constant=False)
    sketch.arrays[0][sketch.numbers.random(shape) < 0.2] = 0
    sketch.add([value], sketch.result(kind, shape))


@case("SQUARE", "float32")
def squares(sketch: Sketch, kind: Type) -> None:
    function(sketch, kind, None, 1.0)


@case("SQRT", SIGNED)
def roots(sketch: Sketch, kind: Type) -> None:
    if kind in QUANTIZED:
        positive(sketch, kind)
        return
    function(sketch, kind, None, 1.0)
    sketch.arrays[0] = np.where(sketch.arrays[0] < -3, 0, np.abs(sketch.arrays[0]))


@case("SIN COS", "float32 float16")
def waves(sketch: Sketch, kind: Type) -> None:
    rounded_to(sketch, kind)
    function(sketch, kind, None, 1.0)


@case("FLOOR", "float32 float16")
def floors(sketch: Sketch, kind: Type) -> None:
    quarters(sketch, kind)


@case("CEIL", "float32")
def ceilings(sketch: Sketch, kind: Type) -> None:
    sketch.kernels = Kernels.OPTIMISED  # the reference kernels lack it
    quarters(sketch, kind)


@case("ROUND", "float32 float16")
def nearest(sketch: Sketch, kind: Type) -> None:
    sketch.kernels = Kernels.OPTIMISED  # the reference kernels lack it
    quarters(sketch, kind)


@case("ELU", "float32 int8")
def elu(sketch: Sketch, kind: Type) -> None:
    sketch.kernels = Kernels.OPTIMISED  # the reference kernels lack it
    function(sketch, kind, None, scale=word_scale(sketch, kind))


def quarters(sketch: Sketch, kind: Type) -> None:
    """An operand with whole numbers, halves and quarters, and a result that is exact."""
    function(sketch, kind, None, 1.0)
    sketch.arrays[0] = np.round(sketch.arrays[0] * 4) / 4
    sketch.relative = sketch.absolute = 0.0


def rounded_to(sketch: Sketch, kind: Type) -> None:
    """Results of 16 bits may be rounded to either neighbour."""
    if kind is Type.FLOAT16:
        sketch.relative = 2.0**-10


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
    drawn: Quantized = {"scale": (scale,)} if kind in QUANTIZED else {}
    value = sketch.operand(kind, shape, constant=False, **drawn)
    written: Quantized = (
        {"scale": (fixed[0],), "zero_point": (fixed[1],)} if fixed and kind in QUANTIZED else {}
    )
    if not fixed and kind in QUANTIZED:
        written = {"scale": (word_scale(sketch, kind),)}
    sketch.add([value], sketch.result(kind, shape, **written), options)
