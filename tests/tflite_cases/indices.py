"""Elements by indices, segments, diagonals, and what goes through elements in an order."""

from __future__ import annotations

from typing import Any

import numpy as np
from litert import Kernels

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.movement import same_scale
from tests.tflite_cases.sketch import STORAGE
from tosajit.arrays import Array
from tosajit.frontends.tflite.options import (
    BucketizeOptions,
    CastOptions,
    CumsumOptions,
    OneHotOptions,
    ReverseSequenceOptions,
)
from tosajit.frontends.tflite.schema import Type

NUMBERS = "float32 int8 uint8 int16 int32 int64"


@case("ONE_HOT", "float32 int8 uint8 int32 int64 bool")
def hots(sketch: Sketch, kind: Type) -> None:
    shape, depth, alike = sketch.shape(0, 3, 5), sketch.random.randint(1, 6), same_scale(sketch, kind)
    axis = sketch.random.randint(-1, len(shape))
    place = axis % (len(shape) + 1)
    given = [
        indices(sketch, sketch.numbers.integers(-1, depth + 1, shape)),
        sketch.constant(Type.INT32, depth),
        *(sketch.operand(kind, (), **alike) for _ in range(2)),
    ]
    result = (*shape[:place], depth, *shape[place:])
    sketch.add(given, sketch.result(kind, result, **alike), OneHotOptions(axis))


@case("GATHER_ND", f"float16 bool {NUMBERS}")
def gathers(sketch: Sketch, kind: Type) -> None:
    shape, alike = sketch.shape(), same_scale(sketch, kind)
    found = points(sketch, shape, sketch.shape(0, 2, 4))
    value = sketch.operand(kind, shape, constant=False, **alike)
    place = indices(sketch, found, (Type.INT16, Type.INT32, Type.INT64))
    sketch.add([value, place], sketch.result(kind, (*found.shape[:-1], *shape[found.shape[-1] :]), **alike))


@case("SCATTER_ND", "float32 int8 uint8 int32 int64 bool")
def scatters(sketch: Sketch, kind: Type) -> None:
    shape, alike = sketch.shape(), same_scale(sketch, kind)
    found = points(sketch, shape, sketch.shape(1, 2, 4))
    if sketch.chance() and sketch.numbers.integers(2):
        flat = np.unique(found.reshape(-1, found.shape[-1]), axis=0)
        found = sketch.numbers.permutation(flat)
    sketch.absolute = 1e-5  # sums may be in another order
    updates = sketch.operand(kind, (*found.shape[:-1], *shape[found.shape[-1] :]), constant=False, **alike)
    place = indices(sketch, found, (Type.INT32,))
    given = [place, updates, sketch.constant(Type.INT32, shape)]
    sketch.add(given, sketch.result(kind, shape, **alike))


@case("SPARSE_TO_DENSE", "float32 int8 uint8 int32 int64")
def sparse(sketch: Sketch, kind: Type) -> None:
    shape, alike, single = sketch.shape(), same_scale(sketch, kind), sketch.chance(0.3)
    found = np.unique(points(sketch, shape, (sketch.random.randint(1, 5),), len(shape)), axis=0)
    if len(shape) == 1 and sketch.chance():
        found = found.reshape(-1)
    if found.ndim == 1 and sketch.chance(0.3):
        found, single = found[0].reshape(()), True
    values = sketch.operand(kind, () if single else found.shape[:1], **alike)
    default = sketch.operand(kind, (), **alike)
    index = sketch.random.choice([Type.INT32, Type.INT64])
    given = [indices(sketch, found, (index,)), sketch.constant(index, shape), values, default]
    sketch.add(given, sketch.result(kind, shape, **alike))


@case("SEGMENT_SUM", "float32 int32")
def segments(sketch: Sketch, kind: Type) -> None:
    sketch.kernels = Kernels.OPTIMISED  # the reference kernels lack it
    shape = sketch.shape(1, 3)
    steps = sketch.numbers.integers(0, 2, shape[0])
    steps[0] = 0
    numbers = np.cumsum(steps)
    value = sketch.operand(kind, shape, constant=False)
    given = [value, sketch.constant(Type.INT32, numbers)]
    sketch.absolute = 1e-5
    sketch.add(given, sketch.result(kind, (int(numbers[-1]) + 1, *shape[1:])))


@case("UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_MAX", "float32 int32")
def unsorted_segments(sketch: Sketch, kind: Type) -> None:
    shape, count = sketch.shape(1, 3), sketch.random.randint(1, 5)
    rank = sketch.random.randint(1, len(shape))
    small = sketch.name.endswith("PROD") and kind is Type.INT32
    low, high = (-0.02, 0.03) if small else (-4.0, 4.0)
    value = sketch.operand(kind, shape, constant=False, low=low, high=high)
    numbers = indices(sketch, sketch.numbers.integers(-1, count, shape[:rank]), (Type.INT32,))
    sketch.absolute = 1e-5
    given = [value, numbers, sketch.constant(Type.INT32, count)]
    sketch.add(given, sketch.result(kind, (count, *shape[rank:])))


@case("CUMSUM", "float32 int32 int64")
def running_sums(sketch: Sketch, kind: Type) -> None:
    shape = (*sketch.shape(0, 3), sketch.random.randint(1, 20))
    value = sketch.operand(kind, shape, constant=False)
    sketch.absolute = 2e-5  # sums may be in another order
    axis = sketch.random.randrange(-len(shape), len(shape))
    given = [value, sketch.constant(Type.INT32, np.array(axis))]
    sketch.add(given, sketch.result(kind, shape), CumsumOptions(sketch.chance(), sketch.chance()))


@case("RANGE", "float32 int32 int64")
def sequences(sketch: Sketch, kind: Type) -> None:
    real = kind is Type.FLOAT32
    start, step = sketch.random.randint(-9, 9), sketch.random.choice([1, 2, 3, -1, -2])
    limit = start + step * sketch.random.randint(2, 9) - sketch.random.choice([0, 0, step // abs(step)])
    numbers = np.array([start, limit, step], STORAGE[kind]) * (0.3 if real else 1)
    numbers = numbers.astype(STORAGE[kind])
    count = int(np.ceil((numbers[1] - numbers[0]) / numbers[2]))
    given = [sketch.constant(kind, one) for one in numbers]
    sketch.add(given, sketch.result(kind, (max(count, 0),)))


@case("REVERSE_SEQUENCE", "float32 uint8 int16 int32 int64")
def turned_sequences(sketch: Sketch, kind: Type) -> None:
    shape, alike = sketch.shape(2, 4), same_scale(sketch, kind)
    axis, batch = sketch.random.sample(range(len(shape)), 2)
    value = sketch.operand(kind, shape, constant=False, **alike)
    lengths = indices(sketch, sketch.numbers.integers(0, shape[axis] + 1, shape[batch]))
    options = ReverseSequenceOptions(axis, batch)
    sketch.add([value, lengths], sketch.result(kind, shape, **alike), options)


@case("BUCKETIZE", "float32 int32 int64")
def buckets(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    value = sketch.operand(kind, shape, constant=False)
    if kind is Type.FLOAT32:
        sketch.arrays[0] = np.round(sketch.arrays[0] * 2) / 2
    scale = 1 if kind is Type.FLOAT32 else 100
    bounds = sketch.numbers.integers(-8, 8, sketch.random.randint(1, 6)) / 2 * scale
    options = BucketizeOptions(tuple(sorted(float(one) for one in bounds)))
    sketch.add([value], sketch.result(Type.INT32, shape), options)


@case("TOPK_V2", "float32 int8 uint8 int16 int32 int64")
def greatest(sketch: Sketch, kind: Type) -> None:
    shape, alike = (*sketch.shape(0, 2), sketch.random.randint(1, 40)), same_scale(sketch, kind)
    count = sketch.random.randint(1, shape[-1])
    value = sketch.operand(kind, shape, constant=False, low=-0.06, high=0.06, **alike)
    if sketch.chance():
        edge = np.iinfo(STORAGE[kind]).min if kind is not Type.FLOAT32 else np.float32(-1)
        edge = max(int(edge), np.iinfo(np.int32).min) if kind is not Type.FLOAT32 else edge
        sketch.arrays[0][sketch.numbers.random(shape) < 0.5] = edge
    results = [sketch.result(kind, (*shape[:-1], count), **alike)]
    results.append(sketch.result(Type.INT32, (*shape[:-1], count)))
    sketch.add([value, sketch.constant(Type.INT32, np.array(count))], results)


@case("MATRIX_DIAG", f"float16 bool {NUMBERS}")
def diagonals(sketch: Sketch, kind: Type) -> None:
    shape, alike = sketch.shape(1, 3), same_scale(sketch, kind)
    value = sketch.operand(kind, shape, constant=False, **alike)
    sketch.add([value], sketch.result(kind, (*shape, shape[-1]), **alike))
    counted_in_floats(sketch, kind)


@case("MATRIX_SET_DIAG", f"float16 bool {NUMBERS}")
def other_diagonals(sketch: Sketch, kind: Type) -> None:
    shape, alike = sketch.shape(2, 4), same_scale(sketch, kind)
    value = sketch.operand(kind, shape, constant=False, **alike)
    diagonal = sketch.operand(kind, (*shape[:-2], min(shape[-2:])), constant=False, **alike)
    sketch.add([value, diagonal], sketch.result(kind, shape, **alike))
    counted_in_floats(sketch, kind)


def counted_in_floats(sketch: Sketch, kind: Type) -> None:
    """LiteRT takes elements of one and two bytes without scales for those of four: it gets such."""
    if kind not in (Type.FLOAT16, Type.BOOL):
        return
    outer = sketch.drawn("main")
    known = Sketch(sketch.name, "known")
    known.tensors, known.inputs = list(outer.tensors), list(outer.inputs)
    wide = {place: known.tensor(Type.FLOAT32, one.shape) for place, one in enumerate(outer.tensors)}
    for place in outer.inputs:
        known.add([place], wide[place], CastOptions(), name="CAST")
    operator, result = outer.operators[-1], outer.outputs[-1]
    known.add([wide[place] for place in operator.inputs], wide[result])
    known.outputs.append(result)
    known.add([wide[result]], result, CastOptions(), name="CAST")
    sketch.known = known.drawn("main")


def points(
    sketch: Sketch, shape: tuple[int, ...], places: tuple[int, ...], depth: int | None = None
) -> Array:
    """Indices along the first dimensions of a shape."""
    depth = sketch.random.randint(1, len(shape)) if depth is None else depth
    found = [sketch.numbers.integers(0, extent, places) for extent in shape[:depth]]
    return np.stack(found, axis=-1)


def indices(sketch: Sketch, numbers: Any, kinds: tuple[Type, ...] = (Type.INT32, Type.INT64)) -> int:
    """Indices, constant or computed."""
    kind = sketch.random.choice(kinds)
    elements = np.asarray(numbers).astype(STORAGE[kind])
    plain: dict[str, Any] = {"scale": (), "zero_point": ()} if kind is Type.INT16 else {}
    if sketch.chance():
        return sketch.constant(kind, elements, **plain)
    place = sketch.tensor(kind, elements.shape, **plain)
    sketch.inputs.append(place)
    sketch.arrays.append(elements)
    return place
