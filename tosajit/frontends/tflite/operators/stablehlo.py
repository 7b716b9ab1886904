"""Operators of StableHLO that LiteRT runs."""

from __future__ import annotations

from tosajit import ops
from tosajit.dtypes import BOOL
from tosajit.frontends.common.borders import bordered, spread
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import StablehloPadOptions
from tosajit.tracing.tensor import Tensor

_NUMBERS = "float32 int32 int64"
_TYPES = "float32 int8 uint8 int16 int32 int64 bool"


@operator("STABLEHLO_ADD", types=_NUMBERS)
def add(node: Node) -> Tensor:
    """The sum of two tensors of one shape."""
    return ops.add(node[0].tensor, node[1].tensor)


@operator("STABLEHLO_MULTIPLY", types=_NUMBERS)
def multiply(node: Node) -> Tensor:
    """The product of two tensors of one shape."""
    return ops.mul(node[0].tensor, node[1].tensor)


@operator("STABLEHLO_MAXIMUM", types=_NUMBERS)
def maximum(node: Node) -> Tensor:
    """The greater elements of two tensors of one shape."""
    return ops.maximum(node[0].tensor, node[1].tensor)


@operator("STABLEHLO_MINIMUM", types=_NUMBERS)
def minimum(node: Node) -> Tensor:
    """The lesser elements of two tensors of one shape."""
    return ops.minimum(node[0].tensor, node[1].tensor)


@operator("STABLEHLO_AND", types="bool int8 int16 int32 int64")
def and_(node: Node) -> Tensor:
    """Whether both of two truths hold, or the bits that two integers share."""
    combine = ops.logical_and if node[0].dtype is BOOL else ops.bitwise_and
    found: Tensor = combine(node[0].tensor, node[1].tensor)
    return found


@operator("STABLEHLO_SHIFT_LEFT", types="int8 int16 int32")
def shift_left(node: Node) -> Tensor:
    """Integers with their bits moved up."""
    return ops.logical_left_shift(node[0].tensor, node[1].tensor)


@operator("STABLEHLO_PAD", StablehloPadOptions, types=_TYPES)
def pad(node: Node, options: StablehloPadOptions) -> Tensor:
    """A border of one number, which is also put between elements; negative borders cut off."""
    number = node[1].array.reshape(-1)[0]
    value, gaps = node[0].tensor, options.interior_padding
    low, high = options.edge_padding_low, options.edge_padding_high
    if not len(low) == len(high) == len(gaps) == value.ndim or any(gap < 0 for gap in gaps):
        raise Refused(f"its borders or gaps {list(gaps)} are not those of {value.ndim} dimensions")
    for axis, gap in enumerate(gaps):
        value = spread(value, axis, gap + 1, number)
    return bordered(value, list(zip(low, high, strict=True)), number)
