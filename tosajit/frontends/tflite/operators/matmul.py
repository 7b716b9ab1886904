"""Products of matrices that are both computed."""

from __future__ import annotations

from math import prod

from tosajit import ops
from tosajit.dtypes import FP32
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node, Operand
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
    shared = _shared(first.shape[:-2], second.shape[:-2])
    matrices = [
        reshaped(expanded(one, (*shared, *one.shape[-2:])), (prod(shared), *one.shape[-2:]))
        for one in (first, second)
    ]
    points = [one.zero_point if left.quantized else 0 for one in (left, right)]
    total = ops.matmul(*matrices, *points)
    shape = (*shared, first.shape[-2], second.shape[-1])
    if not left.quantized:
        return reshaped(total, shape)
    scale = float(left.scale) * float(right.scale) / float(result.scale)
    return reshaped(finished(total, scale, result), shape)


def _matrices(left: Operand, operand: Operand, adjoint: bool) -> Tensor:
    """An operand, turned where it is stored so; weights of a floating-point product become float32."""
    if operand.rank < 2:
        raise Refused(f"{operand.name} has {operand.rank} dimensions, but must have 2 at least")
    tensor = operand.tensor
    if left.type is Type.FLOAT32 and operand.type is not Type.FLOAT32:
        tensor = operand.trace.constant(operand.real, FP32, operand.name)
    order = [*range(operand.rank - 2), operand.rank - 1, operand.rank - 2]
    return transposed(tensor, order) if adjoint else tensor


def _shared(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """The other dimensions of both, after broadcasting."""
    rank = max(len(first), len(second))
    raised = [(1,) * (rank - len(one)) + one for one in (first, second)]
    return tuple(other if one == 1 else one for one, other in zip(*raised, strict=True))
