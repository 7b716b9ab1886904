"""Detections, which TOSA cannot say: they become CUSTOM operators of tosajit's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.common.custom import suppressed
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import operator, refuse
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class SuppressionAttributes(Attributes):
    """Whether there are always as many results."""

    pad_to_max_output_size: bool = False


@operator("NonMaxSuppressionV4", SuppressionAttributes, types="float32", kind="custom")
def non_max_suppression_v4(node: Node, options: SuppressionAttributes) -> tuple[Tensor, ...]:
    """The places of boxes that overlap no better one too much, best first; zeros behind them."""
    places, _, count = _suppressed(node, options, np.zeros((), np.float32))
    return places, count


@operator("NonMaxSuppressionV5", SuppressionAttributes, types="float32", kind="custom")
def non_max_suppression_v5(node: Node, options: SuppressionAttributes) -> tuple[Tensor, ...]:
    """The same with scores, which overlaps may lower."""
    return _suppressed(node, options, node[5].tensor)


def _suppressed(node: Node, options: SuppressionAttributes, sigma: Tensor | Array) -> tuple[Tensor, ...]:
    if not options.pad_to_max_output_size:
        raise Refused(
            "how many results it has depends on its boxes", "export it with pad_to_max_output_size=True"
        )
    most = int(node[2].number)
    if not 0 < most <= 1 << 16:
        raise Refused(f"it chooses {most} boxes, but must from 1 to 65536")
    return suppressed([*(node[place].tensor for place in (0, 1, 3, 4)), sigma], most)


refuse(
    "NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionWithOverlaps "
    "CombinedNonMaxSuppression",
    "how many results it has depends on its boxes",
    "use tf.image.non_max_suppression_padded",
)
