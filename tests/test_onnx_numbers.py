"""Operators of ONNX with all of their attributes give what NumPy's formulas give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf
from typing import Any, Literal

import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import single
from tests.tflite_cases.running import listed, stored

Array = np.ndarray[Any, Any]
Given = Mapping[str, Array]


@dataclass(frozen=True)
class Case:
    """A node, and what it gives."""

    op: str
    given: Given
    expected: Array | tuple[Array, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 18
    known: str = ""
    """Operands that are constants whatever the others are."""


def reals(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).uniform(-2, 2, shape).astype(np.float32)


def number(value: float) -> Array:
    return np.array(value, np.float32)


def held(case: Case, constant: bool) -> set[str]:
    """The operands that are constants: all but the first, or as few as can be."""
    first = next(iter(case.given))
    return {name for name in case.given if name in case.known.split() or (constant and name != first)}


def graph_of(case: Case, constant: bool) -> tj.Graph:
    """The graph of the node."""
    known = held(case, constant)
    named = {f"_{name}" if name in known else name: one for name, one in case.given.items()}
    count = len(case.expected) if isinstance(case.expected, tuple) else 1
    return tj.load(single(case.op, named, count, case.opset, **case.attributes))


def run(case: Case, constant: bool) -> Sequence[Array]:
    """What the node gives."""
    graph, known = graph_of(case, constant), held(case, constant)
    assert tj.validate(graph) == ()
    arrays = [stored(one) for name, one in case.given.items() if name not in known]
    return listed(tj.compile(graph, interpret=True)(*arrays))


def check(case: Case, constant: bool) -> None:
    wanted = case.expected if isinstance(case.expected, tuple) else (case.expected,)
    for one, other in zip(run(case, constant), wanted, strict=True):
        assert one.shape == other.shape
        if other.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)
        else:
            np.testing.assert_array_equal(stored(one), stored(other))


# Products and norms.


def gemm() -> list[Case]:
    found = []
    a, b = reals(3, 4), reals(4, 5)
    biases = {"none": None, "row": reals(5), "rows": reals(1, 5), "column": reals(3, 1), "one": reals(1)}
    for (alpha, beta), bias, turned in product(
        [(1.0, 1.0), (0.5, 1.0), (1.0, 0.25), (1.0, 0.0)], biases.values(), [(0, 0), (1, 0), (0, 1)]
    ):
        given = {"a": a.T.copy() if turned[0] else a, "b": b.T.copy() if turned[1] else b}
        expected = alpha * (a @ b) + (0 if bias is None else beta * bias)
        given |= {} if bias is None else {"c": bias}
        flags = {"alpha": alpha, "beta": beta, "transA": turned[0], "transB": turned[1]}
        found.append(Case("Gemm", given, expected, flags))
    m, n, many = (
        np.random.default_rng(0).integers(-(2**20), 2**20, shape, np.int32)
        for shape in ((3, 4), (4, 5), (2, 3, 4))
    )
    found += [
        Case("Gemm", {"a": m, "b": n, "c": n[:1]}, 3 * (m @ n) - n[:1], {"alpha": 3.0, "beta": -1.0}),
        Case("MatMul", {"a": many, "b": n}, many @ n),
        Case("MatMul", {"a": many, "b": n[:, 0]}, many @ n[:, 0]),
        Case("Einsum", {"a": many, "b": n}, many @ n, {"equation": "bij,jk->bik"}),
    ]
    return found


def normalised(value: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    mean, variance = value.mean(axes, keepdims=True), value.var(axes, keepdims=True)
    return np.asarray((value - mean) / np.sqrt(variance + epsilon))


def norms() -> list[Case]:
    x, epsilon = reals(2, 4, 3, 2), 0.3
    scale, bias, mean = (reals(4, seed=seed) for seed in range(3))
    variance, column = np.abs(reals(4, seed=3)) + 0.5, (1, 4, 1, 1)
    by_channel = [one.reshape(column) for one in (scale, bias, mean, variance)]
    given = {"x": x, "scale": scale, "bias": bias, "mean": mean, "variance": variance}
    plain = (x - by_channel[2]) / np.sqrt(by_channel[3] + epsilon) * by_channel[0] + by_channel[1]
    axes = (0, 2, 3)
    trained = normalised(x, axes, epsilon) * by_channel[0] + by_channel[1]
    running = tuple(0.7 * old + 0.3 * new for old, new in ((mean, x.mean(axes)), (variance, x.var(axes))))
    groups = normalised(x.reshape(2, 2, 2, 3, 2), (2, 3, 4), epsilon).reshape(x.shape)
    layer = normalised(x, (2, 3), epsilon)
    squares = np.pad(x**2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    near = sum(squares[:, place : place + 4] for place in range(3))
    return [
        Case("BatchNormalization", given, plain, {"epsilon": epsilon}),
        Case(
            "BatchNormalization", given, (trained, *running),
            {"epsilon": epsilon, "training_mode": 1, "momentum": 0.7},
        ),
        Case(
            "InstanceNormalization", {"x": x, "scale": scale, "bias": bias},
            normalised(x, (2, 3), epsilon) * by_channel[0] + by_channel[1], {"epsilon": epsilon},
        ),
        Case(
            "GroupNormalization", {"x": x, "scale": scale[:2], "bias": bias[:2]},
            groups * np.repeat(scale[:2], 2).reshape(column) + np.repeat(bias[:2], 2).reshape(column),
            {"epsilon": epsilon, "num_groups": 2},
        ),
        *(
            Case(
                "LayerNormalization", {"x": x, "scale": reals(3, 2), "bias": reals(3, 2, seed=1)},
                layer * reals(3, 2) + reals(3, 2, seed=1), {"epsilon": epsilon, "axis": axis},
            )
            for axis in (2, -2)
        ),
        Case("LayerNormalization", {"x": x, "scale": reals(3, 2)}, layer * reals(3, 2),
             {"epsilon": epsilon, "axis": 2}),
        Case("LRN", {"x": x}, x / (1.5 + 0.9 / 3 * near) ** 0.6,
             {"size": 3, "alpha": 0.9, "beta": 0.6, "bias": 1.5}),
        *(
            Case("LpNormalization", {"x": x}, x / np.linalg.norm(x, p, 2, keepdims=True), {"axis": 2, "p": p})
            for p in (1, 2)
        ),
        Case("MeanVarianceNormalization", {"x": x}, normalised(x, (0, 1), 1e-9), {"axes": [0, 1]}),
    ]  # fmt: skip


# Windows.


def windows(
    x: Array,
    fill: float,
    kernel: tuple[int, int],
    strides: tuple[int, int],
    pads: tuple[int, ...],
    dilations: tuple[int, int],
    ceil: bool,
) -> tuple[Array, Array]:
    """The elements of each window, and whether they are inside of the image or its border."""
    sizes = []
    for axis in range(2):
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        room = x.shape[2 + axis] + pads[axis] + pads[2 + axis] - reach
        count = room // strides[axis] + 1
        more = ceil and room % strides[axis] and count * strides[axis] < x.shape[2 + axis] + pads[axis]
        sizes.append(count + bool(more))
    inside = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2] + 9), (pads[1], pads[3] + 9)), constant_values=fill)
    seen = np.pad(
        np.ones(x.shape), ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=2
    )
    seen = np.pad(seen, ((0, 0), (0, 0), (0, 9), (0, 9)))
    parts = []
    for array in (inside, seen):
        taps = [
            array[
                :, :,
                i * dilations[0] : i * dilations[0] + sizes[0] * strides[0] : strides[0],
                j * dilations[1] : j * dilations[1] + sizes[1] * strides[1] : strides[1],
            ][:, :, : sizes[0], : sizes[1]]
            for i in range(kernel[0])
            for j in range(kernel[1])
        ]  # fmt: skip
        parts.append(np.stack(taps))
    return parts[0], parts[1]


def pools() -> list[Case]:
    found, x = [], reals(1, 2, 7, 6)
    for kernel, strides, pads, dilations, ceil in (
        ((2, 3), (1, 1), (0, 0, 0, 0), (1, 1), False),
        ((3, 2), (2, 3), (1, 0, 1, 1), (1, 1), False),
        ((3, 2), (2, 3), (1, 0, 0, 1), (1, 1), True),
        ((2, 2), (3, 4), (0, 1, 0, 0), (1, 1), True),
        ((2, 3), (2, 1), (1, 1, 1, 1), (2, 2), False),
        ((1, 1), (2, 2), (0, 0, 0, 0), (1, 1), False),
    ):
        given: dict[str, Any] = {
            "kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations,
        }  # fmt: skip
        flags = {**given, "ceil_mode": int(ceil)}
        low, _ = windows(x, -inf, kernel, strides, pads, dilations, ceil)
        zero, seen = windows(x, 0, kernel, strides, pads, dilations, ceil)
        found.append(Case("MaxPool", {"x": x}, low.max(0), flags))
        for kind in (np.int8, np.uint8):
            whole = np.round(x * 50 + 100 * (kind is np.uint8)).astype(kind)
            low, _ = windows(whole.astype(np.float32), -inf, kernel, strides, pads, dilations, ceil)
            found.append(Case("MaxPool", {"x": whole}, low.max(0).astype(kind), flags))
        for counts in (0, 1):
            number = (seen > 0).sum(0) if counts else (seen == 1).sum(0)
            mean = (zero.sum(0) / number).astype(np.float32)
            found.append(Case("AveragePool", {"x": x}, mean, {**flags, "count_include_pad": counts}, 19))
        for p in (1, 2, 3):
            norm = (np.abs(zero) ** p).sum(0) ** (1 / p)
            found.append(Case("LpPool", {"x": x}, norm, {**flags, "p": p}))
    for op, result in (
        ("GlobalAveragePool", x.mean((2, 3), keepdims=True)),
        ("GlobalMaxPool", x.max((2, 3), keepdims=True)),
        ("GlobalLpPool", np.sqrt((x**2).sum((2, 3), keepdims=True))),
    ):
        found.append(Case(op, {"x": x}, result))
    line = x[:, :, :, :1]
    found.append(Case("GlobalAveragePool", {"x": line}, line.mean((2, 3), keepdims=True)))
    return found


# Shapes, parts and places.


def whole(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def parts() -> list[Case]:
    x = reals(2, 3, 4)
    row, places = np.array([2, 0, -1]), np.array([[0, 2], [1, -1]])
    shape, axes = "shape", "axes"
    cases = [
        Case("Reshape", {"x": x, shape: whole(4, -1)}, x.reshape(4, 6)),
        Case("Reshape", {"x": x, shape: whole(0, 0, 2, 2)}, x.reshape(2, 3, 2, 2)),
        Case("Flatten", {"x": x}, x.reshape(2, 12)),
        Case("Flatten", {"x": x}, x.reshape(6, 4), {"axis": 2}),
        Case("Flatten", {"x": x}, x.reshape(6, 4), {"axis": -1}),
        Case("Flatten", {"x": x}, x.reshape(1, 24), {"axis": 0}),
        Case("Squeeze", {"x": x[:1, :, None]}, x[0]),
        Case("Squeeze", {"x": x[:1, :, None], axes: whole(-2)}, x[:1]),
        Case("Unsqueeze", {"x": x, axes: whole(1, -1)}, x[:, None, :, :, None]),
        Case("Transpose", {"x": x}, x.T),
        Case("Transpose", {"x": x}, x.transpose(1, 2, 0), {"perm": [1, 2, 0]}),
        Case("Expand", {"x": x[:, :1], shape: whole(2, 2, 3, 1)}, np.broadcast_to(x[:, :1], (2, 2, 3, 4))),
        Case("Tile", {"x": x, "repeats": whole(1, 2, 3)}, np.tile(x, (1, 2, 3))),
        Case("Slice", {"x": x, "starts": whole(1, -1), "ends": whole(9, -9), axes: whole(1, 2),
                       "steps": whole(1, -2)}, x[:, 1:, ::-2]),
        Case("Slice", {"x": x, "starts": whole(0, 1), "ends": whole(1, -1)}, x[:1, 1:-1]),
        Case("Split", {"x": x, "split": whole(1, 3)}, (x[:, :, :1], x[:, :, 1:]), {"axis": -1}),
        Case("Split", {"x": x}, (x[:, :2], x[:, 2:]), {"axis": 1, "num_outputs": 2}),
        Case("Concat", {"x": x, "y": x[:, :1]}, np.concatenate([x, x[:, :1]], 1), {"axis": -2}),
        Case("Gather", {"x": x, "at": row}, x[:, row], {"axis": 1}),
        Case("Gather", {"x": x, "at": np.array(1)}, x[1]),
        Case("GatherND", {"x": x, "at": places}, np.stack([x[0, 2], x[1, -1]])),
        Case("GatherND", {"x": x, "at": places[:, :1]}, np.stack([x[0, 0], x[1, 1]]), {"batch_dims": 1}),
        Case("GatherElements", {"x": x, "at": np.argsort(x, 1)}, np.sort(x, 1), {"axis": 1}),
        Case("CumSum", {"x": x, "axis": np.array(1)}, np.cumsum(x, 1)),
        Case("CumSum", {"x": x, "axis": np.array(-1)}, np.cumsum(x, 2) - x, {"exclusive": 1}),
        Case("CumSum", {"x": x, "axis": np.array(0)}, np.cumsum(x[::-1], 0)[::-1], {"reverse": 1}),
        Case("Trilu", {"x": x}, np.triu(x)),
        Case("Trilu", {"x": x, "k": np.array(-1)}, np.tril(x, -1), {"upper": 0}),
        Case("DepthToSpace", {"x": reals(1, 8, 2, 3)},
             reals(1, 8, 2, 3).reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6),
             {"blocksize": 2}),
        Case("DepthToSpace", {"x": reals(1, 8, 2, 3)},
             reals(1, 8, 2, 3).reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6),
             {"blocksize": 2, "mode": "CRD"}),
        Case("SpaceToDepth", {"x": reals(1, 2, 4, 6)},
             reals(1, 2, 4, 6).reshape(1, 2, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 8, 2, 3),
             {"blocksize": 2}),
    ]  # fmt: skip
    modes: tuple[Literal["constant", "reflect", "edge", "wrap"], ...] = (
        "constant",
        "reflect",
        "edge",
        "wrap",
    )
    for mode in modes:
        given, more = {"x": x, "pads": whole(0, 1, 2, 0, 0, 1)}, ((0, 0), (1, 0), (2, 1))
        cases.append(Case("Pad", given, np.pad(x, more, mode), {"mode": mode}, 19))
    return [Case(c.op, c.given, c.expected, c.attributes, c.opset, " ".join([*c.given][1:])) for c in cases]


def reductions() -> list[Case]:
    x, found = reals(2, 3, 4), []
    functions: dict[str, Callable[..., Any]] = {
        "ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min,
        "ReduceProd": np.prod,
        "ReduceL1": lambda value, **how: np.abs(value).sum(**how),
        "ReduceL2": lambda value, **how: np.sqrt((value**2).sum(**how)),
        "ReduceSumSquare": lambda value, **how: (value**2).sum(**how),
        "ReduceLogSumExp": lambda value, **how: np.log(np.exp(value).sum(**how)),
    }  # fmt: skip
    for op, function in functions.items():
        for axes, keep in (((1,), 1), ((0, -1), 0)):
            given = {"x": x, "axes": np.array(axes)}
            found.append(Case(op, given, function(x, axis=axes, keepdims=bool(keep)), {"keepdims": keep},
                              known="axes"))  # fmt: skip
        found.append(Case(op, {"x": x}, function(x, axis=(0, 1, 2), keepdims=True)))
    none = {"x": x, "axes": np.zeros(0, np.int64)}
    found.append(Case("ReduceSum", none, x, {"noop_with_empty_axes": 1}, known="axes"))
    ties = np.array([[1, 5, 5, 2], [7, 7, 0, 7]], np.float32)
    found += [
        Case("ArgMax", {"x": ties}, np.array([[1], [0]]), {"axis": 1}),
        Case("ArgMax", {"x": ties}, np.array([2, 3]), {"axis": -1, "keepdims": 0, "select_last_index": 1}),
        Case("ArgMin", {"x": ties}, np.array([[0, 0, 1, 0]]), {"axis": 0}),
    ]
    return found


def softmaxes() -> list[Case]:
    x, found = reals(2, 3, 4), []
    for axis in (0, 1, -1):
        power = np.exp(x)
        share = power / power.sum(axis, keepdims=True)
        found += [Case("Softmax", {"x": x}, share, {"axis": axis}),
                  Case("LogSoftmax", {"x": x}, np.log(share), {"axis": axis})]  # fmt: skip
    rows = np.exp(x.reshape(2, 12))
    old = (rows / rows.sum(1, keepdims=True)).reshape(x.shape)
    found.append(Case("Softmax", {"x": x}, old, {}, 11))
    return found


def losses() -> list[Case]:
    logs, classes, weight = reals(4, 3, 2), np.array([[0, 2], [1, 1], [2, 0], [1, 2]]), np.abs(reals(3)) + 0.1
    found = []
    shares = np.log(np.exp(logs) / np.exp(logs).sum(1, keepdims=True))
    for op, terms in (("NegativeLogLikelihoodLoss", logs), ("SoftmaxCrossEntropyLoss", shares)):
        for weighted, ignored, reduction in product((False, True), (None, 1), ("none", "sum", "mean")):
            factors = weight[classes] if weighted else np.ones(classes.shape, np.float32)
            factors = factors if ignored is None else factors * (classes != ignored)
            loss = -np.take_along_axis(terms, classes[:, None], 1)[:, 0] * factors
            total = {"none": loss, "sum": loss.sum(), "mean": loss.sum() / factors.sum()}[reduction]
            flags = {"reduction": reduction} | ({} if ignored is None else {"ignore_index": ignored})
            given = {"x": logs, "classes": classes} | ({"weight": weight} if weighted else {})
            found.append(Case(op, given, np.asarray(total, np.float32), flags))
    one = np.asarray(-logs[:1, 1, :1].sum(), np.float32)
    found.append(Case("NegativeLogLikelihoodLoss", {"x": logs[:1, :, :1], "classes": classes[1:2, :1]}, one))
    return found


def choices() -> list[Case]:
    x, whole = reals(2, 3), np.array([-7, 7, -6, 5], np.int32)
    by = np.array([3, -3, -2, 5], np.int32)
    return [
        Case("Clip", {"x": x, "low": number(-0.5), "high": number(1)}, np.clip(x, -0.5, 1)),
        Case("Clip", {"x": x, "low": number(-0.5)}, np.maximum(x, np.float32(-0.5))),
        Case("Mod", {"x": whole, "y": by}, np.mod(whole, by)),
        Case("Mod", {"x": whole, "y": by}, np.fmod(whole, by), {"fmod": 1}),
        Case("Where", {"c": x > 0, "x": x, "y": -x}, np.abs(x)),
        Case("LeakyRelu", {"x": x}, np.where(x < 0, 0.3 * x, x), {"alpha": 0.3}),
        Case("Elu", {"x": x}, np.where(x < 0, 0.3 * (np.exp(x) - 1), x), {"alpha": 0.3}),
        Case("Selu", {"x": x}, np.where(x < 0, np.exp(x) - 1, 0.5 * x),
             {"alpha": 2.0, "gamma": 0.5}),
        Case("HardSigmoid", {"x": x}, np.clip(0.3 * x + 0.4, 0, 1), {"alpha": 0.3, "beta": 0.4}),
        Case("ThresholdedRelu", {"x": x}, np.where(x > 0.7, x, 0), {"alpha": 0.7}),
        Case("Celu", {"x": x}, np.where(x < 0, 2 * (np.exp(x / 2) - 1), x), {"alpha": 2.0}),
        Case("PRelu", {"x": x, "slope": reals(3)}, np.where(x < 0, reals(3) * x, x)),
        Case("Shrink", {"x": x}, np.where(x < -0.5, x + 0.2, np.where(x > 0.5, x - 0.2, 0)),
             {"lambd": 0.5, "bias": 0.2}),
        Case("OneHot",
             {"at": np.array([1, -1, 5]), "depth": np.array(3), "values": np.array([2, 9], np.float32)},
             np.array([[2, 9, 2], [2, 2, 9], [2, 2, 2]], np.float32), known="depth values"),
        Case("TopK", {"x": reals(2, 5), "k": np.array([3])},
             (-np.sort(-reals(2, 5), 1)[:, :3], np.argsort(-reals(2, 5), 1, "stable")[:, :3]), known="k"),
        Case("TopK", {"x": reals(2, 5), "k": np.array([2])},
             (np.sort(reals(2, 5), 0), np.argsort(reals(2, 5), 0, "stable")), {"axis": 0, "largest": 0},
             known="k"),
    ]  # fmt: skip


FAMILIES = {
    one.__name__: one() for one in (gemm, norms, pools, parts, reductions, softmaxes, losses, choices)
}
ALL = [
    pytest.param(case, id=f"{case.op}-{number}")
    for cases in FAMILIES.values()
    for number, case in enumerate(cases)
]


@pytest.mark.parametrize("constant", [False, True], ids=["inputs", "constants"])
@pytest.mark.parametrize("case", ALL)
def test_a_node_gives_what_numpy_gives(case: Case, constant: bool) -> None:
    check(case, constant)


@pytest.mark.parametrize("shape", [(-1, -1), (-2, 3), (2, -1, -1)])
def test_shapes_that_are_none_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(tj.ModelError, match=r"its new shape .* is none"):
        tj.load(single("Reshape", {"x": reals(2, 3), "_shape": np.array(shape)}))
