"""Windows by their elements: all first ones are combined with all second ones, and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from tosajit.frontends.common.slices import Range, strided
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor

Two = Callable[[Tensor, Tensor], Tensor]


def windowed(value: Tensor, combine: Two, windows: Sequence[tuple[int, int, int]]) -> Tensor:
    """What combines all elements of each window: along each dimension a size, a stride and a dilation."""
    for axis, (size, stride, dilation) in enumerate(windows):
        value = reduce(combine, _taps(value, axis, size, stride, dilation))
    return value


def _taps(value: Tensor, axis: int, size: int, stride: int, dilation: int) -> list[Tensor]:
    """The first elements of all windows along a dimension, the second ones, and so on."""
    extent = value.shape[axis]
    count = (extent - (size - 1) * dilation - 1) // max(stride, 1) + 1
    if min(size, stride, dilation, count) < 1:
        raise Refused(f"windows of {size} elements {dilation} apart do not fit into {extent}")
    whole = [Range(0, one) for one in value.shape]
    starts = (place * dilation for place in range(size))
    places = [Range(start, start + (count - 1) * stride + 1, stride) for start in starts]
    return [strided(value, [*whole[:axis], place, *whole[axis + 1 :]]) for place in places]
