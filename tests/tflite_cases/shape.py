"""Shapes, parts of tensors, and tensors put together."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.arithmetic import ACTIVATIONS
from tests.tflite_cases.sketch import QUANTIZED, Quantized
from tests.tflite_cases.windows import spectrum
from tosajit.frontends.tflite.fields import Activation
from tosajit.frontends.tflite.options import (
    ConcatenationOptions,
    PackOptions,
    ReshapeOptions,
    ShapeOptions,
    SplitOptions,
    SqueezeOptions,
    StridedSliceOptions,
    UnpackOptions,
)
from tosajit.frontends.tflite.schema import Type

TYPES = "float32 float16 int8 uint8 int16 int32 int64 bool"


def same(sketch: Sketch, place: int) -> Quantized:
    """The scale of a tensor, for a result that has it too."""
    tensor = sketch.tensors[place]
    return {"scale": tensor.scale, "zero_point": tensor.zero_point} if tensor.type in QUANTIZED else {}


@case("RESHAPE", f"{TYPES} complex64")
def reshape(sketch: Sketch, kind: Type) -> None:
    if kind is Type.COMPLEX64:
        spectrum(sketch, "REAL", "RESHAPE")
        return
    shape = sketch.shape()
    value = sketch.operand(kind, shape, constant=False)
    target = list(shape)
    sketch.random.shuffle(target)
    if sketch.chance():
        target = [*target[:-1], 1, target[-1]]
    said = [-1 if place == 0 and sketch.chance(0.3) else one for place, one in enumerate(target)]
    if sketch.chance(0.2):
        sketch.add([value], sketch.result(kind, target, **same(sketch, value)), ReshapeOptions(tuple(said)))
        return
    places = [value, sketch.constant(Type.INT32, said)]
    sketch.add(places, sketch.result(kind, target, **same(sketch, value)), ReshapeOptions())


@case("SQUEEZE", f"{TYPES} complex64")
def squeeze(sketch: Sketch, kind: Type) -> None:
    if kind is Type.COMPLEX64:
        spectrum(sketch, "REAL", "SQUEEZE")
        return
    shape = [1 if sketch.chance() else extent for extent in sketch.shape()]
    value = sketch.operand(kind, shape, constant=False)
    ones = [place for place, extent in enumerate(shape) if extent == 1]
    chosen = sketch.random.sample(ones, sketch.random.randint(0, len(ones)))
    result = [one for place, one in enumerate(shape) if place not in (chosen or ones)]
    said = tuple(place - len(shape) if sketch.chance(0.3) else place for place in chosen)
    sketch.add([value], sketch.result(kind, result, **same(sketch, value)), SqueezeOptions(said))


@case("EXPAND_DIMS", f"{TYPES} complex64")
def expand_dims(sketch: Sketch, kind: Type) -> None:
    if kind is Type.COMPLEX64:
        spectrum(sketch, "REAL", "EXPAND_DIMS")
        return
    shape = sketch.shape(1, 4)
    value = sketch.operand(kind, shape, constant=False)
    axis = sketch.random.randint(-len(shape) - 1, len(shape))
    places = [value, sketch.constant(Type.INT32, [axis])]
    result = np.expand_dims(np.empty(shape), axis).shape
    sketch.add(places, sketch.result(kind, result, **same(sketch, value)))


@case("TRANSPOSE", TYPES)
def transpose(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(1, 5)
    value = sketch.operand(kind, shape, constant=False)
    perms = sketch.random.sample(range(len(shape)), len(shape))
    places = [value, sketch.constant(Type.INT32, perms)]
    sketch.add(places, sketch.result(kind, [shape[one] for one in perms], **same(sketch, value)))


@case("SHAPE", "float32")
def shape(sketch: Sketch, kind: Type) -> None:
    extents = sketch.shape(1, 5)
    value, output = (
        sketch.operand(kind, extents, constant=False),
        sketch.random.choice([Type.INT32, Type.INT64]),
    )
    sketch.add([value], sketch.result(output, [len(extents)]), ShapeOptions(output))


@case("RANK", "float32")
def rank(sketch: Sketch, kind: Type) -> None:
    sketch.add([sketch.operand(kind, sketch.shape(), constant=False)], sketch.result(Type.INT32, []))


@case("SLICE", TYPES)
def slice_(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(1, 5)
    value = sketch.operand(kind, shape, constant=False)
    starts = [sketch.random.randrange(extent) for extent in shape]
    size = [sketch.random.randint(1, extent - start) for extent, start in zip(shape, starts, strict=True)]
    said = [-1 if start + one == extent and sketch.chance(0.3) else one
            for start, one, extent in zip(starts, size, shape, strict=True)]  # fmt: skip
    places = [value, sketch.constant(Type.INT32, starts), sketch.constant(Type.INT32, said)]
    sketch.add(places, sketch.result(kind, size, **same(sketch, value)))


@case("STRIDED_SLICE", TYPES)
def strided_slice(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(1, 4)
    masks = dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    index: list[Any] = []
    begin, end, step = [], [], []
    count = sketch.random.randint(1, len(shape))
    for number in range(count):
        extent = shape[number]
        begin.append(sketch.random.randint(-extent, extent - 1))
        step.append(sketch.random.choice([1, 1, 2, 3, -1, -2]))
        end.append(begin[-1] % extent + (1 if step[-1] > 0 else -1) * sketch.random.randint(1, 4))
        if end[-1] < 0 or sketch.chance(0.3):
            masks["end"] |= 1 << number
        if sketch.chance(0.3):
            masks["begin"] |= 1 << number
        if sketch.chance(0.2) and step[-1] == 1:
            masks["shrink_axis"] |= 1 << number
            masks["begin"] &= ~(1 << number)
            index.append(begin[-1])
            continue
        index.append(
            slice(
                None if masks["begin"] >> number & 1 else begin[-1],
                None if masks["end"] >> number & 1 else end[-1],
                step[-1],
            )
        )
    result = np.empty(shape)[tuple(index)].shape
    if 0 in result:
        masks = {**masks, "begin": (1 << count) - 1, "end": (1 << count) - 1, "shrink_axis": 0}
        result = np.empty(shape)[tuple(slice(None, None, one) for one in step)].shape
    value = sketch.operand(kind, shape, constant=False)
    places = [value, *(sketch.constant(Type.INT32, one) for one in (begin, end, step))]
    begin_mask, end_mask, ellipsis, new_axis, shrink_axis = masks.values()
    options = StridedSliceOptions(begin_mask, end_mask, ellipsis, new_axis, shrink_axis)
    sketch.add(places, sketch.result(kind, result, **same(sketch, value)), options)


@case("CONCATENATION", TYPES)
def concatenation(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(1, 4)
    axis = sketch.random.randrange(-len(shape), len(shape))
    extents = [sketch.random.randint(1, 5) for _ in range(sketch.random.randint(1, 4))]
    shapes = [tuple(one if place == axis % len(shape) else extent for place, extent in enumerate(shape))
              for one in extents]  # fmt: skip
    places = [sketch.operand(kind, shapes[0], constant=False)]
    fixed = same(sketch, places[0])
    # Only those of uint8 may have scales of their own.
    own = {} if kind is Type.UINT8 else fixed
    places += [sketch.operand(kind, one, constant=False, **own) for one in shapes[1:]]
    plain = kind in (Type.INT32, Type.INT64, Type.BOOL) or kind in QUANTIZED
    activation = Activation.NONE if plain else sketch.random.choice(ACTIVATIONS[:1])
    result = [sum(extents) if place == axis % len(shape) else one for place, one in enumerate(shape)]
    options = ConcatenationOptions(axis, activation)
    sketch.add(places, sketch.result(kind, result, **fixed), options)


@case("PACK", "float32 int8 uint8 int16 int32 int64")
def pack(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(1, 3)
    axis, count = sketch.random.randint(-len(shape) - 1, len(shape)), sketch.random.randint(1, 4)
    places = [sketch.operand(kind, shape, constant=False)]
    fixed = same(sketch, places[0])
    places += [sketch.operand(kind, shape, constant=False, **fixed) for _ in range(count - 1)]
    result = np.stack([np.empty(shape)] * count, axis).shape
    sketch.add(places, sketch.result(kind, result, **fixed), PackOptions(count, axis))


@case("UNPACK", "float32 float16 int8 uint8 int16 int32 bool")
def unpack(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(1, 4, 5)
    axis = sketch.random.randrange(-len(shape), len(shape))
    value = sketch.operand(kind, shape, constant=False)
    part = np.delete(np.array(shape), axis).tolist()
    results = [sketch.result(kind, part, **same(sketch, value)) for _ in range(shape[axis])]
    sketch.add([value], results, UnpackOptions(shape[axis], axis))


@case("SPLIT", "float32 int8 uint8 int16 int32 int64")
def split(sketch: Sketch, kind: Type) -> None:
    shape, count = list(sketch.shape(1, 4)), sketch.random.randint(1, 4)
    axis = sketch.random.randrange(-len(shape), len(shape))
    part = list(shape)
    shape[axis] *= count
    value = sketch.operand(kind, shape, constant=False)
    results = [sketch.result(kind, part, **same(sketch, value)) for _ in range(count)]
    sketch.add([sketch.constant(Type.INT32, np.array(axis)), value], results, SplitOptions(count))


@case("SPLIT_V", "float32 int8 uint8 int16 int32 int64")
def split_v(sketch: Sketch, kind: Type) -> None:
    shape, sizes = (
        list(sketch.shape(1, 4)),
        [sketch.random.randint(1, 4) for _ in range(sketch.random.randint(1, 4))],
    )
    axis = sketch.random.randrange(-len(shape), len(shape))
    shape[axis] = sum(sizes)
    value = sketch.operand(kind, shape, constant=False)
    parts = [
        [size if place == axis % len(shape) else one for place, one in enumerate(shape)] for size in sizes
    ]
    said = [-1 if place == 0 and sketch.chance(0.3) else size for place, size in enumerate(sizes)]
    results = [sketch.result(kind, part, **same(sketch, value)) for part in parts]
    places = [value, sketch.constant(Type.INT32, said), sketch.constant(Type.INT32, np.array(axis))]
    sketch.add(places, results, SplitOptions(len(sizes)))
