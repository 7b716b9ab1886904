"""What becomes of operators whose operands are known by integers; others take real numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, TypeAlias

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.frontends.common.pooling import counts_of
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame import Declaration
from tosajit.frontends.onnx.integers import products
from tosajit.frontends.onnx.integers.grids import grid_of, held_of, placed
from tosajit.frontends.onnx.integers.moving import MOVING, moved
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators.arithmetic import ClipAttributes
from tosajit.frontends.onnx.operators.convolution import ConvAttributes, TransposeAttributes
from tosajit.frontends.onnx.operators.matrices import GemmAttributes
from tosajit.frontends.onnx.operators.parts import ConcatAttributes
from tosajit.frontends.onnx.operators.pooling import AveragePoolAttributes
from tosajit.frontends.onnx.operators.quantization import GridAttributes, grid_type
from tosajit.frontends.onnx.operators.reduction import ReductionAttributes, axes_reduced
from tosajit.frontends.onnx.schema import Type
from tosajit.frontends.scaled import Held, Joined, Scaled, Sum, Unsigned
from tosajit.frontends.scaled.sums import added, averaged, multiplied, plus, totalled, widened
from tosajit.frontends.scaled.value import function_of
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor

Plain: TypeAlias = Callable[[], Tensor]
Form: TypeAlias = Callable[[Node, Plain], "Scaled | Operand | None"]

FUNCTIONS = frozenset(
    "Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Celu Clip Cos Cosh Div Elu Erf Exp Floor Gelu HardSigmoid "
    "HardSwish LeakyRelu Log Max Min Mish Mul Neg PRelu Pow Reciprocal Relu Round Selu Shrink Sigmoid Sign "
    "Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu".split()
)
"""Operators of single elements, which are folded where these are known, as all 256 bytes are."""


def on_integers(node: Node, declared: Declaration) -> tuple[Any, ...] | None:
    """The results of a node without real numbers; None where it needs them."""
    operator = node.record.op
    if operator == "DequantizeLinear":
        return _single(node, _dequantized(node))
    if operator == "QuantizeLinear":
        return _single(node, _quantized(node))
    if not any(isinstance(one.value, Scaled | Unsigned) for one in node.given):
        return None
    if operator in MOVING:
        return moved(node, declared)
    if all(one.is_constant for one in node.given) or all(one.scaled is None for one in node.given):
        return None
    plain = _plainly(node, declared)
    found = _function(node, declared, plain) if operator in FUNCTIONS else None
    if found is None and operator in _FORMS:
        return _single(node, _FORMS[operator](node, plain))
    return _single(node, found)


def _single(node: Node, value: Scaled | Operand | None) -> tuple[Any, ...] | None:
    if value is None or isinstance(value, Operand):
        return None if value is None else (value,)
    return (node.of(value, Type.FLOAT32),)


def _plainly(node: Node, declared: Declaration) -> Plain:
    """What writes a node with real numbers, in the region that is being written then."""

    def write() -> Tensor:
        trace = current_trace()
        assert trace is not None
        operands = tuple(None if one is None else replace(one, trace=trace) for one in node.operands)
        (found,) = declared.results(replace(node, operands=operands, trace=trace), is_foldable=False)
        assert isinstance(found, Tensor)
        return found

    return write


def _dequantized(node: Node) -> Scaled | None:
    options = node.attributes(GridAttributes)
    if options.block_size or node[1].type is not Type.FLOAT32:
        return None
    return held_of(node[0], node[1], node.optional(2), options.axis)


def _quantized(node: Node) -> Operand | None:
    kind = grid_type(node, node.attributes(GridAttributes))
    affine = grid_of(kind, node[1], node.optional(2))
    if affine is None or node[0].is_constant or node[0].type is not Type.FLOAT32:
        return None
    value = node[0].scaled
    return placed(node, node[0].tensor if value is None else value, kind, affine)


def _function(node: Node, declared: Declaration, plain: Plain) -> Scaled | None:
    """An elementwise operator as a function of bytes."""
    values = [one.scaled if one.scaled is not None and not one.is_constant else None for one in node.given]
    if declared.fold is None or any(
        value is None and not (one.is_constant and one.raw.size == 1)
        for value, one in zip(values, node.given, strict=True)
    ):
        return None
    places = [place for place, one in enumerate(node.operands) if one is not None]
    fold = declared.fold

    def compute(arrays: list[Array]) -> Array | None:
        operands = list(node.operands)
        for place, array in zip(places, arrays, strict=True):
            one = operands[place]
            assert one is not None
            operands[place] = replace(one, value=array)
        found: Array | None = fold(replace(node, operands=tuple(operands)))
        return found

    given = [one.raw if value is None else value for value, one in zip(values, node.given, strict=True)]
    return function_of(given, compute, plain)


def _scaled(node: Node, place: int) -> Scaled | None:
    found = node.optional(place)
    return None if found is None else found.scaled


def _conv(node: Node, plain: Plain) -> Sum | None:
    image, kernels, (known, bias) = _scaled(node, 0), _scaled(node, 1), products.bias_of(node.optional(2))
    if image is None or kernels is None or not known:
        return None
    return products.convolved(image, kernels, bias, node.attributes(ConvAttributes), plain)


def _conv_transpose(node: Node, plain: Plain) -> Sum | None:
    image, kernels, (known, bias) = _scaled(node, 0), _scaled(node, 1), products.bias_of(node.optional(2))
    if image is None or kernels is None or not known:
        return None
    return products.spread(image, kernels, bias, node.attributes(TransposeAttributes), plain)


def _mat_mul(node: Node, plain: Plain) -> Sum | None:
    left, right = _scaled(node, 0), _scaled(node, 1)
    return None if left is None or right is None else products.matrices(left, right, plain)


def _gemm(node: Node, plain: Plain) -> Sum | None:
    left, right, (known, bias) = _scaled(node, 0), _scaled(node, 1), products.bias_of(node.optional(2))
    if left is None or right is None or not known:
        return None
    return products.gemm(left, right, bias, node.attributes(GemmAttributes), plain)


def _shape(node: Node) -> tuple[int, ...]:
    return np.broadcast_shapes(*(one.shape for one in node.given))


def _add(node: Node, plain: Plain) -> Sum | None:
    return _total(node, plain, is_less=False)


def _sub(node: Node, plain: Plain) -> Sum | None:
    return _total(node, plain, is_less=True)


def _total(node: Node, plain: Plain, is_less: bool) -> Sum | None:
    if len(node.given) != 2:
        return None
    first, second = node.given
    if first.scaled is not None and second.scaled is not None:
        found = added(first.scaled, second.scaled, _shape(node), plain, is_less)
        if found is not None:
            return found
    if second.is_constant and first.scaled is not None and second.is_foldable:
        terms = -second.raw if is_less else second.raw
        return plus(first.scaled, terms)
    if first.is_constant and second.scaled is not None and first.is_foldable and not is_less:
        return plus(second.scaled, first.raw)
    return None


def _mul(node: Node, plain: Plain) -> Sum | None:
    first, second = _scaled(node, 0), _scaled(node, 1)
    return None if first is None or second is None else multiplied(first, second, _shape(node))


def _wide(node: Node) -> Sum | None:
    """An operand as sums, whose numbers are cut off where they are written."""
    value = _scaled(node, 0)
    return widened(value) if isinstance(value, Held) else value if isinstance(value, Sum) else None


def _relu(node: Node, plain: Plain) -> Scaled | None:
    value = _wide(node)
    return None if value is None else value.clipped(0.0, inf)


def _clip(node: Node, plain: Plain) -> Scaled | None:
    value, options = _wide(node), node.attributes(ClipAttributes)
    low, high = node.optional(1), node.optional(2)
    if value is None or not all(one is None or one.is_constant for one in (low, high)):
        return None
    least = options.min if low is None else float(low.number)
    most = options.max if high is None else float(high.number)
    least, most = -inf if least is None else least, inf if most is None else most
    return value.clipped(least, most) if least <= most else None


def _concat(node: Node, plain: Plain) -> Scaled | None:
    values = [one.scaled for one in node.given]
    (axis,) = axes_of([node.attributes(ConcatAttributes).axis], node[0].rank)
    parts = [one for one in values if one is not None and not isinstance(one, Joined)]
    if len(parts) != len(values):
        return None
    return Joined.behind(parts, axis)


def _average_pool(node: Node, plain: Plain) -> Sum | None:
    value, options = _scaled(node, 0), node.attributes(AveragePoolAttributes)
    if not isinstance(value, Held):
        return None
    integers, sides, borders = options.sides(value.tensor)
    counted = borders if options.count_include_pad else [(0, 0)] * len(sides)
    shape = list(value.shape)
    for side in sides:
        shape[side.axis] = side.span.count
    counts = counts_of(integers, sides, counted)
    return averaged(value.moved(integers), sides, counts, tuple(shape))


def _global_average_pool(node: Node, plain: Plain) -> Sum | None:
    value = _scaled(node, 0)
    axes = range(2, node[0].rank)
    return None if value is None else totalled(value, tuple(axes), True, is_mean=True)


def _reduce_mean(node: Node, plain: Plain) -> Sum | None:
    return _reduced(node, is_mean=True)


def _reduce_sum(node: Node, plain: Plain) -> Sum | None:
    return _reduced(node, is_mean=False)


def _reduced(node: Node, is_mean: bool) -> Sum | None:
    value = _scaled(node, 0)
    if value is None:
        return None
    return totalled(value, axes_reduced(node), node.attributes(ReductionAttributes).keepdims, is_mean)


_FORMS: dict[str, Form] = {
    "Conv": _conv, "ConvTranspose": _conv_transpose, "MatMul": _mat_mul, "Gemm": _gemm, "Add": _add,
    "Sub": _sub, "Mul": _mul, "Relu": _relu, "Clip": _clip, "Concat": _concat, "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average_pool, "ReduceMean": _reduce_mean, "ReduceSum": _reduce_sum,
}  # fmt: skip
