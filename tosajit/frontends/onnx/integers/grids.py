"""Grids of ONNX: scales and zero points that are operands, and integers of such."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, INT32
from tosajit.frontends.common.numbers import number
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.schema import BOUNDS, Type
from tosajit.frontends.scaled import Affine, Held, Scaled, Unsigned, Weights
from tosajit.frontends.scaled.affine import quantized
from tosajit.tracing.tensor import Tensor

OFFSETS = {Type.UINT8: 128, Type.UINT16: 32768}
_HELD = {
    Type.INT8: INT8, Type.UINT8: INT8, Type.INT16: INT16, Type.UINT16: INT16, Type.INT32: INT32,
    Type.INT4: INT8, Type.UINT4: INT8, Type.INT2: INT8, Type.UINT2: INT8,
}  # fmt: skip
"""The types that computed integers have inside of a graph."""


def grid_of(kind: Type, scale: Operand, zero: Operand | None) -> Affine | None:
    """The grid of one scale that is known; None where there is none."""
    if kind not in _HELD or not scale.is_constant or scale.raw.size != 1:
        return None
    if zero is not None and not (zero.is_constant and zero.raw.size == 1):
        return None
    step, point = float(scale.raw.reshape(-1)[0]), 0 if zero is None else int(zero.raw.reshape(-1)[0])
    if not 1e-30 < step < 1e30:
        return None
    return Affine.of(BOUNDS[kind], step, point, OFFSETS.get(kind, 0))


def held_of(value: Operand, scale: Operand, zero: Operand | None, axis: int = 1) -> Scaled | None:
    """What the integers of an operand stand for; None where they are not known to be a grid."""
    if value.type not in BOUNDS or not scale.is_constant or (zero is not None and not zero.is_constant):
        return None
    if value.is_constant:
        if not value.is_foldable:
            return None
        return _weights(value, scale.raw, None if zero is None else zero.raw, axis)
    affine = grid_of(value.type, scale, zero)
    integers = signed(value)
    return None if affine is None or integers is None else Held.of(integers, affine)


def _weights(value: Operand, scales: Array, points: Array | None, axis: int) -> Weights | None:
    """Integers that are known; scales of blocks have no form here."""
    raw = value.raw
    points = np.zeros(1, np.int32) if points is None else points
    if raw.size == 0 or max(scales.ndim, points.ndim) > 1:
        return None
    scales = scales.astype(np.float32).reshape(-1)
    if not np.all((scales > 1e-30) & (scales < 1e30)):
        return None
    axis = axis % max(raw.ndim, 1)
    extent = raw.shape[axis] if raw.ndim else 1
    if not {scales.size, points.size} <= {1, extent}:
        return None
    return Weights(raw.shape, raw, scales, points.reshape(-1), axis, value.name)


def signed(value: Operand) -> Tensor | None:
    """The integers of an operand as TOSA's operators take them: those without sign less an offset."""
    if isinstance(value.value, Unsigned):
        return value.value.tensor
    if value.type not in _HELD or value.scaled is not None:
        return None
    if value.type in OFFSETS:
        whole = value.tensor
        return ops.cast(ops.sub(whole, number(whole, OFFSETS[value.type])), dtype=_HELD[value.type])
    return value.tensor


def placed(node: Node, value: Scaled | Tensor, kind: Type, affine: Affine) -> Operand:
    """Real numbers as integers of a grid.

    Those that enter the graph are divided by its scale as ONNX divides; others are results of sums and
    functions, whose last bits are not ONNX's, and cheaper.
    """
    if isinstance(value, Scaled):
        return of_signed(node, value.onto(affine), kind)
    enters = node.trace.builder.is_input(value.name)
    return of_signed(node, quantized(value, affine, divides=enters), kind)


def of_signed(node: Node, integers: Tensor, kind: Type) -> Operand:
    """Integers of a graph as a result of a type of ONNX."""
    return node.of(Unsigned.of(integers) if kind in OFFSETS else integers, kind)
