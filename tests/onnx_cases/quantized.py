"""Quantised ONNX models, written node by node."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import tosajit as tj
from tests.onnx_cases.files import RawGraph, RawNode, RawValue, model
from tosajit.frontends.onnx.schema import Type

Array = np.ndarray[Any, Any]
KINDS = {
    np.dtype(np.int8): Type.INT8, np.dtype(np.uint8): Type.UINT8, np.dtype(np.int16): Type.INT16,
    np.dtype(np.uint16): Type.UINT16,
}  # fmt: skip


class Network:
    """A model whose inputs are given, and dequantized where they have grids."""

    def __init__(self, **given: tuple[Array, float, int]) -> None:
        self.nodes: list[RawNode] = []
        self.held: dict[str, Array] = {}
        self.given = {name: array for name, (array, _, _) in given.items()}
        for name, (_, scale, point) in given.items():
            self.dequantize(name, scale, point, self.given[name].dtype)

    def const(self, array: Any, name: str) -> str:
        """A constant."""
        self.held[name] = np.asarray(array)
        return name

    def dequantize(self, name: str, scale: Any, point: Any, kind: Any, axis: int = 1) -> str:
        """Real numbers of a tensor, by a scale or several."""
        operands = [name, self.const(np.array(scale, np.float32), f"{name}_scale"),
                    self.const(np.array(point, kind), f"{name}_point")]  # fmt: skip
        self.nodes.append(
            RawNode("DequantizeLinear", operands, [f"{name}_real"], {"axis": axis}, f"{name}_dq")
        )
        return f"{name}_real"

    def weights(self, array: Array, name: str, scale: Any, point: Any = 0, axis: int = 0) -> str:
        """Weights that are dequantized."""
        point = np.zeros(np.shape(scale), np.int64) + point
        return self.dequantize(self.const(array, name), scale, point, array.dtype, axis)

    def op(self, op: str, *operands: str, **attributes: Any) -> str:
        """The result of an operator."""
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(RawNode(op, operands, [name], attributes, f"{name}_node"))
        return name

    def quantize(self, name: str, scale: float, point: int, kind: Any = np.int8) -> str:
        """A tensor on a grid."""
        operands = [
            name,
            self.const(np.float32(scale), f"{name}_qs"),
            self.const(np.array(point, kind), f"{name}_qz"),
        ]
        self.nodes.append(RawNode("QuantizeLinear", operands, [f"{name}_q"], {}, f"{name}_quantize"))
        return f"{name}_q"

    def data(self, *outputs: str) -> bytes:
        """The file."""
        inputs = [RawValue(name, one.shape, KINDS[one.dtype]) for name, one in self.given.items()]
        return model(RawGraph(self.nodes, inputs, [RawValue(one, None) for one in outputs], self.held), 21)

    def graph(self, *outputs: str) -> tj.Graph:
        """The graph."""
        graph = tj.load(self.data(*outputs))
        assert tj.validate(graph) == ()
        return graph

    def run(self, *outputs: str) -> Any:
        """What the graph gives."""
        return tj.compile(self.graph(*outputs))(*self.given.values())


def grid(network: Network, name: str, scale: Any, point: Any, kind: Any) -> list[str]:
    """The operands that a grid is, constants."""
    return [
        network.const(np.array(scale, np.float32), f"{name}s"),
        network.const(np.array(point, kind), f"{name}z"),
    ]


def plain(**given: Array) -> Network:
    """A model whose inputs have no grids."""
    network = Network()
    network.given = given
    return network


@cache
def networks() -> tuple[bytes, ...]:
    """Small models of the kinds that there are: images, matrices, functions, and operators with grids."""
    return (_images(), _matrices(), _with_grids())


def _bytes(*shape: int) -> Array:
    return (np.arange(np.prod(shape)) * 37 % 256 - 128).astype(np.int8).reshape(shape)


def _images() -> bytes:
    network = Network(x=(_bytes(1, 2, 6, 6).view(np.uint8), 0.05, 128))
    network.weights(_bytes(4, 2, 3, 3), "w", [0.01, 0.02, 0.03, 0.04])
    network.weights(np.arange(4, dtype=np.int32), "b", np.array([0.01, 0.02, 0.03, 0.04]) * 0.05)
    found = network.op("Relu", network.op("Conv", "x_real", "w_real", "b_real", pads=[1, 1, 1, 1]))
    found = network.dequantize(network.quantize(found, 0.5, 3), 0.5, 3, np.int8)
    pooled = network.op("AveragePool", found, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    greatest = network.op("MaxPool", found, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    both = network.op("Concat", found, greatest, axis=1)
    both = network.dequantize(network.quantize(both, 0.4, 1), 0.4, 1, np.int8)
    gate = network.op("Mul", pooled, network.op("Sigmoid", pooled))
    total = network.op("Add", network.op("GlobalAveragePool", both), network.op("ReduceMean", gate))
    return network.data(network.quantize(total, 0.25, 0))


def _matrices() -> bytes:
    network = Network(x=(_bytes(1, 4, 6), 0.05, 3))
    network.weights(_bytes(6, 8), "w", [0.01] * 8, axis=1)
    found = network.op("MatMul", "x_real", "w_real")
    found = network.op("Add", found, network.const(np.ones(8, np.float32), "one"))
    found = network.dequantize(network.quantize(found, 0.5, 3), 0.5, 3, np.int8)
    other = network.quantize(network.op("Gelu", found), 0.25, 1)
    other = network.op("Transpose", network.dequantize(other, 0.25, 1, np.int8), perm=[0, 2, 1])
    scores = network.op("Softmax", network.op("MatMul", found, other), axis=-1)
    return network.data(network.quantize(scores, 1 / 256, -128))


def _with_grids() -> bytes:
    x = _bytes(1, 2, 5, 5).view(np.uint8)
    network = plain(x=x)
    first, last = grid(network, "x", 0.5, 7, np.uint8), grid(network, "y", 4.0, 100, np.uint8)
    weights = [network.const(_bytes(2, 1, 3, 3), "w"), *grid(network, "w", [0.5, 0.25], [0, 0], np.int8)]
    found = network.op("QLinearConv", "x", *first, *weights, *last, group=2)
    total = network.op("QLinearAdd", found, *last, found, *last, *last)
    network.nodes[-1] = replace(network.nodes[-1], domain="com.microsoft")
    integers = network.op("ConvInteger", total, network.const(_bytes(3, 2, 2, 2), "v"))
    return network.data(integers)
