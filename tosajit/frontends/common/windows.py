"""Where windows of convolutions and pools begin and end: padding from a scheme, and extents that fit it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tosajit import ops
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
