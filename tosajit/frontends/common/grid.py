"""Real numbers as their nearest ones of a grid, as quantisation leaves them."""

from __future__ import annotations

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.frontends.common.numbers import number
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Grid:
    """The least and the greatest number of a grid that has zero on it, and its step: in float32."""

    low: float
    high: float
    step: float

    @classmethod
    def of(cls, low: float, high: float, bits: int, narrow: bool = False) -> Grid:
        """A grid of as many numbers as there are bits, from the one near `low` to that near `high`."""
        least, most = np.float32(narrow), np.float32((1 << bits) - 1)
        step = (np.float32(high) - np.float32(low)) / (most - least)
        zero = np.float32(least - np.float32(low) / step)
        nudged = np.float32(np.floor(np.clip(zero, least, most) + 0.5))
        return cls(float((least - nudged) * step), float((most - nudged) * step), float(step))


def on_grid(value: Tensor, grid: Grid) -> Tensor:
    """The numbers of a grid that are nearest to real ones; halves go up."""
    inside = ops.clamp(value, min_val=grid.low, max_val=grid.high)
    inverse = float(np.float32(1) / np.float32(grid.step))
    place = ops.mul(ops.sub(inside, number(value, grid.low)), number(value, inverse))
    nearest = ops.floor(ops.add(place, number(value, 0.5)))
    return ops.add(ops.mul(nearest, number(value, grid.step)), number(value, grid.low))
