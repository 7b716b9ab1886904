"""The cell of an LSTM in floating point, with all that TFLite's full kernel has."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.layout import split
from tosajit.frontends.common.numbers import number
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.fields import Activation
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.quantized import activated
from tosajit.frontends.tflite.recurrent import States, products, reals
from tosajit.tracing.tensor import Tensor


class Options(Protocol):
    """The attributes that all operators with such cells have."""

    @property
    def fused_activation_function(self) -> Activation:
        """What is done to new contents, and to the state where it is given out."""

    @property
    def cell_clip(self) -> float:
        """The greatest number of the state; 0 for no bound."""

    @property
    def proj_clip(self) -> float:
        """The greatest number of the projected result; 0 for no bound."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the operands of a cell begin: for each thing, those of input, forget, cell and output gate."""

    inputs: int = 1
    state: int = 18
    """The result of the last step, and behind it the state."""
    norms: int | None = 20
    aux: int | None = None
    """Weights of a second sequence."""

    @property
    def recurrent(self) -> int:
        """The first of the weights of what has been given out."""
        return self.inputs + 4

    @property
    def peephole(self) -> int:
        """The first of the three weights of the state."""
        return self.inputs + 8

    @property
    def biases(self) -> int:
        """The first of the biases."""
        return self.inputs + 11

    @property
    def projection(self) -> int:
        """The weights of the projection, and behind them its bias."""
        return self.inputs + 15


def gates(node: Node, places: Places) -> tuple[int, ...]:
    """The gates of a cell: 0 to 3 for input, forget, cell and output; the first may be missing."""
    found = tuple(range(4)) if node.optional(places.inputs) is not None else (1, 2, 3)
    if any(node.optional(places.recurrent + gate) is None for gate in found):
        raise Refused("it has weights of a gate for its input, but none for what it has given out")
    return found


class RealCell:
    """An LSTM cell: what it needs of all steps at once, and one step."""

    def __init__(self, node: Node, places: Places, options: Options) -> None:
        self.node, self.places, self.options = node, places, options
        self.gates = gates(node, places)
        self.activation = options.fused_activation_function
        self.is_normal = places.norms is not None and node.optional(places.norms + 1) is not None
        biases = reals(node, *(places.biases + gate for gate in self.gates))
        self.biases = biases if self.is_normal else None
        self.input_bias = None if self.is_normal else biases
        self.recurrent = self._recurrent()
        has_projection = node.optional(places.projection) is not None
        self.projection = reals(node, places.projection) if has_projection else None
        has_bias = node.optional(places.projection + 1) is not None
        self.projection_bias = reals(node, places.projection + 1) if has_bias else None

    def given(self, sequence: Tensor, aux: Tensor | None = None) -> Tensor:
        """What the gates get from the steps of a sequence, and of a second one."""
        weights = reals(self.node, *(self.places.inputs + gate for gate in self.gates))
        total = products(sequence, weights, self.input_bias)
        if aux is None or self.places.aux is None:
            return total
        more = reals(self.node, *(self.places.aux + gate for gate in self.gates))
        return ops.add(total, products(aux, more))

    def step(self, given: Tensor, states: States) -> tuple[Tensor, States]:
        """One step: its result, and that with the state to go on from."""
        result, state = states
        sums = split(ops.add(given, self._from(result)), 1, len(self.gates))
        by_gate = dict(zip(self.gates, sums, strict=True))
        forget = ops.sigmoid(self._gate(by_gate, 1, state))
        content = activated(self._gate(by_gate, 2, None), self.activation)
        if 0 in by_gate:
            taken = ops.sigmoid(self._gate(by_gate, 0, state))
        else:
            taken = ops.sub(ops.const(np.ones((1, 1), np.float32)), forget)
        state = ops.add(ops.mul(forget, state), ops.mul(content, taken))
        state = _clipped(state, self.options.cell_clip)
        output = ops.sigmoid(self._gate(by_gate, 3, state))
        result = self._projected(ops.mul(output, activated(state, self.activation)))
        return result, (result, state)

    def _recurrent(self) -> Tensor | None:
        """The weights of what has been given out, if they are matrices."""
        matrices = [self.places.recurrent + gate for gate in self.gates]
        return None if self.node[matrices[0]].rank == 1 else reals(self.node, *matrices)

    def _from(self, result: Tensor) -> Tensor:
        """What the gates get from what has been given out; weights may be those of a diagonal."""
        if self.recurrent is not None:
            return products(result, self.recurrent)
        rows = [self.node[self.places.recurrent + gate].real.reshape(1, -1) for gate in self.gates]
        return ops.concat([ops.mul(result, row) for row in rows], axis=1)

    def _gate(self, sums: dict[int, Tensor], gate: int, state: Tensor | None) -> Tensor:
        """What goes into a gate: with the state that it sees, and made normal."""
        total = sums[gate]
        place = self.places.peephole + {0: 0, 1: 1, 3: 2}.get(gate, 0)
        peephole = self.node.optional(place)
        if state is not None and peephole is not None:
            total = ops.add(total, ops.mul(state, peephole.real.reshape(1, -1)))
        if not self.is_normal:
            return total
        assert self.places.norms is not None
        factor = self.node[self.places.norms + gate].real.reshape(1, -1)
        bias = self.node[self.places.biases + gate].real.reshape(1, -1)
        return ops.add(ops.mul(_normal(total), factor), bias)

    def _projected(self, hidden: Tensor) -> Tensor:
        if self.projection is None:
            return hidden
        return _clipped(products(hidden, self.projection, self.projection_bias), self.options.proj_clip)


def _normal(value: Tensor) -> Tensor:
    """Rows less their mean, over their standard deviation."""
    width = value.shape[-1]
    part: Array = np.full((1, 1), 1 / width, np.float32)
    apart = ops.sub(value, ops.mul(ops.reduce_sum(value, axis=1), part))
    variance = ops.mul(ops.reduce_sum(ops.mul(apart, apart), axis=1), part)
    return ops.mul(apart, ops.rsqrt(ops.add(variance, number(variance, 1e-8))))


def _clipped(value: Tensor, bound: float) -> Tensor:
    return ops.clamp(value, min_val=-bound, max_val=bound) if bound > 0 else value
