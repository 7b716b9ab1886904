"""Tensors that follow from numbers and shapes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.numbers import number
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import MOVED, operator
from tosajit.tracing.tensor import Tensor

_UNUSED = "dtype layout device pin_memory memory_format requires_grad"
_MOST = 1 << 24
"""Elements of a constant that are numbered: few numbers of a program can ask for many."""


def _few(node: Node) -> None:
    if prod(node.shape) > _MOST:
        raise Refused(f"its {prod(node.shape)} elements are too many")


@operator("aten.arange.default", ignored=_UNUSED)
@operator("aten.arange.start aten.arange.start_step", ignored=_UNUSED)
def arange(node: Node, start: float = 0, end: float | None = None, step: float = 1) -> Array:
    """Numbers of equal distance."""
    _few(node)
    places = np.arange(node.shape[0])
    return (start + places * step).astype(node.type.storage)


@operator("aten.linspace.default", ignored=_UNUSED)
def linspace(node: Node, start: float, end: float, steps: int) -> Array:
    """Numbers of equal distance between two ends."""
    _few(node)
    return np.linspace(start, end, node.shape[0]).astype(node.type.storage)


def repeated(node: Node, value: Any) -> Array:
    """One number, as often as there are elements: it takes the memory of one."""
    return np.broadcast_to(np.asarray(value).astype(node.type.storage), node.shape)


@operator(
    "aten.zeros.default aten.zeros_like.default aten.new_zeros.default aten.zero.default "
    "aten.empty.memory_format aten.empty_like.default aten.new_empty.default aten.empty_strided.default "
    "aten.new_empty_strided.default",
)
def zeros(node: Node) -> Array:
    """Zeros; also where elements are said to be of no matter."""
    return repeated(node, 0)


@operator("aten.ones.default aten.ones_like.default aten.new_ones.default")
def ones(node: Node) -> Array:
    """Ones."""
    return repeated(node, 1)


@operator("aten.full.default aten.new_full.default aten.full_like.default", ignored=f"{_UNUSED} size self")
def full(node: Node, fill_value: float) -> Array:
    """One number."""
    return repeated(node, fill_value)


@operator("aten.fill.Scalar aten.fill.Tensor", ignored="self")
def fill(node: Node, value: float | Operand) -> Array | Operand:
    """One number in place of all elements."""
    if not isinstance(value, Operand):
        return repeated(node, value)
    if value.is_constant:
        return repeated(node, value.raw)
    single = value.typed(node.type)
    return node.of(ops.tile(single.tensor, node.shape) if node.shape else single.tensor, node.type)


@operator("aten.scalar_tensor.default", ignored=_UNUSED)
def scalar(node: Node, s: float) -> Array:
    """A number as a tensor."""
    return repeated(node, s)


@operator("aten.eye.default aten.eye.m", ignored=f"{_UNUSED} n m")
def eye(node: Node) -> Array:
    """Ones on the diagonal of a matrix."""
    _few(node)
    rows, columns = node.shape
    return np.eye(rows, columns, dtype=node.type.storage)


@operator("aten.tril_indices.default aten.triu_indices.default", ignored=_UNUSED)
def triangle(node: Node, row: int, col: int, offset: int = 0) -> Array:
    """Where a matrix has elements that are not above, or not below, a diagonal."""
    if row * col > _MOST:
        raise Refused(f"its {row * col} elements are too many")
    choose = np.tril if ".tril_" in node.record.target else np.triu
    return np.array(np.nonzero(choose(np.ones((row, col)), offset))).astype(node.type.storage)


def _lower(node: Node, self: Operand, diagonal: int = 0) -> Array:
    return np.tril(self.raw, diagonal)


def _upper(node: Node, self: Operand, diagonal: int = 0) -> Array:
    return np.triu(self.raw, diagonal)


@operator("aten.tril.default", types=MOVED, fold=_lower)
def tril(node: Node, self: Operand, diagonal: int = 0) -> Tensor:
    """Matrices with zeros above a diagonal."""
    return _masked(self, np.tril(np.ones(self.shape[-2:], np.bool_), diagonal))


@operator("aten.triu.default", types=MOVED, fold=_upper)
def triu(node: Node, self: Operand, diagonal: int = 0) -> Tensor:
    """Matrices with zeros below a diagonal."""
    return _masked(self, np.triu(np.ones(self.shape[-2:], np.bool_), diagonal))


def _masked(value: Operand, mask: Array) -> Tensor:
    tensor = value.tensor
    kept = mask.reshape((1,) * (tensor.ndim - 2) + mask.shape)
    found: Tensor = ops.select(ops.const(kept), tensor, number(tensor, 0))
    return found


@operator("aten.one_hot.default")
def one_hot(node: Node, self: Operand, num_classes: int = -1) -> Operand:
    """One where the number along a new dimension is the index, zero elsewhere."""
    rank = len(node.shape)
    indices = ops.reshape(self.tensor, (*self.shape, 1))
    chosen = ops.equal(indices, numbered(node.shape[-1], rank - 1, rank))
    one, zero = (np.full((1,) * rank, value, np.int32) for value in (1, 0))
    return node.of(ops.select(chosen, one, zero), node.type)
