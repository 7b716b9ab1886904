"""Writes modules as ExecuTorch's Arm backend writes them, and as `torch.export` does: where `executorch` is.

python exporting.py FOLDER SEED [NAME …]

For each module FOLDER has `NAME.KIND.tosa` and `NAME.KIND.pt2` of the same program, with an input and the
result of PyTorch as `NAME.KIND.npz`; KIND is `int8`, as ExecuTorch's quantizer has it, or `float32`. What
quantises inputs and dequantises results, which ExecuTorch leaves outside, is in neither.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

from tests.torch_cases import models  # noqa: E402

PROFILES = {"float32": "TOSA-1.0+FP", "int8": "TOSA-1.0+INT"}


class Attention(nn.Module):  # type: ignore[misc]
    """Heads that attend to all places, before a dense layer."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(32, 4, batch_first=True)
        self.dense = nn.Linear(32, 32)

    def forward(self, value: Any) -> Any:
        return self.dense(self.inner(value, value, value, need_weights=False)[0])


class Recurrent(nn.Module):  # type: ignore[misc]
    """An LSTM, whose last result a dense layer takes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.dense = nn.LSTM(16, 24, batch_first=True), nn.Linear(24, 4)

    def forward(self, value: Any) -> Any:
        return self.dense(self.inner(value)[0][:, -1])


def separable() -> Any:
    """A network for keywords: depthwise and pointwise convolutions."""
    layers: list[Any] = [nn.Conv2d(1, 32, (10, 4), (2, 2), (5, 1)), nn.BatchNorm2d(32), nn.ReLU()]
    for _ in range(3):
        layers += [nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.BatchNorm2d(32), nn.ReLU()]
        layers += [nn.Conv2d(32, 32, 1), nn.BatchNorm2d(32), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 12))


def dense() -> Any:
    """An autoencoder of dense layers."""
    widths = (64, 32, 32, 8, 32, 32, 64)
    layers: list[Any] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def signal() -> Any:
    """Convolutions of a signal."""
    return nn.Sequential(
        nn.Conv1d(4, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 16, 3, dilation=2),
        nn.Hardswish(),
    )  # fmt: skip


def larger() -> Any:
    """Convolutions, and images in twice their size."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU6(), nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.ConvTranspose2d(8, 4, 2, 2), nn.Sigmoid(),
    )  # fmt: skip


def transformer() -> Any:
    return nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")


def network(name: str) -> Any:
    """One of torchvision's."""
    return models.classifier(name, 64)[0]


MODULES: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(32, 16), (4, 32)),
    "dense": (dense, (1, 64)),
    "signal": (signal, (1, 4, 64)),
    "separable": (separable, (1, 1, 49, 10)),
    "larger": (larger, (1, 3, 16, 16)),
    "attention": (Attention, (1, 16, 32)),
    "transformer": (transformer, (1, 16, 32)),
    "lstm": (Recurrent, (1, 8, 16)),
    "gelu": (lambda: nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU(), nn.Softmax(-1)), (8, 32)),
}  # fmt: skip
NETWORKS = (
    "resnet18", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5",
    "efficientnet_b0",
)  # fmt: skip
MODULES |= {name: (partial(network, name), (1, 3, 64, 64)) for name in NETWORKS}


def write(folder: Path, name: str, kind: str, module: Any, example: Any) -> None:
    """Write a module by both, with an input and its result."""
    program = torch.export.export(module, (example,))
    given = example
    if kind == "int8":
        inner, given = without_ends(quantized(module, example), example)
        program = torch.export.export(inner, (given,))
    result = program.module(check_guards=False)(given)
    torch.export.save(program, folder / f"{name}.{kind}.pt2")
    np.savez(folder / f"{name}.{kind}.npz", given=given.numpy(), result=result.detach().numpy())
    parts = exported(program, kind)
    for place, part in enumerate(parts):
        (folder / f"{name}.{kind}{f'.{place}' if place else ''}.tosa").write_bytes(part)


def quantized(module: Any, example: Any) -> Any:
    """The module with the quantizers of ExecuTorch's backend."""
    from executorch.backends.arm.quantizer.arm_quantizer import (
        TOSAQuantizer,
        get_symmetric_quantization_config,
    )
    from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = TOSAQuantizer(TosaCompileSpec(PROFILES["int8"]))
    quantizer.set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(torch.export.export(module, (example,)).module(check_guards=False), quantizer)
    prepared(example)
    return convert_pt2e(prepared)


def without_ends(module: Any, example: Any) -> tuple[Any, Any]:
    """The module from integers to integers, and its input as such."""
    (given,) = (node for node in module.graph.nodes if node.op == "placeholder")
    (output,) = (node for node in module.graph.nodes if node.op == "output")
    (first,), (result,) = tuple(given.users), torch.utils._pytree.tree_leaves(output.args[0])
    integers = first.target(example, *first.args[1:])
    first.replace_all_uses_with(given)
    module.graph.erase_node(first)
    output.replace_input_with(result, result.args[0])
    module.graph.eliminate_dead_code()
    module.recompile()
    return module, integers


def exported(program: Any, kind: str) -> list[bytes]:
    """The graphs that ExecuTorch writes of a program."""
    from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
    from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    with tempfile.TemporaryDirectory() as folder:
        spec = TosaCompileSpec(PROFILES[kind])
        spec.dump_intermediate_artifacts_to(folder)
        config = EdgeCompileConfig(_check_ir_validity=False)
        to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)], compile_config=config)
        return [path.read_bytes() for path in sorted(Path(folder).glob("*_tag*.tosa"))]


def main() -> None:
    """Write all modules, or some."""
    folder, seed, *names = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    logging.disable(logging.ERROR)
    for name, (make, shape) in MODULES.items():
        if names and name not in names:
            continue
        for kind in PROFILES:
            torch.manual_seed(zlib.crc32(name.encode()) + int(seed))
            begin, fault = time.process_time(), ""
            try:
                with torch.no_grad():
                    write(Path(folder), name, kind, make().eval(), torch.randn(shape))
            except Exception as error:
                fault = f"{type(error).__name__}: {str(error).strip()[:300]}"
            row = {"name": name, "kind": kind, "fault": fault, "seconds": time.process_time() - begin}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
