"""Weights of fewer bits than the numbers that they meet: models of floating point that were made smaller.

LiteRT quantises what integer weights of such models meet while it runs. We dequantise the weights when the
model is read, so that results are those of the floating-point model with the same weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from litert import LiteRT

import tosajit as tj
from tests.tflite_cases import Sketch
from tests.tflite_cases.running import by_arm, difference
from tests.tflite_cases.sketch import Quantized
from tosajit.arrays import Array
from tosajit.frontends.tflite.fields import Options, Padding
from tosajit.frontends.tflite.options import (
    BatchMatMulOptions,
    Conv2DOptions,
    DepthwiseConv2DOptions,
    FullyConnectedOptions,
    TransposeConvOptions,
)
from tosajit.frontends.tflite.schema import Type
from tosajit.operators import CAST


@dataclass(frozen=True)
class Layer:
    """An operator with weights: shapes, and the dimension along which there may be a scale for each index."""

    name: str
    value: tuple[int, ...]
    weights: tuple[int, ...]
    result: tuple[int, ...]
    axis: int
    options: Options


LAYERS = [
    Layer("CONV_2D", (1, 6, 5, 4), (3, 3, 2, 4), (1, 6, 5, 3), 0, Conv2DOptions(Padding.SAME, 1, 1)),
    Layer(
        "DEPTHWISE_CONV_2D", (1, 6, 5, 4), (1, 3, 2, 4), (1, 6, 5, 4), 3,
        DepthwiseConv2DOptions(Padding.SAME, 1, 1, 1),
    ),
    Layer("FULLY_CONNECTED", (3, 10), (6, 10), (3, 6), 0, FullyConnectedOptions()),
    Layer(
        "TRANSPOSE_CONV", (1, 3, 3, 4), (2, 3, 2, 4), (1, 6, 6, 2), 0,
        TransposeConvOptions(Padding.SAME, 2, 2),
    ),
    Layer("BATCH_MATMUL", (2, 3, 5), (2, 5, 4), (2, 3, 4), 0, BatchMatMulOptions()),
]  # fmt: skip
FORMS = [(Type.INT8, False), (Type.INT8, True), (Type.UINT8, False), (Type.INT4, False), (Type.INT4, True)]


def built(layer: Layer, weights: Callable[[Sketch], int]) -> Sketch:
    """A model of a layer; `weights` puts them into it."""
    sketch = Sketch(layer.name, layer.name)
    value = sketch.operand(Type.FLOAT32, layer.value, constant=False)
    places = [value, weights(sketch)]
    if layer.name == "TRANSPOSE_CONV":
        places = [sketch.constant(Type.INT32, layer.result), places[1], value]
    elif layer.name != "BATCH_MATMUL":
        places.append(sketch.constant(Type.FLOAT32, np.linspace(-1, 1, layer.weights[layer.axis])))
    sketch.add(places, sketch.result(Type.FLOAT32, layer.result), layer.options)
    return sketch


def stored(layer: Layer, kind: Type, along: bool) -> tuple[Array, Quantized]:
    """Integers of a type, with a scale or one for each index of a dimension, and zero points."""
    numbers = np.random.default_rng(7)
    low, high = {Type.INT8: (-127, 127), Type.UINT8: (0, 255), Type.INT4: (-8, 7)}[kind]
    count = layer.weights[layer.axis] if along else 1
    scales = tuple(numbers.uniform(0.001, 0.1, count).astype(np.float32).tolist())
    points = (131 if kind is Type.UINT8 else 0,) * count
    elements = numbers.integers(low, high, layer.weights, endpoint=True)
    return elements, {"scale": scales, "zero_point": points, "axis": layer.axis if along else 0}


def dequantized(layer: Layer, elements: Array, drawn: Quantized) -> Array:
    """The real numbers that integers stand for."""
    shape = [1] * elements.ndim
    shape[drawn["axis"]] = -1
    points, scales = (np.array(one).reshape(shape) for one in (drawn["zero_point"], drawn["scale"]))
    real: Array = (elements - points).astype(np.float32) * scales.astype(np.float32)
    return real


@pytest.mark.parametrize("layer", LAYERS, ids=lambda one: one.name)
@pytest.mark.parametrize(("kind", "along"), FORMS, ids=str)
def test_integer_weights_of_real_numbers_count_as_what_they_stand_for(
    layer: Layer, kind: Type, along: bool, litert: LiteRT
) -> None:
    elements, drawn = stored(layer, kind, along)

    def packed(sketch: Sketch) -> int:
        if kind is not Type.INT4:
            return sketch.constant(kind, elements, **drawn)
        low, high = (elements & 15).reshape(-1, 2).T
        return sketch.tensor(kind, layer.weights, (low | high << 4).astype(np.uint8).tobytes(), **drawn)

    real = dequantized(layer, elements, drawn)
    plain = built(layer, lambda sketch: sketch.constant(Type.FLOAT32, real)).case()
    small = built(layer, packed).case()
    (expected,) = litert.run(plain.model, plain.calls[0])[0]
    (found,) = by_arm(tj.load(small.model))(*plain.calls[0])
    assert difference(found, expected, plain) is None


@pytest.mark.parametrize("layer", LAYERS, ids=lambda one: one.name)
def test_weights_of_16_bits_behind_a_dequantize_are_constants(layer: Layer, litert: LiteRT) -> None:
    elements = np.random.default_rng(7).uniform(-1, 1, layer.weights).astype(np.float16)

    def widened(sketch: Sketch) -> int:
        given = sketch.constant(Type.FLOAT16, elements)
        wide = sketch.tensor(Type.FLOAT32, layer.weights)
        sketch.add([given], wide, name="DEQUANTIZE", version=3)
        return wide

    case = built(layer, widened).case()
    (expected,) = litert.run(case.model, case.calls[0])[0]
    graph = tj.load(case.model)
    assert not any(isinstance(node.operator, CAST) for node in graph.nodes)
    (found,) = by_arm(graph)(*case.calls[0])
    assert difference(found, expected, case) is None
