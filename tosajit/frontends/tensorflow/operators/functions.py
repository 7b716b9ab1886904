"""Functions of one operand, and activations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.division import quotient_of
from tosajit.frontends.common.functions import error_left, exponential_less_one, log_of_more, soft_plus
from tosajit.frontends.common.functions import square_root as root
from tosajit.frontends.common.numbers import is_negative, nearest_even, number
from tosajit.frontends.common.softmax import log_softmax, softmax
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.folding import folded
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import NARROW, NUMBERS, REAL, operator
from tosajit.tracing.tensor import Tensor

_PLAIN: tuple[tuple[str, Callable[[Tensor], Tensor], Callable[[Array], Array] | None, str], ...] = (
    ("Exp", ops.exp, np.exp, "The exponential."),
    ("Log", ops.log, np.log, "The natural logarithm."),
    ("Rsqrt", ops.rsqrt, lambda value: 1 / np.sqrt(value), "One over the square root."),
    ("Reciprocal Inv", ops.reciprocal, np.reciprocal, "One over a number."),
    ("Sin", ops.sin, np.sin, "The sine of an angle in radians."),
    ("Cos", ops.cos, np.cos, "The cosine of an angle in radians."),
    ("Tanh", ops.tanh, np.tanh, "The hyperbolic tangent."),
    ("Sigmoid", ops.sigmoid, None, "One over one plus the exponential of the opposite."),
    ("Erf", ops.erf, None, "The error function."),
    ("Floor", ops.floor, np.floor, "The next whole number downwards."),
    ("Ceil", ops.ceil, np.ceil, "The next whole number upwards."),
)
"""Operators that TOSA has as well: names, what writes them, what folds them, and what they do."""


def _declare(
    names: str, write: Callable[[Tensor], Tensor], fold: Callable[[Array], Array] | None, summary: str
) -> None:
    def plain(node: Node) -> Tensor:
        return write(node[0].tensor)

    plain.__doc__ = summary
    operator(names, types=REAL, fold=None if fold is None else folded(fold))(plain)


for _row in _PLAIN:
    _declare(*_row)


@operator("Expm1", types=REAL, fold=folded(np.expm1))
def expm1(node: Node) -> Tensor:
    """The exponential less one, exact also near zero."""
    return exponential_less_one(node[0].tensor)


@operator("Log1p", types=REAL, fold=folded(np.log1p))
def log1p(node: Node) -> Tensor:
    """The natural logarithm of one more."""
    return log_of_more(node[0].tensor)


@operator("Sqrt", types=REAL, fold=folded(np.sqrt))
def square_root(node: Node) -> Tensor:
    """The square root: one over one over it."""
    return root(node[0].tensor)


@operator("Tan", types=REAL, fold=folded(np.tan))
def tan(node: Node) -> Tensor:
    """The tangent of an angle in radians."""
    return quotient_of(ops.sin(node[0].tensor), ops.cos(node[0].tensor))


@operator("Erfc", types=REAL)
def erfc(node: Node) -> Tensor:
    """One less the error function."""
    return error_left(node[0].tensor)


@operator("Round", types=NUMBERS, fold=folded(lambda value: np.rint(value).astype(value.dtype)))
def round_(node: Node) -> Tensor:
    """The nearest whole number, the even one of two."""
    value = node[0].tensor
    return nearest_even(value) if value.dtype.is_float else value


@operator("Rint", types=REAL, fold=folded(np.rint))
def rint(node: Node) -> Tensor:
    """The nearest whole number, the even one of two."""
    return nearest_even(node[0].tensor)


@operator(
    "Relu", types=f"{NUMBERS} {NARROW}", fold=folded(lambda value: np.maximum(value, value.dtype.type(0)))
)
@widened
def relu(node: Node) -> Tensor:
    """Elements from 0 on, others as 0."""
    value = node[0].tensor
    if value.dtype.is_float:
        return ops.clamp(value, min_val=0.0, max_val=inf)
    return ops.maximum(value, number(value, 0))


@operator("Relu6", types=f"{NUMBERS} {NARROW}")
@widened
def relu6(node: Node) -> Tensor:
    """Elements from 0 to 6, others as the nearest of them."""
    value = node[0].tensor
    if value.dtype.is_float:
        return ops.clamp(value, min_val=0.0, max_val=6.0)
    return ops.minimum(ops.maximum(value, number(value, 0)), number(value, 6))


@dataclass(frozen=True, slots=True)
class LeakyAttributes(Attributes):
    """The factor of negative numbers."""

    alpha: float = 0.2


@operator("LeakyRelu", LeakyAttributes, types=REAL)
def leaky_relu(node: Node, options: LeakyAttributes) -> Tensor:
    """Elements from 0 on, others times a factor."""
    value = node[0].tensor
    below = ops.mul(value, number(value, options.alpha))
    return ops.maximum(value, below) if options.alpha <= 1 else ops.minimum(value, below)


@operator("Elu", types=REAL)
def elu(node: Node) -> Tensor:
    """Elements from 0 on, others as their exponential less one."""
    value = node[0].tensor
    below = ops.sub(ops.exp(value), number(value, 1))
    return ops.select(is_negative(value), below, value)


@operator("Selu", types=REAL)
def selu(node: Node) -> Tensor:
    """Elements times a factor, negative ones as their exponential less one times another factor."""
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    value = node[0].tensor
    below = ops.mul(ops.sub(ops.exp(value), number(value, 1)), number(value, scale * alpha))
    return ops.select(is_negative(value), below, ops.mul(value, number(value, scale)))


@operator("Softplus", types=REAL)
def softplus(node: Node) -> Tensor:
    """The logarithm of one more than the exponential."""
    return soft_plus(node[0].tensor)


@operator("Softsign", types=REAL)
def softsign(node: Node) -> Tensor:
    """A number over one more than its absolute value."""
    value = node[0].tensor
    return quotient_of(value, ops.add(ops.abs(value), number(value, 1)))


@operator("Softmax", types=REAL)
def soft_max(node: Node) -> Tensor:
    """Exponentials over their sum, along the last dimension."""
    return softmax(node[0].tensor, node[0].rank - 1)


@operator("LogSoftmax", types=REAL)
def log_soft_max(node: Node) -> Tensor:
    """The logarithm of exponentials over their sum, along the last dimension."""
    return log_softmax(node[0].tensor, node[0].rank - 1)
