"""Convolutions and products of matrices whose operands are known by integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import INT16
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.common.matrices import multiplied, weighted
from tosajit.frontends.onnx.node import Operand
from tosajit.frontends.onnx.operators.convolution import (
    ConvAttributes,
    TransposeAttributes,
    convolution,
    each,
    transposed_convolution,
)
from tosajit.frontends.onnx.operators.matrices import GemmAttributes
from tosajit.frontends.scaled import Held, Scaled, Sum, Weights
from tosajit.frontends.scaled.sums import Products, products
from tosajit.tracing.tensor import Tensor

Plain = Callable[[], Tensor]


def bias_of(value: Operand | None) -> tuple[bool, Weights | Array | None]:
    """Whether a bias is known, and what it is, if there is one."""
    if value is None:
        return True, None
    if not value.is_constant:
        return False, None
    return True, value.value if isinstance(value.value, Weights) else value.raw


def convolved(
    image: Scaled, kernels: Scaled, bias: Weights | Array | None, options: ConvAttributes, plain: Plain | None
) -> Sum | None:
    """A convolution of images whose channels are first."""
    rank = len(image.shape)
    if not 3 <= rank <= 5 or len(kernels.shape) != rank:
        return None
    counts = [one.count for one in options.spans(image.shape[2:], kernels.shape[2:])]

    def write(given: Products) -> Tensor:
        left, inner = _bordered(given.left, image, options, kernels.shape[2:])
        return convolution(left, given.right, given.bias, inner, given.sums)

    shape = (image.shape[0], kernels.shape[0], *counts)
    return products(image, kernels, bias, shape, prod(kernels.shape[1:]), write, plain, is_bordered=True)


def _bordered(
    value: Tensor, image: Scaled, options: ConvAttributes, kernel: Sequence[int]
) -> tuple[Tensor, ConvAttributes]:
    """Images of 16 bits with their zero point around them: TOSA has zeros there."""
    if not isinstance(image, Held) or image.dtype is not INT16 or not image.zero_point:
        return value, options
    borders = options.borders(value.shape[2:], kernel)
    whole = padded(value, [(0, 0), (0, 0), *borders], image.zero_point)
    return whole, replace(options, auto_pad="NOTSET", pads=None)


def spread(
    image: Scaled,
    kernels: Scaled,
    bias: Weights | Array | None,
    options: TransposeAttributes,
    plain: Plain | None,
) -> Sum | None:
    """A transposed convolution."""
    count = len(image.shape) - 2
    if not 1 <= count <= 3 or len(kernels.shape) != count + 2:
        return None
    if options.group != 1 and isinstance(kernels, Weights) and kernels.scales.size > 1:
        return None
    steps, gaps = each(options.strides, count), each(options.dilations, count)
    reaches = [(size - 1) * gap + 1 for size, gap in zip(kernels.shape[2:], gaps, strict=True)]
    extents, _ = options.extents(image.shape[2:], steps, reaches)

    def write(given: Products) -> Tensor:
        return transposed_convolution(given.left, given.right, given.bias, options, given.sums)

    depth = kernels.shape[0] * prod(kernels.shape[2:]) // max(options.group, 1)
    shape = (image.shape[0], kernels.shape[1] * options.group, *extents)
    return products(image, kernels, bias, shape, depth, write, plain, channel=1)


def matrices(left: Scaled, right: Scaled, plain: Plain | None) -> Sum | None:
    """Products of matrices as NumPy has them."""
    if len(left.shape) < 2 or len(right.shape) < 2 or left.shape[-1] != right.shape[-2]:
        return None
    shared = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    is_weighted = isinstance(right, Weights) and len(right.shape) == 2

    def write(given: Products) -> Tensor:
        return _product(given) if is_weighted else _batched(given)

    shape = (*shared, left.shape[-2], right.shape[-1])
    return products(left, right, None, shape, left.shape[-1], write, plain, channel=-1, is_bordered=True)


def _product(given: Products) -> Tensor:
    sums = given.sums
    return weighted(
        given.left, given.right, given.bias, sums.zero_points, lambda total: sums.finish(total, slice(None))
    )


def _batched(given: Products) -> Tensor:
    sums = given.sums
    points = [int(one[0]) for one in sums.zero_points]
    return multiplied(given.left, given.right, points, lambda total: sums.finish(total, slice(None)))


def gemm(
    left: Scaled, right: Scaled, bias: Weights | Array | None, options: GemmAttributes, plain: Plain | None
) -> Sum | None:
    """The product of two matrices, with a bias for each column."""
    row = bias.shape if bias is not None else ()
    if len(left.shape) != 2 or len(right.shape) != 2 or options.transA or options.alpha != 1:
        return None
    count, depth = right.shape if options.transB else right.shape[::-1]
    fits = prod(row) == 1 or row in ((count,), (1, count))
    if left.shape[1] != depth or (bias is not None and (options.beta != 1 or not fits)):
        return None

    def write(given: Products) -> Tensor:
        turned = transposed(given.right, (1, 0)) if options.transB else given.right
        own = None if given.bias is None else reshaped(given.bias, (-1,))
        return _product(replace(given, right=turned, bias=own))

    channel = 0 if options.transB else 1
    return products(left, right, bias, (left.shape[0], count), depth, write, plain, channel, is_bordered=True)
