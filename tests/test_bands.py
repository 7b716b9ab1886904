"""Chains of float32 whose values leave the caches go through these in bands, with the same bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.compiler import stages
from tosajit.kernels.link import sources_of
from tosajit.kernels.sets.registry import instruction_set

Layer = Callable[[Any], Any]
SIZE = 112
pytestmark = pytest.mark.skipif(
    not getattr(instruction_set(), "near_bytes", 0), reason="no chains go in bands with this set"
)


def drawn(*shape: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def pointwise(inputs: int, outputs: int, taps: int = 1, stride: int = 1) -> Layer:
    weights, bias = drawn(outputs, taps, taps, inputs, seed=outputs), drawn(outputs)
    pad = (0, 0, 0, 0) if stride == taps else (taps // 2,) * 4
    steps = (stride, stride)
    return lambda x: ops.clamp(ops.conv2d(x, weights, bias, pad=pad, stride=steps), min_val=0.0, max_val=6.0)


def depthwise(channels: int, taps: int = 3) -> Layer:
    weights, bias = drawn(taps, taps, channels, 1, seed=channels), drawn(channels)
    pad = (taps // 2, taps // 2) * 2
    return lambda x: ops.clamp(ops.depthwise_conv2d(x, weights, bias, pad=pad), min_val=0.0, max_val=6.0)


def chained(*layers: Layer) -> Layer:
    def function(x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return x

    return function


def residual(inner: Layer) -> Layer:
    return lambda x: ops.add(x, inner(x))


BLOCK = chained(pointwise(16, 96), depthwise(96), pointwise(96, 16))
CHAINS: Mapping[str, Layer] = {
    "a block": BLOCK,
    "with windows of five": chained(pointwise(16, 96), depthwise(96, 5), pointwise(96, 16)),
    "with a sum around it": chained(pointwise(16, 32), pointwise(32, 16), residual(BLOCK)),
    "with steps": chained(pointwise(16, 96, 2, 2), pointwise(96, 192), depthwise(192), pointwise(192, 24)),
}


def parts(function: Layer, value: np.ndarray, **options: Any) -> tuple[np.ndarray, Any]:
    """The result of a function, and its groups."""
    made = tj.compile(tj.trace(function, value), generic="never", **options)
    return made(value), made.stages["prepare"].values["main"]


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("shape", [(1, SIZE, SIZE + 6, 16), (12, 30, 32, 16)])
@pytest.mark.parametrize("threads", [1, 2])
def test_bands_give_the_same_bits(
    name: str, shape: tuple[int, ...], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = drawn(*shape)
    result, groups = parts(CHAINS[name], value, threads=threads)
    monkeypatch.setattr(stages, "_in_bands", lambda groups, isa: groups)
    whole, plain = parts(CHAINS[name], value, threads=threads)
    np.testing.assert_array_equal(result, whole)
    assert len(groups.nests) > len(plain.nests)


def test_bands_share_weights_and_kernels_but_for_one_that_moves_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    value = drawn(1, SIZE, SIZE, 16)
    _, groups = parts(BLOCK, value)
    monkeypatch.setattr(stages, "_in_bands", lambda groups, isa: groups)
    _, plain = parts(BLOCK, value)
    texts, known = (
        {text for unit in one.units.values() if unit.name != "move" for text in sources_of(unit)}
        for one in (groups, plain)
    )
    assert texts == known
    assert sum(array.nbytes for array in groups.added.values()) == sum(
        array.nbytes for array in plain.added.values()
    )


STAY: Mapping[str, tuple[Layer, tuple[int, ...]]] = {
    "what fits the caches": (BLOCK, (1, 14, 14, 16)),
    "large weights": (chained(pointwise(512, 1024), pointwise(1024, 512)), (1, 28, 28, 512)),
    "what transforms take": (chained(pointwise(32, 32, 3), pointwise(32, 32, 3)), (1, SIZE, SIZE, 32)),
    "a single group": (pointwise(16, 96), (1, SIZE, SIZE, 16)),
}


@pytest.mark.parametrize("name", STAY)
def test_others_stay_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, shape = STAY[name]
    value = drawn(*shape)
    _, groups = parts(function, value)
    monkeypatch.setattr(stages, "_in_bands", lambda groups, isa: groups)
    _, plain = parts(function, value)
    assert len(groups.nests) == len(plain.nests)


def test_a_profile_has_all_bands_of_a_group_in_a_row() -> None:
    value = drawn(1, SIZE, SIZE, 16)
    made = tj.compile(tj.trace(BLOCK, value), generic="never", threads=1)
    found = made.profile(value, runs=2)
    layers = [one for one in found if one.macs]
    assert len(made.program.sections) > len(found)
    assert len(layers) == 3
    first, depthwise_one, last = (one.macs for one in layers)
    assert first == last == SIZE * SIZE * 16 * 96
    assert depthwise_one >= SIZE * SIZE * 96 * 9
    assert sum(map(found.share, found)) == pytest.approx(1)
