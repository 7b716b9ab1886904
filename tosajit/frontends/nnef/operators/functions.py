"""Elementwise functions of one operand (NNEF 2.0 section 4.2.1)."""

from __future__ import annotations

from collections.abc import Callable

from tosajit import ops
from tosajit.frontends.common import functions
from tosajit.frontends.common.division import quotient_of
from tosajit.frontends.common.numbers import is_not_zero, nearest_away, sign, towards_zero
from tosajit.frontends.nnef.node import Node, dtype_of
from tosajit.frontends.nnef.operators import ALL, NUMBERS, operator
from tosajit.tracing.tensor import Tensor

Function = Callable[[Tensor], Tensor]


def _square(value: Tensor) -> Tensor:
    return ops.mul(value, value)


def _tan(value: Tensor) -> Tensor:
    return quotient_of(ops.sin(value), ops.cos(value))


def _declare(name: str, function: Function, summary: str, types: str = "real") -> None:
    def lower(node: Node) -> Tensor:
        return function(node["x"])

    lower.__doc__ = summary
    operator(f"math.{name}", types=types)(lower)


_declare("iden", lambda value: value, "The operand itself.", ALL)
_declare("neg", ops.negate, "The opposite.", NUMBERS)
_declare("abs", ops.abs, "The absolute value.", NUMBERS)
_declare("sign", sign, "1, 0 or -1.", NUMBERS)
_declare("sqr", _square, "The square.", NUMBERS)
_declare("rcp", ops.reciprocal, "One over a number.")
_declare("rsqr", lambda value: ops.reciprocal(_square(value)), "One over the square.")
_declare("sqrt", functions.square_root, "The square root: one over one over it.")
_declare("rsqrt", ops.rsqrt, "One over the square root.")
_declare("exp", ops.exp, "The exponential.")
_declare("log", ops.log, "The natural logarithm.")
_declare("log2", functions.log2, "The logarithm to the base 2.")
_declare("sin", ops.sin, "The sine of an angle in radians.")
_declare("cos", ops.cos, "The cosine of an angle in radians.")
_declare("tan", _tan, "The tangent of an angle in radians.")
_declare("sinh", functions.sinh, "The hyperbolic sine.")
_declare("cosh", functions.cosh, "The hyperbolic cosine.")
_declare("tanh", ops.tanh, "The hyperbolic tangent.")
_declare("asin", functions.asin, "The arc sine, by a polynomial.")
_declare("acos", functions.acos, "The arc cosine, by a polynomial.")
_declare("atan", functions.atan, "The arc tangent, by a polynomial.")
_declare("asinh", functions.asinh, "The inverse of the hyperbolic sine.")
_declare("acosh", functions.acosh, "The inverse of the hyperbolic cosine.")
_declare("atanh", functions.atanh, "The inverse of the hyperbolic tangent.")
_declare("not", ops.logical_not, "The opposite of a truth.", "bool")
_declare("floor", ops.floor, "The next whole number downwards.")
_declare("ceil", ops.ceil, "The next whole number upwards.")
_declare("round", nearest_away, "The nearest whole number, the one farther from zero of two.")


@operator("layout.cast", types=ALL)
def cast(node: Node) -> Tensor:
    """Elements in another type; real numbers lose their fractions."""
    return converted(node["x"], node.result("y").type)


def converted(value: Tensor, type: str) -> Tensor:
    """Elements in another type of NNEF."""
    dtype = dtype_of(type)
    if value.dtype is dtype:
        return value
    match value.dtype.is_float, type:
        case True, "int":
            return ops.cast(towards_zero(value), dtype=dtype)
        case True, "bool":
            return is_not_zero(value)
        case False, "real" if value.dtype is dtype_of("bool"):
            one = ops.cast(value, dtype=dtype_of("int"))
            return ops.cast(one, dtype=dtype)
    return ops.cast(value, dtype=dtype)
