"""The specification's accuracy rules, on results whose verdicts are plain."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tosajit as tj
from tosajit import accuracy
from tosajit.accuracy.data import LARGEST, random
from tosajit.accuracy.formats import Format

KINDS = list(accuracy.FORMATS.values())


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Format:
    found: Format = request.param
    return found


def test_formats_are_those_of_ml_dtypes(kind: Format) -> None:
    about = ml_dtypes.finfo(kind.dtype.storage)
    assert kind.normal_max == float(about.max)
    assert kind.normal_min == float(about.smallest_normal)
    assert kind.epsilon == float(about.eps)


def test_a_format_is_found_by_type_name_and_numpy_type(kind: Format) -> None:
    found = [accuracy.format_of(key) for key in (kind.dtype, kind.name, kind.dtype.storage)]
    assert found == [kind] * 3


@pytest.mark.parametrize("other", ["INT8", tj.SHAPE, np.int32, "nothing"])
def test_other_types_have_no_accuracy(other: Any) -> None:
    with pytest.raises(TypeError):
        accuracy.format_of(other)


def test_rounding_is_that_of_ml_dtypes(kind: Format) -> None:
    generator = np.random.default_rng(4)
    size = np.exp2(generator.uniform(-160, 140, 20_000))
    with np.errstate(all="ignore"):
        wide = (generator.standard_normal(20_000) * size).astype(np.float32).astype(np.float64)
        expected = wide.astype(np.float32).astype(kind.dtype.storage).astype(np.float64)
    assert np.array_equal(kind.rounded(wide), expected, equal_nan=True)


def test_a_unit_is_the_distance_of_neighbours(kind: Format) -> None:
    storage = kind.dtype.storage
    bits = np.arange(1, 1 << min(storage.itemsize * 8 - 1, 15)).astype(f"u{storage.itemsize}")
    bits = bits << bits.dtype.type(16) if storage.itemsize == 4 else bits
    with np.errstate(invalid="ignore"):
        numbers = bits.view(storage).astype(np.float64)
        after = (bits + bits.dtype.type(1)).view(storage).astype(np.float64)
        distance = after - numbers
    inside = np.isfinite(numbers) & np.isfinite(after)
    unit = accuracy.reference_ulp(numbers, kind.dtype)
    assert np.array_equal(unit[inside], distance[inside])


@pytest.mark.parametrize("reference", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310])
def test_what_is_not_normal_has_no_unit(reference: float) -> None:
    assert accuracy.reference_ulp(reference, "FP16") == 0


def test_units_count_from_the_reference() -> None:
    reference = 1 + 2.0**-24
    for found, passes in ((1.0, True), (1 + 2.0**-23, True), (1 - 2.0**-24, False)):
        assert bool(accuracy.check(np.float32(found), reference, "FP32", 0.5)) == passes
    assert accuracy.check(np.float32(1 - 2.0**-24), reference, "FP32", 0.5, lower_ulps=1)


@pytest.mark.parametrize("sign", [1, -1])
def test_results_may_overflow_only_if_their_bound_does(kind: Format, sign: int) -> None:
    top = sign * kind.normal_max
    unit = float(accuracy.reference_ulp(top, kind.dtype))
    over = np.nan if kind.name == "FP8E4M3" else sign * np.inf
    for found, reference, ulps, passes in (
        (over, top, 0, False),
        (over, top, 0.5, True),
        (over, top - sign * unit, 0.5, False),
        (top, top + sign * 0.4 * unit, 0.5, True),
        (top, top + sign * 2 * unit, 0.5, False),
    ):
        assert bool(accuracy.check(found, reference, kind.dtype, ulps)) == passes, (found, reference)


def test_small_results_may_be_flushed_except_in_eight_bits(kind: Format) -> None:
    small = kind.normal_min * 0.75
    assert bool(accuracy.check(0.0, small, kind.dtype, 0.5)) == kind.flushes
    assert not accuracy.check(0.0, kind.normal_min, kind.dtype, 0)


def test_only_nan_stands_for_nan(kind: Format) -> None:
    assert accuracy.check(np.nan, np.nan, kind.dtype, 0)
    assert not accuracy.check(1.0, np.nan, kind.dtype, 1000)
    assert not accuracy.check(np.nan, 1.0, kind.dtype, 1000)


def test_an_infinite_bound_allows_everything() -> None:
    assert accuracy.check_bound([1.0, np.nan, -np.inf], [5.0, 5.0, 5.0], "FP32", np.inf)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        accuracy.check_bound(1.0, 1.0, "FP32", -1.0)
    with pytest.raises(ValueError, match=r"shape \[2\], not \[3\]"):
        accuracy.check(np.zeros(2), np.zeros(3), "FP32", 1)
    with pytest.raises(ValueError, match="shapes differ"):
        accuracy.check_dot_product(np.zeros(2), np.zeros(2), np.zeros(3), "FP32", 1)
    with pytest.raises(TypeError, match="the bound of EXP depends on its inputs"):
        accuracy.bound("EXP", [1.0], "FP32")
    with pytest.raises(ValueError, match="ADD has no data sets"):
        accuracy.data_set("ADD", 0, [(1,)], ["FP32"], "FP32")


def test_a_result_names_its_worst_element() -> None:
    reference = np.ones((2, 3))
    found = reference + np.array([[0, 3, 0], [1, 0, -7]]) * 2.0**-10
    result = accuracy.check(found, reference, "FP16", 2)
    assert not result
    assert (result.failures, result.elements, result.index) == (2, 6, (1, 2))
    assert (result.found, result.error, result.allowed) == (1 - 7 * 2.0**-10, 7 * 2.0**-10, 2 * 2.0**-10)
    assert str(result) == (
        "outside 2 ulp of FP16, 2 of 6 elements are not: 0.9931640625 at [1, 2], expected 1.0, "
        "error 0.006836 of 0.001953 allowed"
    )
    passed = accuracy.check(found, reference, "FP16", 8)
    assert passed
    assert passed.index == (1, 2)
    assert str(passed).startswith("within 8 ulp of FP16: 0.9931640625 at [1, 2]")
    assert str(accuracy.check(np.zeros(0), np.zeros(0), "FP16", 0)) == "within 0 ulp of FP16"


def test_absolute_bounds_have_a_floor() -> None:
    assert accuracy.absolute_bound(8.0, 5.0, "FP16") == 40 * 2.0**-10
    assert accuracy.absolute_bound(-8.0, 5.0, "FP16", normal_divisor=2) == 40 * 2.0**-5
    assert accuracy.absolute_bound(0.0, 4.0, "FP16", lower_bound=0.5) == 0.5 * 2.0**-10
    assert accuracy.absolute_bound(0.0, 4.0, "FP16") == 4 * 2.0**-24
    assert accuracy.absolute_bound(0.0, np.inf, "FP16") == 0
    assert accuracy.absolute_bound(1.0, np.inf, "FP16") == np.inf


@pytest.mark.parametrize("name", accuracy.BOUNDS)
def test_rounding_the_reference_is_within_the_bound(name: str, kind: Format) -> None:
    x = kind.rounded(np.random.default_rng(1).uniform(0.1, 4, (50, 2)))
    operands = {"POW": (x, x), "REDUCE_PRODUCT": (x,), "RESIZE": (x,)}.get(name, (x,))
    reference = x.prod(axis=1) if name == "REDUCE_PRODUCT" else x**x if name == "POW" else np.sin(x)
    found = kind.rounded(reference)
    assert (reference.shape != x.shape) == (name == "REDUCE_PRODUCT")
    assert accuracy.check_operator(name, found, reference, kind.dtype, *operands)
    assert not accuracy.check_operator(name, 100 + found, reference, kind.dtype, *operands)


def test_other_operators_must_be_exact() -> None:
    assert accuracy.check_operator("TRANSPOSE", [1.0, 2.0], [1.0, 2.0], "FP32")
    assert not accuracy.check_operator("TRANSPOSE", [1.0, 2.0 + 2.0**-22], [1.0, 2.0], "FP32")


def test_a_cast_of_floating_point_numbers_may_truncate() -> None:
    x = np.array([1 + 2.0**-8], np.float32) - np.float32(2.0**-20)
    up, down = np.array([1.0]), np.array([1 - 2.0**-8])
    assert accuracy.check_operator("CAST", up, x, "BF16", x)
    assert accuracy.check_operator("CAST", down, np.array([1 - 2.0**-9]), "BF16", x)
    assert not accuracy.check_operator("CAST", np.array([256]), [257.8], "BF16", np.array([258]))


def test_pow_is_free_where_it_is_undefined() -> None:
    x, y = np.array([-1.0, 0.0, np.inf, 2.0]), np.array([2.0, -1.0, 1.0, np.nan])
    assert accuracy.check_operator("POW", np.full(4, 7.0), np.ones(4), "FP32", x, y)
    assert not accuracy.check_operator("POW", [0.5], [0.0], "FP32", [0.0], [3.0])
    assert not accuracy.check_operator("POW", [1.1], [1.0], "FP32", [3.0], [0.0])


def test_kernel_sizes_count_what_the_accumulator_rounds() -> None:
    assert accuracy.kernel_size_bound(9, "FP32", "FP32") == 9
    assert accuracy.kernel_size_bound(9, "FP16", "FP16", bias=True) == 10
    assert accuracy.kernel_size_bound(9, "FP16", "FP32") == 1
    assert accuracy.kernel_size_bound(1000, "FP16", "FP32", bias=True) == 13


def test_magnitudes_are_local_or_those_of_the_whole_input() -> None:
    values = np.array([0.0, -3.0, 2.0])
    assert list(accuracy.magnitudes(values, "FP16")) == [2.0**-14, 3, 2]
    assert list(accuracy.magnitudes(values, "FP16", local_bound=False)) == [3, 3, 3]


def matrices(number: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    a, b = accuracy.data_set("MATMUL", number, [(1, 40, 64), (1, 64, 30)], [kind, kind], kind)
    wide = a.astype(np.float64), b.astype(np.float64)
    sizes = [accuracy.magnitudes(operand, kind) for operand in wide]
    return a, b, wide[0] @ wide[1], sizes[0] @ sizes[1]


@pytest.mark.parametrize("number", accuracy.SETS)
@pytest.mark.parametrize("kind", ["FP32", "FP16", "BF16"])
def test_sums_that_are_rounded_once_pass_and_truncated_ones_do_not(kind: str, number: int) -> None:
    _, _, reference, bounds = matrices(number, kind)
    form = accuracy.format_of(kind)
    found = form.rounded(reference)
    ksb = accuracy.kernel_size_bound(64, kind, kind)
    assert accuracy.check_dot_product(found, reference, bounds, kind, ksb, number)
    if number:  # the products of set 0 are zero
        off = found + 2.5 * ksb * np.maximum(bounds * form.epsilon / 2, form.normal_min)
        assert not accuracy.check_dot_product(off, reference, bounds, kind, ksb, number)


def test_errors_of_one_sign_are_refused_where_they_have_to_cancel() -> None:
    reference, bounds = np.zeros(1000), np.ones(1000)
    found = np.full(1000, 0.4 * 8 * 2.0**-24)
    assert accuracy.check_dot_product(found, reference, bounds, "FP32", 8, 2)
    result = accuracy.check_dot_product(found, reference, bounds, "FP32", 8, 3)
    assert not result
    assert "errors add up to 3200 of" in str(result)


def test_large_errors_must_be_rare() -> None:
    reference, bounds = np.zeros(1000), np.ones(1000)
    found = np.full(1000, 1.9 * 8 * 2.0**-24) * np.tile([1, -1], 500)
    result = accuracy.check_dot_product(found, reference, bounds, "FP32", 8, 3)
    assert "squared errors average 231 of 12.8 allowed" in str(result)
    assert accuracy.check_dot_product(
        found[:1], reference[:1], bounds[:1], "FP32", 8, variance_error_bound=232
    )


def test_products_of_zero_must_be_zero() -> None:
    assert accuracy.check_dot_product([0.0], [0.0], [0.0], "FP32", 4)
    assert not accuracy.check_dot_product([1e-40], [0.0], [0.0], "FP32", 4)


def test_the_sequence_is_that_of_its_recurrence() -> None:
    for number in (0, 1, 17):
        factor = (8 * number + 1) * 0x705A5E75 % (1 << 32)
        state, expected = factor + 1, []
        for _ in range(100):
            fraction = np.float32(state & 0x7FFFFFFF) / np.float32(0x7FFFFFFF)
            expected.append(-fraction if state >> 31 else fraction)
            state = (state * factor + 1) % (1 << 32)
        assert list(random(number, np.arange(100))) == expected
        assert list(random(number, np.array([[99, 0]]))[0]) == [expected[99], expected[0]]


@pytest.mark.parametrize(("types", "output"), LARGEST)
def test_the_square_of_the_largest_value_does_not_overflow(
    types: frozenset[tj.DType], output: tj.DType
) -> None:
    largest = LARGEST[types, output]
    assert Fraction(largest) ** 2 <= Fraction(accuracy.format_of(output).normal_max)
    for dtype in types:
        assert accuracy.format_of(dtype).rounded(largest) == largest


def test_the_largest_product_of_a_data_set_comes_first() -> None:
    a, b = accuracy.data_set("MATMUL", 3, [(1, 9, 16), (1, 16, 9)], ["FP32", "FP32"], "FP32")
    assert (np.abs(a[..., 0]) == 16).all()
    assert (np.abs(b[:, 0]) == 16).all()
    assert (np.abs(a[..., 1:]) < 16).all()


def test_half_of_the_products_of_set_0_have_no_left_factor() -> None:
    a, b, _, _ = matrices(0, "FP32")
    assert 0.3 < np.count_nonzero(a) / a.size < 0.7
    assert 0.3 < np.count_nonzero(b) / b.size < 0.7
