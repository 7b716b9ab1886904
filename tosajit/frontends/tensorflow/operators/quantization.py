"""Real numbers as those that quantisation leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.frontends.common.grid import Grid
from tosajit.frontends.common.numbers import number
from tosajit.frontends.frame import Refused
from tosajit.frontends.tensorflow.node import Attributes, Node
from tosajit.frontends.tensorflow.operators import operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class GridAttributes(Attributes):
    """How many numbers a grid has."""

    num_bits: int = 8
    narrow_range: bool = False


@dataclass(frozen=True, slots=True)
class FixedGridAttributes(GridAttributes):
    """The same, and about its ends."""

    min: float = -6.0
    max: float = 6.0


def _grid(low: float, high: float, options: GridAttributes) -> Grid:
    if not 1 < options.num_bits <= 16:
        raise Refused(f"it counts in {options.num_bits} bits, but must in 2 to 16")
    if not low <= 0 <= high or low == high:
        raise Refused(f"its range from {low} to {high} has not zero inside")
    return Grid.of(low, high, options.num_bits, options.narrow_range)


@operator("FakeQuantWithMinMaxArgs", FixedGridAttributes, types="float32")
def fake_quant(node: Node, options: FixedGridAttributes) -> Tensor:
    """Real numbers as their nearest ones of a grid."""
    return _on_grids(node[0].tensor, _grid(options.min, options.max, options))


@operator("FakeQuantWithMinMaxVars", GridAttributes, types="float32")
def fake_quant_vars(node: Node, options: GridAttributes) -> Tensor:
    """Real numbers as their nearest ones of a grid, whose ends are operands."""
    return _on_grids(node[0].tensor, _grid(float(node[1].number), float(node[2].number), options))


@operator("FakeQuantWithMinMaxVarsPerChannel", GridAttributes, types="float32")
def fake_quant_channels(node: Node, options: GridAttributes) -> Tensor:
    """Real numbers as their nearest ones of a grid for each channel."""
    ends = zip(node[1].raw.reshape(-1), node[2].raw.reshape(-1), strict=True)
    return _on_grids(node[0].tensor, *(_grid(float(low), float(high), options) for low, high in ends))


def _on_grids(value: Tensor, *grids: Grid) -> Tensor:
    """The nearest numbers of one grid, or of one for each channel; halves go up.

    They are counted from zero, as TensorFlow counts them, and not from the low end: others would be rounded.
    """
    row = (*(1,) * (value.ndim - 1), -1)[: value.ndim]
    low, high, step = (
        np.array(numbers, np.float32).reshape(row)
        for numbers in zip(*((one.low, one.high, one.step) for one in grids), strict=True)
    )
    inverse = np.float32(1) / step
    zero = np.floor(-low * inverse + np.float32(0.5))
    inside = ops.minimum(ops.maximum(value, low), high)
    place = ops.sub(ops.mul(ops.sub(inside, low), inverse), zero)
    return ops.mul(ops.floor(ops.add(place, number(value, 0.5))), step)
