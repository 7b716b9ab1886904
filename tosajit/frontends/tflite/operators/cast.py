"""Elements in another type."""

from __future__ import annotations

from functools import reduce

import numpy as np

from tosajit import ops
from tosajit.dtypes import BOOL, FP32, INT8, INT32, DType
from tosajit.frontends.common.layout import reshaped, split
from tosajit.frontends.common.numbers import is_not_zero, towards_zero
from tosajit.frontends.common.scale import number_like, wide
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.operators.spectrum import half
from tosajit.frontends.tflite.reader import storage_of
from tosajit.frontends.tflite.schema import Type
from tosajit.graph import Array
from tosajit.tracing.tensor import Tensor

_REAL = (Type.FLOAT32, Type.FLOAT16)
_BITS = (Type.INT8, Type.UINT8, Type.INT16, Type.INT32)


def _folded(node: Node) -> Array:
    raw = node[0].raw
    return (raw.real if raw.dtype.kind == "c" else raw).astype(storage_of(node.result.type))


def _same_bits(node: Node) -> Array:
    result = node.result
    return np.ascontiguousarray(node[0].raw).view(storage_of(result.type)).reshape(result.record.shape)


@operator(
    "CAST", types="float32 float16 int8 uint8 int16 int32 int64 bool complex64", versions=7, fold=_folded
)
def cast(node: Node) -> Tensor:
    """Elements in another type: real numbers towards zero, integers by their low bits, truths as 0 and 1.

    Of complex numbers the real parts are taken.
    """
    value, given, wanted = node[0].tensor, node[0].type, node.result.type
    dtype = node.result.dtype
    if given is wanted:
        return value
    if given is Type.COMPLEX64:
        value = half(node[0], 0)
    if given in (*_REAL, Type.COMPLEX64):
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


@operator("BITCAST", types="int8 uint8 int16 int32", fold=_same_bits)
def bitcast(node: Node) -> Tensor:
    """The same bits as elements of another type of integers."""
    value, given, wanted = node[0].tensor, node[0].type, node.result.type
    if wanted not in _BITS:
        raise Refused(f"its result is {wanted.label}: TOSA reads bits as integers of 8, 16 and 32 bits alone")
    value = _unsigned(value) if given is Type.UINT8 else value
    narrow, broad = sorted((value.dtype.bits, node.result.dtype.bits))
    count = broad // narrow
    if count > 1:
        value = (
            _put_together(value, narrow, count)
            if narrow == value.dtype.bits
            else _taken_apart(value, narrow, count)
        )
    value = _to(value, node.result.dtype)
    return _unsigned(value) if wanted is Type.UINT8 else value


def _put_together(value: Tensor, bits: int, count: int) -> Tensor:
    """Integers of 32 bits from parts along the last dimension, the lowest first."""
    axis, low = value.ndim - 1, (1 << bits) - 1
    parts = ops.bitwise_and(wide(value), number_like(value, low))
    shifts = np.arange(0, bits * count, bits, dtype=np.int32).reshape((1,) * axis + (count,))
    moved = ops.logical_left_shift(parts, shifts)
    return reshaped(reduce(ops.bitwise_or, split(moved, axis, count)), value.shape[:-1])


def _taken_apart(value: Tensor, bits: int, count: int) -> Tensor:
    """Parts of integers along a new last dimension, the lowest first."""
    whole = reshaped(value if value.dtype is INT32 else wide(value), (*value.shape, 1))
    shifts = np.arange(0, bits * count, bits, dtype=np.int32).reshape((1,) * value.ndim + (count,))
    parts: Tensor = ops.arithmetic_right_shift(whole, shifts)
    return parts
