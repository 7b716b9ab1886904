"""Images in another size."""

from __future__ import annotations

from tflite_cases import Sketch, case
from tflite_cases.movement import same_scale
from tosajit.frontends.tflite.options import ResizeBilinearOptions, ResizeNearestNeighborOptions
from tosajit.frontends.tflite.schema import Type


@case("RESIZE_BILINEAR", "float32 int8 uint8 int16")
def bilinear(sketch: Sketch, kind: Type) -> None:
    aligned, half = sketch.random.choice([(False, False), (True, False), (False, True)])
    # TFLite computes places, and sums of bytes without sign, in float32: halves may get below a half.
    sketch.steps, sketch.absolute = int(kind is Type.UINT8), 1e-4
    images(sketch, kind, ResizeBilinearOptions(0, 0, aligned, half))


@case("RESIZE_NEAREST_NEIGHBOR", "float32 int8 uint8 int16 int32")
def neighbours(sketch: Sketch, kind: Type) -> None:
    images(sketch, kind, ResizeNearestNeighborOptions(sketch.chance(0.3), sketch.chance(0.4)))


def images(sketch: Sketch, kind: Type, options: ResizeBilinearOptions | ResizeNearestNeighborOptions) -> None:
    """Images made larger and smaller, by any factors and by simple ones."""
    alike, depth = same_scale(sketch, kind), sketch.random.randint(1, 3)
    size = [sketch.random.choice([1, 2, 3, 5, 8, 13, 20]) for _ in range(2)]
    factor = sketch.random.choice([0, 0, 2, 3, 4])
    result = [extent * factor if factor else sketch.random.randint(1, 24) for extent in size]
    value = sketch.operand(kind, (2, *size, depth), constant=False, **alike)
    places = [value, sketch.constant(Type.INT32, result)]
    sketch.add(places, sketch.result(kind, (2, *result, depth), **alike), options, version=3)
