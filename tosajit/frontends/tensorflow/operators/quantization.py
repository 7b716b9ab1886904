"""Real numbers as those that quantisation leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.frontends.common.grid import Grid
from tosajit.frontends.common.numbers import nearest_even, number
from tosajit.frontends.common.reduce import reduced
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.node import Node
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


@dataclass(frozen=True, slots=True)
class RoundTripAttributes(Attributes):
    """How numbers are quantised."""

    signed_input: bool = True
    range_given: bool = False
    num_bits: int = 8
    narrow_range: bool = False
    axis: int = -1
    round_mode: str = "HALF_TO_EVEN"


@operator("QuantizeAndDequantizeV2 QuantizeAndDequantizeV4", RoundTripAttributes, types="float32")
def quantize_and_dequantize(node: Node, options: RoundTripAttributes) -> Tensor:
    """Real numbers as their nearest ones of a grid around zero, whose ends are operands or its own."""
    return _round_trip(node, options, options.num_bits)


@operator("QuantizeAndDequantizeV3", RoundTripAttributes, types="float32")
def quantize_and_dequantize_v3(node: Node, options: RoundTripAttributes) -> Tensor:
    """The same; how many bits numbers have is an operand."""
    return _round_trip(node, options, int(node[3].number))


def _round_trip(node: Node, options: RoundTripAttributes, bits: int) -> Tensor:
    if not 1 < bits <= 24 or options.round_mode not in ("HALF_TO_EVEN", "HALF_UP"):
        raise Refused(f"it rounds {options.round_mode} in {bits} bits, but must in 2 to 24")
    value, most = node[0].tensor, (1 << bits - options.signed_input) - 1
    least = -most - (not options.narrow_range) if options.signed_input else 0
    if not options.range_given:
        return _on_own_grid(value, least, most, options)
    low, high = (one.raw.astype(np.float32) for one in node.operands[1:3])
    with np.errstate(all="ignore"):
        by_low = np.where(least * low > 0, np.float32(least) / low, np.finfo(np.float32).max)
        by_high = np.where(most * high > 0, np.float32(most) / high, np.finfo(np.float32).max)
        scale = np.minimum(by_low, by_high)
        step = np.where(by_low < by_high, low / np.float32(least or 1), high / np.float32(most))
    row = [1] * value.ndim
    if options.axis >= 0:
        row[options.axis] = -1
    steps, scales = (np.asarray(one, np.float32).reshape(row) for one in (step, scale))
    inside = ops.maximum(ops.minimum(value, steps * np.float32(most)), steps * np.float32(least))
    return ops.mul(_rounded(ops.mul(inside, scales), options), steps)


def _on_own_grid(value: Tensor, least: int, most: int, options: RoundTripAttributes) -> Tensor:
    """The grid that the least and the greatest element ask for."""
    axes = [axis for axis in range(value.ndim) if axis != options.axis]
    high = reduced(lambda one, axis: ops.reduce_max(one, axis=axis), value, axes, keep=True)
    step = ops.mul(ops.maximum(high, number(high, 0)), number(high, 1 / most))
    if least:
        low = reduced(lambda one, axis: ops.reduce_min(one, axis=axis), value, axes, keep=True)
        step = ops.maximum(step, ops.mul(ops.minimum(low, number(low, 0)), number(low, 1 / least)))
    is_nothing = ops.equal(step, number(step, 0))
    scale = ops.select(is_nothing, step, ops.reciprocal(step))
    return ops.mul(_rounded(ops.mul(value, scale), options), step)


def _rounded(value: Tensor, options: RoundTripAttributes) -> Tensor:
    if options.round_mode == "HALF_UP":
        return ops.floor(ops.add(value, number(value, 0.5)))
    return nearest_even(value)
