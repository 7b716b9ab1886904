"""Functions of one operand: limits, tables, and softmax."""

from __future__ import annotations

from collections.abc import Callable
from math import acos as arc_cos
from math import (
    acosh,
    asinh,
    atan,
    atanh,
    ceil,
    cos,
    cosh,
    erf,
    exp,
    expm1,
    floor,
    inf,
    isnan,
    log,
    log1p,
    log2,
    pi,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from math import asin as arc_sin

from tiling.records import replace
from tosajit.dtypes import INT8
from tosajit.frontends.common.quantized import Function, tabled
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.common.scale import scaled
from tosajit.frontends.common.softmax import softmax_bytes, softmax_words
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.integers.elements import clamped
from tosajit.frontends.nnef.integers.form import Form
from tosajit.frontends.nnef.integers.node import Node
from tosajit.frontends.nnef.integers.rules import rule
from tosajit.frontends.nnef.integers.value import Integers
from tosajit.frontends.nnef.operators.activation import (
    Approximation,
    Exponential,
    Rectifier,
    Scaled,
    Threshold,
)
from tosajit.frontends.nnef.operators.normalization import Axes
from tosajit.tracing.tensor import Tensor


def _safe(function: Callable[[float], float]) -> Function:
    """A function that is 0 where it is not defined, and infinite where it is too great."""

    def safe(number: float) -> float:
        try:
            found = function(number)
        except OverflowError:
            return inf
        except (ValueError, ZeroDivisionError):
            return 0.0
        return 0.0 if isnan(found) else found

    return safe


def _looked_up(node: Node, form: Form, function: Function) -> Tensor:
    """A function of the only operand."""
    value = node.computed("x")
    if value.dtype is not form.dtype:
        raise Refused(f"it takes {value.dtype} and gives {form.dtype}, and tables do not change types")
    return tabled(_spread(value), form, _safe(function))


def _spread(value: Integers) -> Integers:
    """Numbers of less than 16 bits over all of them: as many samples of a table are theirs."""
    bits = max(abs(one + (one < 0)) for one in value.bounds).bit_length()
    if value.dtype is INT8 or bits >= 15:
        return value
    factor = 1 << (15 - bits)
    form = replace(value.form.over(factor), bounds=(-32768, 32767))
    return Integers(scaled(value.tensor, [(1 << 30, 30 - 15 + bits)], value.dtype), form)


def _declare(name: str, function: Function) -> None:
    @rule(name)
    def write(node: Node, form: Form) -> Tensor:
        return _looked_up(node, form, function)


def _sigmoid(number: float) -> float:
    return 1 / (1 + exp(-number)) if number >= 0 else exp(number) / (1 + exp(number))


def _soft_plus(number: float) -> float:
    return max(number, 0.0) + log1p(exp(-abs(number)))


def _nearest(number: float) -> float:
    size = float(floor(abs(number) + 0.5))
    return size if number >= 0 else -size


def _sign(number: float) -> float:
    return float((number > 0) - (number < 0))


_FUNCTIONS: dict[str, Function] = {
    "math.neg": lambda number: -number,
    "math.abs": abs,
    "math.sign": _sign,
    "math.sqr": lambda number: number * number,
    "math.rcp": lambda number: 1 / number if number else inf,
    "math.rsqr": lambda number: 1 / number / number if number else inf,
    "math.sqrt": sqrt,
    "math.rsqrt": lambda number: 1 / sqrt(number) if number else inf,
    "math.exp": exp,
    "math.log": lambda number: log(number) if number else -inf,
    "math.log2": lambda number: log2(number) if number else -inf,
    "math.sin": sin, "math.cos": cos, "math.tan": tan,
    "math.sinh": lambda number: sinh(number) if number > -700 else -inf,
    "math.cosh": cosh, "math.tanh": tanh,
    "math.asin": arc_sin, "math.acos": arc_cos, "math.atan": atan,
    "math.asinh": asinh, "math.acosh": acosh, "math.atanh": atanh,
    "math.floor": lambda number: float(floor(number)), "math.ceil": lambda number: float(ceil(number)),
    "math.round": _nearest,
    "nn.sigmoid": _sigmoid,
    "nn.silu": lambda number: number * _sigmoid(number),
    "nn.softplus": _soft_plus,
    "nn.erf": erf,
}  # fmt: skip
for _name, _function in _FUNCTIONS.items():
    _declare(_name, _function)


@rule("nn.relu", Rectifier, keeps=True)
def relu(node: Node, options: Rectifier, form: Form) -> Tensor:
    """Elements from 0 on; with a factor below, a table."""
    most = inf if options.max is None else options.max
    if options.alpha is None:
        (value,) = node.tensors("x")
        return clamped(node.at(value, form), form, 0.0, most)
    slope = options.alpha
    return _looked_up(node, form, lambda number: max(min(number, most), slope * number))


@rule("nn.thresholded_relu", Threshold)
def thresholded_relu(node: Node, options: Threshold, form: Form) -> Tensor:
    """Elements greater than a number, others as 0."""
    return _looked_up(node, form, lambda number: number if number > options.theta else 0.0)


@rule("nn.elu", Exponential)
def elu(node: Node, options: Exponential, form: Form) -> Tensor:
    """Elements from 0 on, others as their exponential less one, times a factor."""
    return _looked_up(node, form, _exponential(options.alpha, 1.0))


@rule("nn.selu", Scaled)
def selu(node: Node, options: Scaled, form: Form) -> Tensor:
    """The same, times another factor."""
    return _looked_up(node, form, _exponential(options.alpha, options.lambda_))


def _exponential(below: float, factor: float) -> Function:
    return lambda number: factor * (number if number >= 0 else below * expm1(number))


@rule("nn.gelu", Approximation)
def gelu(node: Node, options: Approximation, form: Form) -> Tensor:
    """Elements times the normal distribution of them."""
    functions: dict[str | None, Function] = {
        "SIGMOID": lambda number: number * _sigmoid(1.702 * number),
        "TANH": lambda number: number * (1 + tanh(sqrt(2 / pi) * (number + 0.044715 * number**3))) / 2,
    }
    exact: Function = lambda number: number * (1 + erf(number / sqrt(2))) / 2  # noqa: E731
    return _looked_up(node, form, functions.get(options.approximate, exact))


@rule("nn.softmax", Axes)
def softmax(node: Node, options: Axes, form: Form) -> Tensor:
    """Exponentials over their sum: in all bits of a type, then in the form of the result."""
    value = node.computed("input")
    axes = axes_of(options.axes, value.tensor.ndim)
    if len(axes) != 1:
        raise Refused(f"it is along dimensions {list(axes)}, but integers are summed up along one")
    if value.dtype is INT8:
        found = softmax_bytes(value.tensor, axes[0], value.scale, form.dtype)
        own = _BYTES if form.dtype is INT8 else _WIDE
    else:
        found, own = softmax_words(value.tensor, axes[0], value.scale), _WORDS
    return Integers(found, own).at(form).tensor


_BYTES = Form((1 / 256,), (-128,), (-128, 127))
_WIDE = Form((1 / 65536,), (-32768,), (-32768, 32767))
_WORDS = Form((1 / 32768,), (0,), (-32768, 32767))
"""What integers of a softmax stand for."""
