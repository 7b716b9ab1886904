"""The sigmoid and the hyperbolic tangent of 16 bits, by the table that TFLite has for both.

It has 256 samples of the sigmoid from 0 on, in steps of 1/24, and takes lines between them. Here they fill a
TABLE of 513 with the middles between them, doubled so that those are integers.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import exp, log2

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT16, INT32
from tosajit.frontends.common.scale import number_like, scaled, wide
from tosajit.frontends.common.tables import saturated
from tosajit.tracing.tensor import Tensor

_STEPS = 24
_LAST = 255
_ROUNDED_UP = frozenset(
    (4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41, 43, 44, 45,
     46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255)
)  # fmt: skip
"""The samples that TFLite has one more for than the nearest integer."""
_MIDDLE = 49152
"""What is subtracted from the samples, so that twice what is left fits in 16 bits."""


def tanh_of_words(value: Tensor, scale: float) -> Tensor:
    """The hyperbolic tangent of INT16 numbers of a scale, with 15 bits of fraction."""
    places, reach = _places(value, scale, 8)
    above = ops.add(_samples(reach, 0), number_like(reach, (_MIDDLE << 8) - (1 << 23)))
    size = scaled(above, [(1 << 30, 38)], INT32)
    return saturated(ops.select(_positive(places), size, ops.negate(size)), INT16)


def sigmoid_of_words(value: Tensor, scale: float) -> Tensor:
    """The sigmoid of INT16 numbers of a scale, with 15 bits of fraction."""
    places, reach = _places(value, scale, 9)
    one = number_like(reach, 1)
    # The table has half as many places: what is between two of them is their mean.
    lower, upper = (ops.arithmetic_right_shift(reach, one, round=up) for up in (False, True))
    above = ops.add(ops.add(_samples(lower, 1), _samples(upper, 1)), number_like(reach, _MIDDLE << 9))
    below = ops.sub(ops.const(number_like(reach, (1 << 25) - 1)), above)
    return scaled(ops.select(_positive(places), above, below), [(1 << 30, 40)], INT16)


def _places(value: Tensor, scale: float, bits: int) -> tuple[Tensor, Tensor]:
    """Numbers in steps of `1 << bits` to a sample, and how far they are from 0, up to the last sample."""
    multiplier, shift = _step(scale)
    whole = wide(value)
    places = ops.mul(whole, number_like(whole, multiplier), [shift])
    return places, ops.minimum(ops.abs(places), number_like(places, _LAST << bits))


def _step(scale: float) -> tuple[int, int]:
    """The factor that brings a scale to a step of the table, by multiplier and shift, cut off at 15 bits."""
    exponent = round(log2(scale)) + 12
    if exponent in (0, 1) and scale == 2.0 ** (exponent - 12):
        return 3 << exponent, 0
    multiplier, shift = scale * 4096 * 3, 0
    while multiplier <= 32767 / 2 and shift <= 30:
        multiplier, shift = multiplier * 2, shift + 1
    return int(multiplier), shift


def _positive(places: Tensor) -> Tensor:
    return ops.greater_equal(places, number_like(places, 0))


def _samples(places: Tensor, less: int) -> Tensor:
    """The sigmoid at places from 0, of which each sample has 256, less `_MIDDLE`; with 8 bits of fraction.

    LOGISTIC saturates at `less` halves below the last sample.
    """
    return ops.table(saturated(ops.sub(places, number_like(places, 32768))), _table(less))


@cache
def _table(less: int) -> Array:
    samples = [
        round(65536 / (1 + exp(-place / _STEPS))) + (place in _ROUNDED_UP) for place in range(_LAST + 1)
    ]
    samples.append(samples[-1])
    doubled = [one for pair in pairwise(samples) for one in (2 * pair[0], sum(pair))]
    table = [*doubled, 2 * samples[-1]]
    table[2 * _LAST] -= less
    return np.array([one - 2 * _MIDDLE for one in table], np.int16)
