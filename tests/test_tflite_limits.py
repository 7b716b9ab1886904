"""A few numbers of a TFLite file may ask for huge tensors: reading it takes little memory all the same."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases import Sketch
from tosajit.frontends.tflite.options import (
    FakeQuantOptions,
    LocalResponseNormalizationOptions,
    ResizeBilinearOptions,
    ResizeNearestNeighborOptions,
)
from tosajit.frontends.tflite.schema import Type

HUGE = (1 << 15, 1 << 14)
WIDE = (1, 1, 1, 1 << 28)
IMAGES = ((1, 2, 2, 1), (1, 1 << 28, 2, 1), [1 << 28, 2])
WINDOWS = LocalResponseNormalizationOptions(1 << 30, 1.0, 1.0, 0.5)
MEMORY = 100 << 20


def model(name: str, shape: Any, result: Any, numbers: Any = None, options: Any = None) -> bytes:
    sketch = Sketch(name, name)
    if name == "FILL":
        value = sketch.constant(Type.FLOAT32, np.float32(1.0))
        places = [sketch.constant(Type.INT32, numbers), value]
    else:
        computed = shape in (WIDE, HUGE) or name.startswith("RESIZE")
        value = sketch.tensor(Type.FLOAT32, shape, None if computed else np.ones(shape, np.float32).tobytes())
        sketch.inputs += [value] if computed else []
        places = [value, *([] if numbers is None else [sketch.constant(Type.INT32, numbers)])]
    sketch.add(places, sketch.result(Type.FLOAT32, result), options, version=2)
    return sketch.case().model


@pytest.mark.parametrize(
    ("name", "shape", "result", "numbers", "options"),
    [
        ("FILL", (), HUGE, HUGE, None),
        ("TILE", (1, 1), HUGE, HUGE, None),
        ("BROADCAST_TO", (1, 1), HUGE, HUGE, None),
        ("PAD", (1, 1), (1 << 14, 1 << 14), [[0, (1 << 14) - 1], [0, (1 << 14) - 1]], None),
        ("ZEROS_LIKE", HUGE, HUGE, None, None),
        (
            "RESIZE_NEAREST_NEIGHBOR",
            (1, 2, 2, 1),
            (1, 1 << 28, 2, 1),
            [1 << 28, 2],
            ResizeNearestNeighborOptions(),
        ),
        ("RESIZE_BILINEAR", (1, 2, 2, 1), (1, 1 << 28, 2, 1), [1 << 28, 2], ResizeBilinearOptions()),
        (
            "LOCAL_RESPONSE_NORMALIZATION",
            WIDE,
            WIDE,
            None,
            LocalResponseNormalizationOptions(1 << 30, 1.0, 1.0, 0.5),
        ),
        ("FAKE_QUANT", (2,), (2,), None, FakeQuantOptions(-1.0, 1.0, 1 << 30)),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_reading_takes_little_memory(name: str, shape: Any, result: Any, numbers: Any, options: Any) -> None:
    data = model(name, shape, result, numbers, options)
    tj.load(model("ZEROS_LIKE", (2,), (2,)))  # everything is imported
    tracemalloc.start()
    try:
        with suppress(tj.TosaError):
            tj.load(data)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
