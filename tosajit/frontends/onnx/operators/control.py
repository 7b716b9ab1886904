"""Graphs inside of nodes: as branches, or in loops, unrolled where their turns are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiling.records import dataclass, replace
from tosajit import ops
from tosajit.dtypes import BOOL, INT32
from tosajit.frontends.common.layout import joined, part, reshaped
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.walk import Unlowered
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import operator
from tosajit.frontends.onnx.records import Graph
from tosajit.frontends.onnx.schema import Type
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
        _check_shape(one, other)
    return _with(given[0], results)


def _with(operands: Sequence[Operand], tensors: Sequence[Tensor]) -> tuple[Operand, ...]:
    """Operands with other tensors."""
    return tuple(replace(one, value=tensor) for one, tensor in zip(operands, tensors, strict=True))


def _check_shape(before: Operand, behind: Operand) -> None:
    """Refuse what does not keep its shape."""
    if before.shape != behind.shape:
        raise Refused(
            f"{before.name} is {list(before.shape)}, but {behind.name} is {list(behind.shape)}, and TOSA has "
            "no extents that change"
        )


@dataclass(frozen=True, slots=True)
class LoopAttributes(Attributes):
    """The graph of a turn."""

    body: Graph


@operator("Loop", LoopAttributes)
def loop(node: Node, options: LoopAttributes) -> tuple[Operand, ...]:
    """What a graph gives that runs a number of times, or as long as it says so."""
    most, condition = node.optional(0), node.optional(1)
    state = tuple(one for one in node.operands[2:] if one is not None)
    collected: list[list[Operand]] = []
    turn = 0
    while True:
        is_known = (most is None or most.is_constant) and (condition is None or condition.is_constant)
        if not is_known:
            if collected and any(collected):
                _require_turns(node)
            return _while(node, options.body, state, turn, condition)
        done = most is not None and turn >= int(most.number)
        if done or (condition is not None and not condition.number):
            break
        condition, state, scanned = _turn(node, options.body, _number(node, turn), condition, state)
        collected = [*collected] or [[] for _ in scanned]
        for column, one in zip(collected, scanned, strict=True):
            column.append(one)
        turn += 1
    if not turn and len(options.body.outputs) > 1 + len(state):
        raise Refused("it has no turn, so that what it collects is empty, and TOSA's tensors have elements")
    return (*state, *(_stacked(node, column, 0) for column in collected))


def _number(node: Node, turn: int) -> Operand:
    return Operand(node.trace, np.array(turn, np.int64), Type.INT64, "turn")


def _turn(
    node: Node, body: Graph, number: Operand, condition: Operand | None, state: tuple[Operand, ...]
) -> tuple[Operand, tuple[Operand, ...], tuple[Operand, ...]]:
    """What one turn gives: whether there is another one, the state, and what is collected."""
    if condition is None:
        condition = Operand(node.trace, np.array(True), Type.BOOL, "goes_on")
    found = node.graphs.inside(body, (number, condition, *state))
    return found[0], found[1 : 1 + len(state)], found[1 + len(state) :]


def _require_turns(node: Node) -> None:
    """Refuse a loop that collects results, and whose turns are not known."""
    unknown = next(one for one in node.operands[:2] if one is not None and not one.is_constant)
    raise Refused("it collects results, but how many turns it has is not known", unknown.known_by)


def _while(
    node: Node, body: Graph, start: tuple[Operand, ...], first: int, condition: Operand | None
) -> tuple[Operand, ...]:
    """A loop whose turns are not known."""
    if len(body.outputs) != 1 + len(start):
        _require_turns(node)
    most = node.optional(0)

    def goes_on(number: Tensor, is_on: Tensor, *_: Tensor) -> Tensor:
        if most is None:
            return is_on
        left = ops.greater(reshaped(most.tensor, ()), number)
        return ops.logical_and(left, is_on)

    def turn(number: Tensor, is_on: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        place = Operand(node.trace, number, Type.INT64, "turn")
        on = Operand(node.trace, is_on, Type.BOOL, "goes_on")
        again, state, _ = _turn(node, body, place, on, _with(start, tensors))
        for before, behind in zip(start, state, strict=True):
            _check_shape(before, behind)
        more = ops.add(number, np.array(1, np.int32))
        return more, reshaped(again.tensor, ()), *(one.tensor for one in state)

    number = node.trace.constant(np.array(first, np.int32), INT32)
    on = node.trace.constant(np.array(True), BOOL) if condition is None else reshaped(condition.tensor, ())
    results = ops.while_loop(goes_on, turn, number, on, *(one.tensor for one in start))
    return _with(start, results[2:])


@dataclass(frozen=True, slots=True)
class ScanAttributes(Attributes):
    """The graph of a step, and the dimensions and directions of what steps take and give."""

    body: Graph
    num_scan_inputs: int
    scan_input_axes: tuple[int, ...] | None = None
    scan_input_directions: tuple[int, ...] | None = None
    scan_output_axes: tuple[int, ...] | None = None
    scan_output_directions: tuple[int, ...] | None = None


@operator("Scan", ScanAttributes)
def scan(node: Node, options: ScanAttributes) -> tuple[Operand, ...]:
    """What a graph gives for each element of sequences, with a state that goes along: step by step."""
    if node.opset < 9:
        raise Refused("it is of an operator set before 9", "convert it with onnx.version_converter")
    given, count = node.given, options.num_scan_inputs
    state, sequences = given[: len(given) - count], given[len(given) - count :]
    axes = [
        axes_of([one], operand.rank)[0]
        for one, operand in zip(options.scan_input_axes or (0,) * count, sequences, strict=True)
    ]
    turned = options.scan_input_directions or (0,) * count
    steps = {operand.shape[axis] for operand, axis in zip(sequences, axes, strict=True)}
    if len(steps) != 1:
        raise Refused(f"its sequences have {' and '.join(map(str, sorted(steps)))} elements")
    (length,) = steps
    columns: list[list[Operand]] = []
    for step in range(length):
        elements = (
            _element(operand, axis, length - 1 - step if back else step)
            for operand, axis, back in zip(sequences, axes, turned, strict=True)
        )
        found = node.graphs.inside(options.body, (*state, *elements))
        state, scanned = found[: len(state)], found[len(state) :]
        columns = columns or [[] for _ in scanned]
        for column, one in zip(columns, scanned, strict=True):
            column.append(one)
    size = len(columns)
    outward = zip(
        columns,
        options.scan_output_axes or (0,) * size,
        options.scan_output_directions or (0,) * size,
        strict=True,
    )
    return (*state, *(_stacked(node, column[:: -1 if back else 1], axis) for column, axis, back in outward))


def _element(operand: Operand, axis: int, place: int) -> Operand:
    if operand.is_constant:
        return replace(operand, value=np.take(operand.raw, place, axis), name=f"{operand.name}/{place}")
    value = part(operand.tensor, axis, place, 1)
    shape = [one for number, one in enumerate(value.shape) if number != axis]
    return replace(operand, value=reshaped(value, shape))


def _stacked(node: Node, parts: Sequence[Operand], axis: int) -> Operand:
    """Tensors along a new dimension."""
    if all(one.is_constant for one in parts):
        return node.of(np.stack([one.raw for one in parts], axis), parts[0].type)
    (place,) = axes_of([axis], parts[0].rank + 1)
    raised = []
    for one in parts:
        _check_shape(parts[0], one)
        raised.append(reshaped(one.tensor, (*one.shape[:place], 1, *one.shape[place:])))
    return node.of(joined(raised, place), parts[0].type)
