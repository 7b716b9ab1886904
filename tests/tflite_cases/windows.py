"""Windows, elements with gaps between them, spectra, and shapes."""

from __future__ import annotations

from math import prod

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.movement import same_scale
from tosajit.frontends.tflite.fields import ReduceFunction
from tosajit.frontends.tflite.options import CastOptions, ReduceWindowOptions, ReshapeOptions, SqueezeOptions
from tosajit.frontends.tflite.schema import Type

FUNCTIONS = (ReduceFunction.ADD, ReduceFunction.MUL, ReduceFunction.MINIMUM, ReduceFunction.MAXIMUM)
OF_TRUTHS = (ReduceFunction.ALL, ReduceFunction.ANY)


@case("DILATE", "float32 float16 int8 uint8 int16 int32 int64 bool")
def gaps(sketch: Sketch, kind: Type) -> None:
    shape, alike = sketch.shape(), same_scale(sketch, kind)
    steps = [sketch.random.randint(1, 3) for _ in shape]
    value = sketch.operand(kind, shape, constant=False, **alike)
    between = sketch.operand(kind, (), constant=True, **alike)
    result = [(extent - 1) * step + 1 for extent, step in zip(shape, steps, strict=True)]
    sketch.add([value, sketch.constant(Type.INT32, steps), between], sketch.result(kind, result, **alike))


@case("REDUCE_WINDOW", "float32 int8 uint8 int16 int32 int64 bool")
def windows(sketch: Sketch, kind: Type) -> None:
    shape, alike = sketch.shape(1, 3), same_scale(sketch, kind)
    sizes = [sketch.random.randint(1, min(3, extent)) for extent in shape]
    gaps = [sketch.random.randint(1, (extent - 1) // max(size - 1, 1) or 1)
            for extent, size in zip(shape, sizes, strict=True)]  # fmt: skip
    strides = [sketch.random.randint(1, 3) for _ in shape]
    function = sketch.random.choice(OF_TRUTHS if kind is Type.BOOL else FUNCTIONS)
    low, high = (-0.02, 0.03) if function is ReduceFunction.MUL and kind is not Type.FLOAT32 else (-2.0, 2.0)
    value = sketch.operand(kind, shape, constant=False, low=low, high=high, **alike)
    first = sketch.operand(kind, (), low=low, high=high, **alike)
    numbers = [sketch.constant(Type.INT64, one) for one in (sizes, strides, gaps)]
    sizes_ = zip(shape, sizes, strides, gaps, strict=True)
    result = [(extent - (size - 1) * gap - 1) // stride + 1 for extent, size, stride, gap in sizes_]
    sketch.relative, sketch.absolute = 1e-4, 1e-5  # sums and products may be in another order
    written = sketch.result(kind, result, **alike)
    sketch.add([value, first, *numbers], written, ReduceWindowOptions(function))


@case("RFFT2D", "float32")
def spectra(sketch: Sketch, kind: Type) -> None:
    spectrum(sketch, sketch.random.choice(["REAL", "IMAG", "COMPLEX_ABS", ""]))


@case("REAL IMAG COMPLEX_ABS", "complex64")
def halves(sketch: Sketch, kind: Type) -> None:
    if sketch.chance():
        spectrum(sketch, sketch.name)
        return
    shape = sketch.shape()
    parts = [sketch.elements(Type.FLOAT32, shape) for _ in range(2)]
    given = sketch.given(kind, parts[0] + 1j * parts[1])
    sketch.add([given], sketch.result(Type.FLOAT32, shape))


def spectrum(sketch: Sketch, read: str, moved: str = "") -> None:
    """The spectrum of images, perhaps in another shape, and perhaps real numbers that are read from it."""
    leading = (1, *sketch.shape(0, 1)) if moved else sketch.shape(0, 2, 3)
    shape = (*leading, sketch.random.randint(1, 17), sketch.random.randint(1, 17))
    extents = [2 ** sketch.random.randint(1, 4) for _ in range(2)]
    value = sketch.operand(Type.FLOAT32, shape, constant=False)
    result = (*shape[:-2], extents[0], extents[1] // 2 + 1)
    complex_ = sketch.tensor(Type.COMPLEX64, result) if read else sketch.result(Type.COMPLEX64, result)
    sketch.absolute = 1e-6 * float(np.prod(extents))  # of the sum of sizes that each number is made of
    sketch.add([value, sketch.constant(Type.INT32, extents)], complex_, name="RFFT2D")
    if moved:
        complex_, result = _shaped(sketch, complex_, result, moved)
    if read:
        options = CastOptions(Type.COMPLEX64, Type.FLOAT32) if read == "CAST" else None
        sketch.add([complex_], sketch.result(Type.FLOAT32, result), options, name=read)


def _shaped(sketch: Sketch, value: int, shape: tuple[int, ...], name: str) -> tuple[int, tuple[int, ...]]:
    """The same complex numbers without their first dimension, with one more, or in a line."""
    result = {"SQUEEZE": shape[1:], "EXPAND_DIMS": (*shape[:1], 1, *shape[1:])}.get(name, (prod(shape),))
    options = SqueezeOptions((0,)) if name == "SQUEEZE" else ReshapeOptions() if name == "RESHAPE" else None
    said = {"RESHAPE": result, "EXPAND_DIMS": (1,)}
    operands = [value, *(sketch.constant(Type.INT32, said[one]) for one in (name,) if one in said)]
    moved = sketch.tensor(Type.COMPLEX64, result)
    sketch.add(operands, moved, options, name=name)
    return moved, result


@case("BROADCAST_ARGS", "int32 int64")
def shared_shapes(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    given = [shape, sketch.broadcast(shape)]
    sketch.random.shuffle(given)
    places = [sketch.constant(kind, one) for one in given]
    sketch.add(places, sketch.result(kind, (len(shape),)))
