"""Subnormal numbers are kept by every operator and in every type: none is ever taken for zero.

TOSA 1.0.1 section 1.10.3 lets an implementation flush all of a type's subnormal numbers, or none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.strategies import TARGETS
from tosajit import accuracy
from tosajit.dtypes import DTYPES
from tosajit.operators import (
    ABS,
    ADD,
    CAST,
    CONV2D,
    IDENTITY,
    MATMUL,
    MAXIMUM,
    MUL,
    NEGATE,
    REDUCE_SUM,
    TRANSPOSE_CONV2D,
)

KINDS = ("FP32", "FP16", "BF16", "FP8E4M3", "FP8E5M2")
DEPTH = 64


def product(a: np.ndarray, b: np.ndarray, kind: str, constant: bool, target: str) -> np.ndarray:
    """MATMUL in a graph of its own."""
    builder = tj.GraphBuilder()
    x = builder.input("x", DTYPES[kind], a.shape)
    y = builder.const(b, DTYPES[kind]) if constant else builder.input("y", DTYPES[kind], b.shape)
    zeros = [builder.const(np.zeros(1), DTYPES[kind]) for _ in range(2)]
    wide = DTYPES["FP32" if kind in ("FP32", "BF16") else "FP16"]
    builder.output(builder.add(MATMUL(), [x, y, *zeros], dtype=wide))
    executable = tj.compile(builder.build(), target=TARGETS[target])
    return np.asarray(executable(*([a] if constant else [a, b]))).astype(np.float64)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_products_of_subnormal_numbers_count(kind: str, constant: bool, target: str) -> None:
    """In either operand, wherever it stands, however many rows and columns there are."""
    form = accuracy.format_of(kind)
    small, large = form.normal_min * 0.75, 1 / form.normal_min if kind != "FP8E4M3" else 128.0
    for place in (0, 1, DEPTH - 1):
        a = np.zeros((1, 13, DEPTH)).astype(form.dtype.storage)
        b = np.zeros((1, DEPTH, 35)).astype(form.dtype.storage)
        a[0, 12, place], b[0, place, 34], b[0, place, 0] = small, large, 1
        a[0, 3, 1 - place % 2], b[0, 1 - place % 2, 7] = large, small
        exact = a.astype(np.float64) @ b.astype(np.float64)
        assert np.array_equal(product(a, b, kind, constant, target), exact)


@pytest.mark.parametrize("constant", [False, True])
def test_sums_of_normal_numbers_may_be_subnormal(constant: bool) -> None:
    a = np.zeros((1, 3, DEPTH)).astype(tj.BF16.storage)
    b = np.zeros((1, DEPTH, 5)).astype(tj.BF16.storage)
    a[0, 0, 3], b[0, 3, 4] = 2.0**-70, 1.5 * 2.0**-60
    a[0, 1, :2], b[0, :2, 0] = (2.0**-60, -(2.0**-60)), (1.0078125 * 2.0**-66, 2.0**-66)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert exact[0, 1, 0] == 2.0**-133
    assert np.array_equal(product(a, b, "BF16", constant, "host"), exact)


@pytest.mark.parametrize("width", [9, 40])
@pytest.mark.parametrize("operator", [CONV2D, TRANSPOSE_CONV2D])
def test_convolutions_keep_subnormal_numbers_of_bf16(operator: Any, width: int) -> None:
    generator = np.random.default_rng(0)
    x = np.zeros((1, 6, width, 4))
    x[generator.random(x.shape) < 0.1] = 2.0**-130
    weight = generator.integers(0, 4, (5, 3, 3, 4)) * 2.0**20
    pad: dict[str, Any] = {"out_pad": (0, 0, 0, 0)}
    if operator is CONV2D:
        pad = {"pad": (1, 1, 1, 1), "dilation": (1, 1)}
    found = []
    for scale in (1.0, 2.0**100):
        builder = tj.GraphBuilder()
        image = builder.input("x", tj.BF16, x.shape)
        operands = [weight, np.zeros(1), np.zeros(1), np.zeros(1)]
        constants = [builder.const(value.astype(tj.BF16.storage)) for value in operands]
        builder.output(builder.add(operator(stride=(1, 1), acc_type="FP32", **pad), [image, *constants]))
        result = tj.compile(builder.build())((x * scale).astype(tj.BF16.storage))
        found.append(result.astype(np.float64) / scale)
    assert found[0].any()
    assert np.array_equal(*found)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS[:3])
def test_elementwise_operators_and_sums_keep_subnormal_numbers(kind: str, target: str) -> None:
    form = accuracy.format_of(kind)
    least = form.normal_min * form.epsilon
    values = (np.array([1, -1, 3, 5, -7, 8, 0, 2]) * least).astype(form.dtype.storage).reshape(1, 8)
    wide = values.astype(np.float64)
    builder = tj.GraphBuilder()
    x = builder.input("x", form.dtype, values.shape)
    zeros = [builder.const(np.zeros(1), form.dtype) for _ in range(2)]
    one, shift = builder.const(np.ones((1, 1)), form.dtype), builder.const(np.zeros(1), tj.INT8)
    made = [
        (builder.add(IDENTITY(), [x]), wide),
        (builder.add(ABS(), [x]), abs(wide)),
        (builder.add(NEGATE(), [x, *zeros]), -wide),
        (builder.add(ADD(), [x, x]), 2 * wide),
        (builder.add(MUL(), [x, one, shift]), wide),
        (builder.add(MAXIMUM(), [x, x]), wide),
        (builder.add(REDUCE_SUM(axis=1), [x]), wide.sum(axis=1, keepdims=True)),
        (
            builder.add(CAST(), [x], dtype=tj.FP32 if kind != "FP32" else tj.FP16),
            wide if kind != "FP32" else 0 * wide,
        ),
    ]
    builder.output(*(name for name, _ in made))
    for found, (_, expected) in zip(
        tj.compile(builder.build(), target=TARGETS[target])(values), made, strict=True
    ):
        assert np.array_equal(found.astype(np.float64), expected)
