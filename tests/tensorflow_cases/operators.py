"""A node of each operator with operands, and what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.tensorflow_cases import oracle
from tests.tensorflow_cases.files import TYPES, RawGraph
from tosajit.frontends.tensorflow.schema import Type

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class OpCase:
    """A node `y` with its operands, of which some are constants."""

    op: str
    operands: Sequence[Array]
    expected: Sequence[Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    constants: frozenset[int] = frozenset()
    relative: float = 1e-5
    absolute: float = 1e-6
    note: str = ""

    @property
    def label(self) -> str:
        """What a test of it is called."""
        return f"{self.op}-{self.note}" if self.note else self.op

    @property
    def inputs(self) -> dict[str, Array]:
        """What the graph is given."""
        return {
            f"x{place}": array for place, array in enumerate(self.operands) if place not in self.constants
        }

    def model(self) -> bytes:
        """The GraphDef."""
        graph, names = RawGraph(), []
        for place, array in enumerate(self.operands):
            if place in self.constants:
                names.append(graph.const(f"x{place}", array))
            else:
                names.append(graph.input(f"x{place}", array.shape, TYPES[array.dtype]))
        graph.node("y", self.op, *names, **self.attributes)
        return graph.bytes()


CASES: list[OpCase] = []


def case(
    op: str,
    operands: Sequence[Any],
    *expected: Any,
    constants: Sequence[int] = (),
    note: str = "",
    **attributes: Any,
) -> None:
    """Add a case; numbers of Python are int32."""
    arrays = [
        np.asarray(one, None if isinstance(one, np.ndarray | np.generic) else np.int32) for one in operands
    ]
    CASES.append(OpCase(op, arrays, expected, attributes, frozenset(constants), note=note))


def real(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 1) -> Array:
    """Random numbers."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def whole(*shape: int, low: int = -50, high: int = 50, seed: int = 2) -> Array:
    """Random integers."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(np.int32)


def truth(*shape: int, seed: int = 3) -> Array:
    """Random truths."""
    return np.random.default_rng(seed).random(shape) < 0.5


def _binary() -> None:
    a, b, i, j = real(2, 3, 4), real(3, 1, seed=5), whole(2, 3), whole(3, low=1, high=9)
    for op, function in (
        ("Add", np.add), ("AddV2", np.add), ("Sub", np.subtract), ("Mul", np.multiply),
        ("Maximum", np.maximum), ("Minimum", np.minimum), ("FloorDiv", np.floor_divide),
        ("FloorMod", np.mod), ("Mod", np.fmod), ("TruncateMod", np.fmod),
        ("SquaredDifference", lambda one, other: (one - other) ** 2),
    ):  # fmt: skip
        case(op, [a, b], function(a, b), note="real")
        case(op, [i, -j], function(i, -j), note="whole")
    for op in ("RealDiv", "Div", "DivNoNan", "Xdivy"):
        case(op, [a, b], a / b)
    zeros = np.where(truth(3, 1), 0, b).astype(np.float32)
    with np.errstate(all="ignore"):
        case("DivNoNan", [a, zeros], np.where(zeros == 0, 0, a / zeros), note="zero")
    case("RealDiv", [a, b], a / b, constants=[1], note="constant")
    case("Xdivy", [a * 0, b * 0], a * 0, note="zero")
    case("MulNoNan", [a, zeros], a * zeros)
    case("TruncateDiv", [i, -j], np.trunc(i / -j).astype(np.int32))
    case("Div", [i, j], np.trunc(i / j).astype(np.int32), note="whole")
    case("AddN", [a, a, a], 3 * a)
    case("Pow", [np.abs(a), b], np.abs(a) ** b)
    for power in (2.0, 3.0, -2.0):
        case("Pow", [a, np.float32(power)], a ** np.float32(power), constants=[1], note=str(power))
    for op, compare in (
        ("Equal", np.equal), ("NotEqual", np.not_equal), ("Greater", np.greater),
        ("GreaterEqual", np.greater_equal), ("Less", np.less), ("LessEqual", np.less_equal),
    ):  # fmt: skip
        case(op, [i, j], compare(i, j), note="whole")
        case(op, [a.round(), b.round()], compare(a.round(), b.round()), note="real")
    t, u = truth(2, 3), truth(3, seed=9)
    case("Equal", [t, u], t == u, note="truths")
    case("NotEqual", [t, u], t != u, note="truths")
    case("LogicalAnd", [t, u], t & u)
    case("LogicalOr", [t, u], t | u)
    case("BitwiseAnd", [i, j], i & j)
    case("BitwiseOr", [i, j], i | j)
    case("BitwiseXor", [i, j], i ^ j)
    case("LeftShift", [i, j], i << j)
    case("RightShift", [i, j], i >> j)
    case("SelectV2", [truth(3, 1), a, b], np.where(truth(3, 1), a, b))
    case("Select", [truth(2), a, a + 1], np.where(truth(2)[:, None, None], a, a + 1), note="rows")
    case("Select", [truth(2, 3, 4), a, a + 1], np.where(truth(2, 3, 4), a, a + 1))
    case("BiasAdd", [a, real(4)], a + real(4), note="last")
    case("BiasAdd", [a, real(3)], a + real(3)[:, None], data_format="NCHW", note="first")
    case("BiasAddV1", [a, real(4)], a + real(4))


def _unary() -> None:
    a, positive = real(3, 5), real(3, 5, low=0.1, high=4)
    special = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    for op, function in (
        ("Exp", np.exp), ("Expm1", np.expm1), ("Sin", np.sin), ("Cos", np.cos), ("Tan", np.tan),
        ("Tanh", np.tanh), ("Floor", np.floor), ("Ceil", np.ceil), ("Rint", np.rint), ("Square", np.square),
        ("Neg", np.negative), ("Abs", np.abs), ("Sign", np.sign), ("Reciprocal", np.reciprocal),
        ("Inv", np.reciprocal), ("Relu", lambda one: np.maximum(one, 0)),
        ("Relu6", lambda one: np.clip(one, 0, 6)),
        ("LeakyRelu", lambda one: np.where(one > 0, one, 0.2 * one)),
        ("Elu", lambda one: np.where(one > 0, one, np.expm1(one))), ("Selu", oracle.selu),
        ("Softplus", lambda one: np.logaddexp(one, 0)), ("Softsign", lambda one: one / (1 + np.abs(one))),
        ("Sigmoid", lambda one: 1 / (1 + np.exp(-one))), ("Erf", oracle.erf),
        ("Erfc", lambda one: 1 - oracle.erf(one)), ("Softmax", oracle.softmax),
        ("LogSoftmax", lambda one: np.log(oracle.softmax(one))),
    ):  # fmt: skip
        case(op, [a], np.asarray(function(a.astype(np.float64))).astype(np.float32))
    tiny = np.array([1e-6, -1e-7, 3e-4, 0, 1e-3], np.float32)
    case("Expm1", [tiny], np.expm1(tiny.astype(np.float64)).astype(np.float32), note="tiny")
    for op, function in (("Log", np.log), ("Log1p", np.log1p), ("Sqrt", np.sqrt)):
        case(op, [positive], function(positive))
    case("Log1p", [tiny], np.log1p(tiny.astype(np.float64)).astype(np.float32), note="tiny")
    case("Rsqrt", [positive], 1 / np.sqrt(positive))
    halves = np.array([0.5, 1.5, -0.5, -2.5, 2.4, 7e6, -3e9], np.float32)
    case("Round", [halves], np.rint(halves))
    case("Round", [whole(4)], whole(4), note="whole")
    case("LogicalNot", [truth(4)], ~truth(4))
    case("Invert", [whole(4)], ~whole(4))
    case("IsNan", [special], np.isnan(special))
    case("IsInf", [special], np.isinf(special))
    case("IsFinite", [special], np.isfinite(special))
    for op in (
        "Identity", "Snapshot", "StopGradient", "PreventGradient", "PlaceholderWithDefault", "CheckNumerics",
        "EnsureShape", "DeepCopy", "OptimizationBarrier",
    ):  # fmt: skip
        case(op, [a], a)
    case("IdentityN", [a, whole(2)], a, whole(2))
    case("Cast", [a * 9], (a * 9).astype(np.int32), DstT=Type.INT32, note="whole")
    case("Cast", [a], a.astype(np.float16), DstT=Type.FLOAT16, note="half")
    case("Cast", [whole(5)], whole(5).astype(np.float32), DstT=Type.FLOAT32, note="real")
    case("Cast", [truth(5)], truth(5).astype(np.float32), DstT=Type.FLOAT32, note="truths")
    case("Cast", [whole(5, low=0, high=2)], whole(5, low=0, high=2) != 0, DstT=Type.BOOL, note="truth")


def _moving() -> None:
    a = real(2, 3, 4)
    case("Reshape", [a, [4, -1]], a.reshape(4, 6), constants=[1])
    case("Squeeze", [real(1, 3, 1)], real(1, 3, 1)[:, :, 0], squeeze_dims=[-1])
    case("ExpandDims", [a, 1], a[:, None], constants=[1])
    case("Transpose", [a, [2, 0, 1]], a.transpose(2, 0, 1), constants=[1])
    case("Slice", [a, [0, 1, 2], [2, -1, 1]], a[:, 1:, 2:3], constants=[1, 2])
    case(
        "StridedSlice",
        [a, [0, -1, 3], [0, 0, 0], [1, -1, -2]],
        a[0, :0:-1, ::-2],
        constants=[1, 2, 3],
        begin_mask=4,
        end_mask=4,
        shrink_axis_mask=1,
    )
    case(
        "StridedSlice",
        [a, [0, 0, 1], [0, 0, 3], [1, 1, 1]],
        a[..., None, 1:3],
        constants=[1, 2, 3],
        ellipsis_mask=1,
        new_axis_mask=2,
        note="ellipsis",
    )
    case("ConcatV2", [a, a + 1, -1], np.concatenate([a, a + 1], -1), constants=[2])
    case("Concat", [1, a, a + 1], np.concatenate([a, a + 1], 1), constants=[0])
    case("Pack", [a, a + 1], np.stack([a, a + 1], 1), axis=1)
    case("Unpack", [a], *(a[:, place] for place in range(3)), axis=1, num=3)
    case("Split", [2, a], a[..., :2], a[..., 2:], constants=[0], num_split=2)
    case("SplitV", [a, [1, -1], 1], a[:, :1], a[:, 1:], constants=[1, 2], num_split=2)
    borders = np.array([[0, 0], [1, 2], [0, 1]], np.int32)
    case("Pad", [a, borders], np.pad(a, borders), constants=[1])
    case("PadV2", [a, borders, np.float32(7)], np.pad(a, borders, constant_values=7), constants=[1, 2])
    for mode in ("reflect", "symmetric"):
        case(
            "MirrorPad",
            [a, borders],
            np.pad(a, borders, mode=mode),
            constants=[1],
            mode=mode.upper(),
            note=mode,
        )
    case("Tile", [a, [1, 2, 3]], np.tile(a, (1, 2, 3)), constants=[1])
    case("BroadcastTo", [real(3, 1), [2, 3, 4]], np.broadcast_to(real(3, 1), (2, 3, 4)), constants=[1])
    case("Fill", [[2, 3], np.float32(5)], np.full((2, 3), 5, np.float32), constants=[0])
    case("ReverseV2", [a, [0, -1]], a[::-1, :, ::-1], constants=[1])
    case("ZerosLike", [a], np.zeros_like(a))
    case("OnesLike", [a], np.ones_like(a))
    case("Shape", [a], np.array([2, 3, 4], np.int32), out_type=Type.INT32)
    case("ShapeN", [a, a[0]], np.array([2, 3, 4], np.int32), np.array([3, 4], np.int32), N=2)
    case("Size", [a], np.array(24, np.int32))
    case("Rank", [a], np.array(3, np.int32))
    case("Range", [2, 11, 3], np.arange(2, 11, 3, dtype=np.int32), constants=[0, 1, 2])
    case(
        "LinSpace",
        [np.float32(0), np.float32(1), 5],
        np.linspace(0, 1, 5, dtype=np.float32),
        constants=[0, 1, 2],
    )
    case("InvertPermutation", [[2, 0, 1]], np.array([1, 2, 0], np.int32), constants=[0])
    case("BroadcastArgs", [[3, 1], [2, 1, 4]], np.array([2, 3, 4], np.int32), constants=[0, 1])
    starts = np.array([0, 0], np.int32), np.array([0, 2], np.int32)
    case("ConcatOffset", [1, [3, 2], [3, 5]], *starts, constants=[0, 1, 2])
    image = real(2, 4, 6, 8)
    case("SpaceToDepth", [image], oracle.space_to_depth(image, 2), block_size=2)
    case("DepthToSpace", [oracle.space_to_depth(image, 2)], image, block_size=2)
    case(
        "SpaceToBatchND",
        [image, [2, 2], [[0, 0], [1, 1]]],
        oracle.space_to_batch(np.pad(image, ((0, 0), (0, 0), (1, 1), (0, 0))), 2),
        constants=[1, 2],
    )
    case(
        "BatchToSpaceND",
        [oracle.space_to_batch(image, 2), [2, 2], [[0, 0], [1, 0]]],
        image[:, :, 1:],
        constants=[1, 2],
    )


def _indexed() -> None:
    a, places = real(4, 3, 5), np.array([[3, 0], [2, 2]], np.int32)
    for op, axis in (("Gather", 0), ("ResourceGather", 0)):
        case(op, [a, places], np.take(a, places, axis))
    case("GatherV2", [a, places % 3, 1], np.take(a, places % 3, 1), constants=[2])
    rows = np.array([[1, 0, 2], [0, 0, 1], [2, 2, 2], [0, 1, 2]], np.int32)
    case(
        "GatherV2",
        [a, rows, 1],
        np.take_along_axis(a, rows[..., None], 1),
        constants=[2],
        batch_dims=1,
        note="shared",
    )
    pairs = np.array([[3, 0], [0, 2]], np.int32)
    case("GatherNd", [a, pairs], a[pairs[:, 0], pairs[:, 1]])
    case(
        "OneHot",
        [places, 4, np.float32(2), np.float32(-1)],
        np.where(places[..., None] == np.arange(4), 2, -1).astype(np.float32),
        constants=[1],
    )
    values, one = real(2, 5), np.zeros((4, 3, 5), np.float32)
    one[pairs[:, 0], pairs[:, 1]] = values
    case("ScatterNd", [pairs, values, [4, 3, 5]], one, constants=[0, 2])
    twice, again = np.zeros((4, 5), np.float32), np.array([[1], [1]], np.int32)
    twice[1] = values.sum(0)
    case("ScatterNd", [again, values, [4, 5]], twice, constants=[2], note="sums")
    put, added = a.copy(), a.copy()
    put[pairs[:, 0], pairs[:, 1]] = values
    added[pairs[:, 0], pairs[:, 1]] += values
    case("TensorScatterUpdate", [a, pairs, values], put)
    case("TensorScatterAdd", [a, pairs, values], added)
    taken = 2 * a - added
    case("TensorScatterSub", [a, pairs, values], taken)
    order = np.argsort(-a, -1, kind="stable")[..., :2]
    case("TopKV2", [a, 2], np.take_along_axis(a, order, -1), order.astype(np.int32), constants=[1])
    case("Cumsum", [a, 1], np.cumsum(a, 1), constants=[1])
    late = np.cumsum(a[:, ::-1], 1)[:, ::-1] - a
    case("Cumsum", [a, 1], late, constants=[1], exclusive=True, reverse=True, note="reverse")
    turned = a.copy()
    for number, length in enumerate((3, 1, 2, 0)):
        turned[number, :length] = a[number, :length][::-1]
    case("ReverseSequence", [a, [3, 1, 2, 0]], turned, seq_dim=1, batch_dim=0)
    sums = np.stack([a[0] + a[2], a[3], np.zeros_like(a[0])])
    case("UnsortedSegmentSum", [a, [0, -1, 0, 1], 3], sums, constants=[2])
    case("SegmentSum", [a, [0, 0, 1, 1]], np.stack([a[0] + a[1], a[2] + a[3]]), constants=[1])


def _reducing() -> None:
    a, i, t = real(2, 3, 4), whole(2, 3, 4), truth(2, 3, 4)
    for op, function in (
        ("Sum", np.sum),
        ("Mean", np.mean),
        ("Max", np.max),
        ("Min", np.min),
        ("Prod", np.prod),
    ):
        case(op, [a, [0, -1]], function(a, axis=(0, 2)), constants=[1])
        case(op, [a, 1], function(a, axis=1, keepdims=True), constants=[1], keep_dims=True, note="kept")
    case("Sum", [i, [0, 1, 2]], i.sum(dtype=np.int32), constants=[1], note="whole")
    case("EuclideanNorm", [a, 2], np.sqrt((a * a).sum(2)), constants=[1])
    case("All", [t, 1], t.all(1), constants=[1])
    case("Any", [t, 1], t.any(1), constants=[1])
    for name, value in (("real", a), ("whole", i)):
        case("ArgMax", [value, 1], value.argmax(1).astype(np.int32), constants=[1], note=name)
        case("ArgMin", [value, -1], value.argmin(-1).astype(np.int32), constants=[1], note=name)


def _contracting() -> None:
    a, b = real(3, 4), real(4, 5, seed=7)
    for constant in (False, True):
        note, places = ("constant", [1]) if constant else ("", [])
        case("MatMul", [a, b], a @ b, constants=places, note=note)
        case("SparseMatMul", [a, b], a @ b, constants=places, note=note)
        case(
            "MatMul",
            [a.T.copy(), b.T.copy()],
            a @ b,
            transpose_a=True,
            transpose_b=True,
            constants=places,
            note=f"turned{note}",
        )
    left, right = real(2, 1, 3, 4), real(5, 4, 2, seed=7)
    for op in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
        case(op, [left, right], left @ right)
    case("BatchMatMulV2", [left, right.swapaxes(-1, -2).copy()], left @ right, adj_y=True, note="turned")
    for equation, shapes in (
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("abc,cde->abde", [(2, 3, 4), (4, 2, 5)]),
        ("aecd,abcd->acbe", [(2, 3, 4, 5), (2, 6, 4, 5)]), ("...ij,jk->...ik", [(2, 3, 4), (4, 5)]),
        ("ij->ji", [(2, 3)]), ("ijk->j", [(2, 3, 4)]), ("i,j->ij", [(2,), (3,)]),
        ("ij,ik->jk", [(2, 3), (2, 4)]),
    ):  # fmt: skip
        terms = [real(*shape, seed=place) for place, shape in enumerate(shapes)]
        case("Einsum", terms, np.einsum(equation, *terms), equation=equation, note=equation)
    terms = [real(2, 3, 4), real(4, 2, 5)]
    case(
        "Einsum",
        terms,
        np.einsum("abc,cde->abde", *terms),
        equation="abc,cde->abde",
        constants=[1],
        note="weights",
    )


def _windowed() -> None:
    image, weights = real(2, 7, 8, 4), real(3, 2, 4, 6, seed=5)
    for padding in ("SAME", "VALID"):
        for stride, dilation in ((1, 1), (2, 1), (1, 2)):
            expected = oracle.conv2d(image, weights, stride, dilation, padding)
            case(
                "Conv2D",
                [image, weights],
                expected,
                constants=[1],
                strides=[1, stride, stride, 1],
                dilations=[1, dilation, dilation, 1],
                padding=padding,
                note=f"{padding}{stride}{dilation}",
            )
    first = image.transpose(0, 3, 1, 2).copy()
    explicit = oracle.conv2d(np.pad(image, ((0, 0), (1, 2), (0, 1), (0, 0))), weights, 2, 1, "VALID")
    case(
        "Conv2D",
        [first, weights],
        explicit.transpose(0, 3, 1, 2),
        constants=[1],
        strides=[1, 1, 2, 2],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 0, 0, 1, 2, 0, 1],
        data_format="NCHW",
        note="NCHW",
    )
    grouped = real(3, 3, 2, 6, seed=6)
    parts = [
        oracle.conv2d(image[..., 2 * g : 2 * g + 2], grouped[..., 3 * g : 3 * g + 3], 1, 1, "SAME")
        for g in range(2)
    ]
    case(
        "Conv2D",
        [image, grouped],
        np.concatenate(parts, -1),
        strides=[1, 1, 1, 1],
        padding="SAME",
        note="groups",
    )
    deep = real(3, 3, 4, 2, seed=8)
    case(
        "DepthwiseConv2dNative",
        [image, deep],
        oracle.depthwise(image, deep, 2, "SAME"),
        constants=[1],
        strides=[1, 2, 2, 1],
        padding="SAME",
    )
    back = real(3, 3, 5, 4, seed=9)
    for padding, size in (("SAME", (14, 15)), ("VALID", (15, 17))):
        case(
            "Conv2DBackpropInput",
            [[2, *size, 5], back, image],
            oracle.transposed_conv2d(image, back, 2, size, padding),
            constants=[0, 1],
            strides=[1, 2, 2, 1],
            padding=padding,
            note=padding,
        )
    volume, cube = real(1, 3, 4, 5, 2), real(2, 2, 3, 2, 4, seed=5)
    case(
        "Conv3D", [volume, cube], oracle.conv3d(volume, cube), constants=[1], strides=[1] * 5, padding="VALID"
    )
    for op, reduce in (("MaxPool", np.max), ("AvgPool", np.mean)):
        for padding in ("SAME", "VALID"):
            case(
                op,
                [image],
                oracle.pool(image, 3, 2, padding, reduce),
                ksize=[1, 3, 3, 1],
                strides=[1, 2, 2, 1],
                padding=padding,
                note=padding,
            )
    scale, offset, mean, variance = real(4), real(4, seed=2), real(4, seed=3), real(4, low=0.5, seed=4)
    normal = (image - mean) / np.sqrt(variance + np.float32(0.01)) * scale + offset
    for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        for places in ((), (1, 2, 3, 4)):
            case(
                op,
                [image, scale, offset, mean, variance],
                normal,
                constants=places,
                epsilon=0.01,
                is_training=False,
                note="constant" if places else "",
            )
    case(
        "LRN",
        [image],
        oracle.response(image, 1, 1.0, 0.5, 0.75),
        depth_radius=1,
        bias=1.0,
        alpha=0.5,
        beta=0.75,
    )
    case("ResizeNearestNeighbor", [image, [14, 4]], image.repeat(2, 1)[:, :, ::2], constants=[1])
    corners = oracle.bilinear(image, (9, 5))
    case("ResizeBilinear", [image, [9, 5]], corners, constants=[1], half_pixel_centers=True)


def _gridded() -> None:
    a = real(3, 4, low=-8, high=8)
    expected = oracle.fake_quant(a, -6, 6, 8, False)
    case("FakeQuantWithMinMaxArgs", [a], expected, min=-6.0, max=6.0)
    narrow = oracle.fake_quant(a, -2, 3.5, 4, True)
    case(
        "FakeQuantWithMinMaxVars",
        [a, np.float32(-2), np.float32(3.5)],
        narrow,
        constants=[1, 2],
        num_bits=4,
        narrow_range=True,
    )
    low, high = np.array([-1, -2, -3, 0], np.float32), np.array([1, 5, 2, 4], np.float32)
    columns = [oracle.fake_quant(a[:, place], low[place], high[place], 8, False) for place in range(4)]
    case("FakeQuantWithMinMaxVarsPerChannel", [a, low, high], np.stack(columns, 1), constants=[1, 2])


for _family in (_binary, _unary, _moving, _indexed, _reducing, _contracting, _windowed, _gridded):
    _family()
