"""Elements in another type."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.dtypes import BOOL, FP32, INT8, INT32, DType
from tosajit.frontends.common.numbers import is_not_zero, towards_zero
from tosajit.frontends.common.scale import wide
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.reader import STORAGE
from tosajit.frontends.tflite.schema import Type
from tosajit.graph import Array
from tosajit.tracing.tensor import Tensor

_REAL = (Type.FLOAT32, Type.FLOAT16)


def _folded(node: Node) -> Array:
    return node[0].raw.astype(STORAGE[node.result.type])


@operator("CAST", types="float32 float16 int8 uint8 int16 int32 int64 bool", versions=7, fold=_folded)
def cast(node: Node) -> Tensor:
    """Elements in another type: real numbers towards zero, integers by their low bits, truths as 0 and 1."""
    value, given, wanted = node[0].tensor, node[0].type, node.result.type
    dtype = node.result.dtype
    if given is wanted:
        return value
    if given in _REAL:
        return _from_real(value, wanted, dtype)
    if given is Type.UINT8:
        value = wide(value, -128)
    if wanted is Type.UINT8:
        return _unsigned(_to(value, INT8))
    if wanted in _REAL and value.dtype is BOOL:
        value = ops.cast(value, dtype=INT8)
    return _to(value, dtype)


def _from_real(value: Tensor, wanted: Type, dtype: DType) -> Tensor:
    """Real numbers: what is not zero is true; integers are the nearest towards zero that there are."""
    if wanted in _REAL:
        return _to(value, dtype)
    value = _to(value, FP32)
    if wanted is Type.BOOL:
        return is_not_zero(value)
    whole = towards_zero(value)
    if wanted is Type.UINT8:
        return _unsigned(_to(ops.cast(ops.clamp(whole, min_val=0.0, max_val=255.0), dtype=INT32), INT8))
    return _to(whole, dtype)


def _unsigned(low: Tensor) -> Tensor:
    """Bytes by their bits as those that stand for bytes without sign."""
    return ops.bitwise_xor(low, np.full((1,) * low.ndim, -128, np.int8))


def _to(value: Tensor, dtype: DType) -> Tensor:
    return value if value.dtype is dtype else ops.cast(value, dtype=dtype)
