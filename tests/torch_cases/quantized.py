"""Networks that PT2E has quantised, held to what PyTorch gives: from grid to grid, and as a whole.

A difference on one grid changes all that come behind it. So `Following` puts our integers in the place of
PyTorch's, grid by grid, and each operator is judged by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import fx
from torch.utils import _pytree

import tosajit as tj
from tosajit.graph import Graph

_MULTIPLYING = {"aten.conv2d.default", "aten.conv1d.default", "aten.linear.default"}
QUANTIZERS = ("xnnpack", "inductor")


class CannotQuantize(Exception):
    """torchao fails by itself."""


def _quantizer(kind: str) -> Any:
    if kind == "xnnpack":
        from torchao.testing.pt2e._xnnpack_quantizer import (
            XNNPACKQuantizer,
            get_symmetric_quantization_config,
        )

        return XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as inductor

    return inductor.X86InductorQuantizer().set_global(inductor.get_default_x86_inductor_quantization_config())


def quantized(module: Any, inputs: tuple[Any, ...], kind: str) -> Any:
    """The module with quantizers and dequantizers, whose grids come from one run."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    try:
        with torch.no_grad():
            program = torch.export.export(module, inputs).module(check_guards=False)
            prepared = prepare_pt2e(program, _quantizer(kind))
            prepared(*inputs)
            return convert_pt2e(prepared)
    except Exception as error:
        raise CannotQuantize(f"torchao: {type(error).__name__}: {str(error).splitlines()[0]}") from error


def bias_on_grid(module: Any) -> None:
    """Round each bias to the grid of the sums that it is added to, as kernels of integers store it."""
    held = dict([*module.named_parameters(), *module.named_buffers()])

    def known(value: Any) -> Any:
        return held[value.target].double() if isinstance(value, fx.Node) else value

    for node in module.graph.nodes:
        if str(node.target) not in _MULTIPLYING or len(node.args) < 3 or node.args[2] is None:
            continue
        image, weight, bias = node.args[:3]
        if bias.op != "get_attr":
            continue  # what a module makes of a parameter is on no grid
        if "dequantize_per_tensor" in str(image.target) and "dequantize_per" in str(weight.target):
            step = known(image.args[1]) * known(weight.args[1])
            values = held[bias.target]
            with torch.no_grad():
                values.copy_((torch.round(values.double() / step) * step).float())


def _is_grid(node: fx.Node) -> bool:
    return "quantized_decomposed.quantize_per_tensor" in str(node.target)


def open_grids(module: Any) -> int:
    """Let a module give the integers of all grids, before its results; how many these are."""
    from torch.fx.graph import CodeGen

    grids = [node for node in module.graph.nodes if _is_grid(node)]
    (output,) = (node for node in module.graph.nodes if node.op == "output")
    results = [one for one in _pytree.tree_leaves(output.args[0]) if isinstance(one, fx.Node)]
    output.args = ((*grids, *results),)
    module.graph.set_codegen(CodeGen())
    module.recompile()
    return len(grids)


class Following(fx.Interpreter):  # type: ignore[misc]
    """PyTorch's computation from grid to grid, with integers of another in the place of its own."""

    def __init__(self, module: Any, grids: Sequence[Any]) -> None:
        super().__init__(module)
        self.left, self.steps = iter(grids), [0]
        self.off = self.elements = 0

    def run_node(self, node: fx.Node) -> Any:
        """The result of a node, or the other's, which is compared."""
        found = super().run_node(node)
        if not _is_grid(node):
            return found
        other = torch.from_numpy(next(self.left))
        far = (found.int() - other.int()).abs()
        self.steps.append(int(far.max()))
        self.off += int(torch.count_nonzero(far))
        self.elements += far.numel()
        return other


def judged(module: Any, inputs: tuple[Any, ...], kind: str) -> dict[str, Any]:
    """How a network's integers compare."""
    made = quantized(module, inputs, kind)
    bias_on_grid(made)
    count = open_grids(made)
    given = _pytree.tree_leaves(inputs)
    with torch.no_grad():
        exported = torch.export.export(made, tuple(given))
        wanted = [one.numpy() for one in exported.module(check_guards=False)(*given)]
        graph = tj.from_torch(exported)
        faults = tj.validate(graph)
        if faults:
            return {"fault": str(faults[0])}
        found = tj.compile(graph)(*(one.numpy() for one in given))
        found = found if isinstance(found, tuple) else (found,)
        following = Following(exported.module(check_guards=False), found[:count])
        results = following.run(*given)
    return {
        "grids": count, "off": following.off, "elements": following.elements, "step": max(following.steps),
        "end": _steps(found[count:], [one.numpy() for one in results[count:]]),
        "whole": _steps(found[count:], wanted[count:]), **_integers(graph),
    }  # fmt: skip


def _steps(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """The greatest difference of results, in steps of the grids of bytes that these would have."""
    return max(
        float(np.abs(one.astype(np.float64) - other).max() / _step(other))
        for one, other in zip(found, wanted, strict=True)
    )


def _step(result: Any) -> float:
    return max(float(max(result.max(), 0) - min(result.min(), 0)) / 255, 1e-30)


def _integers(graph: Graph) -> dict[str, int]:
    """How many sums of products there are, and how many of them are of integers."""
    values = graph.main.values
    sums = [one for one in graph.nodes if "CONV" in one.operator.opcode or one.operator.opcode == "MATMUL"]
    return {"sums": len(sums), "integer": sum(not values[one.inputs[0]].dtype.is_float for one in sums)}
