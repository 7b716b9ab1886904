"""Strided slices: a part of a tensor, from the elements of each dimension every so many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.frontends.common.layout import constant_of, like, reshaped, sliced
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


def strided(value: Tensor, ranges: Sequence[Range]) -> Tensor:
    """The elements at ranges: turned where steps are negative, cut, and of each group of a step the first."""
    data = constant_of(value)
    if data is not None:
        return like(value, np.ascontiguousarray(data[tuple(one.slice for one in ranges)]))
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
