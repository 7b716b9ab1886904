"""Sums and means, of windows and along dimensions."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT8
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.pooling import Image, Side, is_dense, pooled
from tosajit.frontends.common.quantized import centred
from tosajit.frontends.common.reduce import axes_of, place_of_greatest, reduced
from tosajit.frontends.common.scale import zero_point
from tosajit.frontends.common.windows import padding
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.integers.form import Form
from tosajit.frontends.nnef.integers.node import Node, ending
from tosajit.frontends.nnef.integers.rules import rule
from tosajit.frontends.nnef.integers.value import Integers
from tosajit.frontends.nnef.operators.pooling import Average, Pool, sides_of
from tosajit.frontends.nnef.operators.reduction import Axes, Axis
from tosajit.tracing.tensor import Tensor

_MOST = 1 << 22
"""Weights of a sum over windows: few numbers of a text can ask for many."""


@rule("nn.avg_pool", Average)
def avg_pool(node: Node, options: Average, form: Form) -> Tensor:
    """The mean of each window; the sum over their number, where the result has another scale."""
    value = node.computed("input")
    tensor, sides = sides_of(value.tensor, options)
    bordered = any(max(one.span.before, one.span.after) > 0 for one in sides)
    same = (value.scale, value.zero_point) == (form.scale, form.zero_point)
    counted = bordered and not options.ignore_border
    if all(map(is_dense, sides)) and not counted and (same or bordered):
        return Integers(pooled(tensor, sides, _mean(value)), value.form).at(form).tensor
    if bordered and not counted:
        raise Refused("its windows have gaps, and what is outside does not count")
    return _summed(Integers(tensor, value.form), sides, 1 / prod(one.size for one in sides), form)


def _mean(value: Integers) -> Callable[[Image], Tensor]:
    point = zero_point(value.zero_point, value.dtype)

    def mean(image: Image) -> Tensor:
        return ops.avg_pool2d(
            image.pixels, point, point,
            kernel=image.kernel, stride=image.stride, pad=padding(image.spans),
        )  # fmt: skip

    return mean


@rule("nn.sum_pool", Pool)
def sum_pool(node: Node, options: Pool, form: Form) -> Tensor:
    """The sum of each window."""
    value = node.computed("input")
    tensor, sides = sides_of(value.tensor, options)
    return _summed(Integers(tensor, value.form), sides, 1.0, form)


def _summed(value: Integers, sides: list[Side], factor: float, form: Form) -> Tensor:
    """Sums of windows times a factor: as a convolution of each channel with ones."""
    if len(sides) > 2:
        raise Refused(f"its windows have {len(sides)} dimensions, but TOSA's have 2")
    points = zero_point(value.zero_point, value.dtype), zero_point(0, INT8)

    def total(image: Image) -> Tensor:
        shape = (*image.kernel, image.pixels.shape[-1], 1)
        if prod(shape) > _MOST:
            raise Refused(f"its windows of {list(image.kernel)} elements are too large")
        found = ops.depthwise_conv2d(
            image.pixels, np.ones(shape, np.int8), None, *points,
            pad=padding(image.spans), stride=image.stride,
            dilation=tuple(one.dilation for one in image.sides),
        )  # fmt: skip
        most = prod(image.kernel) * max(abs(one - value.zero_point) for one in value.bounds)
        return ending(found, np.array([value.scale * factor / form.scale]), most, form)

    return pooled(value.tensor, sides, total)


@rule("math.argmax", Axis, plain=True)
def argmax(node: Node, options: Axis) -> Tensor:
    """Where the greatest element is: integers are in the same order."""
    value = node.computed("input")
    (axis,) = axes_of([options.axis], value.tensor.ndim)
    return reshaped(place_of_greatest(value.tensor, axis), node.extents)


@rule("math.sum_reduce", Axes)
def sum_reduce(node: Node, options: Axes, form: Form) -> Tensor:
    """The sum of elements."""
    return _reduced(node, options, form, mean=False)


@rule("math.mean_reduce", Axes)
def mean_reduce(node: Node, options: Axes, form: Form) -> Tensor:
    """The mean of elements."""
    return _reduced(node, options, form, mean=True)


def _reduced(node: Node, options: Axes, form: Form, *, mean: bool) -> Tensor:
    value = node.computed("input")
    axes = axes_of(options.axes, value.tensor.ndim)
    count = prod(value.tensor.shape[axis] for axis in axes)
    most = count * max(abs(one - value.zero_point) for one in value.bounds)
    if most >= 1 << 31:
        raise Refused(f"it adds up {count} numbers of {value.dtype.bits} bits, and sums have 32")
    total = reduced(
        lambda one, axis: ops.reduce_sum(one, axis=axis), centred(value), axes, not options.squeeze
    )
    scale = value.scale / form.scale / (count if mean else 1)
    return ending(total, np.array([scale]), most, form)
