"""Comparisons, truths, and choices by them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import inf
from typing import Any

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.broadcast import aligned, expanded
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.reduce import reduced
from tosajit.frontends.frame import alike
from tosajit.frontends.torch.node import Node, Operand, promoted
from tosajit.frontends.torch.operators import MOVED, NARROW, NUMBERS, REAL, operator
from tosajit.frontends.torch.operators.arithmetic import elementwise, fold_elements, in_type
from tosajit.frontends.torch.operators.reduction import Dims, along
from tosajit.frontends.torch.records import Type
from tosajit.tracing.tensor import Tensor

_ANY = f"{NUMBERS} {NARROW} bool float64"


def _compared(name: str, fold: Callable[..., Any], write: Callable[[Node], Tensor]) -> None:
    """Declare a comparison, of tensors in the type that they have in common."""

    @wraps(write)
    def lower(node: Node) -> Tensor:
        kind = promoted(node.operands)
        kind = Type.INT32 if kind is Type.BOOL and name not in ("eq", "ne") else kind
        return expanded(write(in_type(node, kind)), node.shape)

    def folded(node: Node) -> Array | None:
        return fold_elements(fold, node, promoted(node.operands))

    operator(f"aten.{name}.Tensor aten.{name}.Scalar", types=_ANY, fold=folded)(lower)


def _not_equal(node: Node) -> Tensor:
    """Whether the elements of two tensors differ."""
    found: Tensor = ops.logical_not(alike.equal(node))
    return found


for _row in (
    ("eq", np.equal, alike.equal), ("ne", np.not_equal, _not_equal),
    ("gt", np.greater, alike.greater), ("ge", np.greater_equal, alike.greater_equal),
    ("lt", np.less, alike.less), ("le", np.less_equal, alike.less_equal),
):  # fmt: skip
    _compared(*_row)


def _logical(name: str, fold: Callable[..., Any], write: Callable[..., Tensor], summary: str) -> None:
    def plain(node: Node) -> Tensor:
        truths = in_type(node, Type.BOOL)
        return expanded(write(*truths.aligned), node.shape)

    def folded(node: Node) -> Array | None:
        return fold_elements(fold, node, Type.BOOL)

    plain.__doc__ = summary
    operator(f"aten.logical_{name}.default", types=_ANY, fold=folded)(plain)


_logical("and", np.logical_and, ops.logical_and, "Whether the elements of both tensors are true.")
_logical("or", np.logical_or, ops.logical_or, "Whether the elements of either tensor are true.")
_logical("xor", np.logical_xor, ops.logical_xor, "Whether the elements of one tensor alone are true.")
_logical("not", np.logical_not, ops.logical_not, "Whether elements are false.")


def _bitwise(
    name: str,
    fold: Callable[..., Any],
    truths: Callable[..., Tensor],
    bits: Callable[..., Tensor],
    summary: str,
) -> None:
    def plain(node: Node) -> Tensor:
        return (truths if node.type is Type.BOOL else bits)(*node.aligned)

    plain.__doc__ = summary
    names = "aten.{0}.default" if name == "bitwise_not" else "aten.{0}.Tensor aten.{0}.Scalar"
    elementwise(names.format(name), fold)(plain)


_bitwise("bitwise_and", np.bitwise_and, ops.logical_and, ops.bitwise_and, "The bits that both numbers have.")
_bitwise("__and__", np.bitwise_and, ops.logical_and, ops.bitwise_and, "The bits that both numbers have.")
_bitwise("bitwise_or", np.bitwise_or, ops.logical_or, ops.bitwise_or, "The bits that either number has.")
_bitwise("__or__", np.bitwise_or, ops.logical_or, ops.bitwise_or, "The bits that either number has.")
_bitwise("bitwise_xor", np.bitwise_xor, ops.logical_xor, ops.bitwise_xor, "The bits that one number has.")
_bitwise("bitwise_not", np.invert, ops.logical_not, ops.bitwise_not, "The bits that a number has not.")


@operator("aten.isnan.default", types=REAL, fold=lambda node: np.isnan(node[0].raw))
def is_nan(node: Node) -> Tensor:
    """Whether elements are no numbers."""
    return alike.is_nan(node)


@operator("aten.isinf.default", types=REAL)
def is_inf(node: Node, self: Operand) -> Tensor:
    """Whether elements are infinite."""
    size = ops.abs(self.tensor)
    return ops.equal(size, number(size, inf))


@operator("aten.isposinf.default aten.isneginf.default", types=REAL)
def is_one_inf(node: Node, self: Operand) -> Tensor:
    """Whether elements are infinite, with one sign."""
    value = self.tensor
    return ops.equal(value, number(value, -inf if ".isneginf." in node.record.target else inf))


@operator("aten.isfinite.default", types=REAL)
def is_finite(node: Node, self: Operand) -> Tensor:
    """Whether elements are finite numbers."""
    size = ops.abs(self.tensor)
    found: Tensor = ops.greater(ops.const(number(size, inf)), size)
    return found


def _chosen(node: Node, condition: Operand, self: Operand, other: Operand) -> Array:
    kind = node.type.storage
    return np.where(condition.raw, self.raw.astype(kind), other.raw.astype(kind))


@operator(
    "aten.where.self aten.where.ScalarOther aten.where.ScalarSelf aten.where.Scalar", types="bool uint8",
    fold=_chosen,
)  # fmt: skip
def where(node: Node, condition: Operand, self: Operand, other: Operand) -> Tensor:
    """Elements of one of two tensors, by a condition."""
    values = (one.typed(node.type).tensor for one in (self, other))
    found: Tensor = ops.select(*aligned(condition.typed(Type.BOOL).tensor, *values))
    return expanded(found, node.shape)


def _filled(node: Node, self: Operand, mask: Operand, value: float | Operand) -> Array:
    elements = value.raw if isinstance(value, Operand) else np.asarray(value)
    return np.where(mask.raw, elements.astype(node.type.storage), self.raw)


@operator("aten.masked_fill.Scalar aten.masked_fill.Tensor", types=MOVED, fold=_filled)
def masked_fill(node: Node, self: Operand, mask: Operand, value: float | Operand) -> Tensor:
    """A tensor with a number where a mask is true."""
    filling = value if isinstance(value, Operand) else node.of(np.asarray(value), self.type)
    if isinstance(filling.value, np.ndarray):
        filling = replace(filling, value=filling.value.astype(self.type.storage), type=self.type)
    tensors = aligned(mask.typed(Type.BOOL).tensor, filling.typed(self.type).tensor, self.tensor)
    return expanded(ops.select(*tensors), node.shape)


@operator("aten.any.default aten.any.dim aten.any.dims", types=_ANY)
def any_(node: Node, self: Operand, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether any element along dimensions is true."""
    value = self.typed(Type.BOOL).tensor
    return reduced(lambda one, axis: ops.reduce_any(one, axis=axis), value, along(dim, value.ndim), keepdim)


@operator("aten.all.default aten.all.dim aten.all.dims", types=_ANY)
def all_(node: Node, self: Operand, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether all elements along dimensions are true."""
    value = self.typed(Type.BOOL).tensor
    return reduced(lambda one, axis: ops.reduce_all(one, axis=axis), value, along(dim, value.ndim), keepdim)


@elementwise("aten.bitwise_left_shift.Tensor aten.__lshift__.Scalar aten.__lshift__.Tensor", np.left_shift)
def shift_left(node: Node) -> Tensor:
    """Bits moved to the left."""
    return ops.logical_left_shift(*node.aligned)


@elementwise("aten.bitwise_right_shift.Tensor aten.__rshift__.Scalar aten.__rshift__.Tensor", np.right_shift)
def shift_right(node: Node) -> Tensor:
    """Bits moved to the right."""
    return ops.arithmetic_right_shift(*node.aligned, round=False)
