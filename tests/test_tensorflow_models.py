"""Keras models, SavedModels and functions give what TensorFlow gives, within 1e-5 of the greatest number."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from environments import with_tensorflow

import tosajit as tj
from tests.tensorflow_cases import models
from tests.tensorflow_cases.models import MODELS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all models, and what TensorFlow computes."""
    python = with_tensorflow()
    if python is None:
        pytest.skip("there is no TensorFlow: TOSAJIT_FRAMEWORKS says where, `make test-slow` installs it")
    folder = tmp_path_factory.mktemp("tensorflow")
    site = str(Path(np.__file__).parents[1])
    done = subprocess.run(
        [python, "-W", "ignore", models.__file__, folder, site, *MODELS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_what_tensorflow_gives(name: str, made: Path) -> None:
    run = tj.compile(tj.load(made / f"{name}.tosa"))
    with np.load(made / f"{name}.npz") as arrays:
        calls = sorted({key.partition("_")[2] for key in arrays})
        for call in calls:
            inputs = [
                arrays[key] for key in sorted(arrays) if key.startswith("in") and key.endswith(f"_{call}")
            ]
            wanted = [
                arrays[key] for key in sorted(arrays) if key.startswith("out") and key.endswith(f"_{call}")
            ]
            results = run(*inputs)
            found = list(results) if isinstance(results, tuple) else [results]
            assert [one.shape for one in found] == [one.shape for one in wanted]
            for one, other in zip(found, wanted, strict=True):
                assert np.abs(one - other).max() <= 1e-5 * np.abs(other).max()


def test_names_are_those_of_the_layers(made: Path) -> None:
    graph = tj.load(made / "mobilenet_v2.tosa")
    names = [node.name for node in graph.nodes]
    assert any("block_3_depthwise" in name for name in names)
    assert len([node for node in graph.nodes if node.operator.opcode == "CONV2D"]) == 36


def test_signatures_name_inputs_and_outputs(made: Path) -> None:
    graph = tj.load(made / "saved_model.tosa")
    assert {value.name for value in graph.outputs} == {"sum", "twice"}
    assert len(graph.inputs) == 2
    assert sys.modules.get("tensorflow") is None
