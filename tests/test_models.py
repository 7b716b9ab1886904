"""The models: every case gives the golden bits or numbers, on the host and with a tiny scratchpad."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tests import models
from tiling.target import HOST, TINY, Target


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", [HOST, TINY], ids=lambda target: target.name)
@pytest.mark.parametrize("name", models.NAMES)
def test_a_model_gives_its_golden_bits(name: str, target: Target, threads: int) -> None:
    executable = tj.compile(models.graph(name), target=target, threads=threads)
    assert models.cases(name)
    for number, case in enumerate(models.cases(name)):
        kept = [array.copy() for array in case.inputs]
        results = executable.run(dict(zip(executable.graph.main.inputs, case.inputs, strict=True))).values()
        for index, (result, expected) in enumerate(zip(results, case.outputs, strict=True)):
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected, err_msg=f"case {number}, output {index}")
        for array, before in zip(case.inputs, kept, strict=True):
            np.testing.assert_array_equal(array, before, err_msg=f"case {number}: an input has changed")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", [HOST, TINY], ids=lambda target: target.name)
def test_a_model_of_floats_is_near_its_golden_numbers(target: Target, threads: int) -> None:
    name = "transformer_tiny_f32"
    executable = tj.compile(models.graph(name), target=target, threads=threads)
    assert models.cases(name)
    for inputs, outputs in models.cases(name):
        for result, expected in zip(executable(*inputs), outputs, strict=True):
            assert result.dtype == expected.dtype
            assert abs(result - expected).max() <= 1e-5 * abs(expected).max()
