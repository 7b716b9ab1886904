"""The cell of an LSTM in integers: bytes go in and out, gates and the state have 16 bits."""

from __future__ import annotations

from math import log2

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, INT32
from tosajit.frontends.common.fixed import divided
from tosajit.frontends.common.layout import split
from tosajit.frontends.common.scale import number_like, rescale
from tosajit.frontends.common.tables import saturated
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.layer_norm import normal
from tosajit.frontends.tflite.lstm import Options, Places, gates
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.recurrent import States, byte_products
from tosajit.frontends.tflite.words import sigmoid, tangent
from tosajit.tracing.tensor import Tensor

_INTERMEDIATES = 5
_GATE = np.float32(2.0**-12)
"""The scale of what goes into a gate."""


class IntegerCell:
    """An LSTM cell: what it needs of all steps at once, and one step."""

    def __init__(self, node: Node, places: Places, options: Options) -> None:
        self.node, self.places, self.options = node, places, options
        self.gates = gates(node, places)
        self.value, self.result, self.state = node[0], node[places.state], node[places.state + 1]
        if (self.result.dtype, self.state.dtype) != (INT8, INT16):
            raise Refused(f"what it keeps is {self.result.type.label} and {self.state.type.label}, "
                          "but must be int8 and int16")  # fmt: skip
        if len(node.intermediates) != _INTERMEDIATES:
            raise Refused(
                f"it has {len(node.intermediates)} intermediate scales, but must have {_INTERMEDIATES}"
            )
        self.norms = None if places.norms is None or node.optional(places.norms + 1) is None else places.norms
        self.hidden = node.intermediates[4]
        power = log2(self.state.scale) if self.state.scale > 0 else 0.5
        if not power.is_integer() or not -15 <= power <= -9:
            raise Refused(
                f"its state has the scale {self.state.scale}, but must have a power of two from 2^-15"
            )
        self.power = int(power)

    def given(self, sequence: Tensor) -> Tensor:
        """What the gates get from the steps of a sequence."""
        bias = None
        if self.norms is None:
            biases = [self.node[self.places.biases + gate].raw for gate in self.gates]
            bias = np.concatenate(biases).astype(np.int32)
        total = byte_products(sequence, self._weights(self.places.inputs), bias, self.value.zero_point)
        return rescale(total, self._scales(self.places.inputs, self.value), INT16)

    def step(self, given: Tensor, states: States) -> tuple[Tensor, States]:
        """One step: its result, and that with the state to go on from."""
        result, state = states
        sums = split(ops.add(ops.cast(given, dtype=INT32), self._from(result)), 1, len(self.gates))
        by_gate = {gate: saturated(one) for gate, one in zip(self.gates, sums, strict=True)}
        wide = ops.cast(state, dtype=INT32)
        forget = sigmoid(self._gate(by_gate, 1, wide))
        content = tangent(self._normal(by_gate[2], 2), 3)
        if 0 in by_gate:
            taken = sigmoid(self._gate(by_gate, 0, wide))
        else:
            taken = ops.sub(ops.const(number_like(forget, 32767)), forget)
        kept = divided(ops.mul(forget, wide), 15)
        state = saturated(ops.add(kept, divided(ops.mul(taken, content), 30 + self.power)))
        state = _clipped(state, self.options.cell_clip, self.state)
        output = sigmoid(self._gate(by_gate, 3, ops.cast(state, dtype=INT32)))
        hidden = ops.mul(output, tangent(state, 15 + self.power))
        scale = np.float32(2.0**-30 / self.hidden.scale)
        result = self._projected(rescale(hidden, float(scale), INT32))
        return result, (result, state)

    def _weights(self, first: int) -> Array:
        """The matrices of all gates, one below the other."""
        matrices = [self.node[first + gate] for gate in self.gates]
        if any(one.zero_point for one in matrices):
            raise Refused("its weights have zero points")
        return np.concatenate([one.array for one in matrices])

    def _scales(self, first: int, operand: Operand) -> Array:
        """The scale of the sums of each gate."""
        width = len(self.node[first + self.gates[0]].raw)
        found = [
            np.float32(self.node[first + gate].scale) * np.float32(operand.scale) / self._sum_scale(gate)
            for gate in self.gates
        ]
        return np.repeat(np.array(found), width)

    def _sum_scale(self, gate: int) -> np.float32:
        """The scale of what is summed up for a gate."""
        return _GATE if self.norms is None else np.float32(self.node.intermediates[gate].scale)

    def _from(self, result: Tensor) -> Tensor:
        """What the gates get from what has been given out."""
        total = byte_products(result, self._weights(self.places.recurrent), None, self.result.zero_point)
        return rescale(total, self._scales(self.places.recurrent, self.result), INT32)

    def _gate(self, sums: dict[int, Tensor], gate: int, state: Tensor) -> Tensor:
        """What goes into a gate: with the state that it sees, and made normal."""
        peephole = self.node.optional(self.places.peephole + {0: 0, 1: 1, 3: 2}[gate])
        if peephole is None:
            return self._normal(sums[gate], gate)
        factor = peephole.array.astype(np.int32).reshape(1, -1)
        scale = np.float32(2.0**self.power * float(peephole.scale) / float(self._sum_scale(gate)))
        seen = rescale(ops.mul(state, factor), float(scale), INT32)
        total = saturated(ops.add(ops.cast(sums[gate], dtype=INT32), seen))
        return self._normal(total, gate)

    def _normal(self, total: Tensor, gate: int) -> Tensor:
        """What is summed up for a gate, made normal if the cell does that."""
        if self.norms is None:
            return total
        return normal(total, self.node[self.norms + gate], self.node[self.places.biases + gate])

    def _projected(self, hidden: Tensor) -> Tensor:
        """What is given out, of what is inside without its zero point."""
        weight = self.node.optional(self.places.projection)
        bias = self.node.optional(self.places.projection + 1)
        point = self.hidden.zero_point
        if weight is None:
            return saturated(ops.add(hidden, number_like(hidden, point)), INT8)
        # LiteRT takes the opposite of the zero point, which only shows where bytes saturate.
        bytes_ = saturated(ops.sub(hidden, number_like(hidden, point)), INT8)
        moved = point * weight.array.sum(axis=1, dtype=np.int32)
        total = byte_products(bytes_, weight.array, moved if bias is None else bias.array + moved, 0)
        scale = np.float32(weight.scale) * np.float32(self.hidden.scale) / np.float32(self.result.scale)
        found = rescale(total, float(scale), INT8, output_zp=self.result.zero_point)
        return _clipped(found, self.options.proj_clip, self.result)


def _clipped(value: Tensor, bound: float, like: Operand) -> Tensor:
    """Integers within a bound that is a real number."""
    if bound <= 0:
        return value
    most = like.bounds[1]
    number = int(np.clip(np.float32(bound) / np.float32(like.scale), -most - 1, most))
    return ops.clamp(value, min_val=-number, max_val=number) if number > 0 else value
