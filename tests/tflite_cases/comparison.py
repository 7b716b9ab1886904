"""Comparisons, logic, bits, and choices."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.sketch import QUANTIZED, Quantized
from tosajit.frontends.tflite.schema import Type

NUMBERS = "float32 float16 int8 uint8 int16 int32 int64"


@case("EQUAL NOT_EQUAL", f"{NUMBERS} bool")
def equality(sketch: Sketch, kind: Type) -> None:
    if kind is Type.BOOL:
        pair(sketch, kind, kind)
    else:
        comparison(sketch, kind)


@case("GREATER GREATER_EQUAL LESS LESS_EQUAL", NUMBERS)
def comparison(sketch: Sketch, kind: Type) -> None:
    scale = (sketch.scale(),)
    point = (sketch.zero_point(kind),) if kind in QUANTIZED else ()
    alike: Quantized = {"scale": scale, "zero_point": point} if kind in QUANTIZED and sketch.chance() else {}
    pair(sketch, kind, Type.BOOL, **alike)


@case("LOGICAL_AND LOGICAL_OR", "bool")
def logic(sketch: Sketch, kind: Type) -> None:
    pair(sketch, kind, kind)


@case("LOGICAL_NOT", "bool")
def negation(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    sketch.add([sketch.operand(kind, shape)], sketch.result(kind, shape))


@case("BITWISE_XOR RIGHT_SHIFT", "int8 uint8 int16 int32")
def bits(sketch: Sketch, kind: Type) -> None:
    plain: Quantized = {"scale": (), "zero_point": ()}
    pair(sketch, kind, kind, low=-0.4, high=0.4, **plain)


@case("MAXIMUM MINIMUM", NUMBERS)
def extremes(sketch: Sketch, kind: Type) -> None:
    alike: Quantized = {"scale": (sketch.scale(),)} if kind in QUANTIZED else {}
    if sketch.chance(0.7):
        pair(sketch, kind, kind, **alike)
        return
    shape = sketch.shape()
    bound = sketch.random.choice([(), (1,), (1,) * len(shape)])
    operands = [sketch.operand(kind, shape, **alike), sketch.operand(kind, bound, constant=True, **alike)]
    sketch.random.shuffle(operands)
    sketch.add(operands, sketch.result(kind, shape, **alike), version=1)


@case("SELECT SELECT_V2", f"{NUMBERS} bool")
def choices(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    quantized: Quantized = {"scale": (sketch.scale(),), "zero_point": (sketch.zero_point(kind),)}
    alike: Quantized = quantized if kind in QUANTIZED else {}
    if sketch.name == "SELECT":
        condition, first, second = sketch.random.choice([shape, (), shape[:1]]), shape, shape
    else:
        shapes = [shape, sketch.broadcast(shape), sketch.broadcast(shape)]
        sketch.random.shuffle(shapes)
        condition, first, second = shapes
    places = [
        sketch.operand(Type.BOOL, condition, constant=False),
        sketch.operand(kind, first, **alike),
        sketch.operand(kind, second, **alike),
    ]
    sketch.add(places, sketch.result(kind, shape, **alike), version=1)


def pair(
    sketch: Sketch,
    kind: Type,
    result: Type,
    low: float = -4.0,
    high: float = 4.0,
    **drawn: Unpack[Quantized],
) -> None:
    """Two operands, one of which may be broadcast; sometimes they share elements."""
    shape = sketch.shape()
    shapes = [shape, sketch.broadcast(shape)]
    if sketch.chance():
        shapes.reverse()
    operands = [sketch.operand(kind, one, low=low, high=high, **drawn) for one in shapes]
    if len(sketch.arrays) == 2 and sketch.arrays[0].shape == sketch.arrays[1].shape:
        same = sketch.numbers.random(shape) < 0.3
        sketch.arrays[1] = np.where(same, sketch.arrays[0], sketch.arrays[1])
    shared: Quantized = drawn if result in QUANTIZED else {}
    sketch.add(operands, sketch.result(result, np.broadcast_shapes(*shapes), **shared), version=1)
