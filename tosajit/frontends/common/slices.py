"""Strided slices: a part of a tensor, from the elements of each dimension every so many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.layout import constant_of, like, reshaped, sliced
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Range:
    """The elements of a dimension that are taken: as Python's `range` has them."""

    start: int
    stop: int
    step: int = 1

    @property
    def count(self) -> int:
        """How many there are."""
        return len(range(self.start, self.stop, self.step))

    @property
    def slice(self) -> slice:
        """The same for NumPy, which reads a negative end otherwise."""
        stop = None if self.step < 0 and self.stop < 0 else self.stop
        return slice(self.start, stop, self.step)


@dataclass(frozen=True, slots=True)
class Masks:
    """What bit `i` says about number `i` of begin, end and step, as TensorFlow has it."""

    begin: int = 0
    end: int = 0
    ellipsis: int = 0
    new_axis: int = 0
    shrink_axis: int = 0


def masked(
    extents: Sequence[int], begin: Sequence[int], end: Sequence[int], step: Sequence[int], masks: Masks
) -> tuple[list[Range], tuple[int, ...]]:
    """The range of each dimension, and the shape of the result."""
    ranges: list[Range] = []
    shape: list[int] = []
    for number in _places(masks, len(begin), len(extents)):
        axis = len(ranges)
        if number is None:
            ranges.append(Range(0, extents[axis]))
            shape.append(extents[axis])
        elif masks.new_axis >> number & 1:
            shape.append(1)
        else:
            found = _range(masks, number, extents[axis], begin[number], end[number], step[number])
            ranges.append(found)
            shape += [] if masks.shrink_axis >> number & 1 else [found.count]
    return ranges, tuple(shape)


def _places(masks: Masks, count: int, rank: int) -> list[int | None]:
    """The numbers of begin, end and step in order; None for dimensions that are taken whole."""
    found: list[int | None] = []
    real = [number for number in range(count) if not (masks.new_axis | masks.ellipsis) >> number & 1]
    for number in range(count):
        whole = masks.ellipsis >> number & 1
        found += [None] * (rank - len(real)) if whole else [number]
    return found if masks.ellipsis else found + [None] * (rank - len(real))


def _range(masks: Masks, number: int, extent: int, begin: int, end: int, step: int) -> Range:
    if step == 0:
        raise Refused(f"its step along dimension {number} is 0")
    least, most = (0, extent) if step > 0 else (-1, extent - 1)
    start = begin + extent if begin < 0 else begin
    if masks.begin >> number & 1:
        start = 0 if step > 0 else extent - 1
    start = min(max(start, least), most)
    if masks.shrink_axis >> number & 1:
        return Range(start, start + 1)
    stop = end + extent if end < 0 else end
    if masks.end >> number & 1:
        stop = extent if step > 0 else -1
    return Range(start, min(max(stop, least), most), step)


def cut(data: Array, ranges: Sequence[Range]) -> Array:
    """The elements of an array at ranges."""
    return np.ascontiguousarray(data[tuple(one.slice for one in ranges)])


def strided(value: Tensor, ranges: Sequence[Range]) -> Tensor:
    """The elements at ranges: turned where steps are negative, cut, and of each group of a step the first."""
    data = constant_of(value)
    if data is not None:
        return like(value, cut(data, ranges))
    turned, forward = _turned(value, ranges)
    reaches = [min(one.count * one.step, extent - one.start) if one.count else 0
               for one, extent in zip(forward, turned.shape, strict=True)]  # fmt: skip
    part = sliced(turned, [one.start for one in forward], reaches)
    for axis, one in enumerate(forward):
        part = _every(part, axis, one.step, one.count)
    return part


def _turned(value: Tensor, ranges: Sequence[Range]) -> tuple[Tensor, list[Range]]:
    """The tensor with every dimension read forwards, and the ranges in it."""
    forward = []
    for axis, one in enumerate(ranges):
        if one.step < 0 and one.count > 1:
            value, last = ops.reverse(value, axis=axis), value.shape[axis] - 1
            forward.append(Range(last - one.start, last - one.start + one.count * -one.step, -one.step))
        else:
            forward.append(Range(one.start, one.start + one.count * abs(one.step), abs(one.step)))
    return value, forward


def _every(value: Tensor, axis: int, step: int, count: int) -> Tensor:
    """The first of each `step` elements of a dimension, `count` of them."""
    shape = value.shape
    if step == 1 or shape[axis] <= 1:
        return sliced(value, [0] * len(shape), [min(count, one) if place == axis else one
                                                for place, one in enumerate(shape)])  # fmt: skip
    missing = count * step - shape[axis]
    if missing:
        padding = [number for place in range(len(shape)) for number in (0, missing if place == axis else 0)]
        value = ops.pad(value, padding)
    before, behind = shape[:axis], shape[axis + 1 :]
    grouped = reshaped(value, (*before, count, step, *behind))
    first = ops.slice(grouped, [0] * (len(shape) + 1), (*before, count, 1, *behind))
    return reshaped(first, (*before, count, *behind))
