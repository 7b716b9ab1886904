"""Custom operators: the program that runs a model says what they compute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import tosajit as tj
from tests.tflite_cases import Sketch, case
from tests.tflite_cases.flexbuffer import flexbuffer
from tests.tflite_cases.movement import same_scale
from tosajit.arrays import Array
from tosajit.frontends.tflite.schema import Type

NAME = "LargerOfTwo"
DOMAIN = "tflite"
ATTRIBUTES = flexbuffer({"count": 2})


def larger(first: Array, second: Array, attributes: bytes) -> Array:
    """Bytes without sign come with their bits."""
    assert attributes in (ATTRIBUTES, ATTRIBUTES + b"u")
    if attributes == ATTRIBUTES:
        return np.maximum(first, second)
    return np.maximum(first.view(np.uint8), second.view(np.uint8)).view(np.int8)


tj.register_custom(DOMAIN, NAME, larger)


@case("CUSTOM", "float32 int8 uint8 int32 int64")
def of_the_user(sketch: Sketch, kind: Type) -> None:
    shape, alike = sketch.shape(), same_scale(sketch, kind)
    operands = [sketch.operand(kind, shape, constant=False, **alike) for _ in range(2)]
    sketch.add(operands, sketch.result(kind, shape, **alike), name="MAXIMUM")
    sketch.known = sketch.drawn("main")
    attributes = ATTRIBUTES + b"u" * (kind is Type.UINT8)
    sketch.operators = [replace(sketch.operators[0], name=NAME, custom_options=attributes)]
