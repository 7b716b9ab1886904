"""Losses, which models have where they are exported from training."""

from __future__ import annotations

from tiling.records import dataclass
from tosajit.dtypes import INT32
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.losses import negative_log_likelihood
from tosajit.frontends.common.numbers import typed
from tosajit.frontends.common.softmax import log_softmax
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import REAL, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class LossAttributes(Attributes):
    """The class that counts not, and what is done with the losses of all elements."""

    ignore_index: int | None = None
    reduction: str = "mean"


def _loss(logs: Tensor, target: Operand, weight: Operand | None, options: LossAttributes) -> Tensor:
    classes = typed(target.tensor, INT32)
    shares = None if weight is None else weight.tensor
    found, _ = negative_log_likelihood(logs, classes, shares, options.ignore_index, options.reduction)
    return found


@operator("NegativeLogLikelihoodLoss", LossAttributes, types=REAL)
def likelihood(node: Node, options: LossAttributes) -> Tensor:
    """The loss of logarithms of probabilities."""
    return _loss(node[0].tensor, node[1], node.optional(2), options)


@operator("SoftmaxCrossEntropyLoss", LossAttributes, types=REAL)
def cross_entropy(node: Node, options: LossAttributes) -> tuple[Tensor, Tensor]:
    """The loss of scores, and the logarithms of their softmax."""
    shape = node[0].shape
    logs = log_softmax(reshaped(node[0].tensor, (*shape[:2], -1)), 1)
    return _loss(logs, node[1], node.optional(2), options), reshaped(logs, shape)
