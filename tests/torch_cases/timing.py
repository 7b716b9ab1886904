"""Times `torch.export` beside all of `tj.from_torch`, in turns: a line of JSON for each.

python timing.py ROUNDS [NAME …]
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
warnings.simplefilter("ignore")

import torch  # noqa: E402
from torch import nn  # noqa: E402

import tosajit as tj  # noqa: E402
from tests.torch_cases import models  # noqa: E402

NETWORKS = (
    "resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "squeezenet1_1",
    "densenet121", "vit_b_32", "swin_t", "shufflenet_v2_x1_0", "regnet_y_400mf", "googlenet",
)  # fmt: skip
MODELS = (
    "bert",
    "distilbert",
    "vit",
    "whisper_encoder",
    "llama",
    "llama_cached",
    "cache",
    "transformer",
    "lstm",
    "gru",
)


def network(name: str) -> tuple[Any, tuple[Any, ...]]:
    """One of torchvision's, with weights as they are drawn."""
    made = getattr(models.vision().models, name)(weights=None)
    return made.eval(), (torch.randn(1, 3, models.CLASSIFIERS[name], models.CLASSIFIERS[name]),)


def toy() -> Any:
    """Two convolutions."""
    layers = nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(400, 10)).eval(), (torch.randn(1, 3, 16, 16),)


def modules() -> dict[str, Callable[[], Any]]:
    """What makes each module, with inputs for it."""
    every = models.models()
    return {
        **{name: partial(network, name) for name in NETWORKS},
        **{name: every[name] for name in MODELS},
        "convolutions": toy,
        "linear": lambda: (nn.Linear(8, 4).eval(), (torch.randn(2, 8),)),
    }


def seconds(call: Callable[[], Any]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def main() -> None:
    """Print the times of each module: the least of some rounds, after one that is not counted."""
    rounds, *names = sys.argv[1:]
    logging.getLogger("tosajit").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    for name, make in modules().items():
        if names and name not in names:
            continue
        torch.manual_seed(1)
        module, inputs = make()
        exporting = partial(torch.export.export, module, inputs)
        whole = partial(tj.from_torch, module, inputs)
        turns = [(seconds(exporting), seconds(whole)) for _ in range(1 + int(rounds))][1:]
        export, both = (min(times) for times in zip(*turns, strict=True))
        print(json.dumps({"name": name, "export": export, "from_torch": both}), flush=True)


if __name__ == "__main__":
    main()
