"""Resource variables: tensors of a name that persist from run to run."""

from __future__ import annotations

from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import VarHandleOptions
from tosajit.graph import Array
from tosajit.tracing.tensor import Tensor


@operator("VAR_HANDLE", VarHandleOptions)
def var_handle(node: Node, options: VarHandleOptions) -> Array:
    """What stands for the variable of a name."""
    parts = (options.container, options.shared_name)
    return node.subgraphs.variables.handle("/".join(part for part in parts if part))


@operator("READ_VARIABLE")
def read_variable(node: Node) -> Tensor:
    """What a variable holds."""
    return node.subgraphs.variables.read(node[0], node.result)


@operator("ASSIGN_VARIABLE")
def assign_variable(node: Node) -> tuple[()]:
    """Lets a variable hold a tensor."""
    node.subgraphs.variables.assign(node[0], node[1])
    return ()
