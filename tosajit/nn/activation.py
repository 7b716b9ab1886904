"""Functions of single numbers, and of rows of them."""

from __future__ import annotations

from math import inf
from typing import Any

from tosajit import ops
from tosajit.dtypes import FP32
from tosajit.errors import TraceError
from tosajit.frontends.common import functions
from tosajit.frontends.common import softmax as by_rows
from tosajit.frontends.common.numbers import typed
from tosajit.nn.layer import layer
from tosajit.nn.tensors import axis_of, real


@layer()
def relu(x: Any) -> Any:
    """Elements from 0 on, others as 0."""
    return ops.clamp(real("nn.relu x", x), min_val=0.0, max_val=inf)


@layer()
def relu6(x: Any) -> Any:
    """Elements from 0 to 6, others as the nearest of them."""
    return ops.clamp(real("nn.relu6 x", x), min_val=0.0, max_val=6.0)


@layer()
def gelu(x: Any, approximate: str = "none") -> Any:
    """Elements times how probable smaller ones are, if they are drawn from the normal distribution.

    `approximate="tanh"` is one by the hyperbolic tangent. Numbers of 16 bits are computed in FP32.
    """
    wide = typed(real("nn.gelu x", x), FP32)
    return typed(functions.gelu(wide, approximate), x.dtype)


@layer()
def silu(x: Any) -> Any:
    """Elements times their sigmoid, which is also known as swish."""
    return ops.mul(x, ops.sigmoid(real("nn.silu x", x)))


@layer()
def softmax(x: Any, axis: int = -1) -> Any:
    """Exponentials over their sum along an axis. 16 bits are computed in FP32."""
    wide = typed(real("nn.softmax x", x), FP32)
    return typed(by_rows.softmax(wide, axis_of("nn.softmax x", x, axis)), x.dtype)


@layer()
def log_softmax(x: Any, axis: int = -1) -> Any:
    """The logarithm of softmax, exact also where that is nearly 0. 16 bits are computed in FP32."""
    wide = typed(real("nn.log_softmax x", x), FP32)
    return typed(by_rows.log_softmax(wide, axis_of("nn.log_softmax x", x, axis)), x.dtype)


@layer()
def dropout(x: Any, rate: float = 0.5) -> Any:
    """The tensor as it is: elements are dropped in training alone."""
    if not 0 <= rate < 1:
        raise TraceError(f"nn.dropout rate is {rate!r}, but must be from 0 on and less than 1")
    return ops.identity(x)
