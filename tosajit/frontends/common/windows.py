"""Where windows of convolutions and pools begin and end: padding from a scheme, and extents that fit it."""

from __future__ import annotations

from collections.abc import Sequence

from tiling.records import dataclass
from tosajit import ops
from tosajit.frontends.common.layout import sliced
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Span:
    """The windows along one dimension."""

    before: int
    after: int
    """How much of the input is missing behind its end; negative if windows do not reach it."""
    count: int

    @classmethod
    def of(cls, extent: int, kernel: int, stride: int, dilation: int, same: bool) -> Span:
        """The windows over an extent: as many as strides, or only those that are inside."""
        reach = (kernel - 1) * dilation + 1
        count = -(-extent // stride) if same else (extent - reach) // stride + 1
        missing = (count - 1) * stride + reach - extent
        before = max(missing, 0) // 2 if same else 0
        return cls(before, missing - before, count)

    @classmethod
    def within(cls, extent: int, kernel: int, stride: int, dilation: int, border: tuple[int, int]) -> Span:
        """The windows that are inside of an extent with a border."""
        before, behind = border
        reach = (kernel - 1) * dilation + 1
        count = (extent + before + behind - reach) // stride + 1
        return cls(before, (count - 1) * stride + reach - extent - before, count)


def spans(
    extents: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], same: bool
) -> tuple[Span, ...]:
    """The windows along each dimension."""
    ones = zip(extents, kernel, stride, dilation, strict=True)
    return tuple(Span.of(extent, size, step, gap, same) for extent, size, step, gap in ones)


def padding(found: Sequence[Span]) -> tuple[int, ...]:
    """The padding of each dimension before and after it, as attributes have it."""
    return tuple(number for span in found for number in (span.before, max(span.after, 0)))


def trimmed(value: Tensor, found: Sequence[Span]) -> Tensor:
    """The input without what no window reaches, as TOSA wants it; dimensions 1, 2, … are those of windows."""
    size = list(value.shape)
    for place, span in enumerate(found, 1):
        size[place] += min(span.after, 0)
    return value if tuple(size) == value.shape else ops.slice(value, (0,) * len(size), size)


def inside(value: Tensor, found: Sequence[Span], first: int) -> tuple[Tensor, tuple[Span, ...]]:
    """The part of a tensor that windows reach, and the windows on it, from dimension `first` on."""
    kept, start, size = [], [0] * value.ndim, list(value.shape)
    for axis, span in enumerate(found, first):
        start[axis] = max(-span.before, 0)
        size[axis] -= start[axis] + max(-span.after, 0)
        kept.append(Span(max(span.before, 0), max(span.after, 0), span.count))
    return sliced(value, start, size), tuple(kept)


def transposed_padding(
    size: Sequence[int],
    extents: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    found: Sequence[Span],
) -> tuple[int, ...]:
    """The padding of a transposed convolution whose result has a size: the windows are those over it."""
    pads: list[int] = []
    for span, extent, step, reach, wanted in zip(found, extents, stride, kernel, size, strict=True):
        pads += [-span.before, wanted - (extent - 1) * step - reach + span.before]
    return tuple(pads)
