"""Products of matrices."""

from __future__ import annotations

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.sketch import QUANTIZED, Quantized
from tosajit.frontends.tflite.options import BatchMatMulOptions
from tosajit.frontends.tflite.schema import Type


@case("BATCH_MATMUL", "float32 int8 int16")
def batch_matmul(sketch: Sketch, kind: Type) -> None:
    rows, depth, columns = (sketch.random.randint(1, 9) for _ in range(3))
    shared = sketch.shape(0, 2, 3)
    others = sketch.broadcast(shared) if shared else ()
    options = BatchMatMulOptions(sketch.chance(), sketch.chance())
    left = (*shared, *((depth, rows) if options.adj_x else (rows, depth)))
    right = (*others, *((columns, depth) if options.adj_y else (depth, columns)))
    sketch.absolute = 1e-4
    places = [sketch.operand(kind, left, constant=False), sketch.operand(kind, right)]
    result = (*np.broadcast_shapes(shared, others), rows, columns)
    drawn: Quantized = {}
    if kind in QUANTIZED:
        scales = [sketch.tensors[place].scale[0] for place in places]
        most = 127 if kind is Type.INT8 else 32767
        reach = np.sqrt(depth) * most * scales[0] * scales[1] * sketch.random.uniform(0.3, 2)
        drawn = {"scale": (float(np.float32(reach)),)}
    sketch.add(places, sketch.result(kind, result, **drawn), options)
