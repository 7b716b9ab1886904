"""Functions of single elements, of real numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common import functions
from tosajit.frontends.common.angles import angle
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.division import quotient_of
from tosajit.frontends.common.layout import part, reshaped
from tosajit.frontends.common.numbers import constant, is_negative, nearest_even, number, towards_zero
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import NARROW, NUMBERS, REAL, operator
from tosajit.frontends.torch.operators.arithmetic import clamped, elementwise
from tosajit.tracing.tensor import Tensor

Function = Callable[[Tensor], Tensor]
_PLAIN: tuple[tuple[str, Function, Callable[[Array], Array] | None, str], ...] = (
    ("exp", ops.exp, np.exp, "The exponential."),
    ("expm1", lambda one: ops.sub(ops.exp(one), number(one, 1)), np.expm1, "The exponential less one."),
    ("exp2", lambda one: ops.exp(ops.mul(one, number(one, log(2)))), np.exp2, "Two to the power."),
    ("log", ops.log, np.log, "The natural logarithm."),
    ("log2", functions.log2, np.log2, "The logarithm to the base 2."),
    ("log10", lambda one: ops.mul(ops.log(one), number(one, 1 / log(10))), np.log10,
     "The logarithm to the base 10."),
    ("log1p", functions.log_of_more, np.log1p, "The natural logarithm of one more."),
    ("reciprocal", ops.reciprocal, np.reciprocal, "One over a number."),
    ("sqrt", functions.square_root, np.sqrt, "The square root: one over one over it."),
    ("rsqrt", ops.rsqrt, lambda one: 1 / np.sqrt(one), "One over the square root."),
    ("sin", ops.sin, np.sin, "The sine of an angle in radians."),
    ("cos", ops.cos, np.cos, "The cosine of an angle in radians."),
    ("tan", lambda one: quotient_of(ops.sin(one), ops.cos(one)), np.tan,
     "The tangent of an angle in radians."),
    ("sinh", functions.sinh, np.sinh, "The hyperbolic sine."),
    ("cosh", functions.cosh, np.cosh, "The hyperbolic cosine."),
    ("tanh", ops.tanh, np.tanh, "The hyperbolic tangent."),
    ("asin", functions.asin, np.arcsin, "The arc sine."),
    ("acos", functions.acos, np.arccos, "The arc cosine."),
    ("atan", functions.atan, np.arctan, "The arc tangent."),
    ("asinh", functions.asinh, np.arcsinh, "The inverse of the hyperbolic sine."),
    ("acosh", functions.acosh, np.arccosh, "The inverse of the hyperbolic cosine."),
    ("atanh", functions.atanh, np.arctanh, "The inverse of the hyperbolic tangent."),
    ("sigmoid", ops.sigmoid, None, "One over one plus the exponential of the opposite."),
    ("erf", ops.erf, None, "The error function."),
    ("erfc", lambda one: ops.sub(constant(one, 1), ops.erf(one)), None, "One less the error function."),
    ("silu", lambda one: ops.mul(one, ops.sigmoid(one)), None, "Elements times their sigmoid."),
    ("mish", functions.mish, None, "Elements times the hyperbolic tangent of their softplus."),
    ("log_sigmoid", lambda one: -functions.soft_plus(-one), None, "The logarithm of the sigmoid."),
    ("hardsigmoid", lambda one: _line(one), None, "A line from 0 to 1."),
    ("hardswish", lambda one: ops.mul(one, _line(one)), None, "Elements times a line from 0 to 1."),
)  # fmt: skip
"""Operators of one tensor: names, what writes them, what folds them, and what they do."""
_WHOLE: tuple[tuple[str, Function, Callable[[Array], Array], str], ...] = (
    ("floor", ops.floor, np.floor, "The next whole number downwards."),
    ("ceil", ops.ceil, np.ceil, "The next whole number upwards."),
    ("round", nearest_even, np.rint, "The nearest whole number, the even one of two."),
    ("trunc", towards_zero, np.trunc, "The next whole number towards zero."),
)


def _line(value: Tensor) -> Tensor:
    line = ops.add(ops.mul(value, number(value, 1 / 6)), number(value, 0.5))
    return ops.clamp(line, min_val=0.0, max_val=1.0)


def _declare(name: str, write: Function, fold: Callable[[Array], Array] | None, summary: str) -> None:
    def plain(node: Node) -> Tensor:
        value = node[0].tensor
        return write(value) if value.dtype.is_float else value

    plain.__doc__ = summary
    elementwise(f"aten.{name}.default", fold)(plain)


for _row in (*_PLAIN, *_WHOLE):
    _declare(*_row)


@operator("aten.relu.default", types=f"{NUMBERS} {NARROW}")
def relu(node: Node, self: Operand) -> Tensor:
    """Elements from 0 on, others as 0."""
    return clamped(self.tensor, 0, None)


@operator("aten.relu6.default", types=f"{NUMBERS} {NARROW}")
def relu6(node: Node, self: Operand) -> Tensor:
    """Elements from 0 to 6, others as the nearest of them."""
    return clamped(self.tensor, 0, 6)


@operator("aten.hardtanh.default", types=f"{NUMBERS} {NARROW}")
def hardtanh(node: Node, self: Operand, min_val: float = -1, max_val: float = 1) -> Tensor:
    """Elements inside of two bounds, others as the nearest of them."""
    return clamped(self.tensor, min_val, max_val)


@operator("aten.gelu.default", types=REAL)
def gelu(node: Node, self: Operand, approximate: str = "none") -> Tensor:
    """Elements times how probable smaller ones are."""
    return functions.gelu(self.tensor, approximate)


@operator("aten.leaky_relu.default", types=REAL)
def leaky_relu(node: Node, self: Operand, negative_slope: float = 0.01) -> Tensor:
    """Elements from 0 on, others times a factor."""
    value = self.tensor
    return ops.select(is_negative(value), ops.mul(value, number(value, negative_slope)), value)


@operator("aten.rrelu.default", types=REAL, ignored="generator")
def rrelu(
    node: Node, self: Operand, lower: float = 0.125, upper: float = 1 / 3, training: bool = False
) -> Tensor:
    """Elements from 0 on, others times the mean of two factors."""
    if training:
        raise Refused("it draws random factors, as in training", "module.eval()")
    return leaky_relu(node, self, (lower + upper) / 2)


@operator("aten.prelu.default aten._prelu_kernel.default", types=REAL)
def prelu(node: Node, self: Operand, weight: Operand) -> Tensor:
    """Elements from 0 on, others times the factor of their channel."""
    value = self.tensor
    slope = weight.tensor
    if weight.rank == 1 and value.ndim > 1:
        slope = reshaped(slope, (1, -1, *(1,) * (value.ndim - 2)))
    value_, slope = aligned(value, slope)
    return ops.select(is_negative(value_), ops.mul(value_, slope), value_)


@operator("aten.elu.default", types=REAL)
def elu(node: Node, self: Operand, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    """Elements from 0 on, others as their exponential less one, times factors."""
    value = self.tensor
    inner = value if input_scale == 1 else ops.mul(value, number(value, input_scale))
    above = value if scale == 1 else ops.mul(value, number(value, scale))
    return ops.select(is_negative(value), _less_one(inner, alpha * scale), above)


def _less_one(value: Tensor, factor: float) -> Tensor:
    """The exponential less one, times a factor: near zero by the tangent of the half."""
    half = ops.tanh(ops.mul(value, number(value, 0.5)))
    near = quotient_of(ops.add(half, half), ops.sub(constant(value, 1), half))
    return ops.mul(near, number(value, factor))


@operator("aten.celu.default", types=REAL)
def celu(node: Node, self: Operand, alpha: float = 1) -> Tensor:
    """Elements from 0 on, others as an exponential whose slope is one at zero."""
    return elu(node, self, alpha, 1, 1 / alpha)


@operator("aten.selu.default", types=REAL)
def selu(node: Node, self: Operand) -> Tensor:
    """Elements times a factor, negative ones as their exponential less one times another factor."""
    return elu(node, self, 1.6732632423543772, 1.0507009873554805)


@operator("aten.softplus.default", types=REAL)
def softplus(node: Node, self: Operand, beta: float = 1, threshold: float = 20) -> Tensor:
    """The logarithm of one more than the exponential; great elements as they are."""
    value = self.tensor
    inner = value if beta == 1 else ops.mul(value, number(value, beta))
    found = functions.soft_plus(inner)
    found = found if beta == 1 else ops.mul(found, number(value, 1 / beta))
    return ops.select(ops.greater(inner, number(value, threshold)), value, found)


@operator("aten.threshold.default", types=f"{NUMBERS} {NARROW}")
def threshold_(node: Node, self: Operand, threshold: float, value: float) -> Tensor:
    """Elements above a bound, others as a number."""
    given = self.tensor
    return ops.select(ops.greater(given, number(given, threshold)), given, number(given, value))


@operator("aten.hardshrink.default", types=REAL)
def hardshrink(node: Node, self: Operand, lambd: float = 0.5) -> Tensor:
    """Small elements as 0."""
    value = self.tensor
    return ops.select(ops.greater(ops.abs(value), number(value, lambd)), value, number(value, 0))


@operator("aten.softshrink.default", types=REAL)
def softshrink(node: Node, self: Operand, lambd: float = 0.5) -> Tensor:
    """Small elements as 0, others moved towards it."""
    value = self.tensor
    return ops.sub(value, ops.clamp(value, min_val=-float(lambd), max_val=float(lambd)))


@operator("aten.glu.default", types=REAL)
def glu(node: Node, self: Operand, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second."""
    axis = dim % self.rank
    half = self.shape[axis] // 2
    first, second = (part(self.tensor, axis, start, half) for start in (0, half))
    return ops.mul(first, ops.sigmoid(second))


@operator("aten.logit.default", types=REAL)
def logit(node: Node, self: Operand, eps: float | None = None) -> Tensor:
    """The inverse of the sigmoid."""
    value = self.tensor if eps is None else clamped(self.tensor, eps, 1 - eps)
    return ops.log(quotient_of(value, ops.sub(constant(value, 1), value)))


@elementwise("aten.atan2.default aten.arctan2.default", np.arctan2, types=NUMBERS)
def atan2(node: Node) -> Tensor:
    """The angle of points by their ordinates and abscissae."""
    first, second = node.aligned
    return angle(*(ops.add(one, number(one, 0)) for one in (first, second)))


@elementwise("aten.hypot.default", np.hypot, types=REAL)
def hypot(node: Node) -> Tensor:
    """The root of the sum of squares."""
    first, second = node.aligned
    return functions.square_root(ops.add(ops.mul(first, first), ops.mul(second, second)))


@operator(
    "aten.dropout.default aten.feature_dropout.default aten.alpha_dropout.default aten.native_dropout.default"
)
def dropout(node: Node) -> Operand:
    """The same tensor."""
    if node.given("train", False):
        raise Refused("it draws random numbers, as in training", "module.eval()")
    return node[0]
