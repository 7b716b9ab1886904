"""Angles, and the functions of hyperbolas: all are computed in float32."""

from __future__ import annotations

from collections.abc import Callable

from tosajit import ops
from tosajit.dtypes import FP32
from tosajit.frontends.common import functions
from tosajit.frontends.common.angles import angle
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import REAL, operator
from tosajit.tracing.tensor import Tensor


@operator("Atan2", types=REAL)
def atan2(node: Node) -> Tensor:
    """The angle of points whose ordinates are in the first tensor and abscissae in the second."""
    return _in_float32(angle, *node.aligned)


def _in_float32(function: Callable[..., Tensor], *values: Tensor) -> Tensor:
    dtype = values[0].dtype
    if dtype is FP32:
        return function(*values)
    found = function(*(ops.cast(one, dtype=FP32) for one in values))
    return ops.cast(found, dtype=dtype)


_FUNCTIONS: tuple[tuple[str, Callable[[Tensor], Tensor], str], ...] = (
    ("Asin", functions.asin, "The angle of a sine."),
    ("Acos", functions.acos, "The angle of a cosine."),
    ("Atan", functions.atan, "The angle of a tangent."),
    ("Sinh", functions.sinh, "The hyperbolic sine."),
    ("Cosh", functions.cosh, "The hyperbolic cosine."),
    ("Asinh", functions.asinh, "What the hyperbolic sine is of."),
    ("Acosh", functions.acosh, "What the hyperbolic cosine is of."),
    ("Atanh", functions.atanh, "What the hyperbolic tangent is of."),
)
"""Names, what writes them, and what they do."""


def _declare(name: str, function: Callable[[Tensor], Tensor], summary: str) -> None:
    def lower(node: Node) -> Tensor:
        return _in_float32(function, node[0].tensor)

    lower.__doc__ = summary
    operator(name, types=REAL)(lower)


for _row in _FUNCTIONS:
    _declare(*_row)
