"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit import ops
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.einsum import product, product_of
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.common.matrices import filtered, weighted
from tosajit.frontends.common.numbers import number
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import REAL, operator
from tosajit.frontends.torch.operators.reduction import norm_of
from tosajit.tracing.tensor import Tensor


@operator("aten.linear.default", types=REAL)
def linear(node: Node, input: Operand, weight: Operand, bias: Operand | None = None) -> Tensor:
    """Rows times a matrix of weights, more by a bias."""
    filters = weight.tensor if weight.rank == 2 else reshaped(weight.tensor, (1, -1))
    rows = reshaped(input.tensor, (-1, input.shape[-1]))
    if weight.is_constant or bias is not None:
        found = filtered(rows, filters, None if bias is None else reshaped(bias.tensor, (-1,)))
    else:
        found = product(rows, transposed(filters, (1, 0)))
    return reshaped(found, node.shape)


@operator("aten.matmul.default aten.mm.default aten.bmm.default aten.mv.default aten.dot.default", types=REAL)
def matmul(node: Node) -> Tensor:
    """The products of matrices, or of vectors."""
    return reshaped(multiplied(*node.operands), node.shape)


def multiplied(first: Operand, second: Operand) -> Tensor:
    """A product; vectors are rows before a matrix, and columns behind one."""
    left = reshaped(first.tensor, (1, -1)) if first.rank == 1 else first.tensor
    right = reshaped(second.tensor, (-1, 1)) if second.rank == 1 else second.tensor
    if second.is_constant and right.ndim == 2:
        return weighted(left, right)
    return product(left, right)


@operator("aten.addmm.default aten.addbmm.default aten.addmv.default aten.baddbmm.default", types=REAL)
def addmm(node: Node) -> Tensor:
    """The product of two matrices, more by a third one, both times factors."""
    offset, *factors = node.operands
    total = multiplied(*factors)
    if ".addbmm." in node.record.target:
        total = ops.reduce_sum(total, axis=0)
    whole = scaled(reshaped(total, node.shape), node.given("alpha", 1))
    return ops.add(*aligned(scaled(offset.tensor, node.given("beta", 1)), whole))


def scaled(value: Tensor, factor: float) -> Tensor:
    """A tensor times a number."""
    return value if factor == 1 else ops.mul(value, number(value, factor))


@operator("aten.einsum.default")
def einsum(node: Node, equation: str, tensors: Sequence[Operand], path: None = None) -> Tensor:
    """Sums of products by the letters of dimensions."""
    return product_of(equation, [one.tensor for one in tensors])


@operator("aten.outer.default aten.ger.default", types=REAL)
def outer(node: Node) -> Tensor:
    """The products of the elements of two vectors."""
    first, second = node.operands
    return ops.mul(reshaped(first.tensor, (-1, 1)), reshaped(second.tensor, (1, -1)))


@operator("aten.bilinear.default", types=REAL)
def bilinear(
    node: Node, input1: Operand, input2: Operand, weight: Operand, bias: Operand | None = None
) -> Tensor:
    """Products of the elements of two vectors, times weights, more by a bias."""
    given = [one.tensor for one in (input1, weight, input2)]
    found = product_of("...i,oij,...j->...o", given)
    return found if bias is None else ops.add(*aligned(found, bias.tensor))


@operator("aten._cdist_forward.default aten.cdist.default", types=REAL, ignored="compute_mode")
def distances(node: Node, x1: Operand, x2: Operand, p: float = 2) -> Tensor:
    """How far the rows of two matrices are from each other."""
    first = reshaped(x1.tensor, (*x1.shape[:-1], 1, x1.shape[-1]))
    second = reshaped(x2.tensor, (*x2.shape[:-2], 1, *x2.shape[-2:]))
    apart = ops.sub(*aligned(first, second))
    return reshaped(norm_of(apart, [apart.ndim - 1], False, p), node.shape)
