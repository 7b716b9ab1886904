"""The guide has one line for each way in, and each of them makes a graph."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from environments import with_jax, with_torch
from file_seeds import seeds

import tosajit as tj
from tests.onnx_cases.quantized import networks
from tests.tensorflow_cases.cases import CASES

ROOT = Path(__file__).parents[1]
LINES = re.findall(
    r"^\|[^|]+\| `(tj\.\w+\(.+\))` \|$", (ROOT / "docs" / "how-to" / "models.md").read_text(), re.M
)
SETTING = {
    "from_torch": "import torch; module, image = torch.nn.ReLU(), torch.ones(2)",
    "from_jax": "import jax.numpy as np; function, image = np.exp, np.ones(2, np.float32)",
}
PYTHONS = {"from_torch": with_torch, "from_jax": with_jax}
SKND = "import nn; graph g { @input { x: real[2]; } @output { y: real[2]; } @compose { y = nn.relu(x); } }"


def prepare(folder: Path) -> None:
    """Put a small model of each format into a folder."""
    graph = seeds()["ADD"]
    tj.save(graph, folder / "model.tosa")
    tj.save(graph, folder / "model.mlir")
    (folder / "model.tflite").write_bytes(tj.samples.path("ds_cnn", "model.tflite").read_bytes())
    (folder / "model.pb").write_bytes(next(iter(CASES)).model())
    (folder / "model.onnx").write_bytes(next(iter(networks())))
    (folder / "model.sknd").write_text(SKND)


def test_every_door_has_its_line() -> None:
    assert len(LINES) == 8


@pytest.mark.parametrize("line", LINES)
def test_the_line_makes_a_graph(line: str, tmp_path: Path) -> None:
    door = line[3 : line.index("(")]
    python = PYTHONS[door]() if door in PYTHONS else Path(sys.executable)
    if python is None:
        pytest.skip(f"the framework of tj.{door} is missing: `make test-slow` installs it")
    prepare(tmp_path)
    code = f"import tosajit as tj; {SETTING.get(door, '')}\nassert isinstance({line}, tj.Graph)"
    command = [str(python), "-W", "ignore", "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
