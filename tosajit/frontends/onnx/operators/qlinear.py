"""Operators that have grids of their own: each is another one between dequantizers and a quantizer.

Those of ONNX Runtime are of the domain `com.microsoft`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tiling.records import dataclass, replace
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.integers.forms import on_integers
from tosajit.frontends.onnx.node import Node, Operand, kind_of
from tosajit.frontends.onnx.operators import DECLARATIONS, operator
from tosajit.frontends.onnx.records import Attribute
from tosajit.frontends.onnx.schema import NEWEST, Type
from tosajit.frontends.scaled import Scaled

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
