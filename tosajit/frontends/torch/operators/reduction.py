"""Sums, means and their like along dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tosajit import ops
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.reduce import axes_of, reduced
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import NARROW, NUMBERS, operator
from tosajit.frontends.torch.records import Type
from tosajit.tracing.tensor import Tensor

Dims = int | Sequence[int] | None


def along(dim: Dims, rank: int) -> tuple[int, ...]:
    """The dimensions that an argument names; none means all."""
    if dim is None or dim == ():
        return tuple(range(rank))
    return axes_of([dim] if isinstance(dim, int) else dim, max(rank, 1)) if rank else ()


def summed(value: Tensor, axes: Sequence[int], keep: bool) -> Tensor:
    """The sum along dimensions."""
    return reduced(lambda one, axis: ops.reduce_sum(one, axis=axis), value, axes, keep)


def averaged(value: Tensor, axes: Sequence[int], keep: bool) -> Tensor:
    """The mean along dimensions."""
    total = summed(value, axes, keep)
    return ops.mul(total, number(total, 1 / prod(value.shape[axis] for axis in axes)))


@operator("aten.mean.default aten.mean.dim", types=NUMBERS)
def mean(
    node: Node, self: Operand, dim: Dims = None, keepdim: bool = False, dtype: Type | None = None
) -> Tensor:
    """The mean along dimensions."""
    value = self.typed(node.type).tensor
    return reshaped(averaged(value, along(dim, value.ndim), keepdim), node.shape)


@operator("aten.sum.default aten.sum.dim_IntList", types=f"{NUMBERS} {NARROW} bool")
def sum_(
    node: Node, self: Operand, dim: Dims = None, keepdim: bool = False, dtype: Type | None = None
) -> Tensor:
    """The sum along dimensions."""
    value = self.typed(node.type).tensor
    return reshaped(summed(value, along(dim, value.ndim), keepdim), node.shape)
