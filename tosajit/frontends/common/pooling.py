"""Pools along any dimensions: these become the rows and columns of images, two at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import inf, prod

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT32
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import constant_of, reshaped, transposed
from tosajit.frontends.common.numbers import is_negative, number, typed
from tosajit.frontends.common.reduce import shape_without, summed
from tosajit.frontends.common.slices import Range, strided
from tosajit.frontends.common.windows import Span, padding
from tosajit.frontends.frame import Refused
from tosajit.operators import DEPTHWISE_CONV2D, RESHAPE, TRANSPOSE
from tosajit.profiles import LEVELS
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor

_MOST = 1 << 22
"""Weights of a sum over windows: few numbers of a model can ask for many."""


@dataclass(frozen=True, slots=True)
class Side:
    """The windows along one dimension."""

    axis: int
    size: int
    stride: int
    dilation: int
    span: Span

    @property
    def is_whole(self) -> bool:
        """Whether windows are single elements, all of them."""
        return (self.size, self.stride, self.span.before, self.span.after) == (1, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class Image:
    """A tensor as images whose height and width are two dimensions of windows."""

    pixels: Tensor
    sides: tuple[Side, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def kernel(self) -> tuple[int, ...]:
        """The size of windows."""
        return tuple(one.size for one in self.sides)

    @property
    def stride(self) -> tuple[int, ...]:
        """The steps between windows."""
        return tuple(one.stride for one in self.sides)

    @property
    def spans(self) -> tuple[Span, ...]:
        """Where windows are."""
        return tuple(one.span for one in self.sides)

    def back(self, pixels: Tensor) -> Tensor:
        """Results in the dimensions of the tensor."""
        extents = [self.shape[place] for place in self.order]
        counts = {one.axis: one.span.count for one in self.sides}
        grown = [counts.get(place, extent) for place, extent in zip(self.order, extents, strict=True)]
        return transposed(reshaped(pixels, grown), [self.order.index(place) for place in range(len(grown))])


def image_of(value: Tensor, sides: Sequence[Side]) -> Image:
    """A tensor as images: its first other dimension is that of batches, the rest are channels."""
    axes = [one.axis for one in sides]
    rest = [place for place in range(value.ndim) if place not in axes]
    order = (*rest[:1], *axes, *rest[1:])
    turned = transposed(value, order)
    extents = [value.shape[place] for place in axes]
    whole = (Side(-1, 1, 1, 1, Span(0, 0, 1)),) * (2 - len(sides))
    batches, channels = (prod(value.shape[place] for place in part) for part in (rest[:1], rest[1:]))
    pixels = reshaped(turned, (batches, *(1,) * len(whole), *extents, channels))
    return Image(pixels, (*whole, *sides), order, value.shape)


def pooled(value: Tensor, sides: Sequence[Side], pool: Callable[[Image], Tensor]) -> Tensor:
    """A pool that can be done along two dimensions after the other."""
    for start in range(0, len(sides), 2):
        image = image_of(value, sides[start : start + 2])
        value = image.back(pool(image))
    return value


def greatest(value: Tensor, sides: Sequence[Side]) -> Tensor:
    """The maximum of each window."""
    value = pooled(value, [one for one in sides if one.dilation == 1], _maximum)
    for side in sides:
        if side.dilation > 1:
            value = _chain(value, side)
    return value


def _maximum(image: Image) -> Tensor:
    pixels, pads = image.pixels, padding(image.spans)
    if any(
        max(span.before, span.after) >= size for span, size in zip(image.spans, image.kernel, strict=True)
    ):
        borders = [(0, 0), *((max(one.before, 0), max(one.after, 0)) for one in image.spans), (0, 0)]
        pixels, pads = padded(pixels, borders, _least(pixels)), (0,) * 4
    return ops.max_pool2d(pixels, kernel=image.kernel, stride=image.stride, pad=pads)


def _chain(value: Tensor, side: Side) -> Tensor:
    """The maximum of windows that have gaps, element by element: of words, as MAXIMUM has no bytes."""
    wide = value if value.dtype.is_float else typed(value, INT32)
    return typed(reduce(ops.maximum, _elements(wide, side, _least(value))), value.dtype)


def _elements(value: Tensor, side: Side, outside: float) -> list[Tensor]:
    """The first elements of all windows along a dimension, then the second ones, and so on."""
    borders = [(0, 0)] * value.ndim
    borders[side.axis] = side.span.before, max(side.span.after, 0)
    whole = padded(value, borders, outside)
    ranges = [Range(0, extent) for extent in whole.shape]
    parts = []
    for place in range(side.size):
        start = place * side.dilation
        ranges[side.axis] = Range(start, start + (side.span.count - 1) * side.stride + 1, side.stride)
        parts.append(strided(whole, ranges))
    return parts


def greatest_and_places(value: Tensor, sides: Sequence[Side]) -> tuple[Tensor, list[Tensor]]:
    """The maximum of each window, and the number of it along each dimension: the first of equal ones."""
    places: list[Tensor] = [
        ops.const(numbered(extent, axis, value.ndim)) for axis, extent in enumerate(value.shape)
    ]
    for side in reversed(sides):
        values = _elements(value, side, _least(value))
        known = [
            _elements(one, side, -1) if one.shape[side.axis] > 1 else [one] * side.size for one in places
        ]
        value, places = values[0], [one[0] for one in known]
        for tap, other in enumerate(values[1:], 1):
            missing = is_negative(places[side.axis])
            better = ops.logical_or(ops.greater(other, value), missing)
            value = ops.select(better, other, value)
            places = [ops.select(better, one[tap], held) for one, held in zip(known, places, strict=True)]
    return value, places


def _least(value: Tensor) -> float:
    """What every number of a type is at least."""
    return -inf if value.dtype.is_float else value.dtype.minimum


def total(value: Tensor, sides: Sequence[Side]) -> Tensor:
    """The sum of each window."""
    return pooled(value, sides, _sum)


def _sum(image: Image) -> Tensor:
    shape = (*image.kernel, image.pixels.shape[-1], 1)
    if prod(shape) > _MOST:
        raise Refused(f"its windows of {list(image.kernel)} elements are too large")
    ones = np.ones(shape, image.pixels.dtype.storage)
    return ops.depthwise_conv2d(
        image.pixels, ones, pad=padding(image.spans), stride=image.stride,
        dilation=tuple(one.dilation for one in image.sides),
    )  # fmt: skip


def mean(value: Tensor, sides: Sequence[Side], counted: Sequence[tuple[int, int]] | None) -> Tensor:
    """The mean of each window; `counted` is how much of the border of each side counts, None is all of it."""
    border = [(0, 0)] * len(sides) if counted is None else counted
    bordered = any(max(one.span.before, one.span.after) > 0 for one in sides)
    unbordered = counted is not None and not any(map(any, border))
    if all(map(is_dense, sides)) and (unbordered or not bordered):
        return pooled(value, sides, _mean)
    sums = total(value, sides)
    if counted is None or not bordered:
        return ops.mul(sums, number(sums, 1 / prod(one.size for one in sides)))
    return ops.mul(sums, (1 / counts_of(value, sides, border)).astype(value.dtype.storage))


def are_images(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether dimensions are the height and the width of images that AVG_POOL2D takes whole."""
    if len(shape) != 4 or tuple(axes) not in ((1, 2), (2, 3)):
        return False
    return all(1 <= shape[axis] <= LEVELS["8K"].MAX_KERNEL for axis in axes)


def whole(shape: Sequence[int], axes: Sequence[int]) -> list[Side]:
    """Dimensions that are one window each."""
    return [Side(axis, shape[axis], 1, 1, Span(0, 0, 1)) for axis in axes]


def means(value: Tensor, axes: Sequence[int], keep: bool) -> Tensor:
    """The mean of real numbers along dimensions."""
    if are_images(value.shape, axes):
        return reshaped(mean(value, whole(value.shape, axes), None), shape_without(value.shape, axes, keep))
    sums = summed(value, axes, keep)
    return ops.mul(sums, number(sums, 1 / prod(value.shape[axis] for axis in axes)))


def averaged(value: Tensor, counts: Array) -> Tensor | None:
    """The means of windows by their sums and how many elements each has; None if they are no such sums."""
    trace = current_trace()
    assert trace is not None
    made = trace.builder.producer(value.name)
    if made is not None and isinstance(made.operator, RESHAPE | TRANSPOSE) and counts.size == 1:
        inner = averaged(Tensor(trace, trace.builder.value(made.inputs[0])), counts)
        if inner is None or isinstance(made.operator, RESHAPE):
            return None if inner is None else reshaped(inner, value.shape)
        return ops.transpose(inner, perms=made.operator.perms)
    if made is None or not isinstance(made.operator, DEPTHWISE_CONV2D):
        return None
    image, kernels, bias = (Tensor(trace, trace.builder.value(name)) for name in made.inputs[:3])
    weights, first = constant_of(kernels), constant_of(bias)
    if weights is None or first is None or (weights != 1).any() or first.any():
        return None
    pads, (height, width, _, many) = made.operator.pad, weights.shape
    if (
        many != 1
        or set(made.operator.dilation) != {1}
        or any(pad >= size for pad, size in zip(pads, (height, height, width, width), strict=True))
    ):
        return None
    sides = [
        Side(axis, size, step, 1, Span(pads[2 * place], pads[2 * place + 1], value.shape[axis]))
        for place, (axis, size, step) in enumerate(
            zip((1, 2), (height, width), made.operator.stride, strict=True)
        )
    ]
    if counts.ndim not in (0, 4) or (counts != counts_of(image, sides, [(0, 0)] * 2)).any():
        return None
    return ops.avg_pool2d(image, kernel=(height, width), stride=made.operator.stride, pad=pads)


def is_dense(side: Side) -> bool:
    """Whether windows are without gaps, and all of them have elements."""
    return side.dilation == 1 and max(side.span.before, side.span.after) < side.size


def counts_of(value: Tensor, sides: Sequence[Side], border: Sequence[tuple[int, int]]) -> Array:
    """How many elements of each window are there, with those of the border that count."""
    counts = np.ones((1,) * value.ndim, np.float32)
    for one, (before, behind) in zip(sides, border, strict=True):
        starts = np.arange(one.span.count)[:, None] * one.stride - one.span.before
        places = starts + np.arange(one.size) * one.dilation
        found = ((places >= -before) & (places < value.shape[one.axis] + behind)).sum(1)
        counts = counts * found.reshape([-1 if place == one.axis else 1 for place in range(value.ndim)])
    return counts.astype(np.float32)


def _mean(image: Image) -> Tensor:
    return ops.avg_pool2d(image.pixels, kernel=image.kernel, stride=image.stride, pad=padding(image.spans))
