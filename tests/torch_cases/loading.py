"""What `tj.from_torch` says of odd input, and keeps of modules: runs where `torch` is, and prints JSON."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

import tosajit as tj  # noqa: E402

X = torch.randn(2, 3)


class Branch(nn.Module):  # type: ignore[misc]
    """Its way depends on elements."""

    def forward(self, value: Any) -> Any:
        return value + 1 if value.sum() > 0 else value


class Draw(nn.Module):  # type: ignore[misc]
    """Operators that have no form in TOSA."""

    def forward(self, value: Any) -> Any:
        return torch.rand_like(value) + torch.erfinv(value).sum()


class Nested(nn.Module):  # type: ignore[misc]
    """Dictionaries, tuples and None."""

    def forward(self, given: Any, *, scale: Any = None) -> Any:
        left, (right, _) = given["left"], given["right"]
        return {"sum": left + right, "pair": (left - right, None, [left * scale])}


def message(call: Callable[[], Any]) -> str:
    """What an error says."""
    try:
        call()
    except tj.TosaError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def mixed() -> Any:
    module = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))
    module[2].eval()
    tj.from_torch(module, (X,))
    return [one.training for one in module.modules()]


def nested() -> Any:
    given = ({"left": X, "right": (X + 1, [X])},)
    graph = tj.from_torch(Nested(), given, {"scale": torch.tensor(2.0)})
    return [[one.name for one in values] for values in (graph.inputs, graph.outputs)]


def shared() -> Any:
    module = nn.Linear(3, 4)
    from tosajit.frontends.torch.loading import program_of

    program = program_of(torch.export.export(module, (X,)))
    held = {one.label: one.elements for one in program.held.values()}
    return [np.shares_memory(held[name], one.detach().numpy()) for name, one in module.named_parameters()]


def dynamic() -> Any:
    notes: list[str] = []

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            notes.append(record.getMessage())

    handler = Notes()
    logging.getLogger("tosajit").addHandler(handler)
    shapes = ({0: torch.export.Dim("batch", max=8)},)
    program = torch.export.export(nn.Flatten(0), (X,), dynamic_shapes=shapes)
    graph = tj.from_torch(program)
    logging.getLogger("tosajit").removeHandler(handler)
    return [notes, graph.outputs[0].shape]


def trained() -> str:
    module = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)).train()
    return message(lambda: tj.from_torch(torch.export.export(module, (X,))))


def exported() -> Any:
    """A module that is exported already, as those that PT2E quantises are: it refuses `eval`."""
    module = torch.export.export(nn.Linear(3, 4), (X,)).module()
    return [tj.from_torch(module, (X,)).outputs[0].shape, message(lambda: tj.from_torch(module, (X, X)))]


def main() -> None:
    """Print everything."""
    found = {
        "no_module": message(lambda: tj.from_torch(lambda value: value, (X,))),
        "no_inputs": message(lambda: tj.from_torch(nn.ReLU())),
        "dictionary": message(lambda: tj.from_torch(nn.ReLU(), {"input": X})  # type: ignore[arg-type]
        ),
        "twice": message(lambda: tj.from_torch(torch.export.export(nn.ReLU(), (X,)), (X,))),
        "no_export": message(lambda: tj.from_torch(Branch(), X)),
        "wrong_count": message(lambda: tj.from_torch(nn.ReLU(), (X, X))),
        "refused": message(lambda: tj.from_torch(Draw(), (X,))),
        "double": message(lambda: tj.from_torch(nn.Linear(3, 3).double(), (X.double(),))),
        "trained": trained(), "mixed": mixed(), "nested": nested(), "shared": shared(), "dynamic": dynamic(),
        "exported": exported(),
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main()
