"""Rows copied by the kernel of moves are where the interpreter puts them, and nothing beside them changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.test_host import LIBRARIES
from tosajit import ops

TYPES = [np.int8, np.int16, np.float32]
Case = tuple[Callable[[Any], Any], tuple[int, ...]]


def nearest(height: int, width: int) -> Callable[[Any], Any]:
    border = [0 if number % 2 else number - 2 for number in (height, width)]
    return lambda x: ops.resize(x, [height, 2, width, 2], [0, 0], border, mode="NEAREST")


def padded(*pads: int) -> Callable[[Any], Any]:
    return lambda x: ops.pad(x, pads, np.array([7]).astype(x.dtype.storage))


CASES: dict[str, Case] = {
    "pad channels": (padded(0, 0, 0, 0, 0, 0, 3, 5), (1, 5, 9, 32)),
    "pad few channels": (padded(0, 0, 0, 0, 0, 0, 0, 1), (1, 5, 9, 3)),
    "pad all": (padded(1, 0, 2, 1, 0, 3, 1, 70), (2, 3, 4, 33)),
    "pad rows": (padded(0, 0, 1, 1, 1, 1, 0, 0), (1, 6, 7, 24)),
    "slice": (lambda x: ops.slice(x, [0, 1, 2, 3], [1, 4, 5, 21]), (1, 6, 8, 27)),
    "concat": (lambda x: ops.concat([x, ops.reverse(x, axis=1), x], axis=3), (1, 4, 5, 3)),
    "tile": (lambda x: ops.tile(x, [1, 1, 1, 3]), (1, 40, 41, 17)),
    "heads": (lambda x: ops.transpose(x, perms=[0, 2, 1, 3]), (1, 9, 4, 31)),
    "blocks": (
        lambda x: ops.transpose(ops.reshape(x, [6, 2, 5, 2, 9]), perms=[0, 2, 1, 3, 4]),
        (1, 12, 10, 9),
    ),
    "nearest": (nearest(4, 4), (1, 5, 7, 19)),
    "nearest in between": (nearest(3, 5), (1, 5, 9, 64)),
    "gather": (
        lambda x: ops.gather(x, np.array([[5, 0, 0, 6, 3]], np.int32)),
        (1, 7, 100),
    ),
}


def units(made: tj.Executable) -> list[str]:
    return [unit.name for unit in made.stages["prepare"].values["main"].units.values()]


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "none"])
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", CASES)
def test_rows_come_to_their_places(name: str, type: Any, library: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    function, shape = CASES[name]
    x = np.random.default_rng(3).integers(-100, 100, shape).astype(type)
    graph = tj.trace(function, x)
    made = tj.compile(graph, threads=1 + (name == "pad all"))
    np.testing.assert_array_equal(made(x), tj.compile(graph, interpret=True)(x))
    assert units(made).count("move") >= 1


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100])
def test_rows_of_all_lengths_are_padded(channels: int) -> None:
    x = np.random.default_rng(3).integers(-100, 100, (3, 11, channels)).astype(np.int8)
    for pads in ((0, 0, 0, 0, 1, 2), (0, 0, 1, 0, 0, 33), (1, 1, 0, 0, 40, 0)):
        made = tj.compile(tj.trace(padded(*pads), x))
        wanted = np.pad(x, np.reshape(pads, (3, 2)), constant_values=7)
        np.testing.assert_array_equal(made(x), wanted)


def test_places_outside_are_kept_inside_as_everywhere() -> None:
    x = np.arange(7 * 40, dtype=np.int8).reshape(1, 7, 40)
    graph = tj.trace(lambda x, i: ops.gather(x, i), x, np.array([[0, 1]], np.int32))
    places = np.array([[-5, 9]], np.int32)
    made = tj.compile(graph)
    assert units(made) == ["move"]
    np.testing.assert_array_equal(made(x, places), tj.compile(graph, interpret=True)(x, places))


def test_rows_are_copied_otherwise_until_their_kernel_is_compiled() -> None:
    function, shape = CASES["pad all"]
    x = np.random.default_rng(3).integers(-100, 100, shape).astype(np.float32)
    graph = tj.trace(function, x)
    made = tj.compile(graph, generic="always")
    assert units(made) == []
    np.testing.assert_array_equal(made(x), tj.compile(graph, interpret=True)(x))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("type", [*TYPES, np.int32])
def test_rows_of_any_length_are_turned_round(type: Any, library: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    for extent in (2, 3, 7, 8, 15, 16, 19, 31, 33, 64, 70, 129, 300):
        x = np.random.default_rng(extent).integers(-100, 100, (5, extent, 3)).astype(type)
        for axis in range(3):
            made = tj.compile(tj.trace(lambda x, axis=axis: ops.reverse(x, axis=axis), x))
            np.testing.assert_array_equal(made(x), np.flip(x, axis))
        flat = tj.compile(tj.trace(lambda x: ops.reverse(x, axis=1), x[:, :, 0].copy()))
        np.testing.assert_array_equal(flat(x[:, :, 0].copy()), np.flip(x[:, :, 0], 1))
