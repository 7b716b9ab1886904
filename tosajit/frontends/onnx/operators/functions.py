"""Functions of single elements, of real numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TypeVar

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common import elementary, functions
from tosajit.frontends.common.division import quotient_of
from tosajit.frontends.common.numbers import constant, is_negative, nearest_even, number
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.folding import folded
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import NARROW, NUMBERS, REAL, operator
from tosajit.tracing.tensor import Tensor

Function = Callable[[Tensor], Tensor]
T = TypeVar("T", bound=Attributes)
_PLAIN: tuple[tuple[str, Function, Callable[[Array], Array | None], str], ...] = (
    ("Exp", ops.exp, np.exp, "The exponential."),
    ("Log", ops.log, np.log, "The natural logarithm."),
    ("Reciprocal", ops.reciprocal, np.reciprocal, "One over a number."),
    ("Sqrt", functions.square_root, np.sqrt, "The square root: one over one over it."),
    ("Sin", ops.sin, np.sin, "The sine of an angle in radians."),
    ("Cos", ops.cos, np.cos, "The cosine of an angle in radians."),
    ("Sinh", functions.sinh, np.sinh, "The hyperbolic sine."),
    ("Cosh", functions.cosh, np.cosh, "The hyperbolic cosine."),
    ("Tanh", ops.tanh, np.tanh, "The hyperbolic tangent."),
    ("Asin", functions.asin, np.arcsin, "The arc sine."),
    ("Acos", functions.acos, np.arccos, "The arc cosine."),
    ("Atan", functions.atan, np.arctan, "The arc tangent."),
    ("Asinh", functions.asinh, np.arcsinh, "The inverse of the hyperbolic sine."),
    ("Acosh", functions.acosh, np.arccosh, "The inverse of the hyperbolic cosine."),
    ("Atanh", functions.atanh, np.arctanh, "The inverse of the hyperbolic tangent."),
    ("Sigmoid", ops.sigmoid, elementary.sigmoid, "One over one plus the exponential of the opposite."),
    ("Erf", ops.erf, elementary.erf, "The error function."),
    ("Floor", ops.floor, np.floor, "The next whole number downwards."),
    ("Ceil", ops.ceil, np.ceil, "The next whole number upwards."),
    ("Round", nearest_even, np.rint, "The nearest whole number, the even one of two."),
    (
        "Softplus",
        functions.soft_plus,
        elementary.soft_plus,
        "The logarithm of one more than the exponential.",
    ),
)
"""Operators of one tensor: names, what writes them, what folds them, and what they do."""


def _declare(name: str, write: Function, fold: Callable[[Array], Array | None], summary: str) -> None:
    def plain(node: Node) -> Tensor:
        return write(node[0].tensor)

    plain.__doc__ = summary
    operator(name, types=REAL, fold=folded(fold))(plain)


for _row in _PLAIN:
    _declare(*_row)


@operator("Tan", types=REAL, fold=folded(np.tan))
def tan(node: Node) -> Tensor:
    """The tangent of an angle in radians."""
    return quotient_of(ops.sin(node[0].tensor), ops.cos(node[0].tensor))


def _with(kind: type[T], function: Callable[[Array, T], Array | None]) -> Callable[[Node], Array | None]:
    """Compute with NumPy what follows from a constant and attributes."""

    def fold(node: Node) -> Array | None:
        found = function(node[0].raw, node.attributes(kind))
        return None if found is None else found.astype(node[0].raw.dtype)

    return fold


@operator("Relu", types=f"{NUMBERS} {NARROW}", fold=folded(lambda value: np.maximum(value, 0)))
@widened
def relu(node: Node) -> Tensor:
    """Elements from 0 on, others as 0."""
    value = node[0].tensor
    if value.dtype.is_float:
        return ops.clamp(value, min_val=0.0, max_val=inf)
    return ops.maximum(value, number(value, 0))


@dataclass(frozen=True, slots=True)
class LeakyAttributes(Attributes):
    """The factor of negative numbers."""

    alpha: float = 0.01


def _leaky(value: Array, options: LeakyAttributes) -> Array:
    return np.where(value < 0, value * np.float32(options.alpha), value)


@operator("LeakyRelu", LeakyAttributes, types=REAL, fold=_with(LeakyAttributes, _leaky))
def leaky_relu(node: Node, options: LeakyAttributes) -> Tensor:
    """Elements from 0 on, others times a factor."""
    value = node[0].tensor
    return ops.select(is_negative(value), ops.mul(value, number(value, options.alpha)), value)


@operator(
    "PRelu",
    types=f"{NUMBERS} {NARROW}",
    fold=folded(lambda value, slope: np.where(value < 0, value * slope, value)),
)
@widened
def prelu(node: Node) -> Tensor:
    """Elements from 0 on, others times factors."""
    value, slope = node.aligned
    return ops.select(is_negative(value), ops.mul(value, slope), value)


@dataclass(frozen=True, slots=True)
class OneAttributes(Attributes):
    """The factor of what is below zero."""

    alpha: float = 1.0


@operator(
    "Elu",
    OneAttributes,
    types=REAL,
    fold=_with(OneAttributes, lambda value, options: elementary.elu(value, options.alpha)),
)
def elu(node: Node, options: OneAttributes) -> Tensor:
    """Elements from 0 on, others as their exponential less one, times a factor."""
    value = node[0].tensor
    return ops.select(is_negative(value), _less_one(value, options.alpha), value)


def _less_one(value: Tensor, factor: float) -> Tensor:
    return ops.mul(ops.sub(ops.exp(value), number(value, 1)), number(value, factor))


def _celu(value: Array, options: OneAttributes) -> Array:
    below = options.alpha * np.expm1(np.minimum(value, 0) / options.alpha)
    return np.where(value < 0, below, value)


@operator("Celu", OneAttributes, types=REAL, fold=_with(OneAttributes, _celu))
def celu(node: Node, options: OneAttributes) -> Tensor:
    """Elements from 0 on, others as an exponential whose slope is one at zero."""
    value = node[0].tensor
    below = _less_one(ops.mul(value, number(value, 1 / options.alpha)), options.alpha)
    return ops.select(is_negative(value), below, value)


@dataclass(frozen=True, slots=True)
class SeluAttributes(Attributes):
    """The factors of what is below zero, and of all."""

    alpha: float = 1.67326319217681884765625
    gamma: float = 1.05070102214813232421875


@operator(
    "Selu",
    SeluAttributes,
    types=REAL,
    fold=_with(SeluAttributes, lambda value, options: elementary.elu(value, options.alpha) * options.gamma),
)
def selu(node: Node, options: SeluAttributes) -> Tensor:
    """Elements times a factor, negative ones as their exponential less one times another factor."""
    value, gamma = node[0].tensor, options.gamma
    below = _less_one(value, options.alpha * gamma)
    return ops.select(is_negative(value), below, ops.mul(value, number(value, gamma)))


@operator(
    "ThresholdedRelu",
    OneAttributes,
    types=REAL,
    fold=_with(OneAttributes, lambda value, options: np.where(value > options.alpha, value, 0)),
)
def thresholded_relu(node: Node, options: OneAttributes) -> Tensor:
    """Elements above a bound, others as 0."""
    value = node[0].tensor
    return ops.select(ops.greater(value, number(value, options.alpha)), value, number(value, 0))


@dataclass(frozen=True, slots=True)
class HardAttributes(Attributes):
    """The slope, and what is at zero."""

    alpha: float = 0.2
    beta: float = 0.5


@operator(
    "HardSigmoid",
    HardAttributes,
    types=REAL,
    fold=_with(HardAttributes, lambda value, options: elementary.line(value, options.alpha, options.beta)),
)
def hard_sigmoid(node: Node, options: HardAttributes) -> Tensor:
    """A line from 0 to 1."""
    return _line(node[0].tensor, options.alpha, options.beta)


def _line(value: Tensor, slope: float, middle: float) -> Tensor:
    line = ops.add(ops.mul(value, number(value, slope)), number(value, middle))
    return ops.clamp(line, min_val=0.0, max_val=1.0)


@operator("HardSwish", types=REAL, fold=folded(lambda value: value * elementary.line(value, 1 / 6, 0.5)))
def hard_swish(node: Node) -> Tensor:
    """Elements times a line from 0 to 1."""
    value = node[0].tensor
    return ops.mul(value, _line(value, 1 / 6, 0.5))


@operator(
    "Swish",
    OneAttributes,
    types=REAL,
    fold=_with(
        OneAttributes, lambda value, options: value * elementary.sigmoid(value * np.float32(options.alpha))
    ),
)
def swish(node: Node, options: OneAttributes) -> Tensor:
    """Elements times their sigmoid."""
    value = node[0].tensor
    inner = value if options.alpha == 1 else ops.mul(value, number(value, options.alpha))
    return ops.mul(value, ops.sigmoid(inner))


@operator("SwiGLU", OneAttributes, types=REAL)
def swiglu(node: Node, options: OneAttributes) -> Tensor:
    """A tensor times another one, which is multiplied with its sigmoid."""
    return ops.mul(swish(node, options), node[1].tensor)


@operator("Mish", types=REAL, fold=folded(lambda value: value * np.tanh(elementary.soft_plus(value))))
def mish(node: Node) -> Tensor:
    """Elements times the hyperbolic tangent of their softplus."""
    return functions.mish(node[0].tensor)


@dataclass(frozen=True, slots=True)
class GeluAttributes(Attributes):
    """Which approximation is meant."""

    approximate: str = "none"


def _gelu(value: Array, options: GeluAttributes) -> Array | None:
    known = options.approximate in ("tanh", "none")
    return elementary.gelu(value, options.approximate == "tanh") if known else None


@operator("Gelu", GeluAttributes, types=REAL, fold=_with(GeluAttributes, _gelu))
def gelu(node: Node, options: GeluAttributes) -> Tensor:
    """Elements times how probable smaller ones are."""
    return functions.gelu(node[0].tensor, options.approximate)


@operator("Softsign", types=REAL, fold=folded(lambda value: value / (1 + np.abs(value))))
def softsign(node: Node) -> Tensor:
    """A number over one more than its absolute value."""
    value = node[0].tensor
    return quotient_of(value, ops.add(ops.abs(value), number(value, 1)))


@dataclass(frozen=True, slots=True)
class ShrinkAttributes(Attributes):
    """What others are moved by towards zero, and the size of those that become zero."""

    bias: float = 0.0
    lambd: float = 0.5


def _shrunk(value: Array, options: ShrinkAttributes) -> Array:
    low = np.where(value < -options.lambd, value + options.bias, 0)
    return np.where(value > options.lambd, value - options.bias, low)


@operator("Shrink", ShrinkAttributes, types=REAL, fold=_with(ShrinkAttributes, _shrunk))
def shrink(node: Node, options: ShrinkAttributes) -> Tensor:
    """Small elements as 0, others moved towards it."""
    value = node[0].tensor
    bound, bias = options.lambd, number(value, options.bias)
    below = ops.greater(constant(value, -bound), value)
    low = ops.select(below, ops.add(value, bias), number(value, 0))
    return ops.select(ops.greater(value, number(value, bound)), ops.sub(value, bias), low)
