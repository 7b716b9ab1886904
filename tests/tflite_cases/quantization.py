"""Real numbers as integers, and back; other types."""

from __future__ import annotations

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.files import RawSparsity
from tests.tflite_cases.sketch import QUANTIZED, STORAGE, Quantized
from tests.tflite_cases.windows import spectrum
from tosajit.frontends.tflite.options import CastOptions, FakeQuantOptions
from tosajit.frontends.tflite.schema import Type

INTEGERS = (Type.INT8, Type.UINT8, Type.INT16, Type.INT32, Type.INT64)
RESULTS = {
    Type.FLOAT32: QUANTIZED,
    Type.INT8: (Type.INT8, Type.UINT8),
    Type.UINT8: (Type.INT8, Type.UINT8),
    Type.INT16: (Type.INT8, Type.INT16, Type.INT32),
    Type.INT32: (Type.INT8, Type.INT16),
}
VERSIONS = {"QUANTIZE": 2, "DEQUANTIZE": 3, "CAST": 1}


@case("QUANTIZE", "float32 int8 uint8 int16 int32")
def quantizing(sketch: Sketch, kind: Type) -> None:
    shape, wanted = sketch.shape(), sketch.random.choice(RESULTS[kind])
    if kind is Type.FLOAT32:
        real_numbers(sketch, shape, wanted)
        return
    given: Quantized = {"scale": (sketch.scale(),), "zero_point": (sketch.zero_point(kind),)}
    scale = given["scale"][0] * sketch.random.choice([1.0, 0.5, 0.9, 3.7, 11.0])
    value = sketch.operand(kind, shape, low=-100.0, high=100.0, **given)
    quantized: Quantized = {"scale": (scale,), "zero_point": (sketch.zero_point(wanted),)}
    sketch.add([value], sketch.result(wanted, shape, **quantized), version=VERSIONS["QUANTIZE"])


def real_numbers(sketch: Sketch, shape: tuple[int, ...], wanted: Type) -> None:
    """Real numbers to be quantised: by powers of two, with many halves, or by any scale."""
    even = sketch.chance()
    scale = 2.0 ** sketch.random.randint(-8, 0) if even else sketch.scale(0.01, 0.5)
    # TOSA has no division: beside a half, one over another scale may lead to the neighbouring integer.
    sketch.steps = 0 if even else 1
    places = sketch.numbers.integers(-700, 700, shape) / 4 * (64 if wanted is Type.INT16 else 1)
    value = sketch.operand(Type.FLOAT32, shape, constant=False)
    sketch.arrays[-1] = (
        (places * scale).astype(np.float32) if even else sketch.arrays[-1] * np.float32(40 * scale)
    )
    quantized: Quantized = {"scale": (scale,), "zero_point": (sketch.zero_point(wanted),)}
    sketch.add([value], sketch.result(wanted, shape, **quantized), version=VERSIONS["QUANTIZE"])


@case("DEQUANTIZE", "float16 int8 uint8 int16")
def dequantizing(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    sketch.relative = sketch.absolute = 0.0
    value = sketch.operand(kind, shape, constant=False)
    sketch.add([value], sketch.result(Type.FLOAT32, shape), version=VERSIONS["DEQUANTIZE"])


@case("FAKE_QUANT", "float32")
def grids(sketch: Sketch, kind: Type) -> None:
    shape, low, high = sketch.shape(), sketch.random.uniform(-5, 0), sketch.random.uniform(0.1, 5)
    value = sketch.operand(kind, shape, constant=False)
    options = FakeQuantOptions(low, high, sketch.random.choice([4, 8, 16]))
    sketch.add([value], sketch.result(kind, shape), options)


@case("CAST", "float32 float16 int8 uint8 int16 int32 int64 bool complex64")
def casts(sketch: Sketch, kind: Type) -> None:
    if kind is Type.COMPLEX64:
        spectrum(sketch, "CAST")
        return
    shape = sketch.shape()
    plain: Quantized = {"scale": (), "zero_point": ()}
    wanted = sketch.random.choice([Type.FLOAT32, Type.FLOAT16, *INTEGERS, Type.BOOL])
    # What real numbers beyond the result's type become is not defined.
    low, high = (
        (0.0 if wanted is Type.UINT8 else -100.0, 100.0) if kind in (Type.FLOAT32, Type.FLOAT16) else (-4, 4)
    )
    value = sketch.operand(
        kind, shape, constant=False, low=low, high=high, **plain if kind in QUANTIZED else {}
    )
    result = sketch.result(wanted, shape, **plain if wanted in QUANTIZED else {})
    sketch.add([value], result, CastOptions(kind, wanted), version=VERSIONS["CAST"])


@case("DENSIFY", "float32 float16 int8")
def sparse_constants(sketch: Sketch, kind: Type) -> None:
    blocks = sketch.random.choice([(1, 1), (1, 4), (2, 2), (4, 1)])
    counts = sketch.random.randint(1, 5), sketch.random.randint(1, 6)
    kept = sketch.numbers.random(counts) < 0.4
    kept[0, 0] = True
    shape = tuple(count * block for count, block in zip(counts, blocks, strict=True))
    segments = (0, *np.cumsum(kept.sum(axis=1)).tolist())
    sparse = segments, np.nonzero(kept)[1].tolist()
    levels = (counts[0], sparse, *blocks) if blocks != (1, 1) else (counts[0], sparse)
    sparsity = RawSparsity(tuple(range(len(levels))), (0, 1) if len(levels) == 4 else (), levels)
    elements = sketch.elements(kind, (int(kept.sum()) * blocks[0] * blocks[1],))
    quantized: Quantized = {"scale": (0.5,), "zero_point": (0,)} if kind is Type.INT8 else {}
    value = sketch.tensor(kind, shape, elements.tobytes(), sparsity=sparsity, **quantized)
    sketch.add([value], sketch.result(kind, shape, **quantized), version=1)


@case("BITCAST", "int8 uint8 int16 int32")
def bits(sketch: Sketch, kind: Type) -> None:
    plain: Quantized = {"scale": (), "zero_point": ()}
    wanted = sketch.random.choice([Type.INT8, Type.UINT8, Type.INT16, Type.INT32])
    given, shape = np.dtype(STORAGE[kind]), sketch.shape(0, 3)
    width = np.dtype(STORAGE[wanted]).itemsize
    shape = (*shape, width // given.itemsize) if width > given.itemsize else (*shape, 3)
    elements = sketch.numbers.integers(np.iinfo(given).min, np.iinfo(given).max, shape, given, endpoint=True)
    value = sketch.tensor(kind, shape, **plain)
    sketch.inputs.append(value)
    sketch.arrays.append(elements)
    result = shape if width == given.itemsize else shape[:-1]
    result = (*shape, given.itemsize // width) if width < given.itemsize else result
    sketch.add([value], sketch.result(wanted, result, **plain if wanted in QUANTIZED else {}))
