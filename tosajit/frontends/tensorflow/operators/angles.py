"""Angles, and the functions of hyperbolas."""

from __future__ import annotations

from collections.abc import Callable

from tosajit import ops
from tosajit.dtypes import FP32
from tosajit.frontends.common.angles import angle
from tosajit.frontends.common.division import quotient_of
from tosajit.frontends.common.functions import log_of_more
from tosajit.frontends.common.numbers import constant, number, sign
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import REAL, operator
from tosajit.frontends.tensorflow.operators.functions import expm1_of
from tosajit.tracing.tensor import Tensor


def _in_float32(function: Callable[..., Tensor], *values: Tensor) -> Tensor:
    dtype = values[0].dtype
    if dtype is FP32:
        return function(*values)
    found = function(*(ops.cast(one, dtype=FP32) for one in values))
    return ops.cast(found, dtype=dtype)


def _root(value: Tensor) -> Tensor:
    """The square root, which is 0 of what rounding has left below it."""
    inside = ops.maximum(value, number(value, 0))
    return ops.select(ops.equal(inside, number(value, 0)), inside, ops.reciprocal(ops.rsqrt(inside)))


def _other_side(value: Tensor) -> Tensor:
    """The other side of a right triangle whose longest one is 1."""
    one = constant(value, 1)
    return _root(ops.mul(ops.sub(one, value), ops.add(one, value)))


@operator("Atan2", types=REAL)
def atan2(node: Node) -> Tensor:
    """The angle of points whose ordinates are in the first tensor and abscissae in the second."""
    return _in_float32(angle, *node.aligned)


@operator("Atan", types=REAL)
def atan(node: Node) -> Tensor:
    """The angle of a tangent."""
    return _in_float32(lambda value: angle(value, constant(value, 1)), node[0].tensor)


@operator("Asin", types=REAL)
def asin(node: Node) -> Tensor:
    """The angle of a sine."""
    return _in_float32(lambda value: angle(value, _other_side(value)), node[0].tensor)


@operator("Acos", types=REAL)
def acos(node: Node) -> Tensor:
    """The angle of a cosine."""
    return _in_float32(lambda value: angle(_other_side(value), value), node[0].tensor)


@operator("Sinh", types=REAL)
def sinh(node: Node) -> Tensor:
    """The hyperbolic sine."""
    return _in_float32(_sinh, node[0].tensor)


def _sinh(value: Tensor) -> Tensor:
    more = expm1_of(ops.abs(value))
    whole = ops.add(more, quotient_of(more, ops.add(more, number(value, 1))))
    return ops.mul(ops.mul(whole, number(value, 0.5)), sign(value))


@operator("Cosh", types=REAL)
def cosh(node: Node) -> Tensor:
    """The hyperbolic cosine."""
    return _in_float32(_cosh, node[0].tensor)


def _cosh(value: Tensor) -> Tensor:
    power = ops.exp(ops.abs(value))
    return ops.mul(ops.add(power, ops.reciprocal(power)), number(value, 0.5))


@operator("Asinh", types=REAL)
def asinh(node: Node) -> Tensor:
    """What the hyperbolic sine is of."""
    return _in_float32(_asinh, node[0].tensor)


def _asinh(value: Tensor) -> Tensor:
    size = ops.abs(value)
    square = ops.mul(size, size)
    root = _root(ops.add(square, number(value, 1)))
    more = ops.add(size, quotient_of(square, ops.add(root, number(value, 1))))
    return ops.mul(log_of_more(more), sign(value))


@operator("Acosh", types=REAL)
def acosh(node: Node) -> Tensor:
    """What the hyperbolic cosine is of."""
    return _in_float32(_acosh, node[0].tensor)


def _acosh(value: Tensor) -> Tensor:
    more = ops.sub(value, number(value, 1))
    root = _root(ops.mul(more, ops.add(value, number(value, 1))))
    return log_of_more(ops.add(more, root))


@operator("Atanh", types=REAL)
def atanh(node: Node) -> Tensor:
    """What the hyperbolic tangent is of."""
    return _in_float32(_atanh, node[0].tensor)


def _atanh(value: Tensor) -> Tensor:
    size = ops.abs(value)
    more = quotient_of(ops.add(size, size), ops.sub(constant(value, 1), size))
    return ops.mul(ops.mul(log_of_more(more), number(value, 0.5)), sign(value))
