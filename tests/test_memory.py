"""Large tensors are handled or refused, and never wrapped; runs without end keep their memory."""

from __future__ import annotations

import gc
import resource
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

import tosajit as tj
from tests.building import while_loop
from tests.strategies import TARGETS
from tosajit.kernels import memory
from tosajit.kernels.lines import LINE, address_of
from tosajit.operators import (
    ADD,
    CONV2D,
    CUSTOM,
    GREATER,
    IDENTITY,
    MATMUL,
    REDUCE_MAX,
    REDUCE_SUM,
    REVERSE,
    SLICE,
    SUB,
    TILE,
    AccType,
)

HALF = 1 << 31


def copied(shape: tuple[int, ...]) -> tj.Graph:
    graph = tj.GraphBuilder()
    graph.output(graph.add(IDENTITY(), [graph.input("x", tj.INT8, shape)]))
    return graph.build()


@pytest.mark.parametrize("shape", [(HALF,), (1 << 20, 1 << 20), (1 << 40, 1 << 22), (1 << 16,) * 4])
def test_a_level_says_how_large_tensors_may_be(shape: tuple[int, ...]) -> None:
    with pytest.raises(tj.GraphError, match=r"x: it takes \d+ bytes, but must take less than 2147483648"):
        tj.compile(copied(shape))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(1 << 45,), (1 << 30, 1 << 30), (1 << 20, 1 << 20, 1 << 20), (1 << 62,)])
def test_what_this_machine_has_no_memory_for_is_refused(shape: tuple[int, ...], target: str) -> None:
    with pytest.raises(tj.PlanError, match=r"identity_1: needs \d+ bytes of memory, but there are \d+"):
        tj.compile(copied(shape), level="none", target=TARGETS[target])


def test_sizes_beyond_64_bits_are_refused() -> None:
    with pytest.raises(tj.GraphError, match="must take less than 9223372036854775808"):
        tj.compile(copied((1 << 61, 1 << 61)), level="none")


def sums(graph: tj.GraphBuilder, x: str) -> str:
    weight = graph.const(np.zeros((4, 3, 3, 4), np.int8), tj.INT8)
    bias = graph.const(np.zeros(4, np.int32), tj.INT32)
    zeros = [graph.const(np.zeros(1, np.int8), tj.INT8) for _ in range(2)]
    operator = CONV2D(pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32)
    return graph.add(operator, [x, weight, bias, *zeros])


def tiled(graph: tj.GraphBuilder, x: str) -> str:
    return graph.add(TILE(), [x, graph.shape([1, 1 << 20, 1 << 20, 1])])


def multiplied(graph: tj.GraphBuilder, x: str) -> str:
    zeros = [graph.const(np.zeros(1, np.int8), tj.INT8) for _ in range(2)]
    a, b = (graph.input(name, tj.INT8, (1, 1 << 24, 1 << 24)) for name in "ab")
    return graph.add(MATMUL(), [a, b, *zeros])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("made", [sums, tiled, multiplied])
def test_intermediate_results_count_too(made: Callable[..., str], target: str) -> None:
    graph = tj.GraphBuilder()
    value = made(
        graph, graph.input("x", tj.INT8, (1, 1, 1, 4) if made is tiled else (1, 1 << 20, 1 << 20, 4))
    )
    graph.output(value, graph.add(REDUCE_MAX(axis=1), [value]))
    with pytest.raises(tj.PlanError, match=r"needs \d+ bytes of memory"):
        tj.compile(graph.build(), level="none", target=TARGETS[target])


def test_memory_that_the_system_does_not_give_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_bytes", lambda: None)
    graph = tj.GraphBuilder()
    graph.output(graph.add(TILE(), [graph.input("x", tj.INT8, (1,)), graph.shape([1 << 50])]))
    executable = tj.compile(graph.build(), level="none")
    with pytest.raises(tj.PlanError, match=r"tile_\d: the system has no memory left"):
        executable(np.zeros(1, np.int8))


def test_large_results_of_constants_are_not_computed_beforehand() -> None:
    graph = tj.GraphBuilder()
    value = graph.add(TILE(), [graph.const(np.ones(1, np.int8), tj.INT8), graph.shape([1 << 45])])
    graph.output(graph.add(REDUCE_MAX(axis=0), [value]))
    tj.compile(graph.build(), level="none")


# Beyond 2**31.


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_indices_beyond_two_thousand_million(target: str) -> None:
    large = np.zeros(HALF + 4096, np.int8)
    large[HALF - 1], large[HALF], large[-1] = 5, 7, 9
    graph = tj.GraphBuilder()
    x = graph.input("x", tj.INT8, large.shape)
    places = [graph.shape([place]) for place in (HALF - 4, 4100)]
    end = graph.add(SLICE(), [x, *places])
    part = graph.add(SLICE(), [x, graph.shape([HALF - (1 << 20)]), graph.shape([(1 << 20) + 4096])])
    graph.output(end, graph.add(REDUCE_MAX(axis=0), [part]), graph.add(REVERSE(axis=0), [end]))
    given, most, turned = tj.compile(graph.build(), level="none", target=TARGETS[target])(large)
    assert np.array_equal(given, large[HALF - 4 :])
    assert np.array_equal(turned, given[::-1])
    assert most == 9


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 4])
def test_contractions_beyond_two_thousand_million(channels: int) -> None:
    height, weights = 1 << 15, np.arange(1, 3 * channels + 1)
    shape = (1, height + 1, (1 << 16) // channels, channels)
    x = np.zeros(shape, np.int8)
    x[0, 0, 0], x[0, -1, 0], x[0, -1, -1] = 3, 7, 11
    graph = tj.GraphBuilder()
    weight = graph.const(weights.astype(np.int8).reshape(3, 1, 1, channels), tj.INT8)
    zeros = [graph.const(np.zeros(1, np.int8), tj.INT8) for _ in range(2)]
    bias = graph.const(np.zeros(3, np.int32), tj.INT32)
    stride = (height, shape[2] - 1)
    operator = CONV2D(pad=(0, 0, 0, 0), stride=stride, dilation=(1, 1), acc_type=AccType.INT32)
    graph.output(graph.add(operator, [graph.input("x", tj.INT8, shape), weight, bias, *zeros]))
    result = tj.compile(graph.build(), level="none")(x)
    wanted = x[:, :: stride[0], :: stride[1], :].astype(np.int32) @ weights.reshape(3, -1).T
    assert np.array_equal(result, wanted)


# Runs without end.


def counting(rounds: int, shape: tuple[int, ...]) -> tj.Graph:
    """A loop that carries a large tensor beside its counter."""
    graph = tj.GraphBuilder()
    count, state = graph.input("count", tj.INT32, (1,)), graph.input("state", tj.INT32, shape)

    def again(region: tj.GraphBuilder, count: str, state: str) -> str:
        return region.add(GREATER(), [count, region.const(np.zeros(1, np.int32), tj.INT32)])

    def step(region: tj.GraphBuilder, count: str, state: str) -> list[str]:
        one = region.const(np.ones(1, np.int32), tj.INT32)
        ones = region.const(np.ones((1,) * len(shape), np.int32), tj.INT32)
        return [region.add(SUB(), [count, one]), region.add(ADD(), [state, ones])]

    graph.output(*while_loop(graph, [count, state], again, step))
    return graph.build()


def test_a_loop_of_ten_thousand_rounds_keeps_its_memory() -> None:
    executable = tj.compile(counting(10_000, (64,)))
    count, state = np.array([10_000], np.int32), np.zeros(64, np.int32)
    executable(np.array([10], np.int32), state)
    tracemalloc.start()
    _, result = executable(count, state)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (result == 10_000).all()
    assert not state.any()
    assert held < 100_000
    assert peak < 200_000


def test_a_loop_holds_a_large_tensor_twice_at_most() -> None:
    shape = (1 << 20,)
    executable = tj.compile(counting(1, shape))
    state = np.zeros(shape, np.int32)
    executable(np.array([2], np.int32), state)
    tracemalloc.start()
    executable(np.array([20], np.int32), state)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3.2 * state.nbytes


def test_bodies_of_several_steps_copy_nothing_either() -> None:
    graph = tj.GraphBuilder()
    count, state = graph.input("count", tj.INT32, (1,)), graph.input("state", tj.INT32, (1 << 20,))
    called = CUSTOM(operator_name="call", domain_name="test", implementation_attrs=b"")

    def again(region: tj.GraphBuilder, count: str, state: str) -> str:
        return region.add(GREATER(), [count, region.const(np.zeros(1, np.int32), tj.INT32)])

    def step(region: tj.GraphBuilder, count: str, state: str) -> list[str]:
        (less,) = region.add_all(called, [count], [(tj.INT32, (1,))])
        return [less, region.add(REVERSE(axis=0), [state])]

    graph.output(*while_loop(graph, [count, state], again, step))
    custom = {("test", "call"): tj.Custom(lambda array: array - 1)}
    executable = tj.compile(graph.build(), custom=custom)
    numbers = np.arange(1 << 20, dtype=np.int32)
    executable(np.array([2], np.int32), numbers)
    for rounds in (7, 0, -1):
        tracemalloc.start()
        _, result = executable(np.array([rounds], np.int32), numbers)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert np.array_equal(result, numbers[:: -1 if rounds == 7 else 1])
        assert not np.shares_memory(result, numbers)
        assert peak < 2.2 * numbers.nbytes


def test_calls_leave_nothing_behind() -> None:
    graph = tj.GraphBuilder()
    called = CUSTOM(operator_name="call", domain_name="test", implementation_attrs=b"")
    x = graph.input("x", tj.INT32, (1000,))
    (value,) = graph.add_all(called, [x], [(tj.INT32, (1000,))])
    graph.output(graph.add(REDUCE_SUM(axis=0), [value]), value)
    executable = tj.compile(graph.build(), custom={("test", "call"): tj.Custom(lambda array: array + 1)})
    state = np.zeros(1000, np.int32)
    held = []
    tracemalloc.start()
    for _ in range(3):
        for _ in range(500):
            executable(state)
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[2] - held[1] < 5_000


def test_executables_are_freed() -> None:
    graph = copied((1 << 22,))
    x = np.zeros(1 << 22, np.int8)
    tj.compile(graph)(x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(30):
        tj.compile(graph, threads=2)(x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_packed_weights_begin_at_a_cache_line() -> None:
    made = tj.compile(tj.samples.load("autoencoder"))
    packed = [
        array for name, array in made.stages["prepare"].values["main"].added.items() if "packed" in name
    ]
    assert len(packed) == 10
    assert {address_of(array) % LINE for array in packed} == {0}
