"""Recurrent Keras layers, converted by TensorFlow, give what LiteRT gives."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from environments import with_tensorflow
from litert import LiteRT

import tosajit as tj
from tests.tflite_cases.running import listed

pytestmark = pytest.mark.slow  # TensorFlow takes a minute to convert the models
TOOL = Path(__file__).parents[1] / "tools" / "keras_recurrent.py"
NAMES = [f"{kind}_{form}" for kind in ("gru", "lstm", "simplernn") for form in ("unrolled", "loop")]
CALLS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    python = with_tensorflow()
    if python is None:
        pytest.skip("there is no TensorFlow: TOSAJIT_FRAMEWORKS says where, `make test-slow` installs it")
    found = tmp_path_factory.mktemp("keras")
    run = subprocess.run([python, "-W", "ignore", TOOL, found], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return found


@pytest.mark.parametrize("name", [*NAMES, "bidirectional_loop"])
def test_a_layer_gives_what_litert_gives(name: str, folder: Path, litert: LiteRT) -> None:
    data = (folder / f"{name}.tflite").read_bytes()
    graph = tj.load(data)
    assert tj.validate(graph) == ()
    assert (len(graph.regions) > 1) == name.endswith("loop")
    model, numbers = tj.compile(graph), np.random.default_rng(1)
    calls = [[numbers.normal(size=graph.inputs[0].shape).astype(np.float32)] for _ in range(CALLS)]
    for inputs, expected in zip(calls, litert.run(data, *calls), strict=True):
        np.testing.assert_allclose(listed(model(*inputs))[0], expected[0], rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("unrolled")])
def test_a_layer_of_bytes_stays_near_what_litert_gives(name: str, folder: Path, litert: LiteRT) -> None:
    """FULLY_CONNECTED may be one step off, and what is off goes on through all later steps."""
    data = (folder / f"{name}_bytes.tflite").read_bytes()
    model, numbers = tj.compile(tj.load(data)), np.random.default_rng(1)
    shape = model.graph.inputs[0].shape
    calls = [[numbers.integers(-128, 128, shape).astype(np.int8)] for _ in range(CALLS)]
    for inputs, expected in zip(calls, litert.run(data, *calls), strict=True):
        apart = listed(model(*inputs))[0].astype(int) - expected[0]
        assert np.abs(apart).max() <= 4


@pytest.mark.parametrize("name", NAMES)
def test_a_layer_holds_no_more_than_its_file(name: str, folder: Path) -> None:
    path = folder / f"{name}.tflite"
    graph = tj.load(path)
    values = [one for region in graph.regions for one in region.blocks[0].values.values()]
    held = sum(value.data.nbytes for value in values if value.data is not None)
    assert held <= path.stat().st_size
