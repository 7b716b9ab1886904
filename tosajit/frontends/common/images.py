"""Images in another size: RESIZE where it can say the places that are sampled, GATHER where it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import reshaped
from tosajit.graph import Array
from tosajit.operators import ResizeMode
from tosajit.operators.image import MAX_EXTENT, MAX_NUMERATOR, nearest, positions
from tosajit.tracing.tensor import Tensor

Extents = tuple[int, int]
"""How many elements a dimension has before and after."""

_SMALLEST = 16
"""RESIZE makes images less than this times smaller."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Where outputs are along a dimension: number `o` is at `(o * denominator + offset) / numerator`."""

    inputs: int
    outputs: int
    numerator: int
    denominator: int
    offset: int = 0

    @property
    def reduced(self) -> Sampling:
        """The same places by smaller numbers."""
        if self.inputs == 1:  # all of them are the only element
            return Sampling(1, self.outputs, 1 << (self.outputs - 1).bit_length(), 1)
        common = gcd(self.numerator, self.denominator, self.offset)
        numbers = (one // common for one in (self.numerator, self.denominator, self.offset))
        return Sampling(self.inputs, self.outputs, *numbers)

    @property
    def doubled(self) -> Sampling:
        """The same places by numbers twice as large."""
        numbers = (2 * one for one in (self.numerator, self.denominator, self.offset))
        return Sampling(self.inputs, self.outputs, *numbers)

    @property
    def identical(self) -> bool:
        """Whether each output is at the input of its number."""
        return (self.inputs, self.numerator, self.offset) == (self.outputs, self.denominator, 0)

    @property
    def border(self) -> int:
        """What RESIZE adds behind the last input."""
        last = (self.outputs - 1) * self.denominator
        return last - (self.inputs - 1) * self.numerator + self.offset

    @property
    def allowed(self) -> bool:
        """Whether RESIZE takes these numbers (TOSA 1.0.1 section 2.12.1)."""
        n, d = self.numerator, self.denominator
        sizes = max(self.inputs, self.outputs) < MAX_EXTENT and n <= MAX_NUMERATOR and 0 < d < _SMALLEST * n
        return sizes and -n <= self.offset < _SMALLEST * n and -_SMALLEST * n <= self.border < n

    @property
    def places(self) -> tuple[Array, Array, Array]:
        """For each output the inputs before and behind it, and how many numerators it is from the first."""
        low, high, rest = positions(self.outputs, self.inputs, self.numerator, self.denominator, self.offset)
        return low, high, rest

    @property
    def nearest(self) -> Array:
        """For each output the input that is nearest, the one behind it where two are."""
        return nearest(*self.places, self.numerator)


def nearest_image(value: Tensor, extents: Sequence[Extents], aligned: bool, half: bool) -> Tensor:
    """Images in another size, each element the nearest one; `extents` are heights and widths."""
    places = [_nearest(*one, aligned, half) for one in extents]
    samplings = [_halved(exactly(*one, aligned, half), aligned, half).reduced for one in extents]
    same = all(np.array_equal(one.nearest, place) for one, place in zip(samplings, places, strict=True))
    if same and all(one.allowed for one in samplings) and value.dtype is not INT32:
        return resized(value, samplings, ResizeMode.NEAREST)
    for axis, place in enumerate(places, 1):
        value = picked(value, axis, place)
    return value


def _nearest(inputs: int, outputs: int, aligned: bool, half: bool) -> Array:
    """The places of the nearest elements as TFLite computes them, in float32."""
    number, one = np.arange(outputs).astype(np.float32), np.float32
    scale = one(inputs - 1) / one(outputs - 1) if aligned and outputs > 1 else one(inputs) / one(outputs)
    place = (number + one(0.5 if half else 0)) * scale
    whole: Array = np.floor(place + one(0.5)) if aligned else np.floor(place)
    return np.minimum(whole, inputs - 1).astype(np.int64)


def exactly(inputs: int, outputs: int, aligned: bool, half: bool) -> Sampling:
    """Where outputs are."""
    if aligned and outputs > 1:
        return Sampling(inputs, outputs, outputs - 1, inputs - 1)
    if half:
        return Sampling(inputs, outputs, 2 * outputs, 2 * inputs, inputs - outputs)
    return Sampling(inputs, outputs, outputs, inputs)


def _halved(sampling: Sampling, aligned: bool, half: bool) -> Sampling:
    """The places whose nearest elements are those at or before the given ones, unless corners are aligned."""
    if aligned or half:  # the half pixel is what rounding to the nearest one adds
        return sampling
    doubled = sampling.doubled
    return Sampling(
        doubled.inputs, doubled.outputs, doubled.numerator, doubled.denominator, -sampling.numerator
    )


def bilinear_image(value: Tensor, samplings: Sequence[Sampling]) -> Tensor:
    """Images of real numbers in another size, each element between four ones."""
    if all(one.allowed for one in samplings):
        return resized(value, samplings, ResizeMode.BILINEAR)
    parts = np.float32(1 / (samplings[0].numerator * samplings[1].numerator))
    return ops.mul(blended(value, samplings), np.full((1,) * 4, parts, np.float32))


def resized(value: Tensor, samplings: Sequence[Sampling], mode: ResizeMode) -> Tensor:
    """Images whose rows and columns are sampled by RESIZE."""
    rows, columns = samplings
    return ops.resize(
        value,
        (rows.numerator, rows.denominator, columns.numerator, columns.denominator),
        (rows.offset, columns.offset),
        (rows.border, columns.border),
        mode=mode,
    )


def picked(value: Tensor, axis: int, places: Array) -> Tensor:
    """The elements at places along a dimension of images."""
    shape = value.shape
    if np.array_equal(places, np.arange(shape[axis])):
        return value
    outer, inner = int(np.prod(shape[:axis])), int(np.prod(shape[axis + 1 :]))
    indices = expanded(ops.const(places.astype(np.int32).reshape(1, -1)), (outer, len(places)))
    found = ops.gather(reshaped(value, (outer, shape[axis], inner)), indices)
    return reshaped(found, (*shape[:axis], len(places), *shape[axis + 1 :]))


def blended(value: Tensor, samplings: Sequence[Sampling]) -> Tensor:
    """Bilinear interpolation, times the numerators, of rows and columns that are picked: in INT32 or FP32."""
    kind = value.dtype.storage
    for axis, sampling in enumerate(samplings, 1):
        low, high, rest = sampling.places
        weight = rest.reshape([-1 if place == axis else 1 for place in range(4)])
        parts = (
            ops.mul(picked(value, axis, place), factor.astype(kind))
            for place, factor in ((low, sampling.numerator - weight), (high, weight))
        )
        value = ops.add(*parts)
    return value
