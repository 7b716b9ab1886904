"""Operators of StableHLO that LiteRT runs, and DILATE, which came with them."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit import ops
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.layout import reshaped, sliced
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


@operator("DILATE", types=_TYPES)
def dilate(node: Node) -> Tensor:
    """Elements moved apart, with one number between them."""
    gaps = [distance - 1 for distance in node[1].ints]
    return _apart(node[0].tensor, gaps, node[2].array.reshape(-1)[0])


@operator("STABLEHLO_PAD", StablehloPadOptions, types=_TYPES)
def pad(node: Node, options: StablehloPadOptions) -> Tensor:
    """A border of one number, which is also put between elements; negative borders cut off."""
    number = node[1].array.reshape(-1)[0]
    value = _apart(node[0].tensor, options.interior_padding, number)
    low, high = options.edge_padding_low, options.edge_padding_high
    if not len(low) == len(high) == value.ndim:
        raise Refused(f"it has borders for {len(low)} and {len(high)} of {value.ndim} dimensions")
    start = [max(0, -one) for one in low]
    ends = [extent - max(0, -one) for extent, one in zip(value.shape, high, strict=True)]
    value = sliced(value, start, [end - begin for begin, end in zip(start, ends, strict=True)])
    return padded(value, [(max(0, one), max(0, other)) for one, other in zip(low, high, strict=True)], number)


def _apart(value: Tensor, gaps: Sequence[int], number: float) -> Tensor:
    """Elements with gaps between them that are filled with a number."""
    if len(gaps) != value.ndim or any(gap < 0 for gap in gaps):
        raise Refused(f"it has gaps of {list(gaps)} for {value.ndim} dimensions")
    for axis, gap in enumerate(gaps):
        if gap == 0 or value.shape[axis] == 1:
            continue
        shape = value.shape
        alone = reshaped(value, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
        borders = [(0, gap if place == axis + 1 else 0) for place in range(alone.ndim)]
        whole = shape[axis] * (gap + 1)
        filled = reshaped(padded(alone, borders, number), (*shape[:axis], whole, *shape[axis + 1 :]))
        wanted = [whole - gap if place == axis else extent for place, extent in enumerate(filled.shape)]
        value = sliced(filled, [0] * len(wanted), wanted)
    return value
