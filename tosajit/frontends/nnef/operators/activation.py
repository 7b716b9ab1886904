"""Activations (NNEF 2.0 section 4.4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, pi, sqrt

from tosajit import ops
from tosajit.frontends.common.functions import soft_plus
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.numbers import is_negative, number
from tosajit.frontends.nnef.node import Attributes, Node
from tosajit.frontends.nnef.operators import operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Rectifier(Attributes):
    """The factor of negative numbers, and the greatest number."""

    alpha: float | None
    max: float | None


@operator("nn.relu", Rectifier)
def relu(node: Node, options: Rectifier) -> Tensor:
    """Elements from 0 on, others as 0 or times a factor."""
    value, most = node["x"], inf if options.max is None else options.max
    if options.alpha is None:
        return ops.clamp(value, min_val=0.0, max_val=most)
    below = ops.mul(value, number(value, options.alpha))
    return ops.maximum(value if most == inf else ops.minimum(value, number(value, most)), below)


@dataclass(frozen=True, slots=True)
class Channels(Attributes):
    """The dimension of the channels."""

    axis: int


@operator("nn.prelu", Channels)
def prelu(node: Node, options: Channels) -> Tensor:
    """Elements from 0 on, others times a factor for each channel."""
    value = node["x"]
    axis = options.axis % value.ndim
    shape = [extent if place == axis else 1 for place, extent in enumerate(value.shape)]
    return ops.select(is_negative(value), ops.mul(value, reshaped(node["alpha"], shape)), value)


@dataclass(frozen=True, slots=True)
class Threshold(Attributes):
    """What elements have to be greater than."""

    theta: float


@operator("nn.thresholded_relu", Threshold)
def thresholded_relu(node: Node, options: Threshold) -> Tensor:
    """Elements greater than a number, others as 0."""
    value = node["x"]
    return ops.select(ops.greater(value, number(value, options.theta)), value, number(value, 0))


@dataclass(frozen=True, slots=True)
class Exponential(Attributes):
    """The factor of negative ones."""

    alpha: float


@operator("nn.elu", Exponential)
def elu(node: Node, options: Exponential) -> Tensor:
    """Elements from 0 on, others as their exponential less one, times a factor."""
    return _exponential(node["x"], options.alpha)


@dataclass(frozen=True, slots=True)
class Scaled(Exponential):
    """The factor of all."""

    lambda_: float


@operator("nn.selu", Scaled)
def selu(node: Node, options: Scaled) -> Tensor:
    """Elements from 0 on, others as their exponential less one, times factors."""
    found = _exponential(node["x"], options.alpha)
    return ops.mul(found, number(found, options.lambda_))


def _exponential(value: Tensor, alpha: float) -> Tensor:
    below = ops.mul(ops.sub(ops.exp(value), number(value, 1)), number(value, alpha))
    return ops.select(is_negative(value), below, value)


@dataclass(frozen=True, slots=True)
class Approximation(Attributes):
    """Which function stands for that of the normal distribution."""

    approximate: str | None


@operator("nn.gelu", Approximation)
def gelu(node: Node, options: Approximation) -> Tensor:
    """Elements times the normal distribution of them."""
    value = node["x"]
    if options.approximate == "SIGMOID":
        return ops.mul(value, ops.sigmoid(ops.mul(value, number(value, 1.702))))
    if options.approximate == "TANH":
        cube = ops.mul(ops.mul(value, value), value)
        inner = ops.add(value, ops.mul(cube, number(value, 0.044715)))
        place = ops.tanh(ops.mul(inner, number(value, sqrt(2 / pi))))
    else:
        place = ops.erf(ops.mul(value, number(value, 1 / sqrt(2))))
    return ops.mul(ops.mul(value, number(value, 0.5)), ops.add(place, number(value, 1)))


@operator("nn.silu")
def silu(node: Node) -> Tensor:
    """Elements times their sigmoid."""
    return ops.mul(node["x"], ops.sigmoid(node["x"]))


@operator("nn.sigmoid")
def sigmoid(node: Node) -> Tensor:
    """One over one plus the exponential of the opposite."""
    return ops.sigmoid(node["x"])


@operator("nn.softplus")
def softplus(node: Node) -> Tensor:
    """The logarithm of one more than the exponential."""
    return soft_plus(node["x"])


@operator("nn.erf")
def erf(node: Node) -> Tensor:
    """The error function."""
    return ops.erf(node["x"])
