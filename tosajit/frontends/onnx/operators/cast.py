"""Elements in another type."""

from __future__ import annotations

from math import frexp

import ml_dtypes
import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, FP8E4M3, FP8E5M2, FP32, INT8, INT32
from tosajit.frontends.common.numbers import is_not_zero, nearest_even, number, towards_zero, typed
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import low_bits
from tosajit.frontends.onnx.node import Node, Operand, dtype_of
from tosajit.frontends.onnx.operators import MOVED, operator
from tosajit.frontends.onnx.schema import STORAGE, Type
from tosajit.tracing.tensor import Tensor

_KNOWN = f"{MOVED} float8e4m3fn float8e5m2 float8e4m3fnuz float8e5m2fnuz float4e2m1 float64"
_BESIDE = {Type.FLOAT8E4M3FNUZ: FP8E4M3, Type.FLOAT8E5M2FNUZ: FP8E5M2}
"""Types without infinities and a negative zero, and those of TOSA with as many bits of numbers."""
_NARROW = (*_BESIDE, Type.FLOAT4E2M1)
_TINY = {Type.INT4: (4, True), Type.UINT4: (4, False), Type.INT2: (2, True), Type.UINT2: (2, False)}
"""How many bits integers have, and whether one is a sign."""


@dataclass(frozen=True, slots=True)
class CastAttributes(Attributes):
    """The type of the result, and whether numbers beyond it become the greatest one."""

    to: int
    saturate: bool = True


def _type(number: int) -> Type:
    if number not in Type._value2member_map_:
        raise Refused(f"its type {number} is not known")
    return Type(number)


def _elements(raw: Array, kind: Type) -> Array:
    if kind not in STORAGE:
        raise Refused(f"TOSA has no type for {kind.label}")
    return raw.astype(STORAGE[kind])


def _folded(node: Node) -> Array:
    return _elements(node[0].raw, _type(node.attributes(CastAttributes).to))


@operator("Cast", CastAttributes, types=_KNOWN, fold=_folded)
def cast(node: Node, options: CastAttributes) -> Operand:
    """Elements in another type: real numbers towards zero, integers by their low bits, truths as 0 and 1."""
    return node.of(_cast(node[0].tensor, _type(options.to), options.saturate), _type(options.to))


@dataclass(frozen=True, slots=True)
class LikeAttributes(Attributes):
    """Whether numbers beyond the type become the greatest one."""

    saturate: bool = True


@operator("CastLike", LikeAttributes, types=_KNOWN)
def cast_like(node: Node, options: LikeAttributes) -> Operand:
    """Elements in the type of another tensor."""
    kind = node[1].type
    if node[0].is_foldable:
        return node.of(_elements(node[0].raw, kind), kind)
    return node.of(_cast(node[0].tensor, kind, options.saturate), kind)


def converted(value: Tensor, wanted: Type, saturates: bool) -> Tensor:
    """Real numbers in a narrower type."""
    value, dtype = typed(value, FP32), dtype_of(wanted)
    if wanted in _BESIDE:
        return ops.cast(_unsigned_zero(value, wanted, saturates), dtype=dtype)
    if wanted is Type.FLOAT4E2M1:
        return ops.cast(_of_few_bits(value), dtype=dtype)
    if dtype.bits == 8 and saturates:
        most = float(ml_dtypes.finfo(dtype.storage).max)
        value = ops.clamp(value, min_val=-most, max_val=most)
    return typed(value, dtype)


def _unsigned_zero(value: Tensor, wanted: Type, saturates: bool) -> Tensor:
    """The nearest numbers of a type whose exponents reach one lower than those of TOSA's."""
    most, beside = float(ml_dtypes.finfo(STORAGE[wanted]).max), _BESIDE[wanted]
    inside = ops.clamp(value, min_val=-most, max_val=most)
    rounded = ops.cast(ops.cast(inside, dtype=beside), dtype=FP32)
    small = ops.clamp(ops.mul(value, number(value, 2)), min_val=-2.0, max_val=2.0)
    lower = ops.mul(ops.cast(ops.cast(small, dtype=beside), dtype=FP32), number(value, 0.5))
    found = ops.select(ops.greater_equal(ops.abs(value), number(value, 1)), rounded, lower)
    if saturates:
        return found
    step = float(ml_dtypes.finfo(STORAGE[wanted]).eps) * 2.0 ** (frexp(most)[1] - 1)
    is_beyond = ops.greater_equal(ops.abs(value), number(value, most + step / 2))
    return ops.select(is_beyond, number(value, np.nan), found)


def _of_few_bits(value: Tensor) -> Tensor:
    """The nearest of 0, 0.5, 1, 1.5, 2, 3, 4 and 6, and their opposites."""
    size = ops.abs(value)
    found = _multiple(value, 0.5)
    for bound, step in ((2.0, 1.0), (4.0, 2.0)):
        found = ops.select(ops.greater_equal(size, number(size, bound)), _multiple(value, step), found)
    return ops.clamp(found, min_val=-6.0, max_val=6.0)


def _multiple(value: Tensor, step: float) -> Tensor:
    return ops.mul(nearest_even(ops.mul(value, number(value, 1 / step))), number(value, step))


def _cast(value: Tensor, wanted: Type, saturates: bool) -> Tensor:
    dtype = dtype_of(wanted)
    if value.dtype.is_float and not dtype.is_float:
        if dtype is BOOL:
            return is_not_zero(value)
        value = typed(towards_zero(typed(value, FP32)), INT32 if wanted in _TINY else dtype)
    if dtype.is_float and value.dtype is BOOL:
        value = ops.cast(value, dtype=INT8)
    elif dtype.is_float and value.dtype.is_float and (value.dtype is not dtype or wanted in _NARROW):
        return converted(value, wanted, saturates)
    elif dtype is BOOL and value.dtype is not BOOL:
        return is_not_zero(value)
    if wanted in _TINY:
        return ops.cast(_low_bits(typed(value, INT32), *_TINY[wanted]), dtype=INT8)
    return low_bits(typed(value, dtype), wanted)


def _low_bits(value: Tensor, bits: int, is_signed: bool) -> Tensor:
    """The low bits of integers, the highest of which may be a sign."""
    found = ops.bitwise_and(value, number(value, (1 << bits) - 1))
    if not is_signed:
        return found
    sign = number(found, 1 << bits - 1)
    return ops.sub(ops.bitwise_xor(found, sign), sign)
