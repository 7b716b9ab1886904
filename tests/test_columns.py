"""Convolutions to few channels are sums of products that their windows share, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.test_host import LIBRARIES
from tosajit import ops

LAST, FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


def drawn(*shape: int, seed: int = 3) -> np.ndarray:
    """Numbers whose sums of products are exact in any order."""
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(np.float32)


def compiled(function: Callable[..., Any], *values: np.ndarray) -> tj.Executable:
    """An executable whose results are the interpreter's."""
    graph = tj.trace(function, *values)
    made = tj.compile(graph)
    np.testing.assert_array_equal(made(*values), tj.compile(graph, interpret=True)(*values))
    return made


def verbs(made: tj.Executable) -> list[str]:
    return [nest.verb for nest in made.stages["simplify"].values["main"].nests]


TRANSPOSED = [
    # image, kernels, stride, out_pad
    ((1, 9, 11, 32), (3, 3, 3, 32), (2, 2), (0, 0, 0, 0)),
    ((1, 7, 9, 32), (1, 4, 4, 32), (2, 2), (-1, -1, -1, -1)),
    ((2, 8, 7, 48), (2, 5, 4, 48), (3, 2), (1, -2, 0, 3)),
    ((1, 6, 5, 64), (3, 2, 5, 64), (3, 4), (-1, 2, 2, -1)),
]


@pytest.mark.parametrize(("image", "kernels", "stride", "out_pad"), TRANSPOSED)
@pytest.mark.parametrize("first", [False, True])
def test_transposed_convolutions(image: Any, kernels: Any, stride: Any, out_pad: Any, first: bool) -> None:
    weights, bias = drawn(*kernels, seed=4), drawn(kernels[0], seed=5)

    def turned(x: Any) -> Any:
        return ops.clamp(
            ops.transpose_conv2d(x, weights, bias, out_pad=out_pad, stride=stride),
            min_val=-900.0,
            max_val=900.0,
        )

    def channels_first(x: Any) -> Any:
        return ops.transpose(turned(ops.transpose(x, perms=LAST)), perms=FIRST)

    value = drawn(*image)
    made = compiled(channels_first, value.transpose(FIRST).copy()) if first else compiled(turned, value)
    assert verbs(made).count("contract") == 1


CONVOLUTIONS = [
    # image, kernels, pad, stride, dilation
    ((1, 9, 13, 64), (3, 3, 3, 64), (1, 1, 1, 1), (1, 1), (1, 1)),
    ((2, 11, 8, 64), (1, 3, 3, 64), (0, 2, 1, 0), (1, 1), (1, 1)),
    ((1, 12, 15, 64), (2, 2, 4, 64), (1, 0, 3, 2), (1, 1), (2, 1)),
    ((1, 10, 13, 96), (1, 3, 3, 96), (2, 0, 0, 2), (1, 2), (1, 1)),
]


@pytest.mark.parametrize(("image", "kernels", "pad", "stride", "dilation"), CONVOLUTIONS)
def test_convolutions(image: Any, kernels: Any, pad: Any, stride: Any, dilation: Any) -> None:
    weights, bias = drawn(*kernels, seed=4), drawn(kernels[0], seed=5)
    made = compiled(
        lambda x: ops.conv2d(x, weights, bias, pad=pad, stride=stride, dilation=dilation), drawn(*image)
    )
    assert verbs(made)[:3] == ["contract", "move", "map"]


BYTES = [
    # whether transposed, image, kernels, pad or out_pad, stride
    (True, (1, 9, 11, 64), (3, 3, 3, 64), (-1, 0, 2, -1), (2, 2)),
    (True, (2, 5, 7, 48), (1, 4, 5, 48), (0, 0, 0, 0), (2, 3)),
    (False, (1, 9, 13, 64), (3, 3, 3, 64), (1, 1, 1, 1), (1, 1)),
    (False, (2, 8, 9, 96), (2, 3, 2, 96), (2, 0, 1, 1), (1, 1)),
]


@pytest.mark.parametrize(("transposed", "image", "kernels", "pad", "stride"), BYTES)
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("zero", [0, -3])
def test_bytes(
    transposed: bool, image: Any, kernels: Any, pad: Any, stride: Any, scaled: bool, zero: int
) -> None:
    random, count = np.random.default_rng(9), kernels[0]
    value, weights = (random.integers(-128, 128, shape, dtype=np.int8) for shape in (image, kernels))
    given = (
        weights,
        random.integers(-9999, 9999, count, dtype=np.int32),
        np.array([5], np.int8),
        np.array([zero], np.int8),
    )
    scales = (
        np.full(count, 1 << 30, np.int32),
        np.full(count, 43, np.int8),
        np.zeros(1, np.int32),
        np.array([-7], np.int8),
    )

    def function(x: Any) -> Any:
        if transposed:
            total = ops.transpose_conv2d(x, *given, out_pad=pad, stride=stride)
        else:
            total = ops.conv2d(x, *given, pad=pad, stride=stride)
        return ops.rescale(total, *scales, dtype=tj.INT8, per_channel=True) if scaled else total

    made = compiled(function, value)
    assert verbs(made).count("contract") == 1
    assert verbs(made)[:2] == ["contract", "move"]


def test_what_is_added_to_them_and_two_of_an_image() -> None:
    first, second = drawn(3, 3, 3, 64, seed=4), drawn(2, 3, 3, 64, seed=6)
    options: dict[str, Any] = {"pad": (1, 1, 1, 1), "stride": (1, 1), "dilation": (1, 1)}

    def both(x: Any, y: Any) -> Any:
        one = ops.add(ops.conv2d(x, first, **options), y)
        return ops.concat([one, ops.conv2d(x, second, **options)], axis=3)

    made = compiled(both, drawn(1, 7, 10, 64), drawn(1, 7, 10, 3, seed=7))
    assert verbs(made).count("contract") == 2


@pytest.mark.parametrize("channels", [16, 64])
def test_convolutions_to_many_channels_stay_what_they_are(channels: int) -> None:
    weights = drawn(16, 3, 3, channels, seed=4)
    made = compiled(
        lambda x: ops.conv2d(x, weights, pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1)),
        drawn(1, 8, 9, channels),
    )
    assert verbs(made) == ["contract"]


@pytest.mark.parametrize("library", [one for one in LIBRARIES if one in ("avx2", "avx512")])
def test_what_transforms_of_bytes_do_in_less_time_is_left_to_them(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    random = np.random.default_rng(9)
    value = random.integers(-128, 128, (1, 14, 14, 256), dtype=np.int8)
    weights = random.integers(-9, 10, (36, 3, 3, 256), dtype=np.int8)
    zeros = np.zeros(36, np.int32), np.array([5], np.int8), np.zeros(1, np.int8)
    made = compiled(lambda x: ops.conv2d(x, weights, *zeros, pad=(1, 1, 1, 1)), value)
    assert verbs(made) == ["contract"]


@pytest.mark.parametrize("dilation", [1, 2])
def test_what_transforms_do_in_less_time_is_left_to_them(dilation: int) -> None:
    weights, gaps = drawn(33, 3, 3, 128, seed=4), (dilation, dilation)
    made = compiled(
        lambda x: ops.conv2d(x, weights, pad=gaps + gaps, stride=(1, 1), dilation=gaps),
        drawn(1, 28, 28, 128),
    )
    assert verbs(made) == ["contract"]


def test_weights_that_are_no_constants_stay_in_one_step() -> None:
    made = compiled(
        lambda x, w: ops.conv2d(x, w, pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1)),
        drawn(1, 8, 9, 64),
        drawn(1, 3, 3, 64, seed=4),
    )
    assert verbs(made) == ["contract"]
