"""Operators of StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from litert import Kernels

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.control import function, loops, shared
from tests.tflite_cases.sketch import QUANTIZED, Quantized
from tosajit.frontends.tflite.options import (
    CompositeOptions,
    StablehloCaseOptions,
    StablehloGatherOptions,
    StablehloPadOptions,
    StablehloReduceWindowOptions,
    StablehloScatterOptions,
    StablehloWhileOptions,
)
from tosajit.frontends.tflite.schema import Type

EMPTY_MAP = b"\x00\x00\x01\x00\x00$\x01"
"""As a flexbuffer."""
COMBINES = ["STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM"]
TYPES = "float32 int8 uint8 int16 int32 int64 bool"


@case("STABLEHLO_ADD STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_MINIMUM", "float32 int32 int64")
def of_two(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    operands = sketch.operand(kind, shape), sketch.operand(kind, shape)
    sketch.add(operands, sketch.result(kind, shape))


@case("STABLEHLO_PAD", TYPES)
def borders(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(extent=5)
    like = shared(sketch, kind)
    gaps = [sketch.random.choice([0, 0, 1, 3]) for _ in shape]
    grown = [extent + (extent - 1) * gap for extent, gap in zip(shape, gaps, strict=True)]
    low = [sketch.random.randint(-((extent - 1) // 2), 3) for extent in grown]
    high = [sketch.random.randint(-((extent - 1) // 2), 3) for extent in grown]
    wanted = [sum(one) for one in zip(grown, low, high, strict=True)]
    value = sketch.operand(kind, shape, constant=False, **like)
    number = sketch.constant(kind, sketch.elements(kind, ()), **like)
    options = StablehloPadOptions(tuple(low), tuple(high), tuple(gaps))
    sketch.add([value, number], sketch.result(kind, wanted, **like), options)


@case("STABLEHLO_AND", "bool int8 int16 int32 int64")
def shared_bits(sketch: Sketch, kind: Type) -> None:
    """LiteRT's reference kernels lack it, as they lack the next one."""
    sketch.kernels = Kernels.OPTIMISED
    shape = sketch.shape()
    sketch.add([sketch.operand(kind, shape, **plain(kind)) for _ in range(2)], whole(sketch, kind, shape))


@case("STABLEHLO_SHIFT_LEFT", "int8 int16 int32")
def shifts(sketch: Sketch, kind: Type) -> None:
    sketch.kernels = Kernels.OPTIMISED
    shape, bits = sketch.shape(), {Type.INT8: 7, Type.INT16: 15}.get(kind, 20)
    value = sketch.operand(kind, shape, **plain(kind))
    counts = sketch.given(kind, sketch.numbers.integers(0, bits, shape), **plain(kind))
    sketch.add([value, counts], whole(sketch, kind, shape))


def plain(kind: Type) -> Quantized:
    """No scale, which integers would be drawn with."""
    return {"scale": (), "zero_point": ()} if kind in QUANTIZED else {}


def whole(sketch: Sketch, kind: Type, shape: Sequence[int]) -> int:
    return sketch.result(kind, shape, **plain(kind))


@case("STABLEHLO_COMPOSITE", TYPES)
def composites(sketch: Sketch, kind: Type) -> None:
    shape, like, count = sketch.shape(), shared(sketch, kind), sketch.random.randint(1, 3)
    results = sketch.random.randint(1, 2)
    function(sketch, "decomposition", kind, [shape] * count, like, results)
    operands = [sketch.operand(kind, shape, constant=False, **like) for _ in range(count)]
    written = [sketch.result(kind, shape, **like) for _ in range(results)]
    sketch.add(operands, written, CompositeOptions("odml.something", 1, tuple(EMPTY_MAP)))


@case("STABLEHLO_CASE", TYPES)
def branches(sketch: Sketch, kind: Type) -> None:
    sketch.calls, sketch.kernels = 3, Kernels.OPTIMISED
    shape, like, count = sketch.shape(), shared(sketch, kind), sketch.random.randint(1, 4)
    for number in range(count):
        function(sketch, f"branch_{number}", kind, [shape] * 2, like, 1)
    chosen = sketch.operand(Type.INT32, (), constant=sketch.chance(0.2), low=-0.01, high=0.05)
    operands = [sketch.operand(kind, shape, constant=False, **like) for _ in range(2)]
    options = StablehloCaseOptions(tuple(range(1, count + 1)))
    sketch.add([chosen, *operands], sketch.result(kind, shape, **like), options)


@case("STABLEHLO_WHILE", TYPES)
def loops_of_stablehlo(sketch: Sketch, kind: Type) -> None:
    """LiteRT has no kernel for it, but for WHILE, which does the same."""
    loops(sketch, kind)
    loop, outer = sketch.operators[0], sketch.drawn("main")
    sketch.known = replace(outer, operators=[replace(loop, name="WHILE")])
    sketch.operators = [replace(loop, options=StablehloWhileOptions(1, 2))]


@case("STABLEHLO_GATHER", "float32 float16 int8 uint8 int16 int32 int64 bool")
def gathered_parts(sketch: Sketch, kind: Type) -> None:
    shape, like = sketch.shape(1, 4, 5), shared(sketch, kind)
    rank = len(shape)
    along = sketch.random.sample(range(rank), sketch.random.randint(1, rank))
    sizes = [sketch.random.choice([1, extent, sketch.random.randint(1, extent)]) for extent in shape]
    collapsed = tuple(axis for axis in range(rank) if sizes[axis] == 1 and sketch.chance())
    kept = [size for axis, size in enumerate(sizes) if axis not in collapsed]
    places = sketch.shape(0, 2, 3)
    starts, axis = starting(sketch, places, [shape[one] for one in along])
    result, offsets = interleaved(sketch, places, kept)
    value = sketch.operand(kind, shape, constant=False, **like)
    options = StablehloGatherOptions(offsets, collapsed, tuple(along), axis, tuple(sizes))
    sketch.add([value, starts], sketch.result(kind, result, **like), options)


@case("STABLEHLO_SCATTER", "float32 int32 int64")
def scattered_parts(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(1, 3, 5)
    rank = len(shape)
    along = sketch.random.sample(range(rank), sketch.random.randint(1, rank))
    sizes = [sketch.random.choice([1, extent, sketch.random.randint(1, extent)]) for extent in shape]
    inserted = tuple(axis for axis in range(rank) if sizes[axis] == 1 and sketch.chance())
    kept = [size for axis, size in enumerate(sizes) if axis not in inserted]
    places = sketch.shape(0, 2, 3)
    starts, axis = starting(sketch, places, [shape[one] for one in along])
    extents, windows = interleaved(sketch, places, kept)
    name = sketch.random.choice(["", *COMBINES])
    body(sketch, kind, name)
    low, high = (-0.02, 0.03) if name == "STABLEHLO_MULTIPLY" and kind is not Type.FLOAT32 else (-2.0, 2.0)
    value, updates = (
        sketch.operand(kind, one, constant=False, low=low, high=high) for one in (shape, extents)
    )
    options = StablehloScatterOptions(False, windows, inserted, tuple(along), axis, False, 1)
    sketch.add([value, starts, updates], sketch.result(kind, shape), options)


@case("STABLEHLO_REDUCE_WINDOW", "float32 int32 int64")
def windows_of_stablehlo(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape(1, 3, 6)
    gaps = [sketch.random.choice([1, 1, 2]) for _ in shape]
    border = [
        (sketch.random.randint(-1 if extent > 1 else 0, 2), sketch.random.randint(0, 2)) for extent in shape
    ]
    grown = [(one - 1) * gap + 1 + sum(pair) for one, gap, pair in zip(shape, gaps, border, strict=True)]
    sizes = [sketch.random.randint(1, min(3, extent)) for extent in grown]
    dilations = [
        sketch.random.randint(1, min(2, (extent - 1) // max(size - 1, 1) or 1))
        for extent, size in zip(grown, sizes, strict=True)
    ]
    strides = [sketch.random.randint(1, 3) for _ in shape]
    result = [
        (extent - (size - 1) * dilation - 1) // stride + 1
        for extent, size, dilation, stride in zip(grown, sizes, dilations, strides, strict=True)
    ]
    name = sketch.random.choice(COMBINES)
    body(sketch, kind, name)
    low, high = (-0.02, 0.03) if name == "STABLEHLO_MULTIPLY" and kind is not Type.FLOAT32 else (-2.0, 2.0)
    value = sketch.operand(kind, shape, constant=False, low=low, high=high)
    first = sketch.constant(kind, sketch.elements(kind, (), low, high))
    sketch.relative, sketch.absolute = 1e-4, 1e-5  # sums and products may be in another order
    flat = tuple(one for pair in border for one in pair)
    windows = tuple(sizes), tuple(strides), tuple(gaps), tuple(dilations)
    options = StablehloReduceWindowOptions(*windows, flat, 1)
    sketch.add([value, first], sketch.result(kind, result), options)


def starting(sketch: Sketch, places: tuple[int, ...], extents: Sequence[int]) -> tuple[int, int]:
    """Indices of which some are outside, constant or computed, and the dimension of their vectors."""
    kind = sketch.random.choice([Type.INT32, Type.INT64])
    vectors = [sketch.numbers.integers(-1, extent + 1, places) for extent in extents]
    axis = sketch.random.randint(0, len(places))
    found = np.stack(vectors, axis=axis)
    return (sketch.constant if sketch.chance() else sketch.given)(kind, found), axis


def interleaved(
    sketch: Sketch, places: Sequence[int], kept: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape with the extents of places and those of parts in some order, and where those of parts are."""
    rank = len(places) + len(kept)
    chosen = tuple(sorted(sketch.random.sample(range(rank), len(kept))))
    inner, outer = iter(kept), iter(places)
    return tuple(next(inner) if axis in chosen else next(outer) for axis in range(rank)), chosen


def body(sketch: Sketch, kind: Type, name: str) -> None:
    """A subgraph of two numbers: one operator, or none that gives the second one."""
    with sketch.subgraph("body"):
        operands = [sketch.operand(kind, (), constant=False) for _ in range(2)]
        if name:
            sketch.add(operands, sketch.result(kind, ()), name=name)
        else:
            sketch.outputs.append(operands[1])
