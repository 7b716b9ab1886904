"""Models of JAX and Flax give what JAX gives, within 1e-5 of the greatest number; JAX makes them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from environments import with_jax

import tosajit as tj
from tests.jax_cases import models
from tests.jax_cases.models import MODELS
from tests.tflite_cases.running import listed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all models, and what JAX computes."""
    python = with_jax()
    if python is None:
        pytest.skip("there is no JAX: TOSAJIT_JAX says where, `make test-slow` installs it")
    folder = tmp_path_factory.mktemp("jax")
    command = [str(python), "-W", "ignore", str(models.__file__), str(folder), *MODELS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def said(made: Path) -> dict[str, Any]:
    """What was seen where JAX is."""
    found: dict[str, Any] = json.loads((made / "said.json").read_text())
    return found


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_what_jax_gives(name: str, made: Path) -> None:
    graph = tj.load(made / f"{name}.tosa")
    assert tj.validate(graph) == ()
    with np.load(made / f"{name}.npz") as arrays:
        inputs = [arrays[f"in{number}"] for number in range(len(graph.inputs))]
        wanted = [arrays[f"out{number}"] for number in range(len(graph.outputs))]
    for one, other in zip(listed(tj.compile(graph)(*inputs)), wanted, strict=True):
        assert one.shape == other.shape
        assert np.abs(one - other).max() <= 1e-5 * np.abs(other).max()


def test_arguments_and_results_have_the_names_of_their_keys(made: Path) -> None:
    graph = tj.load(made / "mlp.tosa")
    layers = [f"params/dense_{number}/{name}" for number in range(3) for name in ("bias", "kernel")]
    assert [one.name for one in graph.inputs] == [*layers, "x"]
    assert [one.name for one in graph.outputs] == ["best", "logits"]


def test_nodes_have_the_names_of_modules_of_flax(made: Path) -> None:
    names = {node.name for node in tj.load(made / "flax_cnn.tosa").nodes}
    assert any("Conv_0/" in one for one in names)


def test_constants_share_the_memory_of_jax(said: dict[str, Any]) -> None:
    assert len(said["shared"]) == 1


def test_arrays_are_taken_and_given_as_the_function_has_them(said: dict[str, Any]) -> None:
    first, second, wrong = said["run"]
    assert (first, second) == ([0, -1, -2], [0, 2, 4])
    assert "nested as" in wrong


def test_random_numbers_are_refused_with_the_line_that_draws_them(said: dict[str, Any]) -> None:
    assert "random" in said["refused"]
    assert "models.py" in said["refused"]


def test_int64_is_int32_inside(said: dict[str, Any]) -> None:
    assert said["int64"] == ["INT32"]
    assert set(said["outside"].values()) == {"int64"}
