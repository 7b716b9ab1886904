"""Groups that walk the same rows are done together for a few rows at a time, with the same bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.compiler import stages
from tosajit.host.by_rows import LEAST_ROWS, NAME
from tosajit.kernels.sets.registry import instruction_set

Layer = Callable[..., Any]
pytestmark = pytest.mark.skipif(instruction_set() is None, reason="there is no set of instructions")


def softmax(x: Any, axis: int = -1) -> Any:
    axis %= len(x.shape)
    powers = ops.exp(ops.sub(x, ops.reduce_max(x, axis=axis)))
    return ops.mul(powers, ops.reciprocal(ops.reduce_sum(powers, axis=axis)))


def normal(x: Any) -> Any:
    axis = len(x.shape) - 1
    share = np.full((1,) * len(x.shape), 1 / x.shape[-1], np.float32)
    apart = ops.sub(x, ops.mul(ops.reduce_sum(x, axis=axis), share))
    square = ops.mul(ops.reduce_sum(ops.mul(apart, apart), axis=axis), share)
    return ops.mul(apart, ops.rsqrt(ops.add(square, np.full_like(share, 1e-5))))


def masked(x: Any) -> Any:
    """A softmax of scores whose mask is the same in all heads."""
    return softmax(ops.add(x, np.linspace(-1, 0, x.shape[-1], dtype=np.float32).reshape(1, 1, 1, -1)))


def shares(x: Any) -> Any:
    """A map of all elements, which has a single axis, ahead of sums of rows."""
    powers = ops.exp(x)
    return ops.mul(powers, ops.reciprocal(ops.reduce_sum(powers, axis=1)))


def running(x: Any) -> Any:
    """Sums of all numbers up to each, whose groups read the row before them, too."""
    for step in (1, 2, 4, 8):
        before = ops.pad(x, np.array([0, 0, step, 0], np.int32), np.zeros(1, np.float32))
        x = ops.add(x, ops.slice(before, np.zeros(2, np.int32), np.array(x.shape, np.int32)))
    return x


def running_down(x: Any) -> Any:
    """The same along columns: rows are no rows of their own."""
    for step in (1, 2):
        before = ops.pad(x, np.array([step, 0, 0, 0], np.int32), np.zeros(1, np.float32))
        x = ops.add(x, ops.slice(before, np.zeros(2, np.int32), np.array(x.shape, np.int32)))
    return x


def greatest(x: Any) -> Any:
    """A chain that ends with a reduction."""
    return ops.reduce_max(softmax(x), axis=1)


LAYERS: Mapping[str, tuple[Layer, tuple[int, ...]]] = {
    "a softmax": (softmax, (37, 129)),
    "a softmax of long rows": (softmax, (16, 5000)),
    "a softmax of short rows": (softmax, (1000, 3)),
    "a softmax of scores": (masked, (1, 16, 20, 33)),
    "a softmax of channels": (lambda x: softmax(x, 1), (16, 20, 33)),
    "a normalisation": (normal, (1, 50, 96)),
    "shares": (shares, (45, 77)),
    "the greatest share": (greatest, (45, 77)),
    "sums so far": (running, (37, 50)),
    "both": (lambda x: softmax(normal(x)), (40, 64)),
}


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def parts(function: Layer, value: np.ndarray, **options: Any) -> tuple[np.ndarray, list[str]]:
    """The result of a function, and what its units are called."""
    made = tj.compile(tj.trace(function, value), **{"generic": "never", **options})
    groups = made.stages["prepare"].values["main"]
    return made(value), [groups.units[nest].name for nest in groups.nests if nest in groups.units]


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_at_a_time_give_the_same_bits(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function, shape = LAYERS[name]
    result, units = parts(function, drawn(*shape), threads=threads)
    monkeypatch.setattr(stages, "by_rows", lambda *_: None)
    alone, _ = parts(function, drawn(*shape), threads=threads)
    np.testing.assert_array_equal(result, alone)
    assert NAME in units


def test_tiles_of_threads_are_whole_rows() -> None:
    function, _ = LAYERS["a softmax of scores"]
    value = drawn(1, 16, 128, 128)
    alone, both = (parts(function, value, threads=threads)[0] for threads in (1, 2))
    np.testing.assert_array_equal(alone, both)


def test_what_others_see_is_not_kept_from_them() -> None:
    def two(x: Any) -> Any:
        powers = ops.exp(x)
        return powers, ops.mul(powers, ops.reciprocal(ops.reduce_sum(powers, axis=1)))

    value = drawn(45, 77)
    made = tj.compile(tj.trace(two, value), generic="never")
    powers, found = made(value)
    np.testing.assert_array_equal(powers, tj.compile(tj.trace(ops.exp, value), generic="never")(value))
    np.testing.assert_array_equal(found, parts(shares, value)[0])


def test_rows_that_others_are_made_of_are_not_done_alone() -> None:
    assert NAME not in parts(running_down, drawn(64, 50))[1]


def test_few_rows_are_left_to_threads() -> None:
    assert parts(softmax, drawn(LEAST_ROWS - 1, 50))[1] == []


def test_groups_are_done_one_by_one_until_their_kernels_are_there() -> None:
    value = drawn(37, 129)
    result, units = parts(softmax, value, generic="always")
    assert units == []
    np.testing.assert_allclose(result, parts(softmax, value)[0], rtol=1e-6)
