"""Operators of ONNX that transform, sample or keep a state, against what NumPy says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import RawGraph, RawNode, RawValue, model, single

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(8)


def reals(*shape: int) -> Array:
    return RANDOM.normal(size=shape).astype(np.float32)


def run(op: str, given: dict[str, Array], outputs: int = 1, **attributes: Any) -> Any:
    graph = tj.load(single(op, given, outputs, 28, **attributes))
    assert tj.validate(graph) == ()
    return tj.compile(graph)(*(one for name, one in given.items() if name[0] != "_"))


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("length", [5, 6, 9])
def test_spectra_are_those_of_numpy(onesided: int, length: int) -> None:
    x = reals(2, 7, 3, 1)
    given = {"x": x, "_length": np.array(length), "_axis": np.array(1)}
    found = run("DFT", given, onesided=onesided)
    wanted = (np.fft.rfft if onesided else np.fft.fft)(x[..., 0].astype(np.float64), length, axis=1)
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], wanted, atol=1e-5)


@pytest.mark.parametrize("onesided", [0, 1])
def test_spectra_become_numbers_again(onesided: int) -> None:
    x = reals(2, 6, 2)
    given = {"x": x, "_length": np.array(7), "_axis": np.array(-2)}
    found = run("DFT", given, inverse=1, onesided=onesided)
    pairs = (x[..., 0] + 1j * x[..., 1]).astype(np.complex128)
    if onesided:
        np.testing.assert_allclose(found[..., 0], np.fft.irfft(pairs, 7, axis=1), atol=1e-6)
    else:
        np.testing.assert_allclose(
            found[..., 0] + 1j * found[..., 1], np.fft.ifft(pairs, 7, axis=1), atol=1e-6
        )


def test_spectra_of_frames() -> None:
    x, window = reals(1, 20, 1), reals(6)
    found = run("STFT", {"x": x, "_step": np.array(4), "window": window})
    frames = np.stack([x[0, start : start + 6, 0] * window for start in (0, 4, 8, 12)])
    np.testing.assert_allclose(found[0, ..., 0] + 1j * found[0, ..., 1], np.fft.rfft(frames), atol=1e-5)


def bordered(x: Array, row: int, column: int, outside: str) -> Any:
    height, width = x.shape
    if outside == "border":
        return x[min(max(row, 0), height - 1), min(max(column, 0), width - 1)]
    return x[row, column] if 0 <= row < height and 0 <= column < width else 0.0


@pytest.mark.parametrize("outside", ["zeros", "border"])
def test_images_are_sampled_between_four_elements(outside: str) -> None:
    x, grid = reals(1, 1, 4, 5), RANDOM.uniform(-1.3, 1.3, (1, 3, 7, 2)).astype(np.float32)
    found = run("GridSample", {"x": x, "grid": grid}, padding_mode=outside)
    for place in np.ndindex(3, 7):
        column, row = ((grid[0][place] + 1) * [5, 4] - 1) / 2
        if outside == "border":
            column, row = np.clip(column, 0, 4), np.clip(row, 0, 3)
        left, top = int(np.floor(column)), int(np.floor(row))
        wanted = sum(
            bordered(x[0, 0], top + down, left + right, outside)
            * (row - top if down else 1 - row + top) * (column - left if right else 1 - column + left)
            for down in (0, 1) for right in (0, 1)
        )  # fmt: skip
        assert abs(found[0, 0][place] - wanted) < 1e-4


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_reflections_turn_at_both_ends_however_often(mode: str) -> None:
    x = reals(1, 1, 5)
    places = np.arange(-12, 17)
    grid = ((2 * places + 1) / 5 - 1).astype(np.float32).reshape(1, -1, 1)
    found = run("GridSample", {"x": x, "grid": grid}, padding_mode="reflection", mode=mode)
    turned = np.concatenate([x[0, 0], x[0, 0, ::-1]])[places % 10]
    np.testing.assert_allclose(found[0, 0], turned, atol=1e-4)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_attention_by_a_state_goes_step_by_step(rule: str) -> None:
    count, heads, size, width = 3, 2, 4, 5
    q, k, v = reals(1, count, 2 * heads * size), reals(1, count, heads * size), reals(1, count, heads * width)
    past, decay, beta = reals(1, heads, size, width), reals(1, count, heads), reals(1, count, heads)
    given = {"q": q, "k": k, "v": v, "past": past}
    names = ["q", "k", "v", "past"]
    if rule in ("gated", "gated_delta"):
        given["decay"] = decay
        names.append("decay")
    data = single_with(rule, given, names, beta)
    graph = tj.load(data)
    arrays = [*given.values(), *([beta] if "delta" in rule else [])]
    found, state = tj.compile(graph)(*arrays)
    now = past[0].astype(np.float64)
    for step in range(count):
        key, value = k[0, step].reshape(heads, size), v[0, step].reshape(heads, width).astype(np.float64)
        now = now * np.exp(decay[0, step])[:, None, None] if "gated" in rule else now
        if "delta" in rule:
            value = (value - np.einsum("hk,hkv->hv", key, now)) * beta[0, step][:, None]
        now = now + key[:, :, None] * value[:, None, :]
        query = q[0, step].reshape(heads, 2, size)
        wanted = np.einsum("hgk,hkv->hgv", query, now).reshape(-1) / 2
        np.testing.assert_allclose(found[0, step], wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(state[0], now, rtol=1e-4, atol=1e-4)


def single_with(rule: str, given: dict[str, Array], names: list[str], beta: Array) -> bytes:
    """A model of one node, whose optional operands may be left out."""
    operands = [*names, *([""] if "decay" not in names and "delta" in rule else [])]
    operands += ["beta"] if "delta" in rule else []
    everything = {**given, **({"beta": beta} if "delta" in rule else {})}
    node = RawNode(
        "LinearAttention", operands, ["y", "s"], {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": rule}
    )
    inputs = [RawValue(name, one.shape) for name, one in everything.items()]
    return model(RawGraph([node], inputs, [RawValue("y", None), RawValue("s", None)]), 28)


def test_a_causal_convolution_keeps_what_it_needs_next_time() -> None:
    x, w, state = reals(2, 3, 8), reals(3, 1, 4), reals(2, 3, 3)
    given = {"x": x, "w": w, "b": reals(3), "state": state}
    found, kept = run("CausalConvWithState", given, 2, activation="silu")
    wide = np.concatenate([state, x], 2)
    total = (
        sum(wide[:, :, step : step + 8] * w[:, 0, step][:, None] for step in range(4)) + given["b"][:, None]
    )
    np.testing.assert_allclose(found, total / (1 + np.exp(-total)), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(kept, wide[:, :, -3:])


def test_windows_are_known_when_a_model_is_read() -> None:
    for op, function in (("HannWindow", np.hanning), ("BlackmanWindow", np.blackman)):
        found = run("Add", {"x": np.zeros(9, np.float32), "_w": function(9).astype(np.float32)})
        graph = tj.load(chained(op))
        np.testing.assert_allclose(tj.compile(graph)(np.zeros(9, np.float32)), found, atol=1e-6)


def chained(op: str) -> bytes:
    """A window that is added to an input."""
    nodes = [RawNode(op, ["size"], ["w"], {"periodic": 0}), RawNode("Add", ["x", "w"], ["y"])]
    return model(RawGraph(nodes, [RawValue("x", (9,))], [RawValue("y", None)], {"size": np.array(9)}), 28)
