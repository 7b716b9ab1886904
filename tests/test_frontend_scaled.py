"""Values that front ends know by integers: grids, functions of bytes, and sums that the next grid scales."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.dtypes import INT8, INT16, INT32, DType
from tosajit.frontends.common.images import Sampling
from tosajit.frontends.common.matrices import weighted
from tosajit.frontends.common.pooling import Side
from tosajit.frontends.common.sampling import Resampling
from tosajit.frontends.common.windows import Span
from tosajit.frontends.scaled import Affine, Function, Held, Joined, Scaled, Sum, Weights
from tosajit.frontends.scaled.affine import quantized
from tosajit.frontends.scaled.sums import (
    Products,
    added,
    averaged,
    between,
    multiplied,
    plus,
    products,
    totalled,
)
from tosajit.frontends.scaled.value import function_of
from tosajit.tracing.recorder import Trace, recording
from tosajit.tracing.tensor import Tensor

Array = np.ndarray[Any, Any]
BYTES = np.arange(-128, 128, dtype=np.int8)


def affine(scale: float, point: int = 0, dtype: DType = INT8) -> Affine:
    return Affine(dtype, float(np.float32(scale)), point, (int(dtype.minimum), int(dtype.maximum)))


def real(integers: Array, given: Affine) -> Array:
    found: Array = (integers.astype(np.int64) - given.zero_point).astype(np.float32) * np.float32(given.scale)
    return found


def nearest(reals: Array, result: Affine) -> Array:
    """What a source says: divided in float32, and rounded to even."""
    steps = np.rint(reals.astype(np.float32) / np.float32(result.scale)).astype(np.float64)
    found: Array = np.clip(steps + result.zero_point, *result.bounds).astype(np.int64)
    return found


def run(write: Callable[..., Tensor], *given: Array) -> tuple[Array, list[str]]:
    """What a graph gives, and the operators that it has."""
    trace = Trace()
    with recording(trace):
        tensors = [trace.input(f"x{place}", tj.dtypes.dtype_of(one.dtype), one.shape)
                   for place, one in enumerate(given)]  # fmt: skip
        trace.builder.output(write(*tensors).name)
    graph = trace.builder.build()
    assert tj.validate(graph) == ()
    opcodes = [one.operator.opcode for one in graph.nodes if not one.operator.opcode.startswith("CONST")]
    return np.asarray(tj.compile(graph)(*given)), opcodes


@pytest.mark.parametrize(("scale", "point"), [(0.5, 0), (0.037, -128), (1.7, 3), (1e-9, 0), (1e9, 0)])
def test_bytes_come_to_another_grid_by_a_table(scale: float, point: int) -> None:
    source, result = affine(0.07, 5), affine(scale, point)
    found, opcodes = run(lambda x: Held.of(x, source).onto(result), BYTES)
    np.testing.assert_array_equal(found, nearest(real(BYTES, source), result))
    assert opcodes in (["TABLE"], ["CLAMP"])


def test_bytes_of_the_same_grid_are_themselves() -> None:
    _, opcodes = run(lambda x: ops.identity(Held.of(x, affine(0.1, 3)).onto(affine(0.1, 3))), BYTES)
    assert opcodes == ["IDENTITY"]
    narrow = Affine(INT8, affine(0.1).scale, 3, (-8, 7))
    found, opcodes = run(lambda x: Held.of(x, affine(0.1, 3)).onto(narrow), BYTES)
    np.testing.assert_array_equal(found, np.clip(BYTES, -8, 7))
    assert opcodes == ["CLAMP"]


@pytest.mark.parametrize(("dtype", "point"), [(INT8, 0), (INT8, 7), (INT16, 0), (INT16, -300), (INT32, 9)])
def test_real_numbers_come_to_grids_with_halves_to_even(dtype: DType, point: int) -> None:
    result = affine(0.5, point, dtype)
    reals = np.concatenate([np.arange(-300, 300) * 0.25, [1e9, -1e9]]).astype(np.float32)
    found, _ = run(lambda x: quantized(x, result), reals)
    np.testing.assert_array_equal(found, nearest(reals, result))


def test_bytes_without_sign_are_less_by_an_offset() -> None:
    found = Affine.of((0, 255), 0.5, 100, offset=128)
    assert (found.dtype, found.zero_point, found.bounds) == (INT8, -28, (-128, 127))
    assert Affine.of((0, 65535), 0.5, 100, offset=32768).dtype is INT16
    assert Affine.of((0, 65535), 0.5, 100).dtype is INT32


def test_a_function_of_functions_of_the_same_bytes_is_one_table() -> None:
    source, result = affine(0.05, -10), affine(1 / 64, 0)

    def write(x: Tensor) -> Tensor:
        first, again = Held.of(x, source), Held.of(x, source)
        gate = function_of([first], lambda arrays: 1 / (1 + np.exp(-arrays[0])), lambda: never())
        assert isinstance(gate, Function)
        swish = function_of([again, gate], lambda arrays: arrays[0] * arrays[1], lambda: never())
        assert isinstance(swish, Function)
        return swish.onto(result)

    found, opcodes = run(write, BYTES)
    x = real(BYTES, source)
    np.testing.assert_array_equal(found, nearest(x * (1 / (1 + np.exp(-x))), result))
    assert opcodes == ["TABLE"]


def never() -> Tensor:
    raise AssertionError("the real numbers are not needed")


def test_operands_of_other_bytes_and_long_constants_are_no_function_of_one() -> None:
    def write(x: Tensor, y: Tensor) -> Tensor:
        first, second = Held.of(x, affine(1)), Held.of(y, affine(1))
        assert function_of([first, second], sum, never) is None
        assert function_of([first, np.ones(256, np.float32)], sum, never) is None
        deep: Scaled | None = first
        for _ in range(100):
            deep = None if deep is None else function_of([deep], lambda arrays: arrays[0], never)
        assert deep is None
        return ops.add(x, y) if x.dtype is INT32 else x

    run(lambda x, y: ops.identity(write(x, y)), BYTES, BYTES)


def dense(bias: Weights | Array | None, numbers: Array, scales: Array, points: Array) -> Any:
    """Rows times weights, as a front end has them."""

    def write(left: Scaled) -> Sum | None:
        right = Weights(numbers.shape, numbers, scales, points, 1, "w")
        shape = (*left.shape[:-1], numbers.shape[1])

        def put(given: Products) -> Tensor:
            sums = given.sums
            return weighted(
                given.left, given.right, given.bias, sums.zero_points,
                lambda total: sums.finish(total, slice(None)),
            )  # fmt: skip

        return products(left, right, bias, shape, numbers.shape[0], put, channel=1)

    return write


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("has_bias", [True, False])
def test_products_are_exact_where_scales_are_powers_of_two(
    kind: Any, per_channel: bool, has_bias: bool
) -> None:
    random = np.random.default_rng(3)
    x = random.integers(-128, 128, (50, 16)).astype(np.int8)
    info = np.iinfo(kind)
    w = random.integers(info.min, info.max + 1, (16, 6)).astype(kind)
    scales = np.array([2.0**-3, 2.0**-5, 2.0**-4, 0.5, 0.25, 1.0])[: 6 if per_channel else 1]
    points = np.full(scales.size, 0 if kind is np.int8 else 128)
    source, result = affine(2.0**-4, 17), affine(2.0**3, -5)
    terms = random.integers(-1000, 1000, 6) if has_bias else np.zeros(6, np.int64)
    bias = Weights((6,), terms.astype(np.int32), scales * source.scale, np.zeros(1), 0) if has_bias else None
    make = dense(bias, w, scales, points)
    found, opcodes = run(lambda one: make(Held.of(one, source)).onto(result), x)
    reals = real(x, source).astype(np.float64) @ ((w.astype(np.float64) - points) * scales)
    reals = reals + terms * scales * source.scale
    np.testing.assert_array_equal(found, nearest(reals.astype(np.float32), result))
    assert "CAST" not in opcodes


def test_halves_would_be_rounded_up_by_rescale_alone() -> None:
    x = np.array([[1], [3], [5], [-1], [-3]], np.int8)
    make = dense(None, np.array([[1]], np.int8), np.ones(1), np.zeros(1))
    found, _ = run(lambda one: make(Held.of(one, affine(1))).onto(affine(2)), x)
    assert found[:, 0].tolist() == [0, 2, 2, 0, -2]


def test_products_of_other_scales_are_within_a_step() -> None:
    random = np.random.default_rng(4)
    x = random.integers(-128, 128, (200, 64)).astype(np.int8)
    w = random.integers(-127, 128, (64, 5)).astype(np.int8)
    scales = random.uniform(0.001, 0.01, 5)
    source, result = affine(0.0173, -12), affine(0.31, 4)
    bias = random.normal(size=5).astype(np.float32)
    make = dense(bias, w, scales, np.zeros(5))
    reals = real(x, source) @ (w * scales.astype(np.float32)) + bias
    found, _ = run(lambda one: make(Held.of(one, source)).onto(result), x)
    steps = np.abs(found - nearest(reals, result))
    assert steps.max() <= 1
    assert (steps > 0).mean() < 0.01
    clipped, _ = run(lambda one: make(Held.of(one, source)).clipped(0.0, 6.0).onto(result), x)
    assert clipped.min() >= result.within(0.0, 6.0)[0]
    assert clipped.max() <= result.within(0.0, 6.0)[1]
    np.testing.assert_array_equal(clipped, np.clip(found, *result.within(0.0, 6.0)))


def test_the_real_numbers_of_sums_are_these_times_scales() -> None:
    x = BYTES.reshape(16, 16)
    w = np.arange(-16, 16, dtype=np.int8).reshape(16, 2)
    scales = np.array([0.5, 0.25])
    make = dense(None, w, scales, np.zeros(2))
    found, _ = run(lambda one: make(Held.of(one, affine(0.5, 3))).real(), x)
    np.testing.assert_array_equal(found, (real(x, affine(0.5, 3)) @ (w * scales)).astype(np.float32))


@pytest.mark.parametrize(("w", "points", "scales"), [
    (np.array([[1000]], np.int16), np.zeros(1), np.ones(1)),
    (np.array([[-128, 127]], np.int8), np.array([5, 6]), np.ones(2)),
    (np.array([[0, 255]], np.uint8), np.array([0, 0]), np.ones(2)),
])  # fmt: skip
def test_weights_that_bytes_do_not_hold_stay_real(w: Array, points: Array, scales: Array) -> None:
    make = dense(None, w, scales, points)

    def write(x: Tensor) -> Tensor:
        assert make(Held.of(x, affine(1))) is None
        return ops.identity(x)

    run(write, np.ones((1, 1), np.int8))


SUMS = [(0.5, 0.25, 1.0), (0.0213, 0.0339, 0.0507), (0.05, 0.0339, 0.05), (1.0, 1e-7, 1.0)]


@pytest.mark.parametrize("scales", SUMS)
@pytest.mark.parametrize("is_less", [True, False])
def test_sums_and_differences(scales: tuple[float, float, float], is_less: bool) -> None:
    first, second, result = (affine(one, place * 3) for place, one in enumerate(scales))
    x, y = np.meshgrid(BYTES, BYTES)
    found, opcodes = run(
        lambda a, b: some(added(Held.of(a, first), Held.of(b, second), a.shape, never, is_less)).onto(result),
        x, y,
    )  # fmt: skip
    sign = -1 if is_less else 1
    wanted = nearest(real(x, first) + sign * real(y, second), result)
    steps = np.abs(found - wanted)
    assert steps.max() <= (0 if scales[0] == 0.5 else 1)
    assert (steps > 0).mean() < 1e-3
    assert "CAST" not in opcodes
    assert ("SELECT" in opcodes) == (scales[0] == 0.5)  # other sums only come near to halves


def some(found: Sum | None) -> Sum:
    assert found is not None
    return found


def test_products_of_elements() -> None:
    first, second, result = affine(0.5, 3), affine(0.25, -7), affine(4.0, 1)
    x, y = np.meshgrid(BYTES, BYTES)
    found, _ = run(
        lambda a, b: some(multiplied(Held.of(a, first), Held.of(b, second), a.shape)).onto(result), x, y
    )
    np.testing.assert_array_equal(found, nearest(real(x, first) * real(y, second), result))


def test_sums_more_by_known_numbers() -> None:
    x = BYTES.reshape(16, 16)
    make = dense(None, np.eye(16, 4, dtype=np.int8), np.array([0.5]), np.zeros(1))
    terms = np.array([1.0, -2.5, 0.25, 100.0], np.float32)
    source, result = affine(0.5), affine(1.0)
    found, _ = run(lambda one: some(plus(make(Held.of(one, source)), terms)).onto(result), x)
    np.testing.assert_array_equal(found, nearest(real(x, source)[:, :4] * 0.5 + terms, result))


@pytest.mark.parametrize("counts", [None, np.array([1, 2, 2, 1]).reshape(1, 1, 4)])
def test_means_of_windows(counts: Array | None) -> None:
    x = BYTES.reshape(1, 64, 4)
    source, result = affine(0.5, 9), affine(0.5, 9)
    span = Span(0, 0, 2) if counts is None else Span(1, 1, 4)
    side = Side(2, 2, 2, 1, span) if counts is None else Side(2, 3, 1, 1, span)
    shape = (1, 64, span.count)
    wanted = real(x, source).reshape(1, 64, 2, 2).mean(-1)
    if counts is not None:
        counts = np.array([2, 3, 3, 2]).reshape(1, 1, 4)
        wide = np.pad(real(x, source), [(0, 0), (0, 0), (1, 1)])
        wanted = np.stack([wide[..., place : place + 3].sum(-1) for place in range(4)], -1) / counts
    found, _ = run(
        lambda one: some(
            averaged(Held.of(one, source), [side], np.full((1, 1, 1), 2) if counts is None else counts, shape)
        ).onto(result),
        x,
    )
    steps = np.abs(found - nearest(wanted, result))
    is_half = np.abs(wanted / 0.5 % 1 - 0.5) < 1e-5  # a third of a half is no number of TOSA's multipliers
    assert steps.max() <= (0 if counts is None else 1)
    assert not steps[~is_half].any()


@pytest.mark.parametrize(
    ("scale", "point", "subtracted"), [(0.05, 7, 0), (0.05, 9, 0), (0.031, -9, 1), (0.05, -128, 1)]
)
def test_bytes_between_others(scale: float, point: int, subtracted: int) -> None:
    source, result = affine(0.05, 7), affine(scale, point)
    weights = np.zeros((8, 4))
    places = np.maximum((np.arange(8) + 0.5) / 2 - 0.5, 0)
    low = np.floor(places).astype(int)
    weights[np.arange(8), low] += 1 - (places - low)
    weights[np.arange(8), np.minimum(low + 1, 3)] += places - low
    side = Resampling(1, weights, Sampling(4, 8, 16, 8, -4))
    x = BYTES.reshape(-1, 4)
    found, opcodes = run(lambda a: some(between(Held.of(a, source), [side], (len(x), 8))).onto(result), x)
    wanted = nearest(real(x, source) @ weights.T.astype(np.float32), result)
    assert np.abs(found - wanted).max() <= 1
    assert np.mean(found != wanted) < 0.15  # halves
    assert opcodes.count("SUB") == subtracted


def test_sums_along_dimensions() -> None:
    x = BYTES.reshape(16, 16)
    source, result = affine(0.5, 9), affine(4.0, 9)
    found, _ = run(
        lambda one: some(totalled(Held.of(one, source), (1,), True, False)).onto(result),
        x,
    )
    np.testing.assert_array_equal(found, nearest(real(x, source).sum(1, keepdims=True), result))


@pytest.mark.parametrize(("scale", "extent", "is_direct"), [
    (0.5, 7, True), (0.037, 7, True), (0.037, 4, True), (0.5, 4, False),
])  # fmt: skip
def test_means_of_images_on_their_own_grid(scale: float, extent: int, is_direct: bool) -> None:
    """One AVG_POOL2D, unless a source rounds halves to even."""
    x = np.random.default_rng(5).integers(-128, 128, (2, 30, extent, extent)).astype(np.int8)
    grid = affine(scale, 9)
    found, opcodes = run(lambda one: some(totalled(Held.of(one, grid), (2, 3), False, True)).onto(grid), x)
    assert ("AVG_POOL2D" in opcodes) == is_direct
    exact = (x.astype(np.float64) - 9).mean((2, 3))
    is_half = exact % 1 == 0.5
    assert is_half.any() == (extent == 4)
    wanted = np.rint(exact) + 9
    assert np.array_equal(found[~is_half], wanted[~is_half])
    assert np.abs(found - wanted).max() <= (1 if is_direct else 0)


def test_halves_that_a_source_misses_are_left_to_rescale() -> None:
    """The ratio of these scales is a half, but their products have more bits than float32."""
    make = dense(None, np.array([[1]], np.int8), np.array([0.0371]), np.zeros(1))
    result = affine(float(np.float32(0.123) * np.float64(0.0371)) * 2)
    _, opcodes = run(lambda one: make(Held.of(one, affine(0.123))).onto(result), BYTES.reshape(-1, 1))
    assert opcodes[-2:] == ["CONV2D", "RESCALE"] or opcodes[-3:] == ["CONV2D", "RESCALE", "RESHAPE"]


def test_constants_are_widened_when_a_graph_is_written() -> None:
    first, second, result = affine(0.021, 3), affine(0.034, -7), affine(0.05, 1)

    def write(x: Tensor) -> Tensor:
        known = Weights((256,), BYTES, np.array([second.scale]), np.array([-7]), 0, "w")
        return some(added(Held.of(x, first), known, (256,), never)).onto(result)

    found, opcodes = run(write, BYTES[::-1].copy())
    wanted = nearest(real(BYTES[::-1], first) + real(BYTES, second), result)
    assert np.abs(found - wanted).max() <= 1
    assert opcodes == ["RESCALE", "ADD", "RESCALE"]


def test_products_of_a_state_of_zeros_are_known() -> None:
    weights, bias = np.ones((3, 4), np.float32), np.arange(4, dtype=np.float32)
    found, opcodes = run(
        lambda x: ops.add(
            x, weighted(ops.const(np.zeros((2, 3), np.float32)), ops.const(weights), ops.const(bias))
        ),
        np.ones((2, 4), np.float32),
    )
    np.testing.assert_array_equal(found, np.broadcast_to(bias + 1, (2, 4)))
    assert opcodes == ["ADD"]


def test_joined_tensors_come_to_one_grid() -> None:
    first, second, result = affine(0.5, 3), affine(0.25, -7), affine(1.0, 1)
    found, _ = run(
        lambda a, b: Joined.of([Held.of(a, first), Held.of(b, second)], 0).onto(result), BYTES, BYTES
    )
    np.testing.assert_array_equal(
        found, nearest(np.concatenate([real(BYTES, first), real(BYTES, second)]), result)
    )


def test_real_numbers_are_written_once_for_each_region() -> None:
    def write(x: Tensor) -> Tensor:
        held = Held.of(x, affine(0.5, 3))
        return ops.add(held.real(), held.real())

    found, opcodes = run(write, BYTES)
    np.testing.assert_array_equal(found, 2 * real(BYTES, affine(0.5, 3)))
    assert opcodes == ["CAST", "SUB", "MUL", "ADD"]
