"""Writes `onnx_kernel_networks.tar.xz`: small networks that ONNX Runtime has quantized, for their kernels.

`onnx_kernel_networks.py`, in an environment with ONNX Runtime. What is between two quantizers is a group;
most of these are none that TFLite has, such as normalisations and activations of real numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import archives
import numpy as np
import onnx
from benching.onnx_models import SAMPLES, Network, attended, normalized, quantized

ARCHIVE = Path(__file__).with_suffix(".tar.xz")
FOLDER = Path(__file__).parents[1] / "build" / "onnx_kernel_networks"
SEED = 29
WIDTH, HEADS, TOKENS = 16, 2, 12
"""Of the encoder."""


def main() -> None:
    """Write all networks, and the archive of all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, write in NETWORKS.items():
        network = Network()
        network.result = write(network)
        random = np.random.default_rng(SEED)
        samples = [random.standard_normal(network.shape).astype(np.float32) for _ in range(SAMPLES)]
        real, path = FOLDER / "real.onnx", FOLDER / f"{name}_qdq.onnx"
        onnx.save(network.model(), real)
        quantized(real, path, samples)
        real.unlink()
        print(f"{name}: {path.stat().st_size} bytes", flush=True)
    archives.write(ARCHIVE, FOLDER, sorted(FOLDER.iterdir()))
    print(f"{ARCHIVE.name}: {ARCHIVE.stat().st_size} bytes")


def _classified(network: Network, x: str, channels: int) -> str:
    mean = network.op("Flatten", network.op("GlobalAveragePool", x))
    kernel = network.weights(5, channels, depth=channels)
    return network.op("Gemm", mean, kernel, network.const(np.zeros(5, np.float32)), transB=1)


def residual(network: Network) -> str:
    """Residual blocks with and without a stride."""
    network.shape = (1, 3, 32, 32)
    x = network.op("Relu", network.conv("x", 3, 8, 7, 2))
    x = network.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for channels, count, stride in ((8, 8, 1), (8, 16, 2)):
        y = network.op("Relu", network.conv(x, channels, count, 3, stride))
        y = network.conv(y, count, count, 3)
        near = network.conv(x, channels, count, 1, stride) if stride > 1 else x
        x = network.op("Relu", network.op("Add", y, near))
    return network.op("Softmax", _classified(network, x, 16), axis=-1)


def inverted(network: Network) -> str:
    """Inverted residuals with excitation, by each of the usual activations."""
    network.shape = (1, 3, 32, 32)
    zero, six = (network.const(np.array(one, np.float32)) for one in (0, 6))

    def then(x: str, kind: str) -> str:
        match kind:
            case "Clip":
                return network.op("Clip", x, zero, six)
            case "Swish":
                return network.op("Mul", x, network.op("Sigmoid", x))
        return network.op(kind, x)

    x = then(network.conv("x", 3, 8, 3, 2), "HardSwish")
    for kind, gate in (("Relu", ""), ("Clip", "Sigmoid"), ("HardSwish", "HardSigmoid"), ("Swish", "Sigmoid")):
        y = then(network.conv(x, 8, 16), kind)
        y = then(network.conv(y, 16, 16, 5 if gate else 3, group=16), kind)
        if gate:
            scale = network.op("GlobalAveragePool", y)
            scale = network.conv(
                then(network.conv(scale, 16, 8), "Swish" if kind == "Swish" else "Relu"), 8, 16
            )
            y = network.op("Mul", y, network.op(gate, scale))
        x = network.op("Add", x, network.conv(y, 16, 8))
    return _classified(network, x, 8)


def joined(network: Network) -> str:
    """Branches that are concatenated, shuffled channels, pools, and maps that are made larger."""
    network.shape = (1, 3, 32, 32)
    x = network.op("LeakyRelu", network.conv("x", 3, 8, 3, 2))
    shapes = [network.const(np.array(shape)) for shape in ((1, 2, 4, 16, 16), (1, 8, 16, 16))]
    y = network.op("Transpose", network.op("Reshape", x, shapes[0]), perm=[0, 2, 1, 3, 4])
    y = network.op("Reshape", y, shapes[1])
    pool = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1] * 4}
    parts = [network.op("MaxPool", x, **pool), network.op("AveragePool", x, **pool), y]
    x = network.op("Concat", *parts, network.op("Sigmoid", network.conv(x, 8, 8)), axis=1)
    low = network.op("Tanh", network.conv(x, 32, 8, 3, 2))
    scales = network.const(np.array([1, 1, 2, 2], np.float32))
    parts = [network.op("Resize", low, "", scales, mode=mode) for mode in ("nearest", "linear")]
    turned = network.op("ConvTranspose", low, network.weights(8, 8, 2, 2, depth=32), strides=[2, 2])
    x = network.conv(network.op("Concat", x, turned, *parts, axis=1), 56, 4)
    return network.op("Softmax", x, axis=1)


def encoder(network: Network) -> str:
    """Attention and dense layers, normalised ahead of them and behind, with both forms of GELU."""
    network.shape = (1, TOKENS, WIDTH)
    x = "x"
    for first in (True, False):
        y = normalized(network, x) if first else x
        x = network.op("Add", x, attended(network, y, HEADS))
        y = normalized(network, x)
        x = x if first else y
        y = network.op("Gelu", network.dense(y, WIDTH, 32), approximate="none" if first else "tanh")
        x = network.op("Add", x, network.dense(y, 32, WIDTH))
        x = x if first else normalized(network, x)
    return network.dense(network.op("ReduceMean", x, network.const(np.array([1])), keepdims=0), WIDTH, 5)


NETWORKS: dict[str, Callable[[Network], str]] = {
    "residual": residual,
    "inverted": inverted,
    "joined": joined,
    "encoder": encoder,
}
"""What writes a network; each returns the name of its result."""


if __name__ == "__main__":
    main()
