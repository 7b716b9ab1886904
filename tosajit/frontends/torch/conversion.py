"""Elements in another type, as PyTorch converts them."""

from __future__ import annotations

from tosajit import ops
from tosajit.dtypes import BOOL, FP32, INT8, DType
from tosajit.frontends.common.numbers import is_not_zero, towards_zero, typed
from tosajit.frontends.frame.narrow import low_bits
from tosajit.frontends.torch.records import Type
from tosajit.tracing.tensor import Tensor


def converted(value: Tensor, wanted: Type, dtype: DType) -> Tensor:
    """Real numbers towards zero, integers by their low bits, truths as 0 and 1."""
    if dtype is BOOL:
        return value if value.dtype is BOOL else is_not_zero(value)
    if value.dtype.is_float and not dtype.is_float:
        return low_bits(typed(towards_zero(typed(value, FP32)), dtype), wanted)
    if dtype.is_float and value.dtype is BOOL:
        value = ops.cast(value, dtype=INT8)
    elif dtype.is_float and value.dtype.is_float and value.dtype is not dtype:
        value = typed(value, FP32)
    return low_bits(typed(value, dtype), wanted)
