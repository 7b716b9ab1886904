"""Convolutions in all layouts, and of all that JAX takes for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.dtypes import INT8
from tosajit.frontends.common.borders import bordered, spread
from tosajit.frontends.common.convolution import REAL as REAL_SUMS
from tosajit.frontends.common.convolution import Operands, Sums, convolved, transposed_convolved
from tosajit.frontends.common.layout import constant_of, joined, like, reshaped, split, transposed
from tosajit.frontends.common.numbers import typed
from tosajit.frontends.common.windows import Span, inside
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import low_bits
from tosajit.frontends.jax.node import Node, dtype_of
from tosajit.frontends.jax.operators import REAL, operator
from tosajit.tracing.tensor import Tensor

_MOST_GROUPS = 64


@dataclass(frozen=True, slots=True)
class ConvolutionAttributes(Attributes):
    """Steps, borders, gaps between elements and between weights, layouts and groups."""

    window_strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    dimension_numbers: Mapping[str, tuple[int, ...]]
    feature_group_count: int = 1
    batch_group_count: int = 1


@operator("conv_general_dilated", ConvolutionAttributes, types=f"{REAL} int8")
def conv_general_dilated(node: Node, options: ConvolutionAttributes) -> Tensor:
    """A convolution of one to three dimensions, by groups of channels or of images."""
    image, kernels = _ordered(node, options)
    groups = options.batch_group_count
    if groups > _MOST_GROUPS:
        raise Refused(f"it has {groups} groups of images, of which TOSA knows nothing")
    pairs = zip(split(image, 0, groups), split(kernels, 0, groups), strict=True)
    each = [_convolved(one, other, options) for one, other in pairs]
    found = joined(each, image.ndim - 1)
    batch, channels, *extents = options.dimension_numbers["out_spec"]
    places = [batch, *extents, channels]
    if not extents:
        found = reshaped(found, (found.shape[0], found.shape[2]))
    found = transposed(found, [places.index(axis) for axis in range(found.ndim)])
    dtype = dtype_of(node.kind)
    return typed(found if dtype.is_float else low_bits(found, node.kind), dtype)


def _ordered(node: Node, options: ConvolutionAttributes) -> tuple[Tensor, Tensor]:
    """The image with channels last, and kernels by output channels, windows, input channels."""
    image, kernels = node.tensors
    dtype = dtype_of(node.kind)
    if dtype.is_float:
        image, kernels = typed(image, dtype), typed(kernels, dtype)
    elif image.dtype is not INT8 or kernels.dtype is not INT8:
        raise Refused(f"TOSA has no convolution of {node[0].type.label}", "use int8 or floating point")
    first, second, *places = options.dimension_numbers["lhs_spec"]
    outward, inward, *windows = options.dimension_numbers["rhs_spec"]
    image = transposed(image, (first, *places, second))
    kernels = transposed(kernels, (outward, *windows, inward))
    return (image, kernels) if places else (_raised(image), _raised(kernels))


def _raised(value: Tensor) -> Tensor:
    """Channels alone as a line of one element."""
    return reshaped(value, (value.shape[0], 1, value.shape[1]))


def _convolved(image: Tensor, kernels: Tensor, options: ConvolutionAttributes) -> Tensor:
    sums = REAL_SUMS if image.dtype.is_float else Sums((np.zeros(1, np.int8),) * 2)
    rank = image.ndim - 2
    ones, no_border = (1,) * rank, ((0, 0),) * rank
    given = Operands(
        image, kernels, None, options.feature_group_count, options.window_strides or ones,
        options.rhs_dilation or ones, sums,
    )  # fmt: skip
    padding, gaps = options.padding or no_border, options.lhs_dilation or ones
    if any(gap > 1 for gap in gaps):
        if given.groups == 1 and set(given.stride) == {1} and image.dtype.is_float:
            return _transposed(given, gaps, padding)
        for axis, gap in enumerate(gaps, 1):
            image = spread(image, axis, gap)
    cut = [(min(low, 0), min(high, 0)) for low, high in padding]
    image = bordered(image, [(0, 0), *cut, (0, 0)])
    sides = zip(image.shape[1:-1], kernels.shape[1:-1], given.stride, given.dilation, padding, strict=True)
    found = [
        Span.within(extent, size, step, gap, (max(low, 0), max(high, 0)))
        for extent, size, step, gap, (low, high) in sides
    ]
    if any(one.count < 1 for one in found):
        raise Refused("its windows do not fit into the image, so that its result has no elements")
    image, kept = inside(image, found, 1)
    return convolved(replace(given, image=image), kept)


def _transposed(given: Operands, gaps: Sequence[int], padding: Sequence[tuple[int, int]]) -> Tensor:
    """A convolution of what has zeros between its elements: a transposed one, whose kernels are turned."""
    kernels = given.kernels
    for axis in range(1, kernels.ndim - 1):
        kernels = _flipped(kernels, axis)
    reaches = [(size - 1) * gap for size, gap in zip(kernels.shape[1:-1], given.dilation, strict=True)]
    before = [reach - low for reach, (low, _) in zip(reaches, padding, strict=True)]
    sides = zip(given.image.shape[1:-1], gaps, padding, reaches, strict=True)
    extents = [(extent - 1) * step + 1 + low + high - reach for extent, step, (low, high), reach in sides]
    last = kernels.ndim - 1
    inward = transposed(kernels, (last, *range(1, last), 0))
    turned = replace(given, kernels=inward, stride=tuple(gaps))
    return transposed_convolved(turned, extents, before)


def _flipped(value: Tensor, axis: int) -> Tensor:
    data = constant_of(value)
    if data is not None:
        return like(value, np.ascontiguousarray(np.flip(data, axis)))
    return ops.reverse(value, axis=axis) if value.shape[axis] > 1 else value
