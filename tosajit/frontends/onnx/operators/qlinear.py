"""Operators that have grids of their own: each is another one between dequantizers and a quantizer.

Those of ONNX Runtime are of the domain `com.microsoft`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tiling.records import dataclass, replace
from tosajit import ops
from tosajit.dtypes import FP32, INT8, INT16, INT32
from tosajit.frontends.common.convolution import Sums
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.matrices import multiplied
from tosajit.frontends.common.scale import scaled
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.integers import products
from tosajit.frontends.onnx.integers.forms import on_integers
from tosajit.frontends.onnx.integers.grids import held_of
from tosajit.frontends.onnx.node import Node, Operand, kind_of
from tosajit.frontends.onnx.operators import DECLARATIONS, operator
from tosajit.frontends.onnx.operators.convolution import ConvAttributes, convolution
from tosajit.frontends.onnx.operators.dynamic import known_bytes, signed, signed_point
from tosajit.frontends.onnx.records import Attribute
from tosajit.frontends.onnx.schema import NEWEST, Type
from tosajit.frontends.scaled import Held, Scaled, Sum, Weights
from tosajit.frontends.scaled.sums import bytes_of
from tosajit.tracing.tensor import Tensor

_BYTES = "int8 uint8"
_GRIDS = f"{_BYTES} int16 uint16"
ORT = "com.microsoft."
_PLAIN = {
    f"QLinear{op}": op for op in ("Add", "Mul", "Sigmoid", "LeakyRelu", "AveragePool", "GlobalAveragePool")
}
"""What operators compute with real numbers."""


def written(
    node: Node, op: str, operands: Sequence[Operand | None], attributes: Mapping[str, Attribute] | None = None
) -> Operand:
    """The result of an operator of ONNX on operands."""
    given = node.record.attributes if attributes is None else attributes
    record = replace(node.record, op=op, domain="", attributes=given, outputs=("",))
    inner = replace(node, record=record, operands=tuple(operands), opset=NEWEST)
    declared = DECLARATIONS[op]
    typed = inner.optional(declared.typed)
    declared.check(NEWEST, None if typed is None else typed.type.label)
    found = on_integers(inner, declared)
    is_foldable = all(one is None or one.is_foldable for one in operands)
    first = (declared.results(inner, is_foldable) if found is None else found)[0]
    if isinstance(first, Operand):
        return first
    if op == "QuantizeLinear":
        return node.of(first, inner[2].type)
    return node.of(first, Type.FLOAT32 if isinstance(first, Scaled) else kind_of(first, ()))


def real(node: Node, place: int, axis: int = 1) -> Operand:
    """The numbers of three operands from a place on: integers, their scale and their zero point."""
    return written(
        node, "DequantizeLinear", (node[place], node[place + 1], node.optional(place + 2)), {"axis": axis}
    )


def quantized(node: Node, value: Operand, place: int) -> Operand:
    """Numbers on the grid that two operands from a place on say."""
    zero = node.optional(place + 1)
    given: dict[str, Attribute] = {} if zero is not None else {"output_dtype": int(node[0].type)}
    return written(node, "QuantizeLinear", (value, node[place], zero), given)


@operator("QLinearMatMul", types=_BYTES)
def qlinear_mat_mul(node: Node) -> Operand:
    """The products of matrices on grids, on another grid."""
    found = written(node, "MatMul", (real(node, 0, -2), real(node, 3, -1)))
    return quantized(node, found, 6)


@operator("QLinearConv", types=_BYTES)
def qlinear_conv(node: Node) -> Operand:
    """Convolution of images on grids, on another grid."""
    found = written(node, "Conv", (real(node, 0), real(node, 3, 0), _bias(node, 8, 1, 4)))
    return quantized(node, found, 6)


def _bias(node: Node, place: int, *scales: int) -> Operand | None:
    """Integers whose scale is the product of others."""
    given = node.optional(place)
    if given is None:
        return None
    first, second = (node[one] for one in scales)
    product = written(node, "Mul", (first, second), {})
    return written(node, "DequantizeLinear", (given, product), {"axis": 0})


@operator(f"{ORT}QLinearAdd {ORT}QLinearMul", types=_GRIDS)
def qlinear_binary(node: Node) -> Operand:
    """The sum or the product of two tensors on grids, on another grid."""
    op = _PLAIN[node.record.op]
    return quantized(node, written(node, op, (real(node, 0), real(node, 3))), 6)


@operator(f"{ORT}QLinearSigmoid {ORT}QLinearLeakyRelu", types=_GRIDS)
def qlinear_function(node: Node) -> Operand:
    """A function of a tensor on a grid, on another grid."""
    op = _PLAIN[node.record.op]
    return quantized(node, written(node, op, (real(node, 0),)), 3)


@operator(f"{ORT}QLinearSoftmax", types=_BYTES)
def qlinear_softmax(node: Node) -> Operand:
    """Probabilities of logits on a grid, on another grid."""
    axis = node.record.attributes.get("axis", -1)
    if node.record.attributes.get("opset", NEWEST) < 13:  # type: ignore[operator]
        raise Refused("it is of several dimensions, as those of sets before 13 are")
    return quantized(node, written(node, "Softmax", (real(node, 0),), {"axis": axis}), 3)


@dataclass(frozen=True, slots=True)
class LastAttributes(Attributes):
    """Whether channels are last."""

    channels_last: bool = False


@operator(f"{ORT}QLinearAveragePool {ORT}QLinearGlobalAveragePool", LastAttributes, types=_BYTES)
def qlinear_pool(node: Node, options: LastAttributes) -> Operand:
    """The means of windows, or of images, on a grid, on another grid."""
    if options.channels_last:
        raise Refused("its channels are last", "let ONNX Runtime quantise without optimising layouts")
    op = _PLAIN[node.record.op]
    return quantized(node, written(node, op, (real(node, 0),)), 3)


@operator(f"{ORT}QLinearReduceMean", types=_BYTES)
def qlinear_mean(node: Node) -> Operand:
    """The means along dimensions, on another grid."""
    given = node.record.attributes.get("axes")
    axes = None if given is None else node.of(np.array(given, np.int64), Type.INT64)
    keeps = node.record.attributes.get("keepdims", 1)
    return quantized(node, written(node, "ReduceMean", (real(node, 0), axes), {"keepdims": keeps}), 3)


@operator(f"{ORT}QLinearConcat", typed=2, types=_BYTES)
def qlinear_concat(node: Node) -> Operand:
    """Tensors on grids, one behind the other on another grid."""
    parts = [real(node, place) for place in range(2, len(node.operands), 3)]
    found = written(node, "Concat", parts)
    return written(node, "QuantizeLinear", (found, node[0], node[1]), {})


@operator(f"{ORT}QGemm", types=_BYTES)
def qgemm(node: Node) -> Operand:
    """The product of two matrices on grids, on another grid or as real numbers."""
    turned = bool(node.record.attributes.get("transB", 0))
    operands = (real(node, 0), real(node, 3, 0 if turned else 1), _bias(node, 6, 1, 4))
    found = written(node, "Gemm", operands)
    return found if node.optional(7) is None else quantized(node, found, 7)


@operator(f"{ORT}QuantizeLinear {ORT}DequantizeLinear")
def of_runtime(node: Node) -> Operand:
    """What the operators of ONNX's own of these names do, for more types."""
    return written(node, node.record.op, node.operands)


def _plain_total(total: Sum) -> Tensor:
    """The sums themselves."""
    return total.written.anew(lambda: total.write(lambda found, channels: found))


def _unit(node: Node, value: int, zero: int, axis: int) -> Scaled | None:
    """Integers less a zero point as numbers, if that is known."""
    one = node.of(np.ones((), np.float32), Type.FLOAT32)
    return held_of(node[value], one, node.optional(zero), axis)


@operator("MatMulInteger", types=_BYTES)
def mat_mul_integer(node: Node) -> Operand:
    """The products of matrices of bytes less zero points, as int32."""
    left, right = _unit(node, 0, 2, -2), _unit(node, 1, 3, -1)
    total = None if left is None or right is None else products.matrices(left, right, None)
    if total is not None:
        return node.of(_plain_total(total), Type.INT32)
    weights, point = known_bytes(node[1], node.optional(3)), node.optional(2)
    if weights is not None and node[0].rank > 1 and (point is None or prod(point.shape) == 1):
        rows = signed(node[0].tensor, node[0].type)
        return node.of(weights.times(rows, signed_point(point, node[0].type)), Type.INT32)
    one, other = _centred(node, 0, 2, -2), _centred(node, 1, 3, -1)
    rows = reshaped(one, (1, -1)) if one.ndim == 1 else one
    columns = reshaped(other, (-1, 1)) if other.ndim == 1 else other
    found = multiplied(rows, columns, finish=_in_32_bits)
    shape = [*found.shape[:-2], *found.shape[-2:][one.ndim == 1 :]]
    return node.of(reshaped(found, shape[: -1 if other.ndim == 1 else None]), Type.INT32)


def _in_32_bits(total: Tensor) -> Tensor:
    return scaled(total, [(1 << 14, 14)], INT32)


@operator("ConvInteger", ConvAttributes, types=_BYTES)
def conv_integer(node: Node, options: ConvAttributes) -> Operand:
    """Convolution of bytes less zero points, as int32."""
    left, right = _unit(node, 0, 2, 1), _unit(node, 1, 3, 0)
    total = None if left is None or right is None else products.convolved(left, right, None, options, None)
    if total is not None:
        return node.of(_plain_total(total), Type.INT32)
    known = bytes_of(right, 0) if isinstance(right, Weights) else None
    held = right if isinstance(right, Held) else None if known is None else known[0]
    image = _centred(node, 0, 2, 1)
    if held is None or held.zero_point or held.dtype is not INT8:
        return node.of(_of_reals(image, _centred(node, 1, 3, 0), options), Type.INT32)
    sums = Sums(finish=lambda total, channels: _in_32_bits(total))
    return node.of(convolution(image, held.tensor, None, options, sums), Type.INT32)


def _of_reals(image: Tensor, kernels: Tensor, options: ConvAttributes) -> Tensor:
    """The same in float32, whose sums are exact up to 2 ** 24: TOSA has no convolution by 9 bits."""
    depth = prod(kernels.shape[1:])
    if depth * 511 * 511 > 1 << 24:
        raise Refused(
            f"its weights have a zero point, and sums of {depth} products are too large for float32",
            "quantise its weights symmetrically",
        )
    return ops.cast(
        convolution(ops.cast(image, dtype=FP32), ops.cast(kernels, dtype=FP32), None, options), dtype=INT32
    )


def _centred(node: Node, value: int, zero: int, axis: int) -> Tensor:
    """Integers less a zero point as INT16."""
    given, point = node[value], node.optional(zero)
    wide = given.tensor if given.tensor.dtype is INT32 else ops.cast(given.tensor, dtype=INT32)
    if point is not None:
        own = point.tensor if point.tensor.dtype is INT32 else ops.cast(point.tensor, dtype=INT32)
        is_single = own.ndim == 0 or own.shape == (1,)
        row = [-1 if place == axis % wide.ndim else 1 for place in range(wide.ndim)]
        wide = ops.sub(wide, reshaped(own, (1,) * wide.ndim if is_single else row) if own.ndim < 2 else own)
    return ops.cast(wide, dtype=INT16)
