"""Resource variables: tensors that persist from run to run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.frame import Refused
from tosajit.frontends.tensorflow.node import Node, Operand
from tosajit.frontends.tensorflow.operators import operator, refuse
from tosajit.tracing.tensor import Tensor


@operator("ReadVariableOp")
def read(node: Node) -> Tensor | Operand:
    """What a variable holds; a variable that has been frozen is a constant."""
    return node[0].variable.state.read() if node[0].is_variable else node[0]


@operator("AssignVariableOp")
def assign(node: Node) -> tuple[()]:
    """Lets a variable hold a tensor."""
    return _written(node, node[1].tensor)


@operator("AssignAddVariableOp")
def assign_add(node: Node) -> tuple[()]:
    """Adds a tensor to what a variable holds."""
    return _changed(node, ops.add)


@operator("AssignSubVariableOp")
def assign_sub(node: Node) -> tuple[()]:
    """Takes a tensor from what a variable holds."""
    return _changed(node, ops.sub)


def _changed(node: Node, combine: Callable[[Tensor, Tensor], Tensor]) -> tuple[()]:
    return _written(node, combine(node[0].variable.state.read(), node[1].tensor))


def _written(node: Node, value: Tensor) -> tuple[()]:
    kept = node[0].variable.state
    if value.shape != kept.shape:
        raise Refused(f"it writes {list(value.shape)} to a variable of {list(kept.shape)}")
    kept.write(value)
    return ()


@operator("VariableShape")
def variable_shape(node: Node) -> Array:
    """The shape of a variable."""
    shape = node[0].variable.state.shape if node[0].is_variable else node[0].shape
    return np.array(shape, np.int32)


refuse(
    "VarHandleOp VariableV2 Variable Assign",
    "it is a variable whose elements are not in the file",
    "freeze the model, or give tj.from_tensorflow the SavedModel or the function",
)
