"""Control flow: other subgraphs of the model as regions of the graph, or in place."""

from __future__ import annotations

from collections.abc import Sequence

from tiling.records import replace
from tosajit import ops
from tosajit.frontends.common.scale import number_like
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import (
    CallOnceOptions,
    CallOptions,
    CompositeOptions,
    IfOptions,
    StablehloCaseOptions,
    StablehloWhileOptions,
    WhileOptions,
)
from tosajit.frontends.tflite.schema import Type
from tosajit.graph import Array
from tosajit.tracing.tensor import Tensor


@operator("CALL", CallOptions)
def call(node: Node, options: CallOptions) -> tuple[Tensor | Array, ...]:
    """What another subgraph gives, in place."""
    return _values(node.subgraphs.call(options.subgraph, node.inputs))


@operator("STABLEHLO_COMPOSITE", CompositeOptions)
def composite(node: Node, options: CompositeOptions) -> tuple[Tensor | Array, ...]:
    """A part of a model with a name: what the subgraph gives that says what it computes, in place."""
    return _values(node.subgraphs.call(options.decomposition_subgraph_index, node.inputs))


@operator("CALL_ONCE", CallOnceOptions)
def call_once(node: Node, options: CallOnceOptions) -> tuple[()]:
    """What a subgraph assigns to variables is what they hold at first."""
    with node.subgraphs.variables.initialising():
        node.subgraphs.call(options.init_subgraph_index, ())
    return ()


@operator("IF", IfOptions)
def if_(node: Node, options: IfOptions) -> tuple[Tensor | Array, ...]:
    """What one of two subgraphs gives, by a truth."""
    condition, operands = node[0], node.inputs[1:]
    branches = options.then_subgraph_index, options.else_subgraph_index
    if condition.is_constant:
        return _values(node.subgraphs.call(branches[not condition.raw.all()], operands))
    results: tuple[Tensor, ...] = ops.cond_if(
        condition.tensor,
        lambda: _tensors(node.subgraphs.call(branches[0], operands)),
        lambda: _tensors(node.subgraphs.call(branches[1], operands)),
    )
    return results


@operator("STABLEHLO_CASE", StablehloCaseOptions)
def case(node: Node, options: StablehloCaseOptions) -> tuple[Tensor | Array, ...]:
    """What one of several subgraphs gives, by its number; the last one for numbers that none has."""
    condition, operands, branches = node[0], node.inputs[1:], options.branch_subgraph_indices
    if not branches:
        raise Refused("it has no subgraphs to choose from")
    if condition.is_constant:
        (chosen,) = condition.ints
        return _values(node.subgraphs.call(branches[chosen if 0 <= chosen < len(branches) else -1], operands))

    def from_(number: int) -> tuple[Tensor, ...]:
        if number == len(branches) - 1:
            return _tensors(node.subgraphs.call(branches[number], operands))
        index = condition.tensor
        is_this: Tensor = ops.equal(index, number_like(index, number))
        found: tuple[Tensor, ...] | Tensor = ops.cond_if(
            is_this,
            lambda: _tensors(node.subgraphs.call(branches[number], operands)),
            lambda: from_(number + 1),
        )
        return (found,) if isinstance(found, Tensor) else found

    return from_(0)


@operator("STABLEHLO_WHILE", StablehloWhileOptions)
@operator("WHILE", WhileOptions)
def while_(node: Node, options: WhileOptions | StablehloWhileOptions) -> tuple[Tensor | Array, ...]:
    """What a subgraph gives that runs as long as another one says so.

    What it gives back as it has taken it does not go round: the regions capture it.
    """
    start, kept = node.inputs, node.subgraphs.kept(options.body_subgraph_index)
    if len(kept) != len(start):
        raise Refused(f"its body gives {len(kept)} tensors, but must give {len(start)}")
    places = [place for place, one in enumerate(kept) if not one and start[place].type is not Type.RESOURCE]
    if not places:
        raise Refused("nothing changes from one turn to the next")

    def turn(tensors: Sequence[Tensor]) -> list[Operand]:
        operands = list(start)
        for place, tensor in zip(places, tensors, strict=True):
            operands[place] = replace(operands[place], value=tensor)
        return operands

    def goes_on(*tensors: Tensor) -> Tensor:
        return _tensors(node.subgraphs.call(options.cond_subgraph_index, turn(tensors)))[0]

    def body(*tensors: Tensor) -> tuple[Tensor, ...]:
        whole = node.subgraphs.call(options.body_subgraph_index, turn(tensors))
        given = _tensors([whole[place] for place in places])
        for place, tensor in zip(places, given, strict=True):
            _unchanged(start[place], tensor)
        return given

    results = ops.while_loop(goes_on, body, *(start[place].tensor for place in places))
    return _values(turn((results,) if isinstance(results, Tensor) else results))


def _unchanged(operand: Operand, given: Tensor) -> None:
    """Refuse what does not keep its shape from turn to turn."""
    if given.shape != operand.shape:
        raise Refused(
            f"{operand.name} is {list(operand.shape)}, but {list(given.shape)} behind a turn, "
            "and TOSA has no extents that change",
            "convert the model with fixed shapes",
        )


def _values(operands: Sequence[Operand]) -> tuple[Tensor | Array, ...]:
    return tuple(one.value for one in operands)


def _tensors(operands: Sequence[Operand]) -> tuple[Tensor, ...]:
    return tuple(one.tensor for one in operands)
