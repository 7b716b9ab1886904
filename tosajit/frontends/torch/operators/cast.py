"""Elements in another type."""

from __future__ import annotations

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import operator


def _converted(node: Node) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray(node[0].raw.astype(node.type.storage))


@operator(
    "aten.to.dtype aten.to.dtype_layout aten.to.device aten.to.other aten.to.prim_Device "
    "aten._to_copy.default aten.type_as.default",
    fold=_converted,
)
def cast(node: Node) -> Operand:
    """Elements in another type: real numbers towards zero, integers by their low bits, truths as 0 and 1."""
    return node[0].typed(node.type)
