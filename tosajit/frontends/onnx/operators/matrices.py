"""Products of matrices."""

from __future__ import annotations

from tiling.records import dataclass
from tosajit import ops
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.einsum import product as products
from tosajit.frontends.common.einsum import product_of
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.common.matrices import weighted
from tosajit.frontends.common.numbers import number
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import REAL, WHOLE, operator
from tosajit.tracing.tensor import Tensor


@operator("MatMul", types=f"{REAL} {WHOLE}")
def mat_mul(node: Node) -> Tensor:
    """The products of matrices, one for each index of the other dimensions."""
    return product(node[0].tensor, node[1].tensor, node[1].is_constant)


def product(left: Tensor, right: Tensor, is_weighted: bool) -> Tensor:
    """A product as NumPy has it; vectors are rows on the left, and columns on the right."""
    rows = reshaped(left, (1, -1)) if left.ndim == 1 else left
    columns = reshaped(right, (-1, 1)) if right.ndim == 1 else right
    if is_weighted and columns.ndim == 2 and left.dtype.is_float:
        found = weighted(rows, columns)
    else:
        found = products(rows, columns)
    shape = list(found.shape)
    if right.ndim == 1:
        shape.pop(-1)
    if left.ndim == 1:
        shape.pop(-1 if right.ndim == 1 else -2)
    return reshaped(found, shape)


@dataclass(frozen=True, slots=True)
class GemmAttributes(Attributes):
    """Factors, and which operands are turned."""

    alpha: float = 1.0
    beta: float = 1.0
    transA: bool = False
    transB: bool = False


@operator("Gemm", GemmAttributes, types=f"{REAL} {WHOLE}")
def gemm(node: Node, options: GemmAttributes) -> Tensor:
    """The product of two matrices times a factor, and a third one times another factor."""
    left, right, bias = node[0].tensor, node[1].tensor, node.optional(2)
    for name, factor in (("alpha", options.alpha), ("beta", options.beta)):
        if not left.dtype.is_float and factor != int(factor):
            raise Refused(f"its {name} {factor} is no integer, but its matrices are of integers")
    left = transposed(left, (1, 0)) if options.transA else left
    right = transposed(right, (1, 0)) if options.transB else right
    plain = options.alpha == options.beta == 1 and left.dtype.is_float
    if plain and node[1].is_constant and bias is not None and bias.is_constant and bias.rank == 1:
        if bias.shape == (right.shape[1],):
            return weighted(left, right, bias.tensor)
    found = product(left, right, node[1].is_constant)
    if options.alpha != 1:
        found = ops.mul(found, number(found, options.alpha))
    if bias is None or options.beta == 0:
        return found
    term = bias.tensor
    term = term if options.beta == 1 else ops.mul(term, number(term, options.beta))
    return ops.add(*aligned(found, term))


@dataclass(frozen=True, slots=True)
class EinsumAttributes(Attributes):
    """Which dimensions of the operands meet."""

    equation: str


@operator("Einsum", EinsumAttributes, types=f"{REAL} {WHOLE}")
def einsum(node: Node, options: EinsumAttributes) -> Tensor:
    """The sum of products that an equation says."""
    return product_of(options.equation, node.tensors)
