"""Constants, and what passes its operand on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.node import Node, Operand
from tosajit.frontends.tensorflow.operators import operator
from tosajit.frontends.tensorflow.schema import Type


@dataclass(frozen=True, slots=True)
class ConstAttributes(Attributes):
    """The elements; those that NumPy does not have are only their type."""

    value: np.ndarray | Type


@operator("Const", ConstAttributes)
def const(node: Node, options: ConstAttributes) -> Array:
    """A constant."""
    if isinstance(options.value, Type):
        raise Refused(f"it holds {options.value.label}, which TOSA has no type for")
    return options.value


@operator(
    "Identity Snapshot StopGradient PreventGradient PlaceholderWithDefault CheckNumerics EnsureShape "
    "DeepCopy OptimizationBarrier"
)
def identity(node: Node) -> Operand:
    """The operand itself."""
    return node[0]


@operator("IdentityN")
def identity_n(node: Node) -> tuple[Operand, ...]:
    """The operands themselves."""
    return node.operands


@operator("NoOp Assert")
def nothing(node: Node) -> tuple[Operand, ...]:
    """Nothing: only others wait for it."""
    return ()
