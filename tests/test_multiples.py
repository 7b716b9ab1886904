"""Wide constants that are narrow numbers, scaled."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tosajit as tj
from tosajit import Value, ops, trace
from tosajit.compiler.multiples import bits_of
from tosajit.tracing.tensor import Tensor


@given(
    st.lists(st.integers(-255, 255), min_size=1, max_size=64),
    st.floats(1 << 10, 1 << 22, allow_nan=False),
)
def test_scaled_bytes_are_known(numbers: list[int], scale: float) -> None:
    assert bits_of(np.round(np.array(numbers) * scale).astype(np.int32)) == 8


@given(st.lists(st.integers(-65535, 65535), min_size=1, max_size=64), st.integers(1 << 8, 1 << 14))
def test_scaled_words_are_known(numbers: list[int], scale: int) -> None:
    assert bits_of((np.array(numbers) * scale).astype(np.int32)) in (8, 16)


def test_numbers_of_32_bits_are_no_multiples() -> None:
    random = np.random.default_rng(3)
    for _ in range(50):
        assert bits_of(random.integers(-(1 << 30), 1 << 30, 12).astype(np.int32)) == 0
    assert bits_of(np.array([1, 2, 5], np.int32)) == 0


def test_an_addition_of_scaled_bytes_is_one_pass_whatever_is_constant() -> None:
    constant = np.arange(-128, 128, 2).astype(np.int32) << 20

    def scaled(x: Tensor) -> Tensor:
        return ops.rescale(x, multiplier=1 << 30, shift=11, dtype=tj.INT32)

    def added(x: Tensor, y: Tensor) -> Tensor:
        return ops.rescale(ops.add(scaled(x), y), multiplier=1 << 30, shift=50, dtype=tj.INT8)

    x, machine = Value("x", tj.INT8, (128,)), "ethos-u55-128/high-end-embedded/sram-only"
    both = trace(lambda a, b: added(a, scaled(b)), x, Value("y", tj.INT8, (128,)))
    one = trace(lambda a: added(a, ops.const(constant)), x)
    other = trace(lambda a: added(a, ops.const(constant + np.arange(128, dtype=np.int32) ** 2)), x)
    cycles = [tj.simulate(graph, machine).busy["vector"] for graph in (both, one, other)]
    assert cycles[0] == cycles[1] < cycles[2]
