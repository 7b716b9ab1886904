"""Float graphs become integers that are near them, whatever operators they have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.cli import main
from tosajit.quantization.elements import OPCODES
from tosajit.quantization.equalizing import equalized
from tosajit.quantization.observing import _divergence, _least_divergence, _quantiles
from tosajit.quantization.rules import RULES

RANDOM = np.random.default_rng(3)


def normal(*shape: int, scale: float = 1.0) -> Any:
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def positive(*shape: int) -> Any:
    return RANDOM.uniform(0.3, 3, shape).astype(np.float32)


def drawn(make: Callable[..., Any], shape: tuple[int, ...], count: int = 6) -> list[Any]:
    return [make(*shape) for _ in range(count)]


IMAGE, ROW = (1, 8, 8, 4), (1, 6, 16)
BIAS, NUMBER = normal(6), np.ones((1, 1, 1), np.float32)
CHOSEN = RANDOM.random(ROW) > 0.5
WEIGHT, DEPTHWISE = normal(6, 3, 3, 4, scale=0.2), normal(3, 3, 4, 2, scale=0.3)
VOLUME, CUBE = (1, 4, 5, 5, 3), normal(4, 2, 2, 2, 3, scale=0.3)
SHIFTS = positive(1, 1, 16)
SINGLE: dict[str, tuple[Callable[[Any], Any], Callable[..., Any], tuple[int, ...], float]] = {
    "CONV2D": (lambda x: ops.conv2d(x, WEIGHT, normal(6), pad=(1, 1, 1, 1)), normal, IMAGE, 30),
    "CONV3D": (lambda x: ops.conv3d(x, CUBE, normal(4)), normal, VOLUME, 30),
    "DEPTHWISE_CONV2D": (lambda x: ops.depthwise_conv2d(x, DEPTHWISE, normal(8)), normal, IMAGE, 30),
    "TRANSPOSE_CONV2D": (lambda x: ops.transpose_conv2d(x, WEIGHT, BIAS, stride=(2, 2)), normal, IMAGE, 30),
    "MATMUL": (lambda x: ops.matmul(x, ops.transpose(x, perms=(0, 2, 1))), normal, ROW, 27),
    "REDUCE_SUM": (lambda x: ops.reduce_sum(x, axis=2), positive, ROW, 35),
    "REDUCE_MAX": (lambda x: ops.reduce_max(x, axis=2), normal, ROW, 35),
    "REDUCE_MIN": (lambda x: ops.reduce_min(x, axis=2), normal, ROW, 35),
    "RESIZE": (lambda x: ops.resize(x, (4, 2, 4, 2), (0, 0), (2, 2), "BILINEAR"), normal, IMAGE, 30),
    "AVG_POOL2D": (lambda x: ops.avg_pool2d(x, kernel=(2, 2), stride=(2, 2)), normal, IMAGE, 25),
    "MAX_POOL2D": (lambda x: ops.max_pool2d(x, kernel=(2, 2), stride=(2, 2)), normal, IMAGE, 30),
    "PAD": (lambda x: ops.pad(x, (0, 0, 1, 1, 2, 0), np.array([0.5], np.float32)), normal, ROW, 30),
    "GATHER": (lambda x: ops.gather(x, np.array([[3, 0, 3]], np.int32)), normal, ROW, 30),
    "CONCAT": (lambda x: ops.concat([x, ops.mul(x, 3 * NUMBER)], axis=1), normal, ROW, 30),
    "SELECT": (lambda x: ops.select(CHOSEN, x, ops.negate(x)), positive, ROW, 30),
    "RESHAPE": (lambda x: ops.reshape(x, (16, 6)), normal, ROW, 30),
    "TRANSPOSE": (lambda x: ops.transpose(x, perms=(0, 2, 1)), normal, ROW, 30),
    "SLICE": (lambda x: ops.slice(x, (0, 1, 2), (1, 3, 5)), normal, ROW, 30),
    "TILE": (lambda x: ops.tile(x, (1, 2, 1)), normal, ROW, 30),
    "REVERSE": (lambda x: ops.reverse(x, axis=1), normal, ROW, 30),
    "IDENTITY": (lambda x: ops.identity(x), normal, ROW, 30),
    "ABS": (lambda x: ops.abs(x), normal, ROW, 30),
    "CEIL": (lambda x: ops.ceil(ops.mul(x, 8.0 * NUMBER)), normal, ROW, 20),
    "FLOOR": (lambda x: ops.floor(ops.mul(x, 8.0 * NUMBER)), normal, ROW, 20),
    "CLAMP": (lambda x: ops.clamp(x, min_val=-0.5, max_val=0.7), normal, ROW, 30),
    "COS": (lambda x: ops.cos(x), normal, ROW, 30),
    "ERF": (lambda x: ops.erf(x), normal, ROW, 30),
    "EXP": (lambda x: ops.exp(x), normal, ROW, 30),
    "LOG": (lambda x: ops.log(x), positive, ROW, 25),
    "MAXIMUM": (lambda x: ops.maximum(x, ops.negate(x)), normal, ROW, 30),
    "MINIMUM": (lambda x: ops.minimum(x, SHIFTS), normal, ROW, 30),
    "NEGATE": (lambda x: ops.negate(x), normal, ROW, 30),
    "POW": (lambda x: ops.pow(x, 2.5 * NUMBER), positive, ROW, 30),
    "RECIPROCAL": (lambda x: ops.reciprocal(x), positive, ROW, 30),
    "RSQRT": (lambda x: ops.rsqrt(x), positive, ROW, 30),
    "SIGMOID": (lambda x: ops.sigmoid(x), normal, ROW, 30),
    "SIN": (lambda x: ops.sin(x), normal, ROW, 30),
    "SUB": (lambda x: ops.sub(x, ops.reverse(x, axis=1)), normal, ROW, 30),
    "ADD": (lambda x: ops.add(x, SHIFTS), normal, ROW, 30),
    "MUL": (lambda x: ops.mul(x, SHIFTS), normal, ROW, 30),
    "TANH": (lambda x: ops.tanh(x), normal, ROW, 30),
}  # fmt: skip
"""For each operator a function, what draws its argument, and the decibels that bytes must reach."""


def test_each_operator_with_a_rule_has_a_case() -> None:
    assert SINGLE.keys() == RULES.keys() | OPCODES


@pytest.mark.parametrize("activations", ["int8", "int16"])
@pytest.mark.parametrize("opcode", sorted(SINGLE))
def test_operators_become_integers_that_are_near(opcode: str, activations: Any) -> None:
    function, make, shape, least = SINGLE[opcode]
    samples = drawn(make, shape)
    found = tj.quantize(function, samples, activations=activations)
    allowed = {"RESIZE"} if opcode == "RESIZE" and activations == "int16" else set()
    assert {one.opcode for one in found.stayed} <= allowed
    assert tj.validate(found.graph) == ()
    sqnr = found.accuracy(samples).sqnr
    assert sqnr > least, f"{sqnr:.1f} dB"
    if activations == "int16" and opcode not in ("CEIL", "FLOOR"):
        assert sqnr > least + 12, f"{sqnr:.1f} dB"


def encoder(x: Any) -> Any:
    """One layer of a transformer, as front ends write it."""
    scale = np.full((1, 1, 1), 1 / 16, np.float32)
    mean = ops.mul(ops.reduce_sum(x, axis=2), scale)
    centred = ops.sub(x, mean)
    variance = ops.mul(ops.reduce_sum(ops.mul(centred, centred), axis=2), scale)
    normed = ops.mul(centred, ops.rsqrt(ops.add(variance, np.full((1, 1, 1), 1e-3, np.float32))))
    scores = ops.matmul(normed, ops.transpose(normed, perms=(0, 2, 1)))
    powers = ops.exp(ops.sub(scores, ops.reduce_max(scores, axis=2)))
    shares = ops.mul(powers, ops.reciprocal(ops.reduce_sum(powers, axis=2)))
    return ops.add(x, ops.matmul(shares, normed))


def test_norms_and_softmax_need_no_real_numbers() -> None:
    samples = drawn(normal, ROW)
    found = tj.quantize(encoder, samples)
    assert found.stayed == ()
    types = {value.dtype.name for value in found.graph.main.values.values()}
    assert types <= {"INT8", "INT16", "INT32", "BOOL", "SHAPE"}
    assert "EXP" not in {node.operator.opcode for node in found.graph.nodes}
    assert found.accuracy(samples).sqnr > 30


@pytest.mark.parametrize("low", [-1e9, -1e4, float(np.finfo(np.float32).min)])
def test_masks_do_not_widen_ranges(low: float) -> None:
    mask = np.where(np.arange(6) < 4, 0, low).astype(np.float32).reshape(1, 1, 6)

    def masked(x: Any) -> Any:
        scores = ops.add(ops.matmul(x, ops.transpose(x, perms=(0, 2, 1))), mask)
        powers = ops.exp(ops.sub(scores, ops.reduce_max(scores, axis=2)))
        return ops.mul(powers, ops.reciprocal(ops.reduce_sum(powers, axis=2)))

    samples = [normal(1, 6, 16, scale=0.5) for _ in range(6)]
    found = tj.quantize(masked, samples)
    result = found(samples[0])
    assert found.stayed == ()
    assert np.all(result[..., 4:] == 0)
    assert found.accuracy(samples).sqnr > 25


def unequal(x: Any) -> Any:
    """Two convolutions whose channels differ by factors of a thousand."""
    generator = np.random.default_rng(5)
    factors = np.geomspace(0.03, 30, 8).astype(np.float32)
    first = generator.standard_normal((8, 1, 1, 4)).astype(np.float32) * factors.reshape(8, 1, 1, 1)
    second = generator.standard_normal((6, 3, 3, 8)).astype(np.float32) / factors
    hidden = ops.clamp(ops.conv2d(x, first, np.zeros(8, np.float32)), min_val=0.0, max_val=float("inf"))
    return ops.conv2d(hidden, second, np.zeros(6, np.float32))


def test_equalising_keeps_the_function_and_helps_weights_of_one_scale() -> None:
    samples = drawn(normal, IMAGE)
    graph = tj.trace(unequal, samples[0])
    same = tj.compile(equalized(graph))(samples[0])
    np.testing.assert_allclose(same, tj.compile(graph)(samples[0]), rtol=1e-4, atol=1e-4)
    plain, even = (
        tj.quantize(graph, samples, per_channel=False, equalize=one).accuracy(samples).sqnr
        for one in (False, True)
    )
    assert even > plain + 10


def test_scales_by_channel_are_better_than_one() -> None:
    samples = drawn(normal, IMAGE)
    factors = np.geomspace(0.01, 1, 6).astype(np.float32)
    weights = normal(6, 3, 3, 4) * factors.reshape(6, 1, 1, 1)

    def layer(x: Any) -> Any:
        found = ops.conv2d(x, weights, np.zeros(6, np.float32))
        return ops.mul(found, (1 / factors).reshape(1, 1, 1, 6))

    many, one = (
        tj.quantize(layer, samples, per_channel=each).accuracy(samples).sqnr for each in (True, False)
    )
    assert many > one + 6


def test_percentiles_leave_out_what_is_rare() -> None:
    counts = np.zeros(2048)
    counts[1024], counts[2047] = 9999, 1
    assert _quantiles(counts, (-1.0, 1.0), 99.9) == (0.0, 1 / 1024)
    assert _quantiles(counts, (-1.0, 1.0), 100.0)[1] == 1.0


def test_entropy_cuts_off_long_tails_and_keeps_short_ones() -> None:
    edges = np.linspace(-20, 20, 2049)
    places = (edges[:-1] + edges[1:]) / 2
    bell = np.round(1e6 * np.exp(-(places**2) / 2))
    bell[-1] = 1
    assert _least_divergence(bell, (-20.0, 20.0))[1] < 8
    flat = np.ones(2048)
    assert _least_divergence(flat, (-20.0, 20.0)) == (-20.0, 20.0)
    assert _divergence(np.zeros(2048), 256) == float("inf")


@pytest.mark.parametrize("observer", ["minmax", "percentile", "entropy"])
def test_observers_give_networks_that_work(observer: Any) -> None:
    samples = drawn(normal, IMAGE, 20)
    found = tj.quantize(lambda x: ops.conv2d(x, WEIGHT, BIAS), samples, observer=observer)
    assert found.accuracy(samples).sqnr > 25


def test_ends_can_stay_real() -> None:
    samples = drawn(normal, IMAGE)
    found = tj.quantize(unequal, samples, ends="real")
    assert {value.dtype for value in (*found.graph.inputs, *found.graph.outputs)} == {tj.FP32}
    whole = tj.quantize(unequal, samples)
    assert {value.dtype for value in (*whole.graph.inputs, *whole.graph.outputs)} == {tj.INT8}
    np.testing.assert_allclose(found(samples[0]), whole(samples[0]), atol=1e-4)


def test_what_is_kept_stays_real_and_is_listed() -> None:
    samples = drawn(normal, IMAGE)
    graph = tj.trace(unequal, samples[0])
    last = graph.outputs[0].name
    found = tj.quantize(graph, samples, keep=[last])
    assert [(one.name, one.opcode) for one in found.stayed] == [(last, "CONV2D")]
    assert last in str(found)


def test_names_of_the_float_graph_remain() -> None:
    samples = drawn(normal, IMAGE)
    graph = tj.trace(unequal, samples[0])
    found = tj.quantize(graph, samples)
    assert [value.name for value in found.graph.inputs] == [value.name for value in graph.inputs]
    assert [value.name for value in found.graph.outputs] == [value.name for value in graph.outputs]


def test_results_run_on_machines_and_come_back_from_files(tmp_path: Path) -> None:
    samples = drawn(normal, IMAGE)
    found = tj.quantize(unequal, samples)
    tj.save(found.graph, tmp_path / "model.tosa")
    integers = found.integers(samples[0])
    expected = tj.compile(found.graph)(*integers)
    assert np.array_equal(tj.compile(tj.load(tmp_path / "model.tosa"))(*integers), expected)
    assert np.array_equal(tj.compile(found.graph, machine="ethos-u55-128")(*integers), expected)
    assert (
        tj.simulate(found.graph, "ethos-u55-128").cycles < tj.simulate(found.source, "ethos-u55-128").cycles
    )


def test_quantising_twice_gives_the_same_graph() -> None:
    samples = drawn(normal, ROW)
    assert str(tj.quantize(encoder, samples).graph) == str(tj.quantize(encoder, samples).graph)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "samples has none"),
        ([normal(1, 8, 8, 5)], "shape"),
        ([{"y": normal(*IMAGE)}], "lacks x"),
        ([(normal(*IMAGE), normal(*IMAGE))], "has 2 arrays"),
        ([np.full(IMAGE, np.nan, np.float32)], "not a number"),
        ({"x": normal(*IMAGE)}, "one dictionary"),
        (normal(3, 9), "one array of shape"),
    ],
)
def test_unfit_samples_are_refused(samples: Any, message: str) -> None:
    graph = tj.trace(lambda x: unequal(x), tj.Value("x", tj.FP32, IMAGE))
    with pytest.raises(tj.TosaError, match=message):
        tj.quantize(graph, samples)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activations": "int4"}, "activations is 'int4', but must be 'int8' or 'int16'"),
        ({"observer": "mean"}, "observer is 'mean'"),
        ({"percentile": 20}, "percentile is 20"),
        ({"ends": "float"}, "ends is 'float'"),
        ({"keep": ["nothing*"]}, "keep: no value is called 'nothing\\*'"),
    ],
)
def test_wrong_options_are_refused(options: Any, message: str) -> None:
    with pytest.raises(tj.CompileError, match=message):
        tj.quantize(unequal, drawn(normal, IMAGE), **options)


def test_graphs_without_real_numbers_are_refused() -> None:
    with pytest.raises(tj.CompileError, match="nothing to quantise"):
        tj.quantize(lambda x: ops.abs(x), [np.ones(4, np.int32)])


def test_the_command_line_writes_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = np.concatenate(drawn(normal, IMAGE))
    tj.save(
        tj.trace(lambda x: ops.conv2d(x, WEIGHT, BIAS), tj.Value("x", tj.FP32, IMAGE)),
        tmp_path / "float.tosa",
    )
    np.save(tmp_path / "x.npy", samples)
    model, output = str(tmp_path / "float.tosa"), str(tmp_path / "int8.tosa")
    given = [f"x={tmp_path / 'x.npy'}", "--json"]
    assert main(["quantize", model, "-o", output, "--samples", *given]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["stayed"] == []
    assert report["accuracy"][-1]["sqnr"] > 20
    assert tj.load(output).inputs[0].dtype is tj.INT8
    assert main(["quantize", model, "-o", output, "--samples", given[0]]) == 0
    assert "outputs " in capsys.readouterr().out
    assert main(["quantize", model, "-o", output]) == 1
    assert "give --samples x=FILE" in capsys.readouterr().err
