"""Quotients, powers and angles."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.arithmetic import ACTIVATIONS
from tests.tflite_cases.sketch import QUANTIZED, Quantized
from tosajit.arrays import Array
from tosajit.frontends.tflite.fields import Activation, Options
from tosajit.frontends.tflite.options import FusedOptions
from tosajit.frontends.tflite.schema import Type


@case("DIV", "float32 int8 uint8 int16 int32")
def quotients(sketch: Sketch, kind: Type) -> None:
    activation = Activation.NONE if kind is Type.INT32 else sketch.random.choice(ACTIVATIONS)
    divided(sketch, kind, FusedOptions(activation))


@case("FLOOR_DIV", "float32 int8 int16 int32")
def floors(sketch: Sketch, kind: Type) -> None:
    divided(sketch, kind, None)


@case("FLOOR_MOD", "float32 int8 int16 int32 int64")
def rests(sketch: Sketch, kind: Type) -> None:
    divided(sketch, kind, None)


def divided(sketch: Sketch, kind: Type, options: Options | None) -> None:
    """Two operands, of which the second one is nowhere zero, less its zero point or as it is stored."""
    shape = sketch.shape()
    shapes = [shape, sketch.broadcast(shape)]
    if sketch.chance():
        shapes.reverse()
    value = sketch.operand(kind, shapes[0], constant=False)
    divisor: dict[str, Any] = {}
    if kind in QUANTIZED:
        divisor = {"scale": (sketch.scale(),), "zero_point": (sketch.zero_point(kind),)}
    elements = nonzero(sketch, kind, shapes[1], divisor.get("zero_point", (0,))[0] if options else 0)
    if sketch.chance(0.3):
        second = sketch.constant(kind, elements, **divisor)
    else:
        second = sketch.tensor(kind, shapes[1], **divisor)
        sketch.inputs.append(second)
        sketch.arrays.append(elements)
    result: Quantized = {"scale": (sketch.scale(0.01, 20.0),)} if kind in QUANTIZED else {}
    sketch.add([value, second], sketch.result(kind, np.broadcast_shapes(*shapes), **result), options)


def nonzero(sketch: Sketch, kind: Type, shape: tuple[int, ...], zero: int) -> Array:
    """Elements none of which is a number; real ones are quarters, some of which divide others."""
    elements = sketch.elements(kind, shape)
    if kind is Type.FLOAT32:
        sketch.arrays[0] = np.round(sketch.arrays[0] * 4) / 4
        elements = np.round(elements * 4) / 4
    return np.where(elements == zero, elements.dtype.type(zero + 1 if zero < 100 else zero - 1), elements)


@case("POW", "float32 int32")
def powers(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    value = sketch.operand(kind, shape, constant=False)
    whole = kind is Type.INT32 or sketch.chance()
    bound = sketch.random.choice([(), (1,), shape, sketch.broadcast(shape)])
    exponents = np.asarray(sketch.numbers.integers(0 if kind is Type.INT32 else -3, 6, bound))
    if not whole:
        exponents = np.asarray(sketch.numbers.uniform(-2, 3, bound))
    most = 2 ** np.floor(30 / max(int(np.max(exponents)), 1)) if kind is Type.INT32 else 3
    low, high = -int(min(most, 50)), int(min(most, 50))
    sketch.arrays[0] = (
        sketch.numbers.integers(low, high, shape).astype(np.int32)
        if kind is Type.INT32
        else sketch.numbers.uniform(-3 if whole else 0.01, 3, shape).astype(np.float32)
    )
    stored = exponents.astype(np.int32 if kind is Type.INT32 else np.float32)
    if sketch.chance():
        second = sketch.constant(kind, stored)
    else:
        second = sketch.tensor(kind, bound)
        sketch.inputs.append(second)
        sketch.arrays.append(stored)
    sketch.add([value, second], sketch.result(kind, shape))


@case("ATAN2", "float32 float16")
def angles(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    sketch.relative = 1e-5 if kind is Type.FLOAT32 else 1e-3
    operands = [sketch.operand(kind, shape, constant=False) for _ in range(2)]
    for place in range(2):
        sketch.arrays[place][sketch.numbers.random(shape) < 0.1] = 0
    sketch.add(operands, sketch.result(kind, shape))
