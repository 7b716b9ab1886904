"""Operators of ONNX that transform, sample or keep a state, against what NumPy says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import RawGraph, RawNode, RawValue, model, single

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(8)


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    """Tests have the same numbers in whatever order they run."""
    RANDOM.bit_generator.state = np.random.default_rng(8).bit_generator.state


def reals(*shape: int) -> Array:
    return RANDOM.normal(size=shape).astype(np.float32)


def run(op: str, given: dict[str, Array], outputs: int = 1, **attributes: Any) -> Any:
    graph = tj.load(single(op, given, outputs, 28, **attributes))
    assert tj.validate(graph) == ()
    return tj.compile(graph)(*(one for name, one in given.items() if name[0] != "_"))


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("length", [5, 6, 9, 512])
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


@pytest.mark.parametrize(("length", "step"), [(6, 4), (400, 160)])
def test_spectra_of_frames(length: int, step: int) -> None:
    x, window = reals(1, length + 3 * step + 2, 1), reals(length)
    found = run("STFT", {"x": x, "_step": np.array(step), "window": window})
    flat = run("STFT", {"x": x[..., 0], "_step": np.array(step), "window": window})
    np.testing.assert_array_equal(flat, found)
    frames = np.stack([x[0, start : start + length, 0] * window for start in range(0, 4 * step, step)])
    np.testing.assert_allclose(found[0, ..., 0] + 1j * found[0, ..., 1], np.fft.rfft(frames), atol=1e-4)


def test_spectra_are_in_proportion_to_their_file() -> None:
    lengths = {f"length{place}": np.array(1024 - place) for place in range(100)}
    nodes = [RawNode("DFT", ["x", name], [f"y{place}"], {}) for place, name in enumerate(lengths)]
    outputs = [RawValue(node.outputs[0], None) for node in nodes]
    with pytest.raises(tj.FileError, match=r"in proportion to its file: its constants"):
        tj.load(model(RawGraph(nodes, [RawValue("x", (1, 8, 1))], outputs, lengths), 28))


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


def bilinear(image: Array, row: float, column: float) -> Any:
    """An element between four, zeros outside: channels are first."""
    top, left = int(np.floor(row)), int(np.floor(column))
    total = np.zeros(len(image))
    for y, x in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        if 0 <= y < image.shape[1] and 0 <= x < image.shape[2]:
            total += image[:, y, x] * (1 - abs(row - y)) * (1 - abs(column - x))
    return total


@pytest.mark.parametrize("mask", [True, False])
@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (2, 2)])
def test_convolutions_with_offsets_take_elements_beside_their_places(
    mask: bool, groups: tuple[int, int]
) -> None:
    group, offset_group = groups
    x, w, bias = reals(2, 4, 6, 5), reals(4, 4 // group, 3, 2), reals(4)
    offset, shares = reals(2, offset_group * 12, 3, 4), reals(2, offset_group * 6, 3, 4)
    given = {"x": x, "w": w, "offset": offset, "b": bias, **({"mask": shares} if mask else {})}
    attributes: dict[str, Any] = {"pads": [1, 0, 1, 0], "strides": [2, 1], "dilations": [1, 1]}
    found = run("DeformConv", given, group=group, offset_group=offset_group, **attributes)
    wanted = np.zeros_like(found) + bias.reshape(1, 4, 1, 1)
    each = 4 // offset_group
    for n, o, tap, y, x0 in np.ndindex(2, offset_group, 6, *found.shape[2:]):
        pair = offset[n, (o * 6 + tap) * 2 : (o * 6 + tap) * 2 + 2, y, x0]
        row, column = 2 * y - 1 + tap // 2 + pair[0], x0 + tap % 2 + pair[1]
        values = bilinear(x[n, o * each : (o + 1) * each], row, column)
        values = values * (shares[n, o * 6 + tap, y, x0] if mask else 1)
        for channel, value in enumerate(values, o * each):
            own = channel // (4 // group)
            of = slice(own * 4 // group, (own + 1) * 4 // group)
            wanted[n, of, y, x0] += value * w[of, channel % (4 // group), tap // 2, tap % 2]
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("corners", ["half_pixel", "output_half_pixel"])
def test_regions_are_sampled_between_elements(mode: str, corners: str) -> None:
    x, batches = reals(2, 3, 7, 8), np.array([1, 0, 1])
    regions = np.array([[2, 2, 9, 11], [-4, 0, 5, 3], [6, 5, 6.5, 5.5]], np.float32)
    found = run(
        "RoiAlign", {"x": x, "regions": regions, "batches": batches}, mode=mode, spatial_scale=0.5,
        coordinate_transformation_mode=corners, output_height=2, output_width=3, sampling_ratio=2,
    )  # fmt: skip
    is_half = corners == "half_pixel"
    for number, (left, top, right, bottom) in enumerate(regions * 0.5 - (0.5 if is_half else 0)):
        size = np.array([bottom - top, right - left])
        size = (size if is_half else np.maximum(size, 1)) / [2, 3]
        for y, x0 in np.ndindex(2, 3):
            samples = []
            for down, along in np.ndindex(2, 2):
                row, column = (
                    top + size[0] * (y + (down + 0.5) / 2),
                    left + size[1] * (x0 + (along + 0.5) / 2),
                )
                image = x[batches[number]] * (-1 <= row <= 7 and -1 <= column <= 8)
                row, column = np.clip(row, 0, 6), np.clip(column, 0, 7)
                low, rest = np.floor([row, column]).astype(int), np.array([row, column]) % 1
                for i, j in np.ndindex(2, 2):
                    share = (rest[0] if i else 1 - rest[0]) * (rest[1] if j else 1 - rest[1])
                    samples.append(image[:, min(low[0] + i, 6), min(low[1] + j, 7)] * share)
            wanted = np.max(samples, 0) if mode == "max" else np.sum(samples, 0) / 4
            np.testing.assert_allclose(found[number, :, y, x0], wanted, atol=1e-5)


def test_columns_become_images_whose_blocks_overlap() -> None:
    x = reals(2, 3 * 6, 12)
    shapes = {"_image": np.array([6, 7]), "_block": np.array([2, 3])}
    found = run("Col2Im", {"x": x, **shapes}, strides=[2, 1], dilations=[1, 2], pads=[1, 0, 1, 0])
    wanted = np.zeros((2, 3, 8, 7))
    for tap, y, x0 in np.ndindex(6, 4, 3):
        wanted[:, :, 2 * y + tap // 3, x0 + tap % 3 * 2] += x.reshape(2, 3, 6, 4, 3)[:, :, tap, y, x0]
    np.testing.assert_allclose(found, wanted[:, :, 1:7], atol=1e-5)


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.uint8])
@pytest.mark.parametrize("in_columns", [0, 1])
def test_pools_say_where_the_greatest_elements_are(kind: Any, in_columns: int) -> None:
    x = RANDOM.integers(0, 3, (2, 3, 5, 6)).astype(kind)  # few numbers, so that many are equal
    greatest, places = run(
        "MaxPool", {"x": x}, 2, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 0], dilations=[1, 2],
        storage_order=in_columns,
    )  # fmt: skip
    for n, c, y, x0 in np.ndindex(*places.shape):
        spots = [(2 * y - 1 + i, x0 - 1 + 2 * j) for i in range(3) for j in range(2)]
        spots = [(i, j) for i, j in spots if 0 <= i < 5 and 0 <= j < 6]
        best = max(spots, key=lambda spot: x[n, c, *spot])
        assert greatest[n, c, y, x0] == x[n, c, *best]
        flat = best[1] * 5 + best[0] if in_columns else best[0] * 6 + best[1]
        assert places[n, c, y, x0] == (n * 3 + c) * 30 + flat


def test_maxima_go_back_to_their_places() -> None:
    x = reals(1, 2, 6, 6)
    nodes = [
        RawNode("MaxPool", ["x"], ["most", "where"], {"kernel_shape": [2, 2], "strides": [2, 2]}),
        RawNode("MaxUnpool", ["most", "where"], ["y"], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ]
    found = tj.compile(tj.load(model(RawGraph(nodes, [RawValue("x", x.shape)], [RawValue("y", None)]), 22)))(
        x
    )
    blocks = x.reshape(1, 2, 3, 2, 3, 2)
    wanted = np.where(blocks == blocks.max((3, 5), keepdims=True), blocks, 0).reshape(x.shape)
    np.testing.assert_array_equal(found, wanted)


def test_boxes_that_overlap_are_left_out_and_the_rest_leaves_the_graph() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6]]], np.float32)
    scores = np.array([[[0.5, 0.9, 0.1], [0.3, 0.2, 0.8]]], np.float32)
    limits = {
        "_most": np.array([2]),
        "_overlap": np.array([0.5], np.float32),
        "_least": np.array([0.15], np.float32),
    }
    found = run("NonMaxSuppression", {"boxes": boxes, "scores": scores, **limits})
    np.testing.assert_array_equal(found, [[0, 0, 1], [0, 1, 2], [0, 1, 0]])
    assert found.dtype == np.int64


def test_other_operators_do_not_compute_with_what_is_as_long_as_what_it_finds() -> None:
    nodes = [RawNode("NonZero", ["x"], ["places"]), RawNode("Neg", ["places"], ["y"])]
    data = model(RawGraph(nodes, [RawValue("x", (2, 3))], [RawValue("y", None)]))
    with pytest.raises(tj.ModelError, match=r"how long an operand is depends on data.*make it an output"):
        tj.load(data)


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.bool_])
def test_places_that_are_not_zero_are_as_many_as_there_are(kind: Any) -> None:
    x = RANDOM.integers(0, 2, (3, 4)).astype(kind)
    np.testing.assert_array_equal(run("NonZero", {"x": x}), np.nonzero(x))


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("in_order", [0, 1])
def test_parts_that_are_different(axis: int | None, in_order: int) -> None:
    x = RANDOM.integers(0, 2, (6, 2)).astype(np.float32)
    chosen = {} if axis is None else {"axis": axis}
    parts, places, numbers, counts = run("Unique", {"x": x}, 4, sorted=in_order, **chosen)
    wanted = np.unique(x, True, True, True, axis=axis)
    order = np.arange(len(wanted[1])) if in_order else np.argsort(wanted[1])
    np.testing.assert_array_equal(parts, np.take(wanted[0], order, axis or 0))
    np.testing.assert_array_equal(places, wanted[1][order])
    np.testing.assert_array_equal(order[numbers], wanted[2].reshape(-1))
    np.testing.assert_array_equal(counts, wanted[3][order])


def test_more_tensors_are_joined_than_a_concat_of_tosa_takes() -> None:
    given = {f"x{number}": reals(2, 3) for number in range(70)}
    np.testing.assert_array_equal(run("Concat", given, axis=1), np.concatenate([*given.values()], 1))


def test_more_steps_are_taken_than_a_concat_of_tosa_takes() -> None:
    x, weights, recurrence = reals(70, 1, 2), reals(1, 3, 2), reals(1, 3, 3)
    found = run("RNN", {"x": x, "w": weights, "r": recurrence}, hidden_size=3)
    state = np.zeros((1, 3), np.float32)
    for step in range(70):
        state = np.tanh(x[step] @ weights[0].T + state @ recurrence[0].T)
        np.testing.assert_allclose(found[step, 0], state, atol=1e-5)
