"""Integers are interpolated along y and then along x, to the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops


def resized(shape: tuple[int, ...], scale: list[int], type: Any = np.int8) -> tuple[tj.Graph, np.ndarray]:
    """A bilinear RESIZE of extreme numbers by `[y numerator, denominator, x numerator, denominator]`."""
    limits = np.iinfo(type) if np.issubdtype(type, np.integer) else np.finfo(type)
    value = np.random.default_rng(3).choice([limits.min, -1, 0, 1, limits.max], shape).astype(type)
    _, height, width, _ = shape
    borders = [-((size - 1) * up) % down for size, up, down in ((height, *scale[:2]), (width, *scale[2:]))]

    def function(x: Any) -> Any:
        return ops.resize(x, scale, [0, 0], borders, mode="BILINEAR")

    return tj.trace(function, value), value


def groups(made: tj.Executable) -> int:
    return len(made.stages["simplify"].values["main"].nests)


SCALES = [[2, 1, 2, 1], [37, 20, 53, 28], [31, 7, 1024, 1023], [2048, 1000, 2048, 999]]


@pytest.mark.parametrize("channels", [1, 5, 19, 32])
@pytest.mark.parametrize("scale", SCALES)
def test_columns_are_interpolated_along_y_once(scale: list[int], channels: int) -> None:
    graph, value = resized((1, 18, 13, channels), scale)
    made = tj.compile(graph)
    np.testing.assert_array_equal(made(value), tj.compile(graph, interpret=True)(value))
    np.testing.assert_array_equal(made(value), tj.compile(graph, generic="always")(value))
    assert groups(made) == 2
    units = made.stages["prepare"].values["main"].units.values()
    assert [unit.name for unit in units] == ["by rows"]


@pytest.mark.parametrize(
    ("shape", "scale", "type"),
    [
        ((1, 18, 41, 3), [2, 1, 1, 2], np.int8),  # fewer columns than before
        ((2, 18, 13, 3), [2, 1, 2, 1], np.int8),  # rows are not those of an axis alone
        ((1, 4, 13, 3), [2, 1, 2, 1], np.int8),  # few rows
        ((1, 18, 13, 3), [2, 1, 2, 1], np.int16),  # int48
        ((1, 18, 13, 3), [2, 1, 2, 1], np.float32),  # rounded in its order
    ],
)
def test_others_are_interpolated_at_once(shape: tuple[int, ...], scale: list[int], type: Any) -> None:
    graph, value = resized(shape, scale, type)
    made = tj.compile(graph)
    np.testing.assert_array_equal(made(value), tj.compile(graph, interpret=True)(value))
    assert groups(made) == 1
