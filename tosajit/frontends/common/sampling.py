"""Dimensions of tensors in another size: each output a sum of a few elements, or one of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.images import Sampling, picked, resized
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.common.matrices import weighted
from tosajit.frontends.common.pooling import Side, pooled
from tosajit.frontends.common.windows import Span
from tosajit.frontends.frame import Refused
from tosajit.operators import ResizeMode
from tosajit.tracing.tensor import Tensor

_MOST_WEIGHTS = 1 << 22
"""So many weights are looked at when a model is read: few numbers can ask for many."""


def check_weights(outputs: int, inputs: int) -> None:
    """Refuse dimensions whose weights of each element in each output are too many."""
    if outputs * inputs > _MOST_WEIGHTS:
        raise Refused(f"its weights of {outputs} by {inputs} elements are too many")


@dataclass(frozen=True, slots=True)
class Resampling:
    """A dimension in another size."""

    axis: int
    weights: Array
    """How much of each element is in each output."""
    sampling: Sampling | None = None
    """The places between elements that give the same, if there are such."""

    @property
    def resizable(self) -> Sampling | None:
        """What RESIZE takes to do it."""
        if self.sampling is None or not self.sampling.reduced.allowed:
            return None
        low, high, rest = self.sampling.places
        found = np.zeros(self.weights.shape)
        rows, share = np.arange(len(self.weights)), rest / self.sampling.numerator
        np.add.at(found, (rows, low), 1 - share)
        np.add.at(found, (rows, high), share)
        return self.sampling.reduced if np.allclose(found, self.weights, rtol=0, atol=1e-12) else None


def resampled(value: Tensor, sides: Sequence[Resampling]) -> Tensor:
    """Dimensions that become sums of their elements: by RESIZE where it gives the same, else as products."""
    found = [(one, one.resizable) for one in sides]
    simple = sorted((one.axis, sampling) for one, sampling in found if sampling is not None)
    for start in range(0, len(simple), 2):
        value = interpolated(value, simple[start : start + 2])
    for one, sampling in found:
        if sampling is None:
            value = _multiplied(value, one)
    return value


def interpolated(value: Tensor, sides: Sequence[tuple[int, Sampling]]) -> Tensor:
    """Up to two dimensions in another size by RESIZE: sums of bytes are times all numerators."""
    samplings = [*[Sampling(1, 1, 1, 1)] * (2 - len(sides)), *(sampling for _, sampling in sides)]
    axes = [Side(axis, 1, 1, 1, Span(0, 0, sampling.outputs)) for axis, sampling in sides]
    return pooled(value, axes, lambda image: resized(image.pixels, samplings, ResizeMode.BILINEAR))


def _multiplied(value: Tensor, side: Resampling) -> Tensor:
    order = [*(place for place in range(value.ndim) if place != side.axis), side.axis]
    weights = ops.const(side.weights.T.astype(value.dtype.storage))
    found = weighted(transposed(value, order), weights)
    return transposed(found, [order.index(place) for place in range(value.ndim)])


def repeated(value: Tensor, axis: int, factor: int) -> Tensor:
    """Each element of a dimension several times."""
    if factor == 1:
        return value
    before, extent, behind = prod(value.shape[:axis]), value.shape[axis], prod(value.shape[axis + 1 :])
    apart = ops.tile(reshaped(value, (before * extent, 1, behind)), (1, factor, 1))
    return reshaped(apart, (*value.shape[:axis], extent * factor, *value.shape[axis + 1 :]))


def chosen(value: Tensor, axis: int, places: Array) -> Tensor:
    """The elements at places along a dimension."""
    extent, size = value.shape[axis], len(places)
    factor = size // extent
    if size == factor * extent and np.array_equal(places, np.arange(size) // max(factor, 1)):
        return repeated(value, axis, factor)
    return picked(value, axis, places)
