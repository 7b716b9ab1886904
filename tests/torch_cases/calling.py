"""Executables that take and give tensors, and the backend of `torch.compile`: what they do, as JSON."""

from __future__ import annotations

import copy
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
warnings.simplefilter("ignore")

import torch  # noqa: E402
from torch import nn  # noqa: E402

import tosajit as tj  # noqa: E402
from tosajit.modules.dynamo import backend  # noqa: E402


class Nested(nn.Module):  # type: ignore[misc]
    """Arguments and results of several kinds and types, one of them None."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
        self.dense = nn.Linear(3, 4).bfloat16()
        self.register_buffer("step", torch.arange(4))

    def forward(self, image: Any, given: dict[str, Any], *, flag: bool) -> Any:
        found = torch.relu(self.norm(self.convolution(image)))
        narrow = self.dense(found.mean((2, 3)).bfloat16())
        return {"sum": found + given["real"], "list": [narrow, None, self.step + given["whole"]]}, found > 0


class Sums(nn.Module):  # type: ignore[misc]
    """A buffer that persists."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("sum", torch.zeros(3))

    def forward(self, value: Any) -> Any:
        self.sum.add_(value)
        return self.sum * 2


X = torch.linspace(-1, 1, 50).reshape(1, 2, 5, 5)
GIVEN = {"real": torch.linspace(0, 1, 9).reshape(3, 3), "whole": torch.tensor([1, 2, 3, 4])}


def differences(found: Any, expected: Any) -> list[Any]:
    """The types, shapes and greatest differences of the leaves of two results, whose nesting must be one."""
    one, spec = torch.utils._pytree.tree_flatten(found)
    other, wanted = torch.utils._pytree.tree_flatten(expected)
    pairs = zip(one, other, strict=True)
    rows = [
        a is b
        or (a.dtype == b.dtype and a.shape == b.shape and float((a.float() - b.float()).abs().max()) < 1e-5)
        for a, b in pairs
    ]
    return [spec == wanted, rows]


def message(call: Callable[[], Any]) -> str:
    try:
        call()
    except tj.TosaError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def nested(module: Nested, run: Any) -> dict[str, Any]:
    """Calls of an executable."""
    again = run(X, GIVEN, flag=True)
    return {
        "nested": differences(again, module(X, GIVEN, flag=True)),
        "strides": differences(
            run(X.transpose(2, 3), GIVEN, flag=True), module(X.transpose(2, 3), GIVEN, flag=True)
        ),
        "otherwise": message(lambda: run(X, flag=True)),
        "keyword": message(lambda: run(X, GIVEN)),
        "no_tensor": message(lambda: run(X, {**GIVEN, "whole": 3}, flag=True)),
        "shape": message(lambda: run(X[:, :, 1:], GIVEN, flag=True)),
    }


def kept() -> list[float]:
    """A variable, from call to call."""
    run = tj.from_torch(Sums(), torch.zeros(3)).compile()
    return [float(run(torch.ones(3))[0]) for _ in range(3)]


def cached() -> list[float]:
    """How far a language model is off from call to call, which has buffers for keys and values."""
    from tests.torch_cases.models import llama_cached

    module, example = llama_cached()
    run, found = tj.from_torch(copy.deepcopy(module), example).compile(), []
    for place in range(5):
        given = torch.randint(0, 100, (1, 1)), torch.tensor([place])
        wanted = module(*given)
        found.append(float((run(*given) - wanted).abs().max() / wanted.abs().max()))
    return found


def compiled(function: Any, *given: Any, grad: bool = False) -> tuple[Any, list[str]]:
    """What `torch.compile` with the backend gives, and what it warns of."""
    torch._dynamo.reset()
    with warnings.catch_warnings(record=True) as found, torch.set_grad_enabled(grad):
        warnings.simplefilter("always")
        result = torch.compile(function, backend=backend, dynamic=False)(*given)
    return result, [str(one.message) for one in found if str(one.message).startswith("tosajit")]


def dynamo() -> dict[str, Any]:
    """The backend, with what it takes and refuses."""
    module = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(27, 4)
    ).eval()
    good, silent = compiled(module, X)
    torch._dynamo.reset()
    named = torch.compile(module, backend="tosajit")(X)
    trained, warned = compiled(module, X, grad=True)
    unknown, told = compiled(torch.erfinv, X.tanh())
    sums = Sums()
    _, said = compiled(sums, torch.ones(3))
    return {
        "good": [differences(good, module(X)), silent],
        "named": differences(named, module(X)),
        "trained": [differences(trained, module(X)), trained.requires_grad, warned],
        "unknown": [differences(unknown, torch.erfinv(X.tanh())), told],
        "written": [sums.sum.tolist(), said],
    }


def main() -> None:
    """Print everything."""
    torch.manual_seed(3)
    module = Nested().eval()
    run = tj.from_torch(module, (X, GIVEN), {"flag": True}).compile()
    with torch.no_grad():
        print(json.dumps({**nested(module, run), "kept": kept(), "cached": cached(), **dynamo()}))


if __name__ == "__main__":
    main()
