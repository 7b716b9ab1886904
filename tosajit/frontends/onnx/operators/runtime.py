"""What ONNX Runtime's optimizer and quantizer write in place of several operators of ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.frontends.common.layout import part, reshaped, transposed
from tosajit.frontends.common.numbers import number
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import REAL, operator
from tosajit.frontends.onnx.operators.convolution import ConvAttributes
from tosajit.frontends.onnx.operators.dynamic import dynamic_quantize
from tosajit.frontends.onnx.operators.qlinear import ORT, written
from tosajit.frontends.onnx.records import Attribute
from tosajit.frontends.onnx.schema import STORAGE, Type

_ACTIVATIONS = {
    "Relu": (), "Tanh": (), "Sigmoid": (), "LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"),
}  # fmt: skip
"""Functions of what is computed, and what their parameters are called."""


def _added(node: Node, value: Operand, term: Operand | None) -> Operand:
    return value if term is None else written(node, "Add", (value, term), {})


@dataclass(frozen=True, slots=True)
class FusedMatrixAttributes(Attributes):
    """A factor, and which operands are turned."""

    alpha: float = 1.0
    transA: bool = False
    transB: bool = False
    transBatchA: bool = False
    transBatchB: bool = False


@operator(f"{ORT}FusedMatMul {ORT}TransposeMatMul", FusedMatrixAttributes, types=REAL)
def fused_mat_mul(node: Node, options: FusedMatrixAttributes) -> Operand:
    """The products of matrices, which may be turned before, times a factor."""
    if options.transBatchA or options.transBatchB:
        raise Refused("its batches are turned")
    operands = [
        _turned(node, one) if turns else one
        for one, turns in zip(node.given, (options.transA, options.transB), strict=True)
    ]
    found = written(node, "MatMul", operands, {})
    return found if options.alpha == 1 else _times(node, found, options.alpha)


def _turned(node: Node, value: Operand) -> Operand:
    rank = value.rank
    if rank < 2:
        return value
    return node.of(transposed(value.tensor, (*range(rank - 2), rank - 1, rank - 2)), value.type)


def _times(node: Node, value: Operand, factor: float) -> Operand:
    return written(node, "Mul", (value, _number(node, value, factor)), {})


def _number(node: Node, like: Operand, value: float) -> Operand:
    return node.of(np.array(value, STORAGE[like.type]), like.type)


@dataclass(frozen=True, slots=True)
class FusedConvAttributes(ConvAttributes):
    """The function of the sums, and its parameters."""

    activation: str = ""
    activation_params: tuple[float, ...] = ()


@operator(f"{ORT}FusedConv", FusedConvAttributes, types=REAL)
def fused_conv(node: Node, options: FusedConvAttributes) -> Operand:
    """A convolution, another tensor added to it, and a function of the sums."""
    plain = {name: one for name, one in node.record.attributes.items() if name in _CONVOLUTION}
    found = written(node, "Conv", (node[0], node[1], node.optional(2)), plain)
    found, name, given = _added(node, found, node.optional(3)), options.activation, options.activation_params
    if not name:
        return found
    if name == "Clip" and len(given) == 2:
        return written(node, "Clip", (found, *(_number(node, found, one) for one in given)), {})
    names = _ACTIVATIONS.get(name)
    if names is None or len(names) != len(given):
        raise Refused(f"its function {name!r} is not known")
    parameters: dict[str, Attribute] = dict(zip(names, given, strict=True))
    return written(node, name, (found,), parameters)


_CONVOLUTION = frozenset(one.name for one in fields(ConvAttributes))


@operator(f"{ORT}Gelu {ORT}BiasGelu", types=REAL)
def bias_gelu(node: Node) -> Operand:
    """Elements, a bias added to them, times how probable smaller ones are."""
    return written(node, "Gelu", (_added(node, node[0], node.optional(1)),), {})


@operator(f"{ORT}FastGelu", types=REAL)
def fast_gelu(node: Node) -> Operand:
    """The same by an approximation."""
    return written(node, "Gelu", (_added(node, node[0], node.optional(1)),), {"approximate": "tanh"})


@dataclass(frozen=True, slots=True)
class QuickAttributes(Attributes):
    """The factor inside of the logistic function."""

    alpha: float = 1.702


@operator(f"{ORT}QuickGelu", QuickAttributes, types=REAL)
def quick_gelu(node: Node, options: QuickAttributes) -> Operand:
    """Elements times the logistic function of them, times a factor."""
    inner = written(node, "Sigmoid", (_times(node, node[0], options.alpha),), {})
    return written(node, "Mul", (node[0], inner), {})


@dataclass(frozen=True, slots=True)
class SkipAttributes(Attributes):
    """What is added to variances."""

    epsilon: float = 1e-12


@operator(f"{ORT}SkipLayerNormalization", SkipAttributes, types=REAL)
def skip_layer_norm(node: Node, options: SkipAttributes) -> tuple[Operand, ...]:
    """The sum of two tensors and a bias, normalised along the last dimension; the sum is given as well."""
    total = _added(node, _added(node, node[0], node[1]), node.optional(4))
    return _skipped(node, "LayerNormalization", total, (node[2], node.optional(3)), options)


@operator(f"{ORT}SkipSimplifiedLayerNormalization", SkipAttributes, types=REAL)
def skip_rms_norm(node: Node, options: SkipAttributes) -> tuple[Operand, ...]:
    """The same by the root of the mean of squares."""
    total = _added(node, _added(node, node[0], node[1]), node.optional(3))
    return _skipped(node, "SimplifiedLayerNormalization", total, (node[2],), options)


def _skipped(
    node: Node, op: str, total: Operand, more: tuple[Operand | None, ...], options: SkipAttributes
) -> tuple[Operand, ...]:
    if any(node.record.outputs[1:3]):
        raise Refused("its statistics are used")
    found = written(node, op, (total, *more), {"epsilon": options.epsilon})
    return found, found, found, total


@operator(f"{ORT}DynamicQuantizeMatMul", types="float32")
def dynamic_mat_mul(node: Node) -> Operand:
    """Real numbers, on a grid of their own, times a matrix of bytes, and a bias."""
    rows, scale, zero = dynamic_quantize(node)
    return _real_products(node, (rows, node[1]), (scale, node[2]), (zero, node.optional(3)), node.optional(4))


@operator(f"{ORT}MatMulIntegerToFloat", types="int8 uint8")
def mat_mul_to_float(node: Node) -> Operand:
    """Matrices of bytes on grids, and a bias, as real numbers."""
    zeros = node.optional(4), node.optional(5)
    return _real_products(node, (node[0], node[1]), (node[2], node[3]), zeros, node.optional(6))


def _real_products(
    node: Node,
    matrices: tuple[Operand, Operand],
    scales: tuple[Operand, Operand],
    zeros: tuple[Operand | None, Operand | None],
    bias: Operand | None,
) -> Operand:
    total = written(node, "MatMulInteger", (*matrices, *zeros), {})
    real = written(node, "Cast", (total,), {"to": int(Type.FLOAT32)})
    scale = written(node, "Mul", scales, {})
    return _added(node, written(node, "Mul", (real, scale), {}), bias)


@dataclass(frozen=True, slots=True)
class HeadAttributes(Attributes):
    """The heads, the factor of scores, what a mask adds, and whether later places are seen."""

    num_heads: int
    scale: float | None = None
    mask_filter_value: float = -10000.0
    unidirectional: bool = False
    qkv_hidden_sizes: tuple[int, ...] = ()


@operator(f"{ORT}MultiHeadAttention", HeadAttributes, types=REAL)
def multi_head_attention(node: Node, options: HeadAttributes) -> Operand:
    """Values weighted by how well their keys fit queries, after a bias of each."""
    if node[0].rank != 3 or any(node.optional(place) is None or node[place].rank != 3 for place in (1, 2)):
        raise Refused("its queries, keys and values are packed")
    if any(node.optional(place) is not None for place in range(6, len(node.operands))):
        raise Refused("it has earlier keys and values")
    given, bias = list(node.given[:3]), node.optional(3)
    if bias is not None:
        terms = _split(node, bias, [one.shape[-1] for one in given])
        given = [_added(node, one, term) for one, term in zip(given, terms, strict=True)]
    return _attended(node, options, given, node.optional(4), node.optional(5))


@operator(f"{ORT}Attention", HeadAttributes, types=REAL)
def packed_attention(node: Node, options: HeadAttributes) -> Operand:
    """The same with queries, keys and values that a matrix makes of one tensor."""
    if any(node.optional(place) is not None for place in (4, 6, *range(7, len(node.operands)))):
        raise Refused("it has earlier keys and values")
    whole = _added(node, written(node, "MatMul", (node[0], node[1]), {}), node.optional(2))
    widths = options.qkv_hidden_sizes or (whole.shape[-1] // 3,) * 3
    return _attended(node, options, _split(node, whole, widths), node.optional(3), node.optional(5))


def _split(node: Node, value: Operand, widths: Sequence[int]) -> list[Operand]:
    """The columns of queries, of keys and of values."""
    starts = [sum(widths[:place]) for place in range(len(widths))]
    parts = zip(starts, widths, strict=True)
    return [node.of(part(value.tensor, value.rank - 1, *one), value.type) for one in parts]


def _attended(
    node: Node, options: HeadAttributes, given: list[Operand], hidden: Operand | None, bias: Operand | None
) -> Operand:
    if node.record.attributes.get("do_rotary"):
        raise Refused("it turns its queries and keys")
    attributes: dict[str, Attribute] = {"q_num_heads": options.num_heads, "kv_num_heads": options.num_heads}
    attributes |= {} if options.scale is None else {"scale": options.scale}
    attributes |= {"is_causal": int(options.unidirectional)}
    if hidden is not None:
        if hidden.rank != 2 or hidden.shape != given[1].shape[:2]:
            raise Refused("its mask has not one number for each key")
        shown = ops.equal(hidden.tensor, number(hidden.tensor, 0))
        zero, low = (np.full((1, 1), one, given[0].dtype.storage) for one in (0, options.mask_filter_value))
        row = reshaped(ops.select(shown, low, zero), (hidden.shape[0], 1, 1, -1))
        mask = node.of(row, given[0].type)
        bias = mask if bias is None else _added(node, bias, mask)
    return written(node, "Attention", (*given, bias), attributes)
