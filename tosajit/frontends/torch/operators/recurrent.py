"""Recurrent networks, written step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.frontends.common.layout import joined, part, reshaped, split, transposed
from tosajit.frontends.common.matrices import weighted
from tosajit.frontends.common.steps import stepped
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import operator
from tosajit.tracing.tensor import Tensor

_TYPES = "float32 float16"
States = tuple[Tensor, ...]
Step = Callable[[Tensor, States, "Weights"], States]
"""From what the input gives to gates, and the states, to those behind a step; the first is given out."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What one direction of a layer has."""

    inputs: Tensor
    recurrent: Tensor
    bias: Tensor | None
    recurrent_bias: Tensor | None
    projection: Tensor | None = None

    def again(self, state: Tensor) -> Tensor:
        """What a state gives to gates."""
        return weighted(state, self.recurrent, self.recurrent_bias)

    def projected(self, state: Tensor) -> Tensor:
        """What a step gives out of a state."""
        return state if self.projection is None else weighted(state, self.projection)


def _weights(params: Sequence[Operand], count: int, has_biases: bool) -> list[Weights]:
    """The weights of each layer and direction; those with projections have one more matrix."""
    if len(params) % count:
        raise Refused("its parameters are not the same number for each layer")
    each = len(params) // count
    least = 4 if has_biases else 2
    if each not in (least, least + 1):
        raise Refused(f"it has {each} parameters for each layer")
    found = []
    for start in range(0, len(params), each):
        inputs, recurrent, *rest = (one.tensor for one in params[start : start + each])
        bias, again = rest[:2] if has_biases else (None, None)
        matrices = (transposed(one, (1, 0)) for one in (inputs, recurrent, *rest[least - 2 :]))
        first, second, *projection = matrices
        found.append(Weights(first, second, bias, again, *projection))
    return found


@dataclass(frozen=True, slots=True)
class Layers:
    """How a network is made of layers."""

    count: int
    bidirectional: bool
    batch_first: bool
    has_biases: bool

    def run(
        self, sequence: Tensor, states: Sequence[Tensor], params: Sequence[Operand], step: Step
    ) -> tuple[Tensor, ...]:
        """The results of all steps of the last layer, and the last states of all of them."""
        flat = sequence.ndim == 2
        if flat:
            sequence = reshaped(sequence, (sequence.shape[0], 1, sequence.shape[1]))
            states = [reshaped(one, (one.shape[0], 1, one.shape[1])) for one in states]
        value = transposed(sequence, (1, 0, 2)) if self.batch_first and not flat else sequence
        directions = (False, True) if self.bidirectional else (False,)
        weights = _weights(params, self.count * len(directions), self.has_biases)
        last: list[States] = []
        for _ in range(self.count):
            outputs = []
            for is_back in directions:
                place = len(last)
                start = tuple(reshaped(part(one, 0, place, 1), one.shape[1:]) for one in states)
                found, state = _direction(value, start, weights[place], step, is_back)
                outputs.append(found)
                last.append(state)
            value = joined(outputs, 2)
        ends = [
            joined([reshaped(one[number], (1, *one[number].shape)) for one in last], 0)
            for number in range(len(states))
        ]
        if flat:
            return tuple(reshaped(one, (one.shape[0], one.shape[2])) for one in (value, *ends))
        return transposed(value, (1, 0, 2)) if self.batch_first else value, *ends


def _direction(
    sequence: Tensor, state: States, weights: Weights, step: Step, is_back: bool
) -> tuple[Tensor, States]:
    """The results of all steps of a layer one way, and the last states."""
    given = weighted(sequence, weights.inputs, weights.bias)

    def taken(elements: States, states: States) -> tuple[States, States]:
        new = step(elements[0], states, weights)
        return new[:1], new

    (found,), kept = stepped(taken, [given], state, is_back)
    return found, kept


def lstm_step(given: Tensor, states: States, weights: Weights) -> States:
    """A cell with gates for input, forgetting and output, and a state of its own."""
    state, memory = states
    put, forget, new, out = split(ops.add(given, weights.again(state)), 1, 4)
    kept = ops.mul(ops.sigmoid(forget), memory)
    behind = ops.add(kept, ops.mul(ops.sigmoid(put), ops.tanh(new)))
    return weights.projected(ops.mul(ops.sigmoid(out), ops.tanh(behind))), behind


def gru_step(given: Tensor, states: States, weights: Weights) -> States:
    """A cell with gates for resets and updates."""
    (state,) = states
    size = state.shape[1]
    again = weights.again(state)
    sums = ops.add(part(given, 1, 0, 2 * size), part(again, 1, 0, 2 * size))
    reset, update = split(ops.sigmoid(sums), 1, 2)
    content = ops.mul(reset, part(again, 1, 2 * size, size))
    new = ops.tanh(ops.add(part(given, 1, 2 * size, size), content))
    return (ops.add(new, ops.mul(update, ops.sub(state, new))),)


def tanh_step(given: Tensor, states: States, weights: Weights) -> States:
    """The hyperbolic tangent of what the input and the last result give."""
    return (ops.tanh(ops.add(given, weights.again(states[0]))),)


def relu_step(given: Tensor, states: States, weights: Weights) -> States:
    """The same from 0 on."""
    return (ops.clamp(ops.add(given, weights.again(states[0])), min_val=0.0, max_val=np.inf),)


def _checked(dropout: float, train: bool) -> None:
    if dropout and train:
        raise Refused("it draws random numbers, as in training", "module.eval()")


@operator("aten.lstm.input", types=_TYPES)
def lstm(
    node: Node,
    input: Operand,
    hx: Sequence[Operand],
    params: Sequence[Operand],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    """Layers of cells with gates for input, forgetting and output, and a state of their own."""
    _checked(dropout, train)
    layers = Layers(num_layers, bidirectional, batch_first, has_biases)
    return layers.run(input.tensor, [one.tensor for one in hx], params, lstm_step)


def _declare(name: str, step: Step, summary: str) -> None:
    def lower(
        node: Node,
        input: Operand,
        hx: Operand,
        params: Sequence[Operand],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, ...]:
        _checked(dropout, train)
        layers = Layers(num_layers, bidirectional, batch_first, has_biases)
        return layers.run(input.tensor, [hx.tensor], params, step)

    lower.__doc__ = summary
    operator(f"aten.{name}.input", types=_TYPES)(lower)


_declare("gru", gru_step, "Layers of cells with gates for resets and updates.")
_declare("rnn_tanh", tanh_step, "Layers of hyperbolic tangents of an input and the last result.")
_declare("rnn_relu", relu_step, "The same with elements from 0 on.")


def _cell(input: Operand, states: Sequence[Operand], given: Sequence[Operand | None], step: Step) -> States:
    inputs, recurrent, bias, again = (None if one is None else one.tensor for one in (*given, None, None)[:4])
    assert inputs is not None
    assert recurrent is not None
    weights = Weights(transposed(inputs, (1, 0)), transposed(recurrent, (1, 0)), bias, again)
    return step(
        weighted(input.tensor, weights.inputs, weights.bias), tuple(one.tensor for one in states), weights
    )


@operator("aten.lstm_cell.default", types=_TYPES)
def lstm_cell(
    node: Node,
    input: Operand,
    hx: Sequence[Operand],
    w_ih: Operand,
    w_hh: Operand,
    b_ih: Operand | None = None,
    b_hh: Operand | None = None,
) -> States:
    """A step of a cell with gates for input, forgetting and output."""
    return _cell(input, hx, (w_ih, w_hh, b_ih, b_hh), lstm_step)


def _declare_cell(name: str, step: Step, summary: str) -> None:
    def lower(
        node: Node,
        input: Operand,
        hx: Operand,
        w_ih: Operand,
        w_hh: Operand,
        b_ih: Operand | None = None,
        b_hh: Operand | None = None,
    ) -> States:
        return _cell(input, [hx], (w_ih, w_hh, b_ih, b_hh), step)

    lower.__doc__ = summary
    operator(f"aten.{name}.default", types=_TYPES)(lower)


_declare_cell("gru_cell", gru_step, "A step of a cell with gates for resets and updates.")
_declare_cell("rnn_tanh_cell", tanh_step, "The hyperbolic tangent of an input and the last result.")
_declare_cell("rnn_relu_cell", relu_step, "The same with elements from 0 on.")
