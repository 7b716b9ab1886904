"""Elements in another type."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, FP32, INT8
from tosajit.frontends.common.numbers import is_not_zero, towards_zero, typed
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import low_bits
from tosajit.frontends.onnx.node import Node, Operand, dtype_of
from tosajit.frontends.onnx.operators import MOVED, operator
from tosajit.frontends.onnx.schema import STORAGE, Type
from tosajit.tracing.tensor import Tensor

_TYPES = f"{MOVED} float8e4m3fn float8e5m2"
_KNOWN = f"{_TYPES} float64 int4 uint4"


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


def _cast(value: Tensor, wanted: Type, saturates: bool) -> Tensor:
    dtype = dtype_of(wanted)
    if value.dtype.is_float and not dtype.is_float:
        if dtype is BOOL:
            return is_not_zero(value)
        return low_bits(typed(towards_zero(typed(value, FP32)), dtype), wanted)
    if dtype.is_float and value.dtype is BOOL:
        value = ops.cast(value, dtype=INT8)
    elif dtype.is_float and value.dtype.is_float and value.dtype is not dtype:
        value = typed(value, FP32)
        if dtype.bits == 8 and saturates:
            most = float(ml_dtypes.finfo(dtype.storage).max)
            value = ops.clamp(value, min_val=-most, max_val=most)
    elif dtype is BOOL and value.dtype is not BOOL:
        return is_not_zero(value)
    return low_bits(typed(value, dtype), wanted)
