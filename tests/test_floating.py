"""Floating-point scalars and narrow formats: kernels against NumPy and ml_dtypes."""

from __future__ import annotations

import ctypes
import inspect
import math
import re
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tosajit import accuracy
from tosajit.arrays import Array
from tosajit.kernels import floats, helpers, plain
from tosajit.kernels.objects import compile_kernels
from tosajit.kernels.scalars import scalar, scalar_source, scalars, vectorised

STORED = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
}
TYPES = {"f32": "FP32", "f16": "FP16", "bf16": "BF16"}
CODE = {1: "u8", 2: "u16", 4: "i32"}
HEADER = (
    "import numpy as np\nfrom tosajit.kernels.intrinsics import *\nfrom tosajit.kernels.floats import *\n\n"
)
FLOATING = sorted(name for name in scalars() if re.search(r"float|_f8|f16|f32", name))
FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 448.0, 464.0, 464.00003, 57344.0, 61439.0, 61440.0, 65504.0]
SPECIAL += [
    65519.0,
    65520.0,
    1e-40,
    -1e-45,
    2.0**-24,
    2.0**-25,
    3 * 2.0**-26,
    2.0**-9,
    2.0**-10,
    2.0**31,
    -(2.0**31),
]


def run(body: tuple[str, str], *arrays: Array) -> None:
    pointers = "".join(f"    p{k} = load_i64(args, {k + 1})\n" for k in range(len(arrays)))
    source = f"{HEADER}{body[0]}\n\ndef kernel(args):\n    n = load_i64(args, 0)\n{pointers}"
    source += f"    for i in range(n):\n        {body[1]}\n"
    (kernel,) = compile_kernels((source,))
    arguments = np.array([arrays[0].size, *(array.ctypes.data for array in arrays)], np.int64)
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(kernel.address)(arguments.ctypes.data)


def numbers(count: int = 20_000) -> Array:
    generator = np.random.default_rng(7)
    anything = generator.integers(0, 1 << 32, count, np.uint32).view(np.float32)
    scaled = generator.standard_normal(count) * np.exp2(generator.integers(-26, 18, count))
    return np.concatenate([anything, scaled.astype(np.float32), np.array(SPECIAL, np.float32)])


def same(a: Array, b: Array) -> Array:
    both = np.isnan(a) & np.isnan(b)
    return np.asarray(both | ((a == b) & (np.signbit(a) == np.signbit(b))))


@pytest.mark.parametrize(("kind", "half"), [*((kind, True) for kind in STORED), ("f16", False)])
def test_stores_round_to_nearest_even(kind: str, half: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not half:
        monkeypatch.setattr(floats, "_has_half", lambda: False)
    stored, values = STORED[kind], numbers()
    found = np.zeros(values.size, f"u{stored.itemsize}")
    run(("", f"store_{kind}(p1, i, load_f32(p0, i))  # {half}"), values, found)
    with np.errstate(all="ignore"):
        expected = values.astype(stored)
    assert same(found.view(stored).astype(np.float32), expected.astype(np.float32)).all()


@pytest.mark.parametrize("kind", STORED)
def test_loads_are_exact(kind: str) -> None:
    stored = STORED[kind]
    values = np.arange(1 << (8 * stored.itemsize)).astype(f"u{stored.itemsize}")
    found = np.zeros(values.size, np.float32)
    run(("", f"store_f32(p1, i, load_{kind}(p0, i))"), values, found)
    assert same(found, values.view(stored).astype(np.float32)).all()


@pytest.mark.parametrize("kind", STORED)
def test_numbers_that_a_format_holds_are_put_as_they_are(kind: str) -> None:
    stored = STORED[kind]
    values = np.arange(1 << (8 * stored.itemsize)).astype(f"u{stored.itemsize}")
    found = np.zeros_like(values)
    run(("", f"put_{kind}(p1, i, load_{kind}(p0, i))"), values, found)
    assert same(found.view(stored).astype(np.float32), values.view(stored).astype(np.float32)).all()


@pytest.mark.parametrize("kind", STORED)
def test_nan_of_any_bits_stay_nan_in_casts(kind: str) -> None:
    values = np.array([0x7FFFFFFF, -1, 0x7F800001, 0x7FFF8000, 0x7FC00000], np.int32).view(np.float32)
    found = np.zeros(values.size, f"u{STORED[kind].itemsize}")
    run((scalar_source([f"to_{kind}"]), f"put_{kind}(p1, i, to_{kind}(load_f32(p0, i)))"), values, found)
    assert np.isnan(found.view(STORED[kind]).astype(np.float32)).all()


@pytest.mark.parametrize("name", ["floor", "ceil"])
def test_halves_are_rounded_to_integers(name: str) -> None:
    values = np.arange(1 << 16).astype(np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        found = vectorised(f"{name}_f16")(values.astype(np.float32))
        assert same(found, getattr(np, name)(values.astype(np.float32))).all()


@pytest.mark.parametrize("name", FLOATING)
def test_compiled_equals_python(name: str) -> None:
    kind = name.rsplit("_", 1)[-1]
    count = len(inspect.signature(scalar(name)).parameters)
    generator = np.random.default_rng(len(name))
    arrays = [generator.permutation(numbers(200)) for _ in range(count)]
    if not name.startswith(("to_", "float_")) and kind in STORED:
        with np.errstate(all="ignore"):
            arrays = [array.astype(STORED[kind]).astype(np.float32) for array in arrays]
    load = "load_f32"
    if name.startswith("i32_"):
        shifts = np.arange(arrays[0].size, dtype=np.int32) % 31
        load, arrays = "load_i32", [array.view(np.int32) >> shifts for array in arrays]
    found = np.zeros(arrays[0].size, np.float64)
    loads = ", ".join(f"{load}(p{k}, i)" for k in range(count))
    run((scalar_source([name]), f"store_f64(p{count}, i, np.float64({name}({loads})))"), *arrays, found)
    with np.errstate(all="ignore"):
        expected = np.array([float(scalar(name)(*values)) for values in zip(*arrays, strict=True)])
    assert same(found, expected).all()


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_within_three_quarters_of_their_bounds(name: str, kind: str) -> None:
    generator = np.random.default_rng(11)
    even, normal = generator.uniform(-100, 100, 60_000), generator.standard_normal(60_000)
    with np.errstate(all="ignore"):
        x = np.concatenate([numbers(60_000), even.astype(np.float32), normal.astype(np.float32)])
        x = x.astype(STORED.get(kind, np.dtype(np.float32))).astype(np.float32)
        x = x[~(np.abs(x) < accuracy.format_of(TYPES[kind]).normal_min)]
        found = vectorised(f"{name}_{kind}")(x).astype(np.float64)
        wide = x.astype(np.float64)
        expected = FUNCTIONS[name](wide)
        bound = accuracy.bound(name.upper(), expected, TYPES[kind], wide)
    result = accuracy.check_bound(found, expected, TYPES[kind], 0.75 * bound)
    assert result, str(result)
    ends = ~np.isfinite(x)
    assert same(found[ends], expected[ends]).all()


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", ["sin", "tanh", "erf"])
def test_odd_functions_keep_the_sign_of_zero_and_of_the_smallest_numbers(name: str, kind: str) -> None:
    tiny = accuracy.format_of(TYPES[kind]).normal_min * 2.0**-3
    x = np.array([0.0, -0.0, tiny, -tiny, 3.0, -3.0], np.float32)
    found = vectorised(f"{name}_{kind}")(x)
    assert (np.signbit(found) == np.signbit(x)).all()
    assert (found[2:4] != 0).all()
    assert (found[1::2] == -found[::2]).all()


def test_no_hyperbolic_tangent_and_no_wave_is_beyond_one() -> None:
    x = np.concatenate([np.linspace(-10, 10, 400_001), np.exp2(np.linspace(4, 127, 10_000))])
    for name in ("tanh_f32", "sin_f32", "cos_f32", "erf_f32"):
        assert np.abs(vectorised(name)(x.astype(np.float32))).max() <= 1, name


def test_a_fused_sum_is_rounded_once() -> None:
    generator = np.random.default_rng(2)
    a, b, near = generator.standard_normal((3, 3_000)).astype(np.float32)
    c = -a * b * np.float32(1 + 2.0**-22) + near * np.float32(2.0**-26)
    found = plain.float_fused(a, b, c)
    fused, apart = (
        [
            Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            for x, y, z in zip(a, b, c, strict=True)
        ],
        np.asarray(a * b, np.float32) + c,
    )
    exact = np.array([_nearest(value) for value in fused], np.float32)
    assert same(found, exact if plain.fuses() else apart).all()


def _nearest(value: Fraction) -> np.float32:
    """The float32 nearest to a fraction, through the two numbers beside it."""
    if not value:
        return np.float32(0)
    first = np.float32(float(value))
    beside = (np.nextafter(first, np.float32(side), dtype=np.float32) for side in (-np.inf, np.inf))
    even = int(first.view(np.int32)) & 1
    return min(
        (first, *beside), key=lambda x: (abs(Fraction(float(x)) - value), even if x is first else not even)
    )


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_powers_are_within_three_quarters_of_their_bounds(kind: str) -> None:
    generator = np.random.default_rng(5)
    bases, exponents = np.exp(generator.uniform(-5, 5, 5_000)), generator.uniform(-8, 8, 5_000)
    bases[:50], exponents[50:100] = 0, 0
    exponents[:50] = np.abs(exponents[:50])
    stored = STORED.get(kind, np.dtype(np.float32))
    x, y = (array.astype(stored).astype(np.float32) for array in (bases, exponents))
    with np.errstate(all="ignore"):
        found = vectorised(f"pow_{kind}")(x, y).astype(np.float64)
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
    bound = accuracy.bound("POW", expected, TYPES[kind], x, y)
    result = accuracy.check_bound(found, expected, TYPES[kind], 0.75 * bound)
    assert result, str(result)
    assert (found[:50] == 0).all()
    assert (found[50:100] == 1).all()


def test_integers_are_rounded_once() -> None:
    generator = np.random.default_rng(3)
    numbers = generator.integers(-(2**31), 2**31, 20_000)
    halves = generator.integers(128, 256, 20_000) * 2 + 1 << generator.integers(1, 22, 20_000)
    near = halves + generator.integers(-1, 2, 20_000)
    for value in np.concatenate([numbers, near])[::7]:
        found = float(scalar("i32_to_bf16")(np.int32(value)))
        size = max(int(abs(value)).bit_length() - 8, 0)
        assert found == round(Fraction(int(value), 1 << size)) << size


def test_cores_that_round_products_and_sums_apart_are_within_the_bounds_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plain, "fuses", lambda: False)
    monkeypatch.setattr(floats, "fuses", lambda: False)
    monkeypatch.setattr(helpers, "offer", lambda *arguments: None)  # another process has its own `floats`
    x = np.concatenate([np.linspace(-104, 89, 20_001), SPECIAL]).astype(np.float32)
    for name in ("exp", "tanh", "erf", "sin", "cos", "sigmoid"):
        text, found = scalar_source([f"{name}_f32"]), np.zeros_like(x)
        run((f"{text}\n\n# apart", f"store_f32(p1, i, {name}_f32(load_f32(p0, i)))"), x, found)
        with np.errstate(all="ignore"):
            assert same(found, vectorised(f"{name}_f32")(x)).all(), name
            wide = x.astype(np.float64)
            expected = FUNCTIONS[name](wide)
            bound = accuracy.bound(name.upper(), expected, "FP32", wide)
        result = accuracy.check_bound(found, expected, "FP32", 0.75 * bound)
        assert result, f"{name}: {result}"
