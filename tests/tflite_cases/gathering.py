"""Gathering."""

from __future__ import annotations

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.movement import same_scale
from tests.tflite_cases.shape import same
from tests.tflite_cases.sketch import QUANTIZED, Quantized
from tosajit.frontends.tflite.fields import Combiner
from tosajit.frontends.tflite.options import EmbeddingLookupSparseOptions, GatherOptions
from tosajit.frontends.tflite.schema import Type


@case("GATHER", "float32 float16 int8 uint8 int16 int32 int64 bool")
def gather(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(1, 4)
    axis = sketch.random.randrange(len(shape))
    shared = sketch.random.randint(0, axis) if sketch.chance(0.4) else 0
    places = (*shape[:shared], *sketch.shape(0, 2, 4))
    indices = sketch.numbers.integers(0, shape[axis], places)
    value = sketch.operand(kind, shape, constant=False)
    index_type = sketch.random.choice([Type.INT32, Type.INT32, Type.INT64])
    if sketch.chance():
        place = sketch.constant(index_type, indices)
    else:
        place = sketch.tensor(index_type, places)
        sketch.inputs.append(place)
        sketch.arrays.append(indices.astype(np.int32 if index_type is Type.INT32 else np.int64))
    result = (*shape[:axis], *places[shared:], *shape[axis + 1 :])
    said = axis - len(shape) if sketch.chance(0.3) else axis
    sketch.add(
        [value, place], sketch.result(kind, result, **same(sketch, value)), GatherOptions(said, shared)
    )


@case("EMBEDDING_LOOKUP", "int32")
def embedding(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(2, 3)
    table_type = sketch.random.choice([Type.FLOAT32, Type.INT8])
    count = sketch.random.randint(1, 6)
    place = sketch.tensor(kind, (count,))
    sketch.inputs.append(place)
    sketch.arrays.append(sketch.numbers.integers(0, shape[0], count).astype(np.int32))
    result = (count, *shape[1:])
    if sketch.chance():
        rows = sketch.chance()
        scales = tuple(sketch.scale() for _ in range(shape[0] if rows else 1))
        drawn: Quantized = {"scale": scales, "zero_point": (0,) * len(scales)}
        if sketch.chance() and int(np.prod(shape[1:])) % 2 == 0:  # LiteRT takes rows that fill their bytes
            table = sketch.packed(Type.INT4, shape, **drawn)
        else:
            table = sketch.constant(Type.INT8, sketch.elements(Type.INT8, shape), **drawn)
        sketch.add([place, table], sketch.result(Type.FLOAT32, result))
        return
    table = sketch.operand(table_type, shape, constant=True)
    fixed = same(sketch, table) if table_type in QUANTIZED else {}
    sketch.add([place, table], sketch.result(table_type, result, **fixed))


@case("EMBEDDING_LOOKUP_SPARSE", "float32")
def sums_of_rows(sketch: Sketch, kind: Type) -> None:
    rank, size = sketch.random.randint(1, 3), sketch.random.randint(1, 12)
    extents = [sketch.random.randint(1, 4) for _ in range(rank)]
    table = sketch.operand(kind, sketch.shape(2, 3, 5), constant=sketch.chance())
    shape = sketch.tensors[table].shape
    places = sketch.given(Type.INT32, sketch.numbers.integers(0, shape[0], size))
    rows = sketch.numbers.integers(0, extents, (size, rank))
    rows = rows[np.lexsort(rows.T[::-1])]  # LiteRT wants those of one sum behind each other
    indices = sketch.given(Type.INT32, rows)
    weights = sketch.operand(kind, (size,), constant=False, low=0.1, high=2.0)
    dense = sketch.constant(Type.INT32, extents)
    result = sketch.result(kind, (*extents[:-1], *shape[1:]))
    options = EmbeddingLookupSparseOptions(sketch.random.choice(list(Combiner)))
    sketch.add([places, indices, dense, weights, table], result, options)


@case("HASHTABLE_LOOKUP", "float32 int8 uint8 int16 int32 int64")
def rows_by_keys(sketch: Sketch, kind: Type) -> None:
    count, size = sketch.random.randint(1, 9), sketch.random.randint(1, 9)
    keys = np.sort(sketch.numbers.choice(np.arange(-20, 20), count, replace=False))
    wanted = sketch.given(Type.INT32, sketch.numbers.choice([*keys, 33, -7], size))
    like = same_scale(sketch, kind)
    inner = sketch.shape(0, 2, 4)
    values = sketch.operand(kind, (count, *inner), **like)
    results = [sketch.result(kind, (size, *inner), **like)]
    results.append(sketch.result(Type.UINT8, (size,), scale=(), zero_point=()))
    sketch.add([wanted, sketch.constant(Type.INT32, keys), values], results)
