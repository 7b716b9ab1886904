"""Elements in another type."""

from __future__ import annotations

from dataclasses import dataclass

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, FP32, INT8
from tosajit.frontends.common.numbers import is_not_zero, towards_zero, typed
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import low_bits
from tosajit.frontends.tensorflow.elements import STORAGE
from tosajit.frontends.tensorflow.node import Node, dtype_of
from tosajit.frontends.tensorflow.operators import MOVED, operator
from tosajit.frontends.tensorflow.schema import Type
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class CastAttributes(Attributes):
    """The type of the result."""

    DstT: Type


def _folded(node: Node) -> Array:
    wanted = node.attributes(CastAttributes).DstT
    if wanted not in STORAGE:
        raise Refused(f"TOSA has no type for {wanted.label}")
    return node[0].raw.astype(STORAGE[wanted])


@operator("Cast", CastAttributes, types=MOVED, fold=_folded)
def cast(node: Node, options: CastAttributes) -> Tensor:
    """Elements in another type: real numbers towards zero, integers by their low bits, truths as 0 and 1."""
    value, wanted = node[0].tensor, options.DstT
    dtype = dtype_of(wanted)
    if value.dtype.is_float and not dtype.is_float:
        if dtype is BOOL:
            return is_not_zero(value)
        return low_bits(typed(towards_zero(typed(value, FP32)), dtype), wanted)
    if dtype.is_float and value.dtype is BOOL:
        value = ops.cast(value, dtype=INT8)
    elif dtype.is_float and value.dtype.is_float:
        value = typed(value, FP32)
    return low_bits(typed(value, dtype), wanted)
