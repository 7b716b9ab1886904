"""Powers and angles."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.angles import angle
from tosajit.frontends.common.broadcast import aligned, expanded
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.powers import integer_power, real_power
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.operators.elementwise import in_float32
from tosajit.tracing.tensor import Tensor

_SMALL = 16
"""Up to this exponent, powers are written as products."""


@operator("POW", types="float32 int32")
def pow_(node: Node) -> Tensor:
    """The elements of one tensor to the power of those of another."""
    value, exponent = node[0], node[1]
    single = _single(exponent)
    if single is not None and single == int(single) and 0 <= single <= _SMALL:
        return _product(aligned(value.tensor, exponent.tensor)[0], int(single))
    base, power = aligned(value.tensor, exponent.tensor)
    return integer_power(base, power) if base.dtype is INT32 else real_power(base, power)


def _single(operand: Operand) -> float | None:
    """The number that all elements of a constant are."""
    if not operand.is_constant or operand.raw.size != 1:
        return None
    found = float(operand.raw.reshape(-1)[0])
    return found if np.isfinite(found) else None


def _product(value: Tensor, exponent: int) -> Tensor:
    """A power by as few products as its bits ask for."""
    result: Tensor | None = None
    while exponent:
        if exponent & 1:
            result = value if result is None else ops.mul(result, value)
        exponent >>= 1
        value = ops.mul(value, value) if exponent else value
    if result is not None:
        return result
    return expanded(ops.const(number(value, 1)), value.shape)


@operator("ATAN2", types="float32 float16")
def atan2(node: Node) -> Tensor:
    """The angle of points whose ordinates are in the first tensor and abscissae in the second."""
    y, x = aligned(node[0].tensor, node[1].tensor)
    return in_float32(angle, y, x)
