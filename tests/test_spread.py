"""Layers whose biases are equal, or that have none, have the kernels of layers with biases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.kernels.link import Unit

random = np.random.default_rng(7)
IMAGE = random.standard_normal((1, 6, 6, 8)).astype(np.float32)
WEIGHT = random.standard_normal((16, 3, 3, 8)).astype(np.float32)
BIASES = {
    "many": random.standard_normal(16).astype(np.float32),
    "one": np.full(1, 0.75, np.float32),
    "equal": np.full(16, 0.75, np.float32),
    "none": np.zeros(1, np.float32),
}


def layer(bias: np.ndarray, given: bool = False) -> tj.Executable:
    def made(image: Any, bias: Any = bias) -> Any:
        return ops.maximum(
            ops.conv2d(image, WEIGHT, bias, pad=(1, 1, 1, 1)), np.float32(0.75).reshape(1, 1, 1, 1)
        )

    return tj.compile(tj.trace(made, IMAGE, bias) if given else tj.trace(made, IMAGE))


def kernels(executable: tj.Executable) -> set[str]:
    codes = executable.stages["emit"].values["main"].codes
    return {code.source for code in codes if isinstance(code, Unit)}


@pytest.mark.parametrize("kind", ["one", "equal", "none"])
def test_biases_of_one_number_have_the_kernel_of_many(kind: str) -> None:
    assert kernels(layer(BIASES[kind])) == kernels(layer(BIASES["many"]))


@pytest.mark.parametrize("kind", BIASES)
def test_biases_that_are_constant_give_what_biases_at_run_time_give(kind: str) -> None:
    bias = BIASES[kind]
    result = layer(bias)(IMAGE)
    np.testing.assert_array_equal(result, layer(bias, given=True)(IMAGE, bias))


def test_a_sum_of_negative_zeros_stays_what_it_is() -> None:
    weight, image = -np.ones((2, 1, 1, 1), np.float32), np.zeros((1, 1, 2, 1), np.float32)
    bias = np.full(1, -0.0, np.float32)
    result = tj.compile(tj.trace(lambda x: ops.conv2d(x, weight, bias), image))(image)
    plain = tj.compile(tj.trace(lambda x, b: ops.conv2d(x, weight, b), image, bias))(image, bias)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(plain))
