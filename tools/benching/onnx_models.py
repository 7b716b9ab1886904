"""Writes networks as ONNX files: `onnx_models.py NAME FOLDER`, in an environment with ONNX Runtime.

Architectures are published ones, with random weights; batch normalisation is folded into them. The name ends
in `f32`, or in `qdq`: then ONNX Runtime's own tool has put quantizers into the file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
LAYERS, WIDTH, TOKENS, HEADS = 6, 256, 128, 8
"""Of the encoder."""
SAMPLES = 4
"""Inputs that ranges of bytes are found with."""


def main(name: str, folder: Path) -> None:
    """Write `model.onnx` and `case0_in0.npy`."""
    architecture, _, kind = name.removeprefix("onnx_").rpartition("_")
    network = NETWORKS[architecture](Network())
    random = np.random.default_rng(7)
    samples = [random.standard_normal(network.shape).astype(np.float32) for _ in range(SAMPLES)]
    path = folder / "model.onnx"
    if kind == "qdq":
        real = folder / "real.onnx"
        onnx.save(network.model(), real)
        quantized(real, path, samples)
        real.unlink()
    else:
        onnx.save(network.model(), path)
    np.save(folder / "case0_in0.npy", samples[0])


def quantized(real: Path, path: Path, samples: list[Any]) -> None:
    """Let ONNX Runtime's tool quantize a model: bytes without sign, weights with a scale for each channel."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left: Iterator[Any] = iter(samples)

        def get_next(self) -> dict[str, Any] | None:
            found = next(self.left, None)
            return None if found is None else {"x": found}

    quantize_static(
        real, path, Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
    )  # fmt: skip


class Network:
    """A model that is being written: methods add nodes, and give the names of their results."""

    def __init__(self, real: Any = np.float32) -> None:
        self.real = real
        self.nodes: list[Any] = []
        self.held: list[Any] = []
        self.random = np.random.default_rng(11)
        self.shape: tuple[int, ...] = ()
        self.result = ""

    def op(self, name: str, *operands: str, **attributes: Any) -> str:
        """An operator."""
        result = f"{name.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(name, list(operands), [result], result, **attributes))
        return result

    def const(self, array: Any) -> str:
        """A constant; float32 becomes the type of the network's real numbers."""
        array = array.astype(self.real) if array.dtype == np.float32 else array
        name = f"constant_{len(self.held)}"
        self.held.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, *shape: int, depth: int) -> str:
        """Random weights that keep the size of what they are multiplied with."""
        return self.const((self.random.standard_normal(shape) * (2 / depth) ** 0.5).astype(np.float32))

    def conv(self, x: str, channels: int, count: int, size: int = 1, stride: int = 1, group: int = 1) -> str:
        """A convolution with a bias."""
        depth = channels // group
        kernel = self.weights(count, depth, size, size, depth=depth * size * size)
        bias = self.const((self.random.standard_normal(count) * 0.1).astype(np.float32))
        pad = size // 2
        return self.op(
            "Conv", x, kernel, bias,
            group=group, kernel_shape=[size] * 2, pads=[pad] * 4, strides=[stride] * 2,
        )  # fmt: skip

    def dense(self, x: str, channels: int, count: int) -> str:
        """A product with a matrix, and a bias."""
        product = self.op("MatMul", x, self.weights(channels, count, depth=2 * channels))
        return self.op("Add", product, self.const(np.zeros(count, np.float32)))

    def model(self) -> Any:
        """The file."""
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        result = helper.make_tensor_value_info(self.result, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "network", [given], [result], self.held)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def classified(network: Network, x: str, channels: int) -> Network:
    """The end of a network of images."""
    mean = network.op("Flatten", network.op("GlobalAveragePool", x))
    kernel = network.weights(1000, channels, depth=channels)
    network.result = network.op("Gemm", mean, kernel, network.const(np.zeros(1000, np.float32)), transB=1)
    return network


def mobilenet_v2(network: Network) -> Network:
    """3.5 million weights, 224 × 224."""
    network.shape = (1, 3, 224, 224)
    zero, six = (network.const(np.array(one, np.float32)) for one in (0, 6))

    def cut(x: str) -> str:
        return network.op("Clip", x, zero, six)

    x, channels = cut(network.conv("x", 3, 32, 3, 2)), 32
    blocks = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2)]
    for times, count, repeats, stride in (*blocks, (6, 320, 1, 1)):
        for number in range(repeats):
            wide, step = channels * times, 1 if number else stride
            y = cut(network.conv(x, channels, wide)) if times > 1 else x
            y = network.conv(cut(network.conv(y, wide, wide, 3, step, wide)), wide, count)
            x = network.op("Add", x, y) if step == 1 and channels == count else y
            channels = count
    return classified(network, cut(network.conv(x, channels, 1280)), 1280)


def resnet18(network: Network) -> Network:
    """11.7 million weights, 224 × 224."""
    network.shape = (1, 3, 224, 224)
    x = network.op("Relu", network.conv("x", 3, 64, 7, 2))
    x, channels = network.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
    for count in (64, 128, 256, 512):
        for number in range(2):
            step = 2 if count > 64 and not number else 1
            y = network.op("Relu", network.conv(x, channels, count, 3, step))
            y = network.conv(y, count, count, 3)
            x = network.conv(x, channels, count, 1, step) if channels != count else x
            x, channels = network.op("Relu", network.op("Add", x, y)), count
    return classified(network, x, 512)


def encoder(network: Network) -> Network:
    """Six layers of a transformer, normalised first."""
    network.shape = (1, TOKENS, WIDTH)
    x = "x"
    for _ in range(LAYERS):
        x = network.op("Add", x, attended(network, normalized(network, x), HEADS))
        y = network.op("Gelu", network.dense(normalized(network, x), WIDTH, 4 * WIDTH))
        x = network.op("Add", x, network.dense(y, 4 * WIDTH, WIDTH))
    network.result = normalized(network, x)
    return network


def attended(network: Network, x: str, heads: int) -> str:
    """Attention of a sequence to itself."""
    _, tokens, width = network.shape
    depth = width // heads
    apart = network.const(np.array([1, tokens, heads, depth]))
    whole = network.const(np.array([1, tokens, width]))
    scale = network.const(np.array(depth**-0.5, np.float32))
    q, k, v = (
        network.op("Transpose", network.op("Reshape", network.dense(x, width, width), apart), perm=perm)
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    )
    shares = network.op("Softmax", network.op("Mul", network.op("MatMul", q, k), scale), axis=-1)
    mixed = network.op("Transpose", network.op("MatMul", shares, v), perm=[0, 2, 1, 3])
    return network.dense(network.op("Reshape", mixed, whole), width, width)


def normalized(network: Network, x: str) -> str:
    """A layer norm."""
    ones, zeros = (network.const(np.full(network.shape[-1], one, np.float32)) for one in (1, 0))
    return network.op("LayerNormalization", x, ones, zeros)


NETWORKS: dict[str, Callable[[Network], Network]] = {
    "mobilenet_v2": mobilenet_v2,
    "resnet18": resnet18,
    "encoder": encoder,
}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
