"""Borders, repetitions, and blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.sketch import QUANTIZED
from tosajit.frontends.tflite.fields import MirrorPadMode
from tosajit.frontends.tflite.options import BlockOptions, MirrorPadOptions
from tosajit.frontends.tflite.schema import Type

TYPES = "float32 float16 int8 uint8 int16 int32 int64 bool"


@case("PAD PADV2", TYPES)
def borders(sketch: Sketch, kind: Type) -> None:
    alike = same_scale(sketch, kind)
    value, shape = moved(sketch, kind, alike)
    border = [(sketch.random.randint(0, 2), sketch.random.randint(0, 3)) for _ in shape]
    operands = [value, indices(sketch, border)]
    if sketch.name == "PADV2":
        operands.append(sketch.constant(kind, sketch.elements(kind, ()), **alike))
    finish(sketch, operands, kind, [one + sum(two) for one, two in zip(shape, border, strict=True)], alike)


@case("MIRROR_PAD", TYPES)
def mirrors(sketch: Sketch, kind: Type) -> None:
    alike, mode = same_scale(sketch, kind), sketch.random.choice(list(MirrorPadMode))
    value, shape = moved(sketch, kind, alike)
    most = [extent - 1 if mode is MirrorPadMode.REFLECT else extent for extent in shape]
    border = [(sketch.random.randint(0, one), sketch.random.randint(0, one)) for one in most]
    result = [one + sum(two) for one, two in zip(shape, border, strict=True)]
    finish(sketch, [value, indices(sketch, border)], kind, result, alike, MirrorPadOptions(mode))


@case("TILE", TYPES)
def tiles(sketch: Sketch, kind: Type) -> None:
    alike = same_scale(sketch, kind)
    value, shape = moved(sketch, kind, alike)
    multiples = [sketch.random.randint(1, 3) for _ in shape]
    finish(sketch, [value, indices(sketch, multiples)], kind, np.multiply(shape, multiples), alike)


@case("BROADCAST_TO", TYPES)
def broadcasts(sketch: Sketch, kind: Type) -> None:
    alike, shape = same_scale(sketch, kind), sketch.shape()
    value = sketch.operand(kind, sketch.broadcast(shape), constant=False, **alike)
    finish(sketch, [value, indices(sketch, shape)], kind, shape, alike)


@case("FILL", TYPES)
def fills(sketch: Sketch, kind: Type) -> None:
    alike, shape = same_scale(sketch, kind), sketch.shape()
    value = sketch.operand(kind, (), constant=False, **alike)
    finish(sketch, [indices(sketch, shape), value], kind, shape, alike)


@case("ZEROS_LIKE", "float32 int32 int64")
def zeros(sketch: Sketch, kind: Type) -> None:
    value, shape = moved(sketch, kind, {})
    finish(sketch, [value], kind, shape, {})


@case("REVERSE_V2", TYPES)
def reversals(sketch: Sketch, kind: Type) -> None:
    alike = same_scale(sketch, kind)
    value, shape = moved(sketch, kind, alike)
    first = sketch.random.randrange(len(shape))
    axes = list(range(first, sketch.random.randint(first, len(shape) - 1) + 1))
    signed = [axis - len(shape) if sketch.chance(0.3) else axis for axis in axes]
    finish(sketch, [value, sketch.constant(Type.INT32, signed)], kind, shape, alike)


@case("DYNAMIC_UPDATE_SLICE", TYPES)
def updates(sketch: Sketch, kind: Type) -> None:
    alike = same_scale(sketch, kind)
    value, shape = moved(sketch, kind, alike)
    size = [extent if sketch.chance(0.4) else sketch.random.randint(1, extent) for extent in shape]
    update = sketch.operand(kind, size, constant=False, **alike)
    start = sketch.operand(
        sketch.random.choice([Type.INT32, Type.INT64]), (len(shape),), low=-0.02, high=0.06
    )
    finish(sketch, [value, update, start], kind, shape, alike)


@case("SPACE_TO_DEPTH DEPTH_TO_SPACE", "float32 int8 uint8 int32 int64")
def channels(sketch: Sketch, kind: Type) -> None:
    alike, block = same_scale(sketch, kind), sketch.random.randint(1, 3)
    count, height, width, depth = (sketch.random.randint(1, 4) for _ in range(4))
    small, large = (count, height, width, depth * block**2), (count, height * block, width * block, depth)
    given, result = (small, large) if sketch.name == "DEPTH_TO_SPACE" else (large, small)
    value = sketch.operand(kind, given, constant=False, **alike)
    finish(sketch, [value], kind, result, alike, BlockOptions(block))


@case("SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND", TYPES)
def batches(sketch: Sketch, kind: Type) -> None:
    alike, rank = same_scale(sketch, kind), sketch.random.randint(1, 2)
    blocks = [sketch.random.randint(1, 3) for _ in range(rank)]
    count, depth = sketch.random.randint(1, 2), sketch.random.randint(1, 4)
    extents = [sketch.random.randint(1, 4) for _ in range(rank)]
    grown = [extent * block for extent, block in zip(extents, blocks, strict=True)]
    border = []
    for extent in grown:
        before = sketch.random.randint(0, min(2, extent - 1))
        border.append((before, sketch.random.randint(0, min(2, extent - 1 - before))))
    inside = [extent - sum(one) for extent, one in zip(grown, border, strict=True)]
    small, large = (count * int(np.prod(blocks)), *extents, depth), (count, *inside, depth)
    given, result = (small, large) if sketch.name == "BATCH_TO_SPACE_ND" else (large, small)
    operands = [
        sketch.operand(kind, given, constant=False, **alike),
        sketch.constant(Type.INT32, blocks),
        sketch.constant(Type.INT32, border),
    ]
    finish(sketch, operands, kind, result, alike)


def same_scale(sketch: Sketch, kind: Type) -> dict[str, Any]:
    """The quantisation of an operand that its result has too."""
    return {"scale": (sketch.scale(),), "zero_point": (sketch.zero_point(kind),)} if kind in QUANTIZED else {}


def moved(sketch: Sketch, kind: Type, alike: dict[str, Any]) -> tuple[int, tuple[int, ...]]:
    """An operand, and its shape."""
    shape = sketch.shape(1, 4, 6)
    return sketch.operand(kind, shape, constant=False, **alike), shape


def indices(sketch: Sketch, numbers: Any) -> int:
    """A constant of one of the types of indices."""
    return sketch.constant(sketch.random.choice([Type.INT32, Type.INT64]), numbers)


def finish(
    sketch: Sketch, operands: list[int], kind: Type, shape: Any, alike: dict[str, Any], options: Any = None
) -> None:
    """The operator, in the first version that LiteRT has, and its result."""
    version = 2 if sketch.name == "BROADCAST_TO" else 1
    sketch.add(operands, sketch.result(kind, tuple(map(int, shape)), **alike), options, version=version)
