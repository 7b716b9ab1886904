"""Every number of half precision and of bfloat16, in kernels that treat these types in ways of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import accuracy, operators
from tosajit.arrays import Array
from tosajit.dtypes import DTYPES
from tosajit.graph.operator import Operator
from tosajit.kernels import plain
from tosajit.kernels.scalars import scalar_source, vectorised
from tosajit.operators import ABS, ADD, CLAMP, MAXIMUM, NEGATE, NanMode
from tosajit.tracing.builder import GraphBuilder

KINDS = {"FP16": "f16", "BF16": "bf16"}
ROWS, WIDTH = 9, 7283
"""Of an odd width, and enough for all patterns of 16 bits."""
EXACT: dict[str, Callable[[Array], Array]] = {
    "EXP": np.exp,
    "SIGMOID": lambda x: 1 / (1 + np.exp(-x)),
    "TANH": np.tanh,
    "LOG": np.log,
    "SIN": np.sin,
    "COS": np.cos,
}
BOUNDS = [(-1.0, 1.0), (0.0, 6.0), (-0.0, 0.0), (0.0, 0.0), (-2.0, -0.0), (1e-6, 3e-5), (-np.inf, np.inf)]
BOUNDS += [(2.0, np.inf), (-np.inf, -0.5)]


def patterns(kind: str) -> np.ndarray:
    """All numbers of a type, in rows."""
    bits = np.arange(ROWS * WIDTH).astype(np.uint16).reshape(ROWS, WIDTH)
    return bits.view(DTYPES[kind].storage)


def computed(kind: str, operator: Operator, *inputs: np.ndarray) -> np.ndarray:
    """An operator on arrays of a type."""
    builder = GraphBuilder()
    names = [builder.input(f"x{k}", DTYPES[kind], array.shape) for k, array in enumerate(inputs)]
    builder.output(builder.add(operator, names))
    return np.asarray(tj.compile(builder.build())(*inputs))


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32)


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    """To the bit; NaN may be any."""
    found, expected = wide(found), wide(expected)
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan)
    assert np.array_equal(found[~nan].view(np.int32), expected[~nan].view(np.int32))


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_every_number_are_within_their_bounds_and_as_in_python(kind: str, name: str) -> None:
    x = patterns(kind)
    with np.errstate(all="ignore"):
        found = computed(kind, getattr(operators, name)(), x)
        assert_same(found, vectorised(f"{name.lower()}_{KINDS[kind]}")(wide(x)))
        exact = EXACT[name](x.astype(np.float64))
        bound = accuracy.bound(name, exact, kind, x.astype(np.float64))
    normal = ~(np.abs(wide(x)) < accuracy.format_of(kind).normal_min)
    result = accuracy.check_bound(found.astype(np.float64)[normal], exact[normal], kind, 0.75 * bound[normal])
    assert result, str(result)
    assert np.array_equal(np.isnan(wide(found)), np.isnan(exact))


@pytest.mark.parametrize("kind", KINDS)
def test_exponentials_may_be_subnormal(kind: str) -> None:
    x = patterns(kind)
    found, least = wide(computed(kind, operators.EXP(), x)), accuracy.format_of(kind).normal_min
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype(np.float64))
    unit = float(np.nextafter(DTYPES[kind].storage.type(0), DTYPES[kind].storage.type(1)))
    small = exact < least
    assert small.any()
    assert (np.abs(found[small] - exact[small]) <= 0.75 * unit).all()


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", ["exp_bf16", "sigmoid_bf16"])
def test_halves_are_rounded_as_to_even_where_there_are_any(
    name: str, fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "fuses", lambda: fused)
    results = []
    for near in (plain.near_bf16, plain.round_bf16):
        namespace: dict[str, Any] = {"np": np, **plain.NAMES, "near_bf16": near}
        exec(scalar_source([name]), namespace)
        with np.errstate(all="ignore"):
            results.append(namespace[name](wide(patterns("BF16"))))
    assert_same(*results)


@pytest.mark.parametrize("nan_mode", [NanMode.PROPAGATE, NanMode.IGNORE])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_clamp_chooses_one_of_three_numbers(
    kind: str, bounds: tuple[float, float], nan_mode: NanMode
) -> None:
    x = patterns(kind)
    found = computed(kind, CLAMP(min_val=bounds[0], max_val=bounds[1], nan_mode=nan_mode), x)
    low, high = wide(np.array(bounds).astype(x.dtype))
    least = wide(x) if nan_mode is NanMode.PROPAGATE else np.where(np.isnan(wide(x)), low, wide(x))
    above = np.where(least < low, low, least)
    assert_same(found, np.where(above > high, high, above))


@pytest.mark.parametrize("operator", [ABS(), NEGATE(), MAXIMUM(), ADD()], ids=lambda o: type(o).__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_any_width_and_single_numbers_are_computed_alike(kind: str, operator: Operator) -> None:
    two = isinstance(operator, MAXIMUM | ADD)
    meant = {ABS: np.abs, NEGATE: np.negative, MAXIMUM: np.maximum, ADD: np.add}[type(operator)]
    generator = np.random.default_rng(3)
    for width in (1, 2, 3, 33, 70):
        for shape in [(5, width), (5, 1), (1, width), (1, 1)] if two else [(5, width)]:
            arrays = [(5, width), shape] if two else [shape]
            inputs = [generator.standard_normal(size).astype(DTYPES[kind].storage) for size in arrays]
            if type(operator) is NEGATE:
                zeros = [np.zeros(1, DTYPES[kind].storage)] * 2
                found = computed(kind, operator, *inputs, *zeros)
            else:
                found = computed(kind, operator, *inputs)
            assert_same(found, meant(*map(wide, inputs)).astype(DTYPES[kind].storage))
