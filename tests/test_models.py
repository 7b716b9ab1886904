"""The models: every case gives the golden bits or numbers, on the host and with a tiny scratchpad."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tiling.target import HOST, TINY, Target

MODELS = Path(os.environ.get("TOSAJIT_MODELS", Path(__file__).parents[2] / "shared" / "models"))
NAMES = ("autoencoder", "ds_cnn", "ds_cnn_i16x8", "resnet8", "transformer_tiny", "mobilenet_v2")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", [HOST, TINY], ids=lambda target: target.name)
@pytest.mark.parametrize("name", NAMES)
def test_a_model_gives_its_golden_bits(name: str, target: Target, threads: int) -> None:
    executable = tj.compile(loaded(name), target=target, threads=threads)
    cases = sorted({path.name.split("_")[0] for path in (MODELS / name).glob("case*_in*.npy")})
    assert cases
    for case in cases:
        inputs, golden = arrays(name, f"{case}_in"), arrays(name, f"{case}_out")
        kept = [array.copy() for array in inputs]
        results = executable.run(dict(zip(executable.graph.main.inputs, inputs, strict=True))).values()
        for index, (result, expected) in enumerate(zip(results, golden, strict=True)):
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected, err_msg=f"{case}, output {index}")
        for array, before in zip(inputs, kept, strict=True):
            np.testing.assert_array_equal(array, before, err_msg=f"{case}: an input has changed")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", [HOST, TINY], ids=lambda target: target.name)
def test_a_model_of_floats_is_near_its_golden_numbers(target: Target, threads: int) -> None:
    name = "transformer_tiny_f32"
    executable = tj.compile(loaded(name), target=target, threads=threads)
    for case in ("case0", "case1"):
        results = executable(*arrays(name, f"{case}_in"))
        for result, expected in zip(results, arrays(name, f"{case}_out"), strict=True):
            assert result.dtype == expected.dtype
            assert abs(result - expected).max() <= 1e-5 * abs(expected).max()


@cache
def loaded(name: str) -> tj.Graph:
    """The graph of a model, which several tests compile."""
    if not (MODELS / name).is_dir():
        pytest.skip(f"no model {name} in {MODELS}: they lie beside the repository, or set TOSAJIT_MODELS")
    return tj.load(MODELS / name / "model.tosa")


def arrays(name: str, prefix: str) -> list[np.ndarray]:
    """The arrays of a case, in order."""
    return [np.load(path) for path in sorted((MODELS / name).glob(f"{prefix}*.npy"))]
