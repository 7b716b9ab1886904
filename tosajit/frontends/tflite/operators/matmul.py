"""Products of matrices that are both computed."""

from __future__ import annotations

from tosajit.dtypes import FP32
from tosajit.frontends.common.layout import transposed
from tosajit.frontends.common.matrices import multiplied
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import BatchMatMulOptions
from tosajit.frontends.tflite.quantized import finished
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor


@operator("BATCH_MATMUL", BatchMatMulOptions, types="float32 int8 int16", versions=5)
def batch_matmul(node: Node, options: BatchMatMulOptions) -> Tensor:
    """The products of matrices, one for each index of the other dimensions."""
    left, right, result = node[0], node[1], node.result
    first, second = _matrices(left, left, options.adj_x), _matrices(left, right, options.adj_y)
    if not left.quantized:
        return multiplied(first, second)
    points, scale = (left.zero_point, right.zero_point), float(left.scale) * float(right.scale)
    return multiplied(
        first, second, points, lambda total: finished(total, scale / float(result.scale), result)
    )


def _matrices(left: Operand, operand: Operand, adjoint: bool) -> Tensor:
    """An operand, turned where it is stored so; weights of a floating-point product become float32."""
    if operand.rank < 2:
        raise Refused(f"{operand.name} has {operand.rank} dimensions, but must have 2 at least")
    tensor = operand.tensor
    if left.type is Type.FLOAT32 and operand.type is not Type.FLOAT32:
        tensor = operand.trace.constant(operand.real, FP32, operand.name)
    order = [*range(operand.rank - 2), operand.rank - 1, operand.rank - 2]
    return transposed(tensor, order) if adjoint else tensor
