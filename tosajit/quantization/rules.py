"""Operators on integers: contractions, sums, pools, and what moves elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, INT48
from tosajit.frontends.common.layout import joined, reshaped
from tosajit.frontends.common.matrices import weighted
from tosajit.frontends.common.quantized import centred
from tosajit.frontends.common.softmax import softmax_bytes, softmax_words
from tosajit.frontends.scaled import Affine, Held, Scaled, Sum
from tosajit.frontends.scaled.affine import point_of
from tosajit.frontends.scaled.sums import Products, products
from tosajit.frontends.scaled.value import Finish
from tosajit.operators.types import ResizeMode
from tosajit.quantization.grids import constant, grid_of, onto, symmetric
from tosajit.quantization.step import Rule, Step
from tosajit.quantization.uses import Softmax
from tosajit.tracing.tensor import Tensor

_MOST = (1 << 31) - 1


def _convolution(operator: Callable[..., Tensor], names: tuple[str, ...], axis: int = 0) -> Rule:
    """A rule for convolutions whose weights are known, with a scale for each channel of the result."""

    def rule(step: Step) -> Scaled | None:
        weights, bias = step.constant("weight"), step.constant("bias")
        if weights is None or bias is None:
            return None
        options = {name: step.attributes[name] for name in names}

        def write(given: Products) -> Tensor:
            kernels = reshaped(given.right, weights.shape)
            total = operator(given.left, kernels, given.bias, *given.sums.zero_points, **options)
            return given.sums.finish(total, slice(None))

        flat = weights.reshape(*weights.shape[:2], -1) if axis else weights
        depth = prod(weights.shape[:axis] if axis else weights.shape[1:])
        known, plain = symmetric(flat, axis if step.to.by_channel else None), step.to.plainly(step)
        return products(step.narrow("input"), known, bias, step.shape, depth, write, plain, channel=axis)

    return rule


def _matmul(step: Step) -> Scaled | None:
    left, right = step.constant("A"), step.constant("B")
    if left is not None and right is not None:
        return None
    if right is not None and right.shape[0] == 1 and step.shape[0] == 1:
        return _by_weights(step, right[0])
    return _product(_factor(step, "A", left), _factor(step, "B", right), step)


def _by_weights(step: Step, weights: Array) -> Scaled | None:
    """Rows times a known matrix, by columns with scales of their own."""

    def write(given: Products) -> Tensor:
        sums = given.sums
        rows = reshaped(given.left, given.left.shape[1:])
        found = weighted(
            rows, given.right, given.bias, sums.zero_points, lambda one: sums.finish(one, slice(None))
        )
        return reshaped(found, step.shape)

    known = symmetric(weights, 1 if step.to.by_channel else None)
    depth = len(weights)
    return products(step.narrow("A"), known, None, step.shape, depth, write, step.to.plainly(step), channel=1)


def _factor(step: Step, operand: str, known: Array | None) -> Held:
    """A matrix as integers."""
    if known is None:
        return step.narrow(operand)
    if step.to.is_wide:
        return constant(known)
    held = symmetric(known, None).held()
    assert held is not None
    return held


def _product(left: Held, right: Held, step: Step) -> Sum | None:
    """Matrices that are both computed."""
    most = left.farthest * right.farthest * left.shape[-1]
    wide = left.dtype is INT16
    if most > (1 << 46 if wide else _MOST):
        return None

    def write(finish: Finish) -> Tensor:
        points = [int(one.zero_point) for one in (left, right)]
        total = ops.matmul(left.tensor, right.tensor, *points, dtype=INT48 if wide else None)
        return finish(total, slice(None))

    return Sum(step.shape, write, np.array([left.scale * right.scale]), most, plain=step.to.plainly(step))


def _reduce_sum(step: Step) -> Scaled | None:
    value, axis = step.held("input"), int(step.attributes["axis"])
    count = value.shape[axis]
    if value.farthest * count > _MOST:
        return None

    def write(finish: Finish) -> Tensor:
        return finish(ops.reduce_sum(centred(value), axis=axis), slice(None))

    return Sum(step.shape, write, np.array([value.scale]), value.farthest * count)


def _resize(step: Step) -> Scaled | None:
    value, options = step.held("input"), step.attributes
    sizes = {name: step.constant(name) for name in ("scale", "offset", "border")}
    if any(one is None for one in sizes.values()):
        return None
    given = {name: tuple(one.tolist()) for name, one in sizes.items() if one is not None}

    if options["mode"] is ResizeMode.NEAREST:
        return value.moved(ops.resize(value.tensor, mode=options["mode"], **given))
    parts = given["scale"][0] * given["scale"][2]
    most = (value.farthest + abs(value.zero_point)) * parts
    if value.dtype is not INT8 or most > _MOST:
        return None

    def write(finish: Finish) -> Tensor:
        return finish(ops.resize(value.tensor, mode=options["mode"], **given), slice(None))

    scales = np.array([value.scale / parts])
    return Sum(step.shape, write, scales, most, has_halves=False, point=value.zero_point * parts)


def _average_pool(step: Step) -> Scaled | None:
    value = step.held("input")
    options = {name: step.attributes[name] for name in ("kernel", "stride", "pad")}
    point = point_of(value.affine)
    return value.moved(ops.avg_pool2d(value.tensor, point, point, **options))


def _moving(step: Step) -> Scaled | None:
    """What only moves elements moves integers as well."""
    value = step.to.held(step.node.inputs[0])
    return value.moved(step.to.again(step, {step.node.inputs[0]: value.tensor}))


def _pad(step: Step) -> Scaled | None:
    value, filled = step.held("input1"), step.constant("pad_const")
    padding = step.constant("padding")
    if filled is None or padding is None:
        return None
    border = value.affine.nearest(filled).astype(value.dtype.storage)
    return value.moved(ops.pad(value.tensor, tuple(padding.tolist()), border))


def _gather(step: Step) -> Scaled | None:
    """Rows of a table, which has its own grid if it is known."""
    known = step.constant("values")
    value = step.held("values") if known is None else _table(known, step)
    indices = step.to.real(step.use.value("indices").name)
    return value.moved(ops.gather(value.tensor, indices))


def _table(known: Array, step: Step) -> Held:
    dtype = step.affine.dtype
    affine = grid_of((float(known.min(initial=0)), float(known.max(initial=0))), dtype)
    name = step.use.value("values").name
    return Held.of(step.to.trace.constant(affine.nearest(known).astype(dtype.storage), dtype, name), affine)


def _concat(step: Step) -> Scaled | None:
    affine, axis = step.affine, int(step.attributes["axis"])
    parts = [onto(step.to.known(one.name), affine) for one in step.use.inputs]
    return Held.of(joined(parts, axis), affine)


def _select(step: Step) -> Scaled | None:
    """One of two tensors, both on the grid of the result."""
    affine = step.affine
    condition = step.to.real(step.use.inputs[0].name)
    chosen = [onto(step.to.known(one.name), affine) for one in step.use.inputs[1:]]
    return Held.of(ops.select(condition, *chosen), affine)


def argmax(step: Step) -> Tensor:
    """The place of the greatest: that of the greatest integer."""
    name = step.use.inputs[0].name
    return step.to.again(step, {name: step.to.held(name).tensor})


def softmax(step: Step, found: Softmax) -> Scaled:
    """Probabilities, as 256ths in bytes and with 15 bits of fraction in words."""
    value = step.to.held(found.value, INT16 if step.to.is_wide else INT8)
    if value.dtype is INT16:
        return Held.of(
            softmax_words(value.tensor, found.axis, value.scale), Affine(INT16, 2.0**-15, 0, (0, 32767))
        )
    bytes_ = softmax_bytes(value.tensor, found.axis, value.scale, INT8)
    return Held.of(bytes_, Affine(INT8, 1 / 256, -128, (-128, 127)))


_CONVOLVED = ("pad", "stride", "dilation")
_MOVED = "RESHAPE TRANSPOSE SLICE TILE REVERSE IDENTITY MAX_POOL2D REDUCE_MAX REDUCE_MIN"

RULES: dict[str, Rule] = {
    "CONV2D": _convolution(ops.conv2d, _CONVOLVED),
    "CONV3D": _convolution(ops.conv3d, _CONVOLVED),
    "DEPTHWISE_CONV2D": _convolution(ops.depthwise_conv2d, _CONVOLVED, axis=2),
    "TRANSPOSE_CONV2D": _convolution(ops.transpose_conv2d, ("out_pad", "stride")),
    "MATMUL": _matmul,
    "REDUCE_SUM": _reduce_sum,
    "RESIZE": _resize,
    "AVG_POOL2D": _average_pool,
    "PAD": _pad,
    "GATHER": _gather,
    "CONCAT": _concat,
    "SELECT": _select,
    **dict.fromkeys(_MOVED.split(), _moving),
}
