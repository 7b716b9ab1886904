"""Runs cases, or models, in the environment that has `torch`, and prints as JSON how each compares.

python running.py cases SEED [NAME …]
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402

import tosajit as tj  # noqa: E402


class Plain(torch.nn.Module):  # type: ignore[misc]
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: Any) -> Any:
        return self.function(*given)


def module_of(function: Any) -> Any:
    return (function if isinstance(function, torch.nn.Module) else Plain(function)).eval()


def array_of(tensor: Any) -> Any:
    if tensor.dtype == torch.bfloat16:
        return tensor.detach().view(torch.int16).numpy().view("bfloat16")
    return tensor.detach().numpy()


def compared(module: Any, inputs: tuple[Any, ...]) -> str:
    """Nothing if a module's graph gives what it gives, else what differs."""
    given = [array_of(one).copy() for one in torch.utils._pytree.tree_leaves(inputs)]
    with torch.no_grad():
        expected = [one for one in torch.utils._pytree.tree_leaves(module(*inputs)) if one is not None]
    try:
        graph = tj.from_torch(module, inputs)
    except tj.TosaError as error:
        return f"{type(error).__name__}: {error}"
    faults = tj.validate(graph)
    if faults:
        return str(faults[0])
    found = tj.compile(graph)(*given)
    results = found if isinstance(found, tuple) else (found,)
    return "; ".join(differences(results, expected))


def differences(found: Any, expected: Any) -> Iterator[str]:
    """How results differ: integers must be equal, real numbers be within 1e-4 of the greatest one."""
    if len(found) != len(expected):
        yield f"{len(found)} results, not {len(expected)}"
    for one, tensor in zip(found, expected, strict=False):
        wanted = array_of(tensor)
        if one.shape != wanted.shape or one.dtype != wanted.dtype:
            yield f"{one.dtype}{one.shape}, not {wanted.dtype}{wanted.shape}"
        elif wanted.dtype.kind in "iub":
            if not np.array_equal(one, wanted):
                yield f"{np.count_nonzero(one != wanted)} of {wanted.size} differ"
        else:
            yield from far(one.astype(np.float64), wanted.astype(np.float64), wanted.dtype.itemsize)


def far(one: Any, wanted: Any, size: int) -> Iterator[str]:
    """How real numbers differ: those that are finite by a bound, others in kind."""
    if not np.array_equal(np.isnan(one), np.isnan(wanted)) or not np.array_equal(
        np.isinf(one), np.isinf(wanted)
    ):
        yield "other numbers are not finite"
    finite = np.isfinite(wanted) & np.isfinite(one)
    most = np.abs(wanted[finite]).max(initial=1e-6)
    error = np.abs(one[finite] - wanted[finite]).max(initial=0) / most
    if error > (1e-4 if size >= 4 else 1e-2):
        yield f"off by {error:.2e} of the greatest"


def golden() -> None:
    """Keep the first case of each operator."""
    from tests.torch_cases.cases import cases
    from tests.torch_cases.golden import Golden, save
    from tosajit.frontends.torch.functional import functional
    from tosajit.frontends.torch.loading import program_of

    seen: set[str] = set()
    found: list[Golden] = []
    for name, (function, inputs) in cases().items():
        module = module_of(function)
        exported = torch.export.export(module, inputs)
        program = program_of(exported)
        targets = {one.target for one in functional(program).graph.nodes}
        if targets <= seen:
            continue
        seen |= targets
        with torch.no_grad():
            given, expected = (
                tuple(
                    array_of(one).copy() for one in torch.utils._pytree.tree_leaves(tree) if one is not None
                )
                for tree in (inputs, module(*inputs))
            )
        found.append(Golden(name, program, given, expected))
    save(found)


def networks(seed: int, names: list[str]) -> None:
    """Print how torchvision's networks compare, as they are and quantised."""
    from tests.torch_cases.models import networks
    from tests.torch_cases.quantized import QUANTIZERS, CannotQuantize, judged

    for name, make in networks().items():
        if names and name not in names:
            continue
        torch.manual_seed(zlib.crc32(name.encode()) + seed)
        module, inputs = make()
        row: dict[str, Any] = {"name": name}
        for kind in ("float", *QUANTIZERS):
            try:
                row[kind] = real(module, inputs) if kind == "float" else judged(module, inputs, kind)
            except CannotQuantize as error:
                row[kind] = {"cannot": str(error)}
            except Exception as error:
                row[kind] = {"fault": f"{type(error).__name__}: {error}"}
        print(json.dumps(row), flush=True)


def real(module: Any, inputs: tuple[Any, ...]) -> dict[str, Any]:
    """How far results of real numbers are from PyTorch's, of the greatest one."""
    with torch.no_grad():
        wanted = [one.numpy() for one in torch.utils._pytree.tree_leaves(module(*inputs))]
    found = tj.compile(tj.from_torch(module, inputs))(*map(array_of, torch.utils._pytree.tree_leaves(inputs)))
    results = found if isinstance(found, tuple) else (found,)
    pairs = zip(results, wanted, strict=True)
    return {"error": max(float(np.abs(one - other).max() / np.abs(other).max()) for one, other in pairs)}


def conditions(seed: int, names: list[str]) -> None:
    """Print how far PyTorch's float32 is from its float64, of the greatest number of networks."""
    from tests.torch_cases.models import networks

    made = networks()
    for name in names:
        torch.manual_seed(zlib.crc32(name.encode()) + seed)
        module, inputs = made[name]()
        with torch.no_grad():
            found = module(*inputs)
            wanted = module.double()(*(one.double() for one in inputs))
        print(json.dumps({"name": name, "error": float((found - wanted).abs().max() / wanted.abs().max())}))


def main() -> None:
    """Print how each case compares."""
    kind, seed, *names = sys.argv[1:]
    logging.getLogger("tosajit").setLevel(logging.ERROR)
    torch.manual_seed(int(seed))
    if kind == "golden":
        golden()
        return
    if kind == "networks":
        networks(int(seed), names)
        return
    if kind == "conditions":
        conditions(int(seed), names)
        return
    if kind == "cases":
        from tests.torch_cases.cases import cases

        chosen = {name: one for name, one in cases().items() if not names or name in names}
    elif kind == "arm":
        from tests.torch_cases import arm

        every = {one.name: (one.module, one.inputs) for one in arm.cases(int(seed))}
        chosen = {name: one for name, one in every.items() if not names or name.startswith(tuple(names))}
    else:
        from tests.torch_cases.models import models

        chosen = {name: one() for name, one in models().items() if name in names}
    for name, (function, inputs) in chosen.items():
        try:
            fault = compared(module_of(function), inputs)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        print(json.dumps({"name": name, "fault": fault}), flush=True)


if __name__ == "__main__":
    main()
