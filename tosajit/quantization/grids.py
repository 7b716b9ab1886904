"""The integers that stand for the real numbers of a range."""

from __future__ import annotations

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, DType
from tosajit.frontends.common.quantized import centred
from tosajit.frontends.scaled import Affine, Held, Scaled, Sum, Weights
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor

Range = tuple[float, float]
_WORD = 32767
_SPARE = 2.0
"""How much more than was seen words hold: a bit of sixteen, so that other samples are not cut off."""


def grid_of(found: Range, dtype: DType) -> Affine:
    """The grid that covers a range, with an integer for 0: symmetric for 16 bits, as TOSA wants it."""
    low, high = min(found[0], 0.0), max(found[1], 0.0)
    if dtype is INT16:
        return Affine(INT16, _positive(_SPARE * max(-low, high) / _WORD), 0, (-_WORD - 1, _WORD))
    scale = _positive((high - low) / 255)
    point = int(np.clip(np.rint(-128 - low / scale), -128, 127))
    return Affine(INT8, scale, point, (-128, 127))


def _positive(scale: float) -> float:
    """A scale that float32 and RESCALE can hold; a tensor of zeros has none of its own."""
    return float(np.float32(scale)) if scale > 1e-30 else 1.0


def symmetric(weights: Array, axis: int | None) -> Weights:
    """Weights as bytes without zero point, by one scale, or by one for each index of a dimension."""
    others = None if axis is None else tuple(place for place in range(weights.ndim) if place != axis)
    most = np.atleast_1d(np.abs(weights.astype(np.float64)).max(others, initial=0))
    scales = np.where(most > 1e-30, most / 127, 1.0).astype(np.float32)
    row = [-1 if place == axis else 1 for place in range(weights.ndim)]
    steps = np.rint(weights / (scales if axis is None else scales.reshape(row)))
    integers = np.clip(steps, -127, 127).astype(np.int8)
    return Weights(weights.shape, integers, scales, np.zeros(1, np.int64), 0 if axis is None else axis)


def constant(elements: Array, name: str = "") -> Held:
    """A constant operand of arithmetic, in 16 bits: it costs nothing, and activations have the errors."""
    far = float(np.abs(elements).max(initial=0)) / _SPARE
    affine = grid_of((-far, far), INT16)
    trace = current_trace()
    assert trace is not None
    return Held.of(trace.constant(affine.nearest(elements).astype(np.int16), INT16, name), affine)


def onto(value: Scaled, affine: Affine) -> Tensor:
    """The integers of a grid, without real numbers in between where the types differ."""
    if isinstance(value, Held) and INT16 in (value.dtype, affine.dtype):
        if (value.scale, value.zero_point, value.dtype) != (affine.scale, affine.zero_point, affine.dtype):
            return as_sum(value).onto(affine)
    return value.onto(affine)


def as_sum(value: Held) -> Sum:
    """Integers as sums of themselves."""
    return Sum(
        value.shape,
        lambda finish: finish(centred(value), slice(None)),
        np.array([value.scale]),
        value.farthest,
    )
