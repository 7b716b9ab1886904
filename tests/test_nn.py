"""`tosajit.nn`: layers give what their formulas say, traced and on arrays, in all floating-point types."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import erf, sqrt
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tosajit as tj
from tosajit import nn
from tosajit.arrays import Array

Function = Callable[..., Any]
TYPES = {np.float32: 2e-6, np.float16: 4e-3, ml_dtypes.bfloat16: 3e-2}
"""What one rounding after each step may cost, for numbers near 1."""
each_type = pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng((seed, *shape)).standard_normal(shape)


def agrees(layer: Function, formula: Function, kind: type, *arrays: Array, scale: float = 1.0) -> None:
    """Compare a layer with its formula in float64: on arrays, traced, and traced with constants."""
    given = [one.astype(kind) if one.dtype.kind == "f" else one for one in arrays]
    exact = formula(*(one.astype(np.float64) if one.dtype.kind != "i" else one for one in given))
    first, *rest = given
    runs = (layer, given), (tj.jit(layer), given), (tj.jit(lambda x: layer(x, *rest)), [first])
    for run, taken in runs:
        found = run(*taken)
        assert found.dtype == kind
        assert found.shape == exact.shape
        tolerance = TYPES[kind] * scale
        np.testing.assert_allclose(found.astype(np.float64), exact, rtol=tolerance, atol=tolerance)


def softmax(x: Array, axis: int = -1) -> Array:
    powers = np.exp(x - x.max(axis, keepdims=True))
    found: Array = powers / powers.sum(axis, keepdims=True)
    return found


@each_type
@pytest.mark.parametrize(
    ("layer", "formula"),
    [
        (nn.relu, lambda x: np.maximum(x, 0)),
        (nn.relu6, lambda x: np.clip(x, 0, 6)),
        (nn.gelu, lambda x: x * (1 + np.vectorize(erf)(x / sqrt(2))) / 2),
        (
            partial(nn.gelu, approximate="tanh"),
            lambda x: x * (1 + np.tanh(sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
        ),
        (nn.silu, lambda x: x / (1 + np.exp(-x))),
        (nn.softmax, softmax),
        (partial(nn.softmax, axis=0), partial(softmax, axis=0)),
        (nn.log_softmax, lambda x: np.log(softmax(x))),
        (nn.dropout, lambda x: x),
        (nn.layer_norm, lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)),
        (
            partial(nn.layer_norm, axis=(0, 2), epsilon=0.1),
            lambda x: (x - x.mean((0, 2), keepdims=True)) / np.sqrt(x.var((0, 2), keepdims=True) + 0.1),
        ),
    ],
)  # fmt: skip
def test_functions_of_one_tensor(layer: Function, formula: Function, kind: type) -> None:
    def called(x: Any) -> Any:
        return layer(x)

    agrees(called, formula, kind, 3 * drawn(3, 4, 7), scale=4)


@each_type
@pytest.mark.parametrize("shape", [(8,), (5, 8), (2, 3, 8)])
def test_dense_multiplies_rows_by_a_matrix(shape: tuple[int, ...], kind: type) -> None:
    def formula(x: Any, weight: Any, bias: Any) -> Any:
        return x @ weight.T + bias

    agrees(nn.dense, formula, kind, drawn(*shape), drawn(3, 8), drawn(3), scale=4)


def test_lists_are_constants_in_the_type_of_the_tensor() -> None:
    x = np.ones((1, 2), np.float16)
    assert nn.dense(x, [[1, 2], [3, 4]], [0.5, 0]).tolist() == [[3.5, 7.0]]
    assert tj.jit(lambda x: nn.dense(x, [[1, 2], [3, 4]]))(x).dtype == np.float16


@each_type
def test_layer_norm_has_weights(kind: type) -> None:
    def formula(x: Any, weight: Any, bias: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * weight + bias

    agrees(nn.layer_norm, formula, kind, drawn(3, 9), drawn(9), drawn(9, seed=1), scale=4)


@each_type
def test_batch_norm_has_statistics_of_channels(kind: type) -> None:
    def formula(x: Array, mean: Array, variance: Array, weight: Array, bias: Array) -> Array:
        return (x - mean) / np.sqrt(variance + 1e-5) * weight + bias

    statistics = drawn(5), np.abs(drawn(5, seed=1)) + 0.5, drawn(5, seed=2), drawn(5, seed=3)
    agrees(nn.batch_norm, formula, kind, drawn(2, 3, 4, 5), *statistics, scale=6)


def test_batch_norm_of_known_statistics_is_a_factor_and_a_summand() -> None:
    statistics = [drawn(5).astype(np.float32) ** 2 + 1 for _ in range(4)]
    graph = tj.trace(lambda x: nn.batch_norm(x, *statistics, axis=1), drawn(2, 5, 3).astype(np.float32))
    assert [n.operator.opcode for n in graph.nodes if not n.operator.holds_data] == ["MUL", "ADD"]


def convolution(
    x: Array,
    weight: Array,
    stride: tuple[int, int],
    pads: tuple[tuple[int, int], ...],
    dilation: tuple[int, int],
) -> Array:
    padded = np.pad(x, ((0, 0), *pads, (0, 0)))
    count, *kernel, _ = weight.shape
    sizes = [
        (extent - (size - 1) * gap - 1) // step + 1
        for extent, size, gap, step in zip(padded.shape[1:3], kernel, dilation, stride, strict=True)
    ]
    found = np.zeros((x.shape[0], *sizes, count))
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            top, left = row * dilation[0], column * dilation[1]
            part = padded[:, top :: stride[0], left :: stride[1]][:, : sizes[0], : sizes[1]]
            found += part @ weight[:, row, column].T
    return found


SAME = {  # padding of an image of 7 × 6 by windows of 3 × 2, by stride and dilation, as TensorFlow has it
    ((1, 1), (1, 1)): ((1, 1), (0, 1)),
    ((2, 3), (1, 1)): ((1, 1), (0, 0)),
    ((1, 1), (2, 2)): ((2, 2), (1, 1)),
}


@each_type
@pytest.mark.parametrize(("stride", "dilation"), SAME)
@pytest.mark.parametrize("padding", ["same", "valid", 1, (2, 0), ((0, 2), (1, 0))])
def test_conv2d_pads_as_it_is_told(
    padding: Any, stride: tuple[int, int], dilation: tuple[int, int], kind: type
) -> None:
    pads = {
        "same": SAME[stride, dilation], "valid": ((0, 0), (0, 0)), 1: ((1, 1), (1, 1)),
        (2, 0): ((2, 2), (0, 0)),
    }.get(padding, padding)  # fmt: skip

    def layer(x: Any, weight: Any, bias: Any) -> Any:
        return nn.conv2d(x, weight, bias, stride=stride, padding=padding, dilation=dilation)

    def formula(x: Array, weight: Array, bias: Array) -> Array:
        return convolution(x, weight, stride, pads, dilation) + bias

    agrees(layer, formula, kind, drawn(2, 7, 6, 4), drawn(3, 3, 2, 4), drawn(3), scale=8)


@each_type
def test_conv2d_by_groups(kind: type) -> None:
    def layer(x: Any, weight: Any) -> Any:
        return nn.conv2d(x, weight, padding="same", groups=2)

    def formula(x: Array, weight: Array) -> Array:
        pads = ((1, 1), (1, 1))
        halves = (
            convolution(x[..., 2 * one : 2 * one + 2], weight[3 * one : 3 * one + 3], (1, 1), pads, (1, 1))
            for one in range(2)
        )
        return np.concatenate([*halves], -1)

    agrees(layer, formula, kind, drawn(1, 5, 6, 4), drawn(6, 3, 3, 2), scale=8)


@each_type
def test_depthwise_conv2d_keeps_channels_apart(kind: type) -> None:
    def layer(x: Any, weight: Any, bias: Any) -> Any:
        return nn.depthwise_conv2d(x, weight, bias, padding="same", stride=(1, 2))

    def formula(x: Array, weight: Array, bias: Array) -> Array:
        pads = ((1, 1), (0, 1))
        parts = [
            convolution(
                x[..., one : one + 1], weight[:, :, one : one + 1].transpose(3, 0, 1, 2), (1, 2), pads, (1, 1)
            )
            for one in range(3)
        ]
        return np.concatenate(parts, -1) + bias

    agrees(layer, formula, kind, drawn(1, 5, 6, 3), drawn(3, 3, 3, 2), drawn(6), scale=8)


@each_type
@pytest.mark.parametrize("layer", [nn.max_pool2d, nn.avg_pool2d])
@pytest.mark.parametrize("padding", ["same", "valid", 1])
def test_pools_leave_padding_out(layer: Function, padding: Any, kind: type) -> None:
    before = 0 if padding == "valid" else 1
    size = {"same": (4, 3), "valid": (3, 2), 1: (4, 3)}[padding]

    def formula(x: Array) -> Array:
        combine = np.max if layer is nn.max_pool2d else np.mean
        found = np.empty((x.shape[0], *size, x.shape[3]))
        for row in range(size[0]):
            for column in range(size[1]):
                top, left = 2 * row - before, 2 * column - (before if padding == 1 else 0)
                part = x[:, max(top, 0) : top + 3, max(left, 0) : left + 3]
                found[:, row, column] = combine(part, axis=(1, 2))
        return found

    agrees(lambda x: layer(x, 3, 2, padding), formula, kind, drawn(2, 7, 6, 3), scale=4)


@each_type
def test_embedding_takes_rows(kind: type) -> None:
    weight: Any = drawn(5, 3).astype(kind)
    indices = np.array([[4, 0], [2, 2]])
    np.testing.assert_array_equal(nn.embedding(indices, weight), weight[indices])
    np.testing.assert_array_equal(tj.jit(partial(nn.embedding, indices))(weight), weight[indices])
    found = tj.jit(nn.embedding)(indices.astype(np.int32), weight)
    np.testing.assert_array_equal(found, weight[indices])


def turned(x: Array, positions: Array, interleaved: bool = False) -> Array:
    """Rotary embedding by complex numbers."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * 10000.0 ** (-np.arange(half) / half)
    first, second = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    found = (first + 1j * second) * np.exp(1j * angles)
    if interleaved:
        return np.stack([found.real, found.imag], -1).reshape(x.shape)
    return np.concatenate([found.real, found.imag], -1)


@each_type
@pytest.mark.parametrize("interleaved", [False, True])
def test_rope_turns_rows(interleaved: bool, kind: type) -> None:
    def layer(x: Any) -> Any:
        return nn.rope(x, interleaved=interleaved)

    agrees(layer, lambda x: turned(x, np.arange(5), interleaved), kind, drawn(2, 3, 5, 8), scale=4)


@each_type
def test_rope_takes_positions(kind: type) -> None:
    positions = np.array([3, 100, 7], np.int32)
    agrees(nn.rope, turned, kind, drawn(2, 3, 6), positions, scale=16)


def attended(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    scores = q @ k.swapaxes(-1, -2) / sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    return softmax(scores) @ v


@each_type
def test_attention_of_one_head(kind: type) -> None:
    agrees(nn.attention, attended, kind, drawn(2, 5, 8), drawn(2, 6, 8), drawn(2, 6, 4), scale=8)
    agrees(nn.attention, attended, kind, drawn(5, 8), drawn(6, 8), drawn(6, 4), drawn(5, 6), scale=8)


@each_type
@pytest.mark.parametrize("own", [4, 2, 1])
def test_attention_of_heads(own: int, kind: type) -> None:
    mask = drawn(2, 5, 6) > -0.5

    def layer(query: Any, key: Any, value: Any) -> Any:
        return nn.attention(query, key, value, mask, heads=4)

    def formula(query: Array, key: Array, value: Array) -> Array:
        parts = []
        for head in range(4):
            place = head * own // 4
            rows = (
                query[..., 3 * head : 3 * head + 3],
                key[..., 3 * place : 3 * place + 3],
                value[..., 2 * place : 2 * place + 2],
            )
            parts.append(attended(*rows, mask))
        return np.concatenate(parts, -1)

    arrays = drawn(2, 5, 12), drawn(2, 6, 3 * own), drawn(2, 6, 2 * own)
    agrees(layer, formula, kind, *arrays, scale=8)


def test_a_causal_query_sees_what_is_before_it() -> None:
    q, k, v = (drawn(4, 8, seed=seed).astype(np.float32) for seed in range(3))
    seen = np.tril(np.ones((4, 4), np.bool_))
    found = nn.attention(q, k, v, causal=True)
    np.testing.assert_allclose(found, attended(q, k, v, seen), rtol=1e-5, atol=1e-6)


def test_a_query_that_sees_nothing_gets_zeros() -> None:
    q, k, v = (drawn(2, 8, seed=seed).astype(np.float32) for seed in range(3))
    found = nn.attention(q, k, v, [[False, False], [True, False]])
    np.testing.assert_array_equal(found[0], 0)
    np.testing.assert_allclose(found[1], v[0], rtol=1e-6)


FLOATS = np.ones((2, 8), np.float32)
IMAGE = np.ones((1, 5, 5, 4), np.float32)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nn.relu(np.ones(3, np.int8)), "nn.relu x: INT8[3] is not of FP32, FP16 or BF16: cast it"),
        (lambda: nn.relu([1.0]), "nn.relu x: expected an array, got list"),
        (lambda: nn.relu(np.ones(3)), "float64'); cast it, as in x.astype(np.float32)"),
        (lambda: nn.dense(FLOATS, np.ones((8, 3), np.float32)), "rows of 8: transpose it, as in weight.T"),
        (lambda: nn.dense(FLOATS, np.ones((3, 8), np.float16)), "nn.dense weight: FP16 and FP32 do not mix"),
        (lambda: nn.dense(FLOATS, IMAGE), "has 4 dimensions, but must be [outputs, inputs]"),
        (lambda: nn.dense(FLOATS, FLOATS, [1, 2, 3]), "its shape is [3], but weight has [2]"),
        (lambda: nn.softmax(FLOATS, 2), "nn.softmax x: FP32[2, 8] has no axis 2"),
        (lambda: nn.gelu(FLOATS, "quick"), "nn.gelu: its approximation 'quick' is not known"),
        (lambda: nn.conv2d(FLOATS, IMAGE), "must be [images, rows, columns, channels]"),
        (lambda: nn.conv2d(IMAGE, IMAGE, padding="full"), "padding is 'full', but must be 'same', 'valid'"),
        (lambda: nn.conv2d(IMAGE, IMAGE, stride=0), "stride is 0, but must be an integer from 1 on"),
        (lambda: nn.conv2d(IMAGE, IMAGE, groups=2), "1 outputs of 4 inputs do not fit"),
        (lambda: nn.conv2d(IMAGE, IMAGE, dilation=2), "windows of 5 elements, 2 apart, do not fit into 5"),
        (lambda: nn.depthwise_conv2d(IMAGE, IMAGE), "it has 5 channels, but x has 4"),
        (lambda: nn.max_pool2d(IMAGE, 2, padding=2), "[2, 1, 2, 1] is not less than the windows, [2, 2]"),
        (lambda: nn.layer_norm(FLOATS, [1, 2]), "its shape is [2], but axes of x have [8]"),
        (lambda: nn.embedding([[1.5]], FLOATS), "indices: expected integers of 32 bits, got float64[1, 1]"),
        (lambda: tj.jit(lambda w: nn.embedding([7], w))(FLOATS), "from 7 to 7, but weight has 2 rows"),
        (lambda: nn.rope(np.ones((2, 3), np.float32)), "with an even number of elements"),
        (lambda: nn.attention(FLOATS, FLOATS, IMAGE), "[…, rows, elements] each"),
        (lambda: nn.attention(FLOATS, FLOATS, FLOATS, heads=3), "rows of 8 elements have no 3 equal heads"),
        (lambda: nn.dropout(FLOATS, 1), "nn.dropout rate is 1, but must be from 0 on and less than 1"),
    ],
)  # fmt: skip
def test_faults_say_what_to_do(call: Callable[[], object], text: str) -> None:
    with pytest.raises(tj.TraceError) as raised:
        call()
    assert text in str(raised.value)


def test_layers_take_keywords_and_keep_apart_what_is_equal() -> None:
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    assert np.array_equal(nn.softmax(x, axis=1), nn.softmax(x=x, axis=-1))
    assert not np.array_equal(nn.softmax(x, axis=0), nn.softmax(x, axis=True))
    assert nn.max_pool2d(IMAGE, kernel=[2, 2], stride=(1, 1)).shape == (1, 4, 4, 4)


@pytest.mark.parametrize("name", sorted(set(nn.__all__) - {"quantized"}))
def test_layers_have_their_names_and_say_what_they_are_for(name: str) -> None:
    assert getattr(nn, name).__name__ == name
    assert getattr(nn, name).__doc__
