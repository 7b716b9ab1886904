"""Images in another size."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.dtypes import FP32, INT16, INT32, INT48
from tosajit.frontends.common.images import (
    Sampling,
    bilinear_image,
    blended,
    exactly,
    nearest_image,
    resized,
)
from tosajit.frontends.common.layout import small
from tosajit.frontends.common.scale import multiplier_of, number_like, scaled, wide
from tosajit.frontends.common.tables import saturated
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import ResizeBilinearOptions, ResizeNearestNeighborOptions
from tosajit.frontends.tflite.schema import Type
from tosajit.operators import ResizeMode, RoundingMode
from tosajit.tracing.tensor import Tensor

_UNIT = 1 << 10
"""The places of integers are rounded to parts of this size."""


@operator(
    "RESIZE_NEAREST_NEIGHBOR",
    ResizeNearestNeighborOptions,
    types="float32 float16 int8 uint8 int16 int32",
    versions=4,
)
def resize_nearest_neighbor(node: Node, options: ResizeNearestNeighborOptions) -> Tensor:
    """Images in another size, each element the nearest one."""
    return nearest_image(node[0].tensor, _extents(node), options.align_corners, options.half_pixel_centers)


@operator("RESIZE_BILINEAR", ResizeBilinearOptions, types="float32 int8 uint8 int16", versions=4)
def resize_bilinear(node: Node, options: ResizeBilinearOptions) -> Tensor:
    """Images in another size, each element between four ones."""
    flags = options.align_corners, options.half_pixel_centers
    if all(flags):
        raise Refused("it has both aligned corners and centres at half pixels, which exclude each other")
    extents, value = _extents(node), node[0]
    exact = [exactly(*one, *flags).reduced for one in extents]
    if all(one.identical for one in exact):
        return value.tensor
    if value.type is Type.FLOAT32:
        return bilinear_image(value.tensor, exact)
    if value.type is Type.UINT8:
        return _unsigned(value.tensor, exact)
    return _signed(value.tensor, [_rounded(*one, *flags).reduced for one in extents])


def _extents(node: Node) -> list[tuple[int, int]]:
    """The heights, and the widths, of the images before and after."""
    shape, size = node[0].shape, node[1].ints
    if len(shape) != 4 or len(size) != 2 or min(size) < 1:
        raise Refused(
            f"it makes {list(shape)} {list(size)} large, but must make 4 dimensions 2 extents large"
        )
    if not small(size[:1]) or not small(size[1:]):
        raise Refused(
            f"it makes images {list(size)} large, which are more places than one dimension may have"
        )
    return list(zip(shape[1:3], size, strict=True))


def _rounded(inputs: int, outputs: int, aligned: bool, half: bool) -> Sampling:
    """Where outputs are as TFLite computes it for integers."""
    above, below = (inputs - 1, outputs - 1) if aligned and outputs > 1 else (inputs, outputs)
    step = (_UNIT * above + below // 2) // below
    return Sampling(inputs, outputs, _UNIT, step, step // 2 - _UNIT // 2 if half else 0)


def _unsigned(value: Tensor, samplings: list[Sampling]) -> Tensor:
    """Bytes without sign: TFLite interpolates them in float32, and rounds halves up."""
    parts = samplings[0].numerator * samplings[1].numerator
    if not all(one.allowed for one in samplings):
        real = bilinear_image(ops.cast(value, dtype=FP32), samplings)
        nearest = ops.floor(ops.add(real, np.full((1,) * 4, 0.5, np.float32)))
        return ops.cast(nearest, dtype=value.dtype)
    total = resized(value, samplings, ResizeMode.BILINEAR)
    multiplier, shift = multiplier_of(1 / parts)
    if multiplier * parts < 1 << shift:  # what is a half must not get below it
        multiplier += 1
    moved = ops.add(total, number_like(total, 128 * parts))
    return scaled(moved, [(multiplier, shift)], value.dtype, output_zp=-128)


def _signed(value: Tensor, samplings: list[Sampling]) -> Tensor:
    """Integers: by places that are rounded; halves of the results go away from zero."""
    rows, columns = samplings[0].doubled, samplings[1]
    bits = (rows.numerator * columns.numerator).bit_length() - 1
    fit = value.dtype.bits + bits <= 32
    if not (rows.allowed and columns.allowed):
        if not fit:
            raise Refused("its images of 16 bits become too much smaller")
        total = blended(wide(value), (rows, columns))
    elif not fit and value.dtype is INT16:
        return _wide_signed(value, samplings)
    else:
        total = resized(value, (rows, columns), ResizeMode.BILINEAR)
    if total.dtype is INT48:
        total = scaled(total, [(1 << 14, 14)], INT32)
    # Sums are even, so the first of two roundings, to whole numbers of halves, changes nothing.
    return scaled(total, [(1 << 30, 30 + bits)], value.dtype, rounding=RoundingMode.DOUBLE_ROUND)


def _wide_signed(value: Tensor, samplings: list[Sampling]) -> Tensor:
    """The same where sums need 48 bits: they are rounded once, halves up, and turned round halves down."""
    bits = (samplings[0].numerator * samplings[1].numerator).bit_length() - 1

    def rounded(numbers: Tensor) -> Tensor:
        return scaled(resized(numbers, samplings, ResizeMode.BILINEAR), [(1 << 14, 14 + bits)], INT32)

    up, down = rounded(value), ops.bitwise_not(rounded(ops.bitwise_not(value)))
    zero = number_like(up, 0)
    return saturated(ops.add(ops.maximum(up, zero), ops.minimum(down, zero)))
