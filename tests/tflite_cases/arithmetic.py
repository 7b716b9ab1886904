"""Sums, differences and products."""

from __future__ import annotations

from math import prod

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.sketch import Quantized
from tosajit.frontends.tflite.fields import Activation
from tosajit.frontends.tflite.options import AddOptions, FusedOptions
from tosajit.frontends.tflite.schema import Type

ACTIVATIONS = (Activation.NONE, Activation.NONE, Activation.RELU, Activation.RELU6, Activation.RELU_N1_TO_1)
GROWN = 32
"""By how much products may be scaled up: of greater ones of int16, LiteRT drops the highest bits."""


@case("ADD", "float16 float32 int8 uint8 int16 int32 int64")
def sums_of_all(sketch: Sketch, kind: Type) -> None:
    sums(sketch, kind)


@case("SUB", "float32 int8 uint8 int16 int32 int64")
def sums(sketch: Sketch, kind: Type) -> None:
    options = AddOptions(sketch.random.choice(ACTIVATIONS), pot_scale_int16=False)
    two_operands(sketch, kind, options if kind not in (Type.INT32, Type.INT64) else AddOptions())


@case("MUL", "float16 float32 int8 uint8 int16 int32 int64")
def products(sketch: Sketch, kind: Type) -> None:
    plain = kind in (Type.INT32, Type.INT64)
    two_operands(sketch, kind, FusedOptions(Activation.NONE if plain else sketch.random.choice(ACTIVATIONS)))


def two_operands(sketch: Sketch, kind: Type, options: AddOptions | FusedOptions | None) -> None:
    shape = sketch.shape()
    operands = [sketch.operand(kind, shape), sketch.operand(kind, sketch.broadcast(shape))]
    if sketch.chance():
        operands.reverse()
    scale: Quantized = {}
    if kind in (Type.INT8, Type.UINT8, Type.INT16):
        product = prod(sketch.tensors[place].scale[0] for place in operands)
        scale = {"scale": (max(sketch.scale(0.02, 1.0), product / GROWN),)}
    shapes = [sketch.tensors[place].shape for place in operands]
    result = sketch.result(kind, np.broadcast_shapes(*shapes), **scale)
    sketch.add(operands, result, options)


@case("SQUARED_DIFFERENCE", "float32 int8 int32")
def squares(sketch: Sketch, kind: Type) -> None:
    two_operands(sketch, kind, None)


@case("ADD_N", "float32 int32")
def many(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    operands = [sketch.operand(kind, shape) for _ in range(sketch.random.randint(2, 5))]
    sketch.add(operands, sketch.result(kind, shape))
