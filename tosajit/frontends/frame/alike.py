"""Operators that sources have alike, but for their names: what writes them, of the nodes of any front end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tosajit import ops
from tosajit.dtypes import BOOL
from tosajit.frontends.common.ordering import running_products, running_sums
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame.narrow import widened
from tosajit.frontends.frame.operand import Operand
from tosajit.tracing.tensor import Tensor


class Node(Protocol):
    """A use of an operator, as the lowerings of any front end see it."""

    @property
    def aligned(self) -> Sequence[Tensor]:
        """All operands in the graph, with one rank."""

    def __getitem__(self, number: int, /) -> Operand:
        """An operand that must be there."""


class Cumulative(Protocol):
    """Whether an element is left out of its own sum, and which way sums go."""

    @property
    def exclusive(self) -> bool:
        """Whether an element is left out."""

    @property
    def reverse(self) -> bool:
        """Whether sums begin at the end."""


@widened
def equal(node: Node) -> Tensor:
    """Whether the elements of two tensors are equal."""
    first, second = node.aligned
    if first.dtype is BOOL:
        return ops.logical_not(ops.logical_xor(first, second))
    return ops.equal(first, second)


@widened
def greater(node: Node) -> Tensor:
    """Whether the elements of the first tensor are greater."""
    return ops.greater(*node.aligned)


@widened
def greater_equal(node: Node) -> Tensor:
    """Whether the elements of the first tensor are greater or equal."""
    return ops.greater_equal(*node.aligned)


@widened
def less(node: Node) -> Tensor:
    """Whether the elements of the first tensor are less."""
    return ops.greater(*reversed(node.aligned))


@widened
def less_equal(node: Node) -> Tensor:
    """Whether the elements of the first tensor are less or equal."""
    return ops.greater_equal(*reversed(node.aligned))


def logical_and(node: Node) -> Tensor:
    """Whether the elements of both tensors are true."""
    return ops.logical_and(*node.aligned)


def logical_or(node: Node) -> Tensor:
    """Whether the elements of either tensor are true."""
    return ops.logical_or(*node.aligned)


def logical_not(node: Node) -> Tensor:
    """Whether elements are false."""
    return ops.logical_not(node[0].tensor)


def is_nan(node: Node) -> Tensor:
    """Whether elements are no numbers."""
    return ops.logical_not(ops.equal(node[0].tensor, node[0].tensor))


@widened
def cumulative_sum(node: Node, options: Cumulative) -> Tensor:
    """The sums of the elements of a dimension up to each of them."""
    (axis,) = axes_of(node[1].ints, node[0].rank)
    return running_sums(node[0].tensor, axis, exclusive=options.exclusive, reverse=options.reverse)


@widened
def cumulative_product(node: Node, options: Cumulative) -> Tensor:
    """The products of the elements of a dimension up to each of them."""
    (axis,) = axes_of(node[1].ints, node[0].rank)
    return running_products(node[0].tensor, axis, exclusive=options.exclusive, reverse=options.reverse)
