"""Tensors that persist from run to run, in all types: TOSA's variables have bytes and floating point only."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, FP16, FP32, INT8, INT16, INT32, DType
from tosajit.errors import TraceError
from tosajit.frontends.common.layout import part, reshaped
from tosajit.frontends.common.scale import number_like
from tosajit.tracing.structured import Variable
from tosajit.tracing.tensor import Tensor

_BYTES = {INT16: 2, INT32: 4}
"""How many bytes a number is kept as: rows of them, the lowest first."""


@dataclass(frozen=True, slots=True)
class State:
    """A variable of any type."""

    variable: Variable
    dtype: DType
    shape: tuple[int, ...]

    def read(self) -> Tensor:
        """What it holds."""
        held = self.variable.read()
        if self.dtype is BOOL:
            return ops.cast(held, dtype=BOOL)
        return _joined(held, self.dtype, self.shape) if self.dtype in _BYTES else held

    def write(self, value: Tensor) -> None:
        """Let it hold a tensor."""
        if self.dtype is BOOL:
            value = ops.cast(value, dtype=INT8)
        self.variable.write(_apart(value) if self.dtype in _BYTES else value)


def state(name: str, dtype: DType, shape: Sequence[int], initial: Array | None) -> State:
    """Declare a variable, in the trace that is being recorded."""
    count = _BYTES.get(dtype)
    if dtype not in (FP32, FP16, INT8, BOOL) and count is None:
        raise TraceError(f"{name} is {dtype}, which variables cannot hold")
    data, extents = initial, tuple(shape)
    if count is not None:
        extents = count, prod(shape)
        if initial is not None:
            data = np.stack([(initial.reshape(-1) >> 8 * place).astype(np.int8) for place in range(count)])
    elif dtype is BOOL and initial is not None:
        data = initial.astype(np.int8)
    kept = INT8 if count is not None or dtype is BOOL else dtype
    return State(ops.variable(name, data, shape=extents, dtype=kept), dtype, tuple(shape))


def _apart(value: Tensor) -> Tensor:
    """Numbers as rows of bytes."""
    row = reshaped(value, (1, -1))
    wide = row if row.dtype is INT32 else ops.cast(row, dtype=INT32)
    parts = [wide]
    for place in range(1, _BYTES[value.dtype]):
        parts.append(ops.arithmetic_right_shift(wide, number_like(wide, 8 * place)))
    return ops.concat([ops.cast(one, dtype=INT8) for one in parts], axis=0)


def _joined(held: Tensor, dtype: DType, shape: Sequence[int]) -> Tensor:
    """The numbers that rows of bytes are the parts of."""
    wide = ops.cast(held, dtype=INT32)
    last = held.shape[0] - 1
    total = part(wide, 0, last, 1)
    for place in reversed(range(last)):
        low = part(wide, 0, place, 1)
        high = ops.logical_left_shift(total, number_like(total, 8))
        total = ops.bitwise_or(high, ops.bitwise_and(low, number_like(low, 255)))
    return reshaped(total if dtype is INT32 else ops.cast(total, dtype=dtype), shape)
