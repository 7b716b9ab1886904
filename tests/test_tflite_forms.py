"""Operators of TFLite become the operators of TOSA that do the least, and give what NumPy does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases import Sketch
from tosajit.arrays import Array
from tosajit.frontends.tflite.fields import Options
from tosajit.frontends.tflite.options import ConcatenationOptions, ShapeOptions, SplitOptions
from tosajit.frontends.tflite.schema import Type

REAL, WHOLE = Type.FLOAT32, Type.INT32
X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
POSITIVE = np.abs(X) + np.float32(0.25)


def form(
    name: str, value: Array, constants: Sequence[Any], options: Options | None = None
) -> tuple[Counter[str], Array]:
    """What a model of one operator becomes, without constants, and what it gives."""
    sketch = Sketch(name, name)
    kind = {"f": REAL, "i": WHOLE}[value.dtype.kind]
    sketch.inputs.append(sketch.tensor(kind, value.shape, None))
    places = [*sketch.inputs, *(sketch.constant(kind, one) for one in constants)]
    sketch.add(places, sketch.result(kind, value.shape), options)
    graph = tj.load(sketch.case().model)
    made = Counter(node.operator.opcode for node in graph.nodes)
    return made, np.asarray(tj.compile(graph)(value))


@pytest.mark.parametrize(
    ("slopes", "expected"),
    [
        ([0.5, 0.25, -1.0, 1.0], "MAXIMUM"),
        ([1.0, 1.0, 1.0, 1.0], "MAXIMUM"),
        ([1.0, 1.5, 2.0, 3.0], "MINIMUM"),
        ([0.5, 1.0, 1.5, 1.0], "SELECT"),
    ],
)
def test_slopes_choose_how_a_line_is_bent(slopes: list[float], expected: str) -> None:
    slope = np.array(slopes, np.float32)
    made, found = form("PRELU", X, [slope])
    assert [one for one in ("MAXIMUM", "MINIMUM", "SELECT") if made[one]] == [expected]
    np.testing.assert_allclose(found, np.where(X >= 0, X, X * slope), rtol=1e-6)


@pytest.mark.parametrize(
    ("exponent", "products"), [(0, 0), (1, 0), (2, 1), (3, 2), (7, 4), (8, 3), (15, 6), (16, 4)]
)
@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_small_powers_are_products(exponent: int, products: int, kind: type) -> None:
    value: Array = np.array([-1, 1, -2, 2], kind)
    made, found = form("POW", value, [np.array(exponent, kind)])
    assert made["MUL"] == products
    assert not made["POW"]
    np.testing.assert_array_equal(found, value.astype(np.int64) ** exponent)


@pytest.mark.parametrize("exponent", [17.0, 0.5, -1.0, np.inf])
def test_other_powers_are_not_products(exponent: float) -> None:
    made, found = form("POW", POSITIVE, [np.array(exponent, np.float32)])
    assert made["POW"]
    np.testing.assert_allclose(found, POSITIVE.astype(np.float64) ** exponent, rtol=1e-5)


def test_powers_by_several_constants_are_not_products() -> None:
    exponents = np.array([2, 3, 2, 1], np.float32)
    made, found = form("POW", POSITIVE, [exponents])
    assert made["POW"]
    np.testing.assert_allclose(found, POSITIVE**exponents, rtol=1e-5)


def test_powers_by_two_constants_are_not_products() -> None:
    value, exponents = POSITIVE[:, :2].copy(), np.array([2, 3], np.float32)
    np.testing.assert_allclose(form("POW", value, [exponents])[1], value**exponents, rtol=1e-5)


def test_frames_whose_places_follow_from_a_shape_are_known() -> None:
    sketch = Sketch("frames", "SPLIT_V")
    value = sketch.tensor(REAL, (6, 4), None)
    sketch.inputs.append(value)
    shape, first, second = (sketch.tensor(WHOLE, extents, None) for extents in ([2], [1], [1]))
    sketch.add([value], shape, ShapeOptions(WHOLE), name="SHAPE")
    places = [shape, sketch.constant(WHOLE, [1, -1]), sketch.constant(WHOLE, 0)]
    sketch.add(places, [first, second], SplitOptions(2), name="SPLIT_V")
    ends = sketch.tensor(WHOLE, [2], None)
    sketch.add([second, second], ends, ConcatenationOptions(0), name="CONCATENATION")
    begin = sketch.constant(WHOLE, [0, 0])
    sketch.add([value, begin, ends], sketch.result(REAL, (4, 4)), name="SLICE")
    found = tj.compile(tj.load(sketch.case().model))(np.arange(24, dtype=np.float32).reshape(6, 4))
    np.testing.assert_array_equal(found, np.arange(16, dtype=np.float32).reshape(4, 4))
