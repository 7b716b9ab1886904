"""Arrays go in however they lie in memory, come out dense and new, and are never modified."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tests import oracle
from tests.building import ONE, cond_if
from tests.strategies import TARGETS, difference
from tosajit.arrays import Array
from tosajit.operators import (
    ADD,
    BITWISE_XOR,
    CAST,
    CLAMP,
    CONCAT,
    CONV2D,
    EQUAL,
    GATHER,
    IDENTITY,
    LOGICAL_AND,
    LOGICAL_NOT,
    LOGICAL_XOR,
    MATMUL,
    REDUCE_ANY,
    RESCALE,
    RESHAPE,
    REVERSE,
    SELECT,
    TRANSPOSE,
    AccType,
    RoundingMode,
)

SHAPE = (3, 8, 5)


def values(shape: tuple[int, ...] = SHAPE, dtype: str = "int32") -> np.ndarray:
    return np.random.default_rng(3).integers(-100, 100, shape).astype(dtype)


def run(graph: tj.Graph, *arrays: np.ndarray, given: tuple[Array | np.generic, ...] | None = None) -> None:
    """Run on every target and compare with the oracle; `given` is what goes in for `arrays`."""
    expected = oracle.run_graph(graph, arrays)
    for name, target in TARGETS.items():
        executable = tj.compile(graph, target=target)
        for _ in range(2):
            outputs = executable(*(arrays if given is None else given))
            results = outputs if isinstance(outputs, tuple) else (outputs,)
            assert len(results) == len(expected)
            for number, (array, wanted) in enumerate(zip(results, expected, strict=True)):
                fault = difference(array, wanted)
                assert not fault, f"{name}: output {number}{fault}"
                assert type(array) is np.ndarray
                assert array.flags.c_contiguous
                assert array.flags.writeable
            assert not any(np.shares_memory(a, b) for a, b in pairwise(results))
            assert not any(np.shares_memory(a, b) for a in results for b in (given or arrays))


def total(dtype: tj.DType = tj.INT32, shape: tuple[int, ...] = SHAPE) -> tj.Graph:
    """The sum of two inputs."""
    graph = tj.GraphBuilder()
    graph.output(graph.add(ADD(), [graph.input("x", dtype, shape), graph.input("y", dtype, shape)]))
    return graph.build()


def unaligned(array: np.ndarray) -> np.ndarray:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    made = raw[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def mapped(array: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "array.npy", array)
    loaded: np.ndarray = np.load(folder / "array.npy", mmap_mode="r")
    return loaded


FORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "in Fortran's order": np.asfortranarray,
    "a part": lambda array: np.stack([array, array], axis=-1)[..., 1],
    "backwards": lambda array: array[::-1].copy()[::-1],
    "read-only": lambda array: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape),
    "repeated": lambda array: np.broadcast_to(array[:1, :1], array.shape),
    "unaligned": unaligned,
    "masked": lambda array: np.ma.masked_array(array, mask=array > 0),
    "of a subclass": lambda array: array.view(type("Mine", (np.ndarray,), {})),
}


@pytest.mark.parametrize("form", FORMS)
def test_arrays_may_lie_in_memory_in_any_way(form: str) -> None:
    x, y = (FORMS[form](values()) for _ in range(2))
    before = np.array(x)
    run(total(), np.array(x), np.array(y), given=(x, y))
    assert np.array_equal(np.asarray(x), before)


def test_arrays_may_be_mapped_from_files(tmp_path: Path) -> None:
    x = mapped(values(), tmp_path)
    run(total(), values(), values(), given=(x, x))


def test_matrices_are_arrays() -> None:
    x = values((4, 5))
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix(x)
    run(total(shape=(4, 5)), x, x, given=(matrix, x))


def test_numpy_scalars_are_arrays_of_rank_zero() -> None:
    run(total(shape=()), np.array(5, np.int32), np.array(7, np.int32), given=(np.int32(5), np.int32(7)))


@pytest.mark.parametrize("form", ["unaligned", "read-only", "in Fortran's order"])
def test_contractions_take_them_too(form: str) -> None:
    graph = tj.GraphBuilder()
    x = graph.input("x", tj.INT8, (1, 6, 7, 5))
    weight = graph.const(values((9, 3, 3, 5), "int8"), tj.INT8)
    zeros = [graph.const(np.array([zero], np.int8), tj.INT8) for zero in (3, 0)]
    operator = CONV2D(pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32)
    sums = graph.add(operator, [x, weight, graph.const(values((9,)), tj.INT32), *zeros])
    a, b = graph.input("a", tj.INT8, (2, 4, 6)), graph.input("b", tj.INT8, (2, 6, 8))
    graph.output(sums, graph.add(MATMUL(), [a, b, *zeros]))
    arrays = [values(shape, "int8") for shape in ((1, 6, 7, 5), (2, 4, 6), (2, 6, 8))]
    run(graph.build(), *arrays, given=tuple(map(FORMS[form], arrays)))


def test_what_is_no_array_of_the_right_kind_is_refused() -> None:
    executable = tj.compile(total())
    x = values()
    wrong = [
        x.astype(np.int64), x.astype(np.float32), x.astype(object), x[0], x[None], x.tolist(), None, 5,
        x.astype("datetime64[s]"), x.view([("a", "i4")]), x.astype("U4"), np.zeros((0, 8, 5), np.int32),
    ]  # fmt: skip
    for array in wrong:
        with pytest.raises(tj.InputError):
            executable(x, array)
    for arrays in ((), (x,), (x, x, x)):
        with pytest.raises(tj.InputError):
            executable(*arrays)


# Truth.


def test_every_byte_but_zero_is_true() -> None:
    """A view of bytes as booleans may hold others than 0 and 1 (TOSA 1.0.1 section 1.9)."""
    graph = tj.GraphBuilder()
    x, y = (graph.input(name, tj.BOOL, (300,)) for name in "xy")
    a, b = (graph.input(name, tj.INT32, (300,)) for name in "ab")
    graph.output(
        graph.add(LOGICAL_AND(), [x, y]),
        graph.add(LOGICAL_XOR(), [x, y]),
        graph.add(LOGICAL_NOT(), [x]),
        graph.add(SELECT(), [x, a, b]),
        graph.add(CAST(), [x], dtype=tj.INT8),
        graph.add(CAST(), [x], dtype=tj.INT32),
        graph.add(REDUCE_ANY(axis=0), [x]),
        graph.add(IDENTITY(), [y]),
        graph.add(REVERSE(axis=0), [x]),
    )
    random = np.random.default_rng(5)
    raw = [np.where(random.integers(0, 2, 300), random.integers(0, 256, 300), 0) for _ in "xy"]
    odd = [bytes_.astype(np.uint8).view(np.bool_) for bytes_ in raw]
    plain = [bytes_ != 0 for bytes_ in raw]
    numbers = values((2, 300))
    run(graph.build(), *plain, *numbers, given=(*odd, *numbers))


def test_a_condition_may_be_any_byte_but_zero() -> None:
    graph = tj.GraphBuilder()
    condition = graph.input("condition", tj.BOOL, (1,))
    x, y = graph.input("x", *ONE), graph.input("y", *ONE)
    graph.output(*cond_if(graph, condition, [x, y], lambda region, x, y: x, lambda region, x, y: y))
    executable = tj.compile(graph.build())
    for byte in (0, 1, 2, 128, 255):
        result = executable(
            np.array([byte], np.uint8).view(np.bool_), *(np.array([n], np.int32) for n in (1, 2))
        )
        assert result == (1 if byte else 2)


# Outputs.


def test_outputs_may_be_inputs_constants_and_one_value_twice() -> None:
    graph = tj.GraphBuilder()
    x = graph.input("x", tj.INT32, (4,))
    constant = graph.const(np.arange(4, dtype=np.int32), tj.INT32)
    y = graph.add(ADD(), [x, constant])
    graph.output(y, x, constant, y, x, constant, graph.add(IDENTITY(), [y]))
    run(graph.build(), values((4,)))


@pytest.mark.parametrize("output", ["x", "constant"])
def test_graphs_may_have_no_operator_at_all(output: str) -> None:
    graph = tj.GraphBuilder()
    graph.input("x", tj.INT32, (4,))
    graph.const(np.arange(4, dtype=np.int32), tj.INT32, name="constant")
    graph.output(output, output)
    run(graph.build(), values((4,)))


def test_graphs_may_have_no_inputs() -> None:
    graph = tj.GraphBuilder()
    a, b = (graph.const(values((4, 3), "int8"), tj.INT8) for _ in range(2))
    value = graph.add(CONCAT(axis=0), [a, b])
    graph.output(graph.add(REVERSE(axis=0), [value]), graph.add(BITWISE_XOR(), [a, b]), value)
    run(graph.build())


def test_graphs_may_have_no_outputs() -> None:
    graph = tj.GraphBuilder()
    graph.add(IDENTITY(), [graph.input("x", tj.INT32, (4,))])
    for target in TARGETS.values():
        assert tj.compile(graph.build(), target=target)(values((4,))) == ()


def test_inputs_need_not_be_used() -> None:
    graph = tj.GraphBuilder()
    graph.input("unused", tj.INT8, (2, 2))
    graph.output(graph.add(IDENTITY(), [graph.input("x", tj.INT32, (4,))]))
    run(graph.build(), values((2, 2), "int8"), values((4,)))


def test_one_array_may_be_several_inputs() -> None:
    x = values()
    run(total(), x, x)


def test_one_input_may_be_read_in_many_ways() -> None:
    graph = tj.GraphBuilder()
    x = graph.input("x", tj.INT32, (4, 4))
    turned = graph.add(TRANSPOSE(perms=(1, 0)), [x])
    flat = graph.add(RESHAPE(), [graph.add(REVERSE(axis=0), [x]), graph.shape([4, 4])])
    graph.output(graph.add(ADD(), [graph.add(ADD(), [x, turned]), graph.add(ADD(), [flat, x])]), flat)
    run(graph.build(), values((4, 4)))


def test_results_of_one_call_survive_the_next() -> None:
    executable = tj.compile(total())
    first = executable(values(), values())
    kept = first.copy()
    executable(values() + 1, values())
    assert np.array_equal(first, kept)


# Rank zero, and ranges.


def test_rank_zero_everywhere() -> None:
    graph = tj.GraphBuilder()
    x, y = (graph.input(name, tj.INT32, ()) for name in "xy")
    both = graph.add(ADD(), [x, y])
    one = graph.add(RESHAPE(), [both, graph.shape([1, 1])])
    back = graph.add(RESHAPE(), [one, graph.shape([])])
    graph.output(
        both,
        graph.add(CLAMP(min_val=-3, max_val=3), [graph.add(CAST(), [both], dtype=tj.INT8)]),
        graph.add(SELECT(), [graph.add(EQUAL(), [x, y]), back, graph.const(np.array(9, np.int32), tj.INT32)]),
        graph.add(IDENTITY(), [back]),
        graph.add(REVERSE(axis=0), [graph.add(RESHAPE(), [both, graph.shape([1])])]),
    )
    for pair in ((5, 5), (1, -7)):
        run(graph.build(), *(np.array(v, np.int32) for v in pair))


@pytest.mark.parametrize("target", TARGETS)
def test_numbers_that_their_type_does_not_hold_break_nothing(target: str) -> None:
    """INT4 in int8 and INT48 in int64 have room for more; what comes out is then not said."""
    graph = tj.GraphBuilder()
    x, y = graph.input("x", tj.INT4, (1, 4, 4, 2)), graph.input("y", tj.INT48, (6,))
    scales = [graph.const(np.array([5], np.int16), tj.INT16), graph.const(np.array([9], np.int8), tj.INT8)]
    zero = graph.const(np.zeros(1, np.int64), tj.INT48)
    rescale = RESCALE(
        scale32=False,
        per_channel=False,
        input_unsigned=False,
        output_unsigned=False,
        rounding_mode=RoundingMode.SINGLE_ROUND,
    )
    z, index = graph.input("z", tj.INT16, (1, 20, 2)), graph.input("index", tj.INT32, (1, 9))
    graph.output(
        graph.add(GATHER(), [z, index]),
        graph.add(IDENTITY(), [x]),
        graph.add(IDENTITY(), [y]),
        graph.add(rescale, [y, *scales, zero, graph.const(np.zeros(1, np.int8), tj.INT8)], dtype=tj.INT8),
    )
    executable = tj.compile(graph.build(), target=TARGETS[target])
    wild = np.array([-8, 7, 8, -128, 127, 15, 16, -9] * 4, np.int8).reshape(1, 4, 4, 2)
    large = np.array([-(1 << 63), (1 << 63) - 1, 1 << 47, -(1 << 47) - 1, 0, 1], np.int64)
    places = np.array([[-1, 20, 1 << 30, -(1 << 31), 0, 19, 5, 21, (1 << 31) - 1]], np.int32)
    outputs = executable(wild, large, values((1, 20, 2), "int16"), places)
    assert np.array_equal(outputs[1], wild)
    assert np.array_equal(outputs[2], large)
