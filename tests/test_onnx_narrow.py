"""Types of ONNX with few bits: integers of 2 and 4, real numbers of 4 and 8; inputs, results and grids."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import RawGraph, RawNode, RawValue, model, single
from tosajit.frontends.onnx.schema import BOUNDS, STORAGE, Type

Array = np.ndarray[Any, Any]
TINY = [Type.INT4, Type.UINT4, Type.INT2, Type.UINT2]
REALS = [
    Type.FLOAT8E4M3FN, Type.FLOAT8E5M2, Type.FLOAT8E4M3FNUZ, Type.FLOAT8E5M2FNUZ, Type.FLOAT4E2M1,
]  # fmt: skip


def run(data: bytes, *given: Array) -> Any:
    graph = tj.load(data)
    assert tj.validate(graph) == ()
    return tj.compile(graph)(*given)


def every(kind: Type) -> Array:
    """All numbers of a type that are some."""
    if kind in TINY:
        return np.arange(BOUNDS[kind][0], BOUNDS[kind][1] + 1).astype(STORAGE[kind])
    bits = 16 if kind is Type.FLOAT4E2M1 else 256
    found = np.arange(bits, dtype=np.uint8).view(STORAGE[kind])
    return found[np.isfinite(found.astype(np.float32))]


def beside(kind: Type) -> Array:
    """The numbers of a type, the middles between neighbours, and what is next to these."""
    numbers = np.unique(every(kind).astype(np.float32))
    middles = (numbers[1:] + numbers[:-1]) / 2
    near = [np.nextafter(middles, np.float32(end)) for end in (-np.inf, np.inf)]
    random = np.random.default_rng(0).normal(0, 3, 500).astype(np.float32)
    beyond = (
        np.array([3e5, -3e5], np.float32) if kind is not Type.FLOAT4E2M1 else np.array([7, -9], np.float32)
    )
    return np.concatenate([numbers, middles, *near, random, beyond])


def cast(kind: Type, to: Type, shape: tuple[int, ...], **attributes: Any) -> bytes:
    nodes = [RawNode("Cast", ["x"], ["y"], {"to": int(to), **attributes})]
    return model(RawGraph(nodes, [RawValue("x", shape, kind)], [RawValue("y", None)]), 26)


@pytest.mark.parametrize("kind", REALS, ids=lambda one: one.label)
def test_real_numbers_become_the_nearest_of_few_bits(kind: Type) -> None:
    x = beside(kind)
    most = float(ml_dtypes.finfo(STORAGE[kind]).max)
    found = run(cast(Type.FLOAT32, kind, x.shape), x)
    assert found.dtype == STORAGE[kind]
    np.testing.assert_array_equal(
        found.astype(np.float32), np.clip(x, -most, most).astype(STORAGE[kind]).astype(np.float32)
    )


@pytest.mark.parametrize("kind", [Type.FLOAT8E4M3FNUZ, Type.FLOAT8E5M2FNUZ], ids=lambda one: one.label)
def test_numbers_beyond_a_type_without_infinities_are_none(kind: Type) -> None:
    most = float(ml_dtypes.finfo(STORAGE[kind]).max)
    x = np.concatenate(
        [
            beside(kind),
            np.array([most * 17 / 16, np.nextafter(np.float32(most * 33 / 32), 0), np.nan], np.float32),
        ]
    )
    found = run(cast(Type.FLOAT32, kind, x.shape, saturate=0), x)
    np.testing.assert_array_equal(found.astype(np.float32), x.astype(STORAGE[kind]).astype(np.float32))


@pytest.mark.parametrize("kind", [*TINY, *REALS], ids=lambda one: one.label)
def test_numbers_of_few_bits_enter_and_leave(kind: Type) -> None:
    x = every(kind)
    same = run(
        single("Transpose" if kind in TINY else "Identity", {"x": x.reshape(1, -1)}, opset=25),
        x.reshape(1, -1),
    )
    assert same.dtype == x.dtype
    np.testing.assert_array_equal(same.reshape(-1).astype(np.float32), x.astype(np.float32))
    np.testing.assert_array_equal(run(cast(kind, Type.FLOAT32, x.shape), x), x.astype(np.float32))


@pytest.mark.parametrize("kind", TINY, ids=lambda one: one.label)
def test_low_bits_are_left_of_integers(kind: Type) -> None:
    x = np.arange(-40, 41, dtype=np.int32)
    wanted = x.astype(STORAGE[kind]).astype(np.int32)
    for given in (x, x + np.where(x < 0, -0.4, 0.4).astype(np.float32)):
        source = Type.INT32 if given.dtype == np.int32 else Type.FLOAT32
        found = run(cast(source, kind, x.shape), given.astype(STORAGE[source]))
        np.testing.assert_array_equal(found.astype(np.int32), wanted)


@pytest.mark.parametrize("kind", TINY, ids=lambda one: one.label)
def test_grids_of_few_bits(kind: Type) -> None:
    low, high = BOUNDS[kind]
    x = np.linspace(-20, 20, 81, dtype=np.float32)
    point = np.array(1, STORAGE[kind])
    data = single("QuantizeLinear", {"x": x, "_s": np.array(0.75, np.float32), "_z": point}, opset=25)
    found = run(data, x)
    wanted = np.clip(np.rint(x / np.float32(0.75)) + 1, low, high).astype(STORAGE[kind])
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.astype(np.int8), wanted.astype(np.int8))
    data = single("DequantizeLinear", {"x": wanted, "_s": np.array(0.75, np.float32), "_z": point}, opset=25)
    np.testing.assert_array_equal(run(data, wanted), (wanted.astype(np.float32) - 1) * np.float32(0.75))


@pytest.mark.parametrize("kind", REALS, ids=lambda one: one.label)
@pytest.mark.parametrize("saturates", [0, 1])
def test_grids_of_real_numbers(kind: Type, saturates: int) -> None:
    x, scales = beside(kind).reshape(-1, 1) * np.ones((1, 2), np.float32), np.array([0.5, 3], np.float32)
    zero = np.zeros(2, STORAGE[kind])
    given: dict[str, Array] = {"x": x, "_s": scales, "_z": zero}
    found = run(single("QuantizeLinear", given, 1, 25, saturate=saturates, axis=1), x)
    most = float(ml_dtypes.finfo(STORAGE[kind]).max)
    steps = x / scales
    steps = np.clip(steps, -most, most) if saturates or kind is Type.FLOAT4E2M1 else steps
    with np.errstate(over="ignore"):
        wanted = steps.astype(STORAGE[kind])
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))
    y = every(kind).reshape(-1, 1)
    data = single("DequantizeLinear", {"y": y, "_s": scales[:1]}, 1, 25)
    np.testing.assert_array_equal(run(data, y), y.astype(np.float32) * scales[0])


@pytest.mark.parametrize("kind", [*TINY, Type.FLOAT4E2M1], ids=lambda one: one.label)
def test_constants_have_several_elements_in_a_byte(kind: Type) -> None:
    numbers = every(kind)[:3]
    found = run(single("Identity", {"_x": numbers}, opset=25))
    np.testing.assert_array_equal(found.astype(np.float32), numbers.astype(np.float32))
