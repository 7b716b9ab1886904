"""Windows: pools, and what any function makes of their elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf, prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT32
from tosajit.frontends.common.borders import bordered, spread
from tosajit.frontends.common.layout import part, reshaped
from tosajit.frontends.common.pooling import Side, greatest, total
from tosajit.frontends.common.taps import Two, windowed
from tosajit.frontends.common.windows import Span
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.jax.node import Node, Operand
from tosajit.frontends.jax.operators import NUMBERS, operator
from tosajit.frontends.jax.records import Jaxpr
from tosajit.tracing.tensor import Tensor

_MOST = 1 << 22
"""Numbers in windows that are summed when the function is read."""
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class WindowAttributes(Attributes):
    """Windows along each dimension: their extents, steps and gaps; borders, and gaps between elements."""

    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    padding: Pairs
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]


def _spread(value: Tensor, options: WindowAttributes, number: float) -> Tensor:
    """Elements with gaps between them, and without what borders cut off."""
    for axis, gap in enumerate(options.base_dilation):
        value = spread(value, axis, gap, number)
    return bordered(value, [(min(low, 0), min(high, 0)) for low, high in options.padding], number)


def _combined(value: Tensor, options: WindowAttributes, combine: Two, number: float) -> Tensor:
    """What combines all elements of windows, of any type."""
    value = _spread(value, options, number)
    value = bordered(value, [(max(low, 0), max(high, 0)) for low, high in options.padding], number)
    windows = zip(options.window_dimensions, options.window_strides, options.window_dilation, strict=True)
    return windowed(value, combine, list(windows))


def _pooled(value: Tensor, options: WindowAttributes, pool: Callable[..., Tensor], number: float) -> Tensor:
    """A pool of real numbers; what no window reaches is cut off."""
    value, sides = _spread(value, options, number), []
    for axis, (size, step, gap, (low, high)) in enumerate(
        zip(
            options.window_dimensions, options.window_strides, options.window_dilation, options.padding,
            strict=True,
        )
    ):  # fmt: skip
        if (size, step, max(low, 0), max(high, 0)) == (1, 1, 0, 0):
            continue
        extent = value.shape[axis]
        span = Span.within(extent, size, step, gap, (max(low, 0), max(high, 0)))
        if span.count < 1:
            raise Refused("its windows do not fit into the operand, so that its result has no elements")
        value = part(value, axis, 0, extent + min(span.after, 0))
        sides.append(Side(axis, size, step, gap, Span(span.before, max(span.after, 0), span.count)))
    found: Tensor = pool(value, sides) if sides else value
    return found


def _sums(node: Node) -> Array | None:
    """The sums of windows of what is known, such as how many elements each has."""
    options, value = node.attributes(WindowAttributes), node[0].raw
    if any(gap != 1 for gap in (*options.base_dilation, *options.window_dilation)):
        return None
    if min(min(pair) for pair in options.padding) < 0 or prod(options.window_dimensions) * value.size > _MOST:
        return None
    whole = np.pad(value, options.padding)
    windows = np.lib.stride_tricks.sliding_window_view(whole, options.window_dimensions)
    steps = tuple(slice(None, None, step) for step in options.window_strides)
    found: Array = windows[steps].sum(tuple(range(value.ndim, 2 * value.ndim)))
    return found


@operator("reduce_window_sum", WindowAttributes, types=NUMBERS, fold=_sums)
@widened
def reduce_window_sum(node: Node, options: WindowAttributes) -> Tensor:
    """The sum of each window."""
    value = node[0].tensor
    return (
        _combined(value, options, ops.add, 0) if value.dtype is INT32 else _pooled(value, options, total, 0)
    )


@operator("reduce_window_max", WindowAttributes, types=NUMBERS)
@widened
def reduce_window_max(node: Node, options: WindowAttributes) -> Tensor:
    """The greatest element of each window."""
    value = node[0].tensor
    if value.dtype is INT32:
        return _combined(value, options, ops.maximum, INT32.minimum)
    return _pooled(value, options, greatest, -inf)


@operator("reduce_window_min", WindowAttributes, types=NUMBERS)
@widened
def reduce_window_min(node: Node, options: WindowAttributes) -> Tensor:
    """The least element of each window."""
    value = node[0].tensor
    if value.dtype is INT32:
        return _combined(value, options, ops.minimum, INT32.maximum)
    return -_pooled(-value, options, greatest, -inf)


@dataclass(frozen=True, slots=True)
class GeneralAttributes(WindowAttributes):
    """The same with the function of two elements."""

    jaxpr: Jaxpr | None = None


@operator("reduce_window", GeneralAttributes, types=NUMBERS)
def reduce_window(node: Node, options: GeneralAttributes) -> Tensor:
    """What a function makes of the elements of each window, two at a time, and of a first number."""
    if len(node.operands) != 2 or options.jaxpr is None:
        raise Refused(f"it reduces {len(node.operands) // 2} tensors together", "reduce one at a time")
    value, first = node.operands
    combine = partial(_called, node, options.jaxpr, value)
    found = _combined(value.tensor, options, combine, first.number)
    return combine(found, reshaped(first.tensor, (1,) * value.rank))


def _called(node: Node, jaxpr: Jaxpr, like: Operand, one: Tensor, other: Tensor) -> Tensor:
    """What a function of two numbers makes of each pair of those of tensors."""
    operands = (Operand(node.trace, given, like.type, "element") for given in (one, other))
    (found,) = node.jaxprs.mapped(jaxpr, tuple(operands), "window")
    return found.tensor
