"""Reductions of few numbers are maps on the host, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops

IMAGE = np.random.default_rng(11).integers(-128, 128, (2, 9, 8, 5), dtype=np.int8)
POINTS = np.array([3], np.int8), np.array([-2], np.int8)
NONE = [0, 0, 0, 0]


def executable(function: Callable[..., Any], *values: np.ndarray) -> tj.Executable:
    return tj.compile(tj.trace(function, *values))


def verbs(made: tj.Executable) -> list[str]:
    return [nest.verb for nest in made.stages["simplify"].values["main"].nests]


def windows(image: np.ndarray, kernel: tuple[int, int], stride: tuple[int, int]) -> np.ndarray:
    found = np.lib.stride_tricks.sliding_window_view(image, kernel, (1, 2))
    return found[:, :: stride[0], :: stride[1]]


@pytest.mark.parametrize(
    ("kernel", "stride"), [((2, 2), (1, 2)), ((3, 3), (2, 1)), ((1, 4), (1, 2)), ((3, 2), (3, 3))]
)
def test_maxima_of_small_windows_without_array_kernels(
    kernel: tuple[int, int], stride: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", "none")
    made = executable(lambda x: ops.max_pool2d(x, kernel=kernel, stride=stride, pad=NONE), IMAGE)
    assert verbs(made) == ["map"]
    np.testing.assert_array_equal(made(IMAGE), windows(IMAGE, kernel, stride).max((-2, -1)))


def test_means_of_small_windows_are_those_of_large_ones_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", "none")

    def means(kernel: tuple[int, int]) -> Any:
        return lambda x: ops.avg_pool2d(x, *POINTS, kernel=kernel, stride=(1, 1), pad=NONE, acc_type="INT32")

    # A column that stands beside itself does not change the mean; its window is too large to be a map.
    small, large = executable(means((3, 1)), IMAGE), executable(means((3, 4)), np.repeat(IMAGE, 4, 2))
    assert (verbs(small), verbs(large)) == (["map"], ["reduce"])
    np.testing.assert_array_equal(small(IMAGE), large(np.repeat(IMAGE, 4, 2))[:, :, ::4])


TYPES = np.int8, np.int16, np.int32, np.float32
REDUCTIONS = [
    *((name, type) for name in ("reduce_max", "reduce_min") for type in TYPES),
    ("reduce_sum", np.int32),
    ("reduce_sum", np.float32),
]


@pytest.mark.parametrize(("name", "type"), REDUCTIONS)
def test_reductions_along_a_short_axis(name: str, type: Any) -> None:
    values = IMAGE.astype(type)
    made = executable(lambda x: getattr(ops, name)(x, axis=1), values)
    assert verbs(made) == ["map"]
    np.testing.assert_array_equal(made(values), getattr(np, name[7:])(values, axis=1, keepdims=True))


def test_others_stay_as_they_are() -> None:
    large = executable(lambda x: ops.max_pool2d(x, kernel=(4, 4), stride=(1, 1), pad=[1, 0, 1, 0]), IMAGE)
    rows = executable(lambda x: ops.reduce_max(x, axis=3), IMAGE)
    assert [verbs(made) for made in (large, rows)] == [["reduce"]] * 2
    np.testing.assert_array_equal(rows(IMAGE), IMAGE.max(3, keepdims=True))
