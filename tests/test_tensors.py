"""Traced tensors do what NumPy's arrays do: each function runs on both, and gives the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tosajit as tj
from tosajit.arrays import Array
from tosajit.tracing.numpy_functions import FUNCTIONS, METHODS, UFUNCS

Function = Callable[..., Any]
FLOATS = np.linspace(-2.5, 3.25, 24, dtype=np.float32).reshape(2, 3, 4)
WHOLE = np.arange(-7, 17, dtype=np.int32).reshape(2, 3, 4)
SMALL = WHOLE.astype(np.int8)
TRUTH = WHOLE % 3 == 0
POSITIVE = abs(FLOATS) + np.float32(0.1)


def same(function: Function, *arrays: Array, tolerance: float = 1e-6) -> None:
    """Compare what a function gives traced with what it gives on arrays, with kinds of types."""
    expected = function(*arrays)
    found = tj.compile(tj.trace(function, *arrays), interpret=True)(*arrays)
    pairs = zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]
    for one, other in pairs:
        assert one.shape == np.shape(other)
        assert (one.dtype.kind in "fV") == (np.asarray(other).dtype.kind in "fV")
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, np.asarray(other), rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(one, np.asarray(other))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2,
        lambda x: 3 - x + 1,
        lambda x: x[:, :2],
        lambda x: x[1],
        lambda x: x[-1, ..., 1],
        lambda x: x[..., None],
        lambda x: x[None, :, 1:, ::2],
        lambda x: x[:, ::-1],
        lambda x: x[:, :, ::3],
        lambda x: x[:, :, 3::-2],
        lambda x: x[:, [2, 0, -1]],
        lambda x: x[:, np.array([[0, 1], [2, 2]]), 1:],
        lambda x: x.reshape(4, -1),
        lambda x: x.reshape((6, 4)),
        lambda x: x.ravel(),
        lambda x: x.T,
        lambda x: x.transpose(2, 0, 1),
        lambda x: x.transpose((1, 0, 2)),
        lambda x: x.swapaxes(0, -1),
        lambda x: x[:1].squeeze(),
        lambda x: x[:1].squeeze(axis=0),
        lambda x: len(x) * x,
        lambda x: list(x),
        lambda x: x.max(axis=(0, 2)),
        lambda x: x.min(),
        lambda x: x.clip(-3, 2),
        lambda x: np.clip(x, None, 2),
        lambda x: x == 1,
        lambda x: 2 >= x,
        lambda x: x != x[0],
        lambda x: (x > 0) == (x < 3),
        lambda x: abs(x),
        lambda x: -x,
        lambda x: +x,
        lambda x: np.maximum(x, 1),
        lambda x: np.minimum(0, x),
        lambda x: np.where(x > 0, x, 0),
        lambda x: np.where(x > 0, 1, 0).astype(np.int32),
        lambda x: np.concatenate([x, x[:, :1]], axis=1),
        lambda x: np.concatenate([x, x], axis=None),
        lambda x: np.stack([x, x + 1], axis=-1),
        lambda x: np.split(x, 3, axis=1),
        lambda x: np.split(x, [1, 3], axis=2),
        lambda x: np.pad(x, 1),
        lambda x: np.pad(x, ((0, 0), (1, 2), (3, 0)), constant_values=5),
        lambda x: np.tile(x, 2),
        lambda x: np.tile(x, (2, 1, 1, 2)),
        lambda x: np.flip(x, 1),
        lambda x: np.flip(x),
        lambda x: np.moveaxis(x, 0, 2),
        lambda x: np.expand_dims(x, 1),
        lambda x: np.expand_dims(x, -1),
        lambda x: np.broadcast_to(x, (2, 2, 3, 4)),
        lambda x: np.take(x, [1, 0], axis=2),
        lambda x: np.transpose(x),
        lambda x: np.swapaxes(x, 0, 1),
        lambda x: np.zeros_like(x) + np.ones_like(x),
        lambda x: np.reshape(x, (3, 8)),
        lambda x: x.any(axis=0),
        lambda x: np.all(x, axis=(1, 2)),
        lambda x: np.logical_and(x, x > 2),
        lambda x: np.logical_not(x),
        lambda x: np.logical_xor(x > 1, x),
        lambda x: np.logical_or(x > 5, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("array", [FLOATS, WHOLE])
def test_both_kinds_of_numbers(function: Function, array: Array) -> None:
    same(function, array)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / 3,
        lambda x: 2 / (x + 10),
        lambda x: x / x.max(),
        lambda x: x / np.array([1, 2, 4, 8], np.float32),
        lambda x: x**2,
        lambda x: x**7,
        lambda x: (x + 4) ** -2,
        lambda x: x**0,
        lambda x: x**3.0,
        lambda x: x.sum(),
        lambda x: x.sum(axis=1, keepdims=True),
        lambda x: x.prod(axis=-1),
        lambda x: x.mean(axis=(0, 1)),
        lambda x: x.var(),
        lambda x: x.std(axis=0),
        lambda x: np.exp(x),
        lambda x: np.tanh(x) * np.sin(x) - np.cos(x),
        lambda x: np.floor(x) + np.ceil(x),
        lambda x: np.square(x) + np.reciprocal(x + 10),
        lambda x: x.argmax(axis=1).astype(np.int32),
        lambda x: x.argmax().astype(np.int32),
        lambda x: np.isnan(x),
        lambda x: np.fabs(x),
        lambda x: x @ x.transpose(0, 2, 1),
        lambda x: x @ x[0].T,
        lambda x: x[0] @ x.transpose(0, 2, 1),
        lambda x: x @ np.ones(4, np.float32),
        lambda x: np.ones(3, np.float32) @ x,
        lambda x: x[0, 0] @ x[0, 1],
        lambda x: np.dot(x[0], x[1].T),
        lambda x: np.matmul(x[:, None], x.swapaxes(1, 2)),
        lambda x: x * [1, 2.5, -3, 4],
        lambda x: np.array([1, 2, 3, 4], np.float32) / (x + 9),
        lambda x: np.float32(2) - x,
        lambda x: x / np.sqrt(64.0),
        lambda x: x * np.int64(3),
        lambda x: (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + 1e-5) ** 0.5,
        lambda x: x.astype(int),
        lambda x: (x * 3).astype(np.int8),
        lambda x: x.astype(bool),
        lambda x: (x > 0).astype(np.float32),
        lambda x: x.astype(np.float16).astype(np.float32),
    ],
)
def test_floating_point_numbers(function: Function) -> None:
    same(function, FLOATS, tolerance=2e-3 if "float16" in str(function.__code__.co_names) else 2e-6)


@pytest.mark.parametrize(
    "function",
    [lambda x: np.sqrt(x), lambda x: x**0.5, lambda x: np.log(x), lambda x: x**1.5, lambda x: 2**x,
     lambda x: x**x],
)  # fmt: skip
def test_functions_of_positive_numbers(function: Function) -> None:
    same(function, POSITIVE, tolerance=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x // 3,
        lambda x: x // -3,
        lambda x: x % 3,
        lambda x: x % -4,
        lambda x: 100 // (x * 2 + 1),
        lambda x: -100 % (x * 2 + 1),
        lambda x: x**3,
        lambda x: x.sum(axis=0),
        lambda x: (x & 5) | (x ^ 1),
        lambda x: ~x,
        lambda x: x << 2,
        lambda x: x >> 1,
        lambda x: x.astype(np.int8),
        lambda x: x.astype(np.float32) / 2,
        lambda x: x[:, x[0, 0, :2] + 8],
    ],
)
def test_integers(function: Function) -> None:
    same(function, WHOLE)


@pytest.mark.parametrize(
    "function",
    [lambda x: x > 3, lambda x: x == -1, lambda x: abs(x), lambda x: np.maximum(x, 2),
     lambda x: x.max(axis=0), lambda x: x & 3, lambda x: x.astype(np.int32) * 300, lambda x: x[0, 1:]],
)  # fmt: skip
def test_narrow_integers(function: Function) -> None:
    same(function, SMALL)


def test_truth() -> None:
    for function in (
        lambda x: x & True,
        lambda x: ~x,
        lambda x: x == x[:, ::-1],
        lambda x: x.any(),
        lambda x: x.all(axis=1),
        lambda x: x.astype(np.int32).sum(axis=2),
        lambda x: np.where(x, [1.0, 2.0, 3.0, 4.0], 0.0).astype(np.float32),
    ):
        same(function, TRUTH)


def test_python_numbers_take_the_type_of_the_tensor() -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32):
        x = np.arange(4).astype(dtype)
        assert tj.jit(lambda x: x * 0.1 + 1)(x).dtype == x.dtype
    assert tj.trace(lambda x: x + 0.1, FLOATS).main.nodes[-1].operator.opcode == "ADD"
    with pytest.raises(
        tj.TraceError, match=r"70000\.0 is no FP16: cast the tensor first, as in x\.astype\(np\.float32\)"
    ):
        tj.trace(lambda x: x * 70000.0, FLOATS.astype(np.float16))
    assert np.isinf(tj.jit(lambda x: x + float("inf"))(FLOATS)).all()


def test_no_constant_is_left_over() -> None:
    graph = tj.trace(lambda x: x * 2 + 1 - np.float32(3) / (x / 4), FLOATS)
    used = {name for node in graph.main.nodes for name in node.inputs}
    assert {name for name, value in graph.main.values.items() if value.data is not None} <= used


def test_the_first_function_of_a_newcomer() -> None:
    @tj.jit
    def layer(x: Any, weight: Any, bias: Any) -> Any:
        hidden = np.maximum(x @ weight + bias, 0)
        powers = np.exp(hidden - hidden.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    rng = np.random.default_rng(1)
    x, weight, bias = (rng.standard_normal(shape).astype(np.float32) for shape in ((5, 8), (8, 3), (3,)))
    hidden = np.maximum(x @ weight + bias, 0)
    powers = np.exp(hidden - hidden.max(axis=-1, keepdims=True))
    np.testing.assert_allclose(layer(x, weight, bias), powers / powers.sum(-1, keepdims=True), rtol=1e-5)


parts = st.one_of(
    st.builds(
        slice, *[st.one_of(st.none(), st.integers(-5, 5))] * 2, st.sampled_from([None, 1, 2, 3, -1, -2])
    ),
    st.integers(-2, 1),
    st.none(),
)


@given(st.lists(parts, max_size=3), st.booleans())
def test_any_index_gives_what_numpy_gives(index: list[Any], dots: bool) -> None:
    many = sum(part is not None for part in index)
    given_index = (*index, ...) if dots else tuple(index)
    if many > WHOLE.ndim or WHOLE[given_index].size == 0:
        with pytest.raises(tj.TraceError):
            tj.trace(lambda x: x[given_index], WHOLE)
    else:
        graph = tj.trace(lambda x: x[given_index], WHOLE)
        expected = WHOLE[given_index]
        found = tj.compile(graph, interpret=True)(WHOLE)
        np.testing.assert_array_equal(found, expected)
        assert found.shape == expected.shape


def test_every_function_of_numpy_is_tried() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    spelled = {
        "true_divide": "x / 3", "floor_divide": "x // 3", "remainder": "x % 3", "power": "x**x",
        "add": "x + 1", "subtract": "3 - x", "multiply": "x * 2",
        "bitwise_and": "x & 5", "bitwise_or": ") | (x",
        "bitwise_xor": "x ^ 1", "left_shift": "x << 2", "right_shift": "x >> 1", "equal": "x == 1",
        "not_equal": "x != x[0]", "greater": "x > 3", "greater_equal": "2 >= x", "less": "x < 3",
        "less_equal": "2 >= x", "invert": "~x", "negative": "-x", "positive": "+x", "absolute": "abs(x)",
        "amax": "x.max(", "amin": "x.min(",
    }  # fmt: skip
    functions: list[Any] = [*UFUNCS, *FUNCTIONS]
    names = {function.__name__ for function in functions} | set(METHODS)
    asked = {"shape", "ndim", "size"}
    missing = [
        name for name in names - asked if spelled.get(name, name) not in text and f".{name}(" not in text
    ]
    assert not missing
