"""Quantised ONNX models: what stands between dequantizers and quantizers is computed with integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import RawGraph, RawNode, RawValue, model
from tests.onnx_cases.quantized import Network, grid, networks, plain
from tosajit.frontends.onnx.schema import Type

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    """Tests have the same numbers in whatever order they run."""
    RANDOM.bit_generator.state = np.random.default_rng(5).bit_generator.state


def opcodes(graph: tj.Graph) -> list[str]:
    return [one.operator.opcode for one in graph.nodes if not one.operator.opcode.startswith("CONST")]


def floats(graph: tj.Graph) -> list[str]:
    """The operators of a graph that give real numbers."""
    values = graph.main.values
    return [
        one.operator.opcode for one in graph.nodes if any(values[name].dtype.is_float for name in one.outputs)
    ]


def nearest(reals: Array, scale: Any, point: int, kind: Any) -> Array:
    bounds = np.iinfo(kind)
    found: Array = np.clip(np.rint(reals / scale) + point, bounds.min, bounds.max).astype(kind)
    return found


def numbers(shape: Sequence[int], kind: Any = np.int8) -> Array:
    bounds = np.iinfo(kind)
    return RANDOM.integers(bounds.min, bounds.max + 1, tuple(shape)).astype(kind)


def slid(image: Array, kernels: Array) -> Array:
    """A convolution without borders, in float64."""
    size = kernels.shape[-1]
    windows = np.lib.stride_tricks.sliding_window_view(image, (size, size), (2, 3))
    found: Array = np.einsum("nchwyx,ocyx->nohw", windows, kernels)
    return found


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("weight_kind", [np.int8, np.uint8])
@pytest.mark.parametrize("activation", ["", "Relu"])
def test_a_convolution_between_grids_is_one_of_integers(kind: Any, weight_kind: Any, activation: str) -> None:
    x, w, b = numbers((1, 3, 6, 5), kind), numbers((4, 3, 3, 3), weight_kind), numbers((4,), np.int16)
    per_channel = weight_kind is np.int8
    scales = np.array([0.5, 0.25, 0.125, 1.0]) if per_channel else np.array(0.25)
    point = 0 if per_channel else 100
    network = Network(x=(x, 0.5, 7))
    network.weights(w, "w", scales, point)
    network.weights(b.astype(np.int32), "b", 0.5 * scales)
    found = network.op("Conv", "x_real", "w_real", "b_real", pads=[1, 1, 1, 1])
    found = network.op("Relu", found) if activation else found
    output = network.quantize(found, 64.0, 3, kind)
    wide = np.pad((x.astype(float) - 7) * 0.5, [(0, 0), (0, 0), (1, 1), (1, 1)])
    row = np.reshape(scales, (-1, 1, 1, 1))
    reals = slid(wide, (w.astype(float) - point) * row) + (b * 0.5 * scales).reshape(1, -1, 1, 1)
    reals = np.maximum(reals, 0) if activation else reals
    np.testing.assert_array_equal(network.run(output), nearest(reals, 64.0, 3, kind))
    graph = network.graph(output)
    assert floats(graph) == []
    assert opcodes(graph).count("CONV2D") == 1


def test_weights_of_real_numbers_take_integers_as_these_real_numbers() -> None:
    x = RANDOM.normal(size=(1, 3, 6, 5)).astype(np.float32)
    w = numbers((4, 3, 3, 3))
    network = Network()
    network.given = {"x": x}
    network.weights(w, "w", 0.5)
    found = network.op("Conv", "x", "w_real")
    data = model(RawGraph(network.nodes, [RawValue("x", x.shape)], [RawValue(found, None)], network.held), 21)
    np.testing.assert_allclose(tj.compile(tj.load(data))(x), slid(x, w * 0.5), rtol=1e-4, atol=1e-3)


def test_groups_of_channels_have_scales_of_their_own() -> None:
    x, w = numbers((1, 4, 5, 5)), numbers((8, 1, 3, 3))
    scales = 2.0 ** -np.arange(8)
    network = Network(x=(x, 1.0, -3))
    network.weights(w, "w", scales)
    output = network.quantize(network.op("Conv", "x_real", "w_real", group=4), 32.0, 0)
    reals = np.concatenate(
        [
            slid(x[:, one : one + 1] + 3.0, (w * scales.reshape(-1, 1, 1, 1))[2 * one : 2 * one + 2])
            for one in range(4)
        ],
        1,
    )
    np.testing.assert_array_equal(network.run(output), nearest(reals, 32.0, 0, np.int8))
    assert "DEPTHWISE_CONV2D" in opcodes(network.graph(output))


def test_a_transposed_convolution_is_one_of_integers() -> None:
    x, w = numbers((1, 3, 4, 4), np.uint8), numbers((3, 2, 2, 2))
    network = Network(x=(x, 0.5, 128))
    network.weights(w, "w", [0.5, 0.25], axis=1)
    output = network.quantize(
        network.op("ConvTranspose", "x_real", "w_real", strides=[2, 2]), 16.0, 99, np.uint8
    )
    reals = (x - 128.0) * 0.5
    kernels = w * np.array([0.5, 0.25]).reshape(1, 2, 1, 1)
    wanted = np.einsum("ncyx,copq->noypxq", reals, kernels).reshape(1, 2, 8, 8)
    np.testing.assert_array_equal(network.run(output), nearest(wanted, 16.0, 99, np.uint8))
    assert floats(network.graph(output)) == []


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_products_of_matrices_are_those_of_integers(kind: Any) -> None:
    x, y, w = numbers((2, 3, 4), kind), numbers((2, 4, 5), kind), numbers((5, 6))
    network = Network(x=(x, 0.5, 10), y=(y, 0.25, 20))
    first = network.quantize(network.op("MatMul", "x_real", "y_real"), 16.0, 5, kind)
    network.dequantize(first, 16.0, 5, kind)
    network.weights(w, "w", 2.0 ** -np.arange(6), axis=1)
    term = network.const(np.arange(6, dtype=np.float32), "term")
    total = network.op("Add", network.op("MatMul", f"{first}_real", "w_real"), term)
    output = network.quantize(total, 128.0, 1, kind)
    inner = nearest((x.astype(float) - 10) * 0.5 @ ((y.astype(float) - 20) * 0.25), 16.0, 5, kind)
    wanted = (inner.astype(float) - 5) * 16 @ (w * 2.0 ** -np.arange(6)) + np.arange(6)
    np.testing.assert_array_equal(network.run(output), nearest(wanted, 128.0, 1, kind))
    assert floats(network.graph(output)) == []


@pytest.mark.parametrize("is_turned", [0, 1])
def test_gemm_takes_weights_that_are_turned(is_turned: int) -> None:
    x, w, b = numbers((3, 4)), numbers((5, 4) if is_turned else (4, 5)), numbers((5,))
    network = Network(x=(x, 0.5, 10))
    network.weights(w, "w", [1, 2, 4, 8, 16], axis=1 - is_turned)
    network.weights(b.astype(np.int32), "b", np.array([1, 2, 4, 8, 16]) / 2)
    output = network.quantize(network.op("Gemm", "x_real", "w_real", "b_real", transB=is_turned), 512.0, 1)
    scales = np.array([1, 2, 4, 8, 16])
    kernel = (w.T if is_turned else w) * scales
    wanted = (x - 10.0) * 0.5 @ kernel + b * scales / 2
    np.testing.assert_array_equal(network.run(output), nearest(wanted, 512.0, 1, np.int8))
    assert floats(network.graph(output)) == []


def test_a_function_between_grids_is_a_table() -> None:
    x = numbers((4, 50), np.uint8)
    network = Network(x=(x, 0.05, 128))
    gate = network.op("Sigmoid", "x_real")
    output = network.quantize(network.op("Mul", "x_real", gate), 0.02, 30, np.uint8)
    real = (x.astype(np.float32) - 128) * np.float32(0.05)
    wanted = nearest(real * (1 / (1 + np.exp(-real))), np.float32(0.02), 30, np.uint8)
    np.testing.assert_array_equal(network.run(output), wanted)
    assert opcodes(network.graph(output)) == ["RESCALE", "TABLE", "RESCALE"]


FUNCTIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "Relu": ({}, lambda x: np.maximum(x, 0)),
    "LeakyRelu": ({"alpha": 0.25}, lambda x: np.where(x < 0, x / 4, x)),
    "HardSigmoid": ({"alpha": 0.25, "beta": 0.5}, lambda x: np.clip(x / 4 + 0.5, 0, 1)),
    "HardSwish": ({}, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    "Elu": ({"alpha": 2.0}, lambda x: np.where(x < 0, 2 * np.expm1(x), x)),
    "Celu": ({"alpha": 2.0}, lambda x: np.where(x < 0, 2 * np.expm1(x / 2), x)),
    "Selu": ({"alpha": 2.0, "gamma": 0.5}, lambda x: 0.5 * np.where(x < 0, 2 * np.expm1(x), x)),
    "Gelu": (
        {"approximate": "tanh"},
        lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    "Softplus": ({}, lambda x: np.log1p(np.exp(x))),
    "Softsign": ({}, lambda x: x / (1 + abs(x))),
    "Mish": ({}, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "ThresholdedRelu": ({"alpha": 1.5}, lambda x: np.where(x > 1.5, x, 0)),
    "Shrink": ({"bias": 0.5, "lambd": 1.0}, lambda x: np.where(x > 1, x - 0.5, np.where(x < -1, x + 0.5, 0))),
    "Swish": ({"alpha": 2.0}, lambda x: x / (1 + np.exp(-2 * x))),
    "Exp": ({}, np.exp),
    "Tanh": ({}, np.tanh),
}


@pytest.mark.parametrize("op", FUNCTIONS)
def test_functions_of_all_bytes_are_what_numpy_says(op: str) -> None:
    attributes, function = FUNCTIONS[op]
    x = np.arange(-128, 128, dtype=np.int8)
    network = Network(x=(x, 1 / 32, 0))
    output = network.quantize(network.op(op, "x_real", **attributes), 1 / 33, 0)
    found, wanted = network.run(output), function(x / 32) * 33
    steps = np.abs(found - np.clip(wanted, -128, 127))
    assert steps.max() <= 0.5 + 1e-4
    assert set(opcodes(network.graph(output))) <= {"TABLE", "CLAMP"}


@pytest.mark.parametrize(("op", "function"), [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply)])
def test_two_tensors_of_other_grids_meet(op: str, function: Any) -> None:
    x, y = numbers((3, 1, 70)), numbers((1, 60, 70))
    network = Network(x=(x, 0.5, 3), y=(y, 0.125, -9))
    output = network.quantize(network.op("Relu", network.op(op, "x_real", "y_real")), 2.0, 1)
    wanted = np.maximum(function((x - 3.0) * 0.5, (y + 9.0) * 0.125), 0)
    np.testing.assert_array_equal(network.run(output), nearest(wanted, 2.0, 1, np.int8))
    assert floats(network.graph(output)) == []


def test_what_moves_elements_moves_integers() -> None:
    x = numbers((1, 4, 6, 6), np.uint8)
    network = Network(x=(x, 0.03, 100))
    found = network.op("MaxPool", "x_real", kernel_shape=[2, 2], strides=[2, 2])
    found = network.op("Transpose", found, perm=[0, 2, 3, 1])
    pads = network.const(np.array([0, 1, 0, 0, 0, 1, 0, 0]), "pads")
    found = network.op("Pad", found, pads)
    shape = network.const(np.array([5, -1]), "shape")
    output = network.quantize(network.op("Reshape", found, shape), 0.03, 100, np.uint8)
    wanted = x.reshape(1, 4, 3, 2, 3, 2).max((3, 5)).transpose(0, 2, 3, 1)
    wanted = np.pad(wanted, [(0, 0), (1, 1), (0, 0), (0, 0)], constant_values=100).reshape(5, -1)
    np.testing.assert_array_equal(network.run(output), wanted)
    assert floats(network.graph(output)) == []


@pytest.mark.parametrize("scale", [0.5, 0.25])
def test_joined_tensors_have_one_grid(scale: float) -> None:
    x, y = numbers((2, 3)), numbers((2, 4))
    network = Network(x=(x, 0.5, 3), y=(y, scale, 3))
    output = network.quantize(network.op("Concat", "x_real", "y_real", axis=1), 0.5, 3)
    wanted = np.concatenate([(x - 3.0) * 0.5, (y - 3.0) * scale], 1)
    np.testing.assert_array_equal(network.run(output), nearest(wanted, 0.5, 3, np.int8))
    assert floats(network.graph(output)) == []


@pytest.mark.parametrize("op", ["GlobalAveragePool", "AveragePool", "ReduceMean", "ReduceSum"])
def test_means_and_sums_are_those_of_integers(op: str) -> None:
    x = numbers((1, 8, 4, 4), np.uint8)
    network = Network(x=(x, 0.5, 100))
    real, axes = (x - 100.0) * 0.5, network.const(np.array([2, 3]), "axes")
    match op:
        case "AveragePool":
            found = network.op(op, "x_real", kernel_shape=[2, 2], strides=[2, 2])
            wanted = real.reshape(1, 8, 2, 2, 2, 2).mean((3, 5))
        case "GlobalAveragePool":
            found, wanted = network.op(op, "x_real"), real.mean((2, 3), keepdims=True)
        case _:
            found = network.op(op, "x_real", axes, keepdims=0)
            wanted = real.mean((2, 3)) if op == "ReduceMean" else real.sum((2, 3))
    output = network.quantize(found, 0.5, 100, np.uint8)
    np.testing.assert_array_equal(network.run(output), nearest(wanted, 0.5, 100, np.uint8))
    assert floats(network.graph(output)) == []


def test_what_has_no_form_in_integers_takes_real_numbers_once() -> None:
    x = numbers((2, 8))
    network = Network(x=(x, 0.25, 3))
    first = network.op("Softmax", "x_real", axis=1)
    second = network.op("CumSum", "x_real", network.const(np.array(1), "axis"))
    output = network.quantize(network.op("Add", first, second), 0.5, 1)
    real = (x - np.float32(3)) * np.float32(0.25)
    powers = np.exp(real - real.max(1, keepdims=True))
    wanted = powers / powers.sum(1, keepdims=True) + np.cumsum(real, 1)
    np.testing.assert_array_equal(network.run(output), nearest(wanted, 0.5, 1, np.int8))
    assert opcodes(network.graph(output)).count("CAST") == 2


def test_a_result_may_be_both_integers_and_real_numbers() -> None:
    x = numbers((2, 8), np.uint8)
    network = Network(x=(x, 0.25, 3))
    found = network.op("Tanh", "x_real")
    output = network.quantize(found, 1 / 128, 128, np.uint8)
    again = network.dequantize(output, 1 / 128, 128, np.uint8)
    integers, real, later = network.run(output, found, again)
    np.testing.assert_allclose(real, np.tanh((x - 3.0) * 0.25), rtol=1e-6)
    np.testing.assert_array_equal(later, (integers - 128.0) / 128)


def test_long_chains_of_functions_are_put_off_only_so_far() -> None:
    x = np.arange(-128, 128, dtype=np.int8)
    network = Network(x=(x, 1 / 32, 0))
    found = "x_real"
    for _ in range(200):
        found = network.op("Abs", found)
    output = network.quantize(found, 1 / 32, 0)
    np.testing.assert_array_equal(network.run(output), np.minimum(np.abs(x.astype(int)), 127))


def test_scales_that_are_none_are_computed_as_they_stand() -> None:
    x = numbers((2, 8))
    network = Network(x=(x, -0.5, 3))
    np.testing.assert_array_equal(network.run(network.op("Neg", "x_real")), (x - 3.0) * 0.5)


def test_branches_take_integers_from_around_them() -> None:
    x = numbers((2, 8))
    network = Network(x=(x, 0.5, 3))
    network.given["on"] = np.array(True)
    then = RawGraph([RawNode("Relu", ["x_real"], ["a"])], [], [RawValue("a", None)])
    other = RawGraph([RawNode("Neg", ["x_real"], ["b"])], [], [RawValue("b", None)])
    network.nodes.append(RawNode("If", ["on"], ["y"], {"then_branch": then, "else_branch": other}, "if"))
    output = network.quantize("y", 0.5, 0)
    inputs = [RawValue("x", x.shape, Type.INT8), RawValue("on", (), Type.BOOL)]
    data = model(RawGraph(network.nodes, inputs, [RawValue(output, None)], network.held), 21)
    fast = tj.compile(tj.load(data))
    real = (x - 3.0) * 0.5
    np.testing.assert_array_equal(fast(x, np.array(True)), nearest(np.maximum(real, 0), 0.5, 0, np.int8))
    np.testing.assert_array_equal(fast(x, np.array(False)), nearest(-real, 0.5, 0, np.int8))


def test_integers_of_64_bits_are_divided_exactly() -> None:
    large = np.array([(1 << 60) - 1, 1 - (1 << 60), 9, -9, 8])
    divisors = np.array([1, 1, 2, 2, -4])
    wanted = [(1 << 60) - 1, 1 - (1 << 60), 4, -4, -2]
    assert np.trunc(large.astype(np.float64) / divisors).astype(np.int64).tolist() != wanted
    nodes = [
        RawNode("Div", ["a", "b"], ["c"]),
        RawNode("Sub", ["c", "near"], ["d"]),
        RawNode("Add", ["x", "d"], ["y"]),
    ]
    held = {"a": large, "b": divisors, "near": np.array(wanted) - 1}
    data = model(RawGraph(nodes, [RawValue("x", (5,), Type.INT64)], [RawValue("y", None)], held))
    np.testing.assert_array_equal(tj.compile(tj.load(data))(np.zeros(5, np.int64)), np.ones(5))


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_a_convolution_that_has_grids_is_one_of_integers(kind: Any) -> None:
    x, w, b = numbers((1, 3, 6, 5), kind), numbers((4, 3, 3, 3)), numbers((4,), np.int16)
    scales = np.array([0.5, 0.25, 0.125, 1.0])
    network = plain(x=x)
    operands = [
        "x",
        *grid(network, "x", 0.5, 7, kind),
        network.const(w, "w"),
        *grid(network, "w", scales, [0] * 4, np.int8),
    ]
    operands += [*grid(network, "y", 64.0, 3, kind), network.const(b.astype(np.int32), "b")]
    output = network.op("QLinearConv", *operands, strides=[2, 1])
    reals = slid((x.astype(float) - 7) * 0.5, w * scales.reshape(-1, 1, 1, 1))[:, :, ::2]
    wanted = nearest(reals + (b * 0.5 * scales).reshape(1, -1, 1, 1), 64.0, 3, kind)
    np.testing.assert_array_equal(network.run(output), wanted)
    assert floats(network.graph(output)) == []


def test_matrices_that_have_grids_are_multiplied_as_integers() -> None:
    x, y = numbers((2, 3, 40), np.uint8), numbers((2, 40, 5), np.uint8)
    network = plain(x=x, y=y)
    operands = ["x", *grid(network, "x", 0.5, 7, np.uint8), "y", *grid(network, "y", 0.25, 9, np.uint8)]
    output = network.op("QLinearMatMul", *operands, *grid(network, "z", 128.0, 100, np.uint8))
    wanted = nearest((x - 7.0) @ (y - 9.0) * 0.125, 128.0, 100, np.uint8)
    np.testing.assert_array_equal(network.run(output), wanted)
    assert floats(network.graph(output)) == []


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("point", [np.array(200), np.array([1, 200, 100])])
def test_products_of_integers_are_exact_however_long(is_known: bool, point: Array) -> None:
    x, w = numbers((3, 3000), np.uint8), numbers((3000, 4))
    x[:2], w[:, :2] = 255, 127
    network = plain(x=x, **({} if is_known else {"p": point.astype(np.uint8)}))
    operands = ["x", network.const(w, "w"), network.const(point.astype(np.uint8), "p") if is_known else "p"]
    output = network.op("MatMulInteger", *operands, network.const(np.int8(-100), "wz"))
    wanted = (x.astype(np.int64) - point.reshape(-1, 1)) @ (w.astype(np.int64) + 100)
    assert np.abs(wanted).max() > 1 << 24
    np.testing.assert_array_equal(network.run(output), wanted)
    assert floats(network.graph(output)) == []


@pytest.mark.parametrize("is_known", [True, False])
def test_convolutions_of_integers_are_exact(is_known: bool) -> None:
    x, w = numbers((1, 3, 6, 5), np.uint8), numbers((4, 3, 3, 3), np.uint8)
    network = plain(x=x, **({} if is_known else {"p": np.array(77, np.uint8)}))
    point = network.const(np.array(77, np.uint8), "p") if is_known else "p"
    output = network.op("ConvInteger", "x", network.const(w, "w"), point, network.const(np.uint8(128), "wz"))
    np.testing.assert_array_equal(network.run(output), slid(x - 77.0, w - 128.0))
    assert floats(network.graph(output)) == []


def windows_of(x: Array, w: Array, groups: int, stride: int, pads: Sequence[int]) -> Array:
    """A convolution of images by the sums that define it, in int64."""
    wide = np.pad(x.astype(np.int64), [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    seen = np.lib.stride_tricks.sliding_window_view(wide, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    parts = zip(np.split(seen, groups, 1), np.split(w.astype(np.int64), groups), strict=True)
    return np.concatenate([np.einsum("nchwyx,kcyx->nkhw", one, other) for one, other in parts], 1)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("groups", [1, 2, 8])
@pytest.mark.parametrize("sign", [np.uint8, np.int8])
@pytest.mark.parametrize("apart", [False, True])
def test_convolutions_of_integers_take_any_points(
    is_known: bool, groups: int, sign: type[np.integer[Any]], apart: bool
) -> None:
    """Of images and of kernels, as dynamic quantisation gives them; one for all kernels or one for each."""
    x, w = numbers((2, 8, 7, 6), np.uint8), numbers((16, 8 // groups, 3, 3), sign)
    w.flat[:2] = np.iinfo(sign).min, np.iinfo(sign).max
    point = np.arange(100, 116).astype(sign) if apart else np.array(100, sign)
    point.flat[0] = np.iinfo(sign).min if apart else point.flat[0]
    network = plain(x=x, p=np.array(77, np.uint8), **({} if is_known else {"w": w, "z": point}))
    own = [network.const(w, "w"), "p", network.const(point, "z")] if is_known else ["w", "p", "z"]
    output = network.op("ConvInteger", "x", *own, group=groups, strides=[2, 2], pads=[1, 2, 0, 1])
    kernels = w.astype(np.int64) - point.astype(np.int64).reshape(-1, 1, 1, 1)
    wanted = windows_of(x.astype(np.int64) - 77, kernels, groups, 2, (1, 2, 0, 1))
    np.testing.assert_array_equal(network.run(output), wanted)
    assert floats(network.graph(output)) == []


def test_long_convolutions_of_integers_are_exact() -> None:
    """Sums that float32 does not hold."""
    x, w = numbers((1, 600, 5, 5), np.uint8), numbers((4, 600, 3, 3), np.uint8)
    x[:], w[0] = 255, 255
    network = plain(x=x, p=np.array(3, np.uint8))
    own = [network.const(w, "w"), "p", network.const(np.array(2, np.uint8), "z")]
    output = network.op("ConvInteger", "x", *own, auto_pad="SAME_UPPER")
    wanted = windows_of(x.astype(np.int64) - 3, w.astype(np.int64) - 2, 1, 1, (1, 1, 1, 1))
    assert np.abs(wanted).max() > 1 << 24
    np.testing.assert_array_equal(network.run(output), wanted)


def test_operators_of_onnx_runtime_have_grids() -> None:
    x, y = numbers((2, 3, 4, 4), np.uint8), numbers((2, 3, 4, 4), np.uint8)
    network = plain(x=x, y=y)
    first, second = grid(network, "x", 0.5, 7, np.uint8), grid(network, "y", 0.25, 9, np.uint8)

    def runtime(op: str, *operands: str, **attributes: Any) -> str:
        found = network.op(op, *operands, **attributes)
        network.nodes[-1] = replace(network.nodes[-1], domain="com.microsoft")
        return found

    total = grid(network, "t", 1.0, 50, np.uint8)
    added = runtime("QLinearAdd", "x", *first, "y", *second, *total)
    both = runtime("QLinearConcat", *total, added, *total, "y", *second, axis=1)
    means = runtime("QLinearGlobalAveragePool", both, *total, *total)
    gate = runtime("QLinearSigmoid", means, *total, *grid(network, "g", 1 / 256, 0, np.uint8))
    real_x, real_y = (x - 7.0) * 0.5, (y - 9.0) * 0.25
    inner = nearest(real_x + real_y, 1.0, 50, np.uint8)
    joined = np.concatenate([inner, nearest(real_y, 1.0, 50, np.uint8)], 1)
    mean = nearest((joined - 50.0).mean((2, 3), keepdims=True), 1.0, 50, np.uint8)
    wanted = nearest(1 / (1 + np.exp(50.0 - mean)), 1 / 256, 0, np.uint8)
    np.testing.assert_array_equal(network.run(gate), wanted)
    assert floats(network.graph(gate)) == []


@pytest.mark.parametrize("point", [0, -300])
def test_integers_of_16_bits_are_cut_off_as_integers(point: int) -> None:
    x = numbers((4, 50), np.int16)
    network = Network(x=(x, 0.5, point))
    bounds = network.const(np.float32(-100), "low"), network.const(np.float32(7000), "high")
    found = network.op("Clip", network.op("Relu", "x_real"), *bounds)
    output = network.quantize(found, 0.25, point, np.int16)
    wanted = nearest(np.clip((x.astype(float) - point) * 0.5, 0, 7000), 0.25, point, np.int16)
    np.testing.assert_array_equal(network.run(output), wanted)
    assert floats(network.graph(output)) == []


@pytest.mark.parametrize(
    ("kind", "point"), [(np.int16, 0), (np.int16, -7000), (np.uint16, 32768), (np.uint16, 11)]
)
@pytest.mark.parametrize("depth", [3, 700])
def test_convolutions_of_16_bits_lose_nothing(kind: Any, point: int, depth: int) -> None:
    x, w = numbers((1, depth, 6, 5), kind), numbers((4, depth, 3, 3))
    scales, scale, wide = (
        np.array([0.011, 0.007, 0.013, 0.005], np.float32),
        np.float32(0.00037),
        depth**0.5 / 900,
    )
    b = RANDOM.integers(-1000, 1000, 4).astype(np.int32)
    network = Network(x=(x, float(scale), point))
    network.weights(w, "w", scales)
    network.weights(b, "b", scales * scale)
    found = network.op("Conv", "x_real", "w_real", "b_real", pads=[1, 2, 0, 1])
    output = network.quantize(found, wide, 5000, kind)
    inside = np.pad(x.astype(float) - point, [(0, 0), (0, 0), (1, 0), (2, 1)])
    totals = slid(inside, w.astype(float)) + b.reshape(1, 4, 1, 1)
    ratios = scales.astype(float) * float(scale) / float(np.float32(wide))
    wanted = nearest(totals * ratios.reshape(1, 4, 1, 1), 1.0, 5000, kind)
    np.testing.assert_array_equal(network.run(output), wanted)
    assert floats(network.graph(output)) == []


@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
def test_products_of_matrices_of_16_bits_lose_nothing(op: str) -> None:
    x, w = numbers((5, 40), np.uint16), numbers((40, 6))
    network = Network(x=(x, 0.00037, 20000))
    network.weights(w, "w", [0.011, 0.007, 0.013, 0.005, 0.01, 0.02], axis=1)
    output = network.quantize(network.op(op, "x_real", "w_real"), 0.01, 30000, np.uint16)
    scales = np.array([0.011, 0.007, 0.013, 0.005, 0.01, 0.02], np.float32).astype(float)
    ratios = scales * float(np.float32(0.00037)) / float(np.float32(0.01))
    wanted = nearest((x - 20000.0) @ w.astype(float) * ratios, 1.0, 30000, np.uint16)
    np.testing.assert_array_equal(network.run(output), wanted)
    assert floats(network.graph(output)) == []


@pytest.mark.parametrize("number", range(len(networks())))
def test_small_networks_have_integers_alone_but_for_probabilities(number: int) -> None:
    graph = tj.load(networks()[number])
    assert tj.validate(graph) == ()
    assert {"CONV2D", "DEPTHWISE_CONV2D", "MATMUL"}.isdisjoint(floats(graph))
