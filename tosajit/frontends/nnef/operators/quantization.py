"""Real numbers as those that quantisation leaves (NNEF 2.0 section 4.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.numbers import nearest_away
from tosajit.frontends.nnef.node import Attributes, Node, each
from tosajit.frontends.nnef.operators import operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Bits(Attributes):
    """Which integers there are, and the dimension that has a scale for each element."""

    bits: int
    signed: bool
    symmetric: bool
    channel_axis: int


@dataclass(frozen=True, slots=True)
class Linear(Bits):
    """Zero points and scales."""

    zero_point: tuple[int, ...]
    scale: tuple[float, ...]

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest integer."""
        most = 2 ** (self.bits - 1) - 1 if self.signed else 2**self.bits - 1
        return 0 if not self.signed else -most if self.symmetric else -most - 1, most


@operator("quant.zero_point_linear_quantize", Linear)
def zero_point_linear_quantize(node: Node, options: Linear) -> Tensor:
    """Real numbers as the nearest ones that integers stand for, by a zero point and a scale."""
    value = node["input"]
    count = max(len(options.zero_point), len(options.scale))
    zero = _channels(value, each(options.zero_point, count), options.channel_axis)
    scale = _channels(value, each(options.scale, count), options.channel_axis)
    least, most = options.ends
    places = nearest_away(ops.mul(value, np.float32(1) / scale))
    kept = ops.minimum(ops.maximum(places, least - zero), most - zero)
    return ops.mul(kept, scale)


@dataclass(frozen=True, slots=True)
class Range(Bits):
    """The least and the greatest real number."""

    min: tuple[float, ...]
    max: tuple[float, ...]


@operator("quant.min_max_linear_quantize", Range)
def min_max_linear_quantize(node: Node, options: Range) -> Tensor:
    """Real numbers as the nearest ones that integers stand for, by the ends of their range."""
    value = node["input"]
    count = max(len(options.min), len(options.max))
    low = _channels(value, each(options.min, count), options.channel_axis)
    high = _channels(value, each(options.max, count), options.channel_axis)
    steps = np.float32(2**options.bits - 1 - (options.signed and options.symmetric))
    inside = ops.minimum(ops.maximum(value, low), high)
    places = nearest_away(ops.mul(ops.sub(inside, low), steps / (high - low)))
    return ops.add(ops.mul(places, (high - low) / steps), low)


def _channels(value: Tensor, numbers: Sequence[float], axis: int) -> Array:
    """Numbers that go with the channels of a tensor, or one for all of them."""
    shape = [1] * value.ndim
    if len(numbers) > 1:
        shape[axis % value.ndim] = len(numbers)
    return np.array(numbers, np.float32).reshape(shape)
