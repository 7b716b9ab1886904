"""Quantised programs of PyTorch are computed with integers, and give what they give with real numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.torch_cases.programs import node, program
from tosajit.frontends.torch import lowering
from tosajit.frontends.torch.lowering import lowered
from tosajit.frontends.torch.records import Node, Program, Reference, Type, Value
from tosajit.graph import Graph

Array = np.ndarray[Any, Any]
FILES = Path(__file__).parent / "data" / "torch"
BOUNDS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "int32": (-(2**31), 2**31 - 1)}


def grid(
    name: str, source: str, like: Array, scale: float, point: int, back: bool, kind: str = "int8"
) -> Node:
    """A quantizer, or a dequantizer."""
    low, high = BOUNDS[kind]
    target = f"quantized_decomposed.{'de' * back}quantize_per_tensor.default"
    found = node(
        name, target, like, input=source, scale=scale, zero_point=point, quant_min=low, quant_max=high,
        dtype=Type(kind),
    )  # fmt: skip
    value = Value(name, Type.FLOAT32 if back else Type(kind), like.shape)
    return replace(found, outputs=(value,))


def rounded(name: str, source: str, like: Array, scale: float, point: int, kind: str = "int8") -> list[Node]:
    """Real numbers on a grid, through a result of the name with `q`."""
    held = {"x": "a", "y": "b", "z": "c"}[name]
    return [
        grid(held, source, like, scale, point, False, kind),
        grid(name, held, like, scale, point, True, kind),
    ]


def compared(given: Program, inputs: list[Array], scale: float, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """Compare a program with integers and without; results are within a step of their grid."""
    graph = lowered(given)
    assert tj.validate(graph) == ()
    with monkeypatch.context() as patch:
        patch.setattr(lowering, "on_integers", lambda node, declared: None)
        plain = lowered(given)
    found, expected = (np.asarray(tj.compile(one)(*inputs), np.float64) for one in (graph, plain))
    difference = np.abs(found - expected) / scale
    assert difference.max() <= 1.001, difference.max()
    assert np.mean(difference > 0.5) < 0.05  # at halves; multipliers of 48-bit sums have 15 bits
    assert len(np.unique(found)) > 3
    return graph


def opcodes(graph: Graph) -> Counter[str]:
    return Counter(one.operator.opcode for one in graph.nodes)


RANDOM = np.random.default_rng(7)
IMAGE = RANDOM.normal(size=(2, 4, 6, 6)).astype(np.float32)
KERNELS = RANDOM.integers(-127, 128, (6, 4, 3, 3)).astype(np.int8)
SCALES = RANDOM.uniform(0.001, 0.01, 6).astype(np.float32)
BIAS = RANDOM.normal(size=6).astype(np.float32)


def weights(axis: int, like: Array) -> Node:
    found = node(
        "w", "quantized_decomposed.dequantize_per_channel.default", like.astype(np.float32),
        input="k", scales="s", zero_points="p", axis=axis, quant_min=-127, quant_max=127, dtype=Type.INT8,
    )  # fmt: skip
    return found


def layer(
    target: str, like: Array, kernels: Array, kind: str, point: int, **given: Any
) -> tuple[list[Node], dict[str, Array]]:
    """An operator with weights between grids."""
    nodes = [
        weights(1 if "transpose" in target else 0, kernels),
        *rounded(
            "x", "i", IMAGE if kernels.ndim == 4 else ROWS, 0.02 if kind != "int16" else 1e-4, point, kind
        ),
        node("m", target, like, input="x", weight="w", bias="v", **given),
        *rounded("y", "m", like, 0.05 if kind != "int16" else 0.002, point, kind),
    ]
    count = kernels.shape[1 if "transpose" in target else 0]
    held = {"k": kernels, "s": SCALES[:count], "p": np.zeros(count, np.int64), "v": BIAS[:count]}
    return nodes, held


ROWS = RANDOM.normal(size=(3, 5, 8)).astype(np.float32)
MATRIX = RANDOM.integers(-127, 128, (6, 8)).astype(np.int8)
LAYERS: Mapping[str, tuple[str, Array, Array, Mapping[str, Any]]] = {
    "conv2d": ("aten.conv2d.default", np.zeros((2, 6, 6, 6)), KERNELS, {"padding": (1, 1)}),
    "conv2d by groups": (
        "aten.conv2d.default", np.zeros((2, 6, 2, 2)), KERNELS[:, :2], {"groups": 2, "stride": (2, 2)}
    ),
    "conv2d same": ("aten.conv2d.padding", np.zeros((2, 6, 6, 6)), KERNELS, {"padding": "same"}),
    "transposed": (
        "aten.conv_transpose2d.input", np.zeros((2, 6, 13, 13)), KERNELS.transpose(1, 0, 2, 3),
        {"stride": (2, 2)},
    ),
    "linear": ("aten.linear.default", np.zeros((3, 5, 6)), MATRIX, {}),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "point"), [("int8", 3), ("uint8", 120), ("int16", 0)])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_multiply_integers(name: str, kind: str, point: int, monkeypatch: pytest.MonkeyPatch) -> None:
    target, like, kernels, given = LAYERS[name]
    nodes, held = layer(target, like.astype(np.float32), kernels, kind, point, **given)
    image = IMAGE if kernels.ndim == 4 else ROWS
    whole = program(nodes, "y", {"i": image}, held)
    graph = compared(whole, [image], 0.05 if kind != "int16" else 0.002, monkeypatch)
    multiplied = [one for one in graph.nodes if "CONV" in one.operator.opcode]
    types = {graph.main.values[one.inputs[0]].dtype.name for one in multiplied}
    assert types == {"INT16" if kind == "int16" else "INT8"}


def between(target: str, like: Array, kind: str = "int8", **given: Any) -> Program:
    """An operator of one or two tensors between grids."""
    taken = {"i": IMAGE} | ({"j": IMAGE[:, ::-1].copy()} if "o" in given.values() else {})
    renamed = {name: "z" if value == "o" else value for name, value in given.items()}
    point = 100 if kind == "uint8" else 3
    nodes = rounded("x", "i", IMAGE, 0.021, point, kind)
    if "j" in taken:
        nodes += rounded("z", "j", IMAGE, 0.0344, point, kind)
    nodes += [node("m", target, like, **renamed), *rounded("y", "m", like, 0.0437, point, kind)]
    return program(nodes, "y", taken)


WHOLE = {"self": "x"}
PAIR = {"self": "x", "other": "o"}
SHAPES = np.zeros((2, 4, 6, 6), np.float32)
BETWEEN: Mapping[str, tuple[str, tuple[int, ...], Mapping[str, Any], str]] = {
    "add": ("aten.add.Tensor", SHAPES.shape, PAIR, "ADD"),
    "sub": ("aten.sub.Tensor", SHAPES.shape, PAIR, "SUB"),
    "mul": ("aten.mul.Tensor", SHAPES.shape, PAIR, "MUL"),
    "sigmoid": ("aten.sigmoid.default", SHAPES.shape, WHOLE, "TABLE"),
    "gelu": ("aten.gelu.default", SHAPES.shape, WHOLE, "TABLE"),
    "hardswish": ("aten.hardswish.default", SHAPES.shape, WHOLE, "TABLE"),
    "leaky": ("aten.leaky_relu.default", SHAPES.shape, {**WHOLE, "negative_slope": 0.2}, "TABLE"),
    "relu": ("aten.relu.default", SHAPES.shape, WHOLE, "TABLE"),
    "add a number": ("aten.add.Tensor", SHAPES.shape, {**WHOLE, "other": 0.5}, "TABLE"),
    "exp": ("aten.exp.default", SHAPES.shape, WHOLE, "TABLE"),
    "average": (
        "aten.avg_pool2d.default", (2, 4, 3, 3), {**WHOLE, "kernel_size": (2, 2)}, "DEPTHWISE_CONV2D"
    ),
    "adaptive": (
        "aten.adaptive_avg_pool2d.default", (2, 4, 1, 1), {**WHOLE, "output_size": (1, 1)}, "REDUCE_SUM"
    ),
    "mean": ("aten.mean.dim", (2, 4), {**WHOLE, "dim": (2, 3)}, "REDUCE_SUM"),
    "greatest": ("aten.max_pool2d.default", (2, 4, 3, 3), {**WHOLE, "kernel_size": (2, 2)}, "MAX_POOL2D"),
    "view": ("aten.view.default", (2, 144), {**WHOLE, "size": (2, 144)}, "TABLE"),
    "slice": ("aten.slice.Tensor", (2, 2, 6, 6), {**WHOLE, "dim": 1, "start": 1, "end": 3}, "SLICE"),
    "select": ("aten.select_copy.int", (2, 6, 6), {**WHOLE, "dim": 1, "index": 2}, "SLICE"),
    "between": (
        "aten.upsample_bilinear2d.vec", (2, 4, 9, 12), {**WHOLE, "scale_factors": (1.5, 2.0)}, "RESIZE"
    ),
    "expand": ("aten.expand_copy.default", (3, 2, 4, 6, 6), {**WHOLE, "size": (3, 2, 4, 6, 6)}, "TILE"),
    "border": ("aten.constant_pad_nd.default", (2, 4, 6, 9), {**WHOLE, "pad": (1, 2)}, "PAD"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("name", BETWEEN)
def test_what_is_between_grids_is_computed_with_integers(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, shape, given, opcode = BETWEEN[name]
    whole = between(target, np.zeros(shape, np.float32), kind, **given)
    inputs = [IMAGE, IMAGE[:, ::-1].copy()][: 2 if "o" in given.values() else 1]
    graph = compared(whole, inputs, 0.0437, monkeypatch)
    assert opcode in opcodes(graph)
    values = graph.main.values
    taken = [values[one.inputs[0]].dtype for one in graph.nodes if one.operator.opcode == opcode]
    assert not all(one.is_float for one in taken)


@pytest.mark.parametrize(("low", "high"), [(0.0, 6.0), (-0.5, 0.25)])
def test_sums_are_cut_where_they_are_scaled(low: float, high: float, monkeypatch: pytest.MonkeyPatch) -> None:
    target, like, kernels, given = LAYERS["conv2d"]
    nodes, held = layer(target, like.astype(np.float32), kernels, "int8", 3, **given)
    clip = node("t", "aten.hardtanh.default", like.astype(np.float32), self="m", min_val=low, max_val=high)
    nodes[4] = replace(nodes[4], arguments={**nodes[4].arguments, "input": Reference("t")})
    whole = program([*nodes[:4], clip, *nodes[4:]], "y", {"i": IMAGE}, held)
    graph = compared(whole, [IMAGE], 0.05, monkeypatch)
    assert "MINIMUM" not in opcodes(graph)


def test_integers_of_16_bits_are_cut_as_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        *rounded("x", "i", IMAGE, 0.0021, 0, "int16"),
        node("m", "aten.relu.default", IMAGE, self="x"),
        *rounded("y", "m", IMAGE, 0.0037, 0, "int16"),
    ]
    graph = compared(program(nodes, "y", {"i": IMAGE}), [IMAGE], 0.0037, monkeypatch)
    assert opcodes(graph)["RESCALE"]


def test_a_quantised_file_gives_what_pytorch_gives() -> None:
    with np.load(FILES / "quantized.npz") as arrays:
        given, expected = arrays["in0"], arrays["out0"]
    graph = tj.load(FILES / "quantized.pt2")
    assert tj.validate(graph) == ()
    assert np.array_equal(tj.compile(graph)(given), expected)
    found = opcodes(graph)
    assert found["CAST"] == 2  # where numbers enter and leave
    assert found["TABLE"] == 1
    for one in graph.nodes:
        if "CONV" in one.operator.opcode:
            assert graph.main.values[one.inputs[0]].dtype.name == "INT8"


def test_a_joint_of_one_tensor_is_that(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        *rounded("x", "i", IMAGE, 0.021, 3),
        node("m", "aten.cat.default", IMAGE, tensors=("x",), dim=1),
        *rounded("y", "m", IMAGE, 0.0437, 3),
    ]
    graph = compared(program(nodes, "y", {"i": IMAGE}), [IMAGE], 0.0437, monkeypatch)
    assert opcodes(graph)["TABLE"] == 1


def test_grids_that_are_found_while_running_are_refused() -> None:
    like = np.zeros((), np.float32)
    nodes = [node("x", "quantized_decomposed.choose_qparams.tensor", like, input="i")]
    with pytest.raises(tj.ModelError, match="its grids are found when the model runs"):
        lowered(program(nodes, "x", {"i": IMAGE}))
