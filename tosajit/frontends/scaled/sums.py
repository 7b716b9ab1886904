"""Products and sums of numbers that are known by integers: sums in 32 bits, which the next grid scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm, prod
from typing import TypeAlias

import numpy as np

from tiling.records import dataclass, replace
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, INT32, INT48
from tosajit.frontends.common import quantized
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.convolution import Sums
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.pooling import (
    Image,
    Side,
    are_images,
    counts_of,
    image_of,
    is_dense,
    whole,
)
from tosajit.frontends.common.reduce import reduced, shape_without
from tosajit.frontends.common.sampling import Resampling, interpolated
from tosajit.frontends.common.windows import padding
from tosajit.frontends.scaled.affine import Affine, point_of
from tosajit.frontends.scaled.value import Finish, Held, Scaled, Sum, Weights
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor

Shape: TypeAlias = tuple[int, ...]
_MOST = (1 << 31) - 1
_MOST_BIAS = 1 << 30
_MOST_WEIGHTS = 1 << 22
_FEW_BITS = 12
"""Of a scale whose products with bytes leave room for sums in the 24 bits of float32."""


@dataclass(frozen=True, slots=True)
class Products:
    """The operands of sums of products in TOSA's types, as the layout of a source has them."""

    left: Tensor
    right: Tensor
    bias: Tensor | None
    sums: Sums


def products(
    left: Scaled,
    right: Scaled | None,
    bias: Weights | Array | None,
    shape: Shape,
    depth: int,
    write: Callable[[Products], Tensor],
    plain: Callable[[], Tensor] | None = None,
    channel: int = 0,
    is_bordered: bool = False,
) -> Sum | None:
    """Sums of `depth` products of two tensors; None where integers cannot say them.

    `write` writes them by operands, whose `sums` say what becomes of totals, and `plain` as floating point.
    `channel` is the dimension of weights whose indices may have scales of their own. TOSA has no zero point
    for 16 bits: if `is_bordered`, `write` puts it around the left operand, and what it adds is in the bias.
    """
    found = bytes_of(right, channel) if isinstance(right, Weights) else None
    held = right if isinstance(right, Held) else None if found is None else found[0]
    if (
        not isinstance(left, Held)
        or held is None
        or not _multiplied(left, held, is_bordered and found is not None)
    ):
        return None
    scales = float(left.scale) * (np.array([held.scale]) if found is None else found[1])
    terms = _bias(bias, scales)
    if (terms is not None or bias is None) and left.dtype is INT16 and left.zero_point:
        assert isinstance(right, Weights)
        terms = _of_point(left, right, channel) + (0 if terms is None else terms)
    most = depth * left.farthest * held.farthest + (0 if terms is None else int(np.abs(terms).max()))
    wide = left.dtype is INT16
    if (bias is not None and terms is None) or (plain is None if wide else most > _MOST):
        return None
    point = point_of(left.affine) if left.dtype is INT8 else np.zeros(1, left.dtype.storage)
    points = point, point_of(held.affine)

    def written(finish: Finish) -> Tensor:
        trace = current_trace()
        assert trace is not None
        total_type = INT48 if wide else INT32
        own = None if terms is None else trace.constant(terms.astype(total_type.storage), total_type)
        return write(Products(left.tensor, held.tensor, own, Sums(points, finish)))

    most, other = (most, plain) if wide else (min(most, _MOST), None)
    has_halves = any(map(_has_few_bits, scales))
    return Sum(shape, written, scales, most, plain=other, has_halves=has_halves)


def _of_point(left: Held, right: Weights, channel: int) -> Array:
    """What the zero point adds to the sums of each channel, with the opposite sign."""
    axis = channel % right.integers.ndim
    row = [-1 if place == right.axis else 1 for place in range(right.integers.ndim)]
    points = right.zero_points.astype(np.int64)
    centred = right.integers.astype(np.int64) - (points if points.size == 1 else points.reshape(row))
    others = tuple(place for place in range(centred.ndim) if place != axis)
    found: Array = -left.zero_point * centred.sum(others)
    return found


def _multiplied(left: Held, right: Held, is_known: bool) -> bool:
    """Whether TOSA multiplies integers of such types with such zero points."""
    if left.dtype is INT16:
        return (left.zero_point == 0 or is_known) and right.dtype is INT8
    return left.dtype is INT8 and right.dtype is INT8


def bytes_of(given: Weights, channel: int) -> tuple[Held, Array] | None:
    """Weights as bytes, and their scales: zero points are taken from them where bytes are enough for that."""
    is_single = given.scales.size == 1
    if not is_single and given.axis != channel % given.integers.ndim:
        return None
    row = [-1 if place == given.axis else 1 for place in range(given.integers.ndim)]
    points = given.zero_points.astype(np.int64)
    points = points if points.size == 1 else points.reshape(row)
    numbers = given.integers.astype(np.int64)
    centred = numbers - points
    if not centred.size:
        return None
    point = 0
    if centred.min() < -128 or centred.max() > 127:
        offset = 128 if numbers.max() > 127 else 0
        if points.size != 1 or numbers.min() - offset < -128 or numbers.max() - offset > 127:
            return None
        centred, point = numbers - offset, int(points.item()) - offset
        if not -128 <= point <= 127:
            return None
    trace = current_trace()
    assert trace is not None
    bounds = int(centred.min()), int(centred.max())
    affine = Affine(INT8, float(given.scales.reshape(-1)[0]), point, bounds)
    held = Held.of(
        trace.constant(centred.reshape(given.integers.shape).astype(np.int8), INT8, given.name), affine
    )
    return held, given.scales.astype(np.float64).reshape(-1)


def _bias(given: Weights | Array | None, scales: Array) -> Array | None:
    """A bias in steps of the sums."""
    if given is None:
        return None
    if isinstance(given, Weights):
        same = given.scales.size in (1, scales.size) and np.allclose(given.scales, scales, rtol=1e-6, atol=0)
        if same and not given.zero_points.any() and given.integers.dtype.kind in "iu":
            found: Array = given.integers.astype(np.int64).reshape(-1)
            return found if np.abs(found).max(initial=0) <= _MOST_BIAS else None
        given = given.reals
    with np.errstate(all="ignore"):
        steps = np.rint(given.astype(np.float64).reshape(-1) / scales)
    if not np.isfinite(steps).all() or np.abs(steps).max(initial=0) > _MOST_BIAS or not steps.size:
        return None
    return steps.astype(np.int64)


def added(
    first: Scaled, second: Scaled, shape: Shape, plain: Callable[[], Tensor], is_less: bool = False
) -> Sum | None:
    """The sum, or the difference, of two tensors, whose integers are moved up before they are scaled."""
    terms = _terms(first, second)
    if terms is None or not all(0 < one.scale < np.inf for one in terms):
        return None
    bits = 15 if INT16 in (terms[0].dtype, terms[1].dtype) else 22
    unit = 2.0 * max(one.scale for one in terms)

    def write(finish: Finish) -> Tensor:
        whole = aligned(*(quantized.raised(one, one.scale / unit, bits) for one in terms))
        return finish((ops.sub if is_less else ops.add)(*whole), slice(None))

    factors = [one.scale / unit * 2**bits for one in terms]
    most = sum(int(one.farthest * factor) + 1 for one, factor in zip(terms, factors, strict=True))
    exact = all(factor.is_integer() for factor in factors)
    scales = np.array([unit / (1 << bits)])
    return Sum(shape, write, scales, min(most, _MOST), plain=plain, has_halves=exact)


def multiplied(first: Scaled, second: Scaled, shape: Shape) -> Sum | None:
    """The products of the elements of two tensors."""
    terms = _terms(first, second)
    if terms is None or terms[0].farthest * terms[1].farthest > _MOST:
        return None
    left, right = terms

    def write(finish: Finish) -> Tensor:
        return finish(ops.mul(*aligned(quantized.centred(left), quantized.centred(right))), slice(None))

    return Sum(shape, write, np.array([left.scale * right.scale]), left.farthest * right.farthest)


def _terms(first: Scaled, second: Scaled) -> tuple[Held, Held] | None:
    """Both operands as integers of 8 or 16 bits that RESCALE takes."""
    found = [one.held() if isinstance(one, Weights) else one for one in (first, second)]
    held = [one for one in found if isinstance(one, Held)]
    if len(held) != 2 or not all(map(_is_rescaled, held)):
        return None
    return held[0], held[1]


def _is_rescaled(one: Held) -> bool:
    """Whether RESCALE takes integers with their zero point."""
    return one.dtype is INT8 or (one.dtype is INT16 and not one.zero_point)


def plus(total: Scaled, terms: Array) -> Sum | None:
    """Sums more by known numbers of channels, or one for all."""
    if not isinstance(total, Sum) or total.is_clipped or total.depth:
        return None
    row = terms.reshape(-1)
    if terms.size not in (1, terms.shape[-1] if terms.ndim else 1) or terms.ndim > len(total.shape):
        return None
    if row.size not in (1, total.shape[-1]):
        return None
    steps = _bias(np.broadcast_to(row, max(row.size, total.scales.size)), total.scales)
    if steps is None or total.plain is not None:
        return None
    most = total.most + int(np.abs(steps).max())
    if most > _MOST:
        return None

    def write(finish: Finish) -> Tensor:
        def more(found: Tensor, channels: slice) -> Tensor:
            some = steps if steps.size == 1 else steps[channels]
            shape = (*(1,) * (found.ndim - 1), -1)
            return finish(ops.add(found, some.astype(np.int32).reshape(shape)), channels)

        return total.write(more)

    return replace(total, write=write, most=most, deep=1)


def averaged(value: Scaled, sides: Sequence[Side], counts: Array, shape: Shape) -> Sum | None:
    """The means of windows along up to two dimensions; `counts` says how many elements each has."""
    if not isinstance(value, Held) or value.dtype is not INT8 or not 1 <= len(sides) <= 2 or not counts.all():
        return None
    size, axes = prod(one.size for one in sides), [one.axis for one in sides]
    channels = prod(extent for place, extent in enumerate(value.shape) if place not in axes)
    parts = lcm(*(int(one) for one in np.unique(counts)))
    if parts * size * value.farthest > _MOST or size * channels > _MOST_WEIGHTS:
        return None
    factors = (parts // counts.astype(np.int64)).astype(np.int32)

    def write(finish: Finish) -> Tensor:
        image = image_of(value.tensor, sides)
        total = _windows(image, value.affine)
        if np.all(factors == 1):
            return image.back(finish(total, slice(None)))
        return finish(ops.mul(image.back(total), factors), slice(None))

    scales, most = np.array([value.scale / parts]), size * parts * value.farthest
    return Sum(shape, write, scales, most, direct=_pool(value, sides, counts))


def _pool(value: Held, sides: Sequence[Side], counts: Array) -> tuple[Affine, Callable[[], Tensor]] | None:
    """Means on the grid of what they are of, by AVG_POOL2D, which rounds halves away from zero.

    None where a source has such halves, and rounds them to even.
    """
    is_even = any(int(one) % 2 == 0 for one in np.unique(counts))
    if not all(map(is_dense, sides)) or (is_even and _has_few_bits(value.scale)):
        return None
    if (counts != counts_of(value.tensor, sides, [(0, 0)] * len(sides))).any():
        return None

    def pool() -> Tensor:
        image, point = image_of(value.tensor, sides), point_of(value.affine)
        return image.back(
            ops.avg_pool2d(
                image.pixels, point, point, kernel=image.kernel, stride=image.stride, pad=padding(image.spans)
            )
        )

    return value.affine, pool


def _has_few_bits(scale: float) -> bool:
    """Whether integers times a scale are exact in float32, as a source computes them.

    Otherwise a source comes near the halves of a grid, on one side or the other.
    """
    odd, _ = np.frexp(np.float32(scale))
    return float(odd * 2.0**_FEW_BITS).is_integer()


def _windows(image: Image, affine: Affine) -> Tensor:
    """The sum of each window of bytes, less their zero point."""
    ones = np.ones((*image.kernel, image.pixels.shape[-1], 1), np.int8)
    return ops.depthwise_conv2d(
        image.pixels, ones, None, point_of(affine), np.zeros(1, np.int8),
        pad=padding(image.spans), stride=image.stride, dilation=tuple(one.dilation for one in image.sides),
    )  # fmt: skip


def between(value: Scaled, sides: Sequence[Resampling], shape: Shape) -> Sum | None:
    """Elements between bytes along up to two dimensions; a model in float32 may miss their halves."""
    places = [(one.axis, sampling) for one in sides if (sampling := one.resizable) is not None]
    if not isinstance(value, Held) or value.dtype is not INT8 or not len(places) == len(sides) <= 2:
        return None
    parts = prod(sampling.numerator for _, sampling in places)
    if parts * 255 > _MOST:
        return None

    def write(finish: Finish) -> Tensor:
        return finish(interpolated(value.tensor, places), slice(None))

    scales, most = np.array([value.scale / parts]), max(value.farthest, 128) * parts
    return Sum(shape, write, scales, most, has_halves=False, point=value.zero_point * parts)


def totalled(value: Scaled, axes: Sequence[int], keep: bool, is_mean: bool) -> Sum | None:
    """The sums or means along dimensions."""
    count = prod(value.shape[axis] for axis in axes)
    if not isinstance(value, Held) or value.dtype is not INT8 or value.farthest * count > _MOST:
        return None
    shape = shape_without(value.shape, axes, keep)

    def write(finish: Finish) -> Tensor:
        wide = quantized.centred(value)
        total = reduced(lambda one, axis: ops.reduce_sum(one, axis=axis), wide, axes, keep)
        return finish(total, slice(None))

    scales = np.array([value.scale / (count if is_mean else 1)])
    direct = None
    if is_mean and are_images(value.shape, axes):
        pool = _pool(value, whole(value.shape, axes), np.full((1,) * len(value.shape), count))
        direct = pool and (pool[0], lambda: reshaped(pool[1](), shape))
    return Sum(shape, write, scales, value.farthest * count, direct=direct)


def widened(value: Held) -> Sum | None:
    """Integers of 16 bits as sums of themselves."""
    if value.dtype is not INT16:
        return None

    def write(finish: Finish) -> Tensor:
        wide = ops.cast(value.tensor, dtype=INT32)
        return finish(
            ops.sub(wide, number(wide, value.zero_point)) if value.zero_point else wide, slice(None)
        )

    return Sum(value.shape, write, np.array([value.scale]), value.farthest)
