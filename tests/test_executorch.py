"""Files that ExecuTorch 1.5.1 has written, which store constants and batches in ways of their own.

`data/executorch` has a convolution with a scale for each channel, quantised inside of the graph, and one
whose batch is open, each with an input and PyTorch's own result.
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tosajit.arrays import Array

FILES = Path(__file__).parent / "data" / "executorch"


def case(name: str) -> tuple[Array, Array]:
    return np.load(FILES / f"{name}_in.npy"), np.load(FILES / f"{name}_out.npy")


def test_zero_points_of_all_channels_are_one() -> None:
    graph = tj.load(FILES / "per_channel.tosa")
    assert not tj.validate(graph)
    given, expected = case("per_channel")
    assert np.array_equal(tj.compile(graph)(given), expected)


def test_an_open_batch_is_what_is_given() -> None:
    given, expected = case("open_batch")
    graph = tj.load(FILES / "open_batch.tosa", shapes={"x": given.shape})
    found = tj.compile(graph)(given)
    assert isinstance(found, np.ndarray)
    assert found.shape == (2, 3, 4, 4)
    assert np.abs(found.reshape(expected.shape) - expected).max() < 1e-6


def test_an_open_batch_is_one_by_default(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tosajit"):
        graph = tj.load(FILES / "open_batch.tosa")
    assert "the batch is taken as 1" in caplog.text
    assert graph.outputs[0].shape == (1, 3, 4, 4)
