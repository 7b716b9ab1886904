"""Graphs of products of narrow types, and of tables, with the results that they have to have on any CPU.

Sums of small integers are exact, whatever their order and their roundings; others may be off by a rounding of
float32 for each product, and by one of the result.
"""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

import tosajit as tj
from tosajit import ops
from tosajit.arrays import Array
from tosajit.graph import Graph
from tosajit.operators import CONV2D, MATMUL, AccType
from tosajit.tracing.builder import GraphBuilder

SIZES = ((1, 64, 40), (5, 26, 9), (13, 130, 35))
"""Rows, depths and columns: one row, rows that are not whole eights, and many of them."""
UNIT = 2.0**-23
SMALL = 2.0**-133
"""The least bfloat16."""

Case = tuple[str, Graph, list[Array], Array, Array | None]
"""A name, a graph, its inputs, its output, and how far that may be off."""


def drawn(seed: int = 0) -> Iterator[Case]:
    """Matrix products of bfloat16, of constants and of two inputs, and convolutions."""
    rng = np.random.default_rng(seed)
    for rows, depth, columns in SIZES:
        name = f"bf16-{rows}x{depth}x{columns}"
        for constant in (False, True):
            kind = f"{name}-{'constant' if constant else 'inputs'}"
            a, b = rng.integers(-9, 10, (1, rows, depth)), rng.integers(-9, 10, (1, depth, columns))
            yield f"{kind}-exact", *matrix_product(a, b, constant), None
            yield f"{kind}-small", *matrix_product(a * SMALL, b * 2.0**99, constant), None
            x, y = bfloat16(rng.standard_normal(a.shape)), bfloat16(rng.standard_normal(b.shape))
            within = abs(x.astype(np.float64)) @ abs(y.astype(np.float64)) * depth * UNIT
            yield f"{kind}-any", *matrix_product(x, y, constant), within
        yield f"f16-{rows}x{depth}x{columns}-exact", *of_float16(a % 3, b % 3), None
        graph, given, exact = of_float16(rng.standard_normal(a.shape), rng.standard_normal(b.shape))
        yield f"f16-{rows}x{depth}x{columns}-any", graph, given, exact, abs(exact) * 2.0**-10 + 2.0**-10
    for channels, filters in ((4, 5), (6, 19)):
        x, w = rng.integers(-9, 10, (1, 6, 9, channels)), rng.integers(-9, 10, (filters, 3, 3, channels))
        yield f"bf16-3x3-{channels}-exact", *convolution(x, w), None
        yield f"bf16-3x3-{channels}-small", *convolution(x * SMALL, w * 2.0**99), None
    yield from extremes()
    values = np.resize(np.arange(-128, 128), 1000).astype(np.int8)
    table = rng.permutation(values[:256])
    yield (
        "i8-table",
        tj.trace(lambda x: ops.table(x, table), values),
        [values],
        table[values.astype(np.intp) + 128],
        None,
    )


def extremes() -> Iterator[Case]:
    """Convolutions of int8 whose products are the largest that there are."""
    for least in (-127, -128):
        for channels in (4, 17):
            yield f"i8{least}-3x3-{channels}", *of_bytes(least, channels, False), None
            for size, stride in ((3, 1), (3, 2), (5, 1), (5, 2)):
                name = f"i8{least}-depthwise-{channels}-{size}-by-{stride}"
                yield name, *of_bytes(least, channels, True, size, stride), None


def of_bytes(
    least: int, channels: int, depthwise: bool, size: int = 3, stride: int = 1
) -> tuple[Graph, list[Array], Array]:
    """A convolution whose weights are at an end or the other, filter by filter."""
    x = np.full((1, 7, 33, channels), -128, np.int8)
    x[:, 2, 3::4] = 127
    shape = (size, size, channels, 1) if depthwise else (5, size, size, channels)
    weights = np.full(shape, least, np.int8)
    weights[..., 1::2, :] = 127
    bias, zeros = np.zeros(shape[2] if depthwise else shape[0], np.int32), np.zeros(1, np.int8)
    operator = ops.depthwise_conv2d if depthwise else ops.conv2d
    graph = tj.trace(lambda image: operator(image, weights, bias, zeros, zeros, stride=(stride, stride)), x)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.int32), (size, size), (1, 2))
    windows = windows[:, ::stride, ::stride]
    form = "nyxcij,ijcm->nyxc" if depthwise else "nyxcij,oijc->nyxo"
    return graph, [x], np.einsum(form, windows, weights.astype(np.int32)).astype(np.int32)


def of_float16(a: Array, b: Array) -> tuple[Graph, list[Array], Array]:
    """Rows times constant columns, as a convolution, with sums that are rounded once."""
    x, weights = a[:, None].astype(np.float16), b[0].T[:, None, None].astype(np.float16)
    graph = tj.trace(lambda value: ops.conv2d(value, weights, np.zeros(len(weights), np.float16)), x)
    exact = x.astype(np.float64) @ weights[:, 0, 0].T.astype(np.float64)
    return graph, [x], exact.astype(np.float16)


def bfloat16(array: Array) -> Array:
    """Numbers rounded to bfloat16."""
    return array.astype(ml_dtypes.bfloat16)


def matrix_product(a: Array, b: Array, constant: bool) -> tuple[Graph, list[Array], Array]:
    """MATMUL with its result, of which the second operand may be a constant."""
    builder, (left, right) = GraphBuilder(), (bfloat16(a), bfloat16(b))
    x = builder.input("x", tj.BF16, a.shape)
    y = builder.const(right, tj.BF16) if constant else builder.input("y", tj.BF16, b.shape)
    zeros = [builder.const(bfloat16(np.zeros(1)), tj.BF16) for _ in range(2)]
    builder.output(builder.add(MATMUL(), [x, y, *zeros], dtype=tj.FP32))
    exact = left.astype(np.float64) @ right.astype(np.float64)
    return builder.build(), [left] if constant else [left, right], exact.astype(np.float32)


def convolution(x: Array, weights: Array) -> tuple[Graph, list[Array], Array]:
    """CONV2D of 3 × 3 with its result, which is bfloat16."""
    builder, image = GraphBuilder(), bfloat16(x)
    operands = [builder.input("x", tj.BF16, x.shape)]
    constants = (weights, np.zeros(1), np.zeros(1), np.zeros(1))
    operands += [builder.const(bfloat16(array), tj.BF16) for array in constants]
    attributes = CONV2D(pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=AccType.FP32)
    builder.output(builder.add(attributes, operands))
    padded = np.pad(image.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    exact = np.einsum("nyxcij,oijc->nyxo", windows, bfloat16(weights).astype(np.float64))
    return builder.build(), [image], bfloat16(exact)
