"""`tosajit.nn.quantized` gives the bits that the TFLite front end gives for the same layers."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases import Sketch, drawn
from tests.tflite_cases.sketch import STORAGE
from tosajit import nn
from tosajit.frontends.tflite.fields import Activation, Padding
from tosajit.frontends.tflite.schema import Type

q = nn.quantized
SEEDS = range(8)
each_type = pytest.mark.parametrize("kind", ["int8", "int16"])
each_seed = pytest.mark.parametrize("seed", SEEDS)
Given = list[Any]
"""For each operand of a drawn layer: its array, scale and zero point."""


class Layer:
    """A drawn layer of TFLite, and what stands in its file."""

    def __init__(self, name: str, kind: str, seed: int) -> None:
        self.sketch = Sketch(name, f"nn {name} {kind} {seed}")
        drawn()[name].drawer(self.sketch, Type[kind.upper()])
        self.options: Any = self.sketch.operators[0].options
        self.case = self.sketch.case()
        (self.result,) = self.sketch.operators[0].outputs

    @property
    def operands(self) -> Given:
        """The arrays of operands; inputs as they are fed."""
        return [self._array(place) for place in self.sketch.operators[0].inputs]

    def _array(self, place: int) -> Any:
        tensor = self.sketch.tensors[place]
        if tensor.data is None:
            return self.case.calls[0][self.sketch.inputs.index(place)]
        return np.frombuffer(tensor.data, STORAGE[tensor.type]).reshape(tensor.shape)

    def meaning(self, name: str, place: int) -> dict[str, Any]:
        """The scale and the zero point of a tensor, as parameters."""
        tensor = self.sketch.tensors[place]
        scale = tensor.scale if len(tensor.scale) > 1 else tensor.scale[0]
        return {f"{name}_scale": scale, f"{name}_zero_point": int(tensor.zero_point[0])}

    def meanings(self, *names: str) -> dict[str, Any]:
        """Those of operands and the result."""
        places = (*self.sketch.operators[0].inputs[: len(names)], self.result)
        pairs = zip((*names, "out"), places, strict=True)
        return {key: one for name, place in pairs for key, one in self.meaning(name, place).items()}

    @property
    def activation(self) -> str | None:
        """The activation as `nn.quantized` names it."""
        found = self.options.fused_activation_function
        return None if found is Activation.NONE else found.name.lower()

    def check(self, call: Callable[..., Any], *arrays: Any, inputs: bool = True) -> None:
        """Compare what the front end gives with a layer: weights as constants, inputs and arrays."""
        expected = tj.compile(tj.load(self.case.model))(*self.case.calls[0])
        fed = [one for one in arrays if one is not None]
        if inputs:
            np.testing.assert_array_equal(tj.jit(call)(*fed), expected)
            np.testing.assert_array_equal(call(*fed), expected)
        rest = fed[1:]
        constants = tj.trace(lambda x: call(x, *rest), fed[0])
        np.testing.assert_array_equal(tj.compile(constants, checked=True)(fed[0]), expected)


def first(name: str, kind: str, seed: int, fits: Callable[[Layer], bool] = lambda layer: True) -> Layer:
    """The first layer that fits, of those drawn from a seed on."""
    return next(layer for one in range(100) if fits(layer := Layer(name, kind, 100 * seed + one)))


def is_plain(layer: Layer) -> bool:
    """Whether its weights are not packed, and its sums not cut to 32 bits, which is TFLite's alone."""
    packed = any(tensor.type in (Type.INT4, Type.INT2) for tensor in layer.sketch.tensors)
    return not packed and getattr(layer.options, "quantized_bias_type", None) is not Type.INT32


def weighted(layer: Layer) -> Given:
    """Input, weights and bias, or None."""
    x, weight, *bias = layer.operands
    return [x, weight, bias[0] if bias else None]


@each_type
@each_seed
def test_dense(kind: str, seed: int) -> None:
    layer = first("FULLY_CONNECTED", kind, seed, is_plain)
    x, weight, bias = weighted(layer)
    shape = layer.sketch.tensors[layer.result].shape
    settings = layer.meanings("x", "weight") | {"activation": layer.activation}

    def call(x: Any, weight: Any, *bias: Any) -> Any:
        return q.dense(x.reshape(-1, weight.shape[1]), weight, *bias, **settings).reshape(shape)

    layer.check(call, x, weight, bias)


def windows(layer: Layer) -> dict[str, Any]:
    options = layer.options
    return {
        "stride": (options.stride_h, options.stride_w),
        "dilation": (options.dilation_h_factor, options.dilation_w_factor),
        "padding": "same" if options.padding is Padding.SAME else "valid",
        "activation": layer.activation,
    }


@each_type
@each_seed
def test_conv2d(kind: str, seed: int) -> None:
    layer = first("CONV_2D", kind, seed, is_plain)
    x, weight, bias = weighted(layer)
    settings = layer.meanings("x", "weight") | windows(layer) | {"groups": x.shape[3] // weight.shape[3]}
    can_split = settings["groups"] == 1 or kind == "int8"
    layer.check(lambda *given: q.conv2d(*given, **settings), x, weight, bias, inputs=can_split)


@each_type
@each_seed
def test_depthwise_conv2d(kind: str, seed: int) -> None:
    layer = first("DEPTHWISE_CONV_2D", kind, seed, is_plain)
    x, weight, bias = weighted(layer)
    apart = weight.reshape(*weight.shape[1:3], x.shape[3], -1)
    settings = layer.meanings("x", "weight") | windows(layer)
    layer.check(lambda *given: q.depthwise_conv2d(*given, **settings), x, apart, bias)


@each_type
@each_seed
@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL"])
def test_sums_and_products(name: str, kind: str, seed: int) -> None:
    layer = Layer(name, kind, seed)
    x, y = layer.operands
    settings = layer.meanings("x", "y") | {"activation": layer.activation}
    layer.check(lambda x, y: getattr(q, name.lower())(x, y, **settings), x, y)


@each_type
@each_seed
@pytest.mark.parametrize("name", ["RELU", "RELU6"])
def test_rectifiers(name: str, kind: str, seed: int) -> None:
    layer = Layer(name, kind, seed)
    settings = layer.meanings("x")
    layer.check(lambda x: getattr(q, name.lower())(x, **settings), *layer.operands)


@each_type
@pytest.mark.parametrize("seed", range(4))
def test_softmax(kind: str, seed: int) -> None:
    layer = Layer("SOFTMAX", kind, seed)
    (place,) = layer.sketch.operators[0].inputs
    settings = {"x_scale": layer.sketch.tensors[place].scale[0], "beta": layer.options.beta}
    layer.check(lambda x: q.softmax(x, **settings), *layer.operands)


@each_type
@each_seed
@pytest.mark.parametrize("name", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_pools(name: str, kind: str, seed: int) -> None:
    layer = first(name, kind, seed, lambda one: one.activation in (None, "relu", "relu6"))
    options, meaning = layer.options, layer.meaning("x", layer.result)
    settings: dict[str, Any] = {
        "kernel": (options.filter_height, options.filter_width),
        "stride": (options.stride_h, options.stride_w),
        "padding": "same" if options.padding is Padding.SAME else "valid",
    }
    pool = q.avg_pool2d if name.startswith("A") else q.max_pool2d
    limit = {"relu": q.relu, "relu6": q.relu6}.get(str(layer.activation))

    def call(x: Any) -> Any:
        found = pool(x, **settings)
        return found if limit is None else limit(found, **meaning)

    layer.check(call, *layer.operands)


@each_seed
def test_a_table_is_any_function(seed: int) -> None:
    layer = Layer("LOGISTIC", "int8", seed)
    settings = layer.meanings("x")
    function = lambda real: 1 / (1 + exp(-real)) if real > -88 else 0.0  # noqa: E731
    layer.check(lambda x: q.table(x, function, **settings), *layer.operands)


@each_seed
@pytest.mark.parametrize("kind", ["float32", "int8", "int16"])
def test_quantize(kind: str, seed: int) -> None:
    narrow = (Type.INT8, Type.INT16)
    layer = first("QUANTIZE", kind, seed, lambda one: one.sketch.tensors[one.result].type in narrow)
    result = layer.sketch.tensors[layer.result]
    dtype = STORAGE[result.type]
    if kind == "float32":
        given = result.scale[0], int(result.zero_point[0]), dtype
        layer.check(lambda x: q.quantize(x, *given), *layer.operands)
    else:
        settings = layer.meanings("x")
        layer.check(lambda x: q.requantize(x, dtype=dtype, **settings), *layer.operands)


@each_type
@each_seed
def test_dequantize(kind: str, seed: int) -> None:
    def has_one_scale(layer: Layer) -> bool:
        return all(len(tensor.scale) < 2 for tensor in layer.sketch.tensors)

    layer = first("DEQUANTIZE", kind, seed, has_one_scale)
    tensor = layer.sketch.tensors[layer.sketch.operators[0].inputs[0]]
    given = tensor.scale[0], int(tensor.zero_point[0])
    layer.check(lambda x: q.dequantize(x, *given), *layer.operands)


def test_a_layer_stays_near_the_real_one() -> None:
    """The whole way: real numbers are quantised, multiplied as integers, and real numbers again."""
    generator = np.random.default_rng(1)
    x, weight = generator.uniform(-1, 1, (5, 16)), generator.uniform(-1, 1, (4, 16))
    bias = generator.uniform(-1, 1, 4)
    scales = np.abs(weight).max(axis=1) / 127
    whole = np.round(weight / scales[:, None]).astype(np.int8)

    @tj.jit
    def layer(x: Any) -> Any:
        integers = q.quantize(x, 2 / 255, 3)
        total = q.dense(
            integers, whole, np.round(bias / (scales * 2 / 255)).astype(np.int32),
            x_scale=2 / 255, x_zero_point=3, weight_scale=scales, out_scale=0.1, out_zero_point=-5,
        )  # fmt: skip
        return q.dequantize(total, 0.1, -5)

    found = layer(x.astype(np.float32))
    np.testing.assert_allclose(found, x @ weight.T + bias, atol=0.1)
    kinds = {node.operator.opcode for node in layer.graph(x.astype(np.float32)).nodes}
    assert {"CONV2D", "RESCALE"} <= kinds


BYTES, WORDS = np.ones((2, 4), np.int8), np.ones((2, 4), np.int16)
SCALES: dict[str, Any] = {"x_scale": 0.1, "weight_scale": 0.1, "out_scale": 0.1}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: q.dense(BYTES.astype(np.float32), BYTES, **SCALES), "FP32[2, 4] is not of INT8 or INT16"),
        (lambda: q.dense(BYTES, BYTES.astype(np.int16), **SCALES), "weight: INT16[2, 4] is not of INT8"),
        (lambda: q.dense(BYTES, BYTES, np.ones(2, np.float32), **SCALES), "must be INT32[2]"),
        (lambda: q.dense(BYTES, BYTES, **SCALES | {"x_scale": 0}), "x_scale is 0, but must be a number"),
        (lambda: q.dense(BYTES, BYTES, **SCALES | {"weight_scale": [1, 2, 3]}), "weight_scale is 3 numbers"),
        (lambda: q.dense(BYTES, BYTES, x_zero_point=200, **SCALES), "must be an integer from -128 to 127"),
        (lambda: q.dense(WORDS, BYTES, x_zero_point=1, **SCALES), "0, as INT16 has no other"),
        (lambda: q.dense(BYTES, BYTES, activation="swish", **SCALES), "None or one of none, relu, relu6"),
        (lambda: q.dense(BYTES, np.ones((2, 3), np.int8), **SCALES), "its rows have 3 elements"),
        (
            lambda: q.add(BYTES, BYTES.astype(np.int16), x_scale=1, y_scale=1, out_scale=1),
            "nn.quantized.add y: INT16 and INT8 do not mix",
        ),
        (lambda: q.quantize(np.ones(2, np.float32), 1.0, dtype="int32"), "but must be INT8 or INT16"),
        (lambda: q.quantize(BYTES, 1.0), "nn.quantized.quantize x: INT8[2, 4] is not of FP32"),
    ],
)  # fmt: skip
def test_faults_say_what_to_do(call: Callable[[], object], text: str) -> None:
    with pytest.raises(tj.TraceError) as raised:
        call()
    assert text in str(raised.value)
