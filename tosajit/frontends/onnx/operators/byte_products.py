"""Products of bytes less zero points, as int32."""

from __future__ import annotations

from math import prod

import numpy as np

from tosajit import ops
from tosajit.dtypes import FP32, INT8, INT16, INT32
from tosajit.frontends.common.convolution import Sums
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.matrices import multiplied
from tosajit.frontends.common.scale import scaled
from tosajit.frontends.frame import Refused
from tosajit.frontends.onnx.integers import products
from tosajit.frontends.onnx.integers.grids import held_of
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import operator
from tosajit.frontends.onnx.operators.convolution import ConvAttributes, convolution
from tosajit.frontends.onnx.operators.dynamic import known_bytes, signed, signed_point
from tosajit.frontends.onnx.schema import Type
from tosajit.frontends.scaled import Held, Scaled, Sum, Weights
from tosajit.frontends.scaled.sums import bytes_of
from tosajit.tracing.tensor import Tensor

_BYTES = "int8 uint8"


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
