"""Contractions and pools: on real numbers NNEF's own, on integers those of module `tosa`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tosajit.dtypes import FP32, INT16
from tosajit.frontends.nnef.forms.registry import Form, Naming, call, form, single
from tosajit.graph import Node

_WINDOW = ("pad", "out_pad", "stride", "dilation", "kernel")


@form("MATMUL")
def matmul(graph: Naming, node: Node) -> str:
    """The products of matrices."""
    operands, dtype = [graph.name(one) for one in node.inputs[:2]], graph.value(node.inputs[0]).dtype
    if dtype is FP32:
        return call("linalg.matmul", operands)
    if dtype is INT16:
        return call("tosa.matmul_48", operands)
    return call("tosa.matmul", [*operands, *(single(graph, one) for one in node.inputs[2:4])], input_bits=8)


def _convolution(real: Form) -> Form:
    """A convolution whose numbers may be integers."""

    def write(graph: Naming, node: Node) -> str | None:
        value, weight, bias, *zero_points = (graph.value(one) for one in node.inputs)
        if value.dtype is FP32:
            return real(graph, node)
        name, window = f"tosa.{node.operator.opcode.lower()}", _window(node)
        operands = [graph.name(value.name), graph.name(weight.name)]
        if value.dtype is INT16:
            return call(f"{name}_48", [*operands, *graph.pair(bias.name)], **window)
        bits = {} if weight.dtype.bits == 8 else {"weight_bits": weight.dtype.bits}
        numbers = [single(graph, one.name) for one in zero_points]
        return call(name, [*operands, graph.name(bias.name), *numbers], **window, **bits)

    return write


def _window(node: Node) -> dict[str, Any]:
    """The attributes that say where windows are."""
    return {key: list(value) for key, value in dict(node.operator).items() if key in _WINDOW}


def _bias(graph: Naming, node: Node, count: int) -> str:
    """A bias for each channel; one for all of them is repeated."""
    name = node.inputs[2]
    value = graph.value(name)
    if value.shape == (count,):
        return graph.name(name)
    if value.data is not None:
        return graph.held(np.repeat(value.data, count), name)
    return graph.step(call("layout.tile", [graph.name(name)], repeats=[count]), f"{name}_all")


def _turned(graph: Naming, name: str, order: Sequence[int], shape: Sequence[int]) -> str:
    """Weights in another order."""
    data = graph.value(name).data
    if data is not None:
        return graph.held(data.transpose(order).reshape(shape), name)
    turned = graph.step(call("layout.transpose", [graph.name(name)], perm=list(order)), f"{name}_turned")
    return graph.step(call("layout.reshape", [turned], shape=list(shape)), f"{name}_kernels")


def _halves(numbers: Sequence[int], sign: int = 1) -> list[int]:
    return [sign * one for one in (*numbers[::2], *numbers[1::2])]


def _conv(graph: Naming, node: Node) -> str:
    """A convolution of real numbers; channels are last."""
    given = dict(node.operator)
    count = (graph.value(node.inputs[1]).shape or ())[0]
    operands = [graph.name(node.inputs[0]), graph.name(node.inputs[1]), _bias(graph, node, count)]
    return call(
        "nn.conv", operands, stride=list(given["stride"]), dilation=list(given["dilation"]),
        padding=_halves(given["pad"]), data_format="NXC", filter_format="NXC",
    )  # fmt: skip


def _depthwise(graph: Naming, node: Node) -> str:
    """A convolution of each channel of real numbers on its own."""
    given, shape = dict(node.operator), graph.value(node.inputs[1]).shape
    assert shape is not None
    height, width, channels, depth = shape
    kernels = _turned(graph, node.inputs[1], (2, 3, 0, 1), (channels * depth, height, width, 1))
    operands = [graph.name(node.inputs[0]), kernels, _bias(graph, node, channels * depth)]
    return call(
        "nn.conv", operands, stride=list(given["stride"]), dilation=list(given["dilation"]),
        padding=_halves(given["pad"]), groups=0, data_format="NXC", filter_format="NXC",
    )  # fmt: skip


def _deconv(graph: Naming, node: Node) -> str:
    """A transposed convolution of real numbers."""
    given, shape = dict(node.operator), graph.value(node.inputs[1]).shape
    assert shape is not None
    kernels = _turned(graph, node.inputs[1], (3, 1, 2, 0), (shape[3], *shape[1:3], shape[0]))
    operands = [graph.name(node.inputs[0]), kernels, _bias(graph, node, shape[0])]
    return call(
        "nn.deconv", operands, stride=list(given["stride"]), padding=_halves(given["out_pad"], -1),
        data_format="NXC", filter_format="NXC",
    )  # fmt: skip


form("CONV2D", "CONV3D")(_convolution(_conv))
form("DEPTHWISE_CONV2D")(_convolution(_depthwise))
form("TRANSPOSE_CONV2D")(_convolution(_deconv))


@form("MAX_POOL2D")
def max_pool(graph: Naming, node: Node) -> str:
    """The maximum of each window."""
    return _pool("max_pool", graph, node)


@form("AVG_POOL2D")
def avg_pool(graph: Naming, node: Node) -> str:
    """The mean of each window; padding does not count."""
    return _pool("avg_pool", graph, node)


def _pool(name: str, graph: Naming, node: Node) -> str:
    given, value = dict(node.operator), graph.value(node.inputs[0])
    if value.dtype is not FP32:
        operands = [graph.name(value.name), *(single(graph, one) for one in node.inputs[1:])]
        return call(f"tosa.{name}2d", operands, **_window(node), bits=value.dtype.bits)
    return call(
        f"nn.{name}", [graph.name(value.name)], axes=[1, 2], size=list(given["kernel"]),
        stride=list(given["stride"]), padding=_halves(given["pad"]),
    )  # fmt: skip


@form("FFT2D")
def fft2d(graph: Naming, node: Node) -> str:
    """A Fourier transform of complex images."""
    inverse = bool(dict(node.operator)["inverse"])
    return call("tosa.fft2d", [graph.name(one) for one in node.inputs], inverse=inverse)


@form("RFFT2D")
def rfft2d(graph: Naming, node: Node) -> str:
    """A Fourier transform of real images."""
    return call("tosa.rfft2d", [graph.name(node.inputs[0])])
