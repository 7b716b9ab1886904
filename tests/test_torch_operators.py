"""Every operator of PyTorch that is lowered gives what `torch` gives; so do whole networks."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from environments import with_torch

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
QUICK = (
    "resnet18 mobilenet_v3_small shufflenet_v2_x0_5 squeezenet1_1 lraspp_mobilenet_v3_large fpn_mobilenet "
    "bert distilbert vit whisper_encoder llama transformer lstm gru cache"
)


def judged(kind: str, seed: int, *names: str) -> dict[str, str]:
    """How each case compares, by its name."""
    python = with_torch()
    if python is None:
        pytest.skip("there is no torch: TOSAJIT_TORCH says where, `make test-slow` installs it")
    script = ROOT / "tests" / "torch_cases" / "running.py"
    done = subprocess.run(
        [python, "-W", "ignore", script, kind, str(seed), *names],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    rows = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    return {row["name"]: row["fault"] for row in rows}


@pytest.mark.parametrize("seed", [1, 2])
def test_operators_give_what_torch_gives(seed: int) -> None:
    found = judged("cases", seed)
    assert len(found) > 250
    assert {name: fault for name, fault in found.items() if fault} == {}


def test_networks_give_what_torch_gives() -> None:
    found = judged("models", 1, *QUICK.split())
    assert set(found) == set(QUICK.split())
    assert {name: fault for name, fault in found.items() if fault} == {}
