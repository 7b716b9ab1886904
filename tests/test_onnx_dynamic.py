"""Models whose rows are put on grids when they are there, as ONNX Runtime's dynamic quantizer makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import RawGraph, RawNode, RawValue, model, single

Array = np.ndarray[Any, Any]
HIDDEN, INPUTS, STEPS, BATCH = 6, 5, 3, 2


def grid(value: Array) -> tuple[Array, np.float32, int]:
    """Numbers as bytes, what one more stands for, and the byte that stands for 0."""
    low, high = min(value.min(), np.float32(0)), max(value.max(), np.float32(0))
    scale = np.float32((high - low) / np.float32(255)) if high > low else np.float32(1)
    point = int(np.clip(np.rint(np.float32(-low) / scale), 0, 255))
    return np.clip(np.rint(value / scale) + point, 0, 255).astype(np.int64), scale, point


def times(rows: Array, matrix: Array, scale: Array, zero: Array) -> Array:
    """Real rows, on a grid of their own, times a matrix of bytes."""
    found, own, point = grid(rows)
    sums = (found - point) @ (matrix.astype(np.int64) - zero.astype(np.int64))
    return (sums.astype(np.float32) * (own * scale.astype(np.float32))).astype(np.float32)


def sigmoid(value: Array) -> Array:
    """The logistic function."""
    return 1 / (1 + np.exp(-value))


def lstm(given: dict[str, Array], place: int) -> tuple[Array, Array, Array]:
    """One direction, step by step; the second one runs backwards."""
    w, r, b = given["_w"][place], given["_r"][place], given["_b"][place]
    ws, wz, rs, rz = (given[name][place] for name in ("_ws", "_wz", "_rs", "_rz"))
    x = given["x"][::-1] if place else given["x"]
    inputs = times(x.reshape(-1, INPUTS), w, ws, wz).reshape(STEPS, BATCH, -1) + b[: 4 * HIDDEN]
    state, memory = np.zeros((2, BATCH, HIDDEN), np.float32)
    found = []
    for row in inputs:
        put, out, forget, new = np.split(row + times(state, r, rs, rz) + b[4 * HIDDEN :], 4, axis=1)
        memory = sigmoid(forget) * memory + sigmoid(put) * np.tanh(new)
        state = (sigmoid(out) * np.tanh(memory)).astype(np.float32)
        found.append(state)
    return np.stack(found[::-1] if place else found), state, memory


@pytest.mark.parametrize("columns", [False, True], ids=["tensor", "columns"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_a_quantized_lstm_puts_its_sequence_and_each_state_on_a_grid(
    direction: str, dtype: type, columns: bool
) -> None:
    rng, ways = np.random.default_rng(11), 1 + (direction == "bidirectional")
    bounds, shape = np.iinfo(dtype), (ways, 4 * HIDDEN) if columns else (ways,)
    zero: Array = np.zeros(shape, dtype) if columns else rng.integers(1, 9, shape).astype(dtype)
    given = {
        "x": rng.standard_normal((STEPS, BATCH, INPUTS)).astype(np.float32),
        "_w": rng.integers(bounds.min, bounds.max, (ways, INPUTS, 4 * HIDDEN)).astype(dtype),
        "_r": rng.integers(bounds.min, bounds.max, (ways, HIDDEN, 4 * HIDDEN)).astype(dtype),
        "_b": rng.standard_normal((ways, 8 * HIDDEN)).astype(np.float32),
        "_ws": rng.uniform(0.002, 0.004, shape).astype(np.float32),
        "_wz": zero,
        "_rs": rng.uniform(0.002, 0.004, shape).astype(np.float32),
        "_rz": zero,
    }
    node = RawNode(
        "DynamicQuantizeLSTM",
        ["x", "_w", "_r", "_b", "", "", "", "", "_ws", "_wz", "_rs", "_rz"],
        ["y", "h", "c"],
        {"direction": direction, "hidden_size": HIDDEN},
        "lstm",
        "com.microsoft",
    )
    inputs, outputs = [RawValue("x", given["x"].shape)], [RawValue(one, None) for one in "yhc"]
    held = {name: one for name, one in given.items() if name != "x"}
    found = tj.compile(tj.load(model(RawGraph([node], inputs, outputs, held))))(given["x"])
    expected = [np.stack(one) for one in zip(*(lstm(given, place) for place in range(ways)), strict=True)]
    expected[0] = expected[0].swapaxes(0, 1)
    for ours, own in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, own, rtol=0, atol=2e-6)


@pytest.mark.parametrize("right", [np.int8, np.uint8])
@pytest.mark.parametrize("left", [np.int8, np.uint8])
@pytest.mark.parametrize("with_points", [False, True], ids=["plain", "points"])
def test_bytes_times_known_bytes_are_a_convolution_with_every_bit(
    left: type, right: type, with_points: bool
) -> None:
    rng = np.random.default_rng(5)
    a: Array = rng.integers(np.iinfo(left).min, np.iinfo(left).max + 1, (2, 7, 9)).astype(left)
    b: Array = rng.integers(np.iinfo(right).min, np.iinfo(right).max + 1, (9, 4)).astype(right)
    given: dict[str, Array] = {"a": a, "_b": b}
    zero: Array = np.array(0, left)
    other: Array = np.array(0, right)
    if with_points:
        zero, other = np.array(100, left), np.array(90, right)
        given |= {"zero": zero, "_other": other}
    graph = tj.load(single("MatMulInteger", given))
    assert "MATMUL" not in {type(node.operator).__name__ for node in graph.main.nodes}
    points = [zero] if with_points else []
    found = tj.compile(graph)(a, *points)
    wide = (a.astype(np.int32) - zero.astype(np.int32)) @ (b.astype(np.int32) - other.astype(np.int32))
    np.testing.assert_array_equal(found, wide)


@pytest.mark.parametrize("row", [[0.0, 0.0, 0.0], [-1.5, 0.25, 3.0], [2.0, 4.0, 2.0]])
def test_a_row_is_put_on_the_grid_of_its_extremes_and_zeros_on_one_of_ones(row: list[float]) -> None:
    given = np.array(row, np.float32)
    graph = tj.load(single("DynamicQuantizeLinear", {"x": given}, 3, 17))
    found, scale, point = tj.compile(graph)(given)
    steps, wanted, zero = grid(given)
    assert (found.tolist(), float(scale), int(point)) == (steps.tolist(), float(wanted), zero)
