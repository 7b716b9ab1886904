"""Losses, which modules have that are exported as they are trained."""

from __future__ import annotations

from math import prod

from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.losses import negative_log_likelihood, whole_sum
from tosajit.frontends.common.numbers import constant, number, typed
from tosajit.frontends.common.reduce import reduced
from tosajit.frontends.common.softmax import log_softmax
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import REAL, operator
from tosajit.tracing.tensor import Tensor

_REDUCTIONS = ("none", "mean", "sum")
"""What is done with the losses of all elements, by PyTorch's numbers."""


def _likelihood(
    logs: Tensor, target: Operand, weight: Operand | None, reduction: int, ignored: int
) -> tuple[Tensor, Tensor]:
    """The loss of logarithms of probabilities, and how much all elements count."""
    classes = typed(target.tensor, INT32)
    if logs.ndim == 1:
        logs, classes = reshaped(logs, (1, -1)), reshaped(classes, (1,))
    shares = None if weight is None else weight.tensor
    found, counted = negative_log_likelihood(logs, classes, shares, ignored, _REDUCTIONS[reduction])
    assert counted is not None
    return found, counted


@operator("aten.nll_loss_nd.default aten.nll_loss.default aten.nll_loss2d.default", types=REAL)
def nll_loss(
    node: Node,
    self: Operand,
    target: Operand,
    weight: Operand | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
) -> Tensor:
    """The loss of logarithms of probabilities."""
    found, _ = _likelihood(self.tensor, target, weight, reduction, ignore_index)
    return reshaped(found, node.shape)


@operator("aten.nll_loss_forward.default aten.nll_loss2d_forward.default", types=REAL)
def nll_loss_forward(
    node: Node, self: Operand, target: Operand, weight: Operand | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """The same, and the weight of all elements."""
    found, counted = _likelihood(self.tensor, target, weight, reduction, ignore_index)
    return reshaped(found, node.shape), counted if reduction else constant(counted, 0)


@operator("aten.cross_entropy_loss.default", types=REAL)
def cross_entropy(
    node: Node,
    self: Operand,
    target: Operand,
    weight: Operand | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """The loss of scores, whose targets are classes or probabilities."""
    axis = 1 if self.rank > 1 else 0
    logs = log_softmax(self.tensor, axis)
    shares = None if weight is None else _along(weight.tensor, axis, self.rank)
    weighted = logs if shares is None else ops.mul(logs, shares)
    if target.type.storage.kind == "f":
        wanted = target.tensor
        if label_smoothing:
            kept = ops.mul(wanted, number(wanted, 1 - label_smoothing))
            wanted = ops.add(kept, number(kept, label_smoothing / self.shape[axis]))
        return _reduced(node, _classes(ops.mul(weighted, wanted), axis), reduction)
    found, counted = _likelihood(logs, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return reshaped(found, node.shape)
    classes = typed(target.tensor, INT32)
    smooth = _classes(weighted, axis)
    smooth = ops.select(ops.equal(classes, number(classes, ignore_index)), number(smooth, 0), smooth)
    if reduction:
        smooth = whole_sum(smooth)
    if reduction == 1:
        smooth = ops.mul(smooth, ops.reciprocal(counted))
    one, other = (reshaped(value, node.shape) for value in (found, smooth))
    first = ops.mul(one, number(one, 1 - label_smoothing))
    return ops.add(first, ops.mul(other, number(other, label_smoothing / self.shape[axis])))


def _classes(value: Tensor, axis: int) -> Tensor:
    """The opposite of the sum over all classes."""
    return -reduced(lambda one, place: ops.reduce_sum(one, axis=place), value, (axis,), False)


def _along(value: Tensor, axis: int, rank: int) -> Tensor:
    return reshaped(value, [-1 if place == axis else 1 for place in range(rank)])


def _reduced(node: Node, value: Tensor, reduction: int) -> Tensor:
    """What is done with the losses of probabilities: their mean is that of all rows."""
    if not reduction:
        return reshaped(value, node.shape)
    total = whole_sum(value)
    if reduction == 1:
        total = ops.mul(total, number(total, 1 / prod(value.shape)))
    return reshaped(total, node.shape)
