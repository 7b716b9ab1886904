"""`@quantize` and `@update`: what tensors are rounded to, and what variables hold (NNEF 2.0 section 2.14)."""

from __future__ import annotations

from typing import Any

import numpy as np

import tosajit as tj
from tests.nnef.test_networks import weights
from tosajit.frontends.nnef.compose import Library, compose
from tosajit.frontends.nnef.library import Standard
from tosajit.frontends.nnef.lowering import graph_of

Array = np.ndarray[Any, Any]

TEXT = """
import nn;
import quant;
graph main {
    @input { x: real[1, 3, 8, 8]; }
    @output { y: real[1, 4, 8, 8]; }
    @variable { k: real[4, 3, 3, 3]; b: real[4]; }
    @compose {
        c = nn.conv{padding=[1, 1, 1, 1]}(x, k, b);
        y = nn.relu(c);
    }
    @quantize {
        x: quant.zero_point_linear_quantize{zero_point=3, scale=0.0625, bits=8};
        k: quant.zero_point_linear_quantize{
            zero_point=0, scale=[0.0078125, 0.015625, 0.0078125, 0.03125], bits=8, symmetric=true,
            channel_axis=0
        };
        y: quant.zero_point_linear_quantize{zero_point=-128, scale=0.03125, bits=8};
    }
}
"""
X = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
SCALES = np.array([0.0078125, 0.015625, 0.0078125, 0.03125]).reshape(4, 1, 1, 1)


def rounded(value: Array, zero: int, scale: Any, least: int = -128) -> Array:
    """What a linear quantisation of 8 bits leaves."""
    places = np.copysign(np.floor(np.abs(value / scale) + 0.5), value)
    found: Array = (np.clip(places + zero, least, 127) - zero) * scale
    return found


def convolved(image: Array, kernel: Array, bias: Array) -> Array:
    wide = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    parts = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
    total: Array = np.einsum("bcyxij,ocij->boyx", parts, kernel)
    return total + bias.reshape(1, -1, 1, 1)


def before() -> Array:
    """What is not quantised yet."""
    kernel, bias = weights("k", (4, 3, 3, 3), "real"), weights("b", (4,), "real")
    total = convolved(rounded(X.astype(np.float64), 3, 0.0625), rounded(kernel, 0, SCALES, -127), bias)
    found: Array = np.maximum(total, 0)
    return found


def expected() -> Array:
    return rounded(before(), -128, 0.03125)


def test_tensors_are_rounded_to_what_integers_stand_for() -> None:
    graph = graph_of(compose(Library({"main": TEXT}, Standard()), weights=weights))
    np.testing.assert_allclose(tj.compile(graph)(X), expected(), atol=1e-6)


def test_quantized_weights_are_constants() -> None:
    graph = graph_of(compose(Library({"main": TEXT}, Standard()), weights=weights))
    (node,) = [node for node in graph.nodes if node.operator.opcode == "CONV2D"]
    held = {name for one in graph.nodes if one.operator.opcode == "CONST" for name in one.outputs}
    assert node.inputs[1] in held


def test_quantisers_may_be_composed_by_those_who_write_models() -> None:
    text = TEXT.replace("graph main", """operator halved {
        @attrib { scale: real; bits: int = 8; }
        @input { x: real[s..]; }
        @output { y: real[s..]; }
        @compose {
            t = quant.zero_point_linear_quantize{zero_point=-128, scale=scale / 2.0, bits=bits}(x);
            y = quant.zero_point_linear_quantize{zero_point=-128, scale=scale, bits=bits}(t);
        }
    }
    graph main""").replace(
        "quant.zero_point_linear_quantize{zero_point=-128, scale=0.03125, bits=8}", "halved{scale=0.03125}"
    )  # fmt: skip
    graph = graph_of(compose(Library({"main": text}, Standard()), weights=weights))
    twice = rounded(rounded(before(), -128, 0.015625), -128, 0.03125)
    np.testing.assert_allclose(tj.compile(graph)(X), twice, atol=1e-6)


def test_variables_are_updated_after_each_call() -> None:
    text = """
    import math;
    graph main {
        @input { x: real[2]; }
        @output { y: real[2]; }
        @variable { total: real[2]; factor: real[2]; }
        @compose { scaled = math.mul(x, factor); y = math.add(total, scaled); }
        @update { total = math.add(y, 1.0); }
    }
    """
    given = {"total": np.array([10, 20], np.float32), "factor": np.array([2, 3], np.float32)}
    model = compose(Library({"main": text}, Standard()), weights=lambda name, shape, type: given[name])
    run, one = tj.compile(graph_of(model)), np.ones(2, np.float32)
    assert [run(one).tolist() for _ in range(3)] == [[12, 23], [15, 27], [18, 31]]
