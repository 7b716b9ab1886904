"""Recurrent networks, by steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.functions import soft_plus
from tosajit.frontends.common.layout import joined, part, reshaped, split, transposed
from tosajit.frontends.common.matrices import weighted
from tosajit.frontends.common.numbers import is_negative, number
from tosajit.frontends.common.steps import Step as Turn
from tosajit.frontends.common.steps import stepped
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import operator
from tosajit.frontends.onnx.operators.dynamic import Bytes, bytes_of, times_bytes
from tosajit.tracing.tensor import Tensor

Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class RecurrentAttributes(Attributes):
    """The functions of gates, and which way steps go."""

    hidden_size: int
    activations: tuple[str, ...] | None = None
    activation_alpha: tuple[float, ...] | None = None
    activation_beta: tuple[float, ...] | None = None
    clip: float | None = None
    direction: str = "forward"
    layout: int = 0

    def functions(self, default: Sequence[str], place: int) -> list[Function]:
        """The functions of a direction."""
        names = self.activations or tuple(default) * 2
        chosen = names[place * len(default) : (place + 1) * len(default)]
        if self.activation_alpha or self.activation_beta:
            raise Refused("its functions have parameters of their own")
        unknown = [one for one in chosen if one.lower() not in _FUNCTIONS]
        if unknown or len(chosen) != len(default):
            raise Refused(f"its functions {', '.join(chosen)} are not known")
        return [self._clipped(_FUNCTIONS[one.lower()]) for one in chosen]

    def _clipped(self, function: Function) -> Function:
        bound = self.clip
        if bound is None:
            return function
        return lambda value: function(ops.clamp(value, min_val=-bound, max_val=bound))


_FUNCTIONS: dict[str, Function] = {
    "sigmoid": ops.sigmoid,
    "tanh": ops.tanh,
    "relu": lambda value: ops.clamp(value, min_val=0.0, max_val=float("inf")),
    "softplus": soft_plus,
    "softsign": lambda value: ops.mul(value, ops.reciprocal(ops.add(ops.abs(value), number(value, 1)))),
    "elu": lambda value: ops.select(is_negative(value), ops.sub(ops.exp(value), number(value, 1)), value),
}
_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
States = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Weights:
    """What one direction has: matrices by rows of what they take, and biases of both."""

    inputs: Tensor
    recurrent: Tensor
    bias: Tensor
    recurrent_bias: Tensor

    def given(self, sequence: Tensor) -> Tensor:
        """What all inputs give to gates."""
        return weighted(sequence, self.inputs, self.bias)

    def again(self, state: Tensor) -> Tensor:
        """What the last result gives to them."""
        return weighted(state, self.recurrent, self.recurrent_bias)


@dataclass(frozen=True, slots=True)
class ByteWeights:
    """The same with matrices of bytes: what meets them is put on a grid, the whole sequence on one."""

    inputs: Bytes
    recurrent: Bytes
    scales: tuple[Array, Array]
    bias: Tensor
    recurrent_bias: Tensor

    def given(self, sequence: Tensor) -> Tensor:
        """What all inputs give to gates."""
        return ops.add(times_bytes(sequence, self.inputs, self.scales[0]), reshaped(self.bias, (1, 1, -1)))

    def again(self, state: Tensor) -> Tensor:
        """What the last result gives to them."""
        found = times_bytes(state, self.recurrent, self.scales[1])
        return ops.add(found, reshaped(self.recurrent_bias, (1, -1)))


def _weights(node: Node, place: int) -> Weights:
    kernel, recurrent = (reshaped(part(node[one].tensor, 0, place, 1), node[one].shape[1:]) for one in (1, 2))
    biases = _biases(node, place, kernel.shape[0])
    return Weights(transposed(kernel, (1, 0)), transposed(recurrent, (1, 0)), *biases)


def _byte_weights(node: Node, place: int) -> ByteWeights:
    inputs, recurrent = _bytes(node, place, 1, 8), _bytes(node, place, 2, 10)
    scales = node[8].raw[place], node[10].raw[place]
    return ByteWeights(inputs, recurrent, scales, *_biases(node, place, inputs.matrix.shape[1]))


def _bytes(node: Node, place: int, matrix: int, grid: int) -> Bytes:
    if not all(node[one].is_constant for one in (matrix, grid, grid + 1)):
        raise Refused("its weights are not known")
    found = bytes_of(node[matrix].raw[place], node[grid + 1].raw[place])
    if found is None:
        raise Refused("the columns of its weights have zero points of their own")
    return found


def _biases(node: Node, place: int, rows: int) -> tuple[Tensor, Tensor]:
    bias = node.optional(3)
    if bias is None:
        nothing = node.trace.constant(np.zeros(rows, node[0].dtype.storage), node[0].dtype)
        return nothing, nothing
    first, second = split(reshaped(part(bias.tensor, 0, place, 1), (-1,)), 0, 2)
    return first, second


W = TypeVar("W", bound=Weights | ByteWeights)
Step = Callable[[Tensor, States], States]
"""From what the input gives to gates, and the states, to those behind a step; the first is given out."""


def _run(
    node: Node,
    options: RecurrentAttributes,
    states: int,
    cell: Callable[[int, W], Step],
    weights_of: Callable[[Node, int], W],
) -> tuple[Tensor, ...]:
    """The results of all steps, and the last states, for each direction."""
    sequence = node[0].tensor
    if sequence.ndim != 3:
        raise Refused(f"its sequences have {sequence.ndim} dimensions, and must have 3")
    if options.layout:
        sequence = transposed(sequence, (1, 0, 2))
    steps, batch, _ = sequence.shape
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(
        options.direction
    )
    if directions is None:
        raise Refused(f"its direction {options.direction!r} is not known")
    lengths = node.optional(4)
    if lengths is not None and lengths.is_constant and np.all(lengths.raw == steps):
        lengths = None
    outputs, last = [], []
    for place, is_back in enumerate(directions):
        weights = weights_of(node, place)
        step = _cut(cell(place, weights)) if lengths is not None else _plain(cell(place, weights))
        start = tuple(_start(node, 5 + number_, place, batch, options) for number_ in range(states))
        sequences = [weights.given(sequence)]
        if lengths is not None:
            times = np.arange(steps, dtype=np.int32).reshape(-1, 1, 1)
            inside = ops.greater(reshaped(lengths.tensor, (1, -1, 1)), times)
            sequences.append(inside)
        (found,), state = stepped(step, sequences, start, is_back)
        outputs.append(reshaped(found, (steps, 1, batch, -1)))
        last.append([reshaped(one, (1, batch, -1)) for one in state])
    whole = joined(outputs, 1)
    ends = [joined([one[number_] for one in last], 0) for number_ in range(states)]
    if options.layout:
        return transposed(whole, (2, 0, 1, 3)), *(transposed(one, (1, 0, 2)) for one in ends)
    return whole, *ends


def _plain(step: Step) -> Turn:
    """A step of a whole sequence."""

    def taken(elements: States, states: States) -> tuple[States, States]:
        new = step(elements[0], states)
        return new[:1], new

    return taken


def _cut(step: Step) -> Turn:
    """A step of sequences of several lengths: behind their ends they give out zeros, and states stay."""

    def taken(elements: States, states: States) -> tuple[States, States]:
        given, inside = elements
        new = step(given, states)
        kept = tuple(ops.select(inside, one, old) for one, old in zip(new, states, strict=True))
        return (ops.select(inside, new[0], number(new[0], 0)),), kept

    return taken


def _start(node: Node, number_: int, place: int, batch: int, options: RecurrentAttributes) -> Tensor:
    """The state before the first step."""
    given, size = node.optional(number_), options.hidden_size
    if given is None:
        dtype = node[0].dtype
        return node.trace.constant(np.zeros((batch, size), dtype.storage), dtype)
    value = transposed(given.tensor, (1, 0, 2)) if options.layout else given.tensor
    return reshaped(part(value, 0, place, 1), (batch, size))


@operator("RNN", RecurrentAttributes, types="float32 float16")
def rnn(node: Node, options: RecurrentAttributes) -> tuple[Tensor, ...]:
    """A function of an input and the last result, step by step."""

    def cell(place: int, weights: Weights) -> Step:
        (function,) = options.functions(["Tanh"], place)

        def step(given: Tensor, states: States) -> States:
            return (function(ops.add(given, weights.again(states[0]))),)

        return step

    return _run(node, options, 1, cell, _weights)


@dataclass(frozen=True, slots=True)
class GruAttributes(RecurrentAttributes):
    """Whether the reset gate is applied behind the recurrent product."""

    linear_before_reset: bool = False


@operator("GRU", GruAttributes, types="float32 float16")
def gru(node: Node, options: GruAttributes) -> tuple[Tensor, ...]:
    """A cell with gates for updates and resets, step by step."""
    size = options.hidden_size

    def cell(place: int, weights: Weights) -> Step:
        gate, content = options.functions(["Sigmoid", "Tanh"], place)
        both = part(weights.recurrent, 1, 0, 2 * size), part(weights.recurrent, 1, 2 * size, size)
        biases = part(weights.recurrent_bias, 0, 0, 2 * size), part(weights.recurrent_bias, 0, 2 * size, size)

        def step(given: Tensor, states: States) -> States:
            (state,) = states
            sums = ops.add(part(given, 1, 0, 2 * size), weighted(state, both[0], biases[0]))
            update, reset = split(gate(sums), 1, 2)
            if options.linear_before_reset:
                again = ops.mul(reset, weighted(state, both[1], biases[1]))
            else:
                again = weighted(ops.mul(reset, state), both[1], biases[1])
            new = content(ops.add(part(given, 1, 2 * size, size), again))
            kept = ops.mul(update, ops.sub(state, new))
            return (ops.add(new, kept),)

        return step

    return _run(node, options, 1, cell, _weights)


@dataclass(frozen=True, slots=True)
class LstmAttributes(RecurrentAttributes):
    """Whether the input gate is what the forget gate leaves."""

    input_forget: bool = False


@operator("LSTM", LstmAttributes, types="float32 float16")
def lstm(node: Node, options: LstmAttributes) -> tuple[Tensor, ...]:
    """A cell with gates for input, output and forgetting, and a state of its own, step by step."""
    return _lstm(node, options, _weights)


@operator("com.microsoft.DynamicQuantizeLSTM", LstmAttributes, types="float32")
def dynamic_lstm(node: Node, options: LstmAttributes) -> tuple[Tensor, ...]:
    """The same with weights of bytes, as ONNX Runtime's quantizer makes it."""
    return _lstm(node, options, _byte_weights)


def _lstm(node: Node, options: LstmAttributes, weights_of: Callable[[Node, int], W]) -> tuple[Tensor, ...]:
    size = options.hidden_size
    if options.input_forget:
        raise Refused("its input gate is what the forget gate leaves")
    peepholes = node.optional(7)

    def cell(place: int, weights: W) -> Step:
        gate, content, result = options.functions(["Sigmoid", "Tanh", "Tanh"], place)
        looks: Sequence[Tensor | None] = (None,) * 3
        if peepholes is not None:
            row = reshaped(part(peepholes.tensor, 0, place, 1), (1, 3 * size))
            looks = split(row, 1, 3)

        def looked(value: Tensor, state: Tensor, number_: int) -> Tensor:
            weight = looks[number_]
            return value if weight is None else ops.add(value, ops.mul(state, weight))

        def step(given: Tensor, states: States) -> States:
            state, memory = states
            sums = ops.add(given, weights.again(state))
            put, out, forget, new = split(sums, 1, 4)
            kept = ops.mul(gate(looked(forget, memory, 2)), memory)
            more = ops.mul(gate(looked(put, memory, 0)), content(new))
            behind = ops.add(kept, more)
            return ops.mul(gate(looked(out, behind, 1)), result(behind)), behind

        return step

    return _run(node, options, 2, cell, weights_of)
