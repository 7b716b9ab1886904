"""Functions of single real numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32
from tosajit.frontends.common import functions, special
from tosajit.frontends.common.division import quotient_of
from tosajit.frontends.common.numbers import (
    constant,
    is_negative,
    nearest_away,
    nearest_even,
    number,
    typed,
)
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.folding import folded
from tosajit.frontends.jax.node import Node
from tosajit.frontends.jax.operators import REAL, operator
from tosajit.tracing.tensor import Tensor

Function = Callable[[Tensor], Tensor]


def _tangent(value: Tensor) -> Tensor:
    return quotient_of(ops.sin(value), ops.cos(value))


def _power_of_two(value: Tensor) -> Tensor:
    return ops.pow(constant(value, 2), value)


def _cube_root(value: Tensor) -> Tensor:
    size = ops.pow(ops.abs(value), number(value, 1 / 3))
    return ops.select(is_negative(value), -size, size)


def _in_float32(function: Function) -> Function:
    """A long sum, whose terms narrow types would round."""
    return lambda value: typed(function(typed(value, FP32)), value.dtype)


_PLAIN: tuple[tuple[str, Function, Callable[[Array], Array] | None, str], ...] = (
    ("exp", ops.exp, np.exp, "The exponential."),
    ("exp2", _power_of_two, np.exp2, "2 to the power of a number."),
    ("expm1", functions.exponential_less_one, np.expm1, "The exponential less one, exact also near zero."),
    ("log", ops.log, np.log, "The natural logarithm."),
    ("log1p", functions.log_of_more, np.log1p, "The natural logarithm of one more."),
    ("sqrt", functions.square_root, np.sqrt, "The square root: one over one over it."),
    ("rsqrt", ops.rsqrt, lambda value: 1 / np.sqrt(value), "One over the square root."),
    ("cbrt", _cube_root, np.cbrt, "The cube root."),
    ("sin", ops.sin, np.sin, "The sine of an angle in radians."),
    ("cos", ops.cos, np.cos, "The cosine of an angle in radians."),
    ("tan", _tangent, np.tan, "The tangent of an angle in radians."),
    ("sinh", functions.sinh, np.sinh, "The hyperbolic sine."),
    ("cosh", functions.cosh, np.cosh, "The hyperbolic cosine."),
    ("tanh", ops.tanh, np.tanh, "The hyperbolic tangent."),
    ("asin", functions.asin, np.arcsin, "The arc sine."),
    ("acos", functions.acos, np.arccos, "The arc cosine."),
    ("atan", functions.atan, np.arctan, "The arc tangent."),
    ("asinh", functions.asinh, np.arcsinh, "The inverse of the hyperbolic sine."),
    ("acosh", functions.acosh, np.arccosh, "The inverse of the hyperbolic cosine."),
    ("atanh", functions.atanh, np.arctanh, "The inverse of the hyperbolic tangent."),
    ("logistic", ops.sigmoid, None, "One over one plus the exponential of the opposite."),
    ("erf", ops.erf, None, "The error function."),
    ("erfc", functions.error_left, None, "One less the error function."),
    ("erf_inv", _in_float32(special.inverse_error), None, "The inverse of the error function."),
    ("lgamma", _in_float32(special.log_gamma), None, "The logarithm of the size of the gamma function."),
    ("digamma", _in_float32(special.digamma), None, "The derivative of the logarithm of the gamma function."),
    (
        "bessel_i0e",
        _in_float32(special.bessel_zero),
        None,
        "The modified Bessel function of order 0, scaled.",
    ),
    ("bessel_i1e", _in_float32(special.bessel_one), None, "The modified Bessel function of order 1, scaled."),
    ("floor", ops.floor, np.floor, "The next whole number downwards."),
    ("ceil", ops.ceil, np.ceil, "The next whole number upwards."),
)
"""Primitives of one operand: names, what writes them, what folds them, and what they do."""


def _declare(name: str, write: Function, fold: Callable[[Array], Array] | None, summary: str) -> None:
    def plain(node: Node) -> Tensor:
        return write(node[0].tensor)

    plain.__doc__ = summary
    operator(name, types=REAL, fold=None if fold is None else folded(fold))(plain)


for _row in _PLAIN:
    _declare(*_row)


@dataclass(frozen=True, slots=True)
class RoundAttributes(Attributes):
    """Which of two whole numbers that are equally near is taken."""

    rounding_method: str


@operator("round", RoundAttributes, types=REAL)
def round_(node: Node, options: RoundAttributes) -> Tensor:
    """The nearest whole number."""
    is_even = options.rounding_method == "TO_NEAREST_EVEN"
    return (nearest_even if is_even else nearest_away)(node[0].tensor)
