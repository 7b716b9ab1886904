"""Graphs of single layers: a convolution of SCALE-Sim's, an operator of Vela's."""

from __future__ import annotations

from typing import Any

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT32, DType
from tosajit.graph import Graph
from tosajit.operators import ADD, AVG_POOL2D, CONV2D, DEPTHWISE_CONV2D, RESCALE
from tosajit.operators.types import AccType
from tosajit.tracing.builder import GraphBuilder
from validating.facts import Facts, Layer


def convolutions(layers: tuple[Layer, ...], batch: int = 1, scaled: bool = False) -> Graph:
    """Convolutions of inputs of their own, with sums as results, or with these scaled to int8."""
    builder = GraphBuilder()
    for number, layer in enumerate(layers):
        shape = (batch, layer.height, layer.width, layer.channels)
        source = builder.input(f"{layer.name}.input.{number}", INT8, shape)
        filters = (layer.filters, layer.kernel_height, layer.kernel_width, layer.channels)
        operator = CONV2D(
            pad=(0, _missing(layer, 0), 0, _missing(layer, 1)),
            stride=(layer.stride, layer.stride),
            dilation=(1, 1),
            acc_type=AccType.INT32,
            local_bound=False,
        )
        total = sums(builder, operator, source, filters, f"{layer.name}.{number}")
        builder.output(rescaled(builder, total, 1, INT32, INT8) if scaled else total)
    return builder.build()


def operator(fact: Facts) -> Graph:
    """An operator of `vela_operators.csv`, quantised as TOSA has it."""
    builder = GraphBuilder()
    height, width, channels = (int(fact[f"ifm_shape_{d}"]) for d in "hwc")
    source = builder.input("input", INT8, (1, height, width, channels))
    match fact["operator"]:
        case "Add":
            result = added(builder, source, builder.input("other", INT8, (1, height, width, channels)))
        case "AvgPool":
            kernel = int(fact["kernel_size_y"]), int(fact["kernel_size_x"])
            stride = int(fact["kernel_stride_y"]), int(fact["kernel_stride_x"])
            pool = AVG_POOL2D(kernel=kernel, stride=stride, pad=(0, 0, 0, 0), acc_type=AccType.INT32)
            zeros = builder.const(np.zeros(1, np.int8), INT8), builder.const(np.zeros(1, np.int8), INT8)
            result = builder.add(pool, [source, *zeros])
        case _:
            result = _convolution(builder, fact, source, channels)
    builder.output(result)
    return builder.build()


def _missing(layer: Layer, axis: int) -> int:
    """Padding behind the input, where the stride does not fit."""
    size, kernel, out = (
        (layer.height, layer.kernel_height, layer.out_height),
        (layer.width, layer.kernel_width, layer.out_width),
    )[axis]
    return (out - 1) * layer.stride + kernel - size


def _convolution(builder: GraphBuilder, fact: Facts, source: str, channels: int) -> str:
    """A convolution, with its scaling by channel."""
    kernel = int(fact["kernel_size_y"]), int(fact["kernel_size_x"])
    stride = int(fact["kernel_stride_y"]), int(fact["kernel_stride_x"])
    filters = int(fact["ofm_shape_c"])
    pads = [
        same(int(fact[f"ifm_shape_{d}"]), int(fact[f"ofm_shape_{d}"]), k, s)
        for d, k, s in zip("hw", kernel, stride, strict=True)
    ]
    options: dict[str, Any] = {
        "pad": (*pads[0], *pads[1]),
        "stride": stride,
        "dilation": (1, 1),
        "acc_type": AccType.INT32,
        "local_bound": False,
    }
    if fact["operator"] == "DepthwiseConv2D":
        total = sums(builder, DEPTHWISE_CONV2D(**options), source, (*kernel, channels, 1))
    else:
        total = sums(builder, CONV2D(**options), source, (filters, *kernel, channels))
    return rescaled(builder, total, filters, INT32, INT8)


def sums(builder: GraphBuilder, operator: Any, source: str, filters: tuple[int, ...], name: str = "") -> str:
    """The sums of a convolution with random weights."""
    count = filters[0] if isinstance(operator, CONV2D) else filters[2]
    weight = builder.const(weights(filters, source), INT8, name and f"{name}.weight")
    bias = builder.const(np.zeros(count, np.int32), INT32)
    zeros = (builder.const(np.zeros(1, np.int8), INT8) for _ in range(2))
    return str(builder.add(operator, [source, weight, bias, *zeros]))


def added(builder: GraphBuilder, left: str, right: str) -> str:
    """An addition of two scalings: each operand to a common one, the sum to its own."""
    wide = [rescaled(builder, value, 1, INT8, INT32) for value in (left, right)]
    return rescaled(builder, str(builder.add(ADD(), wide)), 1, INT32, INT8)


def rescaled(builder: GraphBuilder, value: str, channels: int, source: DType, dtype: DType) -> str:
    """A scaling, by channel if there are several."""
    several = channels > 1
    operator = RESCALE(scale32=True, per_channel=several, input_unsigned=False, output_unsigned=False)
    multiplier = builder.const(np.linspace(1 << 30, (1 << 31) - 1, channels).astype(np.int32), INT32)
    shift = builder.const(np.full(channels, 40 if dtype is INT8 else 20, np.int8), INT8)
    zeros = (builder.const(np.zeros(1, t.storage), t) for t in (source, dtype))
    return str(builder.add(operator, [value, multiplier, shift, *zeros], dtype=dtype))


def same(size: int, out: int, kernel: int, stride: int) -> tuple[int, int]:
    """Padding before and behind, so that so many results come out."""
    total = max(0, (out - 1) * stride + kernel - size)
    return total // 2, total - total // 2


def weights(shape: tuple[int, ...], source: str) -> Array:
    """Uniform int8 numbers, the same ones each time; of layers behind each other, different ones."""
    return np.random.default_rng([*source.encode()]).integers(-127, 128, shape, dtype=np.int8)
