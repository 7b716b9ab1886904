"""Functions of one quantised operand: looked up in a table, byte by byte, or between samples of 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT8
from tosajit.frontends.common.tables import byte_table, interpolated, sampled
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.operand import Described, Operand
from tosajit.tracing.tensor import Tensor

Function = Callable[[float], float]
"""Of real numbers; infinite where the result is as large as it can be."""


def tabled(operand: Operand, result: Described, function: Function) -> Tensor:
    """A function of a quantised tensor, counted in float32 as TFLite fills its tables."""
    if operand.dtype is INT8:
        return ops.table(operand.tensor, bytes_of(operand, result, function))
    if operand.zero_point or result.zero_point:
        raise Refused("its operand or result is int16 with a zero point")
    least, most = (np.float32(result.scale) * np.float32(end) for end in result.bounds)

    def bounded(number: np.float32) -> float:
        found = function(float(number))
        return found if -inf < found < inf else float(most if found > 0 else least)

    table = sampled(bounded, operand.scale, 0, result.scale, np.float32)
    return interpolated(operand.tensor, table, result.dtype)


def bytes_of(operand: Operand, result: Described, function: Function) -> Array:
    """The results of all 256 bytes."""
    inverse = np.float32(1) / np.float32(result.scale)

    def looked_up(numbers: Array) -> Array:
        reals = (numbers - operand.zero_point).astype(np.float32) * np.float32(operand.scale)
        values = np.array([function(float(real)) for real in reals]).astype(np.float32) * inverse
        rounded: Array = np.copysign(np.floor(np.abs(values) + np.float32(0.5)), values)
        return rounded + result.zero_point

    return byte_table(looked_up)
