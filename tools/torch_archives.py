"""Writes the archives that tests read with PyTorch, and what their modules give."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "torch"


class Images(torch.nn.Module):  # type: ignore[misc]
    """A convolution, a normalisation and a dense layer; its batch is said to be open."""

    def __init__(self) -> None:
        super().__init__()
        layers = torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU()
        self.features = torch.nn.Sequential(*layers)
        self.classes = torch.nn.Linear(12, 2)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Two numbers for each image."""
        found: torch.Tensor = self.classes(self.features(image).flatten(1))
        return found


class Nested(torch.nn.Module):  # type: ignore[misc]
    """Parameters with strides, of several types, shared and left out; results of several kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.turned = torch.nn.Parameter(torch.randn(3, 4).t())
        self.narrow = torch.nn.Parameter(torch.randn(4, 3).bfloat16())
        self.register_buffer("kept", torch.arange(3.0), persistent=False)
        self.plain = torch.tensor([1.0, float("inf")])

    def forward(self, x: torch.Tensor, scale: Mapping[str, torch.Tensor], twice: bool = True) -> object:
        """A dictionary with a list in it."""
        y = x @ self.turned
        narrow = self.narrow.float() * (2 if twice else 1)
        return {"y": y * scale["by"] + self.kept, "more": [narrow, self.plain + 1]}


class Sums(torch.nn.Module):  # type: ignore[misc]
    """A buffer that persists from call to call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("sum", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Twice the sum so far."""
        self.sum.add_(x)
        return self.sum * 2


class Quantized(torch.nn.Module):  # type: ignore[misc]
    """Convolutions, a sum, pools and a dense layer, which PT2E quantizes by channels."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.second = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.norm, self.pool, self.dense = (
            torch.nn.BatchNorm2d(8),
            torch.nn.MaxPool2d(2),
            torch.nn.Linear(8, 5),
        )

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Five numbers for each image."""
        one = torch.relu(self.first(image))
        other = torch.nn.functional.hardswish(self.norm(self.second(one)))
        found: torch.Tensor = self.dense(self.pool(one + other).mean((2, 3)))
        return found


def quantized(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> torch.nn.Module:
    """A module with quantizers and dequantizers, whose grids come from one run."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.testing.pt2e._xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    program = torch.export.export(module.eval(), inputs)
    prepared = prepare_pt2e(program.module(check_guards=False), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def main() -> None:
    """Export, save and run each module."""
    torch.manual_seed(0)
    x = torch.randn(2, 2, 4, 4)
    write("images", Images().eval(), (x,), {"image": {0: torch.export.Dim("batch", min=1, max=8)}})
    write("nested", Nested().eval(), (torch.randn(5, 4), {"by": torch.randn(1)}), None)
    images = (torch.randn(2, 3, 8, 8),)
    write("quantized", quantized(Quantized(), images), images, None)
    write("sums", Sums().eval(), (torch.randn(3),), None)


def write(name: str, module: torch.nn.Module, inputs: tuple[object, ...], shapes: object) -> None:
    """One archive, with its inputs and outputs."""
    program = torch.export.export(module, inputs, dynamic_shapes=shapes)
    torch.export.save(program, FOLDER / f"{name}.pt2")
    leaves = [one for one in torch.utils._pytree.tree_leaves(inputs) if isinstance(one, torch.Tensor)]
    found = torch.utils._pytree.tree_leaves(program.module()(*inputs))
    arrays = {f"in{place}": one.numpy() for place, one in enumerate(leaves)}
    arrays |= {f"out{place}": one.detach().numpy() for place, one in enumerate(found)}
    np.savez(FOLDER / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main()
