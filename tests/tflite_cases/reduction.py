"""Reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
from litert import Kernels

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.sketch import QUANTIZED
from tosajit.frontends.tflite.options import ArgOptions, ReducerOptions
from tosajit.frontends.tflite.schema import Type

TYPES = "float32 int8 uint8 int16 int32 int64"


@case("MEAN", TYPES)
def means(sketch: Sketch, kind: Type) -> None:
    reduction(sketch, kind, {"scale": (sketch.scale(0.01, 1.0),)} if kind in QUANTIZED else {})


@case("SUM", f"{TYPES} bool")
def sums(sketch: Sketch, kind: Type) -> None:
    # The reference kernel scales sums of these types wrongly, and does not saturate them.
    if kind in (Type.INT8, Type.INT16):
        sketch.kernels = Kernels.OPTIMISED
    sketch.steps = int(kind is Type.INT16)  # scaled in float32 there
    means(sketch, kind)


@case("REDUCE_MAX REDUCE_MIN", f"{TYPES} bool")
def extremes(sketch: Sketch, kind: Type) -> None:
    reduction(sketch, kind, None)


@case("REDUCE_PROD", "float32 int8 int16 int32 int64 bool")
def products(sketch: Sketch, kind: Type) -> None:
    sketch.relative = 1e-4
    least, most = (-2.0, 2.0) if kind is Type.FLOAT32 else (-0.03, 0.03)
    if kind is Type.INT16:  # more than two numbers have products beyond 32 bits
        shape = (*sketch.shape(0, 3), sketch.random.randint(1, 2))
        value = sketch.operand(kind, shape, constant=False, scale=(sketch.scale(1e-5, 1e-2),))
        given, keep = [value, sketch.constant(Type.INT32, [-1])], sketch.chance()
        result = sketch.result(kind, (*shape[:-1], 1) if keep else shape[:-1], scale=(sketch.scale(),))
        sketch.add(given, result, ReducerOptions(keep))
        return
    # Real numbers reach from about -1 to 1, so that their products do not leave 32 bits.
    scale = {"scale": (2.0**-8 * sketch.random.uniform(0.5, 1.0),)} if kind is Type.INT8 else {}
    wanted = {"scale": (sketch.scale(2.0**-7, 0.5),)} if kind is Type.INT8 else {}
    reduction(sketch, kind, wanted, low=least, high=most, **scale)


@case("REDUCE_ANY REDUCE_ALL", "bool")
def truths(sketch: Sketch, kind: Type) -> None:
    reduction(sketch, kind, {})


@case("ARG_MAX ARG_MIN", "float32 int8 uint8 int32 bool")
def places(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(1, 4)
    axis = sketch.random.randrange(-len(shape), len(shape))
    value = sketch.operand(kind, shape, constant=False, low=-0.1, high=0.1)
    result = np.delete(np.array(shape), axis)
    output = sketch.random.choice([Type.INT32, Type.INT64])
    places = [value, sketch.constant(Type.INT32, np.array(axis))]
    sketch.add(places, sketch.result(output, result.tolist()), ArgOptions(output))


def reduction(sketch: Sketch, kind: Type, quantized: dict[str, Any] | None, **drawn: Any) -> None:
    """A reduction; without `quantized`, the result has the scale of the operand."""
    shape = sketch.shape(1, 4)
    count = sketch.random.randint(1, len(shape))
    axes = sketch.random.sample(range(len(shape)), count)
    keep = sketch.chance()
    value = sketch.operand(kind, shape, constant=False, **drawn)
    if quantized is None:
        tensor = sketch.tensors[value]
        quantized = {"scale": tensor.scale, "zero_point": tensor.zero_point} if kind in QUANTIZED else {}
    result = np.zeros(shape).sum(axis=tuple(axes), keepdims=keep).shape
    signed = [axis - len(shape) if sketch.chance(0.3) else axis for axis in axes]
    places = [value, sketch.constant(Type.INT32, signed)]
    sketch.add(places, sketch.result(kind, result, **quantized), ReducerOptions(keep))
