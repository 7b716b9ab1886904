"""Graphs inside of nodes as branches."""

from __future__ import annotations

from collections.abc import Sequence

from tiling.records import dataclass, replace
from tosajit import ops
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.walk import Unlowered
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import operator
from tosajit.frontends.onnx.records import Graph
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class IfAttributes(Attributes):
    """The graphs of both branches."""

    then_branch: Graph
    else_branch: Graph


@operator("If", IfAttributes)
def if_(node: Node, options: IfAttributes) -> tuple[Operand, ...]:
    """What one of two graphs gives, by a truth."""
    condition = node[0]
    if condition.is_constant:
        return node.graphs.inside(options.then_branch if condition.number else options.else_branch, ())
    given: list[Sequence[Operand]] = []

    def branch(graph: Graph) -> tuple[Tensor, ...]:
        try:
            given.append(node.graphs.inside(graph, ()))
        except Unlowered:
            raise Refused(
                f"a branch has no form in TOSA, and {condition.name}, which chooses, is known by a run alone",
                "if it is always the other branch, give the input that says so by constants={…}",
            ) from None
        return tuple(one.tensor for one in given[-1])

    truth, (first, second) = reshaped(condition.tensor, ()), (options.then_branch, options.else_branch)
    results: tuple[Tensor, ...] = ops.cond_if(truth, lambda: branch(first), lambda: branch(second))
    for one, other in zip(*given, strict=True):
        check_shape(one, other)
    return replaced(given[0], results)


def replaced(operands: Sequence[Operand], tensors: Sequence[Tensor]) -> tuple[Operand, ...]:
    """Operands with other tensors."""
    return tuple(replace(one, value=tensor) for one, tensor in zip(operands, tensors, strict=True))


def check_shape(before: Operand, behind: Operand) -> None:
    """Refuse what does not keep its shape."""
    if before.shape != behind.shape:
        raise Refused(
            f"{before.name} is {list(before.shape)}, but {behind.name} is {list(behind.shape)}, and TOSA has "
            "no extents that change"
        )
