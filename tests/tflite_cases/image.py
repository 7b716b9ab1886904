"""Images in another size."""

from __future__ import annotations

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.movement import same_scale
from tosajit.frontends.tflite.options import ResizeBilinearOptions, ResizeNearestNeighborOptions
from tosajit.frontends.tflite.schema import Type


@case("RESIZE_BILINEAR", "float32 int8 uint8 int16")
def bilinear(sketch: Sketch, kind: Type) -> None:
    aligned, half = sketch.random.choice([(False, False), (True, False), (False, True)])
    # TFLite sums bytes without sign in float32: halves may get below a half.
    sketch.steps = int(kind is Type.UINT8)
    images(sketch, kind, ResizeBilinearOptions(0, 0, aligned, half))


@case("RESIZE_NEAREST_NEIGHBOR", "float32 float16 int8 uint8 int16 int32")
def neighbours(sketch: Sketch, kind: Type) -> None:
    images(sketch, kind, ResizeNearestNeighborOptions(sketch.chance(0.3), sketch.chance(0.4)))


def images(sketch: Sketch, kind: Type, options: ResizeBilinearOptions | ResizeNearestNeighborOptions) -> None:
    """Images made larger and smaller, by any factors, by simple ones, and by what RESIZE cannot say."""
    alike, depth = same_scale(sketch, kind), sketch.random.randint(1, 3)
    size = [sketch.random.choice([1, 2, 3, 5, 8, 13, 20]) for _ in range(2)]
    factor = sketch.random.choice([0, 0, 0, 2, 3, 4])
    result = [extent * factor if factor else sketch.random.randint(1, 24) for extent in size]
    if sketch.chance(0.15) and kind is not Type.INT16:
        size, result = sketch.random.choice([([40, 3], [2, 5]), ([1, 1500], [1, 1201]), ([70, 64], [3, 2])])
    sketch.absolute = 2e-6 * max(size)  # places are rounded to float32, and neighbours differ by up to 8
    value = sketch.operand(kind, (2, *size, depth), constant=False, **alike)
    places = [value, sketch.constant(Type.INT32, result)]
    sketch.add(places, sketch.result(kind, (2, *result, depth), **alike), options, version=3)
