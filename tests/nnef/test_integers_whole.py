"""Quantised networks in integers, bit by bit: against NumPy, by what TOSA says of its operators."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nnef.quantizing import Array, Model, Q, steps_apart


def scaled(total: Array, scale: Any, said: Q) -> Array:
    """RESCALE with SINGLE_ROUND (TOSA 1.0.1 section 2.13.2): 31 bits of a scale, or 15 of sums of 48 bits."""
    bits = 15 if said.bits > 8 else 31
    results = np.zeros(total.shape, np.int64)
    scales = np.broadcast_to(np.array(scale, np.float64), total.shape)
    for place in np.ndindex(total.shape):
        exact = Fraction(float(scales[place]))
        shift = bits
        while exact * 2**shift >= 2**bits:
            shift -= 1
        while exact * 2**shift < 2 ** (bits - 1):
            shift += 1
        multiplier = rounded(exact * 2**shift, bits)
        results[place] = (int(total[place]) * multiplier + 2 ** (shift - 1)) >> shift
    inside = said.zero - (128 if said.dtype is np.uint8 else 0)
    offset = 128 if said.dtype is np.uint8 else 0
    low, high = said.ends
    return np.clip(results + inside, low - offset, high - offset) + offset


def rounded(number: Fraction, bits: int) -> int:
    """A multiplier: 31 bits rounded to the next, from which 15 are rounded again."""
    if bits == 31:
        return int(number + Fraction(1, 2))
    return min((int(number * 2**16 + Fraction(1, 2)) + 2**15) >> 16, 2**15 - 1)


def biased(total: Array, bias: Array, scales: Array) -> Array:
    places = bias.astype(np.float64) / scales
    whole = np.copysign(np.floor(np.abs(places) + 0.5), places).astype(np.int64)
    found: Array = total + whole
    return found


def convolved(image: Array, kernel: Array, padding: int, stride: int, groups: int) -> Array:
    """Sums of products, batch and channels first."""
    wide = np.pad(image, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, kernel.shape[2:], (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    count, depth = kernel.shape[0] // groups, kernel.shape[1]
    parts = [
        np.einsum(
            "bcyxij,ocij->boyx",
            windows[:, one * depth : (one + 1) * depth],
            kernel[one * count : (one + 1) * count],
        )
        for one in range(groups)
    ]
    return np.concatenate(parts, axis=1)


def conv(
    form: Q, weights: Q, result: Q, *, groups: int = 1, channels: int = 4, count: int = 6, stride: int = 1,
    size: tuple[int, int] = (7, 5), seed: int = 0, relu: bool = False,
) -> tuple[Model, Array]:  # fmt: skip
    """A convolution, and what it gives in integers."""
    shape = (2, channels, *size)
    kernel = (count, channels // groups, 3, 3)
    attributes = f"padding=[1, 1, 1, 1], stride={stride}, groups={groups}"
    compose = f"c = nn.conv{{{attributes}}}(x, k, b); y = {'nn.relu(c)' if relu else 'math.iden(c)'};"
    output = (2, count, *(-(-one // stride) for one in size))
    model = Model(
        compose, {"x": shape}, {"x": form, "k": weights, "y": result}, output,
        {"k": kernel, "b": (count,)}, seed,
    )  # fmt: skip
    (given,), own = model.integers, model.weights
    total = convolved(
        given.astype(np.int64) - form.zero, weights.integers(own["k"]).astype(np.int64) - weights.zero,
        1, stride, groups,
    )  # fmt: skip
    assert isinstance(form.scale, float)
    scales = np.broadcast_to(np.array(weights.scale) * form.scale, (count,)).reshape(1, -1, 1, 1)
    total = biased(total, own["b"].reshape(1, -1, 1, 1), scales)
    assert isinstance(result.scale, float)
    found = scaled(total, scales / result.scale, result)
    return model, np.maximum(found, result.zero) if relu else found


CHANNELS = (0.01, 0.02, 0.005, 0.013, 0.0077, 0.031)
BYTES, BARE, WORDS = Q(0.04, 5), Q(0.04, 120, signed=False), Q(0.0003, bits=16)
RESULT, BARE_RESULT, WIDE = Q(0.11, -20), Q(0.09, 97, signed=False), Q(0.0004, bits=16)
ALL, EACH = Q(0.02, symmetric=True), Q(CHANNELS, symmetric=True)


@pytest.mark.parametrize("weights", [ALL, EACH, Q(0.02, 9)], ids=["all", "each", "moved"])
@pytest.mark.parametrize(
    ("form", "result"),
    [(BYTES, RESULT), (BARE, BARE_RESULT), (WORDS, WIDE), (BYTES, Q(0.2, 3, bits=6))],
    ids=["int8", "uint8", "int16", "bits6"],
)
@pytest.mark.parametrize(("groups", "channels"), [(1, 3), (2, 4), (6, 6)])
@pytest.mark.parametrize("relu", [False, True])
def test_a_convolution_is_what_its_integers_say(
    form: Q, result: Q, weights: Q, groups: int, channels: int, relu: bool
) -> None:
    if form.bits == 16 and weights.zero:
        weights = replace(weights, zero=0)
    model, expected = conv(form, weights, result, groups=groups, channels=channels, relu=relu)
    assert model.graph().notes == ()
    np.testing.assert_array_equal(model.run(), expected)
    apart = steps_apart(model)
    assert apart.max() <= (2 if form.bits == 16 else 1)  # 15 bits of a scale leave half a step of 16
    assert np.mean(apart <= 1) > 0.98


@settings(max_examples=25, deadline=None)
@given(
    st.floats(1e-4, 10.0), st.integers(-128, 127), st.lists(st.floats(1e-5, 3.0), min_size=3, max_size=3),
    st.floats(1e-3, 100.0), st.integers(-128, 127), st.integers(1, 3), st.integers(0, 99),
)  # fmt: skip
def test_convolutions_of_any_scales_are_what_their_integers_say(
    scale: float, zero: int, each: list[float], coarse: float, point: int, stride: int, seed: int
) -> None:
    weights = Q(tuple(each), symmetric=True)
    model, expected = conv(
        Q(scale, zero), weights, Q(coarse * scale * max(each), point),
        channels=2, count=3, stride=stride, size=(5, 4), seed=seed,
    )  # fmt: skip
    np.testing.assert_array_equal(model.run(), expected)
