"""Sums of products: convolutions, and products of matrices, scaled behind their sums."""

from __future__ import annotations

from math import prod

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16
from tosajit.frontends.common.convolution import Sums
from tosajit.frontends.common.layout import constant_of, like, transposed
from tosajit.frontends.common.matrices import multiplied, weighted
from tosajit.frontends.common.scale import zero_point
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.integers.form import Form
from tosajit.frontends.nnef.integers.node import Node, ending, sums_of
from tosajit.frontends.nnef.integers.rules import rule
from tosajit.frontends.nnef.integers.value import Deferred, Integers
from tosajit.frontends.nnef.operators.convolution import (
    Convolution,
    Transposed,
    Turns,
    convolution,
    deconvolution,
    matrix,
)
from tosajit.frontends.nnef.operators.normalization import Normalization
from tosajit.frontends.nnef.windows import Layout
from tosajit.tracing.tensor import Tensor

_WEIGHTED = ((INT8, INT8), (INT16, INT8))
_MULTIPLIED = ((INT8, INT8), (INT16, INT16))


@rule("nn.conv", Convolution)
def conv(node: Node, options: Convolution, form: Form) -> Tensor:
    """A convolution, whose weights may have a scale for each channel of the result."""
    value, weight = node.computed("input"), node.integers("filter")
    axis = Layout.of(options.filter_format, weight.tensor.ndim - 2).order[0]
    weight, scales = _normalized(weight, weight.form.along(axis) * value.scale, axis, form)
    dtype = sums_of(value, weight, _WEIGHTED)
    bias = node.bias("bias", scales, weight.tensor.shape[axis], dtype, form)
    sums = _sums(value, weight, bias, scales, form, axis)
    return convolution(value.tensor, weight.tensor, bias, options, sums)


@rule("nn.deconv", Transposed)
def deconv(node: Node, options: Transposed, form: Form) -> Tensor:
    """A transposed convolution; groups share the scales of their channels."""
    value, weight = node.computed("input"), node.integers("filter")
    count = value.tensor.ndim - 2
    channels = node.shape("output")[Layout.of(options.data_format, count).order[-1]]
    axis = Layout.of(options.filter_format, count).order[-1]
    each = weight.form.along(axis) * value.scale
    scales = np.resize(each, channels) if each.size > 1 else each
    dtype = sums_of(value, weight, _WEIGHTED)
    bias = node.bias("bias", scales, channels, dtype, form)
    return deconvolution(
        value.tensor, weight.tensor, bias, options, node.shape("output"),
        _sums(value, weight, bias, scales, form, axis),
    )  # fmt: skip


def _normalized(weight: Integers, scales: Array, axis: int, form: Form) -> tuple[Integers, Array]:
    """Weights and the scales of their sums, where these are multiplied by factors; weights take in signs."""
    if not form.factors:
        return weight, scales
    factors = np.array(form.factors)
    if not np.all(np.isfinite(factors) & (factors != 0)):
        raise Refused("a factor of its normalisation is 0, or no number")
    if np.all(factors > 0):
        return weight, scales * factors
    data = constant_of(weight.tensor)
    if data is None or weight.zero_point or data.min() < -127:
        raise Refused(
            "a factor of its normalisation is less than 0, and so would be numbers beyond its weights"
        )
    shape = [-1 if place == axis else 1 for place in range(data.ndim)]
    turned = data * np.sign(factors).astype(data.dtype).reshape(shape)
    return Integers(like(weight.tensor, turned), weight.form), scales * np.abs(factors)


@rule("nn.batch_norm", Normalization)
def batch_norm(node: Node, options: Normalization, form: Form) -> Tensor:
    """A normalisation by constants behind sums of products, which take it in."""
    (value,) = node.tensors("input")
    before = node.values.whole(value)
    if not isinstance(before, Deferred) or before.operation.name not in ("nn.conv", "nn.linear"):
        raise Refused("integers are normalised only where a convolution or linear operator takes that in")
    symbols = before.operation.symbols
    last = str(symbols.get("data_format", "NC")).endswith("C")
    if options.channel_axis % value.rank != (value.rank - 1 if last else 1):
        raise Refused(f"its channels are dimension {options.channel_axis}")
    mean, variance, scale, bias = (_numbers(node, one) for one in ("mean", "variance", "scale", "bias"))
    assert mean is not None
    assert variance is not None
    factors = (1.0 if scale is None else scale) / np.sqrt(variance + options.epsilon)
    more = (0.0 if bias is None else bias) - mean * factors
    return before.at(replace(form, factors=tuple(factors.tolist()), more=tuple(more.tolist()))).tensor


def _numbers(node: Node, name: str) -> Array | None:
    tensors = node.tensors(name)
    if not tensors:
        return None
    found = node.values.known(tensors[0])
    if found is None:
        raise Refused(f"{tensors[0].name} is computed")
    return found.astype(np.float64)


def _points(value: Integers, weight: Integers) -> tuple[Array, Array]:
    return zero_point(value.zero_point, value.dtype), zero_point(weight.zero_point, weight.dtype)


def _sums(value: Integers, weight: Integers, bias: Tensor, scales: Array, form: Form, axis: int) -> Sums:
    """How products are added up; `axis` is the dimension of weights that is left."""
    most = _most(value, weight, bias, axis)

    def finish(total: Tensor, channels: slice) -> Tensor:
        own = scales[channels] if scales.size > 1 else scales
        return ending(total, own / form.scale, most, form)

    return Sums(_points(value, weight), finish)


def _most(value: Integers, weight: Integers, bias: Tensor, axis: int) -> int:
    """How great sums can be, at most."""
    weights, more = constant_of(weight.tensor), constant_of(bias)
    assert more is not None
    farthest = max(abs(one - value.zero_point) for one in value.bounds)
    if weights is None:
        raise Refused("its weights are computed")
    others = tuple(place for place in range(weights.ndim) if place != axis)
    apart = np.abs(weights.astype(np.int16) - np.int16(weight.zero_point))
    total = int(apart.sum(axis=others, dtype=np.int64).max())
    return total * farthest + int(np.abs(more.astype(np.int64)).max())


@rule("nn.linear")
def linear(node: Node, form: Form) -> Tensor:
    """Rows times a matrix of weights, which may have a scale for each of its rows."""
    value, weight = node.computed("input"), node.integers("filter")
    if weight.tensor.value.data is None:
        return _product(node, value, _turned(weight, True), "bias", form)
    weight, scales = _normalized(weight, weight.form.along(0) * value.scale, 0, form)
    bias = node.bias("bias", scales, weight.tensor.shape[0], sums_of(value, weight, _WEIGHTED), form)
    return _weighted(value, Integers(transposed(weight.tensor, (1, 0)), weight.form), bias, scales, form)


def _weighted(value: Integers, weight: Integers, bias: Tensor, scales: Array, form: Form) -> Tensor:
    """Rows times a matrix of constants."""
    sums = _sums(value, weight, bias, scales, form, 1)
    return weighted(
        value.tensor, weight.tensor, bias, sums.zero_points, lambda total: sums.finish(total, slice(None))
    )


@rule("linalg.matmul", Turns)
def matmul(node: Node, options: Turns, form: Form) -> Tensor:
    """The products of matrices."""
    first, second = node.computed("A"), node.integers("B")
    left, right = _turned(first, options.transA), _turned(second, options.transB)
    constant = second.tensor.value.data is not None and second.tensor.ndim == 2
    if constant and (second.dtype is INT8):
        count = right.tensor.shape[1]
        scales = second.form.along(0 if options.transB else 1) * first.scale
        bias = node.bias("C", scales, count, sums_of(left, right, _WEIGHTED), form)
        return _weighted(left, right, bias, scales, form)
    return _product(node, left, right, "C", form)


def _turned(value: Integers, is_turned: bool) -> Integers:
    return Integers(matrix(value.tensor, is_turned), value.form)


def _product(node: Node, left: Integers, right: Integers, bias: str, form: Form) -> Tensor:
    """The products of matrices that are both computed."""
    if node.tensors(bias):
        raise Refused("a bias is added to products of which no operand is a constant")
    dtype = sums_of(left, right, _MULTIPLIED)
    scales = np.array([left.scale * right.scale / form.scale])
    farthest = (max(abs(one - side.zero_point) for one in side.bounds) for side in (left, right))
    most = prod(farthest) * left.tensor.shape[-1]
    points = left.zero_point, right.zero_point
    return multiplied(
        left.tensor, right.tensor, points, lambda total: ending(total, scales, most, form), dtype
    )
