"""What a jitted function keeps: bounded, the least recently used goes, seen and cleared, by many threads."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops


def of(length: int) -> np.ndarray:
    return np.arange(length, dtype=np.int8)


def identity(**settings: Any) -> Any:
    return tj.jit(**settings)(lambda x: ops.identity(x))


def test_no_more_is_kept_than_asked_for() -> None:
    function = identity(cache_size=3)
    for length in range(1, 9):
        assert np.array_equal(function(of(length)), of(length))
        assert function.cache_info().currsize <= 3
    assert function.cache_info() == (0, 8, 3, 3)
    assert repr(function).endswith("3 executables>")


def test_what_was_used_longest_ago_goes_first() -> None:
    function = identity(cache_size=2)
    function(of(1))
    kept = function.executable(of(2))
    function(of(1))
    function.executable(of(2))
    function(of(3))  # of 1 goes
    assert function.executable(of(2)) is kept
    assert function.cache_info().misses == 3
    function(of(1))
    assert function.cache_info().misses == 4


def test_quick_calls_count_as_uses() -> None:
    function = identity(cache_size=2)
    function(of(1))
    function(of(2))
    for _ in range(3):
        function(of(1))
    function(of(3))  # of 2 goes
    misses = function.cache_info().misses
    function(of(1))
    assert function.cache_info().misses == misses
    function(of(2))
    assert function.cache_info().misses == misses + 1


def test_hits_and_misses_are_counted() -> None:
    function = identity()
    for _ in range(4):
        function(of(5))
    function.graph(of(5))
    assert function.cache_info() == (4, 1, 128, 1)
    function.cache_clear()
    assert function.cache_info() == (0, 0, 128, 0)
    assert np.array_equal(function(of(5)), of(5))


def test_what_is_forgotten_is_freed() -> None:
    function = identity(cache_size=1)
    first = weakref.ref(function.executable(of(1)))
    function(of(1))
    function(of(2))
    assert first() is None


def test_without_a_bound_all_is_kept() -> None:
    function = identity(cache_size=None)
    for length in range(1, 200):
        function.graph(of(length))
    assert function.cache_info() == (0, 199, None, 199)


@pytest.mark.parametrize("size", [0, -1, 1.5, "8"])
def test_a_bound_is_a_number_or_none(size: Any) -> None:
    with pytest.raises(tj.CompileError, match=r"cache_size is .*, but must be at least 1, or None"):
        tj.jit(cache_size=size)


def test_threads_share_what_is_kept() -> None:
    function = identity(cache_size=3)

    def work(seed: int) -> None:
        for length in np.random.default_rng(seed).integers(1, 7, 60):
            assert np.array_equal(function(of(int(length))), of(int(length)))

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, seed) for seed in range(8)]:
            done.result()
    hits, misses, most, now = function.cache_info()
    assert (hits + misses, most, now) == (8 * 60, 3, 3)
    assert len(function._quick) <= 3
