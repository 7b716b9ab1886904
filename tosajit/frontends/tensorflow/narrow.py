"""Integers of 8 and 16 bits: they are computed as int32, of which the low bits are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT8, INT16, INT32
from tosajit.frontends.common.numbers import number
from tosajit.frontends.tensorflow.node import Node, Operand, Value
from tosajit.frontends.tensorflow.schema import Type
from tosajit.tracing.tensor import Tensor

_BITS = {Type.INT8: 8, Type.INT16: 16, Type.UINT8: 8, Type.UINT16: 16}


def widened(lower: Callable[..., Any]) -> Callable[..., Any]:
    """Let the lowering of an operator see such operands as int32, and cut what it gives."""

    @wraps(lower)
    def narrow(node: Node, *given: Any) -> Any:
        kinds = [one.type for one in node.operands if one.type in _BITS]
        if not kinds:
            return lower(node, *given)
        found = lower(replace(node, operands=tuple(map(_wide, node.operands))), *given)
        return (
            tuple(_cut(one, kinds[0]) for one in found) if isinstance(found, tuple) else _cut(found, kinds[0])
        )

    return narrow


def _wide(operand: Operand) -> Operand:
    if operand.type not in _BITS:
        return operand
    if isinstance(operand.value, np.ndarray):
        return replace(operand, value=operand.value.astype(np.int32), type=Type.INT32)
    value = operand.tensor
    wide = value if value.dtype is INT32 else ops.cast(value, dtype=INT32)
    return replace(operand, value=wide, type=Type.INT32)


def _cut(value: Value, kind: Type) -> Value:
    """The low bits, as numbers of a type; what is not computed in them stays."""
    if not isinstance(value, Tensor) or value.dtype is not INT32:
        return value
    if kind in (Type.INT8, Type.INT16):
        return ops.cast(value, dtype=INT8 if kind is Type.INT8 else INT16)
    return low_bits(value, kind)


def low_bits(value: Tensor, kind: Type) -> Tensor:
    """The low bits of integers as numbers without sign, where these are of such a type."""
    if kind not in (Type.UINT8, Type.UINT16):
        return value
    return ops.bitwise_and(value, number(value, (1 << _BITS[kind]) - 1))


def within(value: Tensor, kind: Type) -> Tensor:
    """Integers inside of the bounds of a narrow type."""
    if kind not in _BITS:
        return value
    count, signed = _BITS[kind], kind in (Type.INT8, Type.INT16)
    least = -(1 << count - 1) if signed else 0
    return ops.minimum(ops.maximum(value, number(value, least)), number(value, least + (1 << count) - 1))


def bits_of(kind: Type) -> int:
    """How many bits integers have."""
    return _BITS.get(kind, 32)
