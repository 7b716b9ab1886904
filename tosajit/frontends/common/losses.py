"""Losses, which models have where they are exported from training."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.reduce import reduced
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor


def whole_sum(value: Tensor) -> Tensor:
    """The sum of all elements."""
    axes = tuple(range(value.ndim))
    return reduced(lambda one, axis: ops.reduce_sum(one, axis=axis), value, axes, False)


def negative_log_likelihood(
    logs: Tensor, classes: Tensor, weight: Tensor | None, ignored: int | None, reduction: str
) -> tuple[Tensor, Tensor | None]:
    """The opposites of the logarithms of the right classes, and the sum of what these count.

    Logarithms have the classes in dimension 1. Each class has a weight, and one is ignored; the sum is None
    where all elements count.
    """
    extents = classes.shape
    rows = reshaped(classes, (extents[0], -1))
    terms, shares = _terms(reshaped(logs, (*logs.shape[:2], -1)), rows, weight, ignored)
    counted = None if shares is None else whole_sum(shares)
    if reduction == "none":
        return reshaped(terms, extents), counted
    total = whole_sum(terms)
    if reduction == "sum":
        return total, counted
    if reduction != "mean":
        raise Refused(f"its reduction {reduction!r} is not known")
    if counted is None:
        return ops.mul(total, number(total, 1 / max(int(np.prod(extents)), 1))), None
    return ops.mul(total, ops.reciprocal(counted)), counted


def _terms(
    logs: Tensor, classes: Tensor, weight: Tensor | None, ignored: int | None
) -> tuple[Tensor, Tensor | None]:
    """The losses of all elements, and how much these count."""
    extents, kept = classes.shape, None
    if ignored is not None:
        kept = ops.logical_not(ops.equal(classes, number(classes, ignored)))
        classes = ops.select(kept, classes, number(classes, 0))
    places = ops.const(numbered(logs.shape[1], 1, logs.ndim))
    is_right = ops.equal(places, reshaped(classes, (extents[0], 1, *extents[1:])))
    right = ops.reduce_sum(ops.select(is_right, logs, number(logs, 0)), axis=1)
    found, shares = -reshaped(right, extents), None
    if weight is not None:
        shares = reshaped(gathered(weight, reshaped(classes, (-1,)), 0), extents)
    if kept is not None:
        one: Tensor = ops.const(np.ones(extents, found.dtype.storage)) if shares is None else shares
        shares = ops.select(kept, one, number(found, 0))
    return found if shares is None else ops.mul(found, shares), shares
