"""Control flow: models of several subgraphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.files import RawSubgraph
from tests.tflite_cases.sketch import QUANTIZED
from tosajit.frontends.tflite.options import CallOptions, IfOptions, WhileOptions
from tosajit.frontends.tflite.schema import Type

TYPES = "float32 int8 uint8 int16 int32 int64 bool"
Like = dict[str, Any]
"""The scale and the zero point that all tensors of a model share."""


@case("IF", TYPES)
def choices(sketch: Sketch, kind: Type) -> None:
    sketch.calls = 4
    shape, like, count = sketch.shape(), shared(sketch, kind), sketch.random.randint(1, 3)
    results = sketch.random.randint(1, 2)
    for name in ("then", "else"):
        function(sketch, name, kind, [shape] * count, like, results)
    condition = sketch.operand(Type.BOOL, sketch.random.choice([(), (1,)]), constant=sketch.chance(0.1))
    operands = [sketch.operand(kind, shape, constant=sketch.chance(0.2), **like) for _ in range(count)]
    chosen = [sketch.tensor(kind, shape, **like) for _ in range(results)]
    sketch.add([condition, *operands], chosen, IfOptions(1, 2))
    sketch.outputs += [
        steps(sketch, kind, [one, operands[0]], like) if sketch.chance() else one for one in chosen
    ]


@case("WHILE", TYPES)
def loops(sketch: Sketch, kind: Type) -> None:
    shape, like = sketch.shape(), shared(sketch, kind)
    shapes = [shape] * sketch.random.randint(1, 3)
    with sketch.subgraph("goes_on"):
        count = sketch.operand(Type.INT32, (), constant=False)
        parameters(sketch, kind, shapes, like)
        limit = sketch.constant(Type.INT32, sketch.random.randint(-1, 3))
        sketch.add([count, limit], sketch.result(Type.BOOL, ()), name="LESS")
    with sketch.subgraph("turn"):
        count = sketch.operand(Type.INT32, (), constant=False)
        places = parameters(sketch, kind, shapes, like)
        more = sketch.result(Type.INT32, ())
        sketch.add([count, sketch.constant(Type.INT32, 1)], more, name="ADD")
        sketch.outputs += [
            place if sketch.chance(0.3) else steps(sketch, kind, places, like) for place in places
        ]
    start = sketch.operand(Type.INT32, (), constant=sketch.chance(), low=-0.02, high=0.03)
    operands = [start, *(sketch.operand(kind, one, constant=sketch.chance(0.2), **like) for one in shapes)]
    results = [sketch.result(Type.INT32, ()), *(sketch.result(kind, one, **like) for one in shapes)]
    sketch.add(operands, results, WhileOptions(1, 2))


@case("CALL", TYPES)
def calls(sketch: Sketch, kind: Type) -> None:
    """LiteRT has no kernel for it: what is called stands in the model itself there."""
    shape, like = sketch.shape(), shared(sketch, kind)
    shapes = [shape] * sketch.random.randint(1, 3)
    function(sketch, "called", kind, shapes, like, 1)
    operands = [sketch.operand(kind, one, constant=number > 0 and sketch.chance(0.2), **like)
                for number, one in enumerate(shapes)]  # fmt: skip
    sketch.known = inlined(sketch.drawn("main"), operands, sketch.subgraphs[0])
    sketch.add(operands, sketch.result(kind, shape, **like), CallOptions(1))


def inlined(outer: RawSubgraph, operands: Sequence[int], inner: RawSubgraph) -> RawSubgraph:
    """A subgraph with what another one does behind it."""
    places = {place: len(outer.tensors) + place for place in range(len(inner.tensors))}
    places |= dict(zip(inner.inputs, operands, strict=True))
    operators = [
        replace(
            one,
            inputs=tuple(places[place] for place in one.inputs),
            outputs=tuple(places[place] for place in one.outputs),
        )
        for one in inner.operators
    ]
    outputs = [places[place] for place in inner.outputs]
    return replace(outer, tensors=[*outer.tensors, *inner.tensors], operators=operators, outputs=outputs)


def shared(sketch: Sketch, kind: Type) -> Like:
    if kind not in QUANTIZED:
        return {}
    return {"scale": (sketch.scale(),), "zero_point": (sketch.zero_point(kind),)}


def function(
    sketch: Sketch, name: str, kind: Type, shapes: Sequence[tuple[int, ...]], like: Like, results: int
) -> None:
    """A subgraph of operands of these shapes."""
    with sketch.subgraph(name):
        places = parameters(sketch, kind, shapes, like)
        sketch.outputs += [steps(sketch, kind, places, like) for _ in range(results)]


def parameters(sketch: Sketch, kind: Type, shapes: Sequence[tuple[int, ...]], like: Like) -> list[int]:
    return [sketch.operand(kind, shape, constant=False, **like) for shape in shapes]


def steps(sketch: Sketch, kind: Type, places: Sequence[int], like: Like) -> int:
    """One to three operators behind tensors of one shape: where the last one writes."""
    found = list(places)
    shape = sketch.tensors[places[0]].shape
    names = ["LOGICAL_AND", "LOGICAL_OR"] if kind is Type.BOOL else ["ADD", "MAXIMUM", "MINIMUM"]
    for _ in range(sketch.random.randint(1, 3)):
        other = (
            sketch.operand(kind, shape, constant=True, **like)
            if sketch.chance(0.3)
            else sketch.random.choice(found)
        )
        result = sketch.tensor(kind, shape, **like)
        sketch.add([found[-1], other], result, name=sketch.random.choice(names))
        found.append(result)
    return found[-1]
