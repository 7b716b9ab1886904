"""Detections, and searches whose results are as long as what they find."""

from __future__ import annotations

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.flexbuffer import flexbuffer
from tosajit.arrays import Array
from tosajit.frontends.tflite.options import UniqueOptions
from tosajit.frontends.tflite.schema import Type


@case("NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5", "float32")
def boxes(sketch: Sketch, kind: Type) -> None:
    count, most = sketch.random.randint(1, 60), sketch.random.randint(1, 30)
    soft = sketch.name.endswith("5")
    given = [sketch.given(kind, crowded(sketch, count)), sketch.given(kind, scores(sketch, (count,)))]
    given.append(sketch.constant(Type.INT32, most))
    given += [sketch.given(kind, np.float32(sketch.random.choice([0.3, 0.5, 0.9]))),
              sketch.given(kind, np.float32(sketch.random.choice([-1.0, 0.0, 0.4])))]  # fmt: skip
    results = [sketch.result(Type.INT32, (most,))]
    if soft:
        given.append(sketch.given(kind, np.float32(sketch.random.choice([0.0, 0.5, 1.5]))))
        results.append(sketch.result(kind, (most,)))
    sketch.add(given, [*results, sketch.result(Type.INT32, ())])


@case("TFLite_Detection_PostProcess", "float32 uint8")
def detections(sketch: Sketch, kind: Type) -> None:
    count, classes, background = sketch.random.randint(1, 40), sketch.random.randint(1, 6), sketch.chance()
    most, each = sketch.random.randint(1, 12), sketch.random.randint(1, classes)
    regular = sketch.chance()
    options: dict[str, float | bool] = {
        "max_detections": most, "max_classes_per_detection": 1 if regular else each, "num_classes": classes,
        "nms_score_threshold": sketch.random.choice([-10.0, 0.2]), "nms_iou_threshold": 0.5,
        "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
    }  # fmt: skip
    if regular or sketch.chance():
        options |= {"use_regular_nms": regular, "detections_per_class": sketch.random.randint(1, 20)}
    extent = sketch.random.choice([4, 4, 6])
    anchors = np.abs(crowded(sketch, count)) + np.float32(0.1)
    if kind is Type.UINT8:
        given = [sketch.operand(kind, (1, count, extent), constant=False, scale=(0.05,), zero_point=(128,))]
        given.append(sketch.operand(kind, (1, count, classes + background), constant=False,
                                    scale=(1 / 256,), zero_point=(0,)))  # fmt: skip
        given.append(sketch.constant(kind, np.round(anchors * 20), scale=(0.05,), zero_point=(0,)))
    else:
        given = [sketch.operand(kind, (1, count, extent), constant=False)]
        given.append(sketch.given(kind, scores(sketch, (1, count, classes + background))))
        given.append(sketch.constant(kind, anchors))
    size = most * int(options["max_classes_per_detection"])
    shapes = (1, size, 4), (1, size), (1, size), (1,)
    results = [sketch.result(Type.FLOAT32, shape) for shape in shapes]
    sketch.counted = int(options["max_classes_per_detection"])
    sketch.add(given, results, custom=flexbuffer(options))


@case("WHERE", "bool float32 int8 uint8 int32 int64")
def places(sketch: Sketch, kind: Type) -> None:
    shape = sketch.shape()
    elements = sketch.elements(kind, shape)
    holes = np.where(sketch.numbers.random(shape) < sketch.random.choice([0.0, 0.5, 1.0]), 0, elements)
    holes.reshape(-1)[sketch.random.randrange(holes.size)] = 1  # LiteRT's Python has no empty results
    sketch.fill = -1
    sketch.add([sketch.given(kind, holes)], sketch.result(Type.INT64, (int(np.prod(shape)), len(shape))))


@case("UNIQUE", "float32 int8 uint8 int16 int32 int64")
def different(sketch: Sketch, kind: Type) -> None:
    extent = sketch.random.randint(1, 40)
    few = sketch.elements(kind, (sketch.random.randint(1, 9),))
    wide = sketch.random.choice([Type.INT32, Type.INT64])
    sketch.fill = 0
    given = sketch.given(kind, sketch.numbers.choice(few, extent))
    results = [sketch.result(kind, (extent,)), sketch.result(wide, (extent,))]
    sketch.add([given], results, UniqueOptions(wide))


def crowded(sketch: Sketch, count: int) -> Array:
    """Boxes of which many overlap; corners in any order, some without area."""
    centres = sketch.numbers.integers(0, 4, (count, 2)) * 0.5
    corners = centres[:, None] + sketch.numbers.uniform(-0.4, 0.4, (count, 2, 2))
    corners[sketch.numbers.random(count) < 0.05] = 0
    return corners.reshape(count, 4).astype(np.float32)


def scores(sketch: Sketch, shape: tuple[int, ...]) -> Array:
    """Probabilities, of which many may be equal."""
    found = sketch.numbers.random(shape)
    return (np.round(found * 8) / 8 if sketch.chance() else found).astype(np.float32)
