"""Pools of windows, and of parts of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tosajit import ops
from tosajit.frontends.common.layout import joined, part, reshaped
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.pooling import Side, greatest, mean, means, total
from tosajit.frontends.common.reduce import reduced
from tosajit.frontends.common.windows import Span, inside
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import REAL, operator
from tosajit.frontends.torch.operators.convolution import Ints, batched, each
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Windows:
    """Where windows are along some dimensions."""

    count: int
    kernel: Ints
    stride: Ints = ()
    padding: Ints = 0
    dilation: Ints = 1
    ceil_mode: bool = False

    def sides(self, value: Tensor) -> tuple[Tensor, list[Side], list[tuple[int, int]]]:
        """The part of a tensor that windows reach, the windows along each dimension, and their borders."""
        sizes = each(self.kernel, self.count)
        steps = each(self.stride, self.count) if self.stride != () else sizes
        pads, gaps = each(self.padding, self.count), each(self.dilation, self.count)
        rows = list(zip(value.shape[2:], sizes, steps, pads, gaps, strict=True))
        spans = [self._span(*row) for row in rows]
        value, kept = inside(value, spans, 2)
        found = [
            (Side(axis, size, step, gap, span), (pad, pad))
            for axis, ((_, size, step, pad, gap), span) in enumerate(zip(rows, kept, strict=True), 2)
        ]
        found = [one for one in found if not one[0].is_whole]
        return value, [side for side, _ in found], [border for _, border in found]

    def _span(self, extent: int, size: int, step: int, pad: int, gap: int) -> Span:
        """The windows along a dimension: with `ceil_mode` the last one may go beyond the border."""
        reach = (size - 1) * gap + 1
        room = extent + 2 * pad - reach
        count = room // step + 1
        if self.ceil_mode and room % step and count * step < extent + pad:
            count += 1
        return Span(pad, (count - 1) * step + reach - extent - pad, count)


def _declare_greatest(count: int) -> None:
    def pool(
        node: Node,
        self: Operand,
        kernel_size: Ints,
        stride: Ints = (),
        padding: Ints = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        """The maximum of each window."""
        value, _ = batched(self.tensor, count)
        value, sides, _ = Windows(count, kernel_size, stride, padding, dilation, ceil_mode).sides(value)
        return reshaped(greatest(value, sides), node.shape)

    names = f"aten.max_pool{count}d.default aten.max_pool{count}d_with_indices.default"
    operator(names, types=f"{REAL} int8 int16")(pool)


def _declare_mean(count: int) -> None:
    def pool(
        node: Node,
        self: Operand,
        kernel_size: Ints,
        stride: Ints = (),
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """The mean of each window."""
        value, _ = batched(self.tensor, count)
        value, sides, borders = Windows(count, kernel_size, stride, padding, 1, ceil_mode).sides(value)
        if divisor_override is not None:
            sums = total(value, sides)
            return reshaped(ops.mul(sums, number(sums, 1 / divisor_override)), node.shape)
        counted = borders if count_include_pad else [(0, 0)] * len(borders)
        return reshaped(mean(value, sides, counted), node.shape)

    operator(f"aten.avg_pool{count}d.default", types=REAL)(pool)


for _count in (1, 2, 3):
    _declare_greatest(_count)
    _declare_mean(_count)


def _parts(extent: int, count: int) -> list[tuple[int, int]]:
    """Where parts of a dimension begin and end that are as equal as can be."""
    return [(place * extent // count, -(-(place + 1) * extent // count)) for place in range(count)]


def _adaptive(
    node: Node, value: Operand, sizes: Sequence[int | None], reduce: Callable[[Tensor, int], Tensor]
) -> Tensor:
    """Dimensions pooled in as many parts as the result has."""
    found = value.tensor
    first = found.ndim - len(sizes)
    whole = [axis for axis in range(first, found.ndim) if node.shape[axis] == 1]
    if whole:
        found = reduced(reduce, found, whole, True) if reduce is not _mean else means(found, whole, True)
    for axis in range(first, found.ndim):
        found = _along(found, axis, node.shape[axis], reduce)
    return found


def _along(value: Tensor, axis: int, count: int, reduce: Callable[[Tensor, int], Tensor]) -> Tensor:
    extent = value.shape[axis]
    if extent == count:
        return value
    if extent % count == 0:
        split = (*value.shape[:axis], count, extent // count, *value.shape[axis + 1 :])
        found = reduce(reshaped(value, split), axis + 1)
        return reshaped(found, (*value.shape[:axis], count, *value.shape[axis + 1 :]))
    return joined(
        [reduce(part(value, axis, start, end - start), axis) for start, end in _parts(extent, count)], axis
    )


def _mean(value: Tensor, axis: int) -> Tensor:
    sums = ops.reduce_sum(value, axis=axis)
    return ops.mul(sums, number(sums, 1 / value.shape[axis]))


@operator(
    "aten.adaptive_avg_pool1d.default aten.adaptive_avg_pool2d.default aten.adaptive_avg_pool3d.default "
    "aten._adaptive_avg_pool2d.default aten._adaptive_avg_pool3d.default",
    types=REAL,
)
def adaptive_mean(node: Node, self: Operand, output_size: Sequence[int]) -> Tensor:
    """The means of as many parts as the result has elements."""
    return _adaptive(node, self, output_size, _mean)


@operator(
    "aten.adaptive_max_pool1d.default aten.adaptive_max_pool2d.default aten.adaptive_max_pool3d.default",
    types=REAL,
)
def adaptive_greatest(node: Node, self: Operand, output_size: Sequence[int]) -> Tensor:
    """The maxima of as many parts as the result has elements."""
    return _adaptive(node, self, output_size, lambda one, axis: ops.reduce_max(one, axis=axis))
