"""Results go into arrays that the caller has, and bound arrays are used call after call."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import tosajit as tj
from tests.test_control_flow import choice
from tests.test_outside import run
from tosajit import ops
from tosajit.arrays import Array


@pytest.fixture(scope="module")
def made() -> tj.Executable:
    """A sum that is an output, and whether it is above three, another."""
    value = tj.Value("x", tj.INT32, (2, 3))
    return tj.compile(tj.trace(lambda x, y: (x + y, x + y > np.int32(3)), value, value))


def given() -> tuple[Array, Array]:
    return np.arange(6, dtype=np.int32).reshape(2, 3), np.ones((2, 3), np.int32)


def room() -> tuple[Array, Array]:
    return np.zeros((2, 3), np.int32), np.zeros((2, 3), np.bool_)


def test_results_go_into_the_arrays_that_are_given(made: tj.Executable) -> None:
    expected, places = made(*given()), room()
    assert made(*given(), out=places) is places
    assert all(np.array_equal(*pair) for pair in zip(expected, places, strict=True))


def test_bound_arrays_are_read_and_written_at_each_call(made: tj.Executable) -> None:
    inputs, outputs = given(), room()
    bound = made.bind(*inputs, outputs=outputs)
    assert [bound.inputs[0] is inputs[0], bound.outputs[1] is outputs[1]] == [True, True]
    for step in range(3):
        inputs[0][...] = step
        found = bound()
        assert found[0] is outputs[0]
        assert np.array_equal(outputs[0], np.full((2, 3), step + 1))
        assert np.array_equal(outputs[1], np.full((2, 3), step + 1 > 3))


def test_what_is_bound_keeps_all_that_it_needs() -> None:
    weights = np.ones((1, 8, 16), np.float32)
    image, zero = np.ones((1, 4, 8), np.float32), np.zeros(1, np.float32)
    executable = tj.compile(tj.trace(lambda x: ops.matmul(ops.exp(x), weights, zero, zero), image))
    expected, bound = executable(image), executable.bind(image.copy())
    constants = executable.stages["link"].values["main"].constants
    kept = [weakref.ref(array) for array in constants.values()]
    assert kept
    del executable, constants
    gc.collect()
    assert all(one() is not None for one in kept)
    assert np.array_equal(bound(), expected)


def test_several_bindings_do_not_disturb_each_other(made: tj.Executable) -> None:
    first, second = given(), tuple(array + 1 for array in given())
    one, other = made.bind(*first), made.bind(*second)
    found, its = one(), other()
    assert np.array_equal(found[0], first[0] + 1)
    assert np.array_equal(its[0], second[0] + second[1])
    assert not np.shares_memory(found[0], its[0])


@pytest.mark.parametrize(
    "options", [{"checked": True}, {"target": tj.TINY}, {"interpret": True}, {"threads": 2}]
)
def test_every_kind_of_executable_can_be_bound(options: dict[str, object], made: tj.Executable) -> None:
    executable = tj.compile(made.graph, **options)  # type: ignore[arg-type]
    places = room()
    executable(*given(), out=places)
    bound = executable.bind(*given())
    for found in (places, bound(), bound()):
        assert all(np.array_equal(*pair) for pair in zip(made(*given()), found, strict=True))


def test_a_graph_with_control_flow_can_be_bound() -> None:
    executable = tj.compile(choice())
    random = np.random.default_rng(1)
    inputs = [random.integers(0, 2, v.shape).astype(v.dtype.storage) for v in executable.graph.inputs]
    expected = executable(*inputs)
    assert np.array_equal(executable.bind(*inputs)(), expected)
    assert np.array_equal(executable(*inputs, out=np.empty_like(expected)), expected)


def test_an_output_that_is_an_input_is_copied_each_time() -> None:
    executable = tj.compile(tj.trace(lambda x: (x, x + x), tj.Value("x", tj.INT32, (4,))))
    array = np.arange(4, dtype=np.int32)
    bound = executable.bind(array)
    bound()
    array += 5
    same, double = bound()
    assert np.array_equal(same, array)
    assert np.array_equal(double, 2 * array)


def test_bytes_without_sign_are_bound_as_they_are() -> None:
    executable, inputs = run("MAX_POOL_2D", "uint8")
    expected = executable(*inputs)
    place = np.empty_like(expected)
    assert np.array_equal(executable(*inputs, out=place), expected)
    assert np.array_equal(executable.bind(*inputs)().view(np.uint8), expected)


FAULTS: dict[str, Callable[[tj.Executable], object]] = {
    "1 arrays given, but the graph has 2 inputs": lambda made: made.bind(given()[0]),
    "expected an array to bind, got list": lambda made: made.bind([1], given()[1]),
    "the array to bind has type int64, but int32 is stored": lambda m: m.bind(
        np.zeros((2, 3), int), given()[1]
    ),
    "the array to bind has shape \\[3, 2\\]": lambda made: made.bind(np.zeros((3, 2), np.int32), given()[1]),
    "the array to bind is not contiguous": lambda made: made.bind(np.zeros((3, 2), np.int32).T, given()[1]),
    "1 arrays given for results, but the graph has 2 outputs": lambda made: made(*given(), out=room()[0]),
    "the array to bind has type float32, but bool is stored": lambda made: made(
        *given(), out=(room()[0], np.zeros((2, 3), np.float32))
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_arrays_that_do_not_fit_are_refused(fault: str, made: tj.Executable) -> None:
    with pytest.raises(tj.InputError, match=fault):
        FAULTS[fault](made)


def test_results_must_not_overwrite_other_arrays(made: tj.Executable) -> None:
    (x, y), (total, above) = given(), room()
    for outputs in ((x, above), (total, total.view(np.bool_).reshape(-1)[:6].reshape(2, 3))):
        with pytest.raises(tj.InputError, match="shares memory with another"):
            made.bind(x, y, outputs=outputs)
    total.flags.writeable = False
    with pytest.raises(tj.InputError, match="cannot be written to"):
        made(x, y, out=(total, above))


def test_a_binding_says_what_it_takes_and_gives(made: tj.Executable) -> None:
    assert repr(made.bind(*given())) == "<Bound (int32[2, 3], int32[2, 3]) -> (int32[2, 3], bool[2, 3])>"


def test_results_that_share_memory_are_refused_whoever_owns_it(made: tj.Executable) -> None:
    x, y = given()
    found = room()
    whole = np.frombuffer(found[0], np.int32).reshape(2, 3)
    with pytest.raises(tj.InputError, match="shares memory"):
        made(whole, y, out=found)
    with pytest.raises(tj.InputError, match="shares memory"):
        made(found[0][:], y, out=found)
    for places in ((x, found[1]), (x[:], found[1])):
        with pytest.raises(tj.InputError, match="shares memory"):
            made(x, y, out=places)
    one = tj.compile(tj.trace(lambda x: (x + x, x - x), x))
    with pytest.raises(tj.InputError, match="shares memory"):
        one(x, out=(found[0], found[0]))
    with pytest.raises(tj.InputError, match="type"):
        made(x, y, out=(x.astype(np.int8), found[1]))
