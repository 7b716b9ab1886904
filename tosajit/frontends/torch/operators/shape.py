"""Elements in another shape or order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import MOVED, operator
from tosajit.tracing.tensor import Tensor

ANY = f"{MOVED} float64"


def _reshaped(node: Node) -> Array:
    return node[0].raw.reshape(node.shape)


@operator(
    "aten.view.default aten.reshape.default aten._unsafe_view.default aten.flatten.using_ints "
    "aten.unflatten.int aten.unsqueeze.default aten.squeeze.default aten.squeeze.dim aten.squeeze.dims "
    "aten.view_as.default aten.reshape_as.default aten.atleast_1d.default",
    types=ANY,
    fold=_reshaped,
)
def view(node: Node) -> Tensor:
    """The same elements in another shape."""
    return reshaped(node[0].tensor, node.shape)


@operator(
    "aten.alias.default aten.detach.default aten.clone.default aten.contiguous.default "
    "aten.lift_fresh_copy.default aten.lift_fresh.default aten.positive.default "
    "aten.resolve_conj.default aten.resolve_neg.default aten.detach_copy.default aten.alias_copy.default",
)
def same(node: Node) -> Operand:
    """The same tensor."""
    return node[0]


def _permuted(node: Node, self: Operand, dims: Sequence[int]) -> Array:
    return self.raw.transpose(dims)


@operator("aten.permute.default", types=ANY, fold=_permuted)
def permute(node: Node, self: Operand, dims: Sequence[int]) -> Tensor:
    """Dimensions in another order."""
    return transposed(self.tensor, [one % self.rank for one in dims])


def _swapped(node: Node, self: Operand, dim0: int = 0, dim1: int = -1) -> Array:
    return np.swapaxes(self.raw, dim0, dim1) if self.rank > 1 else self.raw


@operator("aten.transpose.int aten.swapaxes.default aten.t.default", types=ANY, fold=_swapped)
def transpose(node: Node, self: Operand, dim0: int = 0, dim1: int = -1) -> Tensor:
    """Two dimensions swapped."""
    order = list(range(self.rank))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return transposed(self.tensor, order)
