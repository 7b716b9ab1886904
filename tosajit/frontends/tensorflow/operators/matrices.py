"""Products of matrices."""

from __future__ import annotations

from dataclasses import dataclass

from tosajit.frontends.common.einsum import product, product_of
from tosajit.frontends.common.layout import transposed
from tosajit.frontends.common.matrices import weighted
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.node import Node, Operand
from tosajit.frontends.tensorflow.operators import REAL, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class MatMulAttributes(Attributes):
    """Which operands are turned."""

    transpose_a: bool = False
    transpose_b: bool = False


@operator("MatMul SparseMatMul", MatMulAttributes, types=REAL)
def mat_mul(node: Node, options: MatMulAttributes) -> Tensor:
    """The product of two matrices."""
    return _product(node[0], node[1], options.transpose_a, options.transpose_b)


@dataclass(frozen=True, slots=True)
class BatchMatMulAttributes(Attributes):
    """Which operands are turned."""

    adj_x: bool = False
    adj_y: bool = False


@operator("BatchMatMul BatchMatMulV2 BatchMatMulV3", BatchMatMulAttributes, types=REAL)
def batch_mat_mul(node: Node, options: BatchMatMulAttributes) -> Tensor:
    """The products of matrices, one for each index of the other dimensions."""
    return _product(node[0], node[1], options.adj_x, options.adj_y)


def _product(first: Operand, second: Operand, first_turned: bool, second_turned: bool) -> Tensor:
    left, right = _turned(first, first_turned), _turned(second, second_turned)
    if second.is_constant and right.ndim == 2:
        return weighted(left, right)
    return product(left, right)


def _turned(operand: Operand, turned: bool) -> Tensor:
    if operand.rank < 2:
        raise Refused(f"{operand.name} has {operand.rank} dimensions, but must have 2 at least")
    order = [*range(operand.rank - 2), operand.rank - 1, operand.rank - 2]
    return transposed(operand.tensor, order) if turned else operand.tensor


@dataclass(frozen=True, slots=True)
class EinsumAttributes(Attributes):
    """Which dimensions of the operands meet."""

    equation: str


@operator("Einsum", EinsumAttributes, types=REAL)
def einsum(node: Node, options: EinsumAttributes) -> Tensor:
    """Sums of products that are products of matrices."""
    return product_of(options.equation, node.tensors)
