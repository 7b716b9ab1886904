"""Real numbers as those that quantisation leaves (NNEF 2.0 section 4.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.layout import like
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

    def of(self, value: Tensor) -> tuple[Array, Array]:
        """Zero points and scales as operands beside a tensor."""
        count = max(len(self.zero_point), len(self.scale))
        zero, scale = (each(one, count) for one in (self.zero_point, self.scale))
        return _channels(value, zero, self.channel_axis), _channels(value, scale, self.channel_axis)


def _linear_constant(node: Node) -> Tensor:
    """The same of a constant, in NumPy."""
    value, options = node["input"], node.attributes(Linear)
    data = value.value.data
    assert data is not None
    zero, scale = options.of(value)
    least, most = options.ends
    return like(value, np.clip(_away(data / scale), least - zero, most - zero) * scale)


@operator("quant.zero_point_linear_quantize", Linear, fold=_linear_constant)
def zero_point_linear_quantize(node: Node, options: Linear) -> Tensor:
    """Real numbers as the nearest ones that integers stand for, by a zero point and a scale."""
    value = node["input"]
    zero, scale = options.of(value)
    least, most = options.ends
    places = nearest_away(ops.mul(value, np.float32(1) / scale))
    kept = ops.minimum(ops.maximum(places, least - zero), most - zero)
    return ops.mul(kept, scale)


@dataclass(frozen=True, slots=True)
class Range(Bits):
    """The least and the greatest real number."""

    min: tuple[float, ...]
    max: tuple[float, ...]

    def of(self, value: Tensor) -> tuple[Array, Array, np.float32]:
        """The ends of ranges as operands beside a tensor, and the steps between them."""
        count = max(len(self.min), len(self.max))
        low, high = (_channels(value, each(one, count), self.channel_axis) for one in (self.min, self.max))
        return low, high, np.float32(2**self.bits - 1 - (self.signed and self.symmetric))


def _range_constant(node: Node) -> Tensor:
    """The same of a constant, in NumPy."""
    value, options = node["input"], node.attributes(Range)
    data = value.value.data
    assert data is not None
    low, high, steps = options.of(value)
    places = _away((np.clip(data, low, high) - low) / (high - low) * steps)
    return like(value, places / steps * (high - low) + low)


@operator("quant.min_max_linear_quantize", Range, fold=_range_constant)
def min_max_linear_quantize(node: Node, options: Range) -> Tensor:
    """Real numbers as the nearest ones that integers stand for, by the ends of their range."""
    value = node["input"]
    low, high, steps = options.of(value)
    inside = ops.minimum(ops.maximum(value, low), high)
    places = nearest_away(ops.mul(ops.sub(inside, low), steps / (high - low)))
    return ops.add(ops.mul(places, (high - low) / steps), low)


def _away(places: Array) -> Array:
    """The nearest whole numbers, those farther from zero of two."""
    found: Array = np.copysign(np.floor(np.abs(places) + np.float32(0.5)), places)
    return found


def _channels(value: Tensor, numbers: Sequence[float], axis: int) -> Array:
    """Numbers that go with the channels of a tensor, or one for all of them."""
    shape = [1] * value.ndim
    if len(numbers) > 1:
        shape[axis % value.ndim] = len(numbers)
    return np.array(numbers, np.float32).reshape(shape)
