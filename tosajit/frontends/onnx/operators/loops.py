"""Graphs inside of nodes in loops: turn by turn where these are known and few."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiling.records import dataclass, replace
from tosajit import ops
from tosajit.dtypes import BOOL, INT32
from tosajit.frontends.common.layout import constant_of, joined, part, reshaped, transposed
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.common.steps import WRITTEN, Tensors, recorded, stepped
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import operator
from tosajit.frontends.onnx.operators.control import check_shape, replaced
from tosajit.frontends.onnx.order import needed, used
from tosajit.frontends.onnx.records import Graph
from tosajit.frontends.onnx.schema import Type
from tosajit.tracing.recorder import Trace, recording
from tosajit.tracing.tensor import Tensor

State = tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class LoopAttributes(Attributes):
    """The graph of a turn."""

    body: Graph


@operator("Loop", LoopAttributes)
def loop(node: Node, options: LoopAttributes) -> tuple[Operand, ...]:
    """What a graph gives that runs a number of times, or as long as it says so."""
    most, condition = node.optional(0), node.optional(1)
    state = tuple(one for one in node.operands[2:] if one is not None)
    turns = _turns(node, options.body, state)
    if turns is not None and turns > WRITTEN:
        found = node.graphs.tried(lambda: _repeated(node, options.body, turns, state))
        if found is not None:
            return found
    collected: list[list[Operand]] = []
    turn = 0
    while True:
        if not _is_known(most, condition):
            if collected and any(collected):
                _require_turns(node)
            return _while(node, options.body, state, turn, condition)
        if _is_over(turn, most, condition):
            break
        condition, state, scanned = _turn(node, options.body, _number(node, turn), condition, state)
        collected = [*collected] or [[] for _ in scanned]
        for column, one in zip(collected, scanned, strict=True):
            column.append(one)
        turn += 1
    if not turn and len(options.body.outputs) > 1 + len(state):
        raise Refused("it has no turn, so that what it collects is empty, and TOSA's tensors have elements")
    return (*state, *(_stacked(node, column, 0) for column in collected))


def _is_known(most: Operand | None, condition: Operand | None) -> bool:
    """Whether it is known if there is another turn."""
    return (most is None or most.is_constant) and (condition is None or condition.is_constant)


def _is_over(turn: int, most: Operand | None, condition: Operand | None) -> bool:
    """Whether a turn is not there."""
    return (most is not None and turn >= int(most.number)) or (condition is not None and not condition.number)


def _turns(node: Node, body: Graph, state: State) -> int | None:
    """How many turns a loop has, if that follows from constants: only what decides it is computed."""
    most, condition = node.optional(0), node.optional(1)
    is_short = most is not None and most.is_constant and most.number <= WRITTEN
    if is_short or not _is_known(most, condition):
        return None
    deciding = _deciding(body)
    part = replace(body, outputs=tuple(body.outputs[place] for place in (0, *(one + 1 for one in deciding))))

    def counted() -> int | None:
        again, values, turn = condition or _true(node), [*state], 0
        while _is_known(most, again):
            if _is_over(turn, most, again):
                return turn
            again, *found = node.graphs.inside(part, (_number(node, turn), again, *values))
            for place, one in zip(deciding, found, strict=True):
                values[place] = one
            turn += 1
        return None

    with recording(Trace(parent=recorded())):
        return node.graphs.tried(counted)


def _deciding(body: Graph) -> list[int]:
    """The states from which it follows whether there is another turn."""
    names, found = [one.name for one in body.inputs[2:]], list[int]()
    while True:
        wanted = [body.outputs[0].name, *(body.outputs[place + 1].name for place in found)]
        seen = {*wanted, *(name for one in needed(body.nodes, wanted) for name in used(one))}
        more = [place for place, name in enumerate(names) if name in seen]
        if more == found:
            return found
        found = more


def _repeated(node: Node, body: Graph, turns: int, state: State) -> tuple[Operand, ...]:
    """A loop of known turns as one: states that stay what they are remain known in it."""
    stays = [one.name == body.outputs[place].name for place, one in enumerate(body.inputs[2:], 1)]
    changing = [place for place, is_same in enumerate(stays) if not is_same]
    carried, collected = tuple(state[place] for place in changing), State()

    def all_of(tensors: Tensors) -> State:
        new = iter(replaced(carried, tensors))
        return tuple(one if is_same else next(new) for one, is_same in zip(state, stays, strict=True))

    def step(elements: Tensors, states: Tensors) -> tuple[Tensors, Tensors]:
        nonlocal collected
        (number,), before = elements, all_of(states)
        known = constant_of(number)
        place = _number(node, number if known is None else int(known))
        _, after, collected = _turn(node, body, place, None, before)
        for one in changing:
            check_shape(before[one], after[one])
        return tuple(one.tensor for one in collected), tuple(after[one].tensor for one in changing)

    numbers = recorded().constant(np.arange(turns, dtype=np.int32), INT32)
    columns, last = stepped(step, [numbers], tuple(one.tensor for one in carried))
    return *all_of(last), *map(node.of, columns, (one.type for one in collected))


def _number(node: Node, turn: int | Tensor) -> Operand:
    value = turn if isinstance(turn, Tensor) else np.array(turn, np.int64)
    return Operand(node.trace, value, Type.INT64, "turn")


def _true(node: Node) -> Operand:
    return Operand(node.trace, np.array(True), Type.BOOL, "goes_on")


def _turn(
    node: Node, body: Graph, number: Operand, condition: Operand | None, state: State
) -> tuple[Operand, tuple[Operand, ...], tuple[Operand, ...]]:
    """What one turn gives: whether there is another one, the state, and what is collected."""
    found = node.graphs.inside(body, (number, condition or _true(node), *state))
    return found[0], found[1 : 1 + len(state)], found[1 + len(state) :]


def _require_turns(node: Node) -> None:
    """Refuse a loop that collects results, and whose turns are not known."""
    unknown = next(one for one in node.operands[:2] if one is not None and not one.is_constant)
    raise Refused("it collects results, but how many turns it has is not known", unknown.known_by)


def _while(
    node: Node, body: Graph, start: State, first: int, condition: Operand | None
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
        place = _number(node, number)
        on = Operand(node.trace, is_on, Type.BOOL, "goes_on")
        again, state, _ = _turn(node, body, place, on, replaced(start, tensors))
        for before, behind in zip(start, state, strict=True):
            check_shape(before, behind)
        more = ops.add(number, np.array(1, np.int32))
        return more, reshaped(again.tensor, ()), *(one.tensor for one in state)

    number = node.trace.constant(np.array(first, np.int32), INT32)
    on = node.trace.constant(np.array(True), BOOL) if condition is None else reshaped(condition.tensor, ())
    results = ops.while_loop(goes_on, turn, number, on, *(one.tensor for one in start))
    return replaced(start, results[2:])


@dataclass(frozen=True, slots=True)
class ScanAttributes(Attributes):
    """The graph of a step, and the dimensions and directions of what steps take and give."""

    body: Graph
    num_scan_inputs: int
    scan_input_axes: tuple[int, ...] | None = None
    scan_input_directions: tuple[int, ...] | None = None
    scan_output_axes: tuple[int, ...] | None = None
    scan_output_directions: tuple[int, ...] | None = None

    def outward(self, count: int) -> tuple[Sequence[int], Sequence[int]]:
        """The dimensions and the directions of so many columns that steps give."""
        return self.scan_output_axes or (0,) * count, self.scan_output_directions or (0,) * count


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
    if length > WRITTEN:
        found = node.graphs.tried(lambda: _scanned(node, options, state, sequences, axes, turned))
        if found is not None:
            return found
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
    outward = zip(columns, *options.outward(len(columns)), strict=True)
    return (*state, *(_stacked(node, column[:: -1 if back else 1], axis) for column, axis, back in outward))


def _scanned(
    node: Node,
    options: ScanAttributes,
    state: State,
    sequences: State,
    axes: Sequence[int],
    turned: Sequence[int],
) -> tuple[Operand, ...]:
    """The same as one loop."""
    inward, collected = zip(sequences, axes, turned, strict=True), State()
    given = [_turned(_leading(one.tensor, axis), back) for one, axis, back in inward]

    def step(elements: Tensors, states: Tensors) -> tuple[Tensors, Tensors]:
        nonlocal collected
        before = replaced(state, states)
        found = node.graphs.inside(options.body, (*before, *replaced(sequences, elements)))
        after, collected = found[: len(state)], found[len(state) :]
        for one, other in zip(before, after, strict=True):
            check_shape(one, other)
        return tuple(one.tensor for one in collected), tuple(one.tensor for one in after)

    columns, last = stepped(step, given, tuple(one.tensor for one in state))
    outward = zip(collected, columns, *options.outward(len(columns)), strict=True)
    results = (
        node.of(_trailing(_turned(column, back), axis), one.type) for one, column, axis, back in outward
    )
    return *replaced(state, last), *results


def _turned(value: Tensor, is_back: int) -> Tensor:
    """The first dimension the other way round, if it is to be."""
    turned: Tensor = ops.reverse(value, axis=0) if is_back else value
    return turned


def _leading(value: Tensor, axis: int) -> Tensor:
    """A dimension in front of the others."""
    return transposed(value, (axis, *(one for one in range(value.ndim) if one != axis)))


def _trailing(value: Tensor, axis: int) -> Tensor:
    """The first dimension at another place."""
    order = [*range(1, value.ndim)]
    order.insert(axes_of([axis], value.ndim)[0], 0)
    return transposed(value, order)


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
        check_shape(parts[0], one)
        raised.append(reshaped(one.tensor, (*one.shape[:place], 1, *one.shape[place:])))
    return node.of(joined(raised, place), parts[0].type)
