"""Operators of StableHLO."""

from __future__ import annotations

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.control import function, shared
from tosajit.frontends.tflite.options import CompositeOptions, StablehloPadOptions
from tosajit.frontends.tflite.schema import Type

EMPTY_MAP = b"\x00\x00\x01\x00\x00$\x01"
"""As a flexbuffer."""
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


@case("STABLEHLO_COMPOSITE", TYPES)
def composites(sketch: Sketch, kind: Type) -> None:
    shape, like, count = sketch.shape(), shared(sketch, kind), sketch.random.randint(1, 3)
    results = sketch.random.randint(1, 2)
    function(sketch, "decomposition", kind, [shape] * count, like, results)
    operands = [sketch.operand(kind, shape, constant=False, **like) for _ in range(count)]
    written = [sketch.result(kind, shape, **like) for _ in range(results)]
    sketch.add(operands, written, CompositeOptions("odml.something", 1, tuple(EMPTY_MAP)))
