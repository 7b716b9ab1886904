"""Numbers of 64 bits in 32, where a user wants it: TOSA has no type for float64."""

from __future__ import annotations

import numpy as np

from tiling.records import replace
from tosajit.frontends.onnx import records
from tosajit.frontends.onnx.node import Operand
from tosajit.frontends.onnx.schema import Type

_NAMING = ("to", "dtype", "stash_type", "softmax_precision")
"""Attributes that have the number of a type."""


def narrow_type(kind: Type) -> Type:
    """The type that is computed in."""
    return Type.FLOAT32 if kind is Type.FLOAT64 else kind


def narrow_operand(operand: Operand) -> Operand:
    """An operand as float32, if it is float64: only constants are."""
    if operand.type is not Type.FLOAT64:
        return operand
    return replace(operand, value=operand.raw.astype(np.float32), type=Type.FLOAT32)


def narrow_record(record: records.Node) -> records.Node:
    """A node that gives float32 where its attributes say float64."""
    narrow = {name: int(Type.FLOAT32) for name in _NAMING if record.attributes.get(name) == Type.FLOAT64}
    return replace(record, attributes={**record.attributes, **narrow}) if narrow else record
