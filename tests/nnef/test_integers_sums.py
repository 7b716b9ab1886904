"""Products of matrices and transposed convolutions in integers, against NumPy and rounded numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tosajit as tj
from tests.nnef.quantizing import Array, Model, Q, steps_apart
from tests.nnef.test_integers_whole import biased, scaled
from tosajit import nnef

BYTES, WORDS, RESULT, WIDE = Q(0.05, 3), Q(0.0003, bits=16), Q(0.2, -20), Q(0.0005, bits=16)
FIVE, THREE = (0.01, 0.02, 0.03, 0.01, 0.05), (0.01, 0.02, 0.03)


def linear(form: Q, weights: Q, result: Q) -> Model:
    """Rows times weights."""
    said = {"x": form, "k": weights, "y": result}
    return Model("y = nn.linear(x, k, b);", {"x": (3, 7)}, said, (3, 5), {"k": (5, 7), "b": (5,)})


def deconv(weights: Q, attributes: str, output: tuple[int, ...], kernel: tuple[int, ...]) -> Model:
    """A transposed convolution."""
    channels = output[1]
    return Model(
        f"c = nn.deconv{{{attributes}}}(x, k, b); y = nn.relu(c);", {"x": (1, 4, 5, 6)[: len(output)]},
        {"x": BYTES, "k": weights, "y": RESULT}, output, {"k": kernel, "b": (channels,)},
    )  # fmt: skip


EACH = Q(THREE, symmetric=True, axis=1)
SUMS = {
    "linear": linear(BYTES, Q(FIVE, symmetric=True), RESULT),
    "linear16": linear(WORDS, Q(FIVE, symmetric=True), WIDE),
    "linear_moved": linear(BYTES, Q(0.02, -9), RESULT),
    "linear4": linear(BYTES, Q(0.2, symmetric=True, bits=4), RESULT),
    "conv1": Model(
        "y = nn.conv{padding=[1, 1], stride=2}(x, k, b);", {"x": (2, 4, 9)},
        {"x": BYTES, "k": Q(0.01, symmetric=True), "y": RESULT}, (2, 6, 5), {"k": (6, 4, 3), "b": (6,)},
    ),
    "conv3": Model(
        "y = nn.conv{padding=1}(x, k, b);", {"x": (1, 2, 3, 4, 5)},
        {"x": BYTES, "k": Q(0.01, symmetric=True), "y": RESULT}, (1, 6, 3, 4, 5),
        {"k": (6, 2, 3, 3, 3), "b": (6,)},
    ),
    "dilated": Model(
        "y = nn.conv{padding=2, dilation=2}(x, k, b);", {"x": (1, 4, 9, 7)},
        {"x": BYTES, "k": Q((0.01, 0.04), symmetric=True), "y": RESULT}, (1, 2, 9, 7),
        {"k": (2, 4, 3, 3), "b": (2,)},
    ),
    "last": Model(
        "y = nn.conv{padding=1, data_format='NXC', filter_format='NXC'}(x, k, b);", {"x": (1, 5, 6, 4)},
        {"x": BYTES, "k": Q((0.01, 0.04), symmetric=True), "y": RESULT}, (1, 5, 6, 2),
        {"k": (2, 3, 3, 4), "b": (2,)},
    ),
    "deconv": deconv(EACH, "stride=2, padding=1", (1, 3, 9, 11), (4, 3, 3, 3)),
    "deconv_groups": deconv(EACH, "stride=2, padding=1, groups=2", (1, 6, 9, 11), (4, 3, 3, 3)),
    "deconv_gaps": deconv(EACH, "dilation=2, padding=5", (1, 3, 1, 2), (4, 3, 4, 4)),
    "matmul16": Model(
        "y = linalg.matmul(x, z);", {"x": (2, 3, 7), "z": (2, 7, 4)},
        {"x": WORDS, "z": Q(0.0007, bits=16), "y": Q(0.002, bits=16)}, (2, 3, 4),
    ),
    "matmul_turned": Model(
        "y = linalg.matmul{transB=true}(x, k);", {"x": (2, 3, 7)},
        {"x": BYTES, "k": Q(FIVE, symmetric=True), "y": RESULT}, (2, 3, 5), {"k": (5, 7)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_products_are_a_step_from_those_of_rounded_numbers(name: str) -> None:
    assert SUMS[name].graph().notes == ()
    apart = steps_apart(SUMS[name])
    assert apart.max() <= (2 if "16" in name else 1)


def integer_rows(model: Model) -> Array:
    """What rows times weights are, by their integers."""
    form, weights, result = (model.said[one] for one in ("x", "k", "y"))
    assert isinstance(form, Q)
    assert isinstance(weights, Q)
    assert isinstance(result, Q)
    (given,) = model.integers
    kernel = weights.integers(model.weights["k"]).astype(np.int64) - weights.zero
    total = (given.astype(np.int64) - form.zero) @ kernel.T
    scales = np.broadcast_to(np.array(weights.scale) * form.scale, (5,)).reshape(1, 5)
    total = biased(total, model.weights["b"].reshape(1, 5), scales)
    return scaled(total, scales / result.scale, result)


@pytest.mark.parametrize("name", ["linear", "linear16", "linear_moved", "linear4"])
def test_rows_times_weights_are_what_their_integers_say(name: str) -> None:
    np.testing.assert_array_equal(SUMS[name].run(), integer_rows(SUMS[name]))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"k": Q(0.001, bits=16)}, "its operands are INT8 and INT16, which TOSA does not multiply"),
        ({"k": Q((0.01,) * 6 + (0.02,), symmetric=True, axis=1)},
         "its scales are along dimension 1, but those of results along 0"),
        ({"k": Q((0.01, 0.02, 0.03, 0.04, 0.05), 3, axis=0)}, None),
        ({}, "k is not quantised"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit_leave_products_real(said: dict[str, Q], reason: str | None) -> None:
    model = SUMS["linear"]
    given = {name: one for name, one in model.said.items() if name != "k"}
    found = replace(model, said={**given, **said})
    notes = found.graph().notes
    assert notes == (() if reason is None else (f"y (nn.linear) is in floating point: {reason}",))
    assert steps_apart(found).max() <= 1


def test_a_bias_that_is_computed_leaves_a_convolution_real() -> None:
    model = Model(
        "y = nn.linear(x, k, z);", {"x": (3, 7), "z": (5,)},
        {"x": BYTES, "k": Q(0.02, symmetric=True), "y": RESULT}, (3, 5), {"k": (5, 7)},
    )  # fmt: skip
    assert model.graph().notes == (
        "y (nn.linear) is in floating point: z is computed, and a bias must be a constant",
    )
    assert steps_apart(model).max() == 0


@pytest.mark.parametrize("operator", ["conv", "linear"])
def test_sums_take_in_a_normalisation(operator: str) -> None:
    shape, kernel, output = (
        ((1, 2, 5, 6), (3, 2, 3, 3), (1, 3, 5, 6)) if operator == "conv" else ((4, 7), (3, 7), (4, 3))
    )
    attributes = "{padding=1}" if operator == "conv" else ""
    model = Model(
        f"c = nn.{operator}{attributes}(x, k, b); n = nn.batch_norm(c, m, v, o, s); y = nn.relu(n);",
        {"x": shape}, {"x": BYTES, "k": Q(THREE, symmetric=True), "y": RESULT}, output,
        {"k": kernel, **dict.fromkeys("bmvso", (3,))},
    )  # fmt: skip
    weights = {
        **model.weights,
        "v": np.array([0.3, 2, 0.9], np.float32),
        "s": np.array([1, -0.7, 2], np.float32),
    }
    graph = nnef.parse(model.text, weights=weights, quantized=True)
    assert graph.notes == ()
    rounded = RESULT.integers(tj.compile(nnef.parse(model.text, weights=weights))(*model.feeds))
    found = tj.compile(graph, checked=True)(*model.integers)
    assert np.abs(found.astype(np.int64) - rounded).max() <= 1
    assert len(set(found.reshape(-1).tolist())) > 4  # they do not saturate


@pytest.mark.parametrize(
    ("scale", "reason"),
    [([1, 0, 2], "a factor of its normalisation is 0, or no number"),
     ([1, float("inf"), 2], "a factor of its normalisation is 0, or no number")],
)  # fmt: skip
def test_a_normalisation_that_sums_cannot_take_in_stays_real(scale: list[float], reason: str) -> None:
    model = Model(
        "c = nn.linear(x, k, b); n = nn.batch_norm(c, m, v, o, s); y = nn.relu(n);", {"x": (4, 7)},
        {"x": BYTES, "k": Q(THREE, symmetric=True), "y": RESULT}, (4, 3),
        {"k": (3, 7), **dict.fromkeys("bmvso", (3,))},
    )  # fmt: skip
    given = {**model.weights, "v": np.ones(3, np.float32), "s": np.array(scale, np.float32)}
    assert f"c (nn.linear) is in floating point: {reason}" in model.graph(given).notes
