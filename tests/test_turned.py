"""Nests whose results lie across what they read give the same results by rows, and padded pools in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tiling.expr import walk
from tosajit import ops

NONE, ALL = [0, 0, 0, 0], [1, 1, 1, 1]
FIRST, LAST = [0, 3, 1, 2], [0, 2, 3, 1]
TYPES = [np.int8, np.int16, np.float32]


def drawn(shape: tuple[int, ...], type: Any, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).integers(-100, 100, shape).astype(type)


def verbs(made: tj.Executable) -> list[str]:
    return [nest.verb for nest in made.stages["simplify"].values["main"].nests]


def same_as_interpreted(function: Callable[..., Any], *values: np.ndarray) -> tj.Executable:
    graph = tj.trace(function, *values)
    made = tj.compile(graph)
    np.testing.assert_array_equal(made(*values), tj.compile(graph, interpret=True)(*values))
    return made


def pooled(type: Any, kernel: tuple[int, int], stride: tuple[int, int], pad: list[int], mean: bool) -> Any:
    options: dict[str, Any] = {"kernel": kernel, "stride": stride, "pad": pad}
    if not mean:
        return lambda x: ops.max_pool2d(x, **options)
    points = np.zeros(1, type), np.zeros(1, type)
    if type is np.int8:
        points = np.array([3], type), np.array([-2], type)
    acc = "FP32" if type is np.float32 else "INT32"
    return lambda x: ops.avg_pool2d(x, *points, **options, acc_type=acc)


POOLS = [
    # shape, kernel, stride, pad
    ((1, 12, 13, 17), (3, 3), (1, 1), ALL),
    ((2, 12, 20, 33), (3, 3), (2, 2), [0, 1, 0, 1]),
    ((1, 12, 16, 16), (2, 2), (2, 2), NONE),
    ((1, 13, 10, 5), (2, 3), (3, 2), [1, 0, 2, 1]),
    ((1, 9, 1, 24), (3, 1), (1, 1), [1, 1, 0, 0]),
    ((1, 3, 3, 8), (3, 3), (1, 1), ALL),
]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("case", range(len(POOLS)))
@pytest.mark.parametrize("form", ["rows", "to channels first", "from and to", "from"])
def test_pools_in_every_layout(type: Any, mean: bool, case: int, form: str) -> None:
    shape, kernel, stride, pad = POOLS[case]
    pool = pooled(type, kernel, stride, pad, mean)
    image = drawn(shape, type)
    match form:
        case "rows":
            same_as_interpreted(pool, image)
        case "to channels first":
            same_as_interpreted(lambda x: ops.transpose(pool(x), perms=FIRST), image)
        case "from":
            same_as_interpreted(lambda x: pool(ops.transpose(x, perms=LAST)), drawn_first(image))
        case _:
            turn = lambda x: ops.transpose(pool(ops.transpose(x, perms=LAST)), perms=FIRST)  # noqa: E731
            same_as_interpreted(turn, drawn_first(image))


def drawn_first(image: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(image.transpose(FIRST))


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("type", [np.int8, np.float32])
def test_padded_pools_are_maps_of_their_middle_sides_and_corners(type: Any, mean: bool) -> None:
    made = same_as_interpreted(pooled(type, (3, 3), (1, 1), ALL, mean), drawn((1, 12, 13, 17), type))
    assert verbs(made) == ["map"] * 9


def test_small_images_stay_whole() -> None:
    made = same_as_interpreted(pooled(np.float32, (3, 3), (1, 1), ALL, True), drawn((1, 3, 3, 8), np.float32))
    assert verbs(made) == ["reduce"]


@pytest.mark.parametrize("type", [np.int8, np.float32])
def test_results_that_lie_across_are_transposed_by_themselves(type: Any) -> None:
    image = drawn((1, 17, 19, 33), type)

    def turned(x: Any) -> Any:
        return ops.transpose(ops.maximum(x, ops.abs(x) if type is np.float32 else x), perms=FIRST)

    if type is np.int8:
        image = image.astype(np.int32)
    assert verbs(same_as_interpreted(turned, image)) == ["map", "move"]


@pytest.mark.parametrize("many", [False, True])
def test_much_work_on_few_channels_is_done_in_rows_before_they_come_last(many: bool) -> None:
    def turned(x: Any) -> Any:
        numbers = ops.exp(x) * x + ops.tanh(x) if many else ops.abs(x)
        return ops.transpose(ops.cast(numbers, dtype=tj.INT8), perms=LAST)

    image = (drawn((1, 3, 17, 19), np.float32) / 25).astype(np.float32)
    assert verbs(same_as_interpreted(turned, image)) == (["map", "move"] if many else ["map"])


@pytest.mark.parametrize("mode", ["BILINEAR", "NEAREST"])
def test_resized_images_are_transposed_by_themselves(mode: str) -> None:
    def resized(x: Any) -> Any:
        return ops.transpose(ops.resize(x, [4, 2, 4, 2], [0, 0], [2, 2], mode=mode), perms=FIRST)

    same_as_interpreted(resized, drawn((1, 9, 11, 19), np.float32))


@pytest.mark.parametrize("mode", ["BILINEAR", "NEAREST"])
def test_resized_images_are_written_where_they_belong(mode: str) -> None:
    def resized(x: Any) -> Any:
        found = ops.resize(x, [4, 2, 4, 2], [0, 0], [2, 2], mode=mode)
        return found if mode == "NEAREST" else ops.rescale(found, [1 << 30], [34], dtype=tj.INT8)

    made = same_as_interpreted(resized, drawn((1, 9, 11, 40), np.int8))
    assert verbs(made) == ["move" if mode == "NEAREST" else "map"]
    nests = made.stages["simplify"].values["main"].nests
    assert all(node.scalar.family != "rescale" for nest in nests for node in walk(nest.writes[0].value))


def test_infinities_and_nans_go_through_padded_maxima() -> None:
    image = drawn((1, 12, 12, 9), np.float32)
    image[0, 3, 4], image[0, 0, 0], image[0, 11, 5, 2] = -np.inf, np.nan, np.inf
    same_as_interpreted(pooled(np.float32, (3, 3), (1, 1), ALL, False), image)
