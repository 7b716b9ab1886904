"""Functions that nodes call."""

from __future__ import annotations

from dataclasses import dataclass

from tosajit.frontends.tensorflow.node import Attributes, Node, Operand
from tosajit.frontends.tensorflow.operators import operator
from tosajit.frontends.tensorflow.records import FunctionName


@dataclass(frozen=True, slots=True)
class CallAttributes(Attributes):
    """The function."""

    f: FunctionName


@operator("PartitionedCall StatefulPartitionedCall", CallAttributes)
def call(node: Node, options: CallAttributes) -> tuple[Operand, ...]:
    """The results of a function, which is written in place."""
    return node.call(options.f.name, node.operands)
