"""Convolutions of one to three dimensions by groups of channels, and their transposes.

Channels are last; kernels come by output channels, windows, input channels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.borders import bordered, padded, spread
from tosajit.frontends.common.layout import constant_of, joined, like, part, reshaped, split, transposed
from tosajit.frontends.common.windows import Span, padding
from tosajit.frontends.frame import Refused
from tosajit.profiles import LEVELS
from tosajit.tracing.tensor import Tensor

_MOST_WEIGHTS = 1 << 26
_MOST_GROUPS = 64
"""How many convolutions stand for one of groups."""


@dataclass(frozen=True, slots=True)
class Sums:
    """How products of integers are added up: zero points of both operands, and what becomes of the sums."""

    zero_points: tuple[Array, ...] = ()
    finish: Callable[[Tensor, slice], Tensor] = lambda total, channels: total
    """Takes the sums of some channels, and which these are."""

    @property
    def border(self) -> int:
        """The number around images: that which stands for 0."""
        return int(self.zero_points[0][0]) if self.zero_points else 0


REAL = Sums()
"""Real numbers have none of that."""


@dataclass(frozen=True, slots=True)
class Operands:
    """A convolution in TOSA's order: channels last; kernels by output channels, windows, input channels."""

    image: Tensor
    kernels: Tensor
    bias: Tensor | None
    groups: int
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    sums: Sums = REAL

    @property
    def rank(self) -> int:
        """How many dimensions windows have."""
        return self.image.ndim - 2

    @property
    def biases(self) -> Sequence[Tensor | None]:
        """The bias of each group."""
        return [None] * self.groups if self.bias is None else split(self.bias, 0, self.groups)


def convolved(given: Operands, found: Sequence[Span]) -> Tensor:
    """A convolution, channel by channel, by groups, or whole."""
    if given.rank == 1:
        if given.stride == (1,) and given.dilation[0] * given.kernels.shape[1] > LEVELS["8K"].MAX_KERNEL:
            return _in_columns(given, found[0])
        flat = Operands(
            _raised(given.image), _raised(given.kernels), given.bias, given.groups,
            (1, *given.stride), (1, *given.dilation), given.sums,
        )  # fmt: skip
        result = convolved(flat, (Span(0, 0, 1), *found))
        return reshaped(result, (result.shape[0], *result.shape[2:]))
    if given.rank not in (2, 3):
        raise Refused(f"its windows have {given.rank} dimensions, but TOSA's have 1 to 3")
    channels, depth = given.image.shape[-1], given.kernels.shape[-1]
    if given.rank == 2 and depth == 1 and given.groups == channels:
        return _by_channel(given, found)
    return _grouped(given, found)


def _in_columns(given: Operands, span: Span) -> Tensor:
    """A convolution of lines whose taps are farther apart than TOSA allows: gaps are columns."""
    (gap,), taps = given.dilation, given.kernels.shape[1]
    batch, extent, channels = given.image.shape
    rows = -(-span.count // gap)
    behind = (rows + taps - 1) * gap - span.before - extent
    lines = bordered(given.image, [(0, 0), (span.before, behind), (0, 0)], given.sums.border)
    image = reshaped(lines, (batch, -1, gap, channels))
    kernels = reshaped(given.kernels, (*given.kernels.shape[:2], 1, given.kernels.shape[2]))
    flat = Operands(image, kernels, given.bias, given.groups, (1, 1), (1, 1), given.sums)
    result = convolved(flat, (Span(0, 0, rows), Span(0, 0, gap)))
    return part(reshaped(result, (batch, rows * gap, -1)), 1, 0, span.count)


def _raised(value: Tensor) -> Tensor:
    """Rows as images of one line."""
    return reshaped(value, (value.shape[0], 1, *value.shape[1:]))


def _by_channel(given: Operands, found: Sequence[Span]) -> Tensor:
    count, height, width, _ = given.kernels.shape
    channels = given.image.shape[-1]
    apart = reshaped(given.kernels, (channels, count // channels, height, width))
    total = ops.depthwise_conv2d(
        given.image, transposed(apart, (2, 3, 0, 1)), given.bias, *given.sums.zero_points,
        pad=padding(found), stride=given.stride, dilation=given.dilation,
    )  # fmt: skip
    return given.sums.finish(total, slice(None))


def _grouped(given: Operands, found: Sequence[Span]) -> Tensor:
    groups, axis = given.groups, given.image.ndim - 1
    _check(groups)
    images, kernels = split(given.image, axis, groups), split(given.kernels, 0, groups)
    convolve = ops.conv2d if given.rank == 2 else ops.conv3d
    totals = (
        convolve(
            image, kernel, bias, *given.sums.zero_points,
            pad=padding(found), stride=given.stride, dilation=given.dilation,
        )
        for image, kernel, bias in zip(images, kernels, given.biases, strict=True)
    )  # fmt: skip
    results = _finished(totals, given.sums)
    return joined(results, axis)


def _finished(totals: Iterable[Tensor], sums: Sums) -> list[Tensor]:
    """The sums of groups, one behind the other, and what becomes of each."""
    results: list[Tensor] = []
    start = 0
    for total in totals:
        count = total.shape[-1]
        results.append(sums.finish(total, slice(start, start + count)))
        start += count
    return results


def _check(groups: int) -> None:
    if groups > _MOST_GROUPS:
        raise Refused(f"it has {groups} groups, of which TOSA knows nothing; {_MOST_GROUPS} are written out")


def transposed_convolved(given: Operands, extents: Sequence[int], before: Sequence[int]) -> Tensor:
    """A transposed convolution whose result has given extents, by groups; kernels come by input channels.

    `before` is how much of the windows is before each dimension of the result.
    """
    last = given.image.ndim - 1
    kernels = given.kernels
    for axis, gap in enumerate(given.dilation, 1):
        kernels = _spread(kernels, axis, gap)
    _check(given.groups)
    biases = given.biases
    parts = zip(split(given.image, last, given.groups), split(kernels, 0, given.groups), biases, strict=True)
    points = given.sums.zero_points
    totals = (_spread_out(*one, extents, given.stride, before, points) for one in parts)
    results = _finished(totals, given.sums)
    return joined(results, last)


def _spread(kernels: Tensor, axis: int, gap: int) -> Tensor:
    """Kernels with zeros between their elements."""
    data = constant_of(kernels)
    if data is None or gap == 1:
        return spread(kernels, axis, gap)
    if data.size * gap > _MOST_WEIGHTS:
        raise Refused(f"its weights with gaps of {gap} are too many")
    wide = np.zeros(
        (*data.shape[:axis], (data.shape[axis] - 1) * gap + 1, *data.shape[axis + 1 :]), data.dtype
    )
    wide[(slice(None),) * axis + (slice(None, None, gap),)] = data
    return like(kernels, wide)


def _spread_out(
    image: Tensor,
    kernels: Tensor,
    bias: Tensor | None,
    extents: Sequence[int],
    steps: Sequence[int],
    before: Sequence[int],
    points: tuple[Array, ...],
) -> Tensor:
    """A transposed convolution whose result has given extents; kernels come by input channels."""
    if len(extents) == 1:
        result = _spread_out(
            _raised(image), _raised(kernels), bias, (1, *extents), (1, *steps), (0, *before), points
        )
        return reshaped(result, (result.shape[0], *result.shape[2:]))
    kernel = kernels.shape[1:-1]
    sizes = zip(extents, image.shape[1:-1], steps, kernel, before, strict=True)
    behind = [
        wanted - (extent - 1) * step - reach + skipped for wanted, extent, step, reach, skipped in sizes
    ]
    if len(extents) == 2 and all(
        -skipped > -reach and left > -reach
        for skipped, left, reach in zip(before, behind, kernel, strict=True)
    ):
        pads = [one for pair in zip(before, behind, strict=True) for one in (-pair[0], pair[1])]
        weights = transposed(kernels, (3, 1, 2, 0))
        return ops.transpose_conv2d(image, weights, bias, *points, out_pad=pads, stride=steps)
    sums = Sums(points)
    for axis, step in enumerate(steps, 1):
        image = spread(image, axis, step, sums.border)
    ends = zip(before, behind, kernel, strict=True)
    borders = [(reach - 1 - skipped, reach - 1 + left) for skipped, left, reach in ends]
    around = [(0, 0), *((max(one, 0), max(other, 0)) for one, other in borders), (0, 0)]
    image = padded(image, around, sums.border)
    for axis, (one, other) in enumerate(borders, 1):
        start, end = max(-one, 0), max(-other, 0)
        image = part(image, axis, start, image.shape[axis] - start - end)
    places = range(1, kernels.ndim - 1)
    flipped = kernels
    for axis in places:
        flipped = _turned(flipped, axis)
    turned = transposed(flipped, (kernels.ndim - 1, *places, 0))
    ones = (1,) * len(extents)
    whole = Operands(image, turned, bias, 1, ones, ones, sums)
    return _grouped(whole, [Span(0, 0, one) for one in extents])


def _turned(value: Tensor, axis: int) -> Tensor:
    data = constant_of(value)
    return (
        ops.reverse(value, axis=axis)
        if data is None
        else like(value, np.ascontiguousarray(np.flip(data, axis)))
    )
