"""Functions that nodes call: in place, as branches, or in loops, unrolled where their turns are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.node import Node, Operand
from tosajit.frontends.tensorflow.operators import operator
from tosajit.frontends.tensorflow.records import FunctionName
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class CallAttributes(Attributes):
    """The function."""

    f: FunctionName


@operator("PartitionedCall StatefulPartitionedCall", CallAttributes)
def call(node: Node, options: CallAttributes) -> tuple[Operand, ...]:
    """The results of a function, which is written in place."""
    return node.functions.call(options.f.name, node.operands)


@dataclass(frozen=True, slots=True)
class IfAttributes(Attributes):
    """The functions of both branches."""

    then_branch: FunctionName
    else_branch: FunctionName


@operator("If StatelessIf", IfAttributes)
def if_(node: Node, options: IfAttributes) -> tuple[Operand, ...]:
    """What one of two functions gives, by a truth."""
    condition, operands = node[0], node.operands[1:]
    names = options.then_branch.name, options.else_branch.name
    if condition.is_constant:
        return node.functions.call(names[not condition.number], operands)
    if condition.rank:
        raise Refused(f"its condition has {condition.rank} dimensions, but must have none")
    given: list[Sequence[Operand]] = []

    def branch(name: str) -> tuple[Tensor, ...]:
        given.append(node.functions.call(name, operands))
        return tuple(one.tensor for one in given[-1])

    results: tuple[Tensor, ...] = ops.cond_if(
        condition.tensor, lambda: branch(names[0]), lambda: branch(names[1])
    )
    return _with(given[0], range(len(results)), results)


_BRANCHES = 64
"""How many branches a number may choose among."""


@dataclass(frozen=True, slots=True)
class CaseAttributes(Attributes):
    """The functions of all branches."""

    branches: tuple[FunctionName, ...]


@operator("Case StatelessCase", CaseAttributes)
def case(node: Node, options: CaseAttributes) -> tuple[Operand, ...]:
    """What one of several functions gives, by a number; the last one's for a number that none has."""
    index, operands, names = node[0], node.operands[1:], [one.name for one in options.branches]
    if index.is_constant:
        number = int(index.number)
        return node.functions.call(names[number if 0 <= number < len(names) else -1], operands)
    if index.rank:
        raise Refused(f"its number has {index.rank} dimensions, but must have none")
    if not 0 < len(names) <= _BRANCHES:
        raise Refused(f"it chooses among {len(names)} functions, but must among 1 to {_BRANCHES}")
    given: list[Sequence[Operand]] = []
    last = len(names) - 1
    inside = ops.minimum(index.tensor, np.int32(last))
    place = ops.select(ops.greater(ops.const(np.int32(0)), inside), np.int32(last), inside)

    def among(first: int, end: int) -> tuple[Tensor, ...]:
        """What one of some branches gives: by halves, since TOSA bounds how deep branches are."""
        if end - first == 1:
            given.append(node.functions.call(names[first], operands))
            return tuple(one.tensor for one in given[-1])
        middle = (first + end) // 2
        is_before = ops.greater(ops.const(np.int32(middle)), place)
        found = ops.cond_if(is_before, lambda: among(first, middle), lambda: among(middle, end))
        return (found,) if isinstance(found, Tensor) else tuple(found)

    results = among(0, len(names))
    return _with(given[0], range(len(results)), results)


@dataclass(frozen=True, slots=True)
class WhileAttributes(Attributes):
    """The functions that say whether there is another turn, and what it does."""

    cond: FunctionName
    body: FunctionName


@operator("While StatelessWhile", WhileAttributes)
def while_(node: Node, options: WhileAttributes) -> tuple[Operand, ...]:
    """What a function gives that runs as long as another one says so."""
    state = node.operands
    while True:
        (condition,) = node.functions.call(options.cond.name, state)
        if not condition.is_constant:
            return _loop(node, options, state)
        if not condition.number:
            return state
        state = node.functions.call(options.body.name, state)


def _loop(node: Node, options: WhileAttributes, start: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """A loop whose turns are not known; what it gives back as it has taken it does not go round."""
    kept = node.functions.kept(options.body.name)
    places = [place for place, is_kept in enumerate(kept) if not is_kept]
    if not places or len(kept) != len(start):
        raise Refused("nothing changes from one turn to the next")

    def goes_on(*tensors: Tensor) -> Tensor:
        (condition,) = node.functions.call(options.cond.name, _with(start, places, tensors))
        return condition.tensor

    def body(*tensors: Tensor) -> tuple[Tensor, ...]:
        given = node.functions.call(options.body.name, _with(start, places, tensors))
        for place in places:
            _check_shape(start[place], given[place])
        return tuple(given[place].tensor for place in places)

    results = ops.while_loop(goes_on, body, *(start[place].tensor for place in places))
    return _with(start, places, (results,) if isinstance(results, Tensor) else results)


def _with(
    operands: Sequence[Operand], places: Sequence[int], tensors: Sequence[Tensor]
) -> tuple[Operand, ...]:
    """Operands with tensors in some places."""
    found = list(operands)
    for place, tensor in zip(places, tensors, strict=True):
        found[place] = replace(found[place], value=tensor)
    return tuple(found)


def _check_shape(before: Operand, behind: Operand) -> None:
    """Refuse what does not keep its shape from turn to turn."""
    if before.shape != behind.shape:
        raise Refused(
            f"{before.name} is {list(before.shape)}, but {list(behind.shape)} behind a turn, and TOSA has no "
            "extents that change"
        )
