"""Functions that front ends share, written in TOSA, give what NumPy does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common import fixed, functions, numbers
from tosajit.frontends.common.blocks import batch_to_space, depth_to_space, space_to_batch, space_to_depth
from tosajit.frontends.common.borders import enlarged, mirrored, padded, replicated, spread
from tosajit.frontends.common.channels import convolved
from tosajit.frontends.common.division import floored, remainder, truncated
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.images import Sampling
from tosajit.frontends.common.indices import gathered_nd, linear, one_hot
from tosajit.frontends.common.ordering import running_greatest, running_products, running_sums
from tosajit.frontends.common.powers import integer_power, real_power
from tosajit.frontends.common.reduce import axes_of, place_of_greatest, reduced, shape_without
from tosajit.frontends.common.reduce import product as product_of
from tosajit.frontends.common.scale import allowed, multipliers_of, rounded_twice
from tosajit.frontends.common.slices import Masks, Range, masked, strided
from tosajit.frontends.common.windows import Span, padding, transposed_padding
from tosajit.frontends.onnx.operators.pooling import PoolAttributes

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
HALVES = np.array([-2.5, -2, -1.5, -0.75, -0.5, 0, 0.25, 0.5, 1.5, 2.5, 3], np.float32)
WHOLE = np.array([-7, -2, -1, 0, 1, 2, 5], np.int32)


def run(function: Callable[..., Any], *arrays: Array) -> Any:
    """What a function of tensors gives for arrays."""
    return tj.compile(tj.trace(function, *arrays), interpret=True)(*arrays)


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        (numbers.sign, HALVES, np.sign(HALVES)),
        (numbers.sign, WHOLE, np.sign(WHOLE)),
        (numbers.towards_zero, HALVES, np.trunc(HALVES)),
        (numbers.is_not_zero, WHOLE, WHOLE != 0),
        (numbers.is_negative, HALVES, HALVES < 0),
        (numbers.nearest_away, HALVES, np.array([-3, -2, -2, -1, -1, 0, 0, 1, 2, 3, 3], np.float32)),
        (numbers.nearest_even, HALVES, np.round(HALVES)),
    ],
)
def test_functions_of_numbers(function: Callable[[Any], Any], given: Array, expected: Array) -> None:
    np.testing.assert_array_equal(run(function, given), expected)


def test_great_numbers_are_whole_already() -> None:
    given = np.array(
        [2.0**22 - 0.5, 2.0**22 + 1, 2.0**23 + 1, -(2.0**22) + 1.5, -(2.0**24) - 2, 1e30], np.float32
    )
    np.testing.assert_array_equal(run(numbers.nearest_even, given), np.round(given))


@pytest.mark.parametrize(
    ("begin", "end", "step", "masks"),
    [
        ((0, 0, 0), (2, 3, 4), (1, 2, 3), Masks()),
        ((1, 2, 3), (-3, -4, -5), (-1, -1, -2), Masks()),
        ((-1, -2, -3), (9, 9, 9), (1, 1, 1), Masks()),
        ((1, 1, 1), (0, 0, 0), (1, 1, 1), Masks(end=7)),
        ((1, 1, 1), (1, 2, 3), (1, 1, 1), Masks(begin=7)),
        ((1, 1, 1), (0, 0, 0), (-1, -1, -1), Masks(begin=7, end=7)),
        ((1, 5), (2, 7), (1, 1), Masks(shrink_axis=1, ellipsis=2)),
        ((0, 1), (0, 3), (1, 1), Masks(ellipsis=1)),
        ((0, 0, 1), (0, 0, 3), (1, 1, 1), Masks(new_axis=1, ellipsis=2)),
        ((1, 0, -1), (2, 0, 0), (1, 1, 1), Masks(shrink_axis=5, new_axis=2)),
        ((1,), (2,), (1,), Masks()),
    ],
)
def test_parts_are_those_of_numpy(
    begin: Sequence[int], end: Sequence[int], step: Sequence[int], masks: Masks
) -> None:
    index: list[Any] = []
    for number, (first, last, stride) in enumerate(zip(begin, end, step, strict=True)):
        bits = [mask >> number & 1 for mask in (masks.ellipsis, masks.new_axis, masks.shrink_axis)]
        if any(bits):
            index.append([..., None, first][bits.index(1)])
        else:
            ends = (None if masks.begin >> number & 1 else first, None if masks.end >> number & 1 else last)
            index.append(slice(*ends, stride))
    expected = X[tuple(index)]
    ranges, shape = masked(X.shape, begin, end, step, masks)
    assert shape == expected.shape
    found = run(lambda value: strided(value, ranges), X)
    np.testing.assert_array_equal(found.reshape(shape), expected)


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [(0, 7, 1), (1, 7, 2), (0, 7, 3), (2, 3, 5), (6, -1, -1), (5, 0, -2), (6, -1, -3)],
)
def test_ranges_are_those_of_python(start: int, stop: int, step: int) -> None:
    value, one = np.arange(14, dtype=np.float32).reshape(2, 7), Range(start, stop, step)
    places = list(range(start, stop, step))
    assert one.count == len(places)
    assert np.arange(7)[one.slice].tolist() == places
    np.testing.assert_array_equal(run(lambda x: strided(x, [Range(0, 2), one]), value), value[:, places])


def test_windows_are_as_many_as_fit() -> None:
    for extent, kernel, stride, dilation in product(range(1, 9), (1, 2, 3), (1, 2, 3), (1, 2)):
        reach = (kernel - 1) * dilation + 1
        same = Span.of(extent, kernel, stride, dilation, True)
        missing = (same.count - 1) * stride + reach - extent
        assert same.count == -(-extent // stride)
        assert same.before + same.after == missing
        assert same.before == max(missing, 0) // 2
        if extent >= reach:
            starts = [one for one in range(0, extent, stride) if one + reach <= extent]
            assert Span.of(extent, kernel, stride, dilation, False) == Span(
                0, starts[-1] + reach - extent, len(starts)
            )
        bordered = Span.within(extent, kernel, stride, dilation, (2, 3))
        starts = [one for one in range(-2, extent + 3, stride) if one + reach <= extent + 3]
        if starts:
            assert bordered == Span(2, starts[-1] + reach - extent, len(starts))
    assert padding([Span(1, 2, 3), Span(0, -1, 2)]) == (1, 2, 0, 0)
    assert transposed_padding((9, 7), (4, 4), (3, 2), (2, 2), [Span(1, 0, 4), Span(0, 0, 4)]) == (
        -1,
        1,
        0,
        -1,
    )


@pytest.mark.parametrize(("before", "behind"), [(0, 0), (1, 0), (0, 2), (2, 1)])
def test_borders(before: int, behind: int) -> None:
    pads = ((0, 0), (0, 0), (before, behind))
    border = before, behind
    for function, mode in (
        (lambda x: mirrored(x, 2, border, edge=False), "reflect"),
        (lambda x: mirrored(x, 2, border, edge=True), "symmetric"),
        (lambda x: replicated(x, 2, border), "edge"),
    ):
        made: Any = mode
        np.testing.assert_array_equal(run(function, X), np.pad(X, pads, made))
    expected = np.pad(X, pads, constant_values=7)
    np.testing.assert_array_equal(run(lambda x: padded(x, [(0, 0), (0, 0), border], 7), X), expected)


def test_tensors_grow() -> None:
    np.testing.assert_array_equal(
        run(lambda x: enlarged(x, (2, 5, 4)), X), np.pad(X, ((0, 0), (0, 2), (0, 0)))
    )
    for axis, step in product(range(3), (1, 2, 3)):
        shape = [(extent - 1) * step + 1 if place == axis else extent for place, extent in enumerate(X.shape)]
        expected = np.full(shape, 5, np.float32)
        expected[tuple(slice(None, None, step if place == axis else 1) for place in range(3))] = X
        np.testing.assert_array_equal(run(lambda x, a=axis, s=step: spread(x, a, s, 5), X), expected)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("keep", [True, False])
def test_reductions_along_several_dimensions(axes: tuple[int, ...], keep: bool) -> None:
    expected = X.sum(axes, keepdims=keep)
    assert shape_without(X.shape, axes, keep) == expected.shape
    found = run(lambda x: reduced(lambda one, axis: ops.reduce_sum(one, axis=axis), x, axes, keep), X)
    np.testing.assert_array_equal(found, expected)


def test_dimensions_are_counted_from_both_ends() -> None:
    assert axes_of((-1, 0, 2), 3) == (0, 2)
    for axis in (3, -4):
        with pytest.raises(IndexError, match=f"dimension {axis} of 3"):
            axes_of((axis,), 3)


@pytest.mark.parametrize("extent", range(1, 9))
def test_products_of_integers(extent: int) -> None:
    value = np.arange(1, 2 * extent + 1, dtype=np.int32).reshape(2, extent) % 5 - 2
    np.testing.assert_array_equal(run(lambda x: product_of(x, 1), value), value.prod(1, keepdims=True))


def test_places_of_the_greatest() -> None:
    value = np.array([[3, 9, 9, -1], [-5, -5, -7, -9]], np.int32)
    assert run(lambda x: place_of_greatest(x, 1), value).tolist() == [1, 0]
    assert run(lambda x: place_of_greatest(x, 0), value).tolist() == [0, 0, 0, 0]
    assert run(lambda x: place_of_greatest(x, 1), value > 3).tolist() == [1, 0]
    assert run(lambda x: place_of_greatest(x, 1), value.astype(np.float32)).tolist() == [1, 0]


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_running_sums_and_products(axis: int, exclusive: bool, reverse: bool) -> None:
    value = X % 3 - 1
    turned = np.flip(value, axis) if reverse else value
    for function, whole, nothing in ((running_sums, np.cumsum, 0), (running_products, np.cumprod, 1)):
        expected = whole(turned, axis)
        if exclusive:
            first = np.full_like(np.take(turned, [0], axis), nothing)
            expected = np.concatenate([first, np.delete(expected, -1, axis)], axis)
        expected = np.flip(expected, axis) if reverse else expected
        found = run(lambda x, f=function: f(x, axis, exclusive=exclusive, reverse=reverse), value)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("extent", [1, 2, 3, 4, 5, 12, 13, 16, 17, 49, 64, 65])
@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_of_any_length(axis: int, extent: int) -> None:
    value = np.random.default_rng(extent).integers(-9, 9, (extent, extent), np.int32)
    for function, whole in ((running_sums, np.cumsum), (running_greatest, np.maximum.accumulate)):
        found = run(lambda x, f=function: f(x, axis, exclusive=False, reverse=False), value)
        np.testing.assert_array_equal(found, whole(value, axis))


def test_running_sums_of_rows_take_four_at_a_time() -> None:
    value = np.zeros((128, 256), np.float32)
    made = tj.compile(tj.trace(lambda x: running_sums(x, 0, exclusive=False, reverse=False), value))
    assert len(made.stages["fuse"].values["main"].nests) == 4


PAIRS = np.array([(a, b) for a in (-7, -4, -1, 0, 1, 4, 7) for b in (-3, -2, -1, 1, 2, 3)], np.int32).T.copy()


@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_quotients_and_remainders(kind: type) -> None:
    left, right = (one.astype(kind) for one in PAIRS)
    quotient, rest = run(floored, left, right)
    np.testing.assert_array_equal(quotient, left // right)
    np.testing.assert_array_equal(rest, left % right)
    np.testing.assert_array_equal(run(truncated, left, right), np.trunc(PAIRS[0] / PAIRS[1]))
    np.testing.assert_array_equal(run(remainder, left, right), np.fmod(left, right))


def test_powers() -> None:
    base = np.array([3, -2, 2, -1, -1, 0, 1, 0, 5, -1, 2], np.int32)
    power = np.array([19, 31, 30, 63, 64, 33, 99, 0, 1, 32, 0], np.int32)
    expected = np.array([3**19, -(2**31), 2**30, -1, 1, 0, 1, 1, 5, 1, 1], np.int32)
    np.testing.assert_array_equal(run(integer_power, base, power), expected)
    real = np.array([-2, -2, -2, -2, 0, 0, 0, 2, 2], np.float32)
    exponent = np.array([3, 2, 0.5, -1, 2, 0, -1, 0.5, -2], np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(run(real_power, real, exponent), np.power(real, exponent), rtol=1e-6)


@pytest.mark.parametrize("block", [1, 2, 3])
def test_blocks_become_channels_and_back(block: int) -> None:
    value = np.arange(2 * 6 * 12 * 2, dtype=np.float32).reshape(2, 6, 12, 2)
    parts = value.reshape(2, 6 // block, block, 12 // block, block, 2).transpose(0, 1, 3, 2, 4, 5)
    expected = parts.reshape(2, 6 // block, 12 // block, -1)
    np.testing.assert_array_equal(run(lambda x: space_to_depth(x, block), value), expected)
    np.testing.assert_array_equal(run(lambda x: depth_to_space(x, block), expected), value)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis", "shared", "turned"),
    [
        ((3, 5, 4), 0, 0, False),
        ((3, 5, 8), 1, 0, False),
        ((2, 3, 5, 2), 2, 0, True),
        ((2, 3, 5, 6), 2, 1, False),
    ],
)
def test_elements_along_a_dimension(
    shape: tuple[int, ...], axis: int, shared: int, turned: bool, known: bool
) -> None:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    rng = np.random.default_rng(axis)
    places = rng.integers(0, shape[axis], (*shape[:shared], 2, 3)).astype(np.int32)

    def found(x: tj.Tensor, places: Any) -> tj.Tensor:
        return gathered(x, ops.const(places) if known else places, axis, shared)

    if shared:
        pairs = zip(values, places, strict=True)
        expected = np.stack([np.take(one, at, axis - 1) for one, at in pairs])
    else:
        expected = np.take(values, places, axis)
    given = (values,) if known else (values, places)
    graph = tj.trace(lambda x, at=places: found(x, at), *given)
    np.testing.assert_array_equal(tj.compile(graph, interpret=True)(*given), expected)
    assert any(node.operator.opcode == "TRANSPOSE" for node in graph.nodes) == turned


@pytest.mark.parametrize(("dtype", "bound"), [(np.float32, 6e-7), (np.float16, 4e-3)])
def test_mish_is_near_at_all_sizes(dtype: Any, bound: float) -> None:
    steps = np.linspace(-9, 30, 4001)
    given: Array = np.concatenate([steps, [-60_000.0, 0, 1e-3, -1e-3, 60_000.0]]).astype(dtype)
    exact = given * np.tanh(np.logaddexp(0, given.astype(np.float64)))
    found = run(functions.mish, given).astype(np.float64)
    np.testing.assert_allclose(found, exact, rtol=bound, atol=np.finfo(dtype).tiny)


@pytest.mark.parametrize("blocks", [(2,), (2, 3), (1, 2)])
def test_blocks_become_batches_and_back(blocks: tuple[int, ...]) -> None:
    value = np.arange(2 * 4 * 6 * 3, dtype=np.float32).reshape(2, 4, 6, 3)
    count = len(blocks)
    places = product(*map(range, blocks))
    cuts = [
        (slice(None), *(slice(one, None, block) for one, block in zip(place, blocks, strict=True)))
        for place in places
    ]
    expected = np.concatenate([value[cut] for cut in cuts])
    assert count <= 2
    np.testing.assert_array_equal(run(lambda x: space_to_batch(x, blocks), value), expected)
    np.testing.assert_array_equal(run(lambda x: batch_to_space(x, blocks), expected), value)


def test_elements_by_several_indices() -> None:
    indices = np.array([[[1, 2], [0, 0]], [[1, 0], [0, 1]]], np.int32)
    np.testing.assert_array_equal(run(gathered_nd, X, indices), X[indices[..., 0], indices[..., 1]])
    np.testing.assert_array_equal(run(lambda one: linear(one, (2, 3)), indices), indices @ [3, 1])
    on, off = np.float32(2).reshape(1), np.float32(-1).reshape(1)
    for axis in range(3):
        expected = np.moveaxis(np.where(indices[..., 0][..., None] == np.arange(4), on, off), -1, axis)
        found = run(lambda one, a, b, axis=axis: one_hot(one, axis, 4, a, b), indices[..., 0].copy(), on, off)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((4, 8, 2, 1, 0), True), ((16383, 4, 2, 1, 0), False), ((4, 4, 2048, 2048, 0), True),
        ((4, 4, 2049, 2049, 0), False), ((16, 1, 1, 15, -1), True), ((16, 1, 1, 16, 0), False),
        ((4, 4, 2, 2, -2), True), ((4, 4, 2, 2, -3), False), ((4, 4, 2, 2, 1), True),
        ((4, 4, 2, 2, 2), False),
        ((40, 4, 1, 1, 15), False), ((17, 1, 1, 1, 0), True), ((18, 1, 1, 1, 0), False),
        ((17, 2, 1, 1, 15), True), ((33, 2, 1, 1, 16), False), ((16383, 16383, 1, 1, 0), True),
        ((16384, 16384, 1, 1, 0), False),
    ],
)  # fmt: skip
def test_places_that_resize_takes(numbers: tuple[int, int, int, int, int], expected: bool) -> None:
    assert Sampling(*numbers).allowed == expected


def test_places_that_are_those_of_the_inputs() -> None:
    assert Sampling(4, 4, 3, 3).identical
    for other in (Sampling(4, 5, 3, 3), Sampling(4, 4, 3, 2), Sampling(4, 4, 3, 3, 1)):
        assert not other.identical
    assert Sampling(5, 4, 2, 3, 1).border == 9 - 8 + 1


def test_multipliers_have_31_bits() -> None:
    scales = [1.0, 0.5, 0.75, 2.0**-31, 1 - 2.0**-33, 2.0**28, 2.0**29, 2.0**-32, 2.0**-33, 0.0]
    multipliers, shifts = multipliers_of(scales)
    for scale, multiplier, shift in zip(scales[:6], multipliers.tolist(), shifts.tolist(), strict=False):
        assert 1 << 30 <= multiplier < 1 << 31
        assert abs(multiplier / 2.0**shift - scale) <= scale * 2.0**-31
    assert (multipliers.tolist()[6:], shifts.tolist()[6:]) == (
        [(1 << 31) - 1, 1 << 30, 0, 0],
        [2, 62, 31, 31],
    )
    narrow, small = multipliers_of([1.0, 0.75, 1 - 2.0**-20], 16)
    assert (narrow.tolist(), small.tolist()) == ([16384, 24576, 32767], [14, 15, 15])


def test_numbers_that_rescale_takes() -> None:
    for shift, low, high in ((2, -2, 1), (5, -16, 15)):
        assert allowed(np.array([low, high]), shift)
        assert not allowed(np.array([low - 1, 0]), shift)
        assert not allowed(np.array([0, high + 1]), shift)
    assert not allowed(np.array([0]), 1)
    given = np.array([-3, -2, -1, 0, 1, 2, 3])
    assert rounded_twice(given, 1 << 30, 31).tolist() == [-1, -1, 0, 0, 1, 1, 2]
    assert rounded_twice(given << 1, 1 << 30, 32).tolist() == [-2, -1, -1, 0, 1, 1, 2]


def test_convolutions_take_factors_and_biases_in() -> None:
    image, weights = np.ones((1, 3, 3, 2), np.float32), np.arange(6, dtype=np.float32).reshape(3, 1, 1, 2)
    factors, bias = np.array([2, 3, 4], np.float64), np.array([5, 6, 7], np.float64)
    own = np.array([1, 1, 2], np.float32)
    taken: list[bool] = []

    def scaled(x: Any, *, between: Any = None) -> Any:
        made = ops.conv2d(x, weights, own)
        found = convolved(made if between is None else between(made), factors, bias)
        taken.append(found is not None)
        return made if found is None else found

    expected = (image @ weights.reshape(3, 2).T + own) * factors + bias
    np.testing.assert_allclose(run(scaled, image), expected)
    flat = run(lambda x: scaled(x, between=lambda made: ops.reshape(made, (9, 3))), image)
    np.testing.assert_allclose(flat, expected.reshape(9, 3))
    run(lambda x: scaled(x, between=ops.tanh), image)
    run(lambda x: scaled(x, between=lambda made: ops.reshape(made, (27,))), image)
    run(lambda x: scaled(x, between=lambda made: ops.reshape(made, (3, 9))), image)
    assert taken == [True, True, False, False, False]


def test_depthwise_convolutions_take_factors_in_by_channel() -> None:
    image, weights = np.ones((1, 3, 3, 2), np.float32), np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    factors, bias = np.array([1, 2, 3, 4], np.float64), np.array([5, 6, 7, 8], np.float64)

    def scaled(x: Any) -> Any:
        return convolved(ops.depthwise_conv2d(x, weights, np.zeros(4, np.float32)), factors, bias)

    np.testing.assert_allclose(run(scaled, image), np.broadcast_to([5, 8, 13, 20], (1, 3, 3, 4)))


def test_a_bias_alone_needs_no_known_weights() -> None:
    image, weights = np.ones((1, 2, 2, 1), np.float32), np.full((1, 1, 1, 1), 3, np.float32)
    bias = np.array([5.0])

    def more(x: Any, w: Any) -> Any:
        return convolved(ops.conv2d(x, w, np.ones(1, np.float32)), None, bias)

    np.testing.assert_allclose(run(more, image, weights), np.full((1, 2, 2, 1), 9))
    tj.trace(lambda x, w: refused(ops.conv2d(x, w, np.ones(1, np.float32)), bias), image, weights)


def refused(value: Any, bias: Array) -> Any:
    assert convolved(value, np.array([2.0]), bias) is None
    assert convolved(value, None, np.zeros(2)) is None
    return value


POWERS = [max(0, (1 << bits) + near) for bits in range(31) for near in (-1, 0, 1)]
POSITIVE = np.array(sorted({*POWERS, 7, 1000, 123_456_789, (1 << 31) - 1}), np.int32)


def test_roots_in_fixed_point_are_near_those_of_real_numbers() -> None:
    root, bits = run(fixed.inverse_root, POSITIVE)
    some = POSITIVE > 1
    found = root[some] / 2.0**31 / 2.0 ** bits[some]
    np.testing.assert_allclose(found, 1 / np.sqrt(POSITIVE[some]), rtol=1.5e-6)
    assert root[~some].tolist() == [(1 << 31) - 1] * 2  # there is no root of zero, and one is the greatest
    assert bits[~some].tolist() == [0, 0]


def test_reciprocals_in_fixed_point_are_near_those_of_real_numbers() -> None:
    halves = np.linspace(1 << 30, (1 << 31) - 1, 50).astype(np.int64).astype(np.int32)
    found = run(fixed.reciprocal, halves) / 2.0**30
    np.testing.assert_allclose(found, 1 / (2 * (halves / 2.0**31)), rtol=5e-9)


@pytest.mark.parametrize(("integer_bits", "result_bits"), [(15, 4), (20, 5), (10, 4)])
def test_logarithms_in_fixed_point_are_near_those_of_real_numbers(
    integer_bits: int, result_bits: int
) -> None:
    given = np.unique(np.geomspace(1 << (31 - integer_bits), (1 << 31) - 1, 60).astype(np.int64)).astype(
        np.int32
    )
    found = run(lambda value: fixed.logarithm(value, integer_bits, result_bits), given)
    exact = np.log(given / 2.0 ** (31 - integer_bits))
    np.testing.assert_allclose(found / 2.0 ** (31 - result_bits), exact, atol=2e-8 * 2**result_bits)


@pytest.mark.parametrize("bits", [0, 1, 5, 30])
def test_quotients_by_powers_of_two_round_halves_away(bits: int) -> None:
    given = np.array([-(1 << 30), -97, -48, -16, -3, -1, 0, 1, 2, 16, 48, 97, 1 << 30], np.int32)
    exact = [int(np.sign(one)) * ((abs(int(one)) + ((1 << bits) >> 1)) >> bits) for one in given]
    assert not bits or run(lambda value: fixed.divided(value, bits), given).tolist() == exact
    shifts = np.full(given.shape, bits, np.int32)
    assert run(lambda value, by: fixed.divided(value, by), given, shifts).tolist() == exact


def test_numbers_are_raised_to_the_greatest_one_at_most() -> None:
    given = np.array([0, 1, (1 << 26) - 1, (1 << 26), (1 << 31) - 1], np.int32)
    exact = [min(int(one) << 5, (1 << 31) - 1) for one in given]
    assert run(lambda value: fixed.raised(value, 5), given).tolist() == exact


def counted(extent: int, reach: int, step: int, border: tuple[int, int], ceil: bool) -> int:
    """Windows within the border; with `ceil` one that takes what is left too, if it begins in front of it."""
    before, behind = border
    starts = range(-before, extent + behind + 1, step)
    inside = [start for start in starts if start + reach <= extent + behind]
    left = inside[-1] + reach < extent + behind
    return len(inside) + int(ceil and left and inside[-1] + step < extent)


@pytest.mark.parametrize("ceil", [False, True])
def test_windows_of_pools_may_reach_beyond_the_border(ceil: bool) -> None:
    for extent, reach, step, before, behind in product(
        range(1, 8), range(1, 5), range(1, 5), (0, 1), (0, 1, 2)
    ):
        if extent + before + behind >= reach:
            span = PoolAttributes((reach,), ceil_mode=ceil)._span(extent, reach, step, (before, behind))
            assert span.before == before
            assert span.count == counted(extent, reach, step, (before, behind), ceil)
            assert span.after == (span.count - 1) * step - before + reach - extent
