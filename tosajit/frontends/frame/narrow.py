"""Integers of 8 and 16 bits: they are computed as int32, of which the low bits are kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.dtypes import INT8, INT16, INT32
from tosajit.frontends.common.numbers import number
from tosajit.frontends.frame.operand import Kind, Operand
from tosajit.tracing.tensor import Tensor


class _Width(NamedTuple):
    bits: int
    signed: bool


_WIDTHS = {
    "int8": _Width(8, True), "int16": _Width(16, True),
    "uint8": _Width(8, False), "uint16": _Width(16, False),
}  # fmt: skip


def widened(lower: Callable[..., Any]) -> Callable[..., Any]:
    """Let the lowering of an operator see such operands as int32, and cut what it gives."""

    @wraps(lower)
    def narrow(node: Any, *given: Any) -> Any:
        kinds = [one.type for one in node.operands if one is not None and one.type.label in _WIDTHS]
        if not kinds:
            return lower(node, *given)
        wide = tuple(None if one is None else _wide(one) for one in node.operands)
        found = lower(replace(node, operands=wide), *given)
        return (
            tuple(_cut(one, kinds[0]) for one in found) if isinstance(found, tuple) else _cut(found, kinds[0])
        )

    return narrow


def _wide(operand: Operand) -> Operand:
    if operand.type.label not in _WIDTHS:
        return operand
    int32 = type(operand.type)["INT32"]  # type: ignore[index]
    if isinstance(operand.value, np.ndarray):
        return replace(operand, value=operand.value.astype(np.int32), type=int32)
    value = operand.tensor
    wide = value if value.dtype is INT32 else ops.cast(value, dtype=INT32)
    return replace(operand, value=wide, type=int32)


def _cut(value: Any, kind: Kind) -> Any:
    """The low bits, as numbers of a type; what is not computed in them stays."""
    if not isinstance(value, Tensor) or value.dtype is not INT32:
        return value
    if _WIDTHS[kind.label].signed:
        return ops.cast(value, dtype=INT8 if bits_of(kind) == 8 else INT16)
    return low_bits(value, kind)


def low_bits(value: Tensor, kind: Kind) -> Tensor:
    """The low bits of integers as numbers without sign, where these are of such a type."""
    width = _WIDTHS.get(kind.label)
    if width is None or width.signed:
        return value
    return ops.bitwise_and(value, number(value, (1 << width.bits) - 1))


def within(value: Tensor, kind: Kind) -> Tensor:
    """Integers inside of the bounds of a narrow type."""
    width = _WIDTHS.get(kind.label)
    if width is None:
        return value
    least = -(1 << width.bits - 1) if width.signed else 0
    most = least + (1 << width.bits) - 1
    return ops.minimum(ops.maximum(value, number(value, least)), number(value, most))


def bits_of(kind: Kind) -> int:
    """How many bits integers have."""
    return _WIDTHS[kind.label].bits if kind.label in _WIDTHS else 32
