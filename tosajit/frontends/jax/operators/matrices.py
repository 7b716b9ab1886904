"""Products of tensors, summed along dimensions that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tosajit.dtypes import INT8, INT32
from tosajit.frontends.common.einsum import product
from tosajit.frontends.common.layout import constant_of, reshaped, transposed
from tosajit.frontends.common.matrices import multiplied, weighted
from tosajit.frontends.common.numbers import typed
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import low_bits
from tosajit.frontends.jax.node import Node, dtype_of
from tosajit.frontends.jax.operators import NUMBERS, operator
from tosajit.tracing.tensor import Tensor

Axes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DotAttributes(Attributes):
    """Which dimensions are summed, and which both operands share."""

    dimension_numbers: tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


@operator("dot_general", DotAttributes, types=NUMBERS)
def dot_general(node: Node, options: DotAttributes) -> Tensor:
    """Products of two tensors, summed along dimensions that they have in common."""
    summed, shared = options.dimension_numbers
    left, right = node.tensors
    rows, columns = (
        tuple(axis for axis in range(one.ndim) if axis not in (*drop, *keep))
        for one, drop, keep in zip((left, right), summed, shared, strict=True)
    )
    before = _matrices(left, (shared[0], rows, summed[0]))
    behind = _matrices(right, (shared[1], summed[1], columns))
    found = _multiplied(before, behind, node, is_shared=bool(shared[0]))
    extents = [left.shape[axis] for axis in (*shared[0], *rows)] + [right.shape[axis] for axis in columns]
    return reshaped(found, extents)


def _matrices(value: Tensor, parts: Sequence[Axes]) -> Tensor:
    """A tensor whose dimensions are joined to three."""
    turned = transposed(value, [axis for part in parts for axis in part])
    return reshaped(turned, [prod(value.shape[axis] for axis in part) for part in parts])


def _multiplied(left: Tensor, right: Tensor, node: Node, *, is_shared: bool) -> Tensor:
    dtype = dtype_of(node.kind)
    if not dtype.is_float:
        return _of_integers(left, right, node)
    kinds = {one.dtype for one in (left, right)}
    if len(kinds) > 1 or not left.dtype.is_float:
        left, right = typed(left, dtype), typed(right, dtype)
    if left.dtype is dtype and not is_shared and constant_of(right) is not None:
        return weighted(left, reshaped(right, right.shape[1:]))
    return product(left, right, dtype)


def _of_integers(left: Tensor, right: Tensor, node: Node) -> Tensor:
    """Sums of products of integers, of which the low bits are kept."""
    if left.dtype is not INT8 or right.dtype is not INT8:
        left, right = typed(left, INT32), typed(right, INT32)
    return typed(low_bits(multiplied(left, right), node.kind), dtype_of(node.kind))
