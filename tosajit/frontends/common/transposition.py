"""Transposed convolutions that are convolutions of what has zeros between its elements."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit import ops
from tosajit.frontends.common.borders import spread
from tosajit.frontends.common.layout import part
from tosajit.frontends.common.windows import Span
from tosajit.tracing.tensor import Tensor


def spread_out(
    value: Tensor,
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    found: Sequence[Span],
) -> tuple[Tensor, tuple[int, ...]]:
    """What is convolved, and its padding; the windows are those over the result, which has a size."""
    pads: list[int] = []
    for axis, (span, wanted) in enumerate(zip(found, size, strict=True), 1):
        reach = (kernel[axis - 1] - 1) * dilation[axis - 1]
        apart = spread(value, axis, stride[axis - 1])
        value, border = _bordered(apart, axis, reach - span.before, wanted + reach)
        pads += border
    return value, tuple(pads)


def turned(weights: Tensor, count: int) -> Tensor:
    """Kernels from their ends to their beginnings, along the first dimensions."""
    for axis in range(count):
        weights = ops.reverse(weights, axis=axis)
    return weights


def _bordered(value: Tensor, axis: int, before: int, extent: int) -> tuple[Tensor, tuple[int, int]]:
    """A tensor and its padding, so that it has an extent along a dimension with padding before it."""
    behind = extent - before - value.shape[axis]
    start, end = max(-before, 0), max(-behind, 0)
    inside = part(value, axis, start, value.shape[axis] - start - end)
    return inside, (max(before, 0), max(behind, 0))
