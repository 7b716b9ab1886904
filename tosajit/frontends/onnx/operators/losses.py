"""Losses, which models have where they are exported from training."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.reduce import reduced
from tosajit.frontends.common.softmax import log_softmax
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import REAL, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class LossAttributes(Attributes):
    """The class that counts not, and what is done with the losses of all elements."""

    ignore_index: int | None = None
    reduction: str = "mean"


def _sum(value: Tensor) -> Tensor:
    axes = tuple(range(value.ndim))
    return reduced(lambda one, axis: ops.reduce_sum(one, axis=axis), value, axes, False)


def _loss(logs: Tensor, target: Operand, weight: Operand | None, options: LossAttributes) -> Tensor:
    """The same with all dimensions behind the classes as one."""
    size = target.shape[0]
    flat = replace(target, value=reshaped(target.tensor, (size, -1)))
    found = _flat_loss(reshaped(logs, (size, logs.shape[1], -1)), flat, weight, options)
    return reshaped(found, target.shape) if options.reduction == "none" else found


def _flat_loss(logs: Tensor, target: Operand, weight: Operand | None, options: LossAttributes) -> Tensor:
    """The opposites of the logarithms of the right classes, times their weights."""
    classes = target.tensor
    classes = classes if classes.dtype is INT32 else ops.cast(classes, dtype=INT32)
    extents, count = target.shape, logs.shape[1]
    kept = None
    if options.ignore_index is not None:
        kept = ops.logical_not(ops.equal(classes, number(classes, options.ignore_index)))
        classes = ops.select(kept, classes, number(classes, 0))
    raised = reshaped(classes, (extents[0], 1, *extents[1:]))
    is_right = ops.equal(ops.const(numbered(count, 1, logs.ndim)), raised)
    terms = ops.select(is_right, logs, number(logs, 0))
    found = -reshaped(ops.reduce_sum(terms, axis=1), extents)
    shares = None
    if weight is not None:
        shares = reshaped(gathered(weight.tensor, reshaped(classes, (-1,)), 0), extents)
    if kept is not None:
        one = shares if shares is not None else number(found, 1)
        shares = ops.select(kept, one, number(found, 0))
    found = found if shares is None else ops.mul(found, shares)
    if options.reduction == "none":
        return found
    total = _sum(found)
    if options.reduction == "sum":
        return total
    if options.reduction != "mean":
        raise Refused(f"its reduction {options.reduction!r} is not known")
    if shares is None:
        return ops.mul(total, number(total, 1 / max(int(np.prod(extents)), 1)))
    return ops.mul(total, ops.reciprocal(_sum(_whole(shares, extents))))


def _whole(value: Tensor, extents: tuple[int, ...]) -> Tensor:
    """A tensor of all extents."""
    if value.shape == extents:
        return value
    return ops.add(value, ops.const(np.zeros(extents, value.dtype.storage)))


@operator("NegativeLogLikelihoodLoss", LossAttributes, types=REAL)
def negative_log_likelihood(node: Node, options: LossAttributes) -> Tensor:
    """The loss of logarithms of probabilities."""
    return _loss(node[0].tensor, node[1], node.optional(2), options)


@operator("SoftmaxCrossEntropyLoss", LossAttributes, types=REAL)
def cross_entropy(node: Node, options: LossAttributes) -> tuple[Tensor, Tensor]:
    """The loss of scores, and the logarithms of their softmax."""
    shape = node[0].shape
    logs = log_softmax(reshaped(node[0].tensor, (*shape[:2], -1)), 1)
    return _loss(logs, node[1], node.optional(2), options), reshaped(logs, shape)
