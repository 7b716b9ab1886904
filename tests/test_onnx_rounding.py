"""Numbers are rounded to grids as ONNX's own division has them, also where they fall beside halves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import RawGraph, RawNode, RawValue, model, single
from tosajit import ops
from tosajit.frontends.common.division import divided

Array = np.ndarray[Any, Any]
SCALES = [0.0186, 0.1, 1 / 255, 7.0, 0.25, 1e-20, 1e20]


def beside_halves(scale: Any) -> Array:
    """The multiples of half a step, and the numbers on both sides of them."""
    middle = ((np.arange(-300, 300) + 0.5) * scale).astype(np.float32)
    return np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])


def run(data: bytes, *given: Array) -> Any:
    graph = tj.load(data)
    assert tj.validate(graph) == ()
    return tj.compile(graph)(*given)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("is_known", [True, False])
def test_quotients_are_those_of_a_division(scale: float, is_known: bool) -> None:
    divisor = np.array([scale], np.float32)
    random = np.random.default_rng(0).normal(0, 100, 20_000) * scale
    x = np.concatenate([beside_halves(divisor), random.astype(np.float32)])
    quotient: Any = (lambda value: divided(value, ops.const(divisor))) if is_known else divided
    found = tj.jit(quotient)(*([x] if is_known else [x, divisor]))
    np.testing.assert_array_equal(found, x / divisor)


@pytest.mark.parametrize("scale", SCALES[:5])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("is_known", [True, False])
def test_what_enters_is_on_the_grid_where_onnx_has_it(scale: float, kind: Any, is_known: bool) -> None:
    step, point = np.array(scale, np.float32), np.array(5, kind)
    x = np.concatenate([beside_halves(step), np.array([np.inf, -np.inf, 3e38, -3e38], np.float32)])
    name = "_s" if is_known else "s"
    data = single("QuantizeLinear", {"x": x, name: step, "_z": point}, opset=21)
    bounds = np.iinfo(kind)
    with np.errstate(over="ignore"):
        quotients = x / step
    wanted = np.clip(np.rint(quotients).astype(np.float64) + 5, bounds.min, bounds.max).astype(kind)
    np.testing.assert_array_equal(run(data, x, *([] if is_known else [step])), wanted)


@pytest.mark.parametrize("seed", range(8))
def test_grids_that_depend_on_data_are_those_of_onnx(seed: int) -> None:
    x = np.random.default_rng(seed).normal(seed - 3, 2, (40, 50)).astype(np.float32)
    high, low = np.float32(max(x.max(), 0)), np.float32(min(x.min(), 0))
    scale = (high - low) / np.float32(255)
    point = np.rint(np.clip(-low / scale, 0, 255))
    found = run(single("DynamicQuantizeLinear", {"x": x}, 3), x)
    np.testing.assert_array_equal(found[0], np.clip(np.rint(x / scale) + point, 0, 255).astype(np.uint8))
    assert found[1] == scale
    assert found[2] == point


def test_a_quotient_that_is_rounded_is_that_of_a_division() -> None:
    step = np.array(0.0186, np.float32)
    x = beside_halves(step)
    nodes = [RawNode("Div", ["x", "s"], ["q"]), RawNode("Round", ["q"], ["y"])]
    data = model(RawGraph(nodes, [RawValue("x", x.shape)], [RawValue("y", None)], {"s": step}))
    assert (np.rint(x * (1 / step)) != np.rint(x / step)).any()
    np.testing.assert_array_equal(run(data, x), np.rint(x / step))
